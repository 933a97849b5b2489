// The page's part: `host` has its time, its one timer, and what shows a number in a row.
export async function start(bytes, host) {
  const { instance } = await WebAssembly.instantiate(bytes, { page: { show: host.show } });
  const program = instance.exports;
  let timer;
  const turn = () => {
    host.clearTimeout(timer);
    const at = program.turn(host.now());
    timer = at < 0 ? undefined : host.setTimeout(turn, Math.max(0, at - host.now()));
  };
  turn();
  // What is scheduled may be earlier than what the timer waits for.
  const then = (act) => (...args) => { act(host.now(), ...args); turn(); };
  return { typed: then(program.typed), notify: then(program.notify), close: program.close };
}
