// One job: its year, how long it takes, when it is next, by which rules, from which line of which file.
//
// Cost: six requests.

/** @import {AuditEntryList, Heatmap, JobDetail, Moment, Moments, RunList, Stats} from "../api.d.ts" */
/** @import {PageOf} from "./lists.js" */
import { get, may, now } from "./api.js";
import { dots, heat } from "./charts.js";
import { dim, h } from "./dom.js";
import { length, partsIn, place, plural } from "./format.js";
import { AUDIT, runColumns } from "./lists.js";
import {
  JOBS,
  RUNS,
  a,
  about,
  ago,
  away,
  count,
  dueOf,
  facts,
  findings,
  jobState,
  link,
  logLink,
  nextOf,
  nothing,
  pauseFinding,
  pauseText,
  pre,
  prose,
  runLink,
  section,
  startsIn,
  table,
  time
} from "./table.js";

/** @typedef {{job: JobDetail, next: Moments, stats: Stats, heatmap: Heatmap, runs: RunList,
 * audit: AuditEntryList}} Data */

const ROWS = 20;

/** @type {PageOf<Data>} */
export const jobPage = {
  title: "Job",
  events: ["job.changed", "run.changed"],
  concerns: ({ job }, query) => job === query.get("job") || job === "",
  async load(query, signal) {
    const name = query.get("job") ?? "";
    const path = `jobs/${encodeURIComponent(name)}`;
    const year = query.get("year") ?? partsIn(now(), "UTC").date.slice(0, 4);
    /** @type {any[]} */
    const [job, next, stats, heatmap, runs, audit] = await Promise.all([
      get(path, {}, signal),
      get(`${path}/next`, { n: 10 }, signal),
      get(`${path}/stats`, { window: "30d" }, signal),
      get(`${path}/heatmap`, { year }, signal),
      get("runs", { job: name, order: "ended", limit: ROWS }, signal),
      get("audit", { job: name, limit: ROWS }, signal)
    ]);
    return { job, next, stats, heatmap, runs, audit };
  },
  view({ job, next, stats, heatmap, runs, audit }, context) {
    return h(
      "article",
      about(JOBS.of(job)),
      h(
        "div.head",
        h("h1", { tabindex: -1 }, job.name),
        h("span", jobState(job)),
        h("div.buttons", buttons(job))
      ),
      h(
        "p.lead",
        job.sentences.join(" "),
        dim(` ${place(job.zone)}. `),
        job.pause === null && ["Next ", nextOf(job)]
      ),
      findings([
        ...pauseFinding(),
        ...(job.pause === null ? [] : [{ key: "pause", body: ["Paused ", pauseText(job.pause), "."] }]),
        ...job.troubles.map(({ code, text, hint, since }) => ({
          key: code,
          isBad: code === "failing",
          body: [prose(text), " ", since !== null && [ago(since), ". "], dim(prose(hint))]
        }))
      ]),
      section(["Year", years(context.query, heatmap.year)], heat(heatmap)),
      h(
        "div.columns.three",
        section(
          "Next",
          job.pause === null
            ? moments(next.items, startsIn, without(job))
            : nothing("Nothing, while it is paused."),
          next.is_cut && h("p", "More were not found.")
        ),
        section(["Takes", distribution(stats.duration)], dots(stats.points, "duration_ms", "length")),
        section(["Starts late", distribution(stats.lateness)], dots(stats.points, "lateness_ms", "lateness"))
      ),
      section(
        [a("Runs", "runs", { job: job.name }), count(runs.total)],
        table(context, {
          caption: `Runs of ${job.name}`,
          rows: runs.items,
          ...RUNS,
          empty: "It has not run yet.",
          columns: [["Due", "main", (run) => runLink(run, dueOf(run))], ...runColumns(context)]
        })
      ),
      h(
        "div.columns",
        section("Rules", rules(job)),
        section(
          ["Definition", h("span.count", job.source, job.source_line !== null && `:${job.source_line}`)],
          code("Definition", job.definition)
        )
      ),
      section(
        a("Audit", "audit", { job: job.name }),
        table(context, {
          caption: `What people asked of ${job.name}`,
          rows: audit.items,
          keyOf: ({ number }) => String(number),
          columns: AUDIT,
          empty: "Nobody has asked anything of it."
        })
      )
    );
  }
};

/** A text to be copied. @param {string} label @param {string} text */
export const code = (label, text) => [
  pre(label, text),
  h("div.buttons", h("button", { type: "button", "data-do": "copy", "data-text": text }, "Copy as TOML"))
];

/** @param {JobDetail} job */
function buttons({ last, pause }) {
  return [
    last !== null && last.started !== null && logLink(last.run, "a.button"),
    may("operate") && [
      h("button", { "data-do": "backfill" }, "Backfill…"),
      pause === null
        ? h("button", { "data-do": "pause" }, "Pause…")
        : h("button", { "data-do": "resume" }, "Resume…"),
      h("button.main", { "data-do": "run" }, "Run now…")
    ]
  ];
}

/** @param {URLSearchParams} query @param {number} year */
function years(query, year) {
  const to = (/** @type {number} */ year, /** @type {string} */ text) =>
    h("a", { href: link(query, { year: String(year) }), "aria-label": `The year ${year}` }, text);
  return h(
    "span.pager",
    to(year - 1, "‹"),
    year,
    year < Number(partsIn(now(), "UTC").date.slice(0, 4)) && to(year + 1, "›")
  );
}

/** @param {Stats["duration"]} distribution */
const distribution = ({ median_ms, p95_ms }) =>
  median_ms !== null &&
  p95_ms !== null &&
  h("span.count", `median ${length(median_ms)}, p95 ${length(p95_ms)}`);

/** Why a job has no next time: it may follow another, or start with the server or the machine.
 * @param {JobDetail} job */
const without = ({ state_code }) =>
  state_code === "done" ? "It is not due again." : "It has no time of its own: see Rules.";

/** Times, with what a change of the clock does to them, and beside the first how far it is.
 * @param {Moment[]} items @param {typeof away} [distance] @param {string} [none] */
export function moments(items, distance = away, none = "There is none.") {
  if (items.length === 0) return nothing(none);
  return h(
    "ol.moments",
    items.map(({ at, civil, remark }, index) =>
      h(
        "li",
        { "data-key": at },
        time(at, civil),
        index === 0 && [" ", distance(at)],
        remark && h("div.warn", prose(remark.text))
      )
    )
  );
}

/** @param {JobDetail} job */
function rules({ action, triggers, policy_words, group, priority, labels, failures }) {
  return facts([
    ["does", h("code", action)],
    ["when", triggers.map((trigger) => h("div", h("code", trigger)))],
    ...policy_words.map(({ code, text }) => /** @type {[string, string]} */ ([code, text])),
    ["group", group === null ? "none" : a(group, "jobs", { group })],
    ["priority", priority],
    [
      "labels",
      Object.keys(labels).length === 0
        ? "none"
        : Object.entries(labels)
            .map((label) => label.join("="))
            .map((label) => [a(label, "jobs", { label }), " "])
    ],
    ["failed", failures === 0 ? "not since the last success" : `${plural(failures, "time")} in a row`]
  ]);
}
