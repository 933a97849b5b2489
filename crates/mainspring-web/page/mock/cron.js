// As much of cron as the mock server needs: five fields with lists, ranges and steps; `@every`.
//
// It stands for the server's own answers, so that pages have something true to show. It is no reference.

import { civil, instant, local, offset } from "./clock.js";

/** @import {Fault, Moment} from "../api.d.ts" */
/** @typedef {{text: string, every: number, minutes: number[], hours: number[], days: Set<number>, months:
 * Set<number>, weekdays: Set<number>, isWild: boolean, isEither: boolean}} Cron */

const FIELDS = /** @type {const} */ ([
  ["minute", 0, 59],
  ["hour", 0, 23],
  ["day of the month", 1, 31],
  ["month", 1, 12],
  ["day of the week", 0, 7]
]);
const NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const NICKNAMES = /** @type {Record<string, string>} */ ({
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *"
});

export class Bad extends Error {
  /** @param {string} message @param {number} column @param {number} end @param {string | null} hint */
  constructor(message, column, end, hint = null) {
    super(message);
    this.fault = /** @type {Fault} */ ({
      line: null,
      column,
      end_column: end,
      field: "schedule",
      severity: "problem",
      message,
      hint,
      excerpt: null
    });
  }
}

/** @param {string} text @returns {Cron} */
export function parse(text) {
  const every = /^@every (\d+)(s|m|h)$/.exec(text);
  const blank = {
    text,
    minutes: [],
    hours: [],
    days: new Set([0]),
    months: new Set([0]),
    weekdays: new Set([0]),
    isWild: false,
    isEither: false
  };
  if (every !== null)
    return {
      ...blank,
      every: Number(every[1]) * { s: 1, m: 60, h: 3600 }[/** @type {"s"} */ (every[2])] * 1_000
    };
  const words = [...(NICKNAMES[text] ?? text).matchAll(/\S+/g)];
  if (words.length !== 5)
    throw new Bad(
      `expected five fields, found ${words.length}`,
      1,
      text.length + 1,
      "minute, hour, day of the month, month, day of the week"
    );
  const sets = words.map((word, index) => field(word[0], word.index + 1, index));
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = sets;
  const isStar = (/** @type {number} */ index) => words[index]?.[0].startsWith("*") ?? false;
  return {
    text,
    every: 0,
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((day) => day % 7)),
    isWild: isStar(0) || isStar(1),
    isEither: !isStar(2) && !isStar(4)
  };
}

/** @param {string} text @param {number} column @param {number} index */
function field(text, column, index) {
  const [name, low, high] = FIELDS[index] ?? FIELDS[0];
  const found = new Set();
  const value = (/** @type {string} */ word, /** @type {number} */ at) => {
    const number =
      index === 4 && NAMES.includes(word.toLowerCase()) ? NAMES.indexOf(word.toLowerCase()) : Number(word);
    if (!/^\w+$/.test(word) || Number.isNaN(number))
      throw new Bad(
        `expected a ${name} (${low} to ${high}), found \`${word}\``,
        at,
        at + Math.max(1, word.length)
      );
    if (number < low || high < number)
      throw new Bad(
        `${number} is outside of the ${name} field: expected ${low} to ${high}`,
        at,
        at + word.length,
        `did you mean \`${Math.min(high, Math.max(low, number))}\`?`
      );
    return number;
  };
  let at = column;
  for (const part of text.split(",")) {
    const [range = "", step = "1"] = part.split("/");
    const [from = "", until] =
      range === "*" ? [String(low), String(index === 4 ? 6 : high)] : range.split("-");
    const first = value(from, at);
    const last =
      until === undefined ? (part.includes("/") ? high : first) : value(until, at + from.length + 1);
    const by = Number(step);
    if (!(0 < by))
      throw new Bad(
        `a step of ${step} never moves on: expected a number from 1`,
        at,
        at + part.length,
        "did you mean `1`?"
      );
    for (let number = first; number <= last; number += by) found.add(number);
    at += part.length + 1;
  }
  return [...found].sort((a, b) => a - b);
}

const DAY = 86_400_000;

/** @param {Cron} cron @param {Date} day */
function isDay(cron, day) {
  if (!cron.months.has(day.getUTCMonth() + 1)) return false;
  const [isDate, isWeekday] = [cron.days.has(day.getUTCDate()), cron.weekdays.has(day.getUTCDay())];
  return cron.isEither ? isDate || isWeekday : isDate && isWeekday;
}

/** Times after `from` and before `until`, at most `max`. @param {Cron} cron @param {string} zone @param {number} from
 * @param {number} until @param {number} max @returns {Moment[]} */
export function times(cron, zone, from, until, max) {
  /** @type {Moment[]} */
  const found = [];
  /** @param {number} at @param {Moment["remark"]} [remark] */
  const add = (at, remark) => {
    if (from < at && at < until && found.length < max)
      found.push({ at: instant(at), civil: civil(at, zone), ...(remark ? { remark } : {}) });
  };
  if (0 < cron.every) {
    for (
      let at = Math.ceil((from + 1) / cron.every) * cron.every;
      at < until && found.length < max;
      at += cron.every
    )
      add(at);
    return found;
  }
  const first = Math.floor(local(from, zone).getTime() / DAY) * DAY;
  for (let day = first; day - DAY < until + 2 * DAY && found.length < max; day += DAY) {
    if (!isDay(cron, new Date(day))) continue;
    for (const hour of cron.hours)
      for (const minute of cron.minutes) {
        const wanted = day + (hour * 60 + minute) * 60_000;
        const fits = [...new Set([offset(zone, wanted - DAY), offset(zone, wanted + DAY)])]
          .map((by) => wanted - by)
          .filter((at) => local(at, zone).getTime() === wanted)
          .sort((a, b) => a - b);
        const clock = new Date(wanted).toISOString().slice(11, 16);
        if (fits.length === 0 && !cron.isWild)
          add(Math.ceil(gapEnd(zone, wanted) / 60_000) * 60_000, {
            code: "gap",
            text: `${clock} does not exist on this day: it runs once, when the gap ends`
          });
        else if (fits.length === 2 && !cron.isWild)
          add(fits[0] ?? 0, {
            code: "overlap_first",
            text: `${clock} comes twice on this day: it runs the first time only`
          });
        else for (const at of fits) add(at);
      }
  }
  return found.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** @param {string} zone @param {number} wanted */
function gapEnd(zone, wanted) {
  let at = wanted - offset(zone, wanted + DAY) - 2 * 3_600_000;
  while (offset(zone, at) === offset(zone, at - 60_000)) at += 60_000;
  return at;
}

/** Changes of a zone's clock in a time. @param {string} zone @param {number} from @param {number} until */
export function changes(zone, from, until) {
  const found = [];
  for (let at = Math.ceil(from / 900_000) * 900_000; at < until; at += 900_000) {
    const [before, after] = [offset(zone, at - 900_000), offset(zone, at)];
    if (before === after) continue;
    const clock = (/** @type {number} */ by) => new Date(at + by).toISOString().slice(11, 16);
    found.push({
      zone,
      at: instant(at),
      civil: civil(at, zone),
      delta_ms: after - before,
      text: `the clock goes from ${clock(before)} to ${clock(after)}`
    });
  }
  return found;
}

/** @param {Cron} cron */
export function sentence(cron) {
  if (0 < cron.every) {
    const seconds = cron.every / 1_000;
    const [count, unit] =
      seconds % 3600 === 0
        ? [seconds / 3600, "hour"]
        : seconds % 60 === 0
          ? [seconds / 60, "minute"]
          : [seconds, "second"];
    return count === 1 ? `Every ${unit}.` : `Every ${count} ${unit}s.`;
  }
  const two = (/** @type {number} */ count) => String(count).padStart(2, "0");
  const [minute = 0] = cron.minutes;
  const [minutes, hours] = [cron.minutes.length, cron.hours.length];
  let text = `At minute ${cron.minutes.slice(0, 6).join(", ")} past ${hours === 24 ? "every hour" : `hour ${cron.hours.slice(0, 8).join(", ")}`}`;
  if (minutes === 1 && hours <= 4)
    text = `At ${cron.hours.map((hour) => `${two(hour)}:${two(minute)}`).join(" and ")}`;
  else if (minutes === 60 && hours === 24) text = "Every minute";
  else if (2 < minutes && 60 % minutes === 0)
    text = `Every ${60 / minutes} minutes${hours === 24 ? "" : ` from ${two(cron.hours[0] ?? 0)}:00 to ${two(cron.hours.at(-1) ?? 23)}:59`}`;
  else if (hours === 24) text = `At minute ${cron.minutes.join(", ")} of every hour`;
  const weekdays = [...cron.weekdays].sort();
  const isAll = weekdays.length === 7;
  const isWork = weekdays.join() === "1,2,3,4,5";
  const isAnyDate = cron.days.size === 31;
  const dates = `on day ${[...cron.days].slice(0, 6).join(", ")} of the month`;
  const on = isWork ? "from Monday to Friday" : `on ${weekdays.map((day) => WEEKDAYS[day]).join(" and ")}`;
  if (isAll && isAnyDate) return `${text}${hours <= 4 && minutes === 1 ? " every day" : ""}.`;
  if (cron.isEither) return `${text} ${dates}, and also ${on}.`;
  return `${text} ${isAnyDate ? on : dates}.`;
}

export const UNITS = FIELDS.map(([name]) => name);
