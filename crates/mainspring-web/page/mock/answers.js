// The mock server's answer to each request, from what `house.js` holds.

/** @import {IncomingMessage, ServerResponse} from "node:http" */
/** @import {Cluster, Run, Scope, Status, RunState} from "../api.d.ts" */
/** @import {House} from "./house.js" */
/** @import {Mock} from "./serve.js" */
import { chance, civil, civils, instant } from "./clock.js";
import { changes, times } from "./cron.js";
import { check, explain } from "./lab.js";
import { START, files, findings, once } from "./plans.js";
import { Refusal } from "./refusal.js";

const HOUR = 3_600_000;

/** @typedef {{path: string[], query: URLSearchParams, body: any, request: IncomingMessage, response:
 * ServerResponse, actor: string}} Exchange */

export class Answers {
  /** @param {Mock} mock */
  constructor(mock) {
    this.mock = mock;
    this.house = mock.house;
  }

  /** @param {Exchange} exchange @returns {Run} */
  run({ path }) {
    const [, job, nominal, series] = path;
    const run = this.house.run(`${job}@${nominal}${series === "0" ? "" : `#${series}`}`);
    if (run === null) throw new Refusal(404, "not_found", `there is no run \`${job}@${nominal}\``);
    return run;
  }

  /** @param {Exchange} exchange @param {Scope} scope @returns {any} */
  get(exchange, scope) {
    const { path, query } = exchange;
    const [kind, name, part] = path;
    const { house } = this;
    if (kind === "status") return this.status(scope);
    if (kind === "health") return this.health();
    if (kind === "jobs" && name === undefined) return this.jobs(query);
    if (kind === "jobs") return this.job(name ?? "", part, query);
    if (kind === "runs" && name === undefined) return this.runs(query);
    if (kind === "runs") return house.runDetail(this.run(exchange));
    if (kind === "files")
      return {
        items: files([...house.jobs.values()]),
        next: null,
        total: files([...house.jobs.values()]).length
      };
    if (kind === "once") return { items: once(), next: null, total: 3 };
    if (kind === "upcoming") return this.upcoming(query);
    if (kind === "actions") return this.mock.actions.get(name ?? "");
    if (kind === "audit") {
      const items = house.audit.filter(
        (entry) =>
          (!query.has("job") || entry.job === query.get("job")) &&
          (!query.has("actor") || entry.actor === query.get("actor")) &&
          `${entry.text} ${entry.note}`.includes(query.get("q") ?? "")
      );
      return paged(items, query, ({ number }) => String(number));
    }
    throw new Refusal(404, "not_found", "there is no such route");
  }

  /** @param {Scope} scope @returns {Status} */
  status(scope) {
    const { house } = this;
    const jobs = [...house.jobs.values()].map((model) => house.job(model));
    const next = jobs
      .filter((job) => job.next !== null)
      .sort((a, b) => ((a.next ?? "") < (b.next ?? "") ? -1 : 1))[0];
    const runs = house.runs();
    const count = (/** @type {RunState} */ state) => runs.filter((run) => run.state === state).length;
    const status = {
      version: "0.1.0",
      pid: 4304,
      data: "/var/lib/mainspring",
      started: instant(START - 9 * 24 * HOUR),
      state: "running",
      state_code: /** @type {const} */ ("running"),
      paused: house.pause !== null,
      jobs: jobs.length,
      pending: 3,
      open: count("running") + count("queued"),
      running: count("running"),
      runs: runs.length,
      dead: count("dead"),
      next: next?.next ?? null,
      files: files([...house.jobs.values()]).map(({ name, read, jobs, problems }) => ({
        name,
        read,
        jobs,
        problems
      })),
      is_kept: true,
      changes_max: 500_000,
      connection_changes_max: 250_000,
      refused: 0,
      quarantined: 0,
      troubles: [],
      host: "db1",
      next_job: next?.name ?? null,
      zone: "Europe/Berlin",
      tzdata: "2026b",
      now: instant(this.mock.now()),
      troubled: jobs.filter(({ troubles }) => 0 < troubles.length).length,
      resting: jobs.filter(({ pause }) => pause !== null).length,
      queued: count("queued"),
      bad_files: files([...house.jobs.values()]).filter(({ faults }) =>
        faults.some(({ severity }) => severity === "problem")
      ).length,
      you: { name: "token mara", scope },
      pause: house.pause,
      assets: this.mock.hash,
      cluster: cluster(),
      civil: {}
    };
    return { ...status, civil: civils(status, "Europe/Berlin", ["started", "next", "now"]) };
  }

  health() {
    return {
      asked: "server",
      level: "bad",
      findings: findings(),
      limits: [
        ["running", "runs at once", 6, 256],
        ["connections", "connections", 5, 64],
        ["streams", "streams", this.mock.streams.size, 32],
        ["changes", "changes in a second", 41, 500_000],
        ["files", "open files", 118, 1_024]
      ].map(([code, text, used, max]) => ({ code, text, used, max })),
      store: [
        { part: "database", bytes: 188_743_680 },
        { part: "journal", bytes: 4_194_304 },
        { part: "output", bytes: 1_288_490_188 },
        { part: "free", bytes: 2_040_109_465 }
      ]
    };
  }

  /** @param {URLSearchParams} query */
  matching(query) {
    const states = query.get("state")?.split(",");
    const [label, value] = (query.get("label") ?? "").split("=");
    return [...this.house.jobs.values()]
      .map((model) => this.house.job(model))
      .filter((job) => {
        const codes = [
          job.state_code.startsWith("paused") ? "paused" : job.state_code,
          job.running ? "running" : "",
          job.failures ? "failing" : "",
          job.troubles.length ? "troubled" : "",
          ...job.troubles.map(({ code }) => code)
        ];
        return (
          (states === undefined || states.some((state) => codes.includes(/** @type {any} */ (state)))) &&
          job.name.includes(query.get("q") ?? "") &&
          (!query.has("group") || job.group === query.get("group")) &&
          (!query.has("source") || job.source.includes(query.get("source") ?? "")) &&
          (!query.has("label") ||
            (value === undefined ? (label ?? "") in job.labels : job.labels[label ?? ""] === value))
        );
      });
  }

  /** @param {URLSearchParams} query */
  jobs(query) {
    const found = this.matching(query);
    const sort = query.get("sort") ?? "name";
    const of = (/** @type {import("../api.d.ts").Job} */ job) =>
      ({
        name: job.name,
        next: job.next ?? "~",
        last: job.last?.ended ?? "",
        median: String(job.median_ms ?? 0).padStart(12),
        p95: String(job.p95_ms ?? 0).padStart(12),
        state: `${job.troubles.length ? 0 : 1}${job.state_code}`
      })[sort.replace("-", "")] ?? "";
    found.sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0));
    if (sort.startsWith("-")) found.reverse();
    return { ...paged(found, query, ({ name }) => name), unsorted: 0 };
  }

  /** @param {string} name @param {string | undefined} part @param {URLSearchParams} query */
  job(name, part, query) {
    const { house } = this;
    const model = house.jobs.get(name);
    if (model === undefined) throw new Refusal(404, "not_found", `there is no job \`${name}\``);
    if (part === undefined) return house.detail(model);
    if (part === "next")
      return {
        items:
          model.pause === null
            ? times(
                model.parsed,
                model.zone,
                this.mock.now(),
                this.mock.now() + 800 * 24 * HOUR,
                Number(query.get("n") ?? 10)
              )
            : [],
        is_cut: false
      };
    if (part === "stats") {
      const points = model.runs
        .filter(({ started }) => started !== null)
        .map(({ run, nominal, state, duration_ms, lateness_ms }) => ({
          run,
          at: nominal,
          civil: civil(Date.parse(nominal), model.zone),
          state,
          duration_ms,
          lateness_ms
        }));
      const of = (/** @type {(number | null)[]} */ list) => {
        const sorted = list.filter((value) => value !== null).sort((a, b) => a - b);
        const at = (/** @type {number} */ share) =>
          sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
        return { count: sorted.length, median_ms: at(0.5), p95_ms: at(0.95), max_ms: at(1) };
      };
      return {
        duration: of(points.map(({ duration_ms }) => duration_ms)),
        lateness: of(points.map(({ lateness_ms }) => lateness_ms)),
        points,
        is_cut: false
      };
    }
    const year = Number(query.get("year"));
    const days = [];
    for (
      let at = Date.UTC(year, 0, 1);
      at < Math.min(START, Date.UTC(year + 1, 0, 1)) && 2025 <= year;
      at += 24 * HOUR
    ) {
      const date = new Date(at).toISOString().slice(0, 10);
      const luck = chance(`${name} ${date}`);
      const isDue = times(model.parsed, model.zone, at, at + 24 * HOUR, 1).length === 1;
      if (!isDue || at < Date.UTC(2026, 1, 3)) continue;
      const isBad = luck < 0.01 + model.fails;
      const isMissed = !isBad && luck < 0.03 + model.fails;
      days.push({
        date,
        worst: isBad ? "failed" : isMissed ? "missed" : luck > 0.99 ? "skipped_overlap" : "succeeded",
        runs: 1 + Math.floor(luck * 5),
        failed: isBad ? 1 : 0,
        missed: isMissed ? 1 : 0
      });
    }
    return { year, days, is_cut: false };
  }

  /** @param {URLSearchParams} query */
  chosen(query) {
    const states = query.get("state")?.split(",");
    const [since, until] = [query.get("since"), query.get("until")];
    return this.house
      .runs()
      .filter(
        (run) =>
          (states === undefined || states.includes(run.state)) &&
          (!query.has("job") || run.job === query.get("job")) &&
          (!query.has("cause") || run.cause === query.get("cause")) &&
          run.job.includes(query.get("q") ?? "") &&
          (!query.has("line") || [run.last_line, run.outcome, run.reason].includes(query.get("line"))) &&
          (!query.has("group") || this.house.jobs.get(run.job)?.group === query.get("group")) &&
          (since === null || since <= (run.ended ?? run.due)) &&
          (until === null || (run.ended ?? run.due) < until)
      );
  }

  /** @param {URLSearchParams} query */
  runs(query) {
    return paged(this.chosen(query), query, ({ run }) => run);
  }

  /** @param {URLSearchParams} query */
  upcoming(query) {
    const [from, to] = [
      query.get("from") ?? instant(this.mock.now()),
      query.get("to") ?? instant(this.mock.now() + 24 * HOUR)
    ];
    const [start, end] = [Date.parse(from), Date.parse(to)];
    const step_ms = end - start <= 25 * HOUR ? 60_000 : 600_000;
    const counts = Array(Math.ceil((end - start) / step_ms)).fill(0);
    const lanes = [...this.house.jobs.values()]
      .filter(
        (model) =>
          model.name.includes(query.get("q") ?? "") &&
          (!query.has("group") || model.group === query.get("group"))
      )
      .map((model) => {
        const paused = model.pause !== null;
        const all = times(model.parsed, model.zone, start - 1, end, 70_000);
        const median_ms = this.house.job(model).median_ms;
        if (!paused) for (const { at } of all) counts[Math.floor((Date.parse(at) - start) / step_ms)] += 1;
        const overlaps = all.slice(0, 300).flatMap((moment, index) => {
          const next = all[index + 1];
          const ends = Date.parse(moment.at) + (median_ms ?? 0);
          return next === undefined || ends <= Date.parse(next.at)
            ? []
            : [
                {
                  at: next.at,
                  until: instant(ends),
                  code: "overlap",
                  text:
                    model.group === "heavy"
                      ? "the run before will probably still be going: it waits"
                      : "the run before will probably still be going: it is skipped"
                }
              ];
        });
        return {
          job: model.name,
          zone: model.zone,
          group: model.group,
          median_ms,
          paused,
          times: all.slice(0, 300),
          count: all.length,
          is_cut: false,
          overlaps
        };
      });
    lanes.sort((a, b) => ((a.times[0]?.at ?? "~") < (b.times[0]?.at ?? "~") ? -1 : 1));
    lanes.splice(this.mock.rows);
    const zones = [...new Set(lanes.map(({ zone }) => zone))];
    return {
      from,
      to,
      lanes,
      lanes_left_out: 0,
      job_count: lanes.filter(({ paused, count }) => !paused && 0 < count).length,
      time_count: lanes.reduce((sum, { paused, count }) => sum + (paused ? 0 : count), 0),
      is_cut: lanes.some(({ is_cut }) => is_cut),
      changes: zones.flatMap((zone) => changes(zone, start, end)),
      histogram: { step_ms, counts, estimated_from: null }
    };
  }

  /** @param {Exchange} exchange @param {string} method @returns {any} */
  post(exchange, method) {
    const { path, body } = exchange;
    const [kind, name, part] = path;
    if (kind === "explain") return explain(body, this.mock.now());
    if (kind === "check" || kind === "apply") return check(kind, body);
    if (kind === "pause" || kind === "resume") {
      this.house.pause =
        kind === "pause"
          ? this.house.paused(
              "asked",
              "by request",
              body.note ?? null,
              "token mara",
              this.mock.now(),
              body.until ? Date.parse(body.until) : null,
              "Europe/Berlin"
            )
          : null;
      this.house.record(kind, "", body.note ?? "");
      this.mock.emit("job.changed", { job: "" });
      return this.status("operate");
    }
    if (kind === "jobs") return this.change(name ?? "", part ?? "", body);
    if (kind === "runs") return this.settle(this.run(exchange), path[4] ?? "", body);
    if (kind === "actions") return this.many(body);
    throw new Refusal(404, "not_found", `there is no such route for ${method}`);
  }

  /** @param {string} name @param {string} what @param {any} body */
  change(name, what, body) {
    const { house } = this;
    const model = house.jobs.get(name);
    if (model === undefined) throw new Refusal(404, "not_found", `there is no job \`${name}\``);
    if (what === "run") {
      const at = body.at ?? instant(this.mock.now());
      if (60_000 < Math.abs(Date.parse(at) - this.mock.now()) || Number.isNaN(Date.parse(at)))
        throw new Refusal(422, "invalid", "`at` must be within a minute of now", { problems: [] });
      const started = house.start(name, at);
      if (started?.isNew) house.record("run", name);
      return [started?.isNew ? 202 : 200, { run: started?.run.run, href: "" }];
    }
    if (what === "pause")
      model.pause = house.paused(
        "asked",
        "by request",
        body.note,
        "token mara",
        this.mock.now(),
        body.until ? Date.parse(body.until) : null,
        model.zone
      );
    else if (what === "resume") model.pause = null;
    else if (what === "backfill") {
      const found = times(model.parsed, model.zone, Date.parse(body.from) - 1, Date.parse(body.to), 1_001);
      if (1_000 < found.length)
        throw new Refusal(422, "invalid", "a backfill has at most 1000 runs", { problems: [] });
      if (body.preview) return { count: found.length, times: found.slice(0, 20) };
      if (body.expected !== found.length) throw new Refusal(409, "changed", `it is ${found.length} now`);
      house.record("backfill", name);
      return [202, { count: found.length, id: "b1", href: "api/v1/actions/b1" }];
    }
    house.record(what, name, body.note ?? "");
    this.mock.emit("job.changed", { job: name });
    return house.detail(model);
  }

  /** @param {Run} run @param {string} what @param {any} body */
  settle(run, what, body) {
    const isOpen = run.ended === null;
    if ((what === "cancel") !== isOpen || (what !== "cancel" && run.state !== "dead"))
      throw new Refusal(409, "conflict", `the run is ${run.state.replaceAll("_", " ")}`);
    this.house.record(what === "cancel" ? what : `dead_${what}`, run.run, body.note ?? "");
    if (what === "retry") {
      const model = this.house.jobs.get(run.job);
      if (model) model.runs = model.runs.filter((other) => other !== run);
      model?.open.push(
        this.house.dress(
          Object.assign(run, {
            state: "running",
            ended: null,
            outcome: null,
            duration_ms: null,
            started: instant(this.mock.now()),
            attempt: run.attempt + 1
          })
        )
      );
      this.mock.emit("run.changed", { run: run.run, job: run.job, state: "running" });
    } else this.mock.end(run, "cancelled");
    return [202, { run: run.run }];
  }

  /** @param {any} body */
  many(body) {
    const query = new URLSearchParams(body.filter ?? {});
    /** @type {string[]} */
    const ids =
      body.ids ??
      (body.of === "jobs"
        ? this.matching(query).map(({ name }) => name)
        : this.chosen(query).map(({ run }) => run));
    if (body.preview) return { count: ids.length, examples: ids.slice(0, 10) };
    if (body.expected !== ids.length)
      throw new Refusal(409, "changed", `it is ${ids.length} now, not ${body.expected}`);
    const id = `a${this.mock.actions.size + 1}`;
    const state = {
      id,
      state: "done",
      count: ids.length,
      done: 0,
      failed: 0,
      errors: /** @type {{id: string, detail: string}[]} */ ([])
    };
    for (const one of ids) {
      try {
        if (body.of === "jobs") this.change(one, body.do, body);
        else this.settle(/** @type {Run} */ (this.house.run(one)), body.do, body);
        state.done += 1;
      } catch (error) {
        state.failed += 1;
        state.errors.push({ id: one, detail: String(error instanceof Error ? error.message : error) });
      }
    }
    this.mock.actions.set(id, state);
    return [202, { id, count: ids.length, href: `api/v1/actions/${id}` }];
  }
}

/** @template T @param {T[]} items @param {URLSearchParams} query @param {(item: T) => string} keyOf */
function paged(items, query, keyOf) {
  const after = query.get("after");
  const from = after === null ? 0 : items.findIndex((item) => keyOf(item) === after) + 1;
  const page = items.slice(from, from + Number(query.get("limit") ?? 100));
  const isMore = from + page.length < items.length;
  return { items: page, next: isMore ? keyOf(/** @type {T} */ (page.at(-1))) : null, total: items.length };
}

/** @param {House} house */
export function metrics(house) {
  const rows = [...house.jobs.keys()]
    .slice(0, 40)
    .map(
      (name) =>
        `mainspring_runs_started_total{job_name="${name}",cause="trigger"} ${Math.floor(chance(name) * 9_000)}`
    );
  return `# TYPE mainspring_runs_started counter\n${rows.join("\n")}\n# EOF\n`;
}

/** Three servers: one plans, one is full, one was not heard of for a while. @returns {Cluster} */
function cluster() {
  const server = {
    address: "/var/lib/mainspring",
    version: "0.1.0",
    capacity: 64,
    running: 3,
    is_leaving: false,
    is_planner: false
  };
  return {
    planner: "4304@db1",
    lease_left_ms: 2_400,
    clock_ahead_ms: 3,
    servers: [
      { ...server, id: 4, name: "4304@db1", host: "db1", labels: {}, silent_ms: 900, is_planner: true },
      { ...server, id: 5, name: "771@db2", host: "db2", labels: { gpu: 0 }, silent_ms: 1_800, running: 64 },
      { ...server, id: 7, name: "90@db3", host: "db3", labels: { "handler=mail": 2 }, silent_ms: 12_400 }
    ],
    lost: [{ id: 6, host: "db4", since_ms: 754_000 }],
    takeovers: { clean: 2 },
    fenced: 0,
    inbox_waiting: 0,
    inbox_refused: 0,
    inbox_oldest_ms: null,
    database: {
      version: "17.2",
      role: "mainspring",
      synchronous_commit: "on",
      standbys: 0,
      synchronous_standbys: 0,
      unseen_standbys: 0,
      wants_synchronous: false,
      oldest_transaction_ms: 12,
      unseen_sessions: 0,
      oldest_xmin_age: 40,
      dead_rows: 120,
      live_rows: 9_000,
      may_migrate: true,
      is_pooled: false,
      others_create_in: []
    }
  };
}
