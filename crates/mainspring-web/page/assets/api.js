// Requests of the page to the server: JSON below `api/v1/`, relative to the page, so that any base path will
// do. Without TLS they are asked below a path that pages of this origin alone know, and the cookie is for that
// path: a browser sends a cookie to all ports of its host, where other users may listen.
//
// Cost: one request each; at most 10 seconds.
//
// Does not repeat a request: what asks decides that. One that was refused for want of a sign-in which came
// meanwhile is asked again.

/** @import {Problem, Scope, Status} from "../api.d.ts" */

/** After this long without an answer the server is said not to answer: its own statements take 2 seconds at
 * most. */
const PATIENCE_MS = 10_000;

/** A smaller difference of two clocks is the travel of an answer and the whole seconds of the `Date` header.
 * */
const MIN_SKEW_MS = 1_500;

/** An answer that is not what was asked for. `status` is 0 if there was none. */
export class Refused extends Error {
  /** @param {number} status @param {Problem | null} problem @param {string} text */
  constructor(status, problem, text) {
    super(problem?.detail ?? text);
    this.status = status;
    this.problem = problem;
    this.code = problem?.type.split(":").at(-1) ?? (status === 0 ? "unreachable" : String(status));
  }
}

let skew = 0;

/** How often somebody has signed in or out here. */
let turns = 0;

/** The server's clock, in ms. */
export function now() {
  return Date.now() + skew;
}

/** How far the server's clock is ahead of this machine's. */
export function clockSkew() {
  return skew;
}

/** @param {string | null} date */
function follow(date) {
  if (date === null) return;
  const ahead = Date.parse(date) + 500 - Date.now();
  if (MIN_SKEW_MS < Math.abs(ahead - skew)) skew = Math.abs(ahead) < MIN_SKEW_MS ? 0 : ahead;
}

/** @typedef {Record<string, string | number | null | undefined>} Query */

/** Before each address; see above. */
export const PRIVATE =
  location.protocol === "https:"
    ? ""
    : (localStorage.path ??= `s-${crypto.getRandomValues(new Uint32Array(4)).join("")}/`);

/** The address of something below api/v1. @param {string} path @param {Query} [query] */
export function address(path, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return `${PRIVATE}api/v1/${path}${text === "" ? "" : `?${text}`}`;
}

/** @param {string} url @param {RequestInit} [options] @param {string} [doubt]   said where no answer comes
 * @returns {Promise<Response>} */
export async function ask(url, options = {}, doubt = "") {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, patience]) : patience;
  const before = turns;
  let answer;
  try {
    answer = await fetch(url, { ...options, signal, credentials: "same-origin" });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Refused(0, null, `The server does not answer.${doubt}`);
  }
  follow(answer.headers.get("date"));
  if (url.endsWith("/session")) turns += 1;
  else if (answer.status === 401) {
    if (before !== turns) return ask(url, options, doubt);
    dispatchEvent(new Event("signed-out"));
  }
  if (answer.ok) return answer;
  const isProblem = answer.headers.get("content-type")?.startsWith("application/problem+json");
  const problem = isProblem ? /** @type {Problem} */ (await answer.json()) : null;
  throw new Refused(answer.status, problem, `The server answered ${answer.status}.`);
}

/** @template T
 * @param {string} path @param {Query} [query] @param {AbortSignal} [signal] @returns {Promise<T>} */
export async function get(path, query, signal) {
  const answer = await ask(address(path, query), signal ? { signal } : {});
  return answer.json();
}

/** @template T @param {string} method @param {string} path @param {any} [body] @returns {Promise<T>} */
export async function send(method, path, body) {
  const json =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const isQuestion = body?.preview === true || path === "check" || path === "explain";
  const doubt = isQuestion ? "" : " Whether it was done is not known: look before you try again.";
  const answer = await ask(address(path), { method, ...json }, doubt);
  return answer.status === 204 ? /** @type {T} */ (undefined) : answer.json();
}

/** @type {Status | null} */
let status = null;

/** The server's status as it was last asked for. */
export function known() {
  return status;
}

/** @returns {Promise<Status>} */
export async function askStatus() {
  status = await get("status");
  return /** @type {Status} */ (status);
}

/** @type {readonly Scope[]} */
const SCOPES = ["metrics", "look", "operate", "define"];

/** Whether the person who looks may do what asks for a scope. @param {Scope} scope */
export function may(scope) {
  return status !== null && SCOPES.indexOf(scope) <= SCOPES.indexOf(status.you.scope);
}
