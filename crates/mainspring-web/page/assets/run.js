// One run: when, why, how often, and what it wrote.
//
// Cost: one request; the log asks for itself.

/** @import {RunDetail} from "../api.d.ts" */
/** @import {PageOf} from "./lists.js" */
import { Refused, get, may } from "./api.js";
import { timeline } from "./charts.js";
import { h } from "./dom.js";
import { length, number, plural, runPath, serverOf, word } from "./format.js";
import { log } from "./log.js";
import {
  RUNS,
  about,
  isOpen,
  jobLink,
  nothing,
  prose,
  section,
  runState,
  since,
  span,
  state,
  table,
  time,
  when
} from "./table.js";

/** @type {PageOf<RunDetail>} */
export const runPage = {
  title: "Run",
  events: ["run.changed"],
  concerns: ({ run }, query) => run === query.get("run"),
  async load(query, signal) {
    const run = query.get("run") ?? "";
    if (!run.includes("@")) throw new Refused(404, null, `There is no run ${run}.`);
    return get(runPath(run), {}, signal);
  },
  view: (run, context) =>
    h(
      "article",
      about(RUNS.of(run)),
      h(
        "div.head",
        h(
          "h1",
          { tabindex: -1 },
          run.cause === "once" ? run.job : jobLink(run.job),
          h("span.at", when(run, "nominal"))
        ),
        runState(run),
        may("operate") &&
          h(
            "div.buttons",
            isOpen(run)
              ? h("button", { "data-do": "cancel" }, "Cancel…")
              : [
                  run.state === "dead" && h("button", { "data-do": "drop" }, "Drop…"),
                  run.cause !== "once" && h("button.main", { "data-do": "again" }, "Run again…")
                ]
          )
      ),
      h("p.lead", sentence(run)),
      timeline(run),
      h(
        "ul",
        (run.holds ?? []).map(({ why, ends }) => h("li", prose(why), " ", prose(`it ends with ${ends}`)))
      ),
      1 < run.attempts.length &&
        section(
          "Attempts",
          table(context, {
            caption: "Attempts",
            rows: run.attempts,
            keyOf: ({ number }) => String(number),
            empty: "",
            columns: [
              ["Attempt", "main", (attempt) => attempt.number + serverOf(attempt)],
              ["State", "", ({ state: code }) => state(code ?? "running")],
              ["Started", "time", (attempt) => when(attempt, "started")],
              [
                "Took",
                "num",
                ({ ended, started, duration_ms }) => (ended === null ? since(started) : span(duration_ms))
              ],
              ["Outcome", "wide", ({ outcome }) => outcome]
            ]
          })
        ),
      h("h2", { id: "log" }, "Output"),
      run.started === null ? nothing("It has not started: no output.") : log(run)
    )
};

/** What became of it, in words. @param {RunDetail} run */
function sentence(run) {
  const by = word(run.cause);
  const cause = `Started ${by === "schedule" ? "by its schedule" : by}${serverOf(run)}`;
  const many = run.last !== null && [
    `This record stands for ${number(run.count)} times, the last `,
    time(run.last, run.civil.last),
    ". "
  ];
  const reason = run.reason !== "" && [" ", prose(run.reason)];
  if (run.started === null) return [many, `It is ${word(run.state)}.`, reason];
  if (isOpen(run))
    return [
      many,
      `${cause}, attempt ${run.attempt}. It runs for `,
      since(run.started),
      run.usual_ms === null ? "." : `; ${length(run.usual_ms)} is usual.`
    ];
  const outcome = run.outcome === null || run.outcome === "succeeded" ? "" : `, ${run.outcome},`;
  return [
    many,
    `${cause}; ended${outcome} after `,
    span(run.duration_ms),
    1 < run.attempt && ` and ${plural(run.attempt, "attempt")}`,
    ".",
    reason
  ];
}
