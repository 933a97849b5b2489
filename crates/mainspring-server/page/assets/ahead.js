// What is ahead: lanes of the next day or week, and the laboratory for expressions.
//
// Cost: one request each; the laboratory asks again when somebody has stopped typing.
//
// Does not compute a time: the server does, with its zone data.

/** @import {Explained, Fault, Lane, Once, List, Upcoming} from "../api.d.ts" */
/** @import {PageOf} from "./lists.js" */
import { Refused, get, known, now, send } from "./api.js";
import { asTable, axis, calendar, histogram, lane } from "./charts.js";
import { dim, h, s } from "./dom.js";
import { number, partsIn, place, plural } from "./format.js";
import { ago, link, table, time, to, when } from "./table.js";

const DAY_MS = 86_400_000;
/** Lanes that are shown at first: two screens. */
const LANES = 60;

/** @typedef {{upcoming: Upcoming, once: List<Once>}} Ahead */

/** @type {PageOf<Ahead>} */
export const upcomingPage = {
  title: "Upcoming",
  events: ["job.changed", "once.changed"],
  async load(query, signal) {
    const from = Math.floor(now() / 60_000) * 60_000;
    const days = query.get("span") === "7d" ? 7 : 1;
    const range = { from: new Date(from).toISOString(), to: new Date(from + days * DAY_MS).toISOString() };
    const [upcoming, once] = await Promise.all([
      /** @type {Promise<Upcoming>} */ (get("upcoming", { ...range, group: query.get("group"), q: query.get("q") }, signal)),
      /** @type {Promise<List<Once>>} */ (get("once", { limit: 100 }, signal)),
    ]);
    return { upcoming, once };
  },
  view({ upcoming, once }, context) {
    const { query } = context;
    const isWeek = query.get("span") === "7d";
    const isAll = query.get("lanes") === "all";
    const lanes = upcoming.lanes.filter(({ count }) => 0 < count);
    const shown = isAll ? lanes : lanes.slice(0, LANES);
    const overlaps = lanes.flatMap((lane) => lane.overlaps.map((overlap) => ({ ...overlap, job: lane.job, civil: civilOf(lane, overlap.at) })));
    return [
      h("h1", { tabindex: -1 }, "Upcoming"),
      h("div.bar", null,
        h("form.filter", { "data-form": "filter", "data-names": "group", role: "search" }, h("input", { name: "q", type: "search", value: [query.has("group") && `group:${query.get("group")}`, query.get("q")].filter(Boolean).join(" "), placeholder: "job, group:", "aria-label": "Filter: job, group:", autocomplete: "off" })),
        h("div.chips", h("a.chip", { href: link(query, { span: null }), "aria-current": isWeek ? null : "true" }, "24 hours"), h("a.chip", { href: link(query, { span: "7d" }), "aria-current": isWeek ? "true" : null }, "7 days"))),
      h("p.lead", `${plural(lanes.length, "job is", "jobs are")} due, ${number(lanes.reduce((sum, { count }) => sum + count, 0))} times in all. A bar is as long as the job usually runs. `,
        overlaps.length === 0 ? "No run should meet the one before it." : h("b.warn", `${plural(overlaps.length, "run")} will probably meet the one before.`)),
      changes(upcoming),
      lanes.length === 0 ? h("p.empty", "Nothing is due in this time.") : h("div.lanes", hatch(), histogram(upcoming), axis(upcoming), shown.map((row) => lane(upcoming, row))),
      shown.length < lanes.length && h("p.more", h("a", { href: link(query, { lanes: "all" }) }, `All ${number(lanes.length)} jobs`)),
      h("p.legend", legend("f-run", "due"), legend("f-warn", "moved by a change of the clock"), legend("hatch", "meets the run before"), legend("dst", "the clock changes")),
      asTable("As a table", ["job", "next", "times", "overlaps"], shown.map((row) => [row.job, row.times[0] ? time(row.times[0].at, row.times[0].civil) : "", row.count, row.overlaps.length])),
      0 < overlaps.length && h("section", h("h2", "Predicted overlaps"),
        table(context, { name: "overlaps", caption: "Predicted overlaps", rows: overlaps.slice(0, 20), keyOf: ({ job, at }) => `${job} ${at}`, of: ({ job }) => ({ job }),
          columns: [["Job", "main", ({ job }) => h("a.open", { href: to("job", { job }) }, job)], ["At", "num", ({ at, civil }) => time(at, civil)], ["What will happen", "wide", ({ text }) => text]] })),
      h("section", h("h2", "Once", once.total !== null && h("span.count", number(once.total))),
        table(context, { name: "once", caption: "Jobs that run once", rows: once.items, keyOf: ({ id }) => id, empty: "No job waits to run once.",
          columns: [["Name", "main", ({ name }) => h("b", name)], ["Due", "num", (row) => [when(row, "due"), " ", dim(ago(row.due))]], ["Does", "wide line", ({ action }) => h("code", action)]] })),
    ];
  },
};

/** @param {Lane} lane @param {string} at */
function civilOf(lane, at) {
  return lane.times.find((moment) => moment.at === at)?.civil;
}

/** What the clocks do in this time, in words: a band alone is easily missed. @param {Upcoming} upcoming */
function changes({ changes, lanes }) {
  return h("ul.findings", changes.map(({ zone, at, civil, text }) => {
    const moved = lanes.filter((lane) => lane.zone === zone && lane.times.some(({ remark }) => remark !== undefined));
    return h("li.warn", s("svg.i", { "aria-hidden": "true" }, s("use", { href: "#i-timed_out" })), h("span", `${place(zone)}: ${text}, `, time(at, civil), ". ",
      moved.length === 0 ? "It changes no job." : ["It changes ", moved.slice(0, 5).map(({ job }, index) => [index === 0 ? "" : ", ", h("a", { href: to("job", { job }) }, job)]), 5 < moved.length && ` and ${moved.length - 5} more`, "."]));
  }));
}

/** The pattern of overlaps. */
function hatch() {
  return s("svg.defs", { width: 0, height: 0, "aria-hidden": "true" }, s("defs", s("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect.f-bad", { width: 2, height: 5 }))));
}

/** @param {string} fill @param {string} text */
function legend(fill, text) {
  return h("span", s("svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" }, s(`rect.${fill}`, { x: 0.5, y: 0.5, width: 11, height: 11 })), ` ${text}`);
}

// Lab --------------------------------------------------------------------------------------------------------------

const TIMES = 20;
const FIRST = "30 2 * * *";

/** @typedef {{expression: string, zone: string, dialect: string, explained: Explained | null, fault: Fault | null, text: string}} Trial */

/** @type {PageOf<Trial>} */
export const labPage = {
  title: "Lab",
  events: [],
  async load(query) {
    const expression = query.get("q") ?? FIRST;
    const zone = query.get("zone") ?? known()?.zone ?? "UTC";
    const dialect = query.get("dialect") ?? "unix";
    const trial = { expression, zone, dialect, explained: null, fault: null, text: "" };
    try {
      /** @type {Explained} */
      const explained = await send("POST", "explain", { schedule: expression, dialect, zone, n: TIMES });
      return { ...trial, explained };
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 422) throw error;
      return { ...trial, fault: error.problem?.problems?.[0] ?? null, text: error.message };
    }
  },
  view(trial, { query }) {
    return [
      h("h1", { tabindex: -1 }, "Lab"),
      h("form.lab", { "data-form": "lab" },
        h("label.grow", "Expression", h("input.mono", { name: "q", value: trial.expression, autocomplete: "off", spellcheck: "false", autocapitalize: "off", maxlength: 500, "aria-describedby": "explained" })),
        h("label", "Language", h("select", { name: "dialect" }, [["unix", "cron"], ["quartz", "Quartz"], ["oncalendar", "systemd OnCalendar"]].map(([value, text]) => h("option", { value, selected: value === trial.dialect }, text)))),
        h("label", "Zone", h("input", { name: "zone", value: trial.zone, list: "zones", autocomplete: "off", spellcheck: "false" })), zones()),
      h("div", { id: "explained", "data-key": "explained" }, trial.explained === null ? wrong(trial) : explained(trial.explained)),
      h("section", { "data-key": "crontab" }, h("h2", "Crontab to TOML"),
        h("form", { "data-form": "convert" },
          h("label", "Lines of a crontab", h("textarea.mono", { name: "text", rows: 5, spellcheck: "false", placeholder: "30 2 * * *  /usr/local/bin/backup --all" })),
          h("div.buttons", h("button", "Convert"))),
        h("div", { id: "converted", "data-own": true, "aria-live": "polite" })),
      query.get("q") === null ? h("p.dim", "The address of this page holds the expression: send it to somebody.") : null,
    ];
  },
};

/** Zones that the browser knows, as proposals alone; the server decides. */
function zones() {
  const names = typeof Intl.supportedValuesOf === "function" ? Intl.supportedValuesOf("timeZone") : [];
  return h("datalist", { id: "zones", "data-own": true }, names.map((name) => h("option", { value: name })));
}

/** @param {Trial} trial */
function wrong({ expression, fault, text }) {
  if (fault === null) return h("p.bad", text);
  const [from, to] = [(fault.column ?? 1) - 1, (fault.end_column ?? fault.column ?? 1) - 1];
  return [
    h("pre.code.excerpt", expression.slice(0, from), h("mark", expression.slice(from, Math.max(to, from + 1)) || " "), expression.slice(Math.max(to, from + 1))),
    h("p.bad", `${fault.message[0]?.toUpperCase()}${fault.message.slice(1)}.`, fault.hint !== null && h("span", ` ${fault.hint}`)),
  ];
}

/** @param {Explained} explained */
function explained({ expression, explanation, times, translations, days, zone }) {
  const most = Math.max(1, ...days.map(({ count }) => count));
  const found = new Map(days.map(({ date, count }) => [date, { fill: count * 3 < most * 2 ? (count * 3 < most ? "f-low" : "f-mid") : "f-run", title: plural(count, "time") }]));
  const first = (times[0] === undefined ? partsIn(now(), "UTC").date : times[0].civil).slice(0, 7);
  const total = days.reduce((sum, { count }) => sum + count, 0);
  return [
    h("p.sentence", explanation.sentence),
    h("ul.findings", explanation.warnings.map(({ text, start, end }) => h("li.warn", s("svg.i", { "aria-hidden": "true" }, s("use", { href: "#i-warning" })),
      h("span", h("code", expression.slice(start, end)), ` ${text}`)))),
    h("div.columns.three", null,
      h("section", h("h2", "Next"), times.length === 0 ? h("p.empty", "It is never due again.") : h("ol.moments", times.map(({ at, civil, remark }, index) => h("li", time(at, civil), index === 0 && [" ", dim(ago(at))], remark !== undefined && h("div.warn", remark.text))))),
      h("section", h("h2", "Fields"), h("dl.facts", explanation.fields.filter(({ text, values }) => text !== "" || !values.startsWith("every")).map(({ unit, text, values }) => [h("dt", unit), h("dd", text !== "" && [h("code", text), " "], values)])),
        explanation.notes.map((note) => h("p.dim", `${note[0]?.toUpperCase()}${note.slice(1)}.`)),
        0 < explanation.changes.length && [h("h2", `Changes of the clock, ${place(zone)}`), h("ul.plain", explanation.changes.map(({ text, effect }) => h("li", `${text[0]?.toUpperCase()}${text.slice(1)}: ${effect}.`)))]),
      h("section", h("h2", "In other languages"), h("dl.facts.langs", translations.map(({ to, translation, notes, reason }) => [h("dt", to),
        h("dd", translation === null ? dim(`No exact translation: ${reason ?? ""}`) : [h("code", translation), " ", h("button.mini", { "data-do": "copy", "data-text": translation, "aria-label": `Copy ${to}` }, "Copy")],
          notes.map((note) => h("div.dim", `${note[0]?.toUpperCase()}${note.slice(1)}.`)))])))),
    h("section", h("h2", "Twelve months", h("span.count", plural(total, "time"))), calendar(first, found, `Twelve months from ${first}: ${plural(total, "time")} on ${plural(days.length, "day")}`)),
  ];
}
