// The HTTP side of the mock server: the real assets with the real headers, and the API of api.d.ts over
// `house.js`.
//
//   node mock/serve.js [--port 7411] [--base /some/path] [--scope look]      then open the address it prints
//
// It holds to what the page may rely on: scopes, cookies, checks of origin, problem documents, ranges, event
// ids.

/** @import {IncomingMessage, ServerResponse} from "node:http" */
/** @import {Run, Scope, Status, RunState} from "../api.d.ts" */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { chance, civil, civils, instant, local } from "./clock.js";
import { Bad, UNITS, changes, parse, sentence, times } from "./cron.js";
import { House, START } from "./house.js";

const ASSETS = new URL("../assets/", import.meta.url);
const TYPES = /** @type {Record<string, string>} */ ({
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  svg: "image/svg+xml"
});
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const SCOPES = ["metrics", "look", "operate", "define"];
const HOUR = 3_600_000;

/** What is sent of a file of source: no comments, no indentation, and of code a statement a line; see README.
 * @param {string} text @param {boolean} isCode */
export function served(text, isCode) {
  const lines = text
    .replace(/\/\*.*?\*\//gs, "")
    .split("\n")
    .map((line) => line.trim());
  const kept = lines.filter((line) => line !== "" && !line.startsWith("//"));
  return kept.map((line) => (isCode && /[([{,]$/.test(line) ? line : `${line}\n`)).join("");
}

/** @returns {Map<string, Buffer>} */
export function assets() {
  return new Map(
    readdirSync(ASSETS).map((name) => {
      const text = readFileSync(new URL(name, ASSETS), "utf8");
      return [name, Buffer.from(served(text, /\.(js|css)$/.test(name)))];
    })
  );
}

/** An answer that is a problem. */
class Refusal extends Error {
  /** @param {number} status @param {string} code @param {string} detail @param {object} [more] */
  constructor(status, code, detail, more = {}) {
    super(detail);
    this.status = status;
    this.body = { type: `urn:mainspring:problem:${code}`, title: code, status, detail, ...more };
  }
}

/** @typedef {{path: string[], query: URLSearchParams, body: any, request: IncomingMessage, response:
 * ServerResponse, actor: string}} Asked */

export class Mock {
  /** `rows` is the most that a list has on a page.
   * @param {{frozen?: boolean, base?: string, scope?: Scope | null, rows?: number}} [options] */
  constructor({ frozen = false, base = "/", scope = null, rows = 1_000 } = {}) {
    this.rows = rows;
    this.base = base.endsWith("/") ? base : `${base}/`;
    this.scope = scope;
    this.began = Date.now();
    this.frozen = frozen;
    this.moved = 0;
    this.now = () => START + (this.frozen ? 0 : Date.now() - this.began) + this.moved;
    this.house = new House(this.now);
    this.house.emit = (event, data) => this.emit(event, data);
    this.files = assets();
    this.hash = createHash("sha256")
      .update([...this.files.values()].join("\0"))
      .digest("hex")
      .slice(0, 12);
    /** @type {Set<ServerResponse>} */
    this.streams = new Set();
    /** @type {Map<string, Set<ServerResponse>>} */
    this.followers = new Map();
    /** @type {Map<string, any>} */
    this.actions = new Map();
    /** @type {Set<string>} */
    this.codes = new Set(["code-1", "code-2", "code-3"]);
    /** What was asked for: method and path. @type {string[]} */
    this.asked = [];
    this.sequence = 0;
    /** @type {{id: string, text: string}[]} */
    this.ring = [];
    /** Answers this status to everything below api/v1, if set. */
    this.failing = 0;
    /** Whether there are no streams of events. */
    this.deaf = false;
    /** Answers to GET runs wait for this. @type {Promise<void>} */
    this.gate = Promise.resolve();
    this.port = 0;
    this.server = createServer((request, response) => this.#answer(request, response));
  }

  /** @param {number} [port] */
  async start(port = this.port) {
    await new Promise((resolve, reject) =>
      this.server.once("error", reject).listen(port, "127.0.0.1", () => resolve(null))
    );
    const address = this.server.address();
    this.port = typeof address === "object" && address !== null ? address.port : 0;
    return `http://127.0.0.1:${this.port}${this.base}`;
  }

  async stop() {
    this.emit("server.ending", {});
    for (const stream of this.streams) stream.end();
    for (const set of this.followers.values()) for (const stream of set) stream.end();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
    this.server = createServer((request, response) => this.#answer(request, response));
  }

  /** @param {string} event @param {object} data */
  emit(event, data) {
    this.sequence += 1;
    const id = `${this.house.epoch}.${this.sequence}`;
    const text = `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    this.ring.push({ id, text });
    for (const stream of this.streams) stream.write(text);
  }

  /** A line of a run that somebody may follow.
   * @param {Run} run @param {string} text @param {string} [stream] */
  write(run, text, stream) {
    const before = Buffer.byteLength(this.house.output(run));
    this.house.write(run, text, stream);
    const after = Buffer.from(this.house.output(run));
    for (const follower of this.followers.get(run.run) ?? []) {
      follower.write(
        `id: ${after.length}\nevent: text\ndata: ${JSON.stringify({ text: after.subarray(before).toString() })}\n\n`
      );
    }
  }

  /** @param {Run} run @param {RunState} state */
  end(run, state) {
    this.house.end(run, state, state === "succeeded" ? "succeeded" : "exit 1");
    for (const follower of this.followers.get(run.run) ?? []) {
      follower.write(`event: end\ndata: ${JSON.stringify({ state })}\n\n`);
      follower.end();
    }
  }

  /** @param {IncomingMessage} request @param {ServerResponse} response */
  async #answer(request, response) {
    const url = new URL(request.url ?? "/", `http://127.0.0.1:${this.port}`);
    response.setHeader("date", new Date(this.now()).toUTCString());
    for (const [name, value] of [
      ["content-security-policy", POLICY],
      ["x-content-type-options", "nosniff"],
      ["referrer-policy", "no-referrer"],
      ["cross-origin-opener-policy", "same-origin"],
      ["cross-origin-resource-policy", "same-origin"]
    ])
      response.setHeader(name ?? "", value ?? "");
    try {
      if (!url.pathname.startsWith(this.base)) throw new Refusal(404, "not_found", "there is nothing here");
      const path = url.pathname.slice(this.base.length);
      if (!path.startsWith("api/") && path !== "metrics") return this.#asset(path, response);
      this.asked.push(`${request.method} ${path}${url.search}`);
      if (this.failing !== 0 && path !== "api/v1/session")
        throw new Refusal(
          this.failing,
          this.failing === 401 ? "unauthenticated" : "temporary",
          "the store does not answer"
        );
      if (path === "api/v1/runs") await this.gate;
      await this.#api(path, url.searchParams, request, response);
    } catch (error) {
      if (response.headersSent) return response.end();
      const refusal =
        error instanceof Refusal
          ? error
          : new Refusal(500, "failed", String(error instanceof Error ? error.stack : error));
      response
        .writeHead(refusal.status, {
          "content-type": "application/problem+json",
          "cache-control": "no-store"
        })
        .end(JSON.stringify(refusal.body));
    }
  }

  /** @param {string} path @param {ServerResponse} response */
  #asset(path, response) {
    const isIndex = path === "";
    const name = isIndex ? "index.html" : path.replace(`assets/${this.hash}/`, "");
    const found = this.files.get(name);
    if (found === undefined || (!isIndex && !path.startsWith("assets/")))
      throw new Refusal(404, "not_found", "there is nothing here");
    const body = isIndex ? found.toString().replaceAll("@HASH@", this.hash) : found;
    response
      .writeHead(200, {
        "content-type": TYPES[name.split(".").at(-1) ?? ""] ?? "",
        "cache-control": isIndex ? "no-cache" : "public, max-age=31536000, immutable"
      })
      .end(body);
  }

  /** @param {string} path
   * @param {URLSearchParams} query @param {IncomingMessage} request @param {ServerResponse} response */
  async #api(path, query, request, response) {
    const method = request.method ?? "GET";
    let text = "";
    for await (const chunk of request) text += chunk;
    if (method !== "GET") {
      const site = request.headers["sec-fetch-site"];
      if (site !== undefined && site !== "same-origin")
        throw new Refusal(403, "denied", "the request comes from another site");
      if (text !== "" && request.headers["content-type"] !== "application/json")
        throw new Refusal(415, "usage", "the body must be application/json");
    }
    const parts = path.split("/").slice(2).map(decodeURIComponent);
    const body = text === "" ? {} : JSON.parse(text);
    if (parts[0] === "session") return this.#session(method, body, response);
    const scope =
      this.scope ??
      /** @type {Scope | undefined} */ (/mainspring=(\w+)/.exec(request.headers.cookie ?? "")?.[1]);
    if (scope === undefined || !SCOPES.includes(scope))
      throw new Refusal(401, "unauthenticated", "sign in first");
    const needed =
      method === "GET" || ["explain", "check"].includes(parts[0] ?? "")
        ? "look"
        : parts[0] === "apply"
          ? "define"
          : "operate";
    if (SCOPES.indexOf(scope) < SCOPES.indexOf(needed))
      throw new Refusal(403, "denied", `this needs the scope ${needed}, and you have ${scope}`);
    /** @type {Asked} */
    query.set("limit", String(Math.min(this.rows, Number(query.get("limit") ?? 100))));
    const asked = { path: parts, query, body, request, response, actor: "mara" };
    if (path === "metrics")
      return response
        .writeHead(200, { "content-type": "application/openmetrics-text" })
        .end(metrics(this.house));
    if (parts[0] === "events") return this.#stream(asked);
    const isOutput = parts[0] === "runs" && parts[4] === "output";
    if (isOutput) return parts[5] === "events" ? this.#follow(asked) : this.#output(asked);
    const found = method === "GET" ? this.#get(asked, scope) : this.#post(asked, method);
    const [status, answer] = Array.isArray(found) ? found : [200, found];
    response
      .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
      .end(JSON.stringify(answer));
  }

  /** @param {string} method @param {any} body @param {ServerResponse} response */
  #session(method, body, response) {
    const token = /** @type {string | undefined} */ (body.token);
    const isGood =
      method === "DELETE" || this.codes.delete(body.code) || (token !== undefined && SCOPES.includes(token));
    if (!isGood) throw new Refusal(401, "unauthenticated", "the code or token is not known");
    const value = method === "DELETE" ? "; Max-Age=0" : (token ?? "operate");
    response
      .writeHead(204, { "set-cookie": `mainspring=${value}; HttpOnly; SameSite=Strict; Path=${this.base}` })
      .end();
  }

  /** @param {Asked} asked */
  #stream({ query, request, response }) {
    if (this.deaf) throw new Refusal(429, "too_many", "there are 32 streams already, which is the limit");
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no"
    });
    const last = String(request.headers["last-event-id"] ?? query.get("after") ?? "");
    const at = this.ring.findIndex(({ id }) => id === last);
    const id = `${this.house.epoch}.${this.sequence}`;
    response.write(
      `id: ${id}\nevent: hello\ndata: ${JSON.stringify({ version: "0.1.0", assets: this.hash, now: instant(this.now()) })}\n\n`
    );
    if (last !== "" && last !== id && at < 0) response.write(`event: reset\ndata: {}\n\n`);
    for (const { text } of at < 0 ? [] : this.ring.slice(at + 1)) response.write(text);
    const beat = setInterval(() => response.write("event: beat\ndata: {}\n\n"), 15_000);
    response.on("close", () => clearInterval(beat));
    this.streams.add(response);
    response.on("close", () => this.streams.delete(response));
  }

  /** @param {Asked} asked @returns {Run} */
  #run({ path }) {
    const [, job, nominal, series] = path;
    const run = this.house.run(`${job}@${nominal}${series === "0" ? "" : `#${series}`}`);
    if (run === null) throw new Refusal(404, "not_found", `there is no run \`${job}@${nominal}\``);
    return run;
  }

  /** @param {Asked} asked */
  #output(asked) {
    const { query, request, response } = asked;
    const run = this.#run(asked);
    const bytes = Buffer.from(this.house.output(run));
    const headers = {
      "content-type": "text/plain; charset=utf-8",
      "x-complete": String(run.ended !== null),
      "cache-control": "no-store",
      "accept-ranges": "bytes"
    };
    let [from, until] = [0, bytes.length - 1];
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
    if (range !== null)
      [from, until] = [Number(range[1]), Math.min(until, range[2] ? Number(range[2]) : until)];
    else if (query.has("tail")) {
      const rows = bytes.toString().split("\n");
      from = Buffer.byteLength(
        rows
          .slice(0, Math.max(0, rows.length - 1 - Number(query.get("tail"))))
          .map((row) => `${row}\n`)
          .join("")
      );
    } else return response.writeHead(200, headers).end(bytes);
    if (bytes.length <= from && range !== null)
      return response.writeHead(416, { ...headers, "content-range": `bytes */${bytes.length}` }).end();
    if (bytes.length === 0) return response.writeHead(200, headers).end();
    response
      .writeHead(206, { ...headers, "content-range": `bytes ${from}-${until}/${bytes.length}` })
      .end(bytes.subarray(from, until + 1));
  }

  /** @param {Asked} asked */
  #follow(asked) {
    const { query, response } = asked;
    const run = this.#run(asked);
    const bytes = Buffer.from(this.house.output(run));
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const after = Number(query.get("after") ?? 0);
    if (after < bytes.length)
      response.write(
        `id: ${bytes.length}\nevent: text\ndata: ${JSON.stringify({ text: bytes.subarray(after).toString() })}\n\n`
      );
    else response.write(": nothing yet\n\n");
    if (run.ended !== null)
      return response.end(`event: end\ndata: ${JSON.stringify({ state: run.state })}\n\n`);
    const set = this.followers.get(run.run) ?? new Set();
    this.followers.set(run.run, set.add(response));
    response.on("close", () => set.delete(response));
  }

  /** @param {Asked} asked @param {Scope} scope @returns {any} */
  #get(asked, scope) {
    const { path, query } = asked;
    const [kind, name, part] = path;
    const { house } = this;
    if (kind === "status") return this.#status(scope);
    if (kind === "health") return this.#health();
    if (kind === "jobs" && name === undefined) return this.#jobs(query);
    if (kind === "jobs") return this.#job(name ?? "", part, query);
    if (kind === "runs" && name === undefined) return this.#runs(query);
    if (kind === "runs") return house.runDetail(this.#run(asked));
    if (kind === "files") return { items: house.files(), next: null, total: house.files().length };
    if (kind === "once") return { items: house.once(), next: null, total: 3 };
    if (kind === "upcoming") return this.#upcoming(query);
    if (kind === "actions") return this.actions.get(name ?? "");
    if (kind === "audit") {
      const items = house.audit.filter(
        (entry) =>
          (!query.has("job") || entry.job === query.get("job")) &&
          (!query.has("actor") || entry.actor === query.get("actor")) &&
          entry.text.includes(query.get("q") ?? "")
      );
      return paged(items, query, ({ id }) => String(id));
    }
    throw new Refusal(404, "not_found", "there is no such route");
  }

  /** @param {Scope} scope @returns {Status} */
  #status(scope) {
    const { house } = this;
    const jobs = [...house.jobs.values()].map((kept) => house.job(kept));
    const next = jobs
      .filter((job) => job.next !== null)
      .sort((a, b) => ((a.next ?? "") < (b.next ?? "") ? -1 : 1))[0];
    const count = (/** @type {RunState} */ state) => house.runs().filter((run) => run.state === state).length;
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
      runs: house.runs().length,
      dead: count("dead"),
      next: next?.next ?? null,
      files: house.files().map(({ name, read, jobs, problems }) => ({ name, read, jobs, problems })),
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
      now: instant(this.now()),
      troubled: jobs.filter(({ troubles }) => 0 < troubles.length).length,
      resting: jobs.filter(({ pause }) => pause !== null).length,
      queued: count("queued"),
      bad_files: house.files().filter(({ faults }) => faults.some(({ severity }) => severity === "problem"))
        .length,
      you: { name: "mara", scope },
      pause: house.pause,
      assets: this.hash,
      civil: {}
    };
    return { ...status, civil: civils(status, "Europe/Berlin", ["started", "next", "now"]) };
  }

  #health() {
    const findings = this.house.findings();
    return {
      asked: "server",
      level: "bad",
      findings,
      limits: [
        ["running", "runs at once", 6, 256],
        ["connections", "connections", 5, 64],
        ["streams", "streams", this.streams.size, 32],
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
  #matching(query) {
    const states = query.get("state")?.split(",");
    const [label, value] = (query.get("label") ?? "").split("=");
    return [...this.house.jobs.values()]
      .map((kept) => this.house.job(kept))
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
          (!query.has("label") || job.labels[label ?? ""] === value)
        );
      });
  }

  /** @param {URLSearchParams} query */
  #jobs(query) {
    const found = this.#matching(query);
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
    return paged(found, query, ({ name }) => name);
  }

  /** @param {string} name @param {string | undefined} part @param {URLSearchParams} query */
  #job(name, part, query) {
    const { house } = this;
    const kept = house.jobs.get(name);
    if (kept === undefined) throw new Refusal(404, "not_found", `there is no job \`${name}\``);
    if (part === undefined) return house.detail(kept);
    if (part === "next")
      return {
        items:
          kept.pause === null
            ? times(
                kept.parsed,
                kept.zone,
                this.now(),
                this.now() + 800 * 24 * HOUR,
                Number(query.get("n") ?? 10)
              )
            : []
      };
    if (part === "stats") {
      const points = kept.runs
        .filter(({ started }) => started !== null)
        .map(({ run, nominal, state, duration_ms, lateness_ms }) => ({
          run,
          at: nominal,
          civil: civil(Date.parse(nominal), kept.zone),
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
        points
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
      const isDue = times(kept.parsed, kept.zone, at, at + 24 * HOUR, 1).length === 1;
      if (!isDue || at < Date.UTC(2026, 1, 3)) continue;
      const isBad = luck < 0.01 + kept.fails;
      const isMissed = !isBad && luck < 0.03 + kept.fails;
      days.push({
        date,
        worst: isBad ? "failed" : isMissed ? "missed" : luck > 0.99 ? "skipped_overlap" : "succeeded",
        runs: 1 + Math.floor(luck * 5),
        failed: isBad ? 1 : 0,
        missed: isMissed ? 1 : 0
      });
    }
    return { year, days };
  }

  /** @param {URLSearchParams} query */
  #chosen(query) {
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
  #runs(query) {
    return paged(this.#chosen(query), query, ({ run }) => run);
  }

  /** @param {URLSearchParams} query */
  #upcoming(query) {
    const [from, to] = [
      query.get("from") ?? instant(this.now()),
      query.get("to") ?? instant(this.now() + 24 * HOUR)
    ];
    const [start, end] = [Date.parse(from), Date.parse(to)];
    const step_ms = end - start <= 25 * HOUR ? 60_000 : 600_000;
    const counts = Array(Math.ceil((end - start) / step_ms)).fill(0);
    const lanes = [...this.house.jobs.values()]
      .filter(
        (kept) =>
          kept.name.includes(query.get("q") ?? "") &&
          (!query.has("group") || kept.group === query.get("group"))
      )
      .map((kept) => {
        const paused = kept.pause !== null;
        const all = times(kept.parsed, kept.zone, start - 1, end, 70_000);
        const median_ms = this.house.job(kept).median_ms;
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
                    kept.group === "heavy"
                      ? "the run before will probably still be going: it waits"
                      : "the run before will probably still be going: it is skipped"
                }
              ];
        });
        return {
          job: kept.name,
          zone: kept.zone,
          group: kept.group,
          median_ms,
          paused,
          times: all.slice(0, 300),
          count: all.length,
          overlaps
        };
      });
    lanes.sort((a, b) => ((a.times[0]?.at ?? "~") < (b.times[0]?.at ?? "~") ? -1 : 1));
    lanes.splice(this.rows);
    const zones = [...new Set(lanes.map(({ zone }) => zone))];
    return {
      from,
      to,
      lanes,
      changes: zones.flatMap((zone) => changes(zone, start, end)),
      histogram: { step_ms, counts }
    };
  }

  /** @param {Asked} asked @param {string} method @returns {any} */
  #post(asked, method) {
    const { path, body } = asked;
    const [kind, name, part] = path;
    if (kind === "explain") return explain(body, this.now());
    if (kind === "check" || kind === "apply") return this.#check(kind, body);
    if (kind === "pause" || kind === "resume") {
      this.house.pause =
        kind === "pause"
          ? this.house.paused(
              "asked",
              "somebody paused it",
              body.note ?? null,
              "mara",
              this.now(),
              body.until ? Date.parse(body.until) : null,
              "Europe/Berlin"
            )
          : null;
      this.house.record(kind, `${kind}d everything`, { note: body.note ?? null });
      this.emit("job.changed", { job: "" });
      return this.#status("operate");
    }
    if (kind === "jobs") return this.#change(name ?? "", part ?? "", body);
    if (kind === "runs") return this.#settle(this.#run(asked), path[4] ?? "", body);
    if (kind === "actions") return this.#many(body);
    throw new Refusal(404, "not_found", `there is no such route for ${method}`);
  }

  /** @param {string} name @param {string} what @param {any} body */
  #change(name, what, body) {
    const { house } = this;
    const kept = house.jobs.get(name);
    if (kept === undefined) throw new Refusal(404, "not_found", `there is no job \`${name}\``);
    if (what === "run") {
      const at = body.at ?? instant(this.now());
      if (60_000 < Math.abs(Date.parse(at) - this.now()) || Number.isNaN(Date.parse(at)))
        throw new Refusal(422, "invalid", "`at` must be within a minute of now", { problems: [] });
      const started = house.start(name, at);
      if (started?.isNew) house.record("run", `ran ${name}`, { job: name, run: started.run.run });
      return [started?.isNew ? 202 : 200, { run: started?.run.run, href: "" }];
    }
    if (what === "pause")
      kept.pause = house.paused(
        "asked",
        "somebody paused it",
        body.note,
        "mara",
        this.now(),
        body.until ? Date.parse(body.until) : null,
        kept.zone
      );
    else if (what === "resume") kept.pause = null;
    else if (what === "backfill") {
      const found = times(kept.parsed, kept.zone, Date.parse(body.from) - 1, Date.parse(body.to), 1_001);
      if (1_000 < found.length)
        throw new Refusal(422, "invalid", "a backfill has at most 1000 runs", { problems: [] });
      if (body.preview) return { count: found.length, times: found.slice(0, 20) };
      if (body.expected !== found.length) throw new Refusal(409, "changed", `it is ${found.length} now`);
      house.record("backfill", `asked for ${found.length} runs of ${name} again`, { job: name });
      return [202, { count: found.length, id: "b1", href: "api/v1/actions/b1" }];
    }
    house.record(what, `${what}d ${name}`, { job: name, note: body.note ?? null });
    this.emit("job.changed", { job: name });
    return house.detail(kept);
  }

  /** @param {Run} run @param {string} what @param {any} body */
  #settle(run, what, body) {
    const isOpen = run.ended === null;
    if ((what === "cancel") !== isOpen || (what !== "cancel" && run.state !== "dead"))
      throw new Refusal(409, "conflict", `the run is ${run.state.replaceAll("_", " ")}`);
    this.house.record(what, `${what} of ${run.run}`, { job: run.job, run: run.run, note: body.note ?? null });
    if (what === "retry") {
      const kept = this.house.jobs.get(run.job);
      if (kept) kept.runs = kept.runs.filter((other) => other !== run);
      kept?.open.push(
        this.house.dress(
          Object.assign(run, {
            state: "running",
            ended: null,
            outcome: null,
            duration_ms: null,
            started: instant(this.now()),
            attempt: run.attempt + 1
          })
        )
      );
      this.emit("run.changed", { run: run.run, job: run.job, state: "running" });
    } else this.end(run, "cancelled");
    return [202, { run: run.run }];
  }

  /** @param {any} body */
  #many(body) {
    const query = new URLSearchParams(body.filter ?? {});
    /** @type {string[]} */
    const ids =
      body.ids ??
      (body.of === "jobs"
        ? this.#matching(query).map(({ name }) => name)
        : this.#chosen(query).map(({ run }) => run));
    if (body.preview) return { count: ids.length, examples: ids.slice(0, 10) };
    if (body.expected !== ids.length)
      throw new Refusal(409, "changed", `it is ${ids.length} now, not ${body.expected}`);
    const id = `a${this.actions.size + 1}`;
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
        if (body.of === "jobs") this.#change(one, body.do, body);
        else this.#settle(/** @type {Run} */ (this.house.run(one)), body.do, body);
        state.done += 1;
      } catch (error) {
        state.failed += 1;
        state.errors.push({ id: one, detail: String(error instanceof Error ? error.message : error) });
      }
    }
    this.actions.set(id, state);
    return [202, { id, count: ids.length, href: `api/v1/actions/${id}` }];
  }

  /** @param {string} kind @param {any} body */
  #check(kind, body) {
    const files = body.files.map((/** @type {{path: string, text: string}} */ { path, text }) => {
      /** @type {any[]} */
      const [faults, jobs] = [[], []];
      text.split("\n").forEach((line, index) => {
        const words = line.trim().split(/\s+/);
        if (path.endsWith(".toml") ? !line.includes("cron") : words.length < 6 || line.startsWith("#"))
          return;
        const expression = path.endsWith(".toml") ? (line.split('"')[1] ?? "") : words.slice(0, 5).join(" ");
        const name = path.endsWith(".toml") ? `job-${index}` : ((words[5] ?? "").split("/").at(-1) ?? "");
        try {
          jobs.push({
            name,
            sentence: sentence(parse(expression)),
            definition: `[jobs.${name}]\ncron = "${expression}"\nshell = ${JSON.stringify(words.slice(5).join(" "))}\n`
          });
        } catch (error) {
          if (error instanceof Bad) faults.push({ ...error.fault, line: index + 1, excerpt: line });
        }
      });
      return { path, faults, jobs };
    });
    if (kind === "check") return { files };
    return {
      added: files[0].jobs.map((/** @type {any} */ { name }) => name),
      changed: [],
      removed: [],
      refused: [],
      unchanged: 12,
      problems: "",
      diff: `+${files[0].jobs[0]?.definition ?? ""}`,
      faults: files[0].faults
    };
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

/** @param {any} body @param {number} now */
function explain({ schedule, dialect, zone, n }, now) {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
  } catch {
    throw new Refusal(422, "invalid", `there is no zone \`${zone}\``, { problems: [] });
  }
  try {
    const cron = parse(schedule);
    const found = times(cron, zone, now, now + 370 * 24 * HOUR, 40_000);
    const days = new Map();
    for (const { civil } of found) days.set(civil.slice(0, 10), (days.get(civil.slice(0, 10)) ?? 0) + 1);
    const words = schedule.trim().split(/\s+/);
    const sets = [cron.minutes, cron.hours, [...cron.days], [...cron.months], [...cron.weekdays]];
    return {
      expression: schedule,
      dialect,
      zone,
      dst: "cron",
      day_rule: "star",
      from: civil(now, zone),
      explanation: {
        sentence: sentence(cron),
        fields: cron.every
          ? []
          : UNITS.map((unit, index) => ({
              unit,
              text: words[index] ?? "",
              values: words[index] === "*" ? "every one" : (sets[index] ?? []).join(",")
            })),
        notes: cron.isWild
          ? []
          : [
              "it runs at fixed times: when the clock changes by less than three hours the policy `cron` holds"
            ],
        changes: changes(zone, now, now + 370 * 24 * HOUR).map(({ civil: at, text }) => ({
          at,
          text: `on ${at.slice(0, 10)} ${text}`,
          effect: cron.isWild ? "nothing changes" : "see the times"
        })),
        warnings: cron.isEither
          ? [
              {
                text: "both day fields are given: it runs when either one matches",
                start: schedule.indexOf(words[2] ?? ""),
                end: schedule.length
              }
            ]
          : []
      },
      times: found.slice(0, n),
      days: [...days].map(([date, count]) => ({ date, count })),
      translations: [
        { to: "unix", translation: schedule, notes: [], reason: null },
        {
          to: "quartz",
          translation: cron.every
            ? null
            : `0 ${words[0]} ${words[1]} ? * ${words[4] === "*" ? "*" : words[4]?.toUpperCase()}`,
          notes: [
            "when the clock changes Quartz leaves out a gap and takes the last pass of an overlap, whatever the other language does"
          ],
          reason: cron.every ? "Quartz has no periods" : null
        },
        {
          to: "oncalendar",
          translation: cron.isEither ? null : `*-*-* ${words[1]}:${words[0]}:00`,
          notes: [],
          reason: cron.isEither ? "OnCalendar has no `or` of two fields of days" : null
        }
      ]
    };
  } catch (error) {
    if (!(error instanceof Bad)) throw error;
    throw new Refusal(422, "invalid", error.message, { problems: [error.fault] });
  }
}

/** @param {House} house */
function metrics(house) {
  const rows = [...house.jobs.keys()]
    .slice(0, 40)
    .map(
      (name) =>
        `mainspring_runs_started_total{job="${name}",cause="trigger"} ${Math.floor(chance(name) * 9_000)}`
    );
  return `# TYPE mainspring_runs_started counter\n${rows.join("\n")}\n# EOF\n`;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const option = (/** @type {string} */ name, /** @type {string} */ standard) =>
    process.argv[process.argv.indexOf(`--${name}`) + 1 || Infinity] ?? standard;
  const mock = new Mock({
    base: option("base", "/"),
    scope: /** @type {Scope} */ (option("scope", "define"))
  });
  console.log(`${await mock.start(Number(option("port", "7411")))} (mock)`);
  const build = mock.house.runs().find(({ job, ended }) => job === "ci-nightly" && ended === null);
  setInterval(
    () =>
      build && mock.write(build, `\u001b[32m[ 62%]\u001b[0m Building CXX object part_${Date.now()}.cpp.o`),
    700
  );
  setInterval(() => {
    const found = mock.house.start("heartbeat", instant(local(mock.now(), "UTC").getTime()));
    if (found) setTimeout(() => mock.end(found.run, "succeeded"), 900);
  }, 10_000);
}
