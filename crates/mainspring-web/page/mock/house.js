// The jobs and runs of the mock server: always the same, and changed by what is asked of it.

/** @import {AuditEntry, Job, JobDetail, Moment, Pause} from "../api.d.ts" */
/** @import {Run, RunDetail, RunState, Square, Trouble} from "../api.d.ts" */
/** @import {Plan} from "./plans.js" */
/** @import {Cron} from "./cron.js" */
import { chance, civils, instant } from "./clock.js";
import { parse, sentence, times } from "./cron.js";
import { lastWords, written } from "./output.js";
import { HOSTILE, START, plans } from "./plans.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @typedef {Plan & {parsed: Cron, pause: Pause | null, runs: Run[], open: Run[], next?: Moment | null}} JobModel */

/** How many runs of a job are kept. */
const RUN_COUNT = 40;

export class House {
  /** @param {() => number} now */
  constructor(now) {
    this.now = now;
    this.epoch = 7;
    /** @type {Map<string, JobModel>} */
    this.jobs = new Map();
    /** @type {Map<string, string>} */
    this.outputs = new Map();
    /** @type {AuditEntry[]} */
    this.audit = [];
    /** @type {Pause | null} */
    this.pause = null;
    /** @type {(event: string, data: object) => void} */
    this.emit = () => {};
    for (const plan of plans()) this.jobs.set(plan.name, this.#keep(plan));
    this.#specials();
    this.#audits();
  }

  /** @param {Plan} plan @returns {JobModel} */
  #keep(plan) {
    const model = {
      ...plan,
      parsed: parse(plan.cron),
      pause: null,
      runs: /** @type {Run[]} */ ([]),
      open: /** @type {Run[]} */ ([])
    };
    const every =
      model.parsed.every || (plan.cron.includes("*/5") || plan.cron.startsWith("* ") ? 6 * MINUTE : 0);
    const back =
      every !== 0
        ? every * RUN_COUNT * 2
        : plan.cron.includes("/15") || plan.cron.includes(" * * * *")
          ? 2 * DAY
          : plan.cron.endsWith("1 * *")
            ? 400 * DAY
            : plan.cron.endsWith(" 1")
              ? 200 * DAY
              : 45 * DAY;
    const found = times(model.parsed, plan.zone, START - back, START - plan.ms * 1.6 - 5_000, 100_000).slice(
      -RUN_COUNT
    );
    model.runs = found.map(({ at }) => this.#ended(plan, at));
    return model;
  }

  /** @param {Plan} plan @param {string} nominal @param {RunState} [forced] @returns {Run} */
  #ended(plan, nominal, forced) {
    const key = `${plan.name}@${nominal}`;
    const luck = chance(key);
    const state =
      forced ??
      (luck < plan.fails
        ? luck < plan.fails * 0.2
          ? "timed_out"
          : "failed"
        : luck < plan.fails + 0.004
          ? "skipped_overlap"
          : "succeeded");
    const isRun = !["missed", "skipped_overlap", "skipped_paused", "cancelled"].includes(state);
    const late = Math.round(2 + chance(`${key}late`) ** 6 * 4_000);
    const took = Math.round(
      plan.ms * (0.8 + chance(`${key}took`) * 0.5 + (chance(`${key}slow`) < 0.03 ? 2 : 0))
    );
    const started = isRun ? instant(Date.parse(nominal) + late) : null;
    const ended = instant(Date.parse(nominal) + late + (isRun ? took : 0));
    const isBad = ["failed", "timed_out", "dead", "abandoned"].includes(state);
    /** @type {Run} */
    const run = {
      run: key,
      job: plan.name,
      nominal,
      cause: "trigger",
      state,
      attempt: isRun ? 1 : 0,
      due: nominal,
      started,
      ended,
      outcome: !isRun
        ? null
        : state === "succeeded"
          ? "succeeded"
          : state === "timed_out"
            ? "timed out"
            : state === "abandoned"
              ? null
              : `exit ${1 + (Math.floor(luck * 1e4) % 3)}`,
      outcome_code:
        !isRun || state === "abandoned"
          ? null
          : state === "succeeded" || state === "timed_out"
            ? state
            : "exit",
      reason:
        state === "skipped_overlap"
          ? "an earlier run was in the way"
          : state === "missed"
            ? "the server was down at that time"
            : state === "abandoned"
              ? "the server ended while it ran"
              : "",
      reason_code:
        state === "skipped_overlap"
          ? "overlap"
          : state === "missed"
            ? "server_down"
            : state === "abandoned"
              ? "server_ended"
              : "",
      count: 1,
      last: null,
      series: 0,
      zone: plan.zone,
      lateness_ms: isRun ? late : null,
      duration_ms: isRun ? took : null,
      usual_ms: plan.ms,
      last_line: !isRun
        ? null
        : isBad
          ? lastWords(plan.name, luck)
          : `done, ${Math.floor(luck * 9_000)} rows in ${(took / 1_000).toFixed(1)} s`,
      civil: {}
    };
    return this.dress(run);
  }

  /** @param {Run} run */
  dress(run) {
    run.civil = civils(run, run.zone, ["nominal", "due", "started", "ended", "last"]);
    return run;
  }

  /** @param {JobModel} model @param {number} ago @param {Partial<Run>} more @returns {Run} */
  #running(model, ago, more) {
    const nominal = instant(Math.floor((START - ago) / MINUTE) * MINUTE);
    const run = this.#ended(model, nominal, "failed");
    Object.assign(
      run,
      {
        state: "running",
        ended: null,
        outcome: null,
        duration_ms: null,
        started: instant(Date.parse(nominal) + 40),
        lateness_ms: 40,
        last_line: null
      },
      more
    );
    model.open.push(this.dress(run));
    return run;
  }

  #specials() {
    for (const model of this.jobs.values()) {
      const { special, runs } = model;
      if (special === "failing")
        model.runs.splice(
          -3,
          3,
          ...runs
            .slice(-3)
            .map(({ nominal }) => ({
              ...this.#ended(model, nominal, "failed"),
              attempt: 3,
              last_line: "s3: 503 Slow Down: please reduce your request rate"
            }))
        );
      if (special === "dead")
        model.runs = runs.map((run, index) =>
          index % 3 === 1
            ? {
                ...this.#ended(model, run.nominal, "dead"),
                attempt: 4,
                reason: "its attempts are used up",
                reason_code: "attempts",
                last_line:
                  index % 2 === 0
                    ? "orders: connection refused (db-orders-2:5432)"
                    : "orders: batch 500: duplicate key 4711"
              }
            : run
        );
      if (special === "running")
        this.#running(model, 14 * MINUTE, {
          last_line: "[ 61%] Building CXX object src/engine/CMakeFiles/engine.dir/wheel.cpp.o"
        });
      if (special === "long") {
        this.#running(model, 4 * MINUTE, {
          progress: { done: 212, of: 390 },
          last_line: "ledger: page 212 of 390"
        });
        const queued = this.#running(model, 0, {
          state: "queued",
          started: null,
          lateness_ms: null,
          attempt: 0,
          reason: "an earlier run of the job still runs",
          reason_code: "overlap"
        });
        queued.civil = civils(queued, queued.zone, ["nominal", "due"]);
      }
      if (special === "paused")
        model.pause = this.paused(
          "asked",
          "by request",
          "vendor migrates the mail relay, see OPS-1182",
          "token mara",
          START - 26 * HOUR,
          START + 33 * HOUR,
          model.zone
        );
      if (special === "silent")
        model.runs = runs.map((run) =>
          run.state === "succeeded" && START - 3 * HOUR < Date.parse(run.nominal)
            ? this.#ended(model, run.nominal, "skipped_overlap")
            : run
        );
      if (special === "hostile")
        model.runs = runs.map((run, index) =>
          index === runs.length - 1
            ? { ...this.#ended(model, run.nominal, "failed"), last_line: HOSTILE, reason: HOSTILE }
            : run
        );
    }
    const [orders, sites] = [this.jobs.get("orders-sync"), this.jobs.get("shop-warm")];
    if (orders)
      orders.pause = this.paused(
        "failures",
        "it failed 5 times in a row",
        null,
        null,
        START - 3 * HOUR,
        null,
        orders.zone
      );
    if (sites)
      sites.runs.push({
        ...this.#ended(sites, instant(START - 5 * HOUR), "missed"),
        count: 14,
        last: instant(START - 2 * HOUR)
      });
    for (const name of ["fleet-mirror", "media-train", "search-reindex"]) {
      const model = this.jobs.get(name);
      if (model)
        this.#running(model, (1 + chance(name) * 9) * MINUTE, {
          last_line: `step ${Math.ceil(chance(name) * 9)} of 9`
        });
    }
    for (const name of ["people-quota", "media-archive"]) {
      const model = this.jobs.get(name);
      if (model) model.runs.push(this.#ended(model, instant(START - 6 * HOUR), "missed"));
    }
  }

  /** @param {Pause["reason_code"]} code @param {string} reason @param {string | null} note @param {string | null} by
   * @param {number} since @param {number | null} until @param {string} zone @returns {Pause} */
  paused(code, reason, note, by, since, until, zone) {
    const pause = {
      reason_code: code,
      reason,
      note,
      by,
      since: instant(since),
      until: until === null ? null : instant(until),
      civil: {}
    };
    pause.civil = civils(pause, zone, ["since", "until"]);
    return pause;
  }

  /** @param {string} action @param {string} target @param {string} [note] @param {Partial<AuditEntry>} [more] */
  record(action, target, note = "", more = {}) {
    const isRun = target.includes("@");
    const everything = target === "" && ["pause", "resume"].includes(action) ? " everything" : "";
    /** @type {AuditEntry} */
    const entry = {
      number: this.audit.length + 1,
      at: instant(this.now()),
      actor: "token mara",
      action,
      target,
      note,
      origin: "HTTP",
      text: `${action.replace("_", " ")}${everything}${target === "" ? "" : ` ${target}`}`,
      job: target === "" ? null : (target.split("@")[0] ?? null),
      run: isRun ? target : null,
      civil: {},
      ...more
    };
    entry.civil = civils(entry, "Europe/Berlin", ["at"]);
    this.audit.unshift(entry);
    this.emit("audit.added", {});
  }

  #audits() {
    const people = ["token mara", "proxy user jonas", "token deploy", "uid 0"];
    const names = [...this.jobs.keys()];
    for (let index = 140; 0 < index; index -= 1) {
      const [luck, job] = [
        chance(`audit ${index}`),
        names[Math.floor(chance(`job ${index}`) * names.length)] ?? ""
      ];
      const action = ["run", "pause", "resume", "apply", "rewind"][Math.floor(luck * 5)] ?? "";
      const actor = people[Math.floor(chance(`who ${index}`) * 4)] ?? "";
      this.record(action, action === "apply" ? "" : job, action === "pause" ? "database upgrade" : "", {
        at: instant(START - index * 51 * MINUTE),
        actor,
        origin: actor.startsWith("uid ") ? "socket" : "HTTP"
      });
    }
    this.record("pause", "mail-digest", "vendor migrates the mail relay, see OPS-1182", {
      at: instant(START - 26 * HOUR)
    });
    this.audit.sort((a, b) => (a.at < b.at ? 1 : -1));
  }

  /** @param {JobModel} model */
  next(model) {
    if (model.pause !== null || this.pause !== null) return null;
    const now = this.now();
    // What was next a moment ago is so until it is due.
    if (model.next === undefined || Date.parse(model.next?.at ?? "") <= now) {
      model.next = times(model.parsed, model.zone, now, now + 400 * DAY, 1)[0] ?? null;
    }
    return model.next;
  }

  /** @param {JobModel} model @returns {Job} */
  job(model) {
    const computed = this.next(model);
    const next = model.special === "mismatched" ? null : computed;
    const done = model.runs
      .filter(({ state }) => state === "succeeded")
      .map(({ duration_ms }) => duration_ms ?? 0)
      .sort((a, b) => a - b);
    const at = (/** @type {number} */ part) =>
      done[Math.min(done.length - 1, Math.floor(done.length * part))] ?? null;
    const failures = [...model.runs]
      .reverse()
      .filter(({ state }) => !state.startsWith("skipped") && state !== "missed")
      .findIndex(({ state }) => state === "succeeded");
    const last =
      [...model.open.filter(({ started }) => started !== null), ...[...model.runs].reverse()][0] ?? null;
    const code =
      model.pause === null
        ? "active"
        : model.pause.reason_code === "asked"
          ? "paused"
          : model.pause.reason_code === "failures"
            ? "paused_failures"
            : "paused_crashes";
    /** @type {Square[]} */
    const recent = [...model.runs, ...model.open.filter(({ state }) => state === "running")]
      .slice(-20)
      .map(({ run, state, nominal, duration_ms }) => ({ run, state, at: nominal, duration_ms }));
    /** @type {Job} */
    const job = {
      name: model.name,
      state: model.pause === null ? "active" : code === "paused" ? "paused" : "paused after failures",
      state_code: code,
      next: computed?.at ?? null,
      is_paused_with_all: false,
      armed: next?.at ?? null,
      triggers: [model.cron],
      sentences: [sentence(model.parsed)],
      zone: model.zone,
      action: model.action,
      policies: model.group === "heavy" ? "retry=3,backoff=1m overlap=queue-one timeout=2h" : "",
      group: model.group,
      labels: model.labels,
      priority: 0,
      source: model.source,
      source_code: "file",
      source_line: model.line,
      runs: 1_200 + model.runs.length,
      failures: Math.max(0, failures),
      running: model.open.filter(({ state }) => state === "running").length,
      queued: model.open.filter(({ state }) => state === "queued").length,
      last,
      median_ms: at(0.5),
      p95_ms: at(0.95),
      recent,
      pause: model.pause,
      troubles: [],
      civil: {}
    };
    job.civil = civils(job, model.zone, ["next", "armed"]);
    job.troubles = this.#troubles(model, job);
    return job;
  }

  /** @param {JobModel} model @param {Job} job @returns {Trouble[]} */
  #troubles(model, job) {
    /** @type {Trouble[]} */
    const found = [];
    const bad = [...model.runs]
      .reverse()
      .find(({ state }) => ["failed", "timed_out", "dead"].includes(state));
    const trouble = (
      /** @type {Trouble["code"]} */ code,
      /** @type {string} */ text,
      /** @type {string} */ hint,
      /** @type {string | null} */ since
    ) => found.push({ code, text, hint, since, run: bad?.run ?? null });
    if (job.pause?.reason_code === "failures")
      trouble(
        "paused_failures",
        "it failed 5 times in a row and is paused",
        "Read its log, mend it, and resume it",
        job.pause.since
      );
    else if (0 < job.failures)
      trouble(
        "failing",
        `failed ${job.failures === 1 ? "last time" : `${job.failures} times in a row`}: ${bad?.last_line ?? ""}`,
        "Read its log, then run it again",
        bad?.ended ?? null
      );
    if (model.special === "silent")
      trouble(
        "silent",
        "has not succeeded for 3 hours; it should every 10 minutes",
        "Its runs are skipped: an earlier one is in the way. Look whether that one hangs",
        instant(START - 3 * HOUR)
      );
    if (model.special === "mismatched")
      trouble(
        "mismatched",
        "its schedule names a next time, and none is armed",
        "This is a fault of the server: restart it, and report it",
        null
      );
    return found;
  }

  /** @param {JobModel} model @returns {JobDetail} */
  detail(model) {
    const heavy = model.group === "heavy";
    return {
      ...this.job(model),
      definition: `[jobs.${model.name}]\n${model.parsed.every ? `every = "${model.cron.slice(7)}"` : `cron = "${model.cron}"`}\nzone = "${model.zone}"\nshell = ${JSON.stringify(model.action)}\n${model.group === null ? "" : `group = "${model.group}"\n`}${heavy ? 'overlap = "queue-one"\nretry = { max = 3, backoff = "1m" }\ntimeout = "2h"\n' : ""}`,
      policy_words: [
        {
          code: "misfire",
          text: "After a pause of the server the latest missed time is caught up, if it is at most 24 hours old."
        },
        {
          code: "overlap",
          text: heavy
            ? "While one runs, one other waits; more are skipped."
            : "While one runs, others are skipped."
        },
        {
          code: "retry",
          text: heavy
            ? "Tried up to 3 times more, after 1 minute, 2 minutes, 4 minutes."
            : "A failure is not tried again."
        },
        {
          code: "timeout",
          text: heavy
            ? "Killed after 2 hours: first TERM, then KILL 10 seconds later."
            : "It may run as long as it wants."
        }
      ]
    };
  }

  /** All runs, open ones first, then the latest end first. */
  runs() {
    const all = [...this.jobs.values()];
    const open = all.flatMap((model) => model.open).sort((a, b) => (a.nominal < b.nominal ? -1 : 1));
    return [
      ...open,
      ...all.flatMap((model) => model.runs).sort((a, b) => ((a.ended ?? "") < (b.ended ?? "") ? 1 : -1))
    ];
  }

  /** @param {string} key */
  run(key) {
    const model = this.jobs.get(key.slice(0, key.lastIndexOf("@")));
    return [...(model?.open ?? []), ...(model?.runs ?? [])].find(({ run }) => run === key) ?? null;
  }

  /** @param {Run} run @returns {RunDetail} */
  runDetail(run) {
    const path = [
      "api/v1/runs",
      ...[run.job, run.nominal, run.series].map((part) => encodeURIComponent(part))
    ].join("/");
    const [begin, finish] = [
      Date.parse(run.started ?? run.due),
      Date.parse(run.ended ?? instant(this.now()))
    ];
    const step = (finish - begin) / Math.max(1, run.attempt);
    const attempts =
      run.started === null
        ? []
        : Array.from({ length: run.attempt }, (_, index) => {
            const isLast = index === run.attempt - 1;
            const attempt = {
              number: index + 1,
              started: instant(begin + index * step),
              ended: isLast ? run.ended : instant(begin + (index + 0.8) * step),
              state: isLast ? (run.ended === null ? null : run.state) : /** @type {RunState} */ ("failed"),
              outcome: isLast ? run.outcome : "exit 1",
              duration_ms: isLast && run.ended === null ? null : Math.round(step * (isLast ? 1 : 0.8)),
              civil: {}
            };
            attempt.civil = civils(attempt, run.zone, ["started", "ended"]);
            return attempt;
          });
    const held = { code: "running", why: "An earlier run of the job runs", ends: "its end" };
    return {
      ...run,
      planned: run.nominal,
      attempts,
      ...(run.state === "queued" && { holds: [held] }),
      output_bytes: Buffer.byteLength(this.output(run)),
      hrefs: {
        self: path,
        job: `api/v1/jobs/${run.job}`,
        output: `${path}/output`,
        events: `${path}/output/events`
      }
    };
  }

  /** The file of a run's output. @param {Run} run */
  output(run) {
    let text = this.outputs.get(run.run);
    if (text === undefined) {
      text = run.started === null ? "" : written(run);
      this.outputs.set(run.run, text);
    }
    return text;
  }

  /** @param {Run} run @param {string} text @param {string} [stream] */
  write(run, text, stream = "stdout") {
    this.outputs.set(
      run.run,
      `${this.output(run)}${instant(this.now()).replace("Z", "").padEnd(19)}Z ${run.attempt} ${stream} ${text}\n`
    );
    run.last_line = text.slice(0, 200);
  }

  /** @param {Run} run @param {RunState} state @param {string} outcome */
  end(run, state, outcome) {
    const model = this.jobs.get(run.job);
    if (!model) return;
    model.open = model.open.filter(({ run: key }) => key !== run.run);
    Object.assign(run, {
      state,
      outcome,
      ended: instant(this.now()),
      duration_ms: this.now() - Date.parse(run.started ?? run.due)
    });
    model.runs = [...model.runs.filter(({ run: key }) => key !== run.run), this.dress(run)];
    this.emit("run.changed", { run: run.run, job: run.job, state });
  }

  /** @param {string} job @param {string} at @returns {{run: Run, isNew: boolean} | null} */
  start(job, at) {
    const model = this.jobs.get(job);
    if (!model) return null;
    const found = this.run(`${job}@${at}`);
    if (found) return { run: found, isNew: false };
    const run = this.#running(model, 0, {
      run: `${job}@${at}`,
      nominal: at,
      due: at,
      cause: "request",
      started: instant(this.now()),
      attempt: 1,
      lateness_ms: 3
    });
    this.outputs.set(run.run, "");
    this.write(run, "started by hand");
    this.emit("run.changed", { run: run.run, job, state: "running" });
    return { run: this.dress(run), isNew: true };
  }
}
