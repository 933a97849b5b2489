// The documents of the API are written down twice: for the page in api.d.ts, for programs in schemas.json.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

/** @param {string} path */
const read = (path) => readFileSync(new URL(path, new URL("../../", import.meta.url)), "utf8");
const types = read("api.d.ts").replace(/\/\*\*.*?\*\//gs, "");
/** @type {Record<string, any>} */
const schemas = JSON.parse(read("../src/schemas.json"));

/** What a request takes: types of the page say what the page sends, which is less. */
const ASKED = /Asked$/;

/** @typedef {{isOptional: boolean, type: string}} Field */

/** The fields of an interface, those of its base before them. @param {string} name @returns {Map<string, Field>} */
function fieldsOf(name) {
  const [, base, body = ""] =
    new RegExp(`interface ${name} (?:extends (\\w+) )?\\{\\n(.*?)\\n\\}`, "s").exec(types) ?? [];
  const fields = base === undefined ? new Map() : fieldsOf(base);
  for (const [, field = "", mark, type = ""] of body.matchAll(/^ {2}(\w+)(\??):(.*?);$/gms))
    fields.set(field, { isOptional: mark === "?", type: type.trim() });
  return fields;
}

/** Whether a schema allows null. @param {any} schema */
const allowsNull = ({ type, anyOf = [] }) =>
  [type, ...anyOf.map((/** @type {any} */ { type }) => type)].flat().includes("null");

/** The texts that a type or a schema allows; null for any. @param {string} type */
const textsOf = (type) => {
  const parts = type.split("|").map((part) => part.trim());
  const texts = parts.filter((part) => part.startsWith('"')).map((part) => JSON.parse(part));
  return 0 < texts.length ? texts.sort() : null;
};

const interfaces = [...types.matchAll(/^export interface (\w+)/gm)].map(([, name]) => name ?? "");
const shared = interfaces.filter((name) => name in schemas && !ASKED.test(name));

test("most documents that the page knows are described for programs", () => {
  const own = interfaces.filter((name) => !(name in schemas));
  assert.deepEqual(own.sort(), ["Events", "List", "OutputText"]);
  assert.ok(25 < shared.length, `${shared}`);
});

for (const name of shared)
  test(`the page and programs are told the same of ${name}`, () => {
    const fields = fieldsOf(name);
    const { properties, required = [] } = schemas[name];
    assert.deepEqual([...fields.keys()].sort(), Object.keys(properties).sort());
    for (const [field, { isOptional, type }] of fields) {
      assert.equal(!required.includes(field), isOptional, `${name}.${field} is optional`);
      assert.equal(allowsNull(properties[field]), /\| null$/.test(type), `${name}.${field} may be null`);
      const { enum: words, const: word } = properties[field];
      const texts = words?.filter((/** @type {any} */ text) => text !== null).sort() ?? null;
      const isPlain = !/[{<]/.test(type);
      assert.deepEqual(word ? [word] : texts, isPlain ? textsOf(type) : null, `${name}.${field}`);
    }
  });

test("the words of a type are those of its schema", () => {
  let count = 0;
  for (const [, name = "", type = ""] of types.matchAll(/^export type (\w+) =\s*(.*?);/gms)) {
    const texts = textsOf(type.replace(/^\|/, ""));
    if (texts === null || !(name in schemas)) continue;
    assert.deepEqual(schemas[name].enum?.toSorted(), texts, name);
    count += 1;
  }
  assert.ok(5 < count, `${count}`);
});
