// One run: when, why, how often, and what it wrote.
//
// Cost: one request; the log asks for itself.

/** @import {RunDetail} from "../api.d.ts" */
/** @import {PageOf} from "./lists.js" */
import { get, may } from "./api.js";
import { timeline } from "./charts.js";
import { dim, h } from "./dom.js";
import { length, number, plural, runPath, word } from "./format.js";
import { log } from "./log.js";
import { since, span, state, time, to, when } from "./table.js";

/** @type {PageOf<RunDetail>} */
export const runPage = {
  title: "Run",
  events: ["run.changed"],
  concerns: (_, data, query) => data.run === query.get("run"),
  load: (query, signal) => get(runPath(query.get("run") ?? ""), {}, signal),
  view(run) {
    const isOpen = ["scheduled", "queued", "running"].includes(run.state);
    return h("article", { "data-run": run.run, "data-job": run.job, "data-state": run.state },
      h("div.head", null,
        h("h1", { tabindex: -1 }, h("a", { href: to("job", { job: run.job }) }, run.job), " ", h("span.at", when(run, "nominal"))),
        state(run.state),
        h("div.buttons", may("operate") && [
          isOpen && h("button", { "data-do": "cancel" }, "Cancel"),
          run.state === "dead" && h("button", { "data-do": "drop" }, "Drop"),
          !isOpen && run.cause !== "once" && h("button.main", { "data-do": "again" }, "Run again")])),
      h("p.lead", sentence(run)),
      timeline(run),
      0 < run.waits.length && h("ul.waits", run.waits.map((wait) => h("li", `${wait.text} `, dim("for ", wait.until === null ? since(wait.from) : length(Date.parse(wait.until) - Date.parse(wait.from)))))),
      1 < run.attempts.length && attempts(run),
      h("h2", { id: "log" }, "Output"),
      run.started === null ? h("p.empty", "It has not started, so there is no output.") : log(run));
  },
};

/** What became of it, in words. @param {RunDetail} run */
function sentence(run) {
  const cause = `Started ${word(run.cause) === "schedule" ? "by its schedule" : word(run.cause)}`;
  const many = 1 < run.count && [`This record stands for ${number(run.count)} times, `, "the last ", run.last !== null && time(run.last, run.civil.last), ". "];
  if (run.state === "running" && run.started !== null) {
    return [many, `${cause}, attempt ${run.attempt}. It runs for `, since(run.started), run.usual_ms === null ? "." : `; ${length(run.usual_ms)} is usual.`];
  }
  if (run.started === null) return [many, run.reason === "" ? `It is ${word(run.state)}.` : `It did not start: ${run.reason}.`];
  const outcome = run.outcome === null || run.outcome === "succeeded" ? "" : ` with ${run.outcome}`;
  return [many, `${cause}, ${plural(run.attempt, "attempt")}; ended${outcome} after `, span(run.duration_ms), run.lateness_ms !== null && 1_000 <= run.lateness_ms && `, ${length(run.lateness_ms)} late`, ".", run.reason !== "" && ` ${run.reason[0]?.toUpperCase()}${run.reason.slice(1)}.`];
}

/** @param {RunDetail} run */
function attempts(run) {
  return h("table.small", h("caption", "Attempts"),
    h("thead", h("tr", ["Attempt", "State", "Started", "Took", "Outcome"].map((label) => h("th", { scope: "col" }, label)))),
    h("tbody", run.attempts.map((attempt) => h("tr", { "data-key": `attempt ${attempt.number}` },
      h("th", { scope: "row" }, attempt.number), h("td", { "data-label": "State" }, state(attempt.state ?? "running")), h("td", { "data-label": "Started" }, when(attempt, "started")),
      h("td", { "data-label": "Took" }, attempt.ended === null ? since(attempt.started) : span(attempt.duration_ms)), h("td", { "data-label": "Outcome" }, attempt.outcome ?? "")))));
}
