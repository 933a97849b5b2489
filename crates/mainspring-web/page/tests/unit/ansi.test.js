// The colours of a terminal, and nothing else of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ansi, plain } from "../../assets/ansi.js";
import { chance } from "../../mock/clock.js";

/** @param {string} line */
const shown = (line, style = plain()) =>
  ansi(line, style)
    .map(({ text, classes }) => (classes === "" ? text : `<${classes}>${text}`))
    .join("");

test("colours and weights become classes", () => {
  const cases = /** @type {[string, string][]} */ ([
    ["plain", "plain"],
    ["\u001b[31mred\u001b[0m not", "<a1>red not"],
    ["\u001b[1;4;33mloud", "<a3 a-b a-u>loud"],
    ["\u001b[1mbold\u001b[22m not", "<a-b>bold not"],
    ["\u001b[mreset", "reset"],
    ["\u001b[7minverse\u001b[27m not", "<a-r>inverse not"],
    ["\u001b[92mbright", "<a2>bright"],
    ["\u001b[38;5;196mred\u001b[39m", "<a1>red"],
    ["\u001b[38;5;244mgrey", "<a7>grey"],
    ["\u001b[38;2;0;255;0mgreen", "<a2>green"],
    ["\u001b[38:2:0:0:255mblue", "<a4>blue"],
    ["\u001b[48;2;0;255;0;1mframed and bold", "<a-b a-r>framed and bold"],
    ["\u009b31mred", "<a1>red"]
  ]);
  for (const [line, wanted] of cases) assert.equal(shown(line), wanted, JSON.stringify(line));
});

test("whatever else a terminal would do is dropped", () => {
  const cases = [
    "\u001b[2J",
    "\u001b[1;1H",
    "\u001b[?25l",
    "\u001b]0;title\u0007",
    "\u001b]8;;http://x\u001b\\",
    "\u001bP+q\u001b\\",
    "\u001b(B",
    "\u001bc",
    "\u001b[31",
    "\u001b"
  ];
  for (const line of cases) assert.equal(shown(`${line}`), "", JSON.stringify(line));
  assert.equal(shown("a\u001b[2Kb\u001b]0;title\u0007c"), "abc");
  assert.equal(shown("a\u001b]never closed"), "a");
});

test("a colour continues in the next line", () => {
  const style = plain();
  assert.equal(shown("\u001b[31mred", style), "<a1>red");
  assert.equal(shown("still", style), "<a1>still");
  assert.equal(shown("\u001b[0mnot", style), "not");
});

test("no text gets lost, and no escape gets through, whatever comes", () => {
  const alphabet = [
    "\u001b",
    "[",
    "]",
    ";",
    ":",
    "m",
    "3",
    "1",
    "8",
    "5",
    "x",
    "K",
    "\u0007",
    "\\",
    "\u009b",
    "P",
    " ",
    "(",
    "é"
  ];
  for (let seed = 0; seed < 3_000; seed += 1) {
    let line = "";
    for (let index = 0; index < 24; index += 1)
      line += alphabet[Math.floor(chance(`${seed} ${index}`) * alphabet.length)];
    const found = ansi(line, plain());
    const text = found.map((part) => part.text).join("");
    assert.doesNotMatch(text, /[\u001b\u009b]/, JSON.stringify(line));
    assert.ok(text.length <= line.length, JSON.stringify(line));
    for (const { classes } of found)
      assert.match(classes, /^((a[0-7]|a-[bdiur])( |$))*$/, JSON.stringify(line));
  }
});
