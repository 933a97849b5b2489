// The laboratory of the mock server, and its check of files: as much as `cron.js` understands.

import { civil } from "./clock.js";
import { Bad, UNITS, changes, parse, sentence, times } from "./cron.js";
import { Refusal } from "./refusal.js";

const HOUR = 3_600_000;

/** @param {any} body @param {number} now */
export function explain({ schedule, dialect, zone, n }, now) {
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
      is_cut: false,
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

/** @param {string} kind @param {any} body */
export function check(kind, body) {
  const files = body.files.map((/** @type {{path: string, text: string}} */ { path, text }) => {
    /** @type {any[]} */
    const [faults, jobs] = [[], []];
    text.split("\n").forEach((line, index) => {
      const words = line.trim().split(/\s+/);
      if (path.endsWith(".toml") ? !line.includes("cron") : words.length < 6 || line.startsWith("#")) return;
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
    return { path, faults, faults_left_out: 0, jobs, jobs_left_out: 0 };
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
    faults: files[0].faults,
    faults_left_out: 0
  };
}
