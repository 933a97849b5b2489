// What a person can do: each thing is asked for once in a dialog, sent, and answered in words.
//
// ```text
// button or key -> dialog (what, which, how many) -> request -> a sentence, and a link to what came of it
//                     ^------------- refused: the reason stands in the dialog ---'
// ```
//
// Cost: one request; for many at once a preview before it.
//
// Does not change the page: what changed comes back as an event.

/** @import {Accepted, ActionPreview, ActionState, Applied, BackfillPreview, Checked, Started} from "../api.d.ts" */
/** @import {Child} from "./dom.js" */
import { Refused, get, now, send } from "./api.js";
import { h, template, the } from "./dom.js";
import { number, plural, runPath } from "./format.js";
import { faultList } from "./house.js";
import { time, to } from "./table.js";

/** What a button or key is about. @typedef {Record<string, string | undefined>} About */

/** @typedef {object} House
 * @property {(text: Child) => void} say
 * @property {() => void} refresh
 * @property {() => {ids: string[], of: "jobs" | "runs", filter: Record<string, string> | null}} picked
 * @property {() => void} unpick
 */

/** @typedef {object} Asking
 * @property {string} title
 * @property {Child} body
 * @property {string} submit
 * @property {(values: FormData) => Promise<void>} action
 */

const dialog = () => the("#dialog", HTMLDialogElement);

export function close() {
  dialog().close();
}

/** Shows what will be done and does it. @param {Asking} asking */
function open({ title, body, submit, action }) {
  const error = h("p.bad", { role: "alert" });
  const button = /** @type {HTMLButtonElement} */ (h("button.main", { autofocus: true }, submit));
  const form = /** @type {HTMLFormElement} */ (h("form", h("h2", { id: "dialog-title" }, title), body, error,
    h("div.buttons", h("button", { type: "button", "data-do": "close" }, "Back"), button)));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    error.textContent = "";
    try {
      await action(new FormData(form));
      close();
    } catch (found) {
      error.textContent = reason(found);
      button.disabled = false;
      button.focus();
    }
  });
  dialog().replaceChildren(form);
  dialog().showModal();
  (form.querySelector("input, textarea, select") ?? button).dispatchEvent(new Event("wanted"));
  /** @type {HTMLElement} */ (form.querySelector("input, textarea") ?? button).focus();
}

/** What went wrong, and what to do. @param {unknown} error */
export function reason(error) {
  if (!(error instanceof Refused)) return "The page has a fault; reload it. The console says more.";
  const todo = error.status === 0 ? " Nothing was done, or nothing is known of it: look before you try again." : error.status === 403 ? " Your scope does not allow it." : error.status === 503 ? " Try again in a moment." : "";
  const text = error.message;
  return `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}${todo}`;
}

/** @param {string} name */
const jobPath = (name) => `jobs/${encodeURIComponent(name)}`;
/** @param {string} run */
const openRun = (run) => h("a", { href: to("run", { run }) }, "Open it");

/** @param {About} about @param {House} house */
function run({ job = "" }, house) {
  // The same time twice is the same run: a second click starts nothing.
  const at = new Date(now()).toISOString();
  open({
    title: `Run ${job} now?`, submit: "Run now", body: h("p", "It runs once, beside its schedule, by its own rules for overlap and retry."),
    async action() {
      /** @type {Started} */
      const started = await send("POST", `${jobPath(job)}/run`, { at });
      house.say([`${job} is asked to run. `, openRun(started.run)]);
    },
  });
}

/** @param {About} about @param {House} house */
function again({ job = "", run: key = "", state }, house) {
  if (state !== "dead") return run({ job }, house);
  open({
    title: `Run ${job} again?`, submit: "Run again", body: h("p", "The dead letter is tried again, for the same nominal time and with all of its attempts."),
    async action() {
      await send("POST", `${runPath(key)}/retry`, {});
      house.say([`${job} is asked to run again. `, openRun(key)]);
    },
  });
}

/** @param {About} about @param {House} house */
function cancel({ job = "", run: key = "" }, house) {
  open({
    title: `Cancel this run of ${job}?`, submit: "Cancel the run", body: [h("p", key), h("p.dim", "A process that runs gets its kill signal and then its time to end.")],
    async action() {
      await send("POST", `${runPath(key)}/cancel`, {});
      house.say(`The run of ${job} is asked to end.`);
    },
  });
}

/** @param {About} about @param {House} house */
function drop({ job = "", run: key = "" }, house) {
  open({
    title: `Drop this dead letter of ${job}?`, submit: "Drop", body: [h("p", key), h("p.dim", "It stays in the history as cancelled, and will not be run again."), note(false)],
    async action(values) {
      await send("POST", `${runPath(key)}/drop`, noted(values));
      house.say(`The dead letter of ${job} is dropped.`);
    },
  });
}

/** @param {boolean} isRequired */
function note(isRequired) {
  return h("label", isRequired ? "Why, for whoever finds it" : "Why (may be left out)", h("input", { name: "note", maxlength: 200, required: isRequired, autocomplete: "off" }));
}

/** @param {FormData} values */
function noted(values) {
  const text = String(values.get("note") ?? "").trim();
  return text === "" ? {} : { note: text };
}

const HOURS = [[1, "for 1 hour"], [4, "for 4 hours"], [24, "for a day"], [168, "for a week"]];

/** The fields of a pause. */
function rest() {
  const other = /** @type {HTMLInputElement} */ (h("input", { name: "at", type: "datetime-local", hidden: true, "aria-label": "Until, in my zone" }));
  const select = /** @type {HTMLSelectElement} */ (h("select", { name: "hours" }, h("option", { value: "" }, "until somebody resumes it"), HOURS.map(([value, text]) => h("option", { value }, text)), h("option", { value: "at" }, "until another time")));
  select.addEventListener("change", () => {
    other.hidden = select.value !== "at";
    other.required = !other.hidden;
  });
  return [note(true), h("label", "How long", select, other)];
}

/** @param {FormData} values */
function resting(values) {
  const hours = String(values.get("hours"));
  if (hours === "") return noted(values);
  const until = hours === "at" ? new Date(String(values.get("at"))) : new Date(now() + Number(hours) * 3_600_000);
  return { ...noted(values), until: until.toISOString() };
}

/** @param {About} about @param {House} house */
function pause({ job = "", paused }, house) {
  if (paused !== undefined) return resume({ job }, house);
  open({
    title: `Pause ${job}`, submit: "Pause", body: [rest(), h("p.dim", "Runs that run go on. What becomes due meanwhile is recorded as skipped.")],
    async action(values) {
      await send("POST", `${jobPath(job)}/pause`, resting(values));
      house.say(`${job} is paused.`);
      house.refresh();
    },
  });
}

/** @param {About} about @param {House} house */
function resume({ job = "" }, house) {
  open({
    title: `Resume ${job}?`, submit: "Resume", body: h("p", "It is due again from now on; what was skipped stays skipped."),
    async action() {
      await send("POST", `${jobPath(job)}/resume`, {});
      house.say(`${job} goes on.`);
      house.refresh();
    },
  });
}

/** @param {About} _ @param {House} house */
function pauseAll(_, house) {
  open({
    title: "Pause all jobs", submit: "Pause all", body: [rest(), h("p.dim", "Nothing starts until it ends. Runs that run go on.")],
    async action(values) {
      await send("POST", "pause", resting(values));
      house.say("Everything is paused.");
      house.refresh();
    },
  });
}

/** @param {About} _ @param {House} house */
function resumeAll(_, house) {
  open({
    title: "Resume all jobs?", submit: "Resume all", body: h("p", "Jobs that were paused one by one stay paused."),
    async action() {
      await send("POST", "resume", {});
      house.say("Everything goes on.");
      house.refresh();
    },
  });
}

/** @param {About} about @param {House} house */
function backfill({ job = "" }, house) {
  const shown = h("div", { "aria-live": "polite" });
  let range = "";
  /** @type {number | undefined} */
  let expected;
  open({
    title: `Backfill ${job}`, submit: "Preview", body: [
      h("p.dim", "Runs the times of a range again, one after the other, each as a run of its own."),
      h("div.row", h("label", "From, in my zone", h("input", { name: "from", type: "datetime-local", required: true })), h("label", "To", h("input", { name: "to", type: "datetime-local", required: true }))), shown],
    async action(values) {
      const [from, until] = ["from", "to"].map((name) => new Date(String(values.get(name))).toISOString());
      const isPreview = expected === undefined || range !== `${from} ${until}`;
      if (!isPreview) {
        /** @type {Accepted} */
        const accepted = await send("POST", `${jobPath(job)}/backfill`, { from, to: until, preview: false, expected });
        house.say(`${plural(accepted.count, "run")} of ${job} will follow.`);
        return;
      }
      /** @type {BackfillPreview} */
      const preview = await send("POST", `${jobPath(job)}/backfill`, { from, to: until, preview: true });
      range = `${from} ${until}`;
      expected = preview.count;
      shown.replaceChildren(h("p", h("b", plural(preview.count, "run")), preview.count === 0 ? ": nothing is due in that time." : ":"),
        h("ol.moments.short", preview.times.slice(0, 5).map(({ at, civil }) => h("li", time(at, civil))), preview.times.length < preview.count || 5 < preview.times.length ? h("li.dim", `and ${number(preview.count - Math.min(5, preview.times.length))} more`) : null));
      the("#dialog button.main", HTMLButtonElement).textContent = `Run ${plural(preview.count, "time")}`;
      throw new Refused(200, null, preview.count === 0 ? "Choose another range." : "Look at the times, then press again.");
    },
  });
}

// Many at once -----------------------------------------------------------------------------------------------------

/** @type {Record<string, [string, string]>} */
const BULK = {
  run: ["Run", "are asked to run"], pause: ["Pause", "are paused"], resume: ["Resume", "go on"], cancel: ["Cancel", "are asked to end"],
  retry: ["Run again", "are run again"], drop: ["Drop", "are dropped"],
};

/** How often the progress of an action is asked for. */
const PROGRESS_MS = 700;

/** @param {string} what @param {{ids?: string[], filter?: Record<string, string>, of: "jobs" | "runs"}} which @param {House} house */
async function many(what, which, house) {
  const [verb = what, done = "done"] = BULK[what] ?? [];
  const noun = which.of === "jobs" ? "job" : "run";
  const asked = { do: what, ...which };
  /** @type {ActionPreview} */
  let preview;
  try {
    preview = await send("POST", "actions", { ...asked, preview: true });
  } catch (error) {
    return house.say(reason(error));
  }
  const examples = h("ul.plain.mono");
  const show = () => {
    const rest = preview.count - preview.examples.length;
    examples.replaceChildren(...preview.examples.map((name) => h("li", name)), ...(0 < rest ? [h("li.dim", `and ${number(rest)} more`)] : []));
  };
  show();
  open({
    title: `${verb}: ${plural(preview.count, noun)}`, submit: `${verb} ${number(preview.count)}`, body: [examples, what === "pause" ? rest() : note(false)],
    async action(values) {
      try {
        /** @type {Accepted} */
        const accepted = await send("POST", "actions", { ...asked, ...(what === "pause" ? resting(values) : noted(values)), preview: false, expected: preview.count });
        house.unpick();
        progress(accepted, (state) => house.say(state.state === "running" ? `${verb}: ${number(state.done)} of ${plural(state.count, noun)}` :
          state.failed === 0 ? `${plural(state.done, noun)} ${done}.` : `${plural(state.done, noun)} ${done}, ${number(state.failed)} were refused: ${state.errors[0]?.detail ?? ""}.`));
      } catch (error) {
        if (!(error instanceof Refused) || error.code !== "changed") throw error;
        preview = await send("POST", "actions", { ...asked, preview: true });
        show();
        the("#dialog button.main", HTMLButtonElement).textContent = `${verb} ${number(preview.count)}`;
        throw new Refused(409, null, `Meanwhile it is ${plural(preview.count, noun)}. Look at them, then press again.`);
      }
    },
  });
}

/** @param {Accepted} accepted @param {(state: ActionState) => void} tell */
async function progress({ id }, tell) {
  /** @type {ActionState} */
  const state = await get(`actions/${encodeURIComponent(id)}`);
  tell(state);
  if (state.state === "running") setTimeout(() => progress({ id, count: 0, href: "" }, tell), PROGRESS_MS);
}

/** @param {string} what */
const ofPicked = (what) => (/** @type {About} */ _, /** @type {House} */ house) => {
  const { ids, of, filter } = house.picked();
  return many(what, filter === null ? { ids, of } : { filter, of }, house);
};

/** @param {string} what */
const ofFilter = (what) => (/** @type {About} */ { filter = "" }, /** @type {House} */ house) =>
  many(what, { filter: Object.fromEntries(new URLSearchParams(filter)), of: "runs" }, house);

function help() {
  const copy = template("t-help");
  the("[name=keys]", HTMLInputElement, copy).checked = localStorage.getItem("keys") !== "off";
  the("[name=theme]", HTMLSelectElement, copy).value = localStorage.getItem("theme") ?? "";
  dialog().replaceChildren(copy);
  dialog().showModal();
}

/** @param {About} about @param {House} house */
async function copyText({ text = "" }, house) {
  try {
    await navigator.clipboard.writeText(text);
    house.say("Copied.");
  } catch {
    house.say("This browser does not let the page copy; select the text and copy it.");
  }
}

/** @type {Record<string, (about: About, house: House) => unknown>} */
export const ACTS = {
  run, again, cancel, drop, pause, resume, backfill, help, close, copy: copyText, "pause-all": pauseAll, "resume-all": resumeAll,
  "retry-filter": ofFilter("retry"), "drop-filter": ofFilter("drop"),
  ...Object.fromEntries(Object.keys(BULK).map((what) => [`bulk-${what}`, ofPicked(what)])),
};

/** What can be done with rows that are picked. */
export const BULK_OF = { jobs: ["run", "pause", "resume"], runs: ["retry", "drop", "cancel"] };
/** @param {string} what */
export const bulkWord = (what) => BULK[what]?.[0] ?? what;

// Forms ------------------------------------------------------------------------------------------------------------

/** @param {FormData} values @param {string} act @param {House} house */
export async function check(values, act, house) {
  const shown = the("#checked", HTMLElement);
  const files = [{ path: String(values.get("path")), text: String(values.get("text")) }];
  try {
    if (act !== "preview") {
      /** @type {Checked} */
      const { files: [file] } = await send("POST", "check", { files });
      if (file === undefined) return;
      shown.replaceChildren(h("p", 0 < file.faults.length ? plural(file.faults.length, "problem") : "No problems", `, ${plural(file.jobs.length, "job")}.`), faultList(file.faults), h("ul.plain", file.jobs.map(({ name, sentence }) => h("li", h("b", name), ` ${sentence}`))));
      return;
    }
    /** @type {Applied} */
    const found = await send("POST", "apply", { files, prune: false, preview: true });
    const counts = ["added", "changed", "removed", "refused"].map((name) => [name, /** @type {any} */ (found)[name]]);
    open({
      title: "Apply?", submit: "Apply", body: [h("ul.plain", counts.map(([name, names]) => 0 < names.length && h("li", `${name}: `, h("b", names.slice(0, 10).join(", ")))), h("li.dim", `${number(found.unchanged)} unchanged`)), found.diff !== "" && h("pre.code", { tabindex: 0 }, found.diff), faultList(found.faults)],
      async action() {
        await send("POST", "apply", { files, prune: false, preview: false });
        house.say("Applied.");
        house.refresh();
      },
    });
  } catch (error) {
    shown.replaceChildren(h("p.bad", { role: "alert" }, reason(error)), error instanceof Refused ? faultList(error.problem?.problems ?? []) : "");
  }
}

/** @param {FormData} values */
export async function convert(values) {
  const shown = the("#converted", HTMLElement);
  try {
    /** @type {Checked} */
    const { files: [file] } = await send("POST", "check", { files: [{ path: "crontab", text: `${values.get("text")}\n` }] });
    const text = (file?.jobs ?? []).map(({ definition }) => definition.trim()).join("\n\n");
    shown.replaceChildren(faultList(file?.faults ?? []), text === "" ? h("p.empty", "There is no job in it.") : h("div", h("pre.code", { tabindex: 0, role: "region", "aria-label": "As TOML" }, text), h("div.buttons", h("button", { type: "button", "data-do": "copy", "data-text": text }, "Copy"))));
  } catch (error) {
    shown.replaceChildren(h("p.bad", reason(error)));
  }
}
