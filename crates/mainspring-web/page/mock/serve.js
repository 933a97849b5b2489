// The HTTP side of the mock server: the real assets with the real headers, and the API of api.d.ts over
// `house.js`.
//
//   node mock/serve.js [--port 7411] [--base /some/path] [--scope look]      then open the address it prints
//
// It holds to what the page may rely on: scopes, cookies, checks of origin, problem documents, ranges, event
// ids.

/** @import {IncomingMessage, ServerResponse} from "node:http" */
/** @import {Run, RunState, Scope} from "../api.d.ts" */
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { instant, local } from "./clock.js";
import { Answers, metrics } from "./answers.js";
import { House } from "./house.js";
import { START } from "./plans.js";
import { Refusal } from "./refusal.js";

const ASSETS = new URL("../assets/", import.meta.url);
const TYPES = /** @type {Record<string, string>} */ ({
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  svg: "image/svg+xml"
});
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'"
].join("; ");
const SCOPES = ["metrics", "look", "operate", "define"];

/** Which beginnings of a line join it to the one before, by the ending of the file. None of them begins a
 * statement; in style sheets a point may begin a selector. @type {Record<string, RegExp>} */
const JOINED = { js: /^[)\]}.?:]/, css: /^}/ };

/** What is sent of a file of source: no comments, no indentation, and of code a statement a line; see README.
 * @param {string} text @param {string} ending */
export function served(text, ending) {
  const lines = text
    .replace(/\/\*.*?\*\//gs, "")
    .split("\n")
    .map((line) => line.trim());
  const joined = JOINED[ending];
  let sent = "";
  let before = "";
  for (const line of lines) {
    if (line === "" || line.startsWith("//")) continue;
    const goesOn = joined && (/[([{,]$/.test(before) || (joined.test(line) && !before.includes("//")));
    sent += before === "" || goesOn ? line : `\n${line}`;
    before = line;
  }
  return `${sent}\n`;
}

/** @returns {Map<string, Buffer>} */
export function assets() {
  return new Map(
    readdirSync(ASSETS).map((name) => {
      const text = readFileSync(new URL(name, ASSETS), "utf8");
      return [name, Buffer.from(served(text, name.split(".").at(-1) ?? ""))];
    })
  );
}

/** @import {Exchange} from "./answers.js" */

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
    this.answers = new Answers(this);
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
    this.requests = [];
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
      const below = url.pathname.slice(this.base.length);
      const secret = /^s-\d{16,40}\//.exec(below)?.[0] ?? "";
      const path = below.slice(secret.length);
      if (!path.startsWith("api/") && path !== "metrics") return this.#asset(path, response);
      this.requests.push(`${request.method} ${path}${url.search}`);
      if (this.failing !== 0 && path !== "api/v1/session")
        throw new Refusal(
          this.failing,
          this.failing === 401 ? "unauthenticated" : "temporary",
          "the store does not answer"
        );
      if (path === "api/v1/runs") await this.gate;
      await this.#api(path, url.searchParams, request, response, secret);
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
    const style = (this.files.get("page.css") ?? "").toString();
    const body = isIndex
      ? found
          .toString()
          .replace(/<link rel="stylesheet".*?>/, () => `<style>${style}</style>`)
          .replaceAll("@HASH@", this.hash)
      : found;
    const digest = createHash("sha256").update(style).digest("base64");
    if (isIndex)
      response.setHeader(
        "content-security-policy",
        POLICY.replace("style-src 'self'", `style-src 'sha256-${digest}'`)
      );
    response
      .writeHead(200, {
        "content-type": TYPES[name.split(".").at(-1) ?? ""] ?? "",
        "cache-control": isIndex ? "no-cache" : "public, max-age=31536000, immutable"
      })
      .end(body);
  }

  /** @param {string} path @param {URLSearchParams} query @param {IncomingMessage} request
   * @param {ServerResponse} response @param {string} secret   what the cookie's path ends with */
  async #api(path, query, request, response, secret) {
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
    if (parts[0] === "session") return this.#session(method, body, response, secret);
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
    /** @type {Exchange} */
    query.set("limit", String(Math.min(this.rows, Number(query.get("limit") ?? 100))));
    const exchange = { path: parts, query, body, request, response, actor: "token mara" };
    if (path === "metrics")
      return response
        .writeHead(200, { "content-type": "application/openmetrics-text" })
        .end(metrics(this.house));
    if (parts[0] === "events") return this.#stream(exchange);
    const isOutput = parts[0] === "runs" && parts[4] === "output";
    if (isOutput) return parts[5] === "events" ? this.#follow(exchange) : this.#output(exchange);
    const found = method === "GET" ? this.answers.get(exchange, scope) : this.answers.post(exchange, method);
    const [status, answer] = Array.isArray(found) ? found : [200, found];
    response
      .writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
      .end(JSON.stringify(answer));
  }

  /** @param {string} method @param {any} body @param {ServerResponse} response @param {string} secret */
  #session(method, body, response, secret) {
    const token = /** @type {string | undefined} */ (body.token);
    const isGood =
      method === "DELETE" || this.codes.delete(body.code) || (token !== undefined && SCOPES.includes(token));
    if (!isGood) throw new Refusal(401, "unauthenticated", "the code or token is not known");
    const value = method === "DELETE" ? "; Max-Age=0" : (token ?? "operate");
    response
      .writeHead(204, {
        "set-cookie": `mainspring=${value}; HttpOnly; SameSite=Strict; Path=${this.base}${secret}`
      })
      .end();
  }

  /** @param {Exchange} exchange */
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

  /** @param {Exchange} exchange */
  #output(exchange) {
    const { query, request, response } = exchange;
    const run = this.answers.run(exchange);
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

  /** @param {Exchange} exchange */
  #follow(exchange) {
    const { query, response } = exchange;
    const run = this.answers.run(exchange);
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
