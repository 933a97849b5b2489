// The server's own pages: its files, its health.
//
// Cost: one to three requests.

/** @import {Fault, FileState, Health, List} from "../api.d.ts" */
/** @import {PageOf} from "./lists.js" */
import { ask, get, known, may } from "./api.js";
import { dim, h } from "./dom.js";
import { bytes, number, plural } from "./format.js";
import { ago, pauseText, state, table, time, when } from "./table.js";

// Files ------------------------------------------------------------------------------------------------------------

/** @type {PageOf<List<FileState>>} */
export const filesPage = {
  title: "Files",
  events: ["file.changed"],
  load: (_, signal) => get("files", {}, signal),
  view({ items }, context) {
    return [
      h("h1", { tabindex: -1 }, "Files", h("span.count", number(items.length))),
      h("p.lead", "A file is read again when it changes. One with a problem changes nothing: what was read before stays in force."),
      table(context, {
        name: "files", caption: "Files of jobs", rows: items, keyOf: ({ name }) => name, empty: "The server was started without a file. Jobs come by command: mainspring every, mainspring at.",
        columns: [
          ["File", "main", ({ name }) => h("code", name)],
          ["State", "wide", (file) => state(file.state_code, file.state)],
          ["Jobs", "num", ({ jobs }) => number(jobs)],
          ["Read", "num", (file) => (file.read === null ? dim("never") : [when(file, "read"), " ", dim(ago(file.read))])],
        ],
      }),
      items.filter(({ faults }) => 0 < faults.length).map(({ name, faults }) => h("section", { "data-key": `faults ${name}` }, h("h2", name), faultList(faults))),
      h("section", { "data-key": "check" }, h("h2", may("define") ? "Check or apply" : "Check"),
        h("form", { "data-form": "check" },
          h("label", "Path", h("input.mono", { name: "path", value: "jobs.toml", spellcheck: "false", autocomplete: "off", required: true })),
          h("label", "Content ", dim("(TOML; a crontab if the path does not end in .toml)"), h("textarea.mono", { name: "text", rows: 8, spellcheck: "false", required: true })),
          h("div.buttons", h("button", { name: "do", value: "check" }, "Check"), may("define") && h("button", { name: "do", value: "preview" }, "Preview what it would change…"))),
        h("div", { id: "checked", "data-own": true, "aria-live": "polite" })),
    ];
  },
};

/** Problems as `check` prints them: the line, and what is meant in it. @param {Fault[]} faults */
export function faultList(faults) {
  return h("ol.faults", faults.map(({ line, column, end_column, severity, message, hint, excerpt }) => h("li", null,
    h("div", state(severity === "problem" ? "bad" : "warning", severity === "problem" ? "problem" : "warning"), " ", line !== null && h("b.mono", `${line}:${column ?? 1}`), ` ${message}`),
    excerpt !== null && h("pre.code.excerpt", { tabindex: 0, role: "region", "aria-label": `Line ${line ?? ""}` }, excerpt.slice(0, (column ?? 1) - 1), h("mark", excerpt.slice((column ?? 1) - 1, (end_column ?? 1) - 1)), excerpt.slice((end_column ?? 1) - 1)),
    hint !== null && h("div.dim", hint))));
}

// Server -----------------------------------------------------------------------------------------------------------

/** @typedef {{health: Health, metrics: string}} House */

/** @type {PageOf<House>} */
export const serverPage = {
  title: "Server",
  events: ["file.changed", "job.changed", "clock.jumped"],
  async load(_, signal) {
    const [health, metrics] = await Promise.all([
      /** @type {Promise<Health>} */ (get("health", {}, signal)),
      ask("metrics", { signal }).then((answer) => answer.text()),
    ]);
    return { health, metrics };
  },
  view({ health, metrics }) {
    const status = known();
    if (status === null) return null;
    /** @type {[string, import("./dom.js").Child][]} */
    const facts = [
      ["version", status.version], ["state", status.state], ["host", status.host], ["data", h("code", status.data)],
      ["process", status.pid], ["started", [time(status.started, status.civil.started), " ", ago(status.started)]],
      ["zone", `${status.zone}, zone data ${status.tzdata}`], ["kept", status.is_kept ? "on disk" : "in memory: nothing outlives the server"],
      ["jobs", `${number(status.jobs)}, and ${number(status.pending)} that run once`], ["runs", `${number(status.runs)} kept, ${number(status.open)} open, ${number(status.running)} running`],
    ];
    return [
      h("div.head", h("h1", { tabindex: -1 }, "Server"), state(health.level === "ok" ? "ok" : health.level, health.level === "ok" ? "all is well" : health.level === "bad" ? "something does not work" : "somebody should look"),
        h("div.buttons", may("operate") && (status.paused ? h("button", { "data-do": "resume-all" }, "Resume all jobs") : h("button", { "data-do": "pause-all" }, "Pause all jobs…")))),
      status.pause !== null && h("p", state("paused", "Everything is paused"), " ", pauseText(status.pause)),
      h("div.columns", null,
        h("section", h("h2", "Findings"), h("table.small", h("caption.hide", "What doctor finds"), h("thead.hide", h("tr", ["Level", "Subject", "Finding"].map((label) => h("th", { scope: "col" }, label)))),
          h("tbody", health.findings.map(({ level, subject, text, hint, code, job, file }) => h("tr", { "data-key": `${code} ${job ?? file ?? ""}` }, h("td", state(level)), h("th", { scope: "row" }, subject), h("td.wide", text, hint !== undefined && h("div.dim", hint))))))),
        h("div", null,
          h("section", h("h2", "Facts"), h("dl.facts", facts.map(([name, value]) => [h("dt", name), h("dd", value)]))),
          h("section", h("h2", "Limits in use"), h("dl.facts", health.limits.map(({ code, text, used, max }) => [h("dt", { "data-key": code }, text), h("dd", h("meter", { value: used, max, low: max * 0.7, high: max * 0.9, optimum: 0, "aria-label": text }), ` ${number(used)} of ${number(max)}`)]))),
          h("section", h("h2", "Store"), h("dl.facts", health.store.map(({ part, bytes: size }) => [h("dt", part), h("dd", bytes(size))]))))),
      h("section", h("h2", "Metrics", h("span.count", plural(metrics.split("\n").filter((line) => line !== "" && !line.startsWith("#")).length, "series", "series"))),
        h("details.as-table", h("summary", "As text, for Prometheus at ", h("a", { href: "metrics" }, "metrics")), h("pre.code", { tabindex: 0, role: "region", "aria-label": "Metrics" }, metrics))),
    ];
  },
};
