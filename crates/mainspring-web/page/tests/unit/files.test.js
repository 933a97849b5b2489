// Checks of the page's files: size, contrast, contract, and what the rule of serving needs.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { assets, served } from "../../mock/serve.js";

const PAGE = new URL("../../", import.meta.url);
/** @param {string} path */
const read = (path) => readFileSync(new URL(path, PAGE), "utf8");
const names = readdirSync(new URL("assets", PAGE));
const scripts = names.filter((name) => name.endsWith(".js"));

/** All that a browser ever loads of the page. */
const MAX_BYTES = 127 * 1_024;

test("all files together are within the budget, as they are served", (t) => {
  const sizes = [...assets()].map(([name, bytes]) => /** @type {const} */ ([name, bytes.length]));
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  t.diagnostic(`${total} of ${MAX_BYTES} bytes`);
  assert.ok(total <= MAX_BYTES, `${total} bytes: ${sizes.map((size) => size.join(" ")).join(", ")}`);
});

test("serving takes away comments and nothing else", () => {
  assert.equal(
    served("// a\n  const b = /** @type {C} */ (d); // e\n/**\n * f\n */\n\n  g(\n  h\n)\n  .i();\n", "js"),
    "const b =  (d); // e\ng(h).i();\n"
  );
  assert.equal(served("a(\n  b // c\n);\n", "js"), "a(b // c\n);\n", "a comment takes nothing in");
  assert.equal(served("a {\n  b: c;\n}\n.d {\n}\n", "css"), "a {b: c;}\n.d {}\n");
  assert.equal(served("<p>a,\n  b\n", "html"), "<p>a,\nb\n");
  for (const name of scripts) {
    const text = read(`assets/${name}`);
    // A string over several lines, or one with a comment in it, would be changed.
    for (const [index, line] of text.split("\n").entries()) {
      if (/^\s*(\/\/|\*|\/\*\*)/.test(line)) continue;
      const where = `${name}:${index + 1}`;
      const code = line.replace(/\/\*\*.*?\*\//g, "").replace(/"(?:[^"\\]|\\.)*"/g, '""');
      assert.equal(
        (code.match(/(?<!\\)`/g) ?? []).length % 2,
        0,
        `${where}: a template string over several lines`
      );
      assert.doesNotMatch(code, /\/\*(?!\*)/, `${where}: a comment that is no documentation`);
    }
  }
});

test("nothing on the page makes HTML of a string or runs one", () => {
  const forbidden =
    /(inner|outer|AdjacentH?)HTML|document\.write|DOMParser|eval\(|new Function|srcdoc|ContextualFragment/;
  for (const name of scripts) assert.doesNotMatch(read(`assets/${name}`), forbidden, name);
  assert.doesNotMatch(read("assets/index.html"), / (style|on\w+)=/);
});

test("the page names no other host", () => {
  for (const name of names) {
    const text = read(`assets/${name}`).replaceAll("http://www.w3.org/2000/svg", "");
    assert.doesNotMatch(text, /https?:\/\/|["'(]\/\/\w/, name);
  }
});

test("the address of each asset in index.html has the hash, and each file is there", () => {
  const found = [...read("assets/index.html").matchAll(/(?:href|src)="(assets\/[^"]+)"/g)].map(
    ([, path]) => path ?? ""
  );
  const started = /of \[(.+)\]/.exec(read("assets/start.js"))?.[1]?.split(", ") ?? [];
  found.push(...started.map((name) => `assets/@HASH@/${name.slice(1, -1)}.js`));
  assert.ok(found.includes("assets/@HASH@/page.css") && found.includes("assets/@HASH@/main.js"));
  for (const path of found) {
    assert.ok(path.startsWith("assets/@HASH@/"), path);
    assert.ok(names.includes(path.slice("assets/@HASH@/".length)), path);
  }
});

test("each symbol that a state needs is there", () => {
  const text = read("assets/index.html");
  for (const state of [
    "succeeded",
    "failed",
    "timed_out",
    "abandoned",
    "dead",
    "missed",
    "skipped",
    "cancelled",
    "running",
    "queued",
    "paused",
    "silent",
    "warning"
  ]) {
    assert.match(text, new RegExp(`<path id="i-${state}"`), state);
  }
});

// Contrast --------------------------------------------------------------------------------------------------

/** The luminance of WCAG 2.2. @param {string} hex */
function luminance(hex) {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** @param {string} one @param {string} other */
function contrast(one, other) {
  const [high = 0, low = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

test("text has a contrast of 4.5, shapes of 3, and README says which", () => {
  const tokens = Object.fromEntries(
    [...read("assets/page.css").matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
      ([, name, light, dark]) => [name, [light ?? "", dark ?? ""]]
    )
  );
  const least = {
    ink: 4.5,
    dim: 4.5,
    link: 4.5,
    ok: 4.5,
    bad: 4.5,
    warn: 4.5,
    rest: 4.5,
    edge: 3,
    "fill-ok": 3,
    "fill-bad": 3,
    "fill-warn": 3,
    "fill-run": 3
  };
  for (const [name, ratio] of Object.entries(least)) {
    const cells = ["paper", "wash"].map((ground) =>
      [0, 1]
        .map((theme) => {
          const found = contrast(tokens[name]?.[theme] ?? "", tokens[ground]?.[theme] ?? "");
          assert.ok(ratio <= found, `${name} on ${ground}: ${found}`);
          return found.toFixed(1);
        })
        .join(" / ")
    );
    const row =
      read("README.md")
        .split("\n")
        .find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
    assert.ok(row.endsWith(`| ${cells.join(" | ")} |`), `README: ${name}: ${cells.join(" | ")}`);
    assert.ok(row.includes(`| ${tokens[name]?.join(" | ")} |`), `README: ${name}: ${tokens[name]}`);
  }
  for (const theme of [0, 1])
    assert.ok(4.5 <= contrast(tokens["on-link"]?.[theme] ?? "", tokens.link?.[theme] ?? ""));
});

// Contract --------------------------------------------------------------------------------------------------

/** Which documents of the command line the API's are made of. */
const DOCUMENTS = {
  StatusWire: "Status",
  FileStateWire: "FileState",
  JobWire: "JobDetail",
  OnceWire: "Once",
  RunWire: "Run",
  AppliedWire: "Applied"
};

test("each field that the command line prints is in the API under the same name", () => {
  const rust =
    read("../../mainspring-server/src/protocol.rs") + read("../../mainspring-server/src/protocol/job.rs");
  const types = read("api.d.ts");
  /** @param {string} name @returns {string[]} */
  const fieldsOf = (name) => {
    const [, base, body = ""] =
      new RegExp(`interface ${name} (?:extends (\\w+) )?\\{\\n(.*?)\\n\\}`, "s").exec(types) ?? [];
    const own = [...body.matchAll(/^ {2}(\w+)\??:/gm)].map(([, field]) => field ?? "");
    return base === undefined ? own : [...fieldsOf(base), ...own];
  };
  for (const [wire, name] of Object.entries(DOCUMENTS)) {
    const [, body = ""] = new RegExp(`pub struct ${wire} \\{\\n(.*?)\\n\\}`, "s").exec(rust) ?? [];
    const wanted = [...body.matchAll(/^ {4}pub (\w+):/gm)].map(([, field]) => field ?? "");
    assert.ok(0 < wanted.length, wire);
    const found = fieldsOf(name);
    assert.deepEqual(
      wanted.filter((field) => !found.includes(field)),
      [],
      `${wire} -> ${name}`
    );
  }
});
