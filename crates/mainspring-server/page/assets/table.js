// Tables whose rows stay where they are, and the small things that stand in their cells.
//
// ```text
// shown:  a b c      fresh:  d a c      ->  rows: a b c (b as it was last known, marked),  1 new, 1 gone
// ```
//
// A live update changes cells and nothing else. What would move rows waits behind a button, until it is pressed.
//
// Cost: one element for each cell.

/** @import {Civil, Civils, Instant, Run, Job, Pause, RunState, Square} from "../api.d.ts" */
/** @import {Child, Held} from "./dom.js" */
/** @import {Zoning} from "./format.js" */
import { may, now } from "./api.js";
import { dim, h, icon, s } from "./dom.js";
import { civilText, counted, length, number, place, relative, tone, word } from "./format.js";

/** How many rows a page of a list has: what fits on three screens. */
export const PAGE_ROWS = 100;

/** What a page is shown with. @typedef {object} Context
 * @property {URLSearchParams} query
 * @property {<T>(name: string, fresh: T[], keyOf: (row: T) => string) => Held<T>} held
 * @property {Map<string, RunState>} lately   states by the last events
 * @property {Set<string>} picked
 */

/** Label, classes of the cells (`num`, `wide`, `main`, `act`, ..), cell, the word for the parameter `sort`.
 * @template T @typedef {[label: string, kind: string, cell: (row: T) => Child, sort?: string]} Column */

/** @template T @typedef {object} Rows
 * @property {string} name
 * @property {string} caption
 * @property {Column<T>[]} columns
 * @property {T[]} rows
 * @property {(row: T) => string} keyOf
 * @property {(row: T) => Record<string, string | null>} [of]   what keys and buttons of the row are about
 * @property {"jobs" | "runs"} [pick]
 * @property {Child} [empty]
 */

/** An address on this page with some parameters changed; null takes one away.
 * @param {URLSearchParams} query @param {Record<string, string | null>} changes */
export function link(query, changes) {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  }
  return `?${next}`;
}

/** @param {string} page @param {Record<string, string | null>} [query] */
export function to(page, query = {}) {
  return link(new URLSearchParams({ page }), query);
}

/** @template T @param {Context} context @param {Rows<T>} table */
export function table(context, { name, caption, columns, rows, keyOf, of, pick, empty }) {
  const { rows: shown, added, gone } = context.held(name, rows, keyOf);
  const picks = pick !== undefined && may("operate") && 0 < shown.length;
  const head = columns.map((column) => header(context.query, column));
  if (picks) head.unshift(h("th.pick", { scope: "col" }, h("input", { type: "checkbox", "data-do": "pick-all", "aria-label": "Select all rows" })));
  const body = shown.map((row) => {
    const key = keyOf(row);
    const cells = columns.map(([label, kind, cell], index) => {
      const attributes = { class: kind || null, "data-label": kind === "act" || index === 0 ? null : label };
      return index === 0 ? h("th", { ...attributes, scope: "row" }, cell(row)) : h("td", attributes, cell(row));
    });
    if (picks) {
      const box = { type: "checkbox", "data-do": "pick", "aria-label": `Select ${key}`, checked: context.picked.has(key) };
      cells.unshift(h("td.pick", h("input", box)));
    }
    const about = Object.fromEntries(Object.entries(of?.(row) ?? {}).map(([name, value]) => [`data-${name}`, value]));
    return h("tr", { "data-key": key, class: gone.has(key) ? "gone" : null, ...about }, cells);
  });
  const news = [added === 0 ? null : `${number(added)} new`, gone.size === 0 ? null : `${number(gone.size)} gone`];
  const button = h("button.news", { "data-do": "news", hidden: added + gone.size === 0, title: "Show it (.)" },
    news.filter((part) => part !== null).join(", ") || "0 new");
  if (shown.length === 0) return h("div.list", { "data-key": name }, button, h("p.empty", empty ?? "There is nothing."));
  return h("div.list", { "data-key": name, "data-pick": pick ?? null },
    button,
    h("table", h("caption", caption), h("thead", h("tr", head)), h("tbody", body)));
}

/** @template T @param {URLSearchParams} query @param {Column<T>} column */
function header(query, [label, kind, , sort]) {
  if (sort === undefined) return h("th", { scope: "col", class: kind || null }, kind === "act" ? h("span.hide", label) : label);
  const current = query.get("sort") ?? "";
  const isUp = current === sort;
  const isDown = current === `-${sort}`;
  const direction = isUp ? "ascending" : isDown ? "descending" : null;
  const next = isUp ? `-${sort}` : isDown ? null : sort;
  return h("th", { scope: "col", class: kind, "aria-sort": direction },
    h("a.sort", { href: link(query, { sort: next, after: null }) }, label, h("span", { "aria-hidden": "true" }, isUp ? "↑" : isDown ? "↓" : "")));
}

/** The link to the rest of a list. @param {URLSearchParams} query @param {string | null} next */
export function more(query, next) {
  const isLater = query.has("after");
  if (next === null && !isLater) return null;
  return h("p.more", null,
    isLater && h("a", { href: link(query, { after: null }) }, "From the beginning"),
    next !== null && h("a", { href: link(query, { after: next }) }, "More"));
}

// Times ------------------------------------------------------------------------------------------------------------

/** @returns {Zoning} */
export function zoning() {
  const found = localStorage.getItem("zone");
  return found === "mine" || found === "utc" ? found : "job";
}

/** A time of an object with `civil`. @template {string} N @param {{civil: Civils} & {[name in N]: Instant | null}} of @param {N} name
 * @param {{zone?: boolean}} [options] */
export function when(of, name, { zone = true } = {}) {
  const at = of[name];
  return at === null ? dim("—") : time(at, of.civil[name], zone);
}

/** @param {Instant} at @param {Civil} [civil] @param {boolean} [zone] */
export function time(at, civil, zone = true) {
  const shown = civilText(at, civil, zoning(), now());
  const title = civil === undefined ? at : `${civil}\n${at}`;
  return h("time", { datetime: at, title }, shown.text, zone && shown.zone !== null && h("span.zone", ` ${place(shown.zone)}`));
}

/** A length of time that goes on: `in`, `ago` or `for`. */
class Ticking extends HTMLElement {
  static observedAttributes = ["at", "until"];
  connectedCallback() {
    ticking.add(this);
    this.tick();
  }
  disconnectedCallback() {
    ticking.delete(this);
  }
  attributeChangedCallback() {
    if (this.isConnected) this.tick();
  }
  tick() {
    const at = Date.parse(this.getAttribute("at") ?? "");
    const isSpan = this.hasAttribute("span");
    /** @type {string} */
    const text = isSpan ? counted(Math.max(0, now() - at)) : relative(at, now());
    if (super.textContent !== text) super.textContent = text;
  }
}

/** @type {Set<Ticking>} */
const ticking = new Set();
customElements.define("ms-ago", Ticking);

/** Sets all lengths of time that go on. */
export function tick() {
  for (const element of ticking) element.tick();
}

/** `in 5 m` or `5 m ago`, and goes on. @param {Instant} at */
export function ago(at) {
  return h("ms-ago", { at, "data-own": true });
}

/** `5 m`, and goes on. @param {Instant} at */
export function since(at) {
  return h("ms-ago", { at, span: true, "data-own": true });
}

/** @param {number | null} ms */
export function span(ms) {
  return ms === null ? dim("—") : length(ms);
}

// States -----------------------------------------------------------------------------------------------------------

/** A state: shape, colour and word. @param {string} code @param {string} [text] */
export function state(code, text = word(code)) {
  return h(`span.s.${tone(code)}`, null, icon(code), " ", text);
}

/** @param {Job} job */
export function jobState(job) {
  if (job.state_code !== "active" && job.state_code !== "done") {
    const until = job.pause?.until;
    return [state(job.state_code, word(job.state_code)), until ? dim(" until ", time(until, job.pause?.civil.until)) : null];
  }
  if (0 < job.running) return state("running", job.running === 1 ? "running" : `${job.running} running`);
  if (0 < job.failures) return state("failed", job.failures === 1 ? "failed" : `failed ${job.failures} times`);
  const trouble = job.troubles[0];
  if (trouble !== undefined) return state(trouble.code === "silent" ? "silent" : "warning", word(trouble.code));
  return dim(job.state);
}

const SQUARES = 20;

/** The last runs as bars: low and green is good, high and red is not. @param {Square[]} recent */
export function squares(recent) {
  const last = recent.slice(-SQUARES);
  const count = last.filter((square) => tone(square.state) === "bad").length;
  const label = last.length === 0 ? "no runs yet" : `${last.length} last runs, ${count} failed; the last ${word(last.at(-1)?.state ?? "")}`;
  return s("svg.squares", { viewBox: "0 0 140 14", role: "img", "aria-label": label },
    last.map((square, index) => bar((SQUARES - last.length + index) * 7, square.state)));
}

/** @param {number} x @param {RunState} state */
function bar(x, state) {
  const of = tone(state);
  if (of === "bad") return s("rect.f-bad", { x, y: 1, width: 5, height: 12 });
  if (state === "missed") return s("rect.f-warn", { x: x + 0.5, y: 4.5, width: 4, height: 8 });
  if (state === "running") return s("rect.f-run", { x: x + 0.5, y: 4.5, width: 4, height: 8 });
  if (of === "ok") return s("rect.f-ok", { x, y: 7, width: 5, height: 6 });
  return s("rect.f-dim", { x, y: 11, width: 5, height: 2 });
}

// What can be done -------------------------------------------------------------------------------------------------

/** A button in a row. @param {string} act @param {string} label @param {string} name */
export function rowButton(act, label, name) {
  return h("button.mini", { "data-do": act, "aria-label": `${label} ${name}` }, label);
}

/** @param {Run} run */
export function runButtons(run) {
  const buttons = [];
  if (run.started !== null) buttons.push(h("a.mini", { href: to("run", { run: run.run, at: "log" }), "aria-label": `Log of ${run.run}` }, "Log"));
  if (!may("operate")) return buttons;
  if (["scheduled", "queued", "running"].includes(run.state)) buttons.push(rowButton("cancel", "Cancel", run.run));
  else if (run.cause !== "once") buttons.push(rowButton("again", "Run again", run.run));
  return buttons;
}

/** What keys are about in a row of a run. @param {Run} run */
export function ofRun(run) {
  return { run: run.run, job: run.job, state: run.state };
}

/** @param {Job} job */
export function ofJob(job) {
  return { job: job.name, paused: job.pause === null ? null : "", run: job.last?.run ?? null };
}

/** Words for a pause. @param {Pause} pause */
export function pauseText(pause) {
  return [pause.by === null ? `${pause.reason} ` : `by ${pause.by} `, ago(pause.since), pause.until !== null && [", until ", time(pause.until, pause.civil.until)],
    pause.note !== null && [": ", h("q", pause.note)]];
}
