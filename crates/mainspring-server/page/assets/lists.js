// The pages that are lists: now, jobs, runs, dead letters, audit.
//
// Each page is two functions: `load` asks the server, `view` makes elements of the answers. Neither knows the other pages.
//
// Cost: a request for each list.

/** @import {AuditEntry, Health, Job, List, Once, Run, Upcoming} from "../api.d.ts" */
/** @import {Context, Column} from "./table.js" */
/** @import {Child} from "./dom.js" */
import { get, known, may, now } from "./api.js";
import { dim, h } from "./dom.js";
import { filterOf, number, plural, tone, word } from "./format.js";
import {
  PAGE_ROWS, ago, jobState, link, more, ofJob, ofRun, pauseText, rowButton, runButtons, since, span, squares, state, table, time,
  to, when,
} from "./table.js";

/** A page. @template T @typedef {object} PageOf
 * @property {string} title
 * @property {readonly string[]} events   which events may have changed what it shows
 * @property {(query: URLSearchParams, signal: AbortSignal) => Promise<T>} load
 * @property {(data: T, context: Context) => Child} view
 * @property {(event: string, data: any, query: URLSearchParams) => boolean} [concerns]
 * @property {boolean} [settles]   whether new rows come in by themselves when nobody touches the page
 */

const JOB_FILTERS = ["state", "group", "label", "source", "sort"];
const RUN_FILTERS = ["job", "state", "cause", "group", "since", "until", "line"];

/** The filter of a list: one line of words. @param {URLSearchParams} query @param {readonly string[]} names @param {string} hint */
function filter(query, names, hint) {
  const words = names.filter((name) => name !== "sort" && query.has(name)).map((name) => `${name}:${query.get(name)}`);
  const text = [...words, query.get("q") ?? ""].join(" ").trim();
  return h("form.filter", { "data-form": "filter", "data-names": names.filter((name) => name !== "sort").join(" "), role: "search" },
    h("input", { name: "q", type: "search", value: text, placeholder: hint, "aria-label": `Filter: ${hint}`, autocomplete: "off", spellcheck: "false" }));
}

/** @param {string} text @param {readonly string[]} names @param {URLSearchParams} query */
export function filtered(text, names, query) {
  const found = filterOf(text, names);
  const changes = Object.fromEntries([...names, "q", "after"].map((name) => [name, found[name] ?? null]));
  return link(query, changes);
}

/** Links that set a filter. @param {URLSearchParams} query @param {[string, Record<string, string | null>, number?][]} chips */
function chips(query, chips) {
  return h("div.chips", chips.map(([text, changes, count]) => {
    const isOn = Object.entries(changes).every(([name, value]) => (query.get(name) ?? null) === value);
    return h("a.chip", { href: link(query, { ...changes, after: null }), "aria-current": isOn ? "true" : null }, text,
      count !== undefined && h("b", number(count)));
  }));
}

/** @param {URLSearchParams} query @param {readonly string[]} names */
function parameters(query, names) {
  return Object.fromEntries([...names, "q", "after"].map((name) => [name, query.get(name)]));
}

// Now --------------------------------------------------------------------------------------------------------------

const HOUR_MS = 3_600_000;
/** Rows of a list on this page; the link beside it leads to all. */
const NOW_ROWS = 12;

/** @typedef {{health: Health, troubled: List<Job>, open: List<Run>, soon: Upcoming, once: List<Once>, missed: List<Run>,
 *   failed: List<Run>, paused: List<Job>}} Now */

/** @type {PageOf<Now>} */
export const nowPage = {
  title: "Now",
  events: ["run.changed", "job.changed", "file.changed", "once.changed", "clock.jumped"],
  settles: true,
  async load(_, signal) {
    const instant = (/** @type {number} */ ms) => new Date(Math.floor((now() + ms) / 60_000) * 60_000).toISOString();
    const yesterday = instant(-24 * HOUR_MS);
    const [health, troubled, open, soon, once, missed, failed, paused] = await Promise.all([
      /** @type {Promise<Health>} */ (get("health", {}, signal)),
      /** @type {Promise<List<Job>>} */ (get("jobs", { state: "troubled", limit: NOW_ROWS }, signal)),
      /** @type {Promise<List<Run>>} */ (get("runs", { state: "running,queued", order: "nominal", limit: NOW_ROWS }, signal)),
      /** @type {Promise<Upcoming>} */ (get("upcoming", { from: instant(0), to: instant(HOUR_MS + 60_000) }, signal)),
      /** @type {Promise<List<Once>>} */ (get("once", { limit: NOW_ROWS }, signal)),
      /** @type {Promise<List<Run>>} */ (get("runs", { state: "missed", since: yesterday, order: "ended", limit: NOW_ROWS }, signal)),
      /** @type {Promise<List<Run>>} */ (get("runs", { state: "failed,timed_out,abandoned,dead", since: yesterday, order: "ended", limit: 1 }, signal)),
      /** @type {Promise<List<Job>>} */ (get("jobs", { state: "paused", limit: NOW_ROWS }, signal)),
    ]);
    return { health, troubled, open, soon, once, missed, failed, paused };
  },
  view(data, context) {
    const { health, troubled, open, missed, failed, paused } = data;
    const findings = health.findings.filter(({ level }) => level !== "ok");
    return [
      h("h1.hide", { tabindex: -1 }, "Now"),
      summary(data),
      h("ul.findings", findings.map(({ code, level, text, hint, job, file }) => h("li", { class: level === "bad" ? "bad" : "warn", "data-key": `${code} ${job ?? file ?? ""}` },
        state(level === "bad" ? "failed" : "warning", ""), h("span", text, ". ", hint !== undefined && dim(hint, ". ")),
        job !== undefined ? h("a", { href: to("job", { job }) }, job) : file !== undefined && h("a", { href: to("files") }, "Files")))),
      section("Needs attention", troubled.total, to("jobs", { state: "troubled" }),
        troublesTable(context, troubled.items),
        0 < failed.items.length && h("p.aside", h("a", { href: to("runs", { state: "failed,timed_out,abandoned,dead", since: "24h" }) }, "What failed in the last 24 hours"))),
      section("Running", open.total, to("runs", { state: "running,queued" }), openTable(context, open.items)),
      h("div.columns", null,
        section("Due within the hour", null, to("upcoming"), soonTable(context, data)),
        h("div", null,
          section("Missed in the last 24 hours", missed.total, to("runs", { state: "missed", since: "24h" }), missedTable(context, missed.items)),
          section("Paused", paused.total, to("jobs", { state: "paused" }), pausedTable(context, paused.items)))),
    ];
  },
};

/** What there is to say in one sentence. @param {Now} data */
function summary({ troubled, open, soon }) {
  const status = known();
  const count = troubled.total ?? troubled.items.length;
  const running = open.items.filter((run) => run.state === "running").length;
  const next = soon.lanes.flatMap((lane) => lane.times.map(({ at }) => ({ at, job: lane.job }))).filter(({ at }) => now() < Date.parse(at))
    .sort((a, b) => (a.at < b.at ? -1 : 1))[0];
  return h("p.summary", null,
    status?.paused ? [state("paused", "Everything is paused"), status.pause !== null && [" ", pauseText(status.pause)], ". "] : null,
    count === 0 ? state("ok", "Nothing needs attention.") : state("failed", `${plural(count, "job needs", "jobs need")} attention.`), " ",
    running === 0 ? "Nothing runs. " : `${plural(open.total ?? running, "run is", "runs are")} open. `,
    next !== undefined && ["Next is ", h("a", { href: to("job", { job: next.job }) }, next.job), " ", ago(next.at), "."]);
}

/** @param {string} title @param {number | null} count @param {string} href @param {Child[]} children */
function section(title, count, href, ...children) {
  return h("section", { "data-key": title }, h("h2", h("a", { href }, title), count !== null && 0 < count && h("span.count", number(count))), children);
}

/** @param {Job} job */
const jobLink = (job) => h("a.open", { href: to("job", { job: job.name }), title: job.name }, job.name);
/** @param {Run} run */
const runLink = (run) => h("a.open", { href: to("run", { run: run.run }), title: run.run }, run.job);

/** @param {Context} context @param {Job[]} rows */
function troublesTable(context, rows) {
  return table(context, {
    name: "troubled", caption: "Jobs that need attention", rows, keyOf: (job) => job.name, of: ofJob, empty: "No job fails, and none is silent.",
    columns: [
      ["Job", "main", jobLink],
      ["Last 20", "", ({ recent }) => squares(recent)],
      ["What is wrong", "wide", (job) => job.troubles.slice(0, 2).map(({ code, text, hint, since: at }) => h("div", null,
        state(code === "failing" || code === "dead" ? "failed" : code, text), at !== null && dim(", ", ago(at)), h("div.dim.hint", hint)))],
      ["Next", "", (job) => nextOf(job)],
      ["Actions", "act", jobButtons],
    ],
  });
}

/** @param {Job} job */
export function jobButtons(job) {
  const log = job.last !== null && job.last.started !== null && h("a.mini", { href: to("run", { run: job.last.run, at: "log" }), "aria-label": `Log of ${job.name}` }, "Log");
  if (!may("operate")) return log;
  return [log, rowButton("run", "Run", job.name), job.pause === null ? rowButton("pause", "Pause", job.name) : rowButton("resume", "Resume", job.name)];
}

/** @param {Context} context @param {Run[]} rows */
function openTable(context, rows) {
  return table(context, {
    name: "open", caption: "Runs that run or wait", rows, keyOf: ({ run }) => run, of: ofRun, empty: "Nothing runs.",
    columns: [
      ["Job", "main", runLink],
      ["State", "", (run) => state(lately(context, run))],
      ["For", "num", (run) => (run.started === null || context.lately.has(run.run) && lately(context, run) !== "running" ? span(run.duration_ms) : since(run.started))],
      ["Usual", "num", ({ usual_ms }) => span(usual_ms)],
      ["Last line", "wide line", (run) => run.last_line ?? dim(run.reason || "no output yet")],
      ["Actions", "act", runButtons],
    ],
  });
}

/** The state by the last event, which is younger than the row. @param {Context} context @param {Run} run */
function lately(context, run) {
  return context.lately.get(run.run) ?? run.state;
}

/** @param {Context} context @param {Now} data */
function soonTable(context, { soon, once }) {
  const until = Date.parse(soon.to);
  const jobs = soon.lanes.filter((lane) => !lane.paused && 0 < lane.count).map((lane) => ({ name: lane.job, at: lane.times[0]?.at ?? "", civil: lane.times[0]?.civil, count: lane.count, median_ms: lane.median_ms, overlap: lane.overlaps[0]?.text }));
  const onces = once.items.filter(({ due }) => Date.parse(due) < until).map(({ name, due, civil }) => ({ name, at: due, civil: civil.due, count: 1, median_ms: null, overlap: undefined }));
  const rows = [...jobs, ...onces].sort((a, b) => (a.at < b.at ? -1 : 1)).slice(0, NOW_ROWS);
  return table(context, {
    name: "soon", caption: "Jobs that are due within the hour", rows, keyOf: ({ name }) => name, of: ({ name }) => ({ job: name }), empty: "Nothing is due within the hour.",
    columns: [
      ["Job", "main", ({ name }) => h("a.open", { href: to("job", { job: name }), title: name }, name)],
      ["When", "num", ({ at, civil }) => [time(at, civil), " ", dim(ago(at))]],
      ["Times", "num", ({ count }) => (count === 1 ? dim("once") : `${number(count)} times`)],
      ["Takes", "num", ({ median_ms }) => span(median_ms)],
    ],
  });
}

/** @param {Context} context @param {Run[]} rows */
function missedTable(context, rows) {
  return table(context, {
    name: "missed", caption: "Missed in the last 24 hours", rows, keyOf: ({ run }) => run, of: ofRun, empty: "Nothing was missed.",
    columns: [
      ["Job", "main", runLink],
      ["Due", "num", (run) => when(run, "nominal")],
      ["Why", "wide", (run) => [1 < run.count && `${number(run.count)} times: `, run.reason]],
      ["Actions", "act", runButtons],
    ],
  });
}

/** @param {Context} context @param {Job[]} rows */
function pausedTable(context, rows) {
  return table(context, {
    name: "paused", caption: "Paused jobs", rows, keyOf: ({ name }) => name, of: ofJob, empty: "No job is paused.",
    columns: [
      ["Job", "main", jobLink],
      ["Paused", "wide", ({ pause }) => pause !== null && pauseText(pause)],
      ["Actions", "act", (job) => may("operate") && rowButton("resume", "Resume", job.name)],
    ],
  });
}

// Jobs -------------------------------------------------------------------------------------------------------------

/** What is armed, and a word where that is not what the timetable says. @param {Job} job */
export function nextOf(job) {
  const isWrong = job.next !== job.computed_next && job.pause === null;
  if (job.next === null && !isWrong) return dim(job.pause === null ? "—" : "paused");
  return [job.next === null ? "not armed" : [when(job, "next"), " ", dim(ago(job.next))], isWrong && [" ", state("warning", "not as computed")]];
}

/** @type {PageOf<List<Job>>} */
export const jobsPage = {
  title: "Jobs",
  events: ["job.changed", "run.changed"],
  load: (query, signal) => get("jobs", { ...parameters(query, JOB_FILTERS), limit: PAGE_ROWS }, signal),
  view({ items, next, total }, context) {
    const status = known();
    const { query } = context;
    /** @type {Column<Job>[]} */
    const columns = [
      ["Job", "main", (job) => [jobLink(job), job.group !== null && h("a.group", { href: link(query, { group: job.group, after: null }), title: `group ${job.group}` }, job.group)], "name"],
      ["Schedule", "wide", ({ sentences, triggers }) => h("span", { title: triggers.join("\n") }, sentences[0] ?? "", 1 < sentences.length && dim(` and ${sentences.length - 1} more`))],
      ["Next", "next", nextOf, "next"],
      ["Last 20", "", ({ recent }) => squares(recent)],
      ["Last", "num", ({ last }) => last !== null && last.ended !== null ? ago(last.ended) : dim("—"), "last"],
      ["Median", "num", ({ median_ms }) => span(median_ms), "median"],
      ["p95", "num", ({ p95_ms }) => span(p95_ms), "p95"],
      ["State", "state", jobState, "state"],
      ["Actions", "act", jobButtons],
    ];
    return [
      title("Jobs", total),
      h("div.bar", filter(query, JOB_FILTERS, "name, state:failing group: label: source:"),
        chips(query, [["All", { state: null }, status?.jobs], ["In trouble", { state: "troubled" }, status?.troubled], ["Failing", { state: "failing" }], ["Silent", { state: "silent" }], ["Running", { state: "running" }], ["Paused", { state: "paused" }, status?.resting]])),
      table(context, { name: "jobs", caption: "Jobs", rows: items, keyOf: ({ name }) => name, of: ofJob, pick: "jobs", columns, empty: none(query, "No job matches.", "There are no jobs yet. Start the server with a file: mainspring serve jobs.toml.") }),
      more(query, next),
    ];
  },
};

/** @param {string} text @param {number | null} count */
function title(text, count) {
  return h("h1", { tabindex: -1 }, text, count !== null && h("span.count", number(count)));
}

/** @param {URLSearchParams} query @param {string} filtered @param {string} plain */
function none(query, filtered, plain) {
  const isFiltered = [...query.keys()].some((name) => !["page", "sort", "after"].includes(name));
  return isFiltered ? [filtered, " ", h("a", { href: to(query.get("page") ?? "now") }, "Show all")] : plain;
}

// Runs -------------------------------------------------------------------------------------------------------------

const AGES = /^(\d+)([mhd])$/;
const AGE_MS = { m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS };

/** `24h` as the instant it stands for; an instant as it is. @param {string | null} text */
export function instantOf(text) {
  const found = AGES.exec(text ?? "");
  if (found === null) return text;
  const unit = /** @type {keyof typeof AGE_MS} */ (found[2]);
  return new Date(now() - Number(found[1]) * AGE_MS[unit]).toISOString();
}

/** @param {Context} context @returns {Column<Run>[]} */
export function runColumns(context, { job = true } = {}) {
  /** @type {Column<Run>[]} */
  const columns = [
    job
      ? ["Job", "main", runLink]
      : ["Due", "main", (run) => h("a.open", { href: to("run", { run: run.run }) }, when(run, "nominal"))],
    ["State", "state", (run) => [state(lately(context, run)), 1 < run.attempt && dim(` attempt ${run.attempt}`), 1 < run.count && dim(` ×${number(run.count)}`)]],
  ];
  if (job) columns.push(["Due", "num", (run) => when(run, "nominal")]);
  columns.push(
    ["Ended", "num", ({ ended }) => (ended === null ? dim("—") : ago(ended))],
    ["Late", "num", ({ lateness_ms }) => span(lateness_ms)],
    ["Took", "num", (run) => (run.state === "running" && run.started !== null ? since(run.started) : span(run.duration_ms))],
    ["Why", "why", ({ cause }) => dim(word(cause))],
    ["Result", "wide line", (run) => result(run)],
    ["Actions", "act", runButtons],
  );
  return columns;
}

/** @param {Run} run */
function result({ outcome, reason, last_line, state }) {
  const isGood = outcome === "succeeded" || outcome === null;
  return [!isGood && h("span", { class: tone(state) }, outcome), !isGood && last_line !== null && " · ", last_line ?? (reason === "" ? dim("no output") : reason)];
}

/** @type {PageOf<List<Run>>} */
export const runsPage = {
  title: "Runs",
  events: ["run.changed"],
  load: (query, signal) => get("runs", { ...parameters(query, RUN_FILTERS), order: query.get("order") ?? "ended", since: instantOf(query.get("since")), until: instantOf(query.get("until")), limit: PAGE_ROWS }, signal),
  concerns: (_, data, query) => !query.has("job") || query.get("job") === data.job,
  view({ items, next }, context) {
    const { query } = context;
    return [
      title("Runs", null),
      h("div.bar", filter(query, RUN_FILTERS, "job:name state:failed cause: group: since:24h"),
        chips(query, [["All", { state: null, since: null }], ["Failed, 24 h", { state: "failed,timed_out,abandoned,dead", since: "24h" }], ["Running", { state: "running,queued", since: null }], ["Missed, 24 h", { state: "missed", since: "24h" }], ["Skipped", { state: "skipped_overlap,skipped_paused", since: null }]])),
      table(context, { name: "runs", caption: "Runs, the newest end first", rows: items, keyOf: ({ run }) => run, of: ofRun, pick: "runs", columns: runColumns(context), empty: none(query, "No run matches.", "Nothing has run yet.") }),
      more(query, next),
    ];
  },
};

// Dead letters -----------------------------------------------------------------------------------------------------

const MAX_DEAD = 1_000;

/** @typedef {{key: string, job: string, line: string, runs: Run[]}} Group */

/** Runs with the same job and the same last line, the largest group first. @param {Run[]} runs @returns {Group[]} */
export function grouped(runs) {
  /** @type {Map<string, Group>} */
  const groups = new Map();
  for (const run of runs) {
    const line = run.last_line ?? run.outcome ?? run.reason;
    const key = `${run.job} ${line}`;
    const group = groups.get(key) ?? { key, job: run.job, line, runs: [] };
    group.runs.push(run);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.runs.length - a.runs.length || (a.key < b.key ? -1 : 1));
}

/** @type {PageOf<List<Run>>} */
export const deadPage = {
  title: "Dead letters",
  events: ["run.changed"],
  load: (query, signal) => get("runs", { ...parameters(query, RUN_FILTERS), state: "dead", order: "ended", limit: MAX_DEAD }, signal),
  view({ items, next, total }, context) {
    const { query } = context;
    const isAll = next === null;
    return [
      title("Dead letters", total),
      h("p.lead", "Runs whose attempts are used up. Each waits until somebody runs it again or drops it."),
      h("div.bar", filter(query, ["job", "group", "line"], "job:name group:")),
      !isAll && h("p.warn", `Shown are groups of the newest ${number(items.length)}. Filter by job to see the others.`),
      0 < items.length && table(context, {
        name: "groups", caption: "By job and last line", rows: grouped(items).slice(0, PAGE_ROWS), keyOf: ({ key }) => key,
        of: ({ job, line }) => ({ filter: new URLSearchParams({ job, line, state: "dead" }).toString(), job }),
        columns: [
          ["Runs", "num main", ({ runs }) => number(runs.length)],
          ["Job", "", ({ job }) => h("a.open", { href: to("job", { job }), title: job }, job)],
          ["Last line", "wide line", ({ line }) => line],
          ["Latest", "num", ({ runs }) => (runs[0]?.ended ? ago(runs[0].ended) : "—")],
          ["Actions", "act", ({ job, runs }) => may("operate") && [rowButton("retry-filter", runs.length === 1 ? "Run again" : `Run ${number(runs.length)} again`, `of ${job}`), rowButton("drop-filter", "Drop", `${number(runs.length)} of ${job}`)]],
        ],
      }),
      0 < items.length && h("h2", "Each of them"),
      table(context, { name: "dead", caption: "Dead letters, the newest end first", rows: items.slice(0, PAGE_ROWS), keyOf: ({ run }) => run, of: ofRun, pick: "runs", columns: runColumns(context), empty: none(query, "No dead letter matches.", "No run is a dead letter.") }),
    ];
  },
};

// Audit ------------------------------------------------------------------------------------------------------------

/** @type {PageOf<List<AuditEntry>>} */
export const auditPage = {
  title: "Audit",
  events: ["audit.added"],
  load: (query, signal) => get("audit", { ...parameters(query, ["actor", "job"]), since: instantOf(query.get("since")), limit: PAGE_ROWS }, signal),
  view({ items, next }, context) {
    const { query } = context;
    return [
      title("Audit", null),
      h("p.lead", "What people asked for, by whom and from where. What the server does by itself is under ", h("a", { href: to("runs") }, "Runs"), "."),
      h("div.bar", filter(query, ["actor", "job", "since"], "actor:name job:name since:7d")),
      table(context, { name: "audit", caption: "What people asked for, the newest first", rows: items, keyOf: ({ id }) => String(id), of: ({ job, run }) => ({ job, run }), columns: auditColumns(), empty: none(query, "Nothing matches.", "Nobody has asked for anything yet.") }),
      more(query, next),
    ];
  },
};

/** @returns {Column<AuditEntry>[]} */
export function auditColumns() {
  return [
    ["When", "num main", (entry) => [when(entry, "at"), " ", dim(ago(entry.at))]],
    ["Who", "", ({ actor, origin }) => [actor, dim(` ${origin}`)]],
    ["What", "wide", ({ text, run, job, note }) => [
      run !== null ? h("a.open", { href: to("run", { run }) }, text) : job !== null ? h("a.open", { href: to("job", { job }) }, text) : text, note !== null && [" ", h("q", note)]]],
  ];
}
