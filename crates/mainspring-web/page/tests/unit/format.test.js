// Times, lengths and words.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../assets/format.js";

const NOW = Date.parse("2026-10-24T22:14:07Z");
const plain = (/** @type {string} */ text) => text.replaceAll("\u00a0", " ");

test("a time is shown in the zone of the job, as the server computed it", () => {
  const at = "2026-10-25T00:30:00Z";
  const civil = "2026-10-25T02:30:00+02:00[Europe/Berlin]";
  assert.deepEqual(format.civilText(at, civil, "job", NOW), { text: "02:30", zone: "Europe/Berlin" });
  assert.deepEqual(format.civilText(at, civil, "utc", NOW), { text: "25 Oct 00:30", zone: null });
  // What is shown is not computed again: a civil time that this node would not find is still shown.
  const odd = "2026-10-25T02:47:13+02:17[Europe/Berlin]";
  assert.equal(format.civilText(at, odd, "job", NOW).text, "02:47:13");
});

test("a day is named unless it is today, a year unless it is this one", () => {
  const text = (/** @type {string} */ at) => format.civilText(at, undefined, "utc", NOW).text;
  assert.equal(text("2026-10-24T09:05:00Z"), "09:05");
  assert.equal(text("2026-10-23T09:05:07.5Z"), "23 Oct 09:05:07");
  assert.equal(text("2026-10-24T09:05:00.214Z"), "09:05:00", "what has happened shows its seconds always");
  assert.equal(text("2025-10-24T09:05:00Z"), "24 Oct 2025 09:05");
  assert.equal(format.civilText("2026-10-24T09:05:00Z", undefined, "job", NOW).text, "09:05");
});

test("both passes of an hour that comes twice are told apart by what the server says", () => {
  const [first, second] = [
    "2026-10-25T02:30:00+02:00[Europe/Berlin]",
    "2026-10-25T02:30:00+01:00[Europe/Berlin]"
  ];
  assert.equal(format.parts(first)?.offset, "+02:00");
  assert.equal(format.parts(second)?.offset, "+01:00");
  assert.equal(format.parts("yesterday"), undefined);
});

test("a length has two units at most", () => {
  const cases = /** @type {[number, string][]} */ ([
    [0, "0 ms"],
    [999, "999 ms"],
    [1_000, "1.0 s"],
    [9_940, "9.9 s"],
    [10_000, "10 s"],
    [59_400, "59 s"],
    [60_000, "1 m"],
    [61_000, "1 m 1 s"],
    [599_000, "9 m 59 s"],
    [600_000, "10 m"],
    [3_599_000, "1 h"],
    [3_660_000, "1 h 1 m"],
    [86_400_000, "1 d"],
    [90_000_000, "1 d 1 h"],
    [-61_000, "1 m 1 s"],
    [2_592_000_000, "30 d"]
  ]);
  for (const [ms, text] of cases) assert.equal(plain(format.length(ms)), text, String(ms));
  for (let ms = 1; ms < 1e11; ms = Math.ceil(ms * 1.07)) {
    assert.match(plain(format.length(ms)), /^\d+(\.\d)? (ms|s|m|h|d)( \d+ (s|m|h))?$/, String(ms));
    assert.doesNotMatch(plain(format.length(ms)), /(60 [sm]|24 h)$/, String(ms));
  }
});

test("what is near is counted in whole units", () => {
  assert.equal(plain(format.relative(NOW + 5_400, NOW)), "in 5 s");
  assert.equal(plain(format.relative(NOW - 3 * 3_600_000 - 1_000, NOW)), "3 h ago");
  assert.equal(plain(format.relative(NOW + 100, NOW)), "now");
  // What has happened is not to come, though the clock was set back.
  const cases = /** @type {[number, string][]} */ ([
    [-3 * 3_600_000, "3 h ago"],
    [59_999, "now"],
    [3 * 3_600_000, "by a clock that was ahead"]
  ]);
  for (const [ahead, text] of cases) assert.equal(plain(format.past(NOW + ahead, NOW)), text);
  assert.equal(format.stamp(3_909_999), "1:05:09");
  assert.equal(format.stamp(7_000), "0:07");
  assert.equal(format.stamp(-5), "0:00");
});

test("bytes and counts are readable", () => {
  assert.equal(plain(format.bytes(0)), "0 bytes");
  assert.equal(plain(format.bytes(1_536)), "1.5 KiB");
  assert.equal(plain(format.bytes(188_743_680)), "180 MiB");
  assert.equal(format.number(1_234_567), "1,234,567");
  assert.equal(format.plural(1, "job"), "1 job");
  assert.equal(format.plural(4_812, "job"), "4,812 jobs");
});

test("the address of a run keeps its series and its odd characters", () => {
  assert.equal(format.runPath("backup@2026-11-21T03:00:00Z"), "runs/backup/2026-11-21T03%3A00%3A00Z/0");
  assert.equal(format.runPath("a@b@2026-11-21T03:00:00Z#2"), "runs/a%40b/2026-11-21T03%3A00%3A00Z/2");
});

test("a filter is words with names before colons, and the rest", () => {
  const names = ["state", "group"];
  assert.deepEqual(format.filterOf("state:failing group:slow night report", names), {
    state: "failing",
    group: "slow",
    q: "night report"
  });
  assert.deepEqual(format.filterOf("http://x state: :y", names), { q: "http://x state: :y" });
  assert.deepEqual(format.filterOf("  ", names), {});
});

test("a state or a cause is typed as its code or as its word is shown", () => {
  const names = ["state", "cause", "job"];
  const cases = /** @type {[string, Record<string, string>][]} */ ([
    ["state:timed out,dead letter,failed night", { state: "timed_out,dead,failed", q: "night" }],
    ['state:"timed out" cause:by hand', { state: "timed_out", cause: "request" }],
    ["state:skipped: overlap", { state: "skipped_overlap" }],
    ["cause:schedule job:schedule", { cause: "trigger", job: "schedule" }]
  ]);
  for (const [text, found] of cases) assert.deepEqual(format.filterOf(text, names), found);
});

test("a value with blanks stands in quotes, and is written back as it is typed", () => {
  const names = ["actor", "line"];
  const cases = /** @type {[string, Record<string, string>][]} */ ([
    ['actor:"uid 0" pause', { actor: "uid 0", q: "pause" }],
    ['actor:"token mara" line:ok', { actor: "token mara", line: "ok" }],
    ['line:"no \\"x\\" in C:\\\\y"', { line: 'no "x" in C:\\y' }],
    ["line:C:\\y", { line: "C:\\y" }]
  ]);
  for (const [text, found] of cases) {
    assert.deepEqual(format.filterOf(text, names), found);
    const { q, ...named } = found;
    const words = Object.entries(named).map(([name, value]) => format.filterWord(name, value));
    assert.equal([...words, q].join(" ").trim(), text);
  }
  assert.deepEqual(format.filterOf('actor:"uid 0', names), { actor: "uid 0" }, "while somebody types");
});

test("each state of a run has a tone, and its word has no underscore", () => {
  const states = [
    "scheduled",
    "queued",
    "running",
    "succeeded",
    "failed",
    "timed_out",
    "cancelled",
    "skipped_overlap",
    "skipped_paused",
    "missed",
    "abandoned",
    "dead"
  ];
  const tones = states.map((state) => format.tone(state));
  assert.deepEqual(tones, [
    "dim",
    "dim",
    "run",
    "ok",
    "bad",
    "bad",
    "dim",
    "dim",
    "dim",
    "warn",
    "bad",
    "bad"
  ]);
  for (const state of states) assert.doesNotMatch(format.word(state), /_/);
});

test("a sentence begins with a capital, and a command as it is typed", () => {
  assert.equal(format.capital("there is no job"), "There is no job");
  for (const text of ["mainspring dead list shows them", "`mainspring resume --all`", ""])
    assert.equal(format.capital(text), text);
});
