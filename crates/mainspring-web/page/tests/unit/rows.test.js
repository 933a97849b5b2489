// Rows that stay, and text that is seen.

import assert from "node:assert/strict";
import { test } from "node:test";
import { hold, visible } from "../../assets/dom.js";

/** @param {{key: string, value: number}} row */
const keyOf = ({ key }) => key;
/** @param {string} text `a1 b2` */
const rows = (text) =>
  text
    .split(" ")
    .filter(Boolean)
    .map((part) => ({ key: part.slice(0, 1), value: Number(part.slice(1)) }));
/** @param {{key: string, value: number}[]} found */
const text = (found) => found.map(({ key, value }) => `${key}${value}`).join(" ");
/** @param {string} shown */
const before = (shown) => new Map(rows(shown).map((row) => [row.key, row]));

test("rows keep their places, and what is new is counted", () => {
  const cases = /** @type {[string, string, string, number, string][]} */ ([
    // shown, fresh, rows, added, gone
    ["a1 b1 c1", "a2 b2 c2", "a2 b2 c2", 0, ""],
    ["a1 b1 c1", "c2 a2 b2", "a2 b2 c2", 0, ""],
    ["a1 b1 c1", "d2 a2 c2", "a2 b1 c2", 1, "b"],
    ["a1", "", "a1", 0, "a"],
    // That there is nothing is not said any longer than it is so.
    ["", "a2 b2", "a2 b2", 0, ""]
  ]);
  for (const [shown, fresh, wanted, added, gone] of cases) {
    const held = hold(before(shown), rows(fresh), keyOf);
    assert.equal(text(held.rows), wanted);
    assert.equal(held.added, added);
    assert.equal([...held.gone].join(), gone);
  }
});

test("what was not shown before comes as it is", () => {
  const held = hold(undefined, rows("b1 a1"), keyOf);
  assert.deepEqual([text(held.rows), held.added, held.gone.size], ["b1 a1", 0, 0]);
});

test("characters that act are shown as a mark", () => {
  assert.equal(visible("a\u0000b\u0007"), "a\u27e800\u27e9b\u27e807\u27e9");
  assert.equal(visible("\u202egnp.exe"), "\u27e8202e\u27e9gnp.exe");
  assert.equal(
    visible("\u2066x\u2069\u200f\ufeff\u007f\u009b"),
    "\u27e82066\u27e9x\u27e82069\u27e9\u27e8200f\u27e9\u27e8feff\u27e9\u27e87f\u27e9\u27e89b\u27e9"
  );
  assert.equal(visible("tab\tline\nnaïve 日本 👍"), "tab\tline\nnaïve 日本 👍");
});
