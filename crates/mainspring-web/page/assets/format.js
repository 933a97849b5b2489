// Times, lengths of time and counts as people read them.
//
//   2026-10-25T02:30:00+02:00[Europe/Berlin]  ->  25 Oct 02:30 Berlin      the job's zone, as the server says
//   2026-10-25T00:30:00Z                      ->  25 Oct 01:30             my zone, by the browser; or UTC
//
// Cost: a formatter for each zone, made once.
//
// Does not know the clock: see `now` in api.js, which follows the server's.

/** @import {Civil, Instant} from "../api.d.ts" */
/** @typedef {"job" | "mine" | "utc"} Zoning */

export const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const CIVIL =
  /^(?<date>\d{4}-\d\d-\d\d)T(?<clock>\d\d:\d\d):(?<seconds>\d\d)(?:\.\d+)?(?<offset>Z|[+-]\d\d:\d\d)(?:\[(?<zone>.+)\])?$/;

/** @typedef {{date: string, clock: string, seconds: string, offset: string, zone?: string}} Parts */

/** The parts of an RFC 9557 or RFC 3339 time. @param {string} text */
export const parts = (text) => /** @type {Parts | undefined} */ (CIVIL.exec(text)?.groups);

/** @type {Map<string, Intl.DateTimeFormat>} */
const formatters = new Map();

/** The parts of an instant in a zone, as this browser knows it.
 * @param {number} ms @param {string} [zone] @returns {Parts} */
export function partsIn(ms, zone) {
  let formatter = formatters.get(zone ?? "");
  if (formatter === undefined) {
    formatter = new Intl.DateTimeFormat("en-GB", {
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23",
      ...(zone === undefined ? {} : { timeZone: zone })
    });
    formatters.set(zone ?? "", formatter);
  }
  const found = Object.fromEntries(formatter.formatToParts(ms).map(({ type, value }) => [type, value]));
  const date = `${found.year}-${found.month}-${found.day}`;
  return { date, clock: `${found.hour}:${found.minute}`, seconds: found.second ?? "00", offset: "" };
}

const mine = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The short name of a zone: the last part. @param {string} zone */
export function place(zone) {
  return (zone.split("/").at(-1) ?? zone).replaceAll("_", " ");
}

/** A day as short as it is clear beside today. @param {string} date @param {string} today */
export function day(date, today) {
  const [year, month, number] = date.split("-");
  const name = `${Number(number)} ${MONTHS[Number(month) - 1]}`;
  return year === today.slice(0, 4) ? name : `${name} ${year}`;
}

/** What is shown of a time. `today` is shown by its clock alone.
 * @param {Instant} at @param {Civil | undefined} civil @param {Zoning} zoning @param {number} now in ms
 * @returns {{text: string, zone: string | null}} */
export function civilText(at, civil, zoning, now) {
  const ms = Date.parse(at);
  const inJob = zoning === "job" && civil !== undefined ? parts(civil) : undefined;
  const utc = zoning === "mine" ? undefined : "UTC";
  const found = inJob ?? partsIn(ms, utc);
  const today = partsIn(now, inJob?.zone ?? utc).date;
  // What is planned has whole minutes; what has happened has a fraction, and shows its seconds always.
  const isWhole = found.seconds === "00" && !at.includes(".");
  const clock = isWhole ? found.clock : `${found.clock}:${found.seconds}`;
  const text = found.date === today ? clock : `${day(found.date, today)} ${clock}`;
  // The reader's own zone goes without saying.
  const zone = inJob?.zone ?? "UTC";
  return { text, zone: zoning === "job" && zone !== mine() ? zone : null };
}

/** Units, and from which length on each is the larger of two. */
const SPANS = /** @type {const} */ ([
  ["d", 86_400, 3_600],
  ["h", 3_600, 60],
  ["m", 60, 1]
]);

/** A length of time in at most two units, which no line breaks apart: `1 h 5 m`. @param {number} ms */
export function length(ms) {
  const size = Math.abs(ms);
  if (size < 1_000) return `${Math.round(size)}\u00a0ms`;
  if (size < 10_000) return `${(size / 1_000).toFixed(1)}\u00a0s`;
  const exact = Math.round(size / 1_000);
  // Ten minutes and more are told without seconds.
  const seconds = exact < 600 ? exact : Math.round(exact / 60) * 60;
  for (const [index, [unit, step, small]] of SPANS.entries()) {
    if (seconds < step) continue;
    const rest = Math.floor((seconds % step) / small);
    const more = rest === 0 ? "" : `\u00a0${rest}\u00a0${SPANS[index + 1]?.[0] ?? "s"}`;
    return `${Math.floor(seconds / step)}\u00a0${unit}${more}`;
  }
  return `${seconds}\u00a0s`;
}

/** A length that is counted while one looks: whole seconds below a minute. @param {number} ms */
const counted = (ms) => (ms < 60_000 ? `${Math.floor(ms / 1_000)}\u00a0s` : length(ms));

/** The length since a time. @param {number} at in ms @param {number} now in ms */
export const lasting = (at, now) => counted(Math.max(0, now - at));

/** A place in time, from a beginning: `1:05:09`, `0:07`. @param {number} ms */
export function stamp(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const two = (/** @type {number} */ count) => String(count % 60).padStart(2, "0");
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor(seconds / 60);
  return `${hours === 0 ? minutes : `${hours}:${two(minutes)}`}:${two(seconds)}`;
}

/** `in 5 m`, `5 m ago`, `now`: one unit, because the time itself stands beside it.
 * @param {number} at in ms @param {number} now in ms */
export function relative(at, now) {
  const ms = at - now;
  if (Math.abs(ms) < 1_000) return "now";
  const text = counted(Math.abs(ms)).replace(/(\S+\s\S+).*/, "$1");
  return 0 < ms ? `in ${text}` : `${text} ago`;
}

/** The same of what has happened, which is not to come whatever the clock shows. One that is behind by less than
 * a minute was corrected, or is that of another machine. @param {number} at in ms @param {number} now in ms */
export const past = (at, now) =>
  at - now < 60_000 ? relative(Math.min(at, now), now) : "by a clock that was ahead";

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** @param {number} count */
export function bytes(count) {
  let [size, unit] = [count, 0];
  while (1_024 <= size && unit < UNITS.length - 1) [size, unit] = [size / 1_024, unit + 1];
  return `${unit === 0 || 100 <= size ? Math.round(size) : size.toFixed(1)}\u00a0${UNITS[unit]}`;
}

/** @param {number} count */
export function number(count) {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** `1 job`, `4,812 jobs`. @param {number} count @param {string} one @param {string} [many] */
export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** @type {Record<string, string>} */
const WORDS = {
  timed_out: "timed out",
  skipped_overlap: "skipped: overlap",
  skipped_paused: "skipped: paused",
  catch_up: "catch-up",
  trigger: "schedule",
  boot: "at boot",
  request: "by hand",
  dead: "dead letter",
  paused_failures: "paused: failures",
  paused_crashes: "paused: crashes",
  mismatched: "not as computed",
  quarantined: "in quarantine"
};

/** The word for a code. @param {string} code */
export function word(code) {
  return WORDS[code] ?? code.replaceAll("_", " ");
}

const TONES = new Map(
  Object.entries({
    bad: "failed timed_out dead abandoned bad failing problems problem unreadable mismatched",
    warn: "missed warning differs silent behind",
    ok: "succeeded ok applied",
    run: "running",
    rest: "paused paused_failures paused_crashes"
  }).flatMap(([tone, codes]) =>
    codes.split(" ").map((code) => /** @type {[string, string]} */ ([code, tone]))
  )
);

/** Which colour a state of a run, a job or a file has; see README. @param {string} code */
export const tone = (code) => TONES.get(code) ?? "dim";

/** The address of a run below api/v1: the series always stands there, because a fragment would be cut off.
 * @param {string} run */
export function runPath(run) {
  const at = run.lastIndexOf("@");
  const [nominal = "", series = "0"] = run.slice(at + 1).split("#");
  return ["runs", run.slice(0, at), nominal, series].map(encodeURIComponent).join("/");
}

/** Where a run ran, with the number of the table of servers. @param {{host?: string, server?: number}} run */
export const serverOf = ({ host = "server", server }) => (server ? ` at ${host} #${server}` : "");

/** A sentence with a capital, unless it begins with a command: that is typed as it stands. @param {string} text */
export const capital = (text) =>
  text.startsWith("mainspring ") ? text : `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

/** The codes by their words. */
const CODES = new Map(Object.entries(WORDS).map(([code, word]) => [word, code]));

/** The codes of such words. @param {string} text */
export const codesOf = (text) =>
  text
    .split(",")
    .map((word) => CODES.get(word) ?? word)
    .join(",");

/** A part of a filter: a name with a value, which has other blanks than those of words in quotes; or a word. */
const PART = new RegExp(
  `(\\w+):(?:"((?:[^"\\\\]|\\\\.)*)(?:"|$)|((?:${[...CODES.keys()].join("|")}|\\S)+))|\\S+`,
  "g"
);

/** The words of a filter: `state:timed out actor:"uid 0" report` -> {state: timed_out, actor, q}. @param {string} text
 * @param {readonly string[]} names */
export function filterOf(text, names) {
  /** @type {Record<string, string>} */
  const found = {};
  const rest = [];
  for (const [part, name = "", quoted, plain] of text.matchAll(PART)) {
    const value = plain ?? quoted?.replace(/\\(.)/g, "$1") ?? "";
    if (!names.includes(name)) rest.push(part);
    else if (name !== "state" && name !== "cause") found[name] = value;
    else found[name] = codesOf(value);
  }
  const q = rest.join(" ");
  return q === "" ? found : { ...found, q };
}

/** A value of a filter as it is typed. @param {string} name @param {string} value */
export const filterWord = (name, value) =>
  `${name}:${/\s|^\x22/.test(value) ? JSON.stringify(value) : value}`;
