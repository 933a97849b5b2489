// Pictures: a year as months, lanes of what is ahead, lengths of runs. Each has a table beside it.
//
// Shapes differ and not colours alone: what failed is crossed, what was missed is hollow.
// Cost: an element for each day, bar or dot.

/** @import {Heatmap, Lane, RunDetail, Stats, Upcoming} from "../api.d.ts" */
/** @import {Child} from "./dom.js" */
import { now } from "./api.js";
import { dim, h, s } from "./dom.js";
import { MONTHS, civilText, day, length, partsIn, place, plural, tone, word } from "./format.js";
import { jobLink, nothing, runLink, time, zoning } from "./table.js";

/** A table behind a picture. @param {string} summary @param {string[]} head @param {Child[][]} rows */
export function asTable(summary, head, rows) {
  return h(
    "details",
    h("summary", summary),
    h(
      "table",
      h(
        "thead",
        h(
          "tr",
          head.map((label) => h("th", { scope: "col" }, label))
        )
      ),
      h(
        "tbody",
        rows.map((row) =>
          h(
            "tr",
            row.map((cell) => h("td", cell))
          )
        )
      )
    )
  );
}

/** What shapes mean. @param {[string, string][]} keys */
export function legend(keys) {
  return h(
    "p.legend",
    keys.map(([fill, text]) =>
      h(
        "span",
        s(
          "svg",
          { viewBox: "0 0 12 12", "aria-hidden": "true" },
          s(`rect.${fill}`, { x: 1.5, y: 1.5, width: 9, height: 9 }),
          fill === "f-bad" && s("path.cut", { d: "M4 4l4 4m0-4l-4 4" })
        ),
        text
      )
    )
  );
}

const CELL = 12;

/** Twelve months of days; a week is a line and begins on Monday. @param {string} first `YYYY-MM`
 * @param {Map<string, {fill: string, title: string}>} days @param {string} label */
export function calendar(first, days, label) {
  const [year = 0, month = 1] = first.split("-").map(Number);
  return h(
    "div.calendar",
    { role: "img", "aria-label": label },
    MONTHS.map((_, index) => {
      const start = new Date(Date.UTC(year, month - 1 + index, 1));
      const offset = (start.getUTCDay() + 6) % 7;
      const name = start.toISOString().slice(0, 7);
      const count = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0)).getUTCDate();
      const cells = Array.from({ length: count }, (_, date) => {
        const [x, y] = [((offset + date) % 7) * CELL, Math.floor((offset + date) / 7) * CELL];
        const key = `${name}-${String(date + 1).padStart(2, "0")}`;
        const { fill, title } = days.get(key) ?? { fill: "f-none", title: "nothing" };
        return [
          s(
            `rect.${fill}`,
            { x: x + 0.5, y: y + 0.5, width: CELL - 3, height: CELL - 3 },
            s("title", `${key}: ${title}`)
          ),
          fill === "f-bad" && s("path.cut", { d: `M${x + 3} ${y + 3}l4 4m0-4l-4 4` })
        ];
      });
      const isNamed = index === 0 || name.endsWith("-01");
      return h(
        "div",
        dim(MONTHS[start.getUTCMonth()], isNamed && ` ${name.slice(0, 4)}`),
        s("svg", { width: 7 * CELL, height: 6 * CELL, "aria-hidden": "true" }, cells)
      );
    })
  );
}

/** A year of a job: the worst of each day. @param {Heatmap} heatmap */
export function heat({ year, days, is_cut }) {
  const isBad = (/** @type {Heatmap["days"][number]} */ { worst }) => ["bad", "warn"].includes(tone(worst));
  const bad = days.filter(isBad).reverse();
  const found = new Map(
    days.map(({ date, worst, runs, failed, missed }) => [
      date,
      {
        fill: `f-${tone(worst) === "ok" ? "calm" : tone(worst)}`,
        title: `${plural(runs, "run")}, ${failed} failed, ${missed} missed`
      }
    ])
  );
  const label = `${year}: runs on ${plural(days.length, "day")}, failures or misses on ${bad.length}`;
  return [
    calendar(`${year}-01`, found, label),
    is_cut && h("p", "Of the last 10,000 runs."),
    legend([
      ["f-calm", "all succeeded"],
      ["f-bad", "a failure"],
      ["f-warn", "missed"],
      ["f-dim", "skipped or cancelled"],
      ["f-none", "nothing"]
    ]),
    0 < bad.length &&
      asTable(
        `${plural(bad.length, "day")} with a failure or a miss`,
        ["day", "runs", "failed", "missed"],
        bad.map(({ date, runs, failed, missed }) => [date, runs, failed, missed])
      )
  ];
}

/** Lengths that people know; a scale runs from one of them to another. */
const STEPS = [1, 10, 100, 1e3, 1e4, 6e4, 6e5, 3.6e6, 3.6e7, 8.64e7, 8.64e8, 8.64e9];

/** Lengths or latenesses of the last runs. @param {Stats["points"]} points
 * @param {"duration_ms" | "lateness_ms"} field @param {string} label */
export function dots(points, field, label) {
  const shown = points.flatMap((point) =>
    point[field] === null ? [] : [{ ...point, value: Math.max(1, point[field]) }]
  );
  const [first, last] = [shown[0], shown.at(-1)];
  if (first === undefined || last === undefined) return nothing("No run has ended yet.");
  const [width, height, left] = [440, 130, 52];
  const values = shown.map(({ value }) => value);
  const from = STEPS.findLastIndex((step) => step <= Math.min(...values));
  const until = Math.max(
    from + 1,
    STEPS.findIndex((step) => Math.max(...values) <= step)
  );
  const scale = STEPS.slice(from, until + 1);
  const log = (/** @type {number} */ value) =>
    Math.log(value / (scale[0] ?? 1)) / Math.log((scale.at(-1) ?? 10) / (scale[0] ?? 1));
  const y = (/** @type {number} */ value) => height - 22 - log(value) * (height - 32);
  const step = (width - left - 8) / Math.max(1, shown.length - 1);
  const today = partsIn(now(), "UTC").date;
  const text = (
    /** @type {number} */ x,
    /** @type {number} */ at,
    /** @type {string} */ words,
    anchor = "end"
  ) => s("text", { x, y: at, "text-anchor": anchor }, words);
  return [
    s(
      "svg.dots",
      {
        viewBox: `0 0 ${width} ${height}`,
        role: "img",
        "aria-label": `${label} of the last ${plural(shown.length, "run")}`
      },
      scale.map((value) => [
        s("path.grid", { d: `M${left} ${y(value)}H${width}` }),
        text(left - 6, y(value) + 4, length(value))
      ]),
      text(left, height - 4, day(first.at.slice(0, 10), today), "start"),
      text(width, height - 4, day(last.at.slice(0, 10), today)),
      shown.map(({ value, state, at }, index) => {
        const [x, top] = [left + 4 + index * step, y(value)];
        const title = s("title", `${at}: ${length(value)}, ${word(state)}`);
        return tone(state) === "bad"
          ? s("path.c-bad", { d: `M${x - 3} ${top - 3}l6 6m0-6l-6 6` }, title)
          : s("circle.f-ok", { cx: x, cy: top, r: 2.2 }, title);
      })
    ),
    asTable(
      "As a table",
      ["due", label, "state"],
      shown
        .slice(-50)
        .reverse()
        .map(({ run, at, civil, value, state }) => [
          runLink(/** @type {any} */ ({ run }), time(at, civil)),
          length(value),
          word(state)
        ])
    )
  ];
}

// What is ahead ---------------------------------------------------------------------------------------------

const WIDTH = 1_000;
const QUARTER_MS = 900_000;

/** A picture as wide as there is room.
 * @param {string} label @param {number} height @param {Child[]} children */
const wide = (label, height, ...children) =>
  s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    children
  );

/** @param {Upcoming} upcoming @returns {(at: number) => number} */
function scaleOf({ from, to }) {
  const [start, end] = [Date.parse(from), Date.parse(to)];
  return (at) => ((at - start) / (end - start)) * WIDTH;
}

/** How many start in each minute, so that herds are seen. @param {Upcoming} upcoming */
export function histogram({ from, histogram: { counts, step_ms, estimated_from } }) {
  const most = Math.max(1, ...counts);
  const { text } = civilText(
    new Date(Date.parse(from) + counts.indexOf(most) * step_ms).toISOString(),
    undefined,
    zoning() === "mine" ? "mine" : "utc",
    now()
  );
  const x = WIDTH / Math.max(1, counts.length);
  const stems = counts.map((count, index) =>
    count === 0 ? "" : `M${(index + 0.5) * x} 40V${40 - (count / most) * 38}`
  );
  return h(
    "div.lane.plain",
    dim(`at most ${estimated_from ? "about " : ""}${plural(most, "start")} in ${length(step_ms)}`),
    wide(
      `Starts in each ${length(step_ms)}: at most ${most}, at ${text}`,
      40,
      s("path.stems", { d: stems.join("") })
    )
  );
}

/** The hours or days above the lanes. @param {Upcoming} upcoming */
export function axis(upcoming) {
  const [start, end] = [Date.parse(upcoming.from), Date.parse(upcoming.to)];
  const x = scaleOf(upcoming);
  const isDay = end - start < 90_000_000;
  const isMine = zoning() === "mine";
  const texts = [];
  // Marks stand at whole hours of the zone that is shown, whatever its offset.
  for (let at = Math.ceil(start / QUARTER_MS) * QUARTER_MS; at < end; at += QUARTER_MS) {
    const { clock, date } = partsIn(at, isMine ? undefined : "UTC");
    const hour = Number(clock.slice(0, 2));
    if (!clock.endsWith(":00") || hour % (isDay ? 3 : 24) !== 0) continue;
    // On a telephone the last one would be cut off.
    const kind = x(at) < 890 ? "text" : "text.edge";
    texts.push(s(kind, { x: `${x(at) / 10}%`, y: 14 }, hour === 0 ? day(date, date) : clock));
  }
  return h("div.lane.plain", { "aria-hidden": "true" }, dim(isMine ? "my zone" : "UTC"), s("svg", texts));
}

/** One job's lane. @param {Upcoming} upcoming @param {Lane} lane */
export function lane(upcoming, { job, zone, times, count, median_ms, overlaps, paused }) {
  const x = scaleOf(upcoming);
  const rect = (
    /** @type {string} */ kind,
    /** @type {number} */ from,
    /** @type {number} */ until,
    /** @type {number} */ least,
    /** @type {number} */ height,
    /** @type {string} */ title
  ) =>
    s(
      `rect.${kind}`,
      { x: x(from), y: 10 - height / 2, width: Math.max(least, x(until) - x(from)), height },
      s("title", title)
    );
  const first = Date.parse(times[0]?.at ?? "");
  // What is more often than bars can be drawn is one line.
  const isDense = times.length < count;
  // If each of those that are drawn meets the one before, so do the others.
  const isMet = isDense && times.length <= overlaps.length + 1;
  const bars = isDense
    ? rect(
        isMet ? "hatch" : "f-run",
        first,
        Date.parse(upcoming.to),
        3,
        isMet ? 12 : 4,
        plural(count, "time")
      )
    : times.map(({ at, civil, remark }) =>
        rect(
          remark ? "f-warn" : "f-run",
          Date.parse(at),
          Date.parse(at) + (median_ms ?? 0),
          3,
          12,
          `${civil}${remark ? `: ${remark.text}` : ""}`
        )
      );
  const label = `${job}: ${plural(count, "time")}, ${plural(overlaps.length, "overlap")} predicted`;
  return h(
    `div.lane${paused ? ".paused" : ""}`,
    { "data-key": job, "data-job": job },
    jobLink(job, "a.open"),
    wide(
      label,
      20,
      upcoming.changes
        .filter((change) => change.zone === zone)
        .map(({ at, delta_ms, text }) =>
          rect(
            "dst",
            Date.parse(at) - Math.abs(delta_ms),
            Date.parse(at) + Math.abs(delta_ms),
            4,
            20,
            `${place(zone)}: ${text}`
          )
        ),
      bars,
      !isMet &&
        overlaps.map(({ at, until, text }) => rect("hatch", Date.parse(at), Date.parse(until), 5, 18, text))
    )
  );
}

/** Nominal, due, started, ended: when, and how long each took. @param {RunDetail} run */
export function timeline(run) {
  const points = /** @type {const} */ (["nominal", "due", "started", "ended"]).flatMap((name) =>
    run[name] === null ? [] : [{ name, at: run[name] }]
  );
  return h(
    run.ended === null ? "ol.timeline" : "ol.timeline.ended",
    points.map(({ name, at }, index) => {
      const gap = Date.parse(at) - Date.parse(points[index - 1]?.at ?? at);
      return h("li", h("b", name), time(at, run.civil[name]), 0 < gap && h("span.gap", `+${length(gap)}`));
    })
  );
}
