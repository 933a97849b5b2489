// The server's own pages: its files, its health.
//
// Cost: one or two requests.

/** @import {Cluster, Fault, FileStateList, Health, LostServer, Member} from "../api.d.ts" */
/** @import {PageOf} from "./lists.js" */
/** @import {Context} from "./table.js" */
import { marked } from "./upcoming.js";
import { ask, get, known, may, PRIVATE } from "./api.js";
import { dim, h } from "./dom.js";
import { bytes, length, number, plural } from "./format.js";
import {
  CODE,
  ago,
  count,
  facts,
  pauseText,
  pre,
  prose,
  section,
  state,
  table,
  time,
  title,
  when
} from "./table.js";

/** @type {PageOf<FileStateList>} */
export const filesPage = {
  title: "Files",
  events: ["job.changed"],
  load: (_, signal) => get("files", {}, signal),
  view: ({ items }, context) => [
    title("Files", count(items.length)),
    h(
      "p.lead",
      "A file is read again when it changes. With a problem it changes nothing: the old one stays in force."
    ),
    table(context, {
      caption: "Files of jobs",
      rows: items,
      keyOf: ({ name }) => name,
      empty: "The server was started without a file. Jobs come by command: mainspring every, mainspring at.",
      columns: [
        ["File", "main", ({ name }) => h("code", name)],
        ["Jobs", "num", ({ jobs }) => number(jobs)],
        [
          "Read",
          "time",
          (file) => (file.read === null ? dim("never") : [when(file, "read"), " ", ago(file.read)])
        ],
        ["State", "wide", (file) => state(file.state_code, file.state)]
      ]
    }),
    items
      .filter(({ faults }) => 0 < faults.length)
      .map(({ name, faults }) => section(name, faultList(faults))),
    section(
      may("define") ? "Check or apply" : "Check",
      h(
        "form",
        { "data-form": "check" },
        h("label", "Path", h("input.mono", { name: "path", value: "jobs.toml", ...CODE, required: true })),
        h(
          "label",
          "Content (TOML; a crontab if the path does not end in .toml)",
          h("textarea.mono", { name: "text", rows: 6, ...CODE, required: true })
        ),
        h(
          "div.buttons",
          h("button", { name: "do", value: "check" }, "Check"),
          may("define") && h("button", { name: "do", value: "preview" }, "Preview what it would change…")
        )
      ),
      h("div", { id: "checked", "data-own": true, "aria-live": "polite" })
    )
  ]
};

/** Problems as `check` prints them: the line, and what is meant in it. @param {Fault[]} faults */
export function faultList(faults) {
  return h(
    "ol.faults",
    faults.map(({ line, column, end_column, severity, message, hint, excerpt }) =>
      h(
        "li",
        state(severity === "problem" ? "bad" : severity, severity),
        line !== null && h("b.mono", ` ${line}:${column ?? 1} `),
        prose(message),
        hint !== null && dim(" ", prose(hint)),
        excerpt !== null && marked(excerpt, (column ?? 1) - 1, (end_column ?? 1) - 1)
      )
    )
  );
}

/** Who is there, and who runs how much of what. @param {Cluster} cluster @param {Context} context */
const servers = (cluster, context) =>
  table(context, {
    caption: "Servers of the database",
    rows: [...cluster.servers, ...cluster.lost.map(lostMember)],
    keyOf: ({ id, name }) => `${id} ${name}`,
    empty: "No server is there.",
    columns: [
      ["Server", "main", (s) => [h("code", s.name), s.is_planner && dim(" plans")]],
      ["#", "num", ({ id }) => id || ""],
      ["State", "", memberState],
      [
        "Running",
        "num",
        ({ running = -1, capacity }) => (running < 0 ? "" : `${number(running)} of ${number(capacity)}`)
      ],
      [
        "Labels",
        "wide",
        ({ labels }) =>
          Object.entries(labels)
            .map(([label, level]) => (level === 0 ? label : `${label} (${level})`))
            .join(", ")
      ],
      ["Version", "", ({ version }) => version],
      ["Heard", "time", ({ silent_ms }) => `${length(silent_ms)} ago`]
    ]
  });

/** A server that was taken for lost, as a row of the others: nothing runs there. @param {LostServer} lost */
const lostMember = ({ id, host, since_ms }) =>
  /** @type {Member} */ ({ id, name: host, labels: {}, silent_ms: since_ms });

/** @param {Member} member */
function memberState({ capacity, is_leaving, running }) {
  if (running === undefined) return state("bad", "lost");
  if (is_leaving) return state("warning", "leaves");
  if (capacity === 0) return dim("carries nothing out");
  return capacity <= running ? state("warning", "full") : state("ok", "takes runs");
}

/** @type {PageOf<{health: Health, metrics: string}>} */
export const serverPage = {
  title: "Server",
  events: ["job.changed", "clock.jumped"],
  async load(_, signal) {
    const metrics = ask(`${PRIVATE}metrics`, { signal }).then((answer) => answer.text());
    return { health: await get("health", {}, signal), metrics: await metrics };
  },
  view({ health: { findings, level, limits, store }, metrics }, context) {
    const status = known();
    if (status === null) return null;
    const word = { ok: "all is well", warning: "somebody should look", bad: "something does not work" }[
      level
    ];
    const button = status.paused
      ? h("button", { "data-do": "resume-all" }, "Resume all jobs…")
      : h("button", { "data-do": "pause-all" }, "Pause all jobs…");
    return [
      h("div.head", title("Server"), state(level, word), may("operate") && h("div.buttons", button)),
      status.pause !== null && h("p", state("paused", "Everything is paused"), " ", pauseText(status.pause)),
      h(
        "div.columns",
        h(
          "div",
          section(
            "Findings",
            h(
              "ul.checks",
              findings.map(({ level, subject, text, hint }) =>
                h(
                  "li",
                  state(level, subject),
                  h("span", prose(text), hint !== undefined && dim(" ", prose(hint)))
                )
              )
            )
          ),
          section(
            "Limits in use",
            facts(
              limits.map(({ text, used, max }) => [
                text,
                h(
                  "span.s",
                  h("meter", {
                    value: used,
                    max,
                    low: max * 0.7,
                    high: max * 0.9,
                    optimum: 0,
                    "aria-label": text
                  }),
                  ` ${number(used)} of ${number(max)}`
                )
              ])
            )
          )
        ),
        h(
          "div",
          section(
            "Facts",
            facts([
              ["version", `${status.version}, process ${status.pid}`],
              ["host", status.host],
              [
                "data",
                [h("code", status.data), status.is_kept ? "" : ", in memory: nothing outlives the server"]
              ],
              ["state", status.state],
              ["started", [time(status.started, status.civil.started), " ", ago(status.started)]],
              ["zone", `${status.zone}, zone data ${status.tzdata}`],
              ["jobs", `${number(status.jobs)}, and ${number(status.pending)} that run once`],
              [
                "runs",
                `${number(status.runs)} kept, ${number(status.open)} open, ${number(status.running)} running`
              ]
            ])
          ),
          section("Store", facts(store.map(({ part, bytes: size }) => [part, bytes(size)])))
        )
      ),
      status.cluster !== undefined && section("Servers of the database", servers(status.cluster, context)),
      section(
        [
          "Metrics",
          h(
            "span.count",
            plural(metrics.split("\n").filter((line) => /^\w/.test(line)).length, "series", "series")
          )
        ],
        h(
          "details",
          h(
            "summary",
            "As text; Prometheus finds it at ",
            h("code", new URL("metrics", location.href).pathname)
          ),
          pre("Metrics", metrics)
        )
      )
    ];
  }
};
