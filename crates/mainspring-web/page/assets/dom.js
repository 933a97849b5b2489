// Elements from data, and the change of what stands into what should stand.
//
//   view(data) -> new nodes --morph--> the nodes on the page: same key, same node, so focus and scroll stay
//
// All text goes through `text`, into text nodes: there is no other way for a string to reach the page.
// Characters that would act instead of being seen (controls, changes of direction) are shown as a mark.
//
// Cost: one pass over old and new nodes.

import { tone } from "./format.js";

/** @typedef {string | number | Node | null | undefined | false | Child[]} Child */
/** @typedef {{[name: string]: string | number | boolean | null | undefined}} Attributes */

// Controls but tab and line feed; direction marks, embeddings, overrides, isolates; separators of lines; byte
// order mark.
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A string with all of its characters visible. @param {string} raw */
export function visible(raw) {
  return raw.replace(UNSEEN, (char) => `\u27e8${char.charCodeAt(0).toString(16).padStart(2, "0")}\u27e9`);
}

/** @param {Element} element @param {Child[]} children */
function fill(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) fill(element, child);
    else element.append(child instanceof Node ? child : visible(String(child)));
  }
  return element;
}

/** @param {Element} element @param {Attributes} attributes */
function adorn(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  return element;
}

/** @param {Element} element @param {string[]} classes @param {(Attributes | Child)[]} rest */
function build(element, classes, rest) {
  const [first] = rest;
  const isPlain =
    typeof first === "object" && first !== null && !Array.isArray(first) && !(first instanceof Node);
  if (0 < classes.length) element.setAttribute("class", classes.join(" "));
  if (isPlain) adorn(element, /** @type {Attributes} */ (rest.shift()));
  return fill(element, /** @type {Child[]} */ (rest));
}

/** An element: `h("td.num", {title}, text)`; what is not needed is left out.
 * @param {string} spec @param {(Attributes | Child)[]} rest */
export function h(spec, ...rest) {
  const [tag = "div", ...classes] = spec.split(".");
  return /** @type {HTMLElement} */ (build(document.createElement(tag), classes, rest));
}

/** The same in SVG. @param {string} spec @param {(Attributes | Child)[]} rest */
export function s(spec, ...rest) {
  const [tag = "g", ...classes] = spec.split(".");
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), classes, rest);
}

/** What is said in passing. @param {Child[]} children */
export function dim(...children) {
  return h("span.dim", ...children);
}

/** The cell of what there is not (yet). On a telephone it is left out, unless it says more. */
export const absent = () => h("span.dim.none", "—");

/** The symbols of states that have none of their own. @type {Record<string, string>} */
const SHAPES = { bad: "failed", warn: "warning", ok: "succeeded", rest: "paused", dim: "timed_out" };

/** A symbol of index.html. @param {string} state */
export function icon(state) {
  const own = `i-${state.replace(/^skipped_.*/, "skipped")}`;
  const id = document.getElementById(own) === null ? `i-${SHAPES[tone(state)]}` : own;
  return s("svg.i", { viewBox: "0 0 12 12", "aria-hidden": "true" }, s("use", { href: `#${id}` }));
}

/** A copy of a template of index.html. @param {string} id */
export function template(id) {
  const found = document.getElementById(id);
  if (!(found instanceof HTMLTemplateElement)) throw new Error(`there is no template ${id}`);
  return /** @type {DocumentFragment} */ (found.content.cloneNode(true));
}

/** An element that is there. @template {Element} E @param {string} selector @param {new () => E} type
 * @param {ParentNode} [root] @returns {E} */
export function the(selector, type, root = document) {
  const found = root.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`there is no ${selector}`);
  return found;
}

// What a person sets and the server does not know: never taken back by an update.
const OWN = { DETAILS: ["open"], DIALOG: ["open"] };

/** Changes the children of `from` into those of `to`.
 * @param {Element} from @param {Element | DocumentFragment} to */
export function morphChildren(from, to) {
  /** @type {Map<string, Element>} */
  const keyed = new Map();
  const keys = new Set([...to.children].map((child) => child.getAttribute("data-key")));
  for (const child of [...from.children]) {
    const key = child.getAttribute("data-key");
    // What goes goes first, so that what stays need not be moved, which would take the focus from it.
    if (key !== null && !keys.has(key)) child.remove();
    else if (key !== null) keyed.set(key, child);
  }
  let place = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const key = wanted instanceof Element ? wanted.getAttribute("data-key") : null;
    const old = key === null ? unkeyed(place, wanted) : keyed.get(key);
    if (old === undefined || old === null || old.nodeName !== wanted.nodeName) {
      from.insertBefore(wanted, place);
      continue;
    }
    if (old === place) place = place.nextSibling;
    else from.insertBefore(old, place);
    if (old instanceof Element && wanted instanceof Element) morph(old, wanted);
    else if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
  }
  while (place !== null) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

/** The node at a place, if it can become `wanted`. @param {ChildNode | null} place @param {Node} wanted */
function unkeyed(place, wanted) {
  if (place === null || place.nodeName !== wanted.nodeName) return null;
  return place instanceof Element && place.hasAttribute("data-key") ? null : place;
}

/** @param {Element} from @param {Element} to */
export function morph(from, to) {
  const own = /** @type {Record<string, string[]>} */ (OWN)[from.nodeName] ?? [];
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !own.includes(name)) from.removeAttribute(name);
  }
  for (const { name, value } of [...to.attributes]) {
    if (from.getAttribute(name) !== value && !own.includes(name)) from.setAttribute(name, value);
  }
  // A box that a person ticked says so by its property alone.
  if (from instanceof HTMLInputElement && from.type === "checkbox") from.checked = to.hasAttribute("checked");
  if (!from.hasAttribute("data-own")) morphChildren(from, to);
}

// Rows that stay --------------------------------------------------------------------------------------------
//
//   shown:  a b c      fresh:  d a c      ->  rows: a b c (b as it was last known, marked),  1 new, 1 gone

/** @template T @typedef {{rows: T[], added: number, gone: Set<string>}} Held */

/** What stays of the rows that are shown when fresh ones come.
 * @template T @param {Map<string, T> | undefined} shown
 * @param {T[]} fresh @param {(row: T) => string} keyOf @returns {Held<T>} */
export function hold(shown, fresh, keyOf) {
  if (shown === undefined || shown.size === 0) return { rows: fresh, added: 0, gone: new Set() };
  const found = new Map(fresh.map((row) => [keyOf(row), row]));
  const gone = new Set([...shown.keys()].filter((key) => !found.has(key)));
  const rows = [...shown].map(([key, row]) => found.get(key) ?? row);
  return { rows, added: fresh.filter((row) => !shown.has(keyOf(row))).length, gone };
}
