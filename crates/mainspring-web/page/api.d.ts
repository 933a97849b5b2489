// The documents of the HTTP API, as the page uses them.
//
// ```text
// the types in the code --> testdata/openapi.json --> this file: `cargo xtask reference`; changes here are lost
// ```
//
// - An instant is RFC 3339 in UTC (`2026-10-25T00:30:00Z`). The civil time of the same instant, in the zone
//   of the job, stands in `civil` under the same name, as RFC 9557
//   (`2026-10-25T02:30:00+02:00[Europe/Berlin]`). The server computes it; the page computes civil times only
//   for "my zone" and "UTC", which belong to no job.
// - A sentence for people has a code beside it. The page decides by codes and shows sentences.
// - A length of time is a number of milliseconds and ends in `_ms`.
// - A list is `{items, next}`; `next` is a text for the parameter `after`, or null at the end.
// - An answer outside of 2xx is `application/problem+json`: see Problem.
// - Every answer has a `Date` header with the server's clock. The page counts down by that clock, not by its
//   own.
//
// Source: RFC 3339, RFC 9557, RFC 9457.

/** An action that still runs, or is done. */
export interface Accepted {
  count: number;
  href: string;
  /** The action whose progress can be asked for. */
  id: string;
}

/** What is done to many jobs or runs. */
export interface ActionParams {
  /** What can be done to many. */
  do: "run" | "pause" | "resume" | "cancel" | "retry" | "drop";
  /** The count of the preview; another one now is 409 `changed`. */
  expected?: number | null;
  /** The parameters of GET jobs or GET runs that choose. */
  filter?: Record<string, string> | null;
  ids?: string[] | null;
  /** What is said about it, for the audit: at most 1,024 bytes. */
  note?: string | null;
  of: "jobs" | "runs";
  /** Only tells what would be done. */
  preview?: boolean;
  /** Until when, for a pause. */
  until?: string | null;
}

/** What an action would be done to. */
export interface ActionPreview {
  count: number;
  /** 10 at most. */
  examples: string[];
}

/** How far an action is. */
export interface ActionState {
  count: number;
  done: number;
  /** The first 10. */
  errors: { detail: string; id: string }[];
  failed: number;
  id: string;
  state: "running" | "done";
}

/** What a set of files changes, as `apply` has it and with what a page needs. */
export interface Applied {
  added: string[];
  changed: string[];
  /** A unified diff of definitions; in a preview alone. Beyond four megabytes its last line says how many
   * jobs are left out. */
  diff: string;
  /** The first thousand, in four megabytes at most. */
  faults: Fault[];
  /** How many more there are. */
  faults_left_out: number;
  problems: string;
  refused: string[];
  removed: string[];
  unchanged: number;
}

/** Files to take over. */
export interface ApplyParams {
  files: Sent[];
  /** Only tells what would change. */
  preview?: boolean;
  /** Whether jobs of these files that are not in them any more are removed. */
  prune?: boolean;
}

/** One try of a run. */
export interface Attempt {
  /** In the zone of the job. */
  civil: Civils;
  /** How long it took. */
  duration_ms: number | null;
  ended: Instant | null;
  /** The machine of the server that carried it out, where several share the store. */
  host?: string;
  number: number;
  outcome: string | null;
  /** The number of that server's life. */
  server?: number;
  started: Instant;
  state: RunState | null;
}

/** What somebody asked for, as `audit` has it and with what a page needs. */
export interface AuditEntry {
  /** The command. */
  action: string;
  /** `uid 1000` over the socket; over HTTP `token NAME`, `proxy user NAME` or `local user`. */
  actor: string;
  at: Instant;
  /** In the zone of the server. */
  civil: Civils;
  /** The job that it is about. */
  job: string | null;
  /** What was said about it; empty if nothing was. */
  note: string;
  /** Counts up. */
  number: number;
  /** Where from. */
  origin: "socket" | "HTTP";
  /** The run that it is about. */
  run: string | null;
  /** A job, a run or a one-shot job; empty for everything. */
  target: string;
  /** The sentence for people. */
  text: string;
}

/** A page of rows. */
export interface AuditEntryList {
  /** Those of this page. */
  items: AuditEntry[];
  /** Where the next page begins, for the parameter `after`; null at the end. */
  next: string | null;
  /** How many match in all; null where counting would cost a scan. */
  total: number | null;
}

/** Times to run again. */
export interface BackfillParams {
  /** The count of the preview; another one now is 409 `changed`. */
  expected?: number | null;
  from: string;
  /** Only tells what would be done. */
  preview?: boolean;
  to: string;
}

/** What a backfill would run. */
export interface BackfillPreview {
  count: number;
  /** The first 20. */
  times: Moment[];
}

export type Cause = "trigger" | "catch_up" | "boot" | "request" | "backfill" | "once" | "after";

/** Files to check. */
export interface CheckParams {
  files: Sent[];
}

/** What is wrong with files, and what is in them. */
export interface Checked {
  files: { faults: Fault[]; faults_left_out: number; jobs: { definition: string; name: string; sentence: string }[]; jobs_left_out: number; path: string }[];
}

/** RFC 9557: local time, offset and zone. */
export type Civil = string;

/** Civil times of instants of the same object, by the names of those. A name that is missing has no
 * instant either. */
export type Civils = Record<string, Civil>;

/** What the servers are like that share a store. Times are by the database's clock. */
export interface Cluster {
  /** By how much the clock of the server that answers is ahead of the database's; less than 0: behind it. */
  clock_ahead_ms: number;
  /** The database. */
  database: Database;
  /** How often a server was refused a write because another plans. */
  fenced: number;
  /** How long the oldest of what waits has waited. */
  inbox_oldest_ms: number | null;
  /** What was refused, and is kept there for people. */
  inbox_refused: number;
  /** What waits in the inbox. */
  inbox_waiting: number;
  /** How long its lease lasts unless it is renewed; of the server that answers, by its own clock. */
  lease_left_ms: number;
  /** Those that were taken for lost in the last hour, and whose process is not back. */
  lost: LostServer[];
  /** Which server plans; empty if none does. */
  planner: string;
  /** Those that are there, with what each carries out. */
  servers: Member[];
  /** How often a server began to plan, by how the planner before had ended. */
  takeovers: Record<string, number>;
}

/** How a database is. */
export interface Database {
  /** Rows of the servers' tables that autovacuum is still to remove. */
  dead_rows: number;
  /** Whether a pooler stands before it. */
  is_pooled: boolean;
  /** Rows that are in use. */
  live_rows: number;
  /** Whether the role may make the tables of a later version. */
  may_migrate: boolean;
  /** How long the oldest transaction has run, as far as the role may see it. */
  oldest_transaction_ms: number;
  /** How many transactions have begun since the oldest that keeps old rows from being removed. */
  oldest_xmin_age: number;
  /** Schemas that names could be looked for in, and the database, where others than the servers' role,
   * the owner and superusers may create something. */
  others_create_in: string[];
  /** The servers' role, as it is written in SQL. */
  role: string;
  /** How many standbys of the database are connected. */
  standbys: number;
  /** Its setting of that name, for the servers' role. */
  synchronous_commit: string;
  /** How many of them a commit waits for. */
  synchronous_standbys: number;
  /** How many sessions of other roles it may not see the transactions of. */
  unseen_sessions: number;
  /** How many of them the role may not see the state of. */
  unseen_standbys: number;
  /** Its version. */
  version: string;
  /** Whether its settings name standbys that a commit is to wait for. */
  wants_synchronous: boolean;
}

/** A job to make. */
export interface DefineParams {
  /** The keys of the job as a job file has them, instead of `toml`. */
  job?: Record<string, unknown> | null;
  /** The name of a job that is given as `job`; in PUT that of the address, if it is left out. */
  name?: string | null;
  /** One job, as a table of a job file: `[jobs.NAME]` and what follows. */
  toml?: string | null;
}

export type Dialect = "unix" | "quartz" | "oncalendar";

/** How some lengths of time are spread. */
export interface Distribution {
  count: number;
  max_ms: number | null;
  median_ms: number | null;
  p95_ms: number | null;
}

/** An expression, and what is asked of it. */
export interface ExplainParams {
  day_rule?: "star" | "or" | "and" | null;
  dialect?: Dialect | null;
  dst?: string | null;
  from?: string | null;
  n?: number | null;
  /** The name of the job, from which H and ~ choose their values. */
  name?: string | null;
  schedule: string;
  /** A name of the IANA database. */
  zone?: string | null;
}

/** The documents of `explain`, `next` and `translate` in one, and a year by days. */
export interface Explained {
  day_rule: string;
  /** How often on each day of the 12 months from `from`; days with none are left out. */
  days: { count: number; date: string }[];
  dialect: Dialect;
  dst: string;
  /** An `Explanation`. */
  explanation: { changes: { at: string; effect: string; text: string }[]; fields: { text: string; unit: string; values: string }[]; notes: string[]; sentence: string; warnings: { end: number; start: number; text: string }[] };
  expression: string;
  from: string;
  /** It is due more often than 600,000 times, which are counted: later days are left out. */
  is_cut: boolean;
  times: Moment[];
  /** The document of `translate` for each dialect. */
  translations: { notes: string[]; reason: string | null; to: string; translation: string | null }[];
  zone: string;
}

/** What is wrong with a text, and where. */
export interface Fault {
  /** In characters, from 1. */
  column: number | null;
  /** The column after the last bad character. */
  end_column: number | null;
  /** The line as it stands in the file, shortened around the fault; null if there is none. */
  excerpt: string | null;
  /** The field of a JSON body, if the fault is in one: `work.process.run[0]`. */
  field: string | null;
  /** What to do. */
  hint: string | null;
  /** From 1; null if the text is no file. */
  line: number | null;
  /** What is wrong. */
  message: string;
  /** The path of the file, where files were sent; else null. */
  path: string | null;
  /** How bad it is. */
  severity: "problem" | "warning" | "note";
}

/** A file of jobs, as `status` has it and with its problems. */
export interface FileState {
  /** In the zone of the server. */
  civil: Civils;
  /** What is wrong with it, with its places. */
  faults: Fault[];
  /** How many jobs it gave. */
  jobs: number;
  /** Its path. */
  name: string;
  /** What is to be known of it beside that, as that it has lost most of its jobs; left out if nothing is. */
  notice?: string;
  /** What is wrong with it as it is now, as the text that `check` prints; empty if nothing is. */
  problems: string;
  /** When the set that is in force was read. */
  read: Instant | null;
  /** The same for people. */
  state: string;
  /** How it is, for programs. */
  state_code: "applied" | "problems" | "unreadable";
}

/** A page of rows. */
export interface FileStateList {
  /** Those of this page. */
  items: FileState[];
  /** Where the next page begins, for the parameter `after`; null at the end. */
  next: string | null;
  /** How many match in all; null where counting would cost a scan. */
  total: number | null;
}

/** One thing that was looked at. */
export interface Finding {
  /** What was found, for programs. Equal to the subject unless a subject can have several. */
  code: string;
  /** The file that it is about, if it is about one. */
  file?: string;
  /** What to do. */
  hint?: string;
  /** How bad it is. */
  level: Level;
  /** What was looked at. */
  subject: string;
  /** What was found, for people. */
  text: string;
}

/** The document of `doctor --json`, and what has a limit. */
export interface Health {
  asked: "server";
  findings: Finding[];
  level: Level;
  /** What has a limit, and how much of it is in use. */
  limits: Limit[];
  /** Bytes of database, journal, output; and what is free. */
  store: { bytes: number; part: string }[];
}

/** A year of a job. */
export interface Heatmap {
  /** Days with at least one run, in the zone of the job. */
  days: { date: string; failed: number; missed: number; runs: number; worst: RunState }[];
  /** There are more runs than the last 10,000, which are looked at: earlier days are left out. */
  is_cut: boolean;
  year: number;
}

/** RFC 3339, in UTC. */
export type Instant = string;

/** A job, as `list` has it and with what a page needs. */
export interface Job {
  action: string;
  /** When the server will look at it next: at `next`, or before it where that is far away. Later than
   * `next`, or null beside it, is a fault, and stands in `troubles`. */
  armed: Instant | null;
  armed_civil?: Civil;
  civil: Civils;
  /** How many failures in a row. */
  failures: number;
  group: string | null;
  /** Whether everything is paused: the server looks at no time then, and `armed` is null. */
  is_paused_with_all: boolean;
  labels: Record<string, string>;
  last: Run | null;
  /** Of the runs that succeeded among the last 100; null without one. */
  median_ms: number | null;
  name: string;
  /** When it is due next, as its timetable says. */
  next: Instant | null;
  next_civil?: Civil;
  /** Of the same runs. */
  p95_ms: number | null;
  pause: Pause | null;
  pause_terms?: PauseTerms;
  policies: string;
  priority: number;
  /** How far its last run is, while it runs and tells it. */
  progress?: Progress;
  queued: number;
  /** The last 20 runs, the oldest first. */
  recent: Square[];
  running: number;
  runs: number;
  /** Beside each trigger: what it means. */
  sentences: string[];
  /** Since when no run has succeeded, if that is longer than `silent_after` says. */
  silent_since?: Instant;
  source: string;
  /** Where a definition came from, for programs. */
  source_code: "file" | "command" | "program";
  /** The line of the file. */
  source_line: number | null;
  /** The words of `list`. */
  state: string;
  state_code: JobState;
  triggers: string[];
  troubles: Trouble[];
  /** The zone of the first trigger. */
  zone: string;
}

/** A job with its definition. */
export interface JobDetail {
  action: string;
  /** When the server will look at it next: at `next`, or before it where that is far away. Later than
   * `next`, or null beside it, is a fault, and stands in `troubles`. */
  armed: Instant | null;
  armed_civil?: Civil;
  civil: Civils;
  /** A table of a job file. Secrets are not in it. */
  definition: string;
  /** How many failures in a row. */
  failures: number;
  group: string | null;
  /** Each reason why it does not run now, and what ends it; left out if there is none. */
  holds?: { code: string; ends: string; why: string }[];
  /** Whether everything is paused: the server looks at no time then, and `armed` is null. */
  is_paused_with_all: boolean;
  labels: Record<string, string>;
  last: Run | null;
  /** Of the runs that succeeded among the last 100; null without one. */
  median_ms: number | null;
  name: string;
  /** When it is due next, as its timetable says. */
  next: Instant | null;
  next_civil?: Civil;
  /** Of the same runs. */
  p95_ms: number | null;
  pause: Pause | null;
  pause_terms?: PauseTerms;
  policies: string;
  /** Each policy that is not the default, in words. */
  policy_words: { code: string; text: string }[];
  priority: number;
  /** How far its last run is, while it runs and tells it. */
  progress?: Progress;
  queued: number;
  /** The last 20 runs, the oldest first. */
  recent: Square[];
  running: number;
  runs: number;
  /** Beside each trigger: what it means. */
  sentences: string[];
  /** Since when no run has succeeded, if that is longer than `silent_after` says. */
  silent_since?: Instant;
  source: string;
  /** Where a definition came from, for programs. */
  source_code: "file" | "command" | "program";
  /** The line of the file. */
  source_line: number | null;
  /** The words of `list`. */
  state: string;
  state_code: JobState;
  triggers: string[];
  troubles: Trouble[];
  /** The first runs that wait for their time, as `show --json` has them; left out if there is none. */
  waiting?: PlainRun[];
  /** How many wait for their time; left out if none does. */
  waiting_count?: number;
  /** The zone of the first trigger. */
  zone: string;
}

/** A page of jobs. */
export interface JobList {
  /** Those of this page. */
  items: Job[];
  /** Where the next page begins, for the parameter `after`; null at the end. */
  next: string | null;
  /** How many match in all; null where counting would cost a scan. */
  total: number | null;
  /** How many are behind in no order: by median and p95 1,000 are sorted. */
  unsorted: number;
}

/** How a job is, for programs. */
export type JobState = "active" | "paused" | "paused_failures" | "paused_crashes" | "quarantined" | "done";

/** When a job is due. */
export interface Lane {
  /** How many there are in all, or at least if is_cut. */
  count: number;
  group: string | null;
  /** There are more than were counted. */
  is_cut: boolean;
  job: string;
  median_ms: number | null;
  /** Where a run will probably still be going when the next is due. `until` is the end of the first of
   * the two. */
  overlaps: { at: Instant; code: string; text: string; until: Instant }[];
  paused: boolean;
  /** At most 300, and 60,000 of all lanes. */
  times: Moment[];
  zone: string;
}

/** How bad something is, the worst last. */
export type Level = "ok" | "warning" | "bad";

/** What has a limit. */
export interface Limit {
  code: string;
  max: number;
  text: string;
  used: number;
}

/** A server that was taken for lost. */
export interface LostServer {
  /** Its machine. */
  host: string;
  /** The number of its life, as histories have it. */
  id: number;
  /** How long ago it was taken for lost. */
  since_ms: number;
}

/** A server. */
export interface Member {
  /** Its data directory. */
  address: string;
  /** How many runs it takes at once. */
  capacity: number;
  /** Its machine. */
  host: string;
  /** The number of its life, as histories have it; 0 for one that carries nothing out. */
  id: number;
  /** Whether it is about to end, so that nothing starts there. */
  is_leaving: boolean;
  /** Whether it plans. */
  is_planner: boolean;
  /** What it has, each with its level; 0 where levels mean nothing. */
  labels: Record<string, number>;
  /** Its process and its machine. */
  name: string;
  /** How many run at it. */
  running: number;
  /** How long ago it was heard of; it says each two and a half seconds that it is there. */
  silent_ms: number;
  /** Its version. */
  version: string;
}

/** An instant with its civil time. */
export interface Moment {
  at: Instant;
  civil: Civil;
  /** What a change of the clock does to it. */
  remark?: { code: "gap" | "overlap_first" | "overlap_second"; text: string };
}

/** The next times of a job. */
export interface Moments {
  /** The search for more was given up: so many occurrences in a row are excluded. */
  is_cut: boolean;
  items: Moment[];
}

/** What is said about it. */
export interface Noted {
  /** What is said about it, for the audit: at most 1,024 bytes. */
  note?: string | null;
}

/** A one-shot job that waits, as `show` has it. */
export interface Once {
  action: string;
  /** In the zone of the server. */
  civil: Civils;
  /** The definition as a table of a job file; not in `list`. */
  definition?: string;
  due: Instant;
  /** Each reason why it does not run now; in `show` alone. */
  holds?: { code: string; ends: string; why: string }[];
  /** Its address; cancelling takes a name as well. */
  id: string;
  key: string | null;
  name: string;
  policies: string;
  submitted: Instant;
}

/** What became of many. */
export interface OnceAnswers {
  items: { due: Instant | null; id: string | null; is_new: boolean; name: string | null; run: string | null; state: string | null; status: number } | { detail: string; status: number }[];
}

/** Many things to do once each. */
export interface OnceBatch {
  items: OnceParams[];
}

/** A page of rows. */
export interface OnceList {
  /** Those of this page. */
  items: Once[];
  /** Where the next page begins, for the parameter `after`; null at the end. */
  next: string | null;
  /** How many match in all; null where counting would cost a scan. */
  total: number | null;
}

/** Something to do once. */
export interface OnceParams {
  /** When it is due. A run of a job is due now if neither this nor `in` says it. */
  at?: string | null;
  /** From now on: 90s, 1h30m. */
  in?: string | null;
  /** The job of which this is a run, by all its rules, instead of `work`; without `name` and `policies`. */
  job?: string | null;
  /** As the header Idempotency-Key: the same again changes nothing. */
  key?: string | null;
  /** Its name. */
  name?: string | null;
  /** As in a note of a crontab: `retry=3 timeout=1h`. */
  policies?: string;
  /** What is done. */
  work?: Work | null;
}

/** This document. */
export type OpenApi = Record<string, unknown>;

/** A pause of a job, or of everything. */
export interface Pause {
  /** Who paused it; null in lists, if the server did, and where the audit does not have it. */
  by: string | null;
  civil: Civils;
  note: string | null;
  reason: string;
  /** Why there is a pause, for programs. */
  reason_code: "asked" | "failures" | "crashes";
  /** Null in lists, and where the audit does not have it. */
  since: Instant | null;
  until: Instant | null;
}

/** How long a pause lasts, and why there is one. */
export interface PauseParams {
  /** Why, for others: at most 1,024 bytes. */
  note?: string | null;
  /** When it ends by itself, after now. */
  until?: string | null;
}

/** How long a pause lasts, and why there is one. */
export interface PauseTerms {
  /** What was said about it. */
  note: string;
  /** When it ends by itself; null: not before somebody ends it. */
  until: Instant | null;
  /** The same as civil time with its zone. */
  until_civil?: Civil;
}

/** A run, or several that did not run in one record. */
export interface PlainRun {
  /** What is done, in short, for a one-shot job: its name does not say it, and no definition does. */
  action?: string;
  attempt: number;
  cause: Cause;
  /** More than 1 for a record of several occurrences. */
  count: number;
  due: Instant;
  ended: Instant | null;
  /** The machine of the server where its last attempt runs or ran, or that it waits for; left out where
   * servers do not share a database, and for those that are long gone. */
  host?: string;
  job: string;
  /** The last of them. */
  last: Instant | null;
  nominal: Instant;
  /** The text for people: `exit 3`. */
  outcome: string | null;
  /** Which kind of outcome: `succeeded`, `exit`, `signal`, `status`, `not_started`, `final`, `failed`,
   * `timed_out`, `killed`. */
  outcome_code: string | null;
  /** The number of an exit status, of a signal or of a server's answer, where the outcome is one. */
  outcome_number?: number;
  /** How far it is, while it runs and if its handler tells it. */
  progress?: Progress;
  /** The sentence for people; empty if the state says it all. */
  reason: string;
  /** Which reason: `server_down`, `earlier_running`, `paused`, `cancelled`, ..; empty if the state says
   * it all. */
  reason_code: string;
  /** `job@nominal`, `#series` after it if that is not 0. */
  run: string;
  /** The number of that server's life, as `status` has it; left out where servers do not share a
   * database. */
  server?: number;
  started: Instant | null;
  state: RunState;
}

/** One run among those that are counted. */
export interface Point {
  at: Instant;
  civil: Civil;
  duration_ms: number | null;
  lateness_ms: number | null;
  run: string;
  state: RunState;
}

/** RFC 9457. `detail` is the sentence that the command line prints. */
export interface Problem {
  detail: string;
  /** 422 alone. */
  problems?: Fault[];
  status: number;
  title: string;
  /** `urn:mainspring:problem:CODE`; CODE is usage, unauthenticated, denied, not_found, conflict, changed,
   * .. */
  type: string;
}

/** What is started, with the keys of the job file. */
export interface Process {
  /** how much processor time; `150%` is one and a half processors. It needs a cgroup */
  cpu_max?: number;
  /** where it starts */
  cwd?: string;
  /** where it starts if its user cannot enter `cwd`, as with a user without a home */
  cwd_else?: string;
  /** variables */
  env?: string[][];
  /** files of `NAME=value` lines, read at each start by the rules for secret files; not masked; `env`
   * takes precedence */
  env_file?: string[];
  /** the process also has all variables of the server; `check` warns of it beside `user` */
  inherit_env?: boolean;
  /** gets `-c` and the text of `shell` */
  interpreter?: string;
  /** limits of the process, as `ulimit` sets them */
  limits?: (("cpu_seconds" | "file_bytes" | "data_bytes" | "stack_bytes" | "core_bytes" | "address_bytes" | "open_files" | "processes" | "locked_bytes" | number)[])[];
  /** how much memory the run and all that it starts may have; a run with more is killed as a whole. It
   * needs a cgroup */
  memory_max?: number;
  /** as its name says; what may not be lowered fails the run */
  nice?: number;
  /** no program in the job gains privileges when it is executed, as `sudo` and set-user-id programs do */
  no_new_privileges?: boolean;
  /** what becomes of it when its server, of several on one database, loses the lease; with one server it
   * means nothing */
  on_lease_loss?: "kill" | "leave";
  /** what becomes of it when the server is killed */
  on_server_death?: "leave" | "kill";
  /** how much sooner than others the kernel ends it when memory is short; less than the server's needs
   * root, and fails the run without it */
  oom_score_adj?: number;
  /** how much output of a run is kept: its beginning and, once the run has ended, its end (64 KiB, or
   * half if that is less); a line in between says how much is left out; bytes that are no UTF-8 become
   * U+FFFD */
  output_bytes?: number;
  /** files such as `/etc/environment`, read at each start as `pam_env` reads them, and not missed; all
   * other variables take precedence */
  pam_env?: string[];
  /** the program and its arguments, with no shell in between */
  run?: string[];
  /** the content of a file, or its path, in a variable; masked in the output from 4 characters on, and in
   * no log, history or answer */
  secrets?: { is_path?: boolean; name: string; path: string }[];
  /** a line for `/bin/sh -c`, or for `interpreter` */
  shell?: string;
  /** standard input */
  stdin?: string;
  /** as its name says */
  umask?: number;
  /** `NAME` or `NAME:GROUP`: who runs it; only if the server runs as root */
  user?: string;
}

/** How far a run is while it runs: so many of so many, in a unit of its handler's. */
export interface Progress {
  /** How many are done: at most `of`, where that is known. */
  done: number;
  /** Of how many; left out where the handler does not know it. */
  of?: number;
}

/** A document of the protocol of the socket: the name of a command, and its arguments. */
export interface RequestParams {
  command: string;
  id?: number;
}

/** A run, as `history` has it and with what a page needs. */
export interface Run {
  /** What is done, in short, for a one-shot job: its name does not say it, and no definition does. */
  action?: string;
  attempt: number;
  cause: Cause;
  /** In the zone of its job. */
  civil: Civils;
  /** More than 1 for a record of several occurrences. */
  count: number;
  due: Instant;
  /** How long it took. */
  duration_ms: number | null;
  ended: Instant | null;
  /** The machine of the server where its last attempt runs or ran, or that it waits for; left out where
   * servers do not share a database, and for those that are long gone. */
  host?: string;
  job: string;
  /** The last of them. */
  last: Instant | null;
  /** The last line of output, at most 200 characters, as it was written. */
  last_line: string | null;
  /** How long after it was due it started. */
  lateness_ms: number | null;
  nominal: Instant;
  /** The text for people: `exit 3`. */
  outcome: string | null;
  /** Which kind of outcome: `succeeded`, `exit`, `signal`, `status`, `not_started`, `final`, `failed`,
   * `timed_out`, `killed`. */
  outcome_code: string | null;
  /** The number of an exit status, of a signal or of a server's answer, where the outcome is one. */
  outcome_number?: number;
  /** How far it is, while it runs and if its handler tells it. */
  progress?: Progress;
  /** The sentence for people; empty if the state says it all. */
  reason: string;
  /** Which reason: `server_down`, `earlier_running`, `paused`, `cancelled`, ..; empty if the state says
   * it all. */
  reason_code: string;
  /** `job@nominal`, `#series` after it if that is not 0. */
  run: string;
  /** 0, or the number of a backfill. */
  series: number;
  /** The number of that server's life, as `status` has it; left out where servers do not share a
   * database. */
  server?: number;
  started: Instant | null;
  state: RunState;
  /** The median of the job, for a run that is running. */
  usual_ms: number | null;
  /** The zone of its job. */
  zone: string;
}

/** A run with its attempts. */
export interface RunDetail {
  /** What is done, in short, for a one-shot job: its name does not say it, and no definition does. */
  action?: string;
  attempt: number;
  /** The first first. */
  attempts: Attempt[];
  cause: Cause;
  /** In the zone of its job. */
  civil: Civils;
  /** More than 1 for a record of several occurrences. */
  count: number;
  due: Instant;
  /** How long it took. */
  duration_ms: number | null;
  ended: Instant | null;
  /** Each reason why it does not start now, and what ends it; left out if there is none. */
  holds?: { code: string; ends: string; why: string }[];
  /** The machine of the server where its last attempt runs or ran, or that it waits for; left out where
   * servers do not share a database, and for those that are long gone. */
  host?: string;
  /** What belongs to it. */
  hrefs: { events: string; job: string; output: string; self: string };
  job: string;
  /** The last of them. */
  last: Instant | null;
  /** The last line of output, at most 200 characters, as it was written. */
  last_line: string | null;
  /** How long after it was due it started. */
  lateness_ms: number | null;
  nominal: Instant;
  /** The text for people: `exit 3`. */
  outcome: string | null;
  /** Which kind of outcome: `succeeded`, `exit`, `signal`, `status`, `not_started`, `final`, `failed`,
   * `timed_out`, `killed`. */
  outcome_code: string | null;
  /** The number of an exit status, of a signal or of a server's answer, where the outcome is one. */
  outcome_number?: number;
  /** How many bytes of output there are; null if it was pruned. */
  output_bytes: number | null;
  /** When it was planned. */
  planned: Instant;
  /** How far it is, while it runs and if its handler tells it. */
  progress?: Progress;
  /** The sentence for people; empty if the state says it all. */
  reason: string;
  /** Which reason: `server_down`, `earlier_running`, `paused`, `cancelled`, ..; empty if the state says
   * it all. */
  reason_code: string;
  /** `job@nominal`, `#series` after it if that is not 0. */
  run: string;
  /** 0, or the number of a backfill. */
  series: number;
  /** The number of that server's life, as `status` has it; left out where servers do not share a
   * database. */
  server?: number;
  started: Instant | null;
  state: RunState;
  /** The median of the job, for a run that is running. */
  usual_ms: number | null;
  /** The zone of its job. */
  zone: string;
}

/** A page of rows. */
export interface RunList {
  /** Those of this page. */
  items: Run[];
  /** Where the next page begins, for the parameter `after`; null at the end. */
  next: string | null;
  /** How many match in all; null where counting would cost a scan. */
  total: number | null;
}

/** When a job is to run. */
export interface RunParams {
  /** When it is due. Within the minute that has passed: now, and the same twice is one run. */
  at?: string | null;
  /** After how long it is due, such as 90s or 1h30m, instead of `at`. */
  in?: string | null;
  /** The same again for the same job is answered with the first run, as with the header Idempotency-Key. */
  key?: string | null;
}

export type RunState = "scheduled" | "queued" | "running" | "succeeded" | "failed" | "timed_out" | "cancelled" | "skipped_overlap" | "skipped_paused" | "missed" | "abandoned" | "dead";

/** A scope. */
export type Scope = "metrics" | "look" | "operate" | "define";

/** A file as a client sends it. */
export interface Sent {
  path: string;
  text: string;
}

/** A run that was dealt with. */
export interface Settled {
  run: string;
}

export type SignIn = { token: string } | { code: string };

/** One of the last runs of a job. */
export interface Square {
  /** Its nominal time. */
  at: Instant;
  duration_ms: number | null;
  run: string;
  state: RunState;
}

/** A run that was started, and its address. */
export interface Started {
  href: string;
  run: string;
}

/** How long a job takes and how late it starts. */
export interface Stats {
  /** Of those of the last 100 runs that succeeded, as in the list of jobs. */
  duration: Distribution;
  /** There may be older runs in the window. */
  is_cut: boolean;
  /** Of the runs in the window. */
  lateness: Distribution;
  /** Of the last 100 runs those that started, the oldest first. */
  points: Point[];
}

/** How the server is, as `status` has it and with what a page needs. */
export interface Status {
  /** The hash in the addresses of the assets that this server gives. */
  assets: string;
  /** How many files have a problem. */
  bad_files: number;
  /** How many changes a second are taken of all clients; 0 is without a limit. */
  changes_max: number;
  /** In the zone of the server. */
  civil: Civils;
  /** The servers that share the store, if several may. */
  cluster?: Cluster;
  /** The same of one connection. */
  connection_changes_max: number;
  data: string;
  dead: number;
  files: { jobs: number; name: string; notice?: string; problems: string; read: Instant | null }[];
  /** The name of the machine. */
  host: string;
  /** Whether anything outlives the server. */
  is_kept: boolean;
  jobs: number;
  next: Instant | null;
  /** The job that is next. */
  next_job: string | null;
  /** The server's clock. */
  now: Instant;
  open: number;
  /** A pause of everything, or null. */
  pause: Pause | null;
  /** How long everything is paused, if it is. */
  pause_terms?: PauseTerms;
  paused: boolean;
  pending: number;
  pid: number;
  /** Jobs that start a few at a time, because the server died while they ran. */
  quarantined: number;
  /** How many runs wait for a place. */
  queued: number;
  /** How many were refused because there were more. */
  refused: number;
  /** How many jobs are paused. */
  resting: number;
  running: number;
  runs: number;
  started: Instant;
  state: string;
  /** The same as `state`, for programs. */
  state_code: "running" | "stopping" | "starting";
  /** How many jobs are in trouble. */
  troubled: number;
  /** What keeps the server from doing all that it should; empty if nothing does. */
  troubles: string[];
  /** The version of its zone data. */
  tzdata: string;
  version: string;
  /** The caller, and what that person may. */
  you: You;
  /** The zone of the server. */
  zone: string;
}

/** What became of a submission. */
export interface Submitted {
  due: Instant | null;
  /** Its address below `once`; of a run of a job the same as `run`. */
  id: string | null;
  /** Whether it was not there already. */
  is_new: boolean;
  name: string | null;
  /** The run of a job, which is among `runs` and never below `once`; null for work of one's own. */
  run: string | null;
  /** `pending`, or the state of its run where it was there already. */
  state: string | null;
}

/** Why a person should look at a job, and what that person can do. */
export interface Trouble {
  /** The same, for programs. */
  code: "failing" | "silent" | "mismatched" | "paused_failures" | "paused_crashes";
  hint: string;
  /** The run to look at. */
  run: string | null;
  since: Instant | null;
  text: string;
}

/** What is due in a span of time. */
export interface Upcoming {
  /** Changes of the clock of the zones of these jobs. */
  changes: { at: Instant; civil: Civil; delta_ms: number; text: string; zone: string }[];
  from: Instant;
  /** How many start in each step from `from` on. */
  histogram: { counts: number[]; estimated_from: Instant | null; step_ms: number };
  /** Jobs have more times than were searched. */
  is_cut: boolean;
  /** How many jobs are due that are not paused: those without a lane too. */
  job_count: number;
  /** At most 1,000, those that are due first. */
  lanes: Lane[];
  /** How many jobs have no lane here. */
  lanes_left_out: number;
  /** How often they are due. */
  time_count: number;
  to: Instant;
}

/** What is sent, with the keys of the job file. */
export interface Webhook {
  /** what is sent, with POST, PUT and PATCH */
  body?: string;
  /** certificates of the authorities that are trusted */
  ca_file?: string;
  /** further headers */
  headers?: string[][];
  /** the method */
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS";
  /** how much of the answer is kept */
  output_bytes?: number;
  /** for `{secret.NAME}` */
  secrets?: { is_path?: boolean; name: string; path: string }[];
  /** the key that signs requests, of 16 bytes at least */
  signing_secret?: string;
  /** answers that are a success */
  success?: number[][];
  /** where it goes */
  url: string;
}

/** What is done: a process or a webhook, with the keys of the job file. */
export type Work = { process: Process } | { webhook: Webhook };

/** The caller. */
export interface You {
  name: string;
  scope: Scope;
}
