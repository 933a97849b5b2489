// The pages that are lists: jobs, runs, dead letters, audit.
//
// Each page is two functions: `load` asks the server, `view` makes elements of the answers. Neither knows
// other pages.
// Cost: a request for each list.

/** @import {AuditEntry, AuditEntryList, JobList, Run, RunList} from "../api.d.ts" */
/** @import {Column, Context} from "./table.js" */
/** @import {Child} from "./dom.js" */
import { Refused, get, known, may, now } from "./api.js";
import { absent, dim, h } from "./dom.js";
import { codesOf, filterOf, filterWord, number, serverOf, tone, word } from "./format.js";
import {
  CODE,
  JOBS,
  JOB_ACTIONS,
  PAGE_ROWS,
  RUNS,
  RUN_ACTIONS,
  a,
  ago,
  count,
  dueOf,
  isOpen,
  jobLink,
  jobState,
  link,
  more,
  nextOf,
  rowButton,
  runLink,
  runState,
  section,
  since,
  span,
  squares,
  table,
  title,
  to,
  when
} from "./table.js";

/** A page. @template T @typedef {object} PageOf
 * @property {string} title
 * @property {readonly string[]} events   which events may have changed what it shows
 * @property {(query: URLSearchParams, signal: AbortSignal) => Promise<T>} load
 * @property {(data: T, context: Context) => Child} view
 * @property {(query: URLSearchParams) => Child} [bar]   what chooses rows: it stays when that is refused
 * @property {(data: any, query: URLSearchParams) => boolean} [concerns]   whether an event is about it
 * @property {boolean} [settles]   whether new rows come in by themselves when nobody touches the page
 */

export const FAILED = "failed,timed_out,abandoned,dead";

/** The runs that wait for their time. */
export const SCHEDULED = { state: "scheduled", order: "nominal", limit: PAGE_ROWS };

/** What a list is filtered by: the names before colons, an example, and the words of some names.
 * @typedef {{names: readonly string[], hint: string, words?: Record<string, string>}} Filter */

/** @type {Filter} */
const JOB_FILTER = {
  names: ["state", "group", "label", "source"],
  hint: "name, state: group: label: source:",
  words: {
    state:
      "active running failing troubled silent mismatched paused paused_failures paused_crashes quarantined done"
  }
};
/** @type {Filter} */
const RUN_FILTER = {
  names: ["job", "state", "cause", "group", "since", "until", "line"],
  hint: "job, state: cause: group: since:24h",
  words: {
    state:
      "scheduled queued running succeeded failed timed_out cancelled skipped_overlap skipped_paused missed abandoned dead",
    cause: "trigger catch_up boot request backfill once after notify all"
  }
};
/** @type {Filter} */
const DEAD_FILTER = { names: ["job", "group", "line"], hint: "job, group:" };
/** @type {Filter} */
const AUDIT_FILTER = { names: ["actor", "job", "since"], hint: 'words, actor:"uid 0" job: since:7d' };

/** The filter of a list: one line of words.
 * @param {URLSearchParams} query @param {Filter} filter */
export function filter(query, { names, hint }) {
  const words = names.flatMap((name) => query.getAll(name).map((value) => filterWord(name, value)));
  return h(
    "form.filter",
    { "data-form": "filter", "data-names": names.join(" "), role: "search" },
    h("input", {
      name: "q",
      type: "search",
      value: [...words, query.get("q")].join(" ").trim(),
      placeholder: hint,
      "aria-label": `Filter: ${hint}`,
      ...CODE
    })
  );
}

/** The address for the words of a filter.
 * @param {string} text @param {readonly string[]} names @param {URLSearchParams} query */
export function filtered(text, names, query) {
  const found = filterOf(text, names);
  return link(query, Object.fromEntries([...names, "q", "after"].map((name) => [name, found[name] ?? null])));
}

/** Links that set a filter.
 * @param {URLSearchParams} query @param {[string, Record<string, string | null>, number?][]} chips */
export function chips(query, chips) {
  return h(
    "div.chips",
    chips.map(([text, changes, count]) => {
      const isOn = Object.entries(changes).every(([name, value]) => query.get(name) === value);
      return h(
        "a.chip",
        { href: link(query, { ...changes, after: null }), "aria-current": isOn && "true" },
        text,
        count !== undefined && [" ", h("b", number(count))]
      );
    })
  );
}

/** What a filter asks for; refused with what may be typed, if it is none.
 * @param {URLSearchParams} query @param {Filter} filter */
function parameters(query, { names, words = {} }) {
  /** @param {string} name */
  const value = (name) => {
    const text = query.get(name);
    return text !== null && name in words ? codesOf(text) : text;
  };
  for (const [name, list] of Object.entries(words)) {
    const codes = list.split(" ");
    const wrong = value(name)
      ?.split(",")
      .find((code) => !codes.includes(code));
    if (wrong)
      throw new Refused(400, null, `There is no ${name} "${wrong}", but ${codes.map(word).join(", ")}`);
  }
  return Object.fromEntries(
    [...names, "q", "sort", "after"].map((name) => {
      const text = value(name);
      return [name, name === "since" || name === "until" ? instantOf(name, text) : text];
    })
  );
}

const HOUR_MS = 3_600_000;
const AGE_MS = /** @type {Record<string, number>} */ ({ m: 60_000, h: HOUR_MS, d: 24 * HOUR_MS });

/** `24h` as the instant it stands for; a time without a zone as in mine; another as it is.
 * @param {string} name @param {string | null} text */
function instantOf(name, text) {
  const [, count, unit = ""] = /^(\d+)([mhd])$/.exec(text ?? "") ?? [];
  if (count !== undefined) return new Date(now() - Number(count) * (AGE_MS[unit] ?? 0)).toISOString();
  if (text && !/^\d{4}-/.test(text))
    throw new Refused(400, null, `\`${name}:\` takes 90m, 24h, 7d or a time such as 2026-11-21T03:00`);
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? text : new Date(at).toISOString();
}

/** What stands in place of rows. @param {URLSearchParams} query @param {string} plain */
function none(query, plain) {
  const isFiltered = [...query.keys()].some((name) => !["page", "sort"].includes(name));
  return isFiltered
    ? ["Nothing matches. ", h("a", { href: to(query.get("page") ?? "now") }, "Show all")]
    : plain;
}

// Jobs ------------------------------------------------------------------------------------------------------

/** @type {PageOf<JobList>} */
export const jobsPage = {
  title: "Jobs",
  bar(query) {
    const status = known();
    return h(
      "div.bar",
      filter(query, JOB_FILTER),
      chips(query, [
        ["All", { state: null }, status?.jobs],
        ["In trouble", { state: "troubled" }, status?.troubled],
        ["Failing", { state: "failing" }],
        ["Running", { state: "running" }],
        ["Paused", { state: "paused" }, status?.resting]
      ])
    );
  },
  events: ["job.changed", "run.changed"],
  load: (query, signal) => get("jobs", { ...parameters(query, JOB_FILTER), limit: PAGE_ROWS }, signal),
  view({ items, next, total, unsorted }, context) {
    const { query } = context;
    return [
      title("Jobs", count(total)),
      jobsPage.bar?.(query),
      0 < unsorted && h("p", `${number(unsorted)} more in no order.`),
      table(context, {
        caption: "Jobs",
        rows: items,
        ...JOBS,
        pick: "jobs",
        empty: none(
          query,
          "There are no jobs yet. Start the server with a file: mainspring serve jobs.toml."
        ),
        columns: [
          [
            "Job",
            "main",
            ({ name, group }) => [
              jobLink(name, "a.open"),
              group !== null &&
                h("a.group", { href: link(query, { group, after: null }), title: `group ${group}` }, group)
            ],
            "name"
          ],
          [
            "Schedule",
            "wide line",
            ({ sentences, triggers }) =>
              h(
                "span",
                { title: triggers.join("\n") },
                sentences[0],
                1 < sentences.length && dim(` and ${sentences.length - 1} more`)
              )
          ],
          ["Next", "time", nextOf, "next"],
          ["Last 20", "num", ({ recent }) => squares(recent)],
          [
            "Last",
            "time",
            ({ last }) => (last !== null && last.ended !== null ? ago(last.ended) : absent()),
            "last"
          ],
          ["Median", "num", ({ median_ms }) => span(median_ms), "median"],
          ["p95", "num", ({ p95_ms }) => span(p95_ms), "p95"],
          ["State", "state", jobState, "state"],
          JOB_ACTIONS
        ]
      }),
      more(query, next)
    ];
  }
};

// Runs ------------------------------------------------------------------------------------------------------

/** The state by the last event, which is younger than the row. @param {Context} context @param {Run} run */
export const lately = (context, run) => context.lately.get(run.run) ?? run.state;

/** The columns after the first. @param {Context} context @returns {Column<Run>[]} */
export function runColumns(context) {
  return [
    [
      "State",
      "state",
      (run) => [
        runState(run, lately(context, run)),
        1 < run.attempt && dim(` attempt ${run.attempt}`),
        1 < run.count && dim(` ×${number(run.count)}`)
      ]
    ],
    ["Ended", "time", ({ ended }) => (ended === null ? absent() : ago(ended))],
    ["Late", "num", ({ lateness_ms }) => span(lateness_ms)],
    [
      "Took",
      "num",
      (run) => (run.started !== null && isOpen(run) ? since(run.started) : span(run.duration_ms))
    ],
    ["Why", "why", (run) => dim(word(run.cause), serverOf(run))],
    ["Result", "wide line", result],
    RUN_ACTIONS
  ];
}

/** @param {Run} run */
function result({ outcome, reason, last_line, state }) {
  const isGood = outcome === "succeeded" || outcome === null;
  const text = last_line ?? reason;
  if (isGood) return text === "" ? absent() : text;
  return [h(`span.${tone(state)}`, outcome), text !== "" && ` · ${text}`];
}

/** @param {Context} context @param {Run[]} rows @param {string} plain */
const runsTable = (context, rows, plain) =>
  table(context, {
    caption: "Runs, the newest end first",
    rows,
    ...RUNS,
    pick: "runs",
    empty: none(context.query, plain),
    columns: [["Job", "main", runLink], ["Due", "time", dueOf], ...runColumns(context)]
  });

/** @type {PageOf<RunList>} */
export const runsPage = {
  title: "Runs",
  bar: (query) =>
    h(
      "div.bar",
      filter(query, RUN_FILTER),
      chips(query, [
        ["All", { state: null, since: null }],
        ["Failed, 24 h", { state: FAILED, since: "24h" }],
        ["Running", { state: "running,queued", since: null }],
        ["Missed, 24 h", { state: "missed", since: "24h" }],
        ["Skipped", { state: "skipped_overlap,skipped_paused", since: null }]
      ])
    ),
  events: ["run.changed"],
  load: (query, signal) =>
    get(
      "runs",
      { ...parameters(query, RUN_FILTER), order: query.get("order") ?? "ended", limit: PAGE_ROWS },
      signal
    ),
  concerns: ({ job }, query) => !query.has("job") || query.get("job") === job,
  view({ items, next }, context) {
    const { query } = context;
    return [
      title("Runs"),
      runsPage.bar?.(query),
      runsTable(context, items, "Nothing has run yet."),
      more(query, next)
    ];
  }
};

// Dead letters ----------------------------------------------------------------------------------------------

const MAX_DEAD = 1_000;

/** Runs with the same job and the same last line, the largest group first. @param {Run[]} runs */
export function grouped(runs) {
  /** @type {Map<string, {key: string, job: string, line: string, latest: Run, runs: Run[]}>} */
  const groups = new Map();
  for (const run of runs) {
    const line = run.last_line ?? run.outcome ?? run.reason;
    const key = `${run.job} ${line}`;
    const group = groups.get(key) ?? { key, job: run.job, line, latest: run, runs: [] };
    group.runs.push(run);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.runs.length - a.runs.length || (a.key < b.key ? -1 : 1));
}

/** @type {PageOf<RunList>} */
export const deadPage = {
  title: "Dead letters",
  bar: (query) => [
    h("p.lead", "Runs whose attempts are used up. Each waits until it is run again or dropped."),
    h("div.bar", filter(query, DEAD_FILTER))
  ],
  events: ["run.changed"],
  load: (query, signal) =>
    get(
      "runs",
      { ...parameters(query, DEAD_FILTER), state: "dead", order: "ended", limit: MAX_DEAD },
      signal
    ),
  view({ items, next, total }, context) {
    const again = (/** @type {number} */ count) => (count === 1 ? "Run again" : `Run ${number(count)} again`);
    return [
      title("Dead letters", count(total)),
      deadPage.bar?.(context.query),
      next !== null &&
        h("p.warn", `Grouped are the newest ${number(items.length)}. Filter by job to see the others.`),
      0 < items.length &&
        section(
          "By job and last line",
          table(context, {
            caption: "By job and last line",
            rows: grouped(items).slice(0, PAGE_ROWS),
            keyOf: ({ key }) => key,
            empty: "",
            of: ({ job, line }) => ({ job, filter: `${new URLSearchParams({ job, line, state: "dead" })}` }),
            columns: [
              [
                "Job",
                "main",
                // Of a one-shot job there are runs alone.
                ({ job, latest }) => (latest.cause === "once" ? runLink(latest) : jobLink(job, "a.open"))
              ],
              ["Runs", "num", ({ runs }) => number(runs.length)],
              ["Latest", "time", ({ latest }) => latest.ended && ago(latest.ended)],
              ["Last line", "wide line", ({ line }) => line],
              [
                "Actions",
                "act",
                ({ job, runs }) =>
                  may("operate") && [
                    rowButton("retry-filter", again(runs.length), `of ${job}`),
                    rowButton("drop-filter", "Drop", `${number(runs.length)} of ${job}`)
                  ]
              ]
            ]
          })
        ),
      section("Each of them", runsTable(context, items.slice(0, PAGE_ROWS), "No run is a dead letter."))
    ];
  }
};

// Audit -----------------------------------------------------------------------------------------------------

/** @type {Column<AuditEntry>[]} */
export const AUDIT = [
  ["When", "main", (entry) => [when(entry, "at"), " ", ago(entry.at)]],
  ["Who", "time", ({ actor, origin }) => [actor, dim(` ${origin}`)]],
  [
    "What",
    "wide",
    ({ action, text, run, job, note }) => [
      // What is cancelled by its name is most often a one-shot job.
      run !== null || (job !== null && action !== "cancel")
        ? h("a.open", { href: run === null ? to("job", { job }) : to("run", { run }) }, text)
        : text,
      note !== "" && [" ", h("q", note)]
    ]
  ]
];

/** @type {PageOf<AuditEntryList>} */
export const auditPage = {
  title: "Audit",
  bar: (query) => [
    h(
      "p.lead",
      "What people asked for, by whom and from where. What the server does by itself is under ",
      a("Runs", "runs"),
      "."
    ),
    h("div.bar", filter(query, AUDIT_FILTER))
  ],
  events: ["audit.added"],
  load: (query, signal) => get("audit", { ...parameters(query, AUDIT_FILTER), limit: PAGE_ROWS }, signal),
  view: ({ items, next }, context) => [
    title("Audit"),
    auditPage.bar?.(context.query),
    table(context, {
      caption: "What people asked for, the newest first",
      rows: items,
      keyOf: ({ number }) => String(number),
      of: ({ job, run }) => ({ job, run }),
      columns: AUDIT,
      empty: none(context.query, "Nobody has asked for anything yet.")
    }),
    more(context.query, next)
  ]
};
