// Tables whose rows stay where they are, and the small things that stand in their cells.
//
// A live update changes cells and nothing else. What would move rows waits behind a button, until it is
// pressed.
// Cost: one element for each cell.

/** @import {Civil, Civils, Instant, Job, Pause, Run, RunState, Square} from "../api.d.ts" */
/** @import {Child, Held} from "./dom.js" */
/** @import {Zoning} from "./format.js" */
import { known, may, now } from "./api.js";
import { absent, dim, h, icon, s } from "./dom.js";
import {
  capital,
  civilText,
  lasting,
  length,
  number,
  past,
  place,
  plural,
  relative,
  tone,
  word
} from "./format.js";

/** How many rows a page of a list has: three screens. */
export const PAGE_ROWS = 100;

/** What a page is shown with. @typedef {object} Context
 * @property {URLSearchParams} query
 * @property {<T>(name: string, fresh: T[], keyOf: (row: T) => string) => Held<T>} held
 * @property {Map<string, RunState>} lately   states by the last events
 * @property {Set<string>} picked
 */

/** Label, classes of the cells, cell, the word for the parameter `sort`.
 * @template T @typedef {[label: string, kind: string, cell: (row: T) => Child, sort?: string]} Column */

/** @template T @typedef {object} Table
 * @property {string} caption   names the table, also from one update to the next
 * @property {Column<T>[]} columns
 * @property {T[]} rows
 * @property {(row: T) => string} keyOf
 * @property {(row: T) => Record<string, string | null>} [of]   what keys and buttons of the row are about
 * @property {"jobs" | "runs"} [pick]
 * @property {Child} empty
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
export const to = (page, query = {}) => link(new URLSearchParams({ page }), query);

/** A link to a page.
 * @param {Child} text @param {string} page @param {Record<string, string | null>} [query] */
export const a = (text, page, query) => h("a", { href: to(page, query) }, text);

/** @param {string} job @param {string} [spec] */
export const jobLink = (job, spec = "a") => h(spec, { href: to("job", { job }), title: job }, job);

/** @param {Run} run @param {Child} [text] */
export const runLink = (run, text = run.job) =>
  h("a.open", { href: to("run", { run: run.run }), title: run.run }, text);

/** What keys and buttons find in an element. @param {Record<string, string | null>} of */
export const about = (of) =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [`data-${name}`, value]));

/** Text as it stands, which can be scrolled with keys. @param {string} label @param {Child[]} text */
export const pre = (label, ...text) =>
  h("pre.code", { tabindex: 0, role: "group", "aria-label": label }, text);

/** Fields for what is no prose. */
export const CODE = { autocomplete: "off", spellcheck: "false", autocapitalize: "off" };

/** @template T @param {Context} context @param {Table<T>} table */
export function table(context, { caption, columns, rows, keyOf, of, pick, empty }) {
  const { rows: shown, added, gone } = context.held(caption, rows, keyOf);
  const news = [added && `${number(added)} new`, gone.size && `${number(gone.size)} gone`].filter(Boolean);
  const button = h(
    "button.news",
    { "data-do": "news", hidden: news.length === 0, title: "Show it (.)" },
    news.join(", ")
  );
  if (shown.length === 0) return h("div.list", { "data-key": caption }, button, nothing(empty));
  const picks = pick !== undefined && may("operate");
  const box = (/** @type {string} */ act, /** @type {string} */ label, checked = false) =>
    h("input", { type: "checkbox", "data-do": act, "aria-label": label, checked });
  const body = shown.map((row) => {
    const key = keyOf(row);
    const cells = columns.map(([label, kind, cell], index) =>
      index === 0
        ? h("th", { class: kind, scope: "row" }, cell(row))
        : h("td", { class: kind || null, "data-label": kind === "act" ? null : label }, cell(row))
    );
    return h(
      "tr",
      { "data-key": key, class: gone.has(key) ? "gone" : null, ...about(of?.(row) ?? {}) },
      picks && h("td.pick", box("pick", `Select ${key}`, context.picked.has(key))),
      cells
    );
  });
  const head = h(
    "tr",
    picks && h("th.pick", { scope: "col" }, box("pick-all", "Select all rows")),
    columns.map((column) => header(context.query, column))
  );
  return h(
    "div.list",
    { "data-key": caption, "data-pick": pick },
    button,
    h("table", h("caption", caption), h("thead", head), h("tbody", body))
  );
}

/** @template T @param {URLSearchParams} query @param {Column<T>} column */
function header(query, [label, kind, , sort]) {
  const current = query.get("sort") ?? "";
  const isUp = current === sort;
  const isDown = current === `-${sort}`;
  const next = isUp ? `-${sort}` : isDown ? null : (sort ?? null);
  return h(
    "th",
    { scope: "col", class: kind || null, "aria-sort": isUp ? "ascending" : isDown ? "descending" : null },
    sort === undefined
      ? h(kind === "act" ? "span.hide" : "span", label)
      : h(
          "a.sort",
          { href: link(query, { sort: next, after: null }) },
          label,
          isUp ? " ↑" : isDown ? " ↓" : ""
        )
  );
}

/** @param {Child[]} text */
export const nothing = (...text) => h("p.empty", text);

/** The link to the rest of a list. @param {URLSearchParams} query @param {string | null} next */
export function more(query, next) {
  return h(
    "p.more",
    query.has("after") && h("a", { href: link(query, { after: null }) }, "From the beginning"),
    next !== null && h("a", { href: link(query, { after: next }) }, "More")
  );
}

/** @param {number | null | undefined} size */
export const count = (size) => typeof size === "number" && h("span.count", number(size));

/** @param {Child} title @param {Child[]} children */
export const section = (title, ...children) => h("section", h("h2", title), children);

/** @param {Child[]} text */
export const title = (...text) => h("h1", { tabindex: -1 }, text);

/** @param {[Child, Child][]} rows */
export const facts = (rows) =>
  h(
    "dl.facts",
    rows.map(([name, value]) => [h("dt", name), h("dd", value)])
  );

/** Things to know: what is bad first. @param {{isBad?: boolean, key: string, body: Child}[]} items */
export function findings(items) {
  const sorted = [...items].sort((a, b) => Number(b.isBad ?? false) - Number(a.isBad ?? false));
  return h(
    "ul.findings",
    sorted.map(({ isBad, key, body }) =>
      h(
        isBad ? "li.bad" : "li.warn",
        { "data-key": key },
        icon(isBad ? "failed" : "warning"),
        h("span", body)
      )
    )
  );
}

/** A sentence of the server: a capital, a full stop, and what is in backticks as code.
 * @param {string} text */
export function prose(text) {
  const whole = `${capital(text)}${/[.!?]$/.test(text) ? "" : "."}`;
  return whole.split("`").map((part, index) => (index % 2 === 0 ? part : h("code", part)));
}

// Times -----------------------------------------------------------------------------------------------------

/** @returns {Zoning} */
export function zoning() {
  const found = localStorage.getItem("zone");
  return found === "mine" || found === "utc" ? found : "job";
}

/** A time of an object with `civil`.
 * @template {string} N @param {{civil: Civils} & {[name in N]: Instant | null}} of @param {N} name */
export function when(of, name) {
  const at = of[name];
  return at === null ? absent() : time(at, of.civil[name]);
}

/** When a run is to start: what is asked for later, or waits, has another time than that of its name.
 * @param {Run} run */
export const dueOf = (run) =>
  when(run, run.state === "scheduled" || run.cause === "request" ? "due" : "nominal");

/** @param {Instant} at @param {Civil} [civil] */
export function time(at, civil) {
  const { text, zone } = civilText(at, civil, zoning(), now());
  return h(
    "time",
    { datetime: at, title: `${civil ?? ""} ${at}` },
    text,
    zone !== null && h("span.zone", ` ${place(zone)}`)
  );
}

/** A length of time that still grows. */
class Ticking extends HTMLElement {
  static observedAttributes = ["at"];
  connectedCallback() {
    ticking.add(this);
    this.attributeChangedCallback();
  }
  disconnectedCallback() {
    ticking.delete(this);
  }
  attributeChangedCallback() {
    const at = Date.parse(this.getAttribute("at") ?? "");
    const text = { relative, past, lasting }[/** @type {Far} */ (this.getAttribute("by"))](at, now());
    if (super.textContent !== text) super.textContent = text;
  }
}

/** @type {Set<Ticking>} */
const ticking = new Set();
customElements.define("ms-ago", Ticking);

/** Sets all lengths of time that go on. */
export function tick() {
  for (const element of ticking) element.attributeChangedCallback();
}

/** @typedef {"lasting" | "past" | "relative"} Far */

/** How far a time is from now. What says how it is shown comes first, as `at` shows it.
 * @param {Instant} at @param {Far} by */
const far = (at, by) => h("ms-ago", { by, at, "data-own": true });

/** `in 5 m` or `5 m ago`, of what is planned. @param {Instant} at */
export const away = (at) => dim(far(at, "relative"));

/** `5 m ago`, of what has happened. @param {Instant} at */
export const ago = (at) => dim(far(at, "past"));

/** `5 m`. @param {Instant} at */
export const since = (at) => far(at, "lasting");

/** @param {number | null} ms */
export const span = (ms) => (ms === null ? absent() : length(ms));

// States ----------------------------------------------------------------------------------------------------

/** A state: shape, colour and word. @param {string} code @param {Child} [text] */
export const state = (code, text = word(code)) => h(`span.s.${tone(code)}`, icon(code), " ", text);

/** The state of a run, and how far it is. @param {Run} run @param {RunState} [code] */
export const runState = ({ state: own, progress }, code = own) => [
  state(code),
  code === "running" &&
    progress &&
    dim(` ${number(progress.done)} ${progress.of ? `of ${number(progress.of)}` : "done"}`)
];

/** @param {Job} job */
export function jobState({ state_code, pause, running, failures, troubles, state: text }) {
  if (pause !== null)
    return [
      state(state_code),
      pause.until !== null && h("div", "until ", time(pause.until, pause.civil.until))
    ];
  if (0 < running) return state("running", running === 1 ? "running" : `${running} running`);
  if (0 < failures) return state("failing", failures === 1 ? "failing" : `failing: ${failures} times`);
  return troubles[0] === undefined ? dim(text) : state(troubles[0].code);
}

/** Whether something that is due then starts: not while everything is paused. @param {Instant} at */
export function starts(at) {
  const pause = known()?.pause;
  return !pause || (pause.until !== null && Date.parse(pause.until) <= Date.parse(at));
}

/** `in 5 m`, where it starts then. @param {Instant} at */
export const startsIn = (at) => (starts(at) ? away(at) : dim("paused with everything"));

/** The pause of everything, as a thing to know. */
export function pauseFinding() {
  const pause = known()?.pause;
  return pause ? [{ key: "pause-all", body: ["Everything is paused ", pauseText(pause), "."] }] : [];
}

/** What is armed, and a word where that is not what the timetable says. @param {Job} job */
export function nextOf(job) {
  if (job.pause !== null) return dim("paused");
  return [
    job.next === null ? absent() : [when(job, "next"), " ", startsIn(job.next)],
    job.troubles.some(({ code }) => code === "mismatched") && [
      " ",
      state("mismatched", job.armed === null ? "not armed" : "armed too late")
    ]
  ];
}

/** Words for a pause. @param {Pause} pause */
export function pauseText({ by, reason, since, until, note, civil }) {
  return [
    by === null ? reason : `by ${by}`,
    since !== null && [by === null ? ", " : " ", ago(since)],
    until !== null && [", until ", time(until, civil.until)],
    note !== null && [": ", h("q", note)]
  ];
}

const SQUARES = 20;

/** The last runs as bars: low and green is good, high and red is not. @param {Square[]} recent */
export function squares(recent) {
  const last = recent.slice(-SQUARES);
  const bad = last.filter(({ state }) => tone(state) === "bad").length;
  const label = `${plural(last.length, "last run")}, ${bad} failed`;
  return s(
    "svg.squares",
    { width: last.length * 5, role: "img", "aria-label": label },
    last.map(({ state }, index) => {
      const of = tone(state);
      const [fill, height] =
        of === "bad"
          ? ["bad", 12]
          : of === "warn"
            ? ["warn", 8]
            : of === "run"
              ? ["run", 8]
              : of === "ok"
                ? ["ok", 6]
                : ["dim", 2];
      return s(`rect.f-${fill}`, { x: index * 5, y: 13 - Number(height), width: 3.6, height });
    })
  );
}

// What can be done ------------------------------------------------------------------------------------------

/** A button in a row. @param {string} act @param {string} label @param {string} name */
export const rowButton = (act, label, name) =>
  h("button.mini", { "data-do": act, "aria-label": `${label} ${name}` }, label);

/** @param {Run} run */
export const isOpen = ({ state }) => ["scheduled", "queued", "running"].includes(state);

/** @param {string} run @param {string} [spec] */
export const logLink = (run, spec = "a.mini") =>
  h(spec, { href: to("run", { run, at: "log" }), "aria-label": `Log of ${run}` }, "Log");

/** @param {Run} run */
const runButtons = (run) => [
  run.started !== null && logLink(run.run),
  may("operate") &&
    (isOpen(run)
      ? rowButton("cancel", "Cancel", run.run)
      : run.cause !== "once" && rowButton("again", "Run again", run.run))
];

/** @param {Job} job */
const jobButtons = ({ name, pause, last }) => [
  last !== null && last.started !== null && logLink(last.run),
  may("operate") && [
    rowButton("run", "Run", name),
    pause === null ? rowButton("pause", "Pause", name) : rowButton("resume", "Resume", name)
  ]
];

/** Rows that are runs: their key, and what keys and buttons are about. */
export const RUNS = {
  keyOf: (/** @type {Run} */ { run }) => run,
  of: (/** @type {Run} */ { run, job, state }) => ({ run, job, state })
};

/** Rows that are jobs. */
export const JOBS = {
  keyOf: (/** @type {Job} */ { name }) => name,
  of: (/** @type {Job} */ { name, pause, last }) => ({
    job: name,
    paused: pause && "",
    run: last && last.run
  })
};

/** @type {Column<{name: string}>} */
export const NAME = ["Job", "main", ({ name }) => jobLink(name, "a.open")];
/** @type {Column<Run>} */
export const RUN_ACTIONS = ["Actions", "act", runButtons];
/** @type {Column<Job>} */
export const JOB_ACTIONS = ["Actions", "act", jobButtons];
