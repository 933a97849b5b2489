// Actions of a person: each is asked for once in a dialog, sent, and answered in words.
//
// ```text
// button or key -> dialog (what, which, how many) -> request -> a sentence, and a link to what came of it
//                     ^------------- refused: the reason stands in the dialog ---'
// ```
//
// Cost: one request; for many at once a preview before it.
// Does not change the page: what changed comes back as an event.

/**
 * @import {Accepted, ActionPreview, ActionState, Applied, BackfillPreview} from "../api.d.ts"
 * @import {Checked, Started} from "../api.d.ts"
 */
/** @import {Child} from "./dom.js" */
import { Refused, get, now, send } from "./api.js";
import { h, template, the } from "./dom.js";
import { capital, number, plural, runPath } from "./format.js";
import { faultList } from "./server.js";
import { code, moments } from "./job.js";
import { a, jobLink, nothing, pre } from "./table.js";

/** @typedef {object} AppShell
 * @property {(text: Child) => void} say
 * @property {() => void} refresh
 * @property {() => {ids?: string[], filter?: Record<string, string>, of: "jobs" | "runs"}} picked
 * @property {() => void} unpick
 */

/** What a button or key is about. @typedef {Record<string, string | undefined>} About */
/** @typedef {(about: About, shell: AppShell) => unknown} Action */

const dialog = the("#dialog", HTMLDialogElement);

/** Shows what will be done, does it, and says what `action` answers.
 * @param {AppShell} shell @param {string} title
 * @param {string} submit @param {Child} body @param {(values: FormData) => Promise<Child>} action */
function open(shell, title, submit, body, action) {
  const error = h("p.bad", { role: "alert" });
  const button = /** @type {HTMLButtonElement} */ (h("button.main", submit));
  const form = /** @type {HTMLFormElement} */ (
    h(
      "form",
      h("h2", { id: "dialog-title" }, title),
      body,
      error,
      h("div.buttons", h("button", { type: "button", "data-do": "close" }, "Back"), button)
    )
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    error.textContent = "";
    try {
      shell.say(await action(new FormData(form)));
      dialog.close();
      shell.refresh();
    } catch (found) {
      error.textContent = reason(found);
      button.disabled = false;
      button.focus();
    }
  });
  dialog.replaceChildren(form);
  dialog.showModal();
  /** @type {HTMLElement} */ (form.querySelector("input, textarea") ?? button).focus();
}

/** Says something in the dialog, which stays. @param {string} text @param {string} [submit] */
function stay(text, submit) {
  if (submit !== undefined) the("#dialog button.main", HTMLButtonElement).textContent = submit;
  return new Refused(200, null, text);
}

/** What went wrong, and what to do. @param {unknown} error */
export function reason(error) {
  if (!(error instanceof Refused)) {
    console.error(error);
    return "The page has a fault. Reload it; the console says more.";
  }
  const text = error.message.replace(/[^.!?]$/, "$&.");
  return `${capital(text)}${error.status === 503 ? " Try again in a moment." : ""}`;
}

/** @param {string} text */
const p = (text) => h("p", text);
/** @param {string | undefined} name @param {string} what */
const jobPath = (name = "", what) => `jobs/${encodeURIComponent(name)}/${what}`;
/** @param {string} run */
const openRun = (run) => a("Open it", "run", { run });

/** @param {boolean} required */
const note = (required) =>
  h(
    "label",
    required ? "Why, for the one who finds it" : "Why (may be left out)",
    h("input", { name: "note", maxlength: 200, required, autocomplete: "off" })
  );

/** @param {FormData} values */
function noted(values) {
  const text = String(values.get("note") ?? "").trim();
  return text === "" ? {} : { note: text };
}

const RESTS = [
  ["", "until somebody resumes it"],
  [1, "for 1 hour"],
  [4, "for 4 hours"],
  [24, "for a day"],
  [168, "for a week"],
  ["at", "until another time"]
];

/** The fields of a pause. */
function rest() {
  const other = /** @type {HTMLInputElement} */ (
    h("input", { name: "at", type: "datetime-local", hidden: true, "aria-label": "Until, in my zone" })
  );
  const select = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { name: "hours" },
      RESTS.map(([value, text]) => h("option", { value }, text))
    )
  );
  select.addEventListener("change", () => (other.required = !(other.hidden = select.value !== "at")));
  return [note(true), h("label", "How long", select, other)];
}

/** @param {FormData} values */
function resting(values) {
  const hours = String(values.get("hours"));
  if (hours === "") return noted(values);
  const until =
    hours === "at" ? new Date(String(values.get("at"))) : new Date(now() + Number(hours) * 3_600_000);
  return { ...noted(values), until: until.toISOString() };
}

/** @type {Record<string, Action>} */
const ONE = {
  run({ job = "" }, shell) {
    // The same key twice is the same run: a second click starts nothing.
    const key = `click ${now()} ${Math.random().toString(36).slice(2)}`;
    open(
      shell,
      `Run ${job} now?`,
      "Run now",
      p("It runs once, beside its schedule, by its own rules."),
      async () => {
        /** @type {Started} */
        const { run } = await send("POST", jobPath(job, "run"), { key });
        return [`${job} is asked to run. `, openRun(run)];
      }
    );
  },
  again(about, shell) {
    const { job, run = "", state } = about;
    if (state !== "dead") return ONE.run?.(about, shell);
    open(
      shell,
      `Run ${job} again?`,
      "Run again",
      p("The dead letter is tried again, for its nominal time, with all of its attempts."),
      async () => {
        await send("POST", `${runPath(run)}/retry`, {});
        return [`${job} is asked to run again. `, openRun(run)];
      }
    );
  },
  cancel({ job, run = "" }, shell) {
    open(
      shell,
      `Cancel this run of ${job}?`,
      "Cancel the run",
      [p(run), p("A process that runs gets its kill signal, and then its time to end.")],
      async () => {
        await send("POST", `${runPath(run)}/cancel`, {});
        return `The run of ${job} is asked to end.`;
      }
    );
  },
  drop({ job, run = "" }, shell) {
    open(
      shell,
      `Drop this dead letter of ${job}?`,
      "Drop",
      [p(run), p("It stays in the history as cancelled, and will not be run again."), note(false)],
      async (values) => {
        await send("POST", `${runPath(run)}/drop`, noted(values));
        return `The dead letter of ${job} is dropped.`;
      }
    );
  },
  pause(about, shell) {
    const { job, paused } = about;
    if (paused !== undefined) return ONE.resume?.(about, shell);
    open(
      shell,
      `Pause ${job}`,
      "Pause",
      [rest(), p("Runs that run go on. What becomes due meanwhile is recorded as skipped.")],
      async (values) => {
        await send("POST", jobPath(job, "pause"), resting(values));
        return [jobLink(job ?? ""), " is paused."];
      }
    );
  },
  resume({ job }, shell) {
    open(
      shell,
      `Resume ${job}?`,
      "Resume",
      p("It is due again from now on; what was skipped stays skipped."),
      async () => {
        await send("POST", jobPath(job, "resume"), {});
        return [jobLink(job ?? ""), " continues."];
      }
    );
  },
  "pause-all"(_, shell) {
    open(
      shell,
      "Pause all jobs",
      "Pause all",
      [rest(), p("Nothing starts until it ends. Runs that run go on.")],
      async (values) => {
        await send("POST", "pause", resting(values));
        return "Everything is paused.";
      }
    );
  },
  "resume-all"(_, shell) {
    open(
      shell,
      "Resume all jobs?",
      "Resume all",
      p("Jobs that were paused one by one stay paused."),
      async () => {
        await send("POST", "resume", {});
        return "Everything continues.";
      }
    );
  },
  backfill({ job }, shell) {
    const shown = h("div");
    const field = (/** @type {string} */ name, /** @type {string} */ label) =>
      h("label", label, h("input", { name, type: "datetime-local", required: true }));
    let seen = "";
    let expected = 0;
    const body = [
      p("Runs the times of a range again, one after the other."),
      field("from", "From, in my zone"),
      field("to", "To, in my zone"),
      shown
    ];
    open(shell, `Backfill ${job}`, "Preview", body, async (values) => {
      const [from = "", until = ""] = ["from", "to"].map((name) =>
        new Date(String(values.get(name))).toISOString()
      );
      if (until < from) throw stay("From is after To: choose a later To.");
      if (seen === `${from} ${until}` && 0 < expected) {
        await send("POST", jobPath(job, "backfill"), { from, to: until, preview: false, expected });
        return `${plural(expected, "run")} of ${job} will follow.`;
      }
      /** @type {BackfillPreview} */
      const { count, times } = await send("POST", jobPath(job, "backfill"), {
        from,
        to: until,
        preview: true
      });
      [seen, expected] = [`${from} ${until}`, count];
      shown.replaceChildren();
      if (0 < count)
        shown.append(moments(times.slice(0, 5)), h("p", 5 < count && `and ${number(count - 5)} more`));
      throw stay(
        count === 0 ? "Nothing is due in that time: choose another." : "Look at the times, then press again.",
        count === 0 ? "Preview" : `Run ${plural(count, "time")}`
      );
    });
  },
  help() {
    const copy = template("t-help");
    the("[name=keys]", HTMLInputElement, copy).checked = localStorage.getItem("keys") !== "off";
    dialog.replaceChildren(copy);
    dialog.showModal();
  },
  close: () => dialog.close(),
  async copy({ text = "" }, shell) {
    try {
      await navigator.clipboard.writeText(text);
      shell.say("Copied.");
    } catch {
      shell.say("This browser does not let the page copy: select the text and copy it.");
    }
  }
};

// Many at once ----------------------------------------------------------------------------------------------

/** What is done with many, on the button and afterwards. @type {Record<string, [string, string]>} */
export const MANY = {
  run: ["Run", "are asked to run"],
  pause: ["Pause", "are paused"],
  resume: ["Resume", "go on"],
  cancel: ["Cancel", "are asked to end"],
  retry: ["Run again", "are run again"],
  drop: ["Drop", "are dropped"]
};

/** How often the progress of an action is asked for. */
const PROGRESS_MS = 700;

/** @param {string} what @param {ReturnType<AppShell["picked"]>} which @param {AppShell} shell */
async function many(what, which, shell) {
  const [verb = "", done] = MANY[what] ?? [];
  const noun = which.of.slice(0, -1);
  const action = { do: what, ...which };
  const shown = h("ul.mono");
  let expected = 0;
  const preview = async () => {
    /** @type {ActionPreview} */
    const { count, examples } = await send("POST", "actions", { ...action, preview: true });
    expected = count;
    shown.replaceChildren(
      ...examples.map((name) => h("li", name)),
      h("li", examples.length < count && `and ${number(count - examples.length)} more`)
    );
  };
  try {
    await preview();
  } catch (error) {
    return shell.say(reason(error));
  }
  open(
    shell,
    `${verb}: ${plural(expected, noun)}`,
    `${verb} ${number(expected)}`,
    [shown, what === "pause" ? rest() : note(false)],
    async (values) => {
      try {
        /** @type {Accepted} */
        const { id } = await send("POST", "actions", {
          ...action,
          ...(what === "pause" ? resting(values) : noted(values)),
          preview: false,
          expected
        });
        shell.unpick();
        setTimeout(() => progress(id));
        return `${verb}: ${plural(expected, noun)} …`;
      } catch (error) {
        if (!(error instanceof Refused) || error.code !== "changed") throw error;
        await preview();
        throw stay(
          `Meanwhile it is ${plural(expected, noun)}. Look at them, then press again.`,
          `${verb} ${number(expected)}`
        );
      }
    }
  );
  /** @param {string} id */
  async function progress(id) {
    /** @type {ActionState} */
    const state = await get(`actions/${encodeURIComponent(id)}`);
    const refused =
      state.failed === 0 ? "" : ` ${number(state.failed)} were refused: ${state.errors[0]?.detail}.`;
    shell.say(
      state.state === "running"
        ? `${verb}: ${number(state.done)} of ${plural(state.count, noun)} …`
        : `${plural(state.done, noun)} ${done}.${refused}`
    );
    if (state.state === "running") setTimeout(() => progress(id), PROGRESS_MS);
  }
}

/** @type {Record<string, Action>} */
export const ACTIONS = {
  ...ONE,
  "retry-filter": ({ filter }, shell) =>
    many("retry", { filter: Object.fromEntries(new URLSearchParams(filter)), of: "runs" }, shell),
  "drop-filter": ({ filter }, shell) =>
    many("drop", { filter: Object.fromEntries(new URLSearchParams(filter)), of: "runs" }, shell),
  many: ({ what = "" }, shell) => many(what, shell.picked(), shell)
};

// Forms -----------------------------------------------------------------------------------------------------

/** @type {Record<string, (values: FormData, shell: AppShell) => Promise<void>>} */
export const FORMS = {
  async check(values, shell) {
    const files = [{ path: String(values.get("path")), text: String(values.get("text")) }];
    if (values.get("do") === "preview") return apply(files, shell);
    await answer("#checked", async () => {
      /** @type {Checked} */
      const {
        files: [file]
      } = await send("POST", "check", { files });
      if (file === undefined) return [];
      const { faults, faults_left_out, jobs, jobs_left_out } = file;
      const count = faults.filter(({ severity }) => severity !== "note").length + faults_left_out;
      return [
        h(
          "p",
          count === 0 ? "No problems" : plural(count, "problem"),
          `, ${plural(jobs.length + jobs_left_out, "job")}.`,
          0 < faults_left_out && ` The first ${number(faults.length)} problems are shown.`,
          0 < jobs_left_out && ` The first ${number(jobs.length)} jobs are shown.`
        ),
        faultList(faults),
        h(
          "ul",
          jobs.map(({ name, sentence }) => h("li", h("b", name), ` ${sentence}`))
        )
      ];
    });
  },
  async convert(values) {
    await answer("#converted", async () => {
      /** @type {Checked} */
      const {
        files: [file]
      } = await send("POST", "check", { files: [{ path: "crontab", text: `${values.get("text")}\n` }] });
      const text = (file?.jobs ?? []).map(({ definition }) => definition.trim()).join("\n\n");
      const left_out = file?.jobs_left_out ?? 0;
      return [
        faultList(file?.faults ?? []),
        0 < left_out &&
          h("p.bad", `${plural(left_out, "job is", "jobs are")} left out: convert fewer at once.`),
        text === "" ? nothing("There is no job in it.") : code("As TOML", text)
      ];
    });
  }
};

/** @param {string} place @param {() => Promise<Child[]>} work */
async function answer(place, work) {
  const shown = the(place, HTMLElement);
  try {
    shown.replaceChildren(h("div", await work()));
  } catch (error) {
    shown.replaceChildren(
      h("p.bad", { role: "alert" }, reason(error)),
      faultList(error instanceof Refused ? (error.problem?.problems ?? []) : [])
    );
  }
}

/** @param {{path: string, text: string}[]} files @param {AppShell} shell */
const apply = (files, shell) =>
  answer("#checked", async () => {
    /** @type {Applied} */
    const found = await send("POST", "apply", { files, prune: false, preview: true });
    const counts = /** @type {const} */ (["added", "changed", "removed", "refused"]);
    const body = [
      h(
        "ul",
        counts.map(
          (name) => 0 < found[name].length && h("li", `${name}: ${found[name].slice(0, 10).join(", ")}`)
        ),
        h("li", `${number(found.unchanged)} unchanged`)
      ),
      pre("Changes", found.diff),
      faultList(found.faults)
    ];
    open(shell, "Apply?", "Apply", body, async () => {
      await send("POST", "apply", { files, prune: false, preview: false });
      return "Applied.";
    });
    return [];
  });
