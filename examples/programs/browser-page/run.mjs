// The page without a browser: its time is moved here, so that a minute takes as long as what happens in it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { start } from "./page.js";

let now = 0, set = 0, shown = [0, 0, 0];
const pending = new Map();
const page = await start(readFileSync(process.argv[2]), {
  now: () => now,
  setTimeout: (act, delay) => { pending.set(++set, { act, at: now + delay }); return set; },
  clearTimeout: (timer) => pending.delete(timer),
  show: (row, number) => { shown[row] = number; },
});
function advance(until) {
  for (;;) {
    assert.equal(pending.size, 1, "all timers are one of the page's");
    const [[timer, { act, at }]] = pending;
    if (until < at) break;
    pending.delete(timer);
    now = at;
    act();
  }
  now = until;
}

for (let key = 0; key < 5; key++) { advance(now + 200); page.typed(); }
advance(now + 299);
assert.equal(shown[1], 0, "the typing has not paused");
advance(now + 1);
assert.deepEqual(shown, [1, 1, 0]);
page.typed();
advance(now + 300);
assert.equal(shown[1], 2);
page.notify(1_000_000);
assert.equal(shown[2], 1_000_000);
advance(now + 30_000);
assert.ok(0 < shown[2] && shown[2] < 1_000_000);
advance(now + 31_000);
assert.deepEqual(shown, [Math.floor(now / 1_000), 2, 0]);
page.notify(10);
assert.equal(page.close(), 11, "the notices, and the seconds");
console.log(`${now / 1_000} s, two searches, a million notices, ${set} calls of setTimeout`);
