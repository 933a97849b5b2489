// Pictures: a year as months, lanes of what is ahead, lengths of runs. Each has a table beside it.
//
// All of it is SVG whose shapes differ and not their colours alone: what failed is crossed, what was missed is hollow.
//
// Cost: an element for each day, bar or dot.
//
// Does not scroll or zoom.

/** @import {Heatmap, Lane, RunDetail, Stats, Upcoming} from "../api.d.ts" */
/** @import {Child} from "./dom.js" */
import { now } from "./api.js";
import { dim, h, s } from "./dom.js";
import { civilText, day, length, partsIn, place, plural, tone, word } from "./format.js";
import { time, to, zoning } from "./table.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A table behind a picture. @param {string} summary @param {string[]} head @param {Child[][]} rows */
export function asTable(summary, head, rows) {
  return h("details.as-table", h("summary", summary),
    h("table", h("thead", h("tr", head.map((label) => h("th", { scope: "col" }, label)))),
      h("tbody", rows.map((row) => h("tr", row.map((cell) => h("td", cell)))))));
}

/** @typedef {{fill: string, title: string, mark?: boolean}} Day */

const CELL = 12;

/** Twelve months of days, each month beginning in its own row of weeks. @param {string} first `YYYY-MM`
 * @param {Map<string, Day>} days @param {string} label */
export function calendar(first, days, label) {
  const [year = 0, month = 1] = first.split("-").map(Number);
  const months = MONTHS.map((_, index) => {
    const start = new Date(Date.UTC(year, month - 1 + index, 1));
    const [y, m] = [start.getUTCFullYear(), start.getUTCMonth()];
    // Monday is the first day of a week.
    const offset = (start.getUTCDay() + 6) % 7;
    const count = new Date(Date.UTC(y, m + 1, 0)).getUTCDate();
    const cells = [];
    for (let date = 1; date <= count; date += 1) {
      const name = `${y}-${String(m + 1).padStart(2, "0")}-${String(date).padStart(2, "0")}`;
      const slot = offset + date - 1;
      const [x, y0] = [(slot % 7) * CELL, Math.floor(slot / 7) * CELL];
      const found = days.get(name);
      cells.push(s(`rect.${found?.fill ?? "f-none"}`, { x: x + 0.5, y: y0 + 0.5, width: CELL - 3, height: CELL - 3 },
        s("title", found === undefined ? `${name}: nothing` : `${name}: ${found.title}`)));
      if (found?.mark) cells.push(s("path.cut", { d: `M${x + 3} ${y0 + 3}l4 4m0-4l-4 4` }));
    }
    return h("div.month", dim(m === 0 || index === 0 ? `${MONTHS[m]} ${y}` : MONTHS[m] ?? ""),
      s("svg", { viewBox: `0 0 ${7 * CELL} ${6 * CELL}`, width: 7 * CELL, height: 6 * CELL, "aria-hidden": "true" }, cells));
  });
  return h("div.calendar", { role: "img", "aria-label": label }, months);
}

/** A year of a job: the worst of each day. @param {Heatmap} heatmap */
export function heat({ year, days }) {
  const found = new Map(days.map(({ date, worst, runs, failed, missed }) => {
    const title = [plural(runs, "run"), failed !== 0 && `${failed} failed`, missed !== 0 && `${missed} missed`];
    const of = tone(worst);
    const fill = of === "bad" ? "f-bad" : worst === "missed" ? "f-warn" : of === "ok" ? "f-ok" : of === "run" ? "f-run" : "f-dim";
    return [date, { fill, title: title.filter(Boolean).join(", "), mark: of === "bad" }];
  }));
  const bad = days.filter(({ worst }) => tone(worst) === "bad");
  const missed = days.filter(({ worst }) => worst === "missed");
  const label = `${year}: runs on ${plural(days.length, "day")}, failures on ${bad.length}, missed on ${missed.length}`;
  return [
    calendar(`${year}-01`, found, label),
    h("p.legend", key("f-ok", "all succeeded"), key("f-bad", "a failure", true), key("f-warn", "missed"), key("f-dim", "skipped or cancelled"), key("f-none", "nothing")),
    asTable(bad.length + missed.length === 0 ? "As a table: no day with a failure" : `As a table: ${plural(bad.length + missed.length, "day")} with a failure or a miss`,
      ["day", "runs", "failed", "missed"],
      [...bad, ...missed].sort((a, b) => (a.date < b.date ? 1 : -1)).map((row) => [row.date, row.runs, row.failed, row.missed])),
  ];
}

/** @param {string} fill @param {string} text @param {boolean} [mark] */
function key(fill, text, mark) {
  return h("span", s("svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" },
    s(`rect.${fill}`, { x: 1.5, y: 1.5, width: 9, height: 9 }), mark && s("path.cut", { d: "M4 4l4 4m0-4l-4 4" })), ` ${text}`);
}

/** Lengths or latenesses of the last runs, on a scale of tenfold steps. @param {Stats["points"]} points
 * @param {"duration_ms" | "lateness_ms"} field @param {string} label */
export function dots(points, field, label) {
  const shown = points.filter((point) => point[field] !== null);
  if (shown.length === 0) return h("p.empty", "No run has ended yet.");
  const [width, height, left] = [480, 120, 52];
  const values = shown.map((point) => Math.max(1, point[field] ?? 1));
  const low = 10 ** Math.floor(Math.log10(Math.min(...values)));
  const high = Math.max(low * 10, 10 ** Math.ceil(Math.log10(Math.max(...values))));
  const y = (/** @type {number} */ value) => height - 8 - ((Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))) * (height - 20);
  const step = (width - left - 8) / Math.max(1, shown.length - 1);
  const lines = [];
  for (let value = low; value <= high; value *= 10) {
    lines.push(s("path.grid", { d: `M${left} ${y(value)}H${width}` }), s("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, length(value)));
  }
  const marks = shown.map((point, index) => {
    const [x, at] = [left + 4 + index * step, y(values[index] ?? 1)];
    const title = s("title", `${point.at}: ${length(point[field] ?? 0)}, ${word(point.state)}`);
    const isBad = tone(point.state) === "bad";
    return isBad
      ? s("path.c-bad", { d: `M${x - 3} ${at - 3}l6 6m0-6l-6 6` }, title)
      : s("circle.f-ok", { cx: x, cy: at, r: 2.2 }, title);
  });
  return [
    s("svg.dots", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label} of the last ${plural(shown.length, "run")}` }, lines, marks),
    asTable("As a table", ["due", label, "state"], shown.slice(-50).reverse().map((point) => [
      h("a", { href: to("run", { run: point.run }) }, time(point.at, point.civil)), length(point[field] ?? 0), word(point.state)])),
  ];
}

// What is ahead ----------------------------------------------------------------------------------------------------

/** @param {Upcoming} upcoming */
function hours({ from, to: until }) {
  const [start, end] = [Date.parse(from), Date.parse(until)];
  const step = (end - start) / 3_600_000 <= 25 ? 3_600_000 * 3 : 86_400_000;
  const marks = [];
  const zone = zoning() === "mine" ? undefined : "UTC";
  // Marks stand at whole hours of the zone that is shown, whatever its offset.
  for (let at = Math.ceil(start / 900_000) * 900_000; at < end; at += 900_000) {
    const { clock, date } = partsIn(at, zone);
    const [hour = 0, minute] = clock.split(":").map(Number);
    const isMark = minute === 0 && (step < 86_400_000 ? hour % 3 === 0 : hour === 0);
    if (isMark) marks.push({ at, text: step < 86_400_000 && hour !== 0 ? clock : day(date, date) });
  }
  return marks;
}

const WIDTH = 1_000;

/** How many start in each minute. @param {Upcoming} upcoming */
export function histogram(upcoming) {
  const { counts, step_ms } = upcoming.histogram;
  const most = Math.max(1, ...counts);
  const width = WIDTH / Math.max(1, counts.length);
  const herd = counts.indexOf(most);
  const at = new Date(Date.parse(upcoming.from) + herd * step_ms).toISOString();
  const label = `Starts in each ${step_ms === 60_000 ? "minute" : length(step_ms)}: at most ${most}, ${civilText(at, undefined, zoning() === "mine" ? "mine" : "utc", now()).text}`;
  const path = counts.map((count, index) => (count === 0 ? "" : `M${(index + 0.5) * width} 40V${40 - (count / most) * 38}`)).join("");
  return h("div.lane.histogram", dim(`starts, at most ${most}`),
    s("svg", { viewBox: `0 0 ${WIDTH} 40`, preserveAspectRatio: "none", role: "img", "aria-label": label }, s("path.stems", { d: path })));
}

/** The axis of the lanes, with the changes of the clock. @param {Upcoming} upcoming */
export function axis(upcoming) {
  const [start, end] = [Date.parse(upcoming.from), Date.parse(upcoming.to)];
  const texts = hours(upcoming).map(({ at, text }) => {
    const x = `${(((at - start) / (end - start)) * 100).toFixed(2)}%`;
    return [s("line.grid", { x1: x, x2: x, y1: 0, y2: 4 }), s("text", { x, y: 15 }, text)];
  });
  return h("div.lane.axis", { "aria-hidden": "true" }, dim(zoning() === "mine" ? "my zone" : "UTC"), s("svg", texts));
}

/** One job's lane. @param {Upcoming} upcoming @param {Lane} lane */
export function lane(upcoming, lane) {
  const [start, end] = [Date.parse(upcoming.from), Date.parse(upcoming.to)];
  const x = (/** @type {number} */ at) => ((at - start) / (end - start)) * WIDTH;
  const bands = upcoming.changes.filter(({ zone }) => zone === lane.zone).map(({ at, delta_ms, text }) =>
    s("rect.dst", { x: x(Date.parse(at) - Math.abs(delta_ms)), y: 0, width: Math.max(4, x(Date.parse(at) + Math.abs(delta_ms)) - x(Date.parse(at) - Math.abs(delta_ms))), height: 20 },
      s("title", `${place(lane.zone)}: ${text}`)));
  const bars = lane.times.map(({ at, civil, remark }) => {
    const from = x(Date.parse(at));
    const width = Math.max(3, x(Date.parse(at) + (lane.median_ms ?? 0)) - from);
    return s(remark === undefined ? "rect.f-run" : "rect.f-warn", { x: from, y: 4, width, height: 12 },
      s("title", `${civil}${remark === undefined ? "" : `: ${remark.text}`}`));
  });
  const hatched = lane.overlaps.map(({ at, until, text }) =>
    s("rect.hatch", { x: x(Date.parse(at)), y: 1, width: Math.max(5, x(Date.parse(until)) - x(Date.parse(at))), height: 18 }, s("title", text)));
  const label = `${lane.job}: ${plural(lane.count, "time")}${lane.overlaps.length === 0 ? "" : `, ${plural(lane.overlaps.length, "overlap")} predicted`}`;
  return h("div.lane", { "data-key": lane.job, "data-job": lane.job, class: lane.paused ? "lane paused" : "lane" },
    h("a.open", { href: to("job", { job: lane.job }), title: lane.job }, lane.job),
    s("svg", { viewBox: `0 0 ${WIDTH} 20`, preserveAspectRatio: "none", role: "img", "aria-label": label }, bands, bars, hatched));
}

// A run ------------------------------------------------------------------------------------------------------------

/** Nominal, due, started, ended: how long each took. @param {RunDetail} run */
export function timeline(run) {
  const at = (/** @type {string} */ text) => Date.parse(text);
  const points = [{ name: "nominal", at: run.nominal, kind: "" }, { name: "due", at: run.due, kind: "wait" }];
  if (run.started !== null) points.push({ name: "started", at: run.started, kind: "queue" });
  if (run.ended !== null) points.push({ name: "ended", at: run.ended, kind: "work" });
  return h("ol.timeline", points.map((point, index) => {
    const before = points[index - 1];
    const gap = before === undefined ? null : at(point.at) - at(before.at);
    return h(`li.${point.kind || "first"}`, null,
      gap !== null && h("span.gap", length(gap)), h("b", point.name), time(point.at, run.civil[point.name], false));
  }));
}
