// The fixtures of the mock server: which jobs there are, which files, what is wrong.
//
// It is a night on which Europe's clocks go back: 25 October 2026, 00:14 in Berlin.

/** @import {FileState, Finding, Once} from "../api.d.ts" */
import { chance, civils, instant } from "./clock.js";

export const START = Date.parse("2026-10-24T22:14:07Z");
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** What the fixture says of a job.
 * @typedef {object} Plan
 * @property {string} name
 * @property {string} cron
 * @property {string} zone
 * @property {string} action
 * @property {string | null} group
 * @property {Record<string, string>} labels
 * @property {string} source
 * @property {number} line
 * @property {number} ms       how long a run takes, about
 * @property {number} fails    how often a run fails, of 1
 * @property {string} [special]
 */

/** Text that attacks: markup, a terminal, directions, controls. */
export const HOSTILE =
  "<script>document.title='owned'</script><img src=x onerror=alert(1)> \u202egnp.exe\u202c \u0000\u0007 \u2066x\u2069 end";

/** @type {[string, string, string, string, number, number, string?][]} */
const NAMED = [
  [
    "backup-db",
    "30 2 * * *",
    "Europe/Berlin",
    "/usr/local/bin/backup --all --target s3://backups/db",
    1_460_000,
    0.02,
    "failing"
  ],
  ["billing-close", "0 3 1 * *", "Europe/Berlin", "/opt/billing/close-month", 5_200_000, 0.05],
  ["certificates", "17 4 * * 1", "UTC", "certbot renew --quiet", 21_000, 0.03],
  ["ci-nightly", "0 0 * * *", "Europe/Berlin", "make nightly", 2_900_000, 0.1, "running"],
  ["export-ledger", "@every 10m", "UTC", "/opt/ledger/export --since last", 660_000, 0.05, "long"],
  ["heartbeat", "@every 10s", "UTC", "curl -fsS https://status.example.com/ping/7c1", 180, 0.001],
  [
    "import-orders",
    "*/5 * * * *",
    "America/New_York",
    "/opt/orders/import --batch 500",
    42_000,
    0.06,
    "dead"
  ],
  ["mail-digest", "0 7 * * 1-5", "America/New_York", "/opt/mail/digest", 64_000, 0.01, "paused"],
  [
    "report-daily-for-every-region-and-currency-with-a-name-that-is-too-long-for-any-column",
    "45 1 * * *",
    "Europe/Berlin",
    "/opt/report/daily",
    380_000,
    0.02
  ],
  ["rotate-logs", "0 * * * *", "UTC", "logrotate /etc/logrotate.conf", 900, 0.004],
  ["sensor-poll", "* * * * *", "UTC", "/opt/sensors/poll --all", 8_000, 0.01, "silent"],
  ["stale-agenda", "20 5 * * *", "Europe/Lisbon", "/opt/cleanup/tmp", 15_000, 0, "mismatched"],
  ["terminal", "5 6 * * *", "UTC", "printf '\\033[31mred\\033[0m'", 1_200, 0.5, "hostile"],
  ["warm-cache", "15 2 * * *", "Europe/Berlin", "/opt/shop/warm", 95_000, 0.01]
];

const TEAMS = ["orders", "search", "ledger", "fleet", "media", "people", "shop", "sites"];
const TASKS = [
  "aggregate",
  "archive",
  "check",
  "clean",
  "compact",
  "export",
  "feed",
  "import",
  "index",
  "notify",
  "prune",
  "publish",
  "reconcile",
  "refresh",
  "report",
  "scan",
  "score",
  "sync",
  "thumbnails",
  "train",
  "vacuum",
  "verify",
  "warm",
  "backfill-daily",
  "snapshot",
  "rotate",
  "geocode",
  "dedupe",
  "invoice",
  "reindex",
  "quota",
  "audit",
  "billing",
  "fx-rates",
  "holidays",
  "heartbeat",
  "metrics",
  "forecast",
  "mirror",
  "translate"
];
const CRONS = [
  "*/15 * * * *",
  "0 * * * *",
  "5 * * * *",
  "30 4 * * *",
  "0 2 * * *",
  "15 3 * * *",
  "0 9 * * 1-5",
  "0 6 * * 1",
  "45 23 * * *",
  "20 1 1 * *",
  "0 */6 * * *",
  "@every 30m"
];
const ZONES = [
  "UTC",
  "UTC",
  "Europe/Berlin",
  "Europe/Berlin",
  "America/New_York",
  "Asia/Kolkata",
  "Australia/Lord_Howe"
];

/** @returns {Plan[]} */
export function plans() {
  const named = NAMED.map(([name, cron, zone, action, ms, fails, special], index) => ({
    name,
    cron,
    zone,
    action,
    ms,
    fails,
    ...(special === undefined ? {} : { special }),
    group: ["backup-db", "billing-close", "export-ledger"].includes(name) ? "heavy" : null,
    labels:
      name === "backup-db" ? { team: "platform", tier: "1" } : /** @type {Record<string, string>} */ ({}),
    source: "/etc/mainspring/jobs.toml",
    line: 8 + index * 7
  }));
  const more = TEAMS.flatMap((team, row) =>
    TASKS.map((task, column) => {
      const name = `${team}-${task}`;
      const pick = (/** @type {string[]} */ list, /** @type {string} */ salt) =>
        list[Math.floor(chance(name + salt) * list.length)] ?? "";
      return {
        name,
        cron: pick(CRONS, "cron"),
        zone: pick(ZONES, "zone"),
        action: `/opt/${team}/bin/${task}`,
        ms: Math.round(400 * 10 ** (chance(`${name}ms`) * 3)),
        fails: chance(`${name}f`) * 0.02,
        group: column % 5 === 0 ? team : null,
        labels: { team },
        source: row < 6 ? `/etc/mainspring/${team}.toml` : "/etc/cron.d/legacy",
        line: 4 + column * 6
      };
    })
  );
  return [...named, ...more].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The files that these jobs come from. @param {Plan[]} jobs @returns {FileState[]} */
export function files(jobs) {
  const sources = [...new Set(jobs.map(({ source }) => source))].sort();
  const files = sources.map((name) => ({
    name,
    read: instant(START - 3 * DAY),
    jobs: jobs.filter(({ source }) => source === name).length,
    problems: "",
    state_code: /** @type {FileState["state_code"]} */ ("applied"),
    state: "in force",
    faults: /** @type {FileState["faults"]} */ ([]),
    civil: {}
  }));
  const legacy = files.find(({ name }) => name === "/etc/cron.d/legacy");
  if (legacy)
    Object.assign(legacy, {
      state_code: "problems",
      state: "has problems; what was read before stays in force",
      problems: "..",
      faults: [
        {
          line: 12,
          column: 3,
          end_column: 5,
          field: null,
          severity: "problem",
          message: "24 is outside of the hour field: expected 0 to 23",
          hint: "did you mean `0`?",
          excerpt: "0 24 * * * root /opt/shop/bin/vacuum"
        },
        {
          line: 31,
          column: 12,
          end_column: 20,
          field: null,
          severity: "problem",
          message: "the user `buildbot` does not exist",
          hint: null,
          excerpt:
            "15 3 * * * buildbot /opt/sites/bin/publish --all --target /srv/www/production --keep 14 --verbose"
        },
        {
          line: 40,
          column: 5,
          end_column: 11,
          field: null,
          severity: "warning",
          message: "both day fields are given: it runs when either one matches",
          hint: null,
          excerpt: "0 0 13 * 5 root /opt/sites/bin/unlucky"
        }
      ]
    });
  const media = files.find(({ name }) => name.endsWith("media.toml"));
  if (media) Object.assign(media, { state: "in force; changed on disk 4 s ago" });
  for (const file of files) file.civil = civils(file, "Europe/Berlin", ["read"]);
  return files;
}

/** @returns {Once[]} */
export function once() {
  return [
    ["tea", 9 * MINUTE, "echo 'tea is ready'"],
    ["once-2839k4z0ztlvt5-e13wu1om", 40 * MINUTE, "/opt/fleet/bin/reboot rack-7"],
    ["invoice-run", 11 * HOUR, "/opt/billing/run --month 2026-10"]
  ].map(([name, after, action], index) => {
    const once = {
      name: String(name),
      due: instant(START + Number(after)),
      key: index === 0 ? "tea" : null,
      submitted: instant(START - HOUR),
      action: String(action),
      policies: "",
      id: `o${index}`,
      civil: {}
    };
    once.civil = civils(once, "Europe/Berlin", ["due", "submitted"]);
    return once;
  });
}

/** @returns {Finding[]} */
export function findings() {
  return [
    { subject: "data", level: "ok", text: "/var/lib/mainspring", code: "data" },
    {
      subject: "clock",
      level: "warning",
      text: "the clock was set forward by 41 s at 23:58:12",
      hint: "Runs that were due in between are caught up or recorded as missed; see whether time synchronisation works",
      code: "clock_jumped"
    },
    { subject: "store", level: "ok", text: "it answers; the last commit took 2 ms", code: "store" },
    {
      subject: "file",
      level: "bad",
      text: "/etc/cron.d/legacy has 2 problems, and what was read before stays in force",
      hint: "Mend lines 12 and 31",
      code: "file_problems",
      file: "/etc/cron.d/legacy"
    },
    {
      subject: "agenda",
      level: "bad",
      text: "the next time of 1 job is not armed",
      hint: "This is a fault of the server: restart it, and report it",
      code: "agenda_mismatch"
    },
    {
      subject: "room",
      level: "warning",
      text: "1.9 GiB are free where the store lies; a day of output needs 1.2 GiB",
      hint: "Make room, or keep less output: output_bytes, retention",
      code: "disk"
    },
    { subject: "zone", level: "ok", text: "Europe/Berlin, zone data 2026b", code: "zone" }
  ];
}
