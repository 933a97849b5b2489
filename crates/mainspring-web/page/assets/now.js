// The first page: what fails, what runs, what is next, what was missed, what rests.
//
// Cost: nine requests, at once.

/** @import {Health, Job, JobList, OnceList, Run, RunList, Upcoming} from "../api.d.ts" */
/** @import {PageOf} from "./lists.js" */
/** @import {Context} from "./table.js" */
/** @import {Child} from "./dom.js" */
import { get, known, may, now } from "./api.js";
import { dim, h } from "./dom.js";
import { number, plural } from "./format.js";
import { FAILED, SCHEDULED, lately } from "./lists.js";
import {
  JOBS,
  JOB_ACTIONS,
  NAME,
  RUNS,
  RUN_ACTIONS,
  a,
  ago,
  count,
  findings,
  jobLink,
  nextOf,
  pauseText,
  prose,
  rowButton,
  runLink,
  runState,
  section,
  since,
  span,
  squares,
  startsIn,
  state,
  table,
  time,
  to,
  when
} from "./table.js";

const HOUR_MS = 3_600_000;
/** Rows of a list on this page; the link beside it leads to all. */
const NOW_ROWS = 12;

/** @typedef {{health: Health, troubled: JobList, open: RunList, soon: Upcoming, later: RunList, once: OnceList,
 *   missed: RunList, failed: RunList, paused: JobList}} Now */

/** @type {PageOf<Now>} */
export const nowPage = {
  title: "Now",
  events: ["run.changed", "job.changed", "once.changed", "clock.jumped"],
  settles: true,
  async load(_, signal) {
    const instant = (/** @type {number} */ ms) => new Date(now() + ms).toISOString();
    const since = instant(-24 * HOUR_MS);
    const limit = NOW_ROWS;
    const [health, troubled, open, soon, later, once, missed, failed, paused] = await Promise.all(
      /** @type {any[]} */ ([
        get("health", {}, signal),
        get("jobs", { state: "troubled", limit }, signal),
        get("runs", { state: "running,queued", order: "nominal", limit }, signal),
        get("upcoming", { from: instant(0), to: instant(HOUR_MS) }, signal),
        get("runs", SCHEDULED, signal),
        get("once", { limit }, signal),
        get("runs", { state: "missed", since, order: "ended", limit }, signal),
        get("runs", { state: FAILED, since, order: "ended", limit: 1 }, signal),
        get("jobs", { state: "paused", limit }, signal)
      ])
    );
    return { health, troubled, open, soon, later, once, missed, failed, paused };
  },
  view(data, context) {
    const { health, troubled, open, missed, failed, paused } = data;
    const part = (
      /** @type {string} */ name,
      /** @type {number | null} */ size,
      /** @type {string} */ href,
      /** @type {Child[]} */ ...children
    ) => section([h("a", { href }, name), count(size)], children);
    return [
      h("h1.hide", { tabindex: -1 }, "Now"),
      summary(data),
      findings(
        health.findings
          .filter(({ level }) => level !== "ok")
          .map(({ code, level, text, hint, file }) => ({
            isBad: level === "bad",
            key: `${code} ${file}`,
            body: [
              prose(text),
              " ",
              hint !== undefined && dim(prose(hint), " "),
              file !== undefined && a("Files", "files")
            ]
          }))
      ),
      part(
        "Needs attention",
        troubled.total,
        to("jobs", { state: "troubled" }),
        troublesTable(context, troubled.items),
        0 < failed.items.length &&
          h("p", a("What failed in the last 24 hours", "runs", { state: FAILED, since: "24h" }))
      ),
      part("Running", open.total, to("runs", { state: "running,queued" }), openTable(context, open.items)),
      h(
        "div.columns",
        part("Due within the hour", null, to("upcoming"), soonTable(context, data)),
        h(
          "div",
          part(
            "Missed in the last 24 hours",
            missed.total,
            to("runs", { state: "missed", since: "24h" }),
            missedTable(context, missed.items)
          ),
          part("Paused", paused.total, to("jobs", { state: "paused" }), pausedTable(context, paused.items))
        )
      )
    ];
  }
};

/** What there is to say in a sentence. @param {Now} data */
function summary({ troubled, open, soon }) {
  const status = known();
  const count = troubled.total ?? troubled.items.length;
  const next = soon.lanes
    .filter((lane) => !lane.paused)
    .flatMap(({ job, times }) => times.map(({ at }) => ({ at, job })))
    .filter(({ at }) => now() < Date.parse(at))
    .sort((a, b) => (a.at < b.at ? -1 : 1))[0];
  return h(
    "p.summary",
    status?.pause && [state("paused", "Everything is paused"), " ", pauseText(status.pause), ". "],
    count === 0
      ? state("ok", "Nothing needs attention.")
      : state("failed", `${plural(count, "job needs", "jobs need")} attention.`),
    open.items.length === 0
      ? " Nothing runs."
      : ` ${plural(open.total ?? open.items.length, "run is", "runs are")} open.`,
    next !== undefined && !status?.pause && [" Next is ", jobLink(next.job), " ", startsIn(next.at), "."]
  );
}

/** @param {Context} context @param {Job[]} rows */
const troublesTable = (context, rows) =>
  table(context, {
    caption: "Jobs that need attention",
    rows,
    ...JOBS,
    empty: "No job fails, and none is silent.",
    columns: [
      NAME,
      ["Last 20", "num", ({ recent }) => squares(recent)],
      [
        "What is wrong",
        "wide",
        ({ troubles }) =>
          troubles
            .slice(0, 2)
            .map(({ code, text, hint, since }) =>
              h(
                "div",
                state(code, prose(text)),
                " ",
                since !== null && [ago(since), " "],
                h("span.hint", prose(hint))
              )
            )
      ],
      ["Next", "time", nextOf],
      JOB_ACTIONS
    ]
  });

/** So many times the usual length, and a minute more, and a run is probably stuck. */
const STUCK = 3;

/** How long a run has been running; marked if that is much longer than usual.
 * @param {Run} run @param {boolean} isOn */
function lasts({ started, usual_ms, duration_ms }, isOn) {
  if (started === null || !isOn) return span(duration_ms);
  const isStuck = usual_ms !== null && STUCK * usual_ms + 60_000 < now() - Date.parse(started);
  return isStuck ? state("warning", since(started)) : since(started);
}

/** @param {Context} context @param {Run[]} rows */
const openTable = (context, rows) =>
  table(context, {
    caption: "Runs that run or wait",
    rows,
    ...RUNS,
    empty: "Nothing runs.",
    columns: [
      ["Job", "main", runLink],
      ["State", "state", (run) => runState(run, lately(context, run))],
      ["For", "num", (run) => lasts(run, lately(context, run) === "running")],
      ["Usual", "num", ({ usual_ms }) => span(usual_ms)],
      ["Last line", "wide line", ({ last_line, reason }) => last_line ?? dim(reason || "no output yet")],
      RUN_ACTIONS
    ]
  });

/** @param {Context} context @param {Now} data */
function soonTable(context, { soon, later, once }) {
  const jobs = soon.lanes
    .filter((lane) => !lane.paused)
    .flatMap(({ job, times, count, median_ms }) => {
      const first = times.find(({ at }) => now() < Date.parse(at));
      return first === undefined ? [] : [{ run: null, job, name: job, key: job, ...first, count, median_ms }];
    });
  // A one-shot job has no page before it has run.
  const onces = once.items
    .filter(({ due }) => due < soon.to)
    .map(({ name, id, due, civil }) => {
      return { run: null, job: null, name, key: id, at: due, civil: civil.due, count: 1, median_ms: null };
    });
  const runs = later.items
    .filter(({ due }) => due < soon.to)
    .map((run) => {
      const { job, due: at, civil, usual_ms: median_ms } = run;
      return { run, job, name: job, key: run.run, at, civil: civil.due, count: 1, median_ms };
    });
  return table(context, {
    caption: "Jobs that are due within the hour",
    rows: [...jobs, ...runs, ...onces].sort((a, b) => (a.at < b.at ? -1 : 1)).slice(0, NOW_ROWS),
    keyOf: ({ key }) => key,
    of: ({ job, run }) => (run === null ? { job } : RUNS.of(run)),
    empty: "Nothing is due within the hour.",
    columns: [
      [
        "Job",
        "main",
        ({ run, job, name }) => (run !== null ? runLink(run) : job === null ? name : jobLink(job, "a.open"))
      ],
      ["Times", "num", ({ count }) => number(count)],
      ["Takes", "num", ({ median_ms }) => span(median_ms)],
      ["When", "time", ({ at, civil }) => [time(at, civil), " ", startsIn(at)]]
    ]
  });
}

/** @param {Context} context @param {Run[]} rows */
const missedTable = (context, rows) =>
  table(context, {
    caption: "Missed in the last 24 hours",
    rows,
    ...RUNS,
    empty: "Nothing was missed.",
    columns: [
      ["Job", "main", runLink],
      ["Due", "time", (run) => when(run, "nominal")],
      ["Why", "wide", ({ count, reason }) => [1 < count && `${number(count)} times: `, reason]],
      RUN_ACTIONS
    ]
  });

/** @param {Context} context @param {Job[]} rows */
const pausedTable = (context, rows) =>
  table(context, {
    caption: "Paused jobs",
    rows,
    ...JOBS,
    empty: "No job is paused.",
    columns: [
      NAME,
      ["Paused", "wide", ({ pause }) => pause && pauseText(pause)],
      ["Actions", "act", ({ name }) => may("operate") && rowButton("resume", "Resume", name)]
    ]
  });
