// One job: its year, how long it takes, when it is next, by which rules, from which line of which file.
//
// Cost: six requests.

/** @import {AuditEntry, Heatmap, JobDetail, List, Moment, Run, Stats} from "../api.d.ts" */
/** @import {PageOf} from "./lists.js" */
import { get, may, now } from "./api.js";
import { dots, heat } from "./charts.js";
import { dim, h } from "./dom.js";
import { length, number, partsIn, place, plural } from "./format.js";
import { auditColumns, nextOf, runColumns } from "./lists.js";
import { ago, jobState, link, pauseText, state, table, time, to } from "./table.js";

/** @typedef {{job: JobDetail, next: {items: Moment[]}, stats: Stats, heatmap: Heatmap, runs: List<Run>, audit: List<AuditEntry>}} Data */

const NEXT = 10;
const ROWS = 20;

/** @type {PageOf<Data>} */
export const jobPage = {
  title: "Job",
  events: ["job.changed", "run.changed"],
  concerns: (_, data, query) => data.job === query.get("job"),
  async load(query, signal) {
    const name = query.get("job") ?? "";
    const path = `jobs/${encodeURIComponent(name)}`;
    const year = query.get("year") ?? partsIn(now(), "UTC").date.slice(0, 4);
    const [job, next, stats, heatmap, runs, audit] = await Promise.all([
      /** @type {Promise<JobDetail>} */ (get(path, {}, signal)),
      /** @type {Promise<{items: Moment[]}>} */ (get(`${path}/next`, { n: NEXT }, signal)),
      /** @type {Promise<Stats>} */ (get(`${path}/stats`, { window: "30d" }, signal)),
      /** @type {Promise<Heatmap>} */ (get(`${path}/heatmap`, { year }, signal)),
      /** @type {Promise<List<Run>>} */ (get("runs", { job: name, order: "ended", limit: ROWS }, signal)),
      /** @type {Promise<List<AuditEntry>>} */ (get("audit", { job: name, limit: ROWS }, signal)),
    ]);
    return { job, next, stats, heatmap, runs, audit };
  },
  view({ job, next, stats, heatmap, runs, audit }, context) {
    const { query } = context;
    const about = { "data-job": job.name, "data-paused": job.pause === null ? null : "", "data-run": job.last?.run ?? null };
    return h("article", about,
      h("div.head", h("h1", { tabindex: -1 }, job.name), h("span", jobState(job)), h("div.buttons", buttons(job))),
      h("p.lead", job.sentences.map((sentence, index) => [index === 0 ? "" : " And: ", sentence]), " ", dim(`${place(job.zone)}. `), job.next !== null && "Next ", job.next !== null && nextOf(job)),
      job.pause !== null && h("p", state(job.state_code, "Paused"), " ", pauseText(job.pause)),
      h("ul.findings", job.troubles.map(({ code, text, hint, since }) => h("li", { class: ["failing", "dead"].includes(code) ? "bad" : "warn", "data-key": code },
        state(["failing", "dead"].includes(code) ? "failed" : "warning", ""), h("span", `${text}`, since !== null && [", ", ago(since)], ". ", dim(`${hint}.`))))),
      h("section", h("h2", "Year ", years(query, heatmap.year)), heat(heatmap)),
      h("div.columns.three", null,
        h("section", h("h2", "Next"), nextList(next.items)),
        h("section", h("h2", "Takes", h("span.count", distribution(stats.duration))), dots(stats.points, "duration_ms", "length")),
        h("section", h("h2", "Starts late", h("span.count", distribution(stats.lateness))), dots(stats.points, "lateness_ms", "lateness"))),
      h("section", h("h2", h("a", { href: to("runs", { job: job.name }) }, "Runs"), h("span.count", number(job.runs))),
        table(context, { name: "runs", caption: `Runs of ${job.name}`, rows: runs.items, keyOf: ({ run }) => run, of: (run) => ({ run: run.run, job: run.job, state: run.state }), columns: runColumns(context, { job: false }), empty: "It has not run yet." })),
      h("div.columns", null,
        h("section", h("h2", "Rules"), rules(job)),
        h("section", h("h2", "Definition", h("span.count", job.source, job.source_line !== null && `:${job.source_line}`)), h("pre.code", { tabindex: 0, role: "region", "aria-label": "Definition" }, job.definition), h("div.buttons", h("button", { "data-do": "copy", "data-text": job.definition }, "Copy as TOML")))),
      h("section", h("h2", h("a", { href: to("audit", { job: job.name }) }, "Audit")),
        table(context, { name: "audit", caption: `What people asked of ${job.name}`, rows: audit.items, keyOf: ({ id }) => String(id), columns: auditColumns(), empty: "Nobody has asked anything of it." })));
  },
};

/** @param {JobDetail} job */
function buttons(job) {
  const log = job.last?.started && h("a.button", { href: to("run", { run: job.last.run, at: "log" }) }, "Log");
  if (!may("operate")) return log;
  return [log, h("button", { "data-do": "backfill" }, "Backfill…"),
    job.pause === null ? h("button", { "data-do": "pause" }, "Pause…") : h("button", { "data-do": "resume" }, "Resume"),
    h("button.main", { "data-do": "run" }, "Run now")];
}

/** @param {URLSearchParams} query @param {number} year */
function years(query, year) {
  const current = Number(partsIn(now(), "UTC").date.slice(0, 4));
  return h("span.pager", h("a", { href: link(query, { year: String(year - 1) }), "aria-label": `The year ${year - 1}` }, "‹"), ` ${year} `,
    year < current && h("a", { href: link(query, { year: String(year + 1) }), "aria-label": `The year ${year + 1}` }, "›"));
}

/** @param {Stats["duration"]} distribution */
function distribution({ count, median_ms, p95_ms }) {
  return count === 0 || median_ms === null || p95_ms === null ? "" : `median ${length(median_ms)}, p95 ${length(p95_ms)}, 30 days`;
}

/** @param {Moment[]} items */
function nextList(items) {
  if (items.length === 0) return h("p.empty", "It is not due again.");
  return h("ol.moments", items.map(({ at, civil, remark }, index) => h("li", { "data-key": at }, time(at, civil), index === 0 && [" ", dim(ago(at))],
    remark !== undefined && h("div.warn", remark.text))));
}

/** @param {JobDetail} job */
function rules(job) {
  const labels = Object.entries(job.labels).map(([name, value]) => `${name}=${value}`).join(", ");
  /** @type {[string, import("./dom.js").Child][]} */
  const rows = [
    ["does", h("code", job.action)],
    ["when", job.triggers.map((trigger) => h("div", h("code", trigger)))],
    ...job.policy_words.map(({ code, text }) => /** @type {[string, string]} */ ([code.replaceAll("_", " "), text])),
    ["group", job.group === null ? "none" : h("a", { href: to("jobs", { group: job.group }) }, job.group)],
    ["priority", job.priority],
    ["labels", labels === "" ? "none" : labels],
    ["failed", job.failures === 0 ? "not since the last success" : `${plural(job.failures, "time")} in a row`],
  ];
  return h("dl.facts", rows.map(([name, value]) => [h("dt", name), h("dd", value)]));
}
