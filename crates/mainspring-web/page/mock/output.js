// Output of the mock server's runs.

/** @import {Run} from "../api.d.ts" */
import { chance, instant } from "./clock.js";
import { HOSTILE } from "./plans.js";

/** @param {string} name @param {number} luck */
export function lastWords(name, luck) {
  const words = [
    "connection refused",
    "No space left on device",
    "panicked at src/main.rs:41: index out of bounds",
    "Killed",
    "timeout while waiting for the lock",
    "HTTP 502 from upstream"
  ];
  return `${name}: ${words[Math.floor(luck * 1e5) % words.length]}`;
}

/** @param {Run} run */
export function written(run) {
  const begin = Date.parse(run.started ?? run.due);
  const count = run.job === "ci-nightly" ? 1_800 : run.job === "terminal" ? 12 : 30;
  const rows = [];
  for (let index = 0; index < count; index += 1) {
    const attempt = Math.min(run.attempt, 1 + Math.floor((index / count) * run.attempt));
    const at = `${instant(begin + index * 433)
      .replace("Z", "")
      .slice(0, 19)}.${String((index * 433) % 1000).padStart(3, "0")}Z`;
    const isError = chance(`${run.run}${index}`) < 0.06;
    rows.push(`${at} ${attempt} ${isError ? "stderr" : "stdout"} ${line(run, index)}`);
  }
  if (run.job === "terminal") {
    const at = instant(begin + 6_000);
    rows.push(
      `${at} 1 stderr ${HOSTILE}`,
      `${at} 1 stdout \u001b]0;owned\u0007\u001b[2J\u001b[31mred \u001b[1mbold\u001b[0m plain \u001b[42mon green\u001b[0m \u001b[38;2;255;0;0mtrue\u001b[0m`,
      `${at} 1 stdout ${"x".repeat(6_000)}`
    );
  } else if (run.last_line !== null)
    rows.push(
      `${instant(begin + count * 433)} ${run.attempt} ${run.state === "succeeded" ? "stdout" : "stderr"} ${run.last_line}`
    );
  return `${rows.join("\n")}\n`;
}

/** @param {Run} run @param {number} index */
function line(run, index) {
  if (run.job === "ci-nightly") {
    const part = Math.floor((index / 1_800) * 61);
    return index % 40 === 7
      ? `\u001b[33mwarning:\u001b[0m unused variable \`slot\` in wheel_${index}.cpp`
      : `\u001b[32m[${String(part).padStart(3)}%]\u001b[0m Building CXX object src/engine/CMakeFiles/engine.dir/part_${index}.cpp.o`;
  }
  return (
    [`page ${index} of 30`, `copied ${index * 512} rows`, `orders: batch ${index} accepted`][index % 3] ?? ""
  );
}
