// The lanes of the next day or week, and the laboratory for expressions.
//
// Cost: one or two requests; the laboratory asks again when somebody has stopped typing.
// Does not compute a time: the server does, with its zone data.

/** @import {Explained, Fault, Lane, OnceList, RunList, Upcoming} from "../api.d.ts" */
/** @import {PageOf} from "./lists.js" */
import { Refused, get, known, now, send } from "./api.js";
import { asTable, axis, calendar, histogram, lane, legend } from "./charts.js";
import { dim, h, s } from "./dom.js";
import { number, partsIn, place, plural, word } from "./format.js";
import { moments } from "./job.js";
import { SCHEDULED, chips, filter } from "./lists.js";
import {
  CODE,
  RUNS,
  RUN_ACTIONS,
  a,
  away,
  count,
  dueOf,
  facts,
  findings,
  jobLink,
  link,
  nothing,
  pauseFinding,
  pre,
  prose,
  runLink,
  section,
  startsIn,
  table,
  time,
  title,
  when
} from "./table.js";

const DAY_MS = 86_400_000;
/** Lanes that are shown at first: two screens. */
const LANES = 60;

/** @type {PageOf<{upcoming: Upcoming, once: OnceList, later: RunList}>} */
export const upcomingPage = {
  title: "Upcoming",
  events: ["job.changed", "run.changed", "once.changed"],
  async load(query, signal) {
    const from = Math.floor(now() / 60_000) * 60_000;
    const until = from + (query.get("span") === "7d" ? 7 : 1) * DAY_MS;
    const range = {
      from: new Date(from).toISOString(),
      to: new Date(until).toISOString(),
      group: query.get("group"),
      q: query.get("q")
    };
    /** @type {any[]} */
    const [upcoming, once, later] = await Promise.all([
      get("upcoming", range, signal),
      get("once", { limit: 100 }, signal),
      get("runs", SCHEDULED, signal)
    ]);
    return { upcoming, once, later };
  },
  view({ upcoming, once, later }, context) {
    const { query } = context;
    // What is due all the time is the least news.
    const isDense = (/** @type {Lane} */ { count, times }) => Number(times.length < count);
    const due = upcoming.lanes.filter(({ count }) => 0 < count);
    const lanes = due.filter(({ paused }) => !paused).sort((a, b) => isDense(a) - isDense(b));
    const shown = query.get("lanes") === "all" ? lanes : lanes.slice(0, LANES);
    const rest = due.length - lanes.length;
    const { job_count, time_count, lanes_left_out, is_cut } = upcoming;
    const least = is_cut ? "at least " : "";
    const times = plural(time_count, "time");
    const met = lanes.filter(({ overlaps }) => 0 < overlaps.length);
    return [
      title("Upcoming"),
      h(
        "div.bar",
        filter(query, { names: ["group"], hint: "job, group:" }),
        chips(query, [
          ["24 hours", { span: null }],
          ["7 days", { span: "7d" }]
        ])
      ),
      h(
        "p.lead",
        `${plural(job_count, "job is due", "jobs are due")}, ${least}${times} in all. `,
        0 < lanes_left_out &&
          `${plural(lanes_left_out, "job has", "jobs have")} no lane here: filter by name or group. `,
        0 < rest && `${plural(rest, "paused job is", "paused jobs are")} left out. `,
        "A bar is as long as the job usually runs."
      ),
      findings([
        ...pauseFinding(),
        ...changes(upcoming),
        ...met.map(({ job, overlaps, times, count }) => ({
          key: job,
          body: [
            jobLink(job),
            `, ${times.length < count ? "at least " : ""}${plural(overlaps.length, "time")}: ${overlaps[0]?.text}.`
          ]
        }))
      ]),
      lanes.length === 0
        ? nothing("Nothing is due in this time.")
        : h(
            "div.lanes",
            hatch(),
            histogram(upcoming),
            axis(upcoming),
            shown.map((row) => lane(upcoming, row))
          ),
      shown.length < lanes.length &&
        h("p.more", h("a", { href: link(query, { lanes: "all" }) }, `All ${number(lanes.length)} jobs`)),
      legend([
        ["f-run", "due"],
        ["f-warn", "moved by a change of the clock"],
        ["hatch", "meets the run before"],
        ["dst", "the clock changes"]
      ]),
      asTable(
        "As a table",
        ["job", "next", "times", "overlaps"],
        shown.map(({ job, times: [first], count, overlaps }) => [
          job,
          first && time(first.at, first.civil),
          count,
          overlaps.length
        ])
      ),
      0 < later.items.length &&
        section(
          [a("Runs that wait for their time", "runs", { state: "scheduled" }), count(later.total)],
          table(context, {
            caption: "Runs that wait for their time",
            rows: later.items.sort((a, b) => (a.due < b.due ? -1 : 1)),
            ...RUNS,
            empty: "",
            columns: [
              ["Job", "main", runLink],
              ["Due", "time", (run) => [dueOf(run), " ", startsIn(run.due)]],
              ["Why", "wide", (run) => dim(word(run.cause), run.reason && `: ${run.reason}`)],
              RUN_ACTIONS
            ]
          })
        ),
      section(
        ["Once", count(once.total)],
        table(context, {
          caption: "Jobs that run once",
          rows: once.items,
          keyOf: ({ id }) => id,
          empty: "No job waits to run once.",
          columns: [
            ["Name", "main", ({ name }) => name],
            ["Due", "time", (row) => [when(row, "due"), " ", startsIn(row.due)]],
            ["Does", "wide line", ({ action }) => h("code", action)]
          ]
        })
      )
    ];
  }
};

/** Some of these jobs. @param {string[]} all */
function names(all) {
  const jobs = [...new Set(all)];
  return [
    jobs.slice(0, 5).map((job, index) => [0 < index && ", ", jobLink(job)]),
    5 < jobs.length && ` and ${jobs.length - 5} more`,
    "."
  ];
}

/** What the clocks do in this time, in words: a band alone is easily missed. @param {Upcoming} upcoming */
function changes({ changes, lanes }) {
  return changes.map(({ zone, at, text }) => {
    const moved = lanes
      .filter((lane) => lane.zone === zone && lane.times.some(({ remark }) => remark))
      .map(({ job }) => job);
    return {
      key: zone,
      body: [
        `${place(zone)}: ${text} `,
        away(at),
        moved.length === 0 ? ", which changes no job." : ", which changes ",
        0 < moved.length && names(moved)
      ]
    };
  });
}

/** The pattern of overlaps. */
const hatch = () =>
  s(
    "svg.defs",
    { width: 0, height: 0, "aria-hidden": "true" },
    s(
      "pattern",
      { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      s("rect.f-bad", { width: 2, height: 5 })
    )
  );

// Lab -------------------------------------------------------------------------------------------------------

const LANGUAGES = [
  ["unix", "cron"],
  ["quartz", "Quartz"],
  ["oncalendar", "systemd OnCalendar"]
];

/** Said where the server has no `explain`. */
const NO_EXPLAIN = "This server does not explain: `mainspring explain` does.";

/** @typedef {{schedule: string, zone: string, dialect: string, explained?: Explained, fault?: Fault, text?:
 * string}} Trial */

/** @type {PageOf<Trial>} */
export const labPage = {
  title: "Lab",
  events: [],
  async load(query) {
    const trial = {
      schedule: query.get("q") ?? "30 2 * * *",
      zone: query.get("zone") ?? known()?.zone ?? "UTC",
      dialect: query.get("dialect") ?? "unix"
    };
    try {
      return { ...trial, explained: await send("POST", "explain", { ...trial, n: 20 }) };
    } catch (error) {
      if (!(error instanceof Refused) || ![404, 422].includes(error.status)) throw error;
      if (error.status === 404) return { ...trial, text: NO_EXPLAIN };
      return { ...trial, fault: error.problem?.problems?.[0], text: error.message };
    }
  },
  view: (trial) => [
    title("Lab"),
    h(
      "form.lab",
      { "data-form": "lab" },
      h(
        "label.grow",
        "Expression",
        h("input.mono", { name: "q", value: trial.schedule, ...CODE, maxlength: 500 })
      ),
      h(
        "label",
        "Language",
        h(
          "select",
          { name: "dialect" },
          LANGUAGES.map(([value, text]) => h("option", { value, selected: value === trial.dialect }, text))
        )
      ),
      h("label", "Zone", h("input", { name: "zone", value: trial.zone, list: "zones", ...CODE })),
      zones()
    ),
    h(
      "div",
      { "data-key": trial.explained ? "explained" : "wrong", "aria-live": "polite" },
      trial.explained ? explained(trial.explained) : wrong(trial)
    ),
    section(
      "Crontab to TOML",
      h(
        "form",
        { "data-form": "convert" },
        h(
          "label",
          "Lines of a crontab",
          h("textarea.mono", {
            name: "text",
            rows: 4,
            ...CODE,
            placeholder: "30 2 * * *  /usr/local/bin/backup --all"
          })
        ),
        h("div.buttons", h("button", "Convert"))
      ),
      h("div", { id: "converted", "data-own": true, "aria-live": "polite" })
    )
  ]
};

/** Zones that the browser knows, as proposals alone; the server decides. */
const zones = () =>
  h(
    "datalist",
    { id: "zones", "data-own": true },
    Intl.supportedValuesOf("timeZone").map((value) => h("option", { value }))
  );

/** A line with a part that is meant. @param {string} line @param {number} from @param {number} until */
export function marked(line, from, until) {
  const end = Math.max(until, from + 1);
  return pre("The line", line.slice(0, from), h("mark", line.slice(from, end) || " "), line.slice(end));
}

/** @param {Trial} trial */
function wrong({ schedule, fault, text = "" }) {
  if (fault === undefined) return h("p.bad", prose(text));
  return [
    marked(schedule, (fault.column ?? 1) - 1, (fault.end_column ?? 1) - 1),
    h("p.bad", prose(fault.message)),
    fault.hint !== null && h("p", prose(fault.hint))
  ];
}

/** @param {Explained} explained */
function explained({ expression, explanation, times, translations, days, is_cut, zone }) {
  const { sentence, fields, notes, changes, warnings } = explanation;
  const most = Math.max(1, ...days.map((day) => day.count));
  const found = new Map(
    days.map(({ date, count }) => [
      date,
      { fill: most <= count * 1.5 ? "f-run" : "f-low", title: plural(count, "time") }
    ])
  );
  const first = (times[0]?.civil ?? partsIn(now(), "UTC").date).slice(0, 7);
  const total =
    (is_cut ? "at least " : "") +
    plural(
      days.reduce((sum, { count }) => sum + count, 0),
      "time"
    );
  return [
    h("p.sentence", sentence),
    findings(
      warnings.map(({ text, start, end }) => ({
        key: text,
        body: [h("code", expression.slice(start, end)), " ", prose(text)]
      }))
    ),
    h(
      "div.columns.three",
      section("Next", moments(times)),
      section(
        "Fields",
        facts(
          fields
            .filter(({ text }) => text !== "")
            .map(({ unit, text, values }) => [unit, [h("code", text), text !== values && ` ${values}`]])
        ),
        notes.map((note) => h("p.dim", prose(note))),
        0 < changes.length && [
          h("h2", `Changes of the clock, ${place(zone)}`),
          h(
            "ul",
            changes.map(({ text, effect }) => h("li", prose(`${text}: ${effect}`)))
          )
        ]
      ),
      section(
        "In other languages",
        facts(
          translations.map(({ to, translation, notes, reason }) => [
            to,
            [
              translation === null
                ? dim(prose(`no exact translation: ${reason}`))
                : [
                    h("code", translation),
                    " ",
                    h(
                      "button.mini",
                      { "data-do": "copy", "data-text": translation, "aria-label": `Copy ${to}` },
                      "Copy"
                    )
                  ],
              notes.map((note) => h("div.dim", prose(note)))
            ]
          ])
        )
      )
    ),
    section(
      ["Twelve months", h("span.count", total)],
      calendar(first, found, `Twelve months from ${first}: ${total} on ${plural(days.length, "day")}`)
    )
  ];
}
