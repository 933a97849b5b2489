// The HTTP API as the page uses it: the exact shape of every document below `api/v1/`.
//
// ```text
// page --(JSON, cookie)--> api/v1/..  --> the answers of the command line's --json, and what is marked (+)
// ```
//
// The base are the wire types of src/protocol.rs and src/wire.rs: a field that stands there has the same
// name, type and meaning here. Fields are only added, never renamed. Rules that hold everywhere:
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

/** RFC 3339, UTC. */
export type Instant = string;
/** RFC 9557: local time, offset and zone. */
export type Civil = string;
/** Civil times of instants of the same object, by the names of those. A name that is missing has no instant
 * either. */
export type Civils = Record<string, Civil | undefined>;

export interface List<T> {
  items: T[];
  next: string | null;
  /** How many match in all; null where counting would cost a scan. */
  total: number | null;
}

/** RFC 9457. `detail` is the sentence that the command line prints. */
export interface Problem {
  /** `urn:mainspring:problem:CODE`; CODE is usage, unauthenticated, denied, not_found, conflict, changed, ..
   * */
  type: string;
  title: string;
  status: number;
  detail: string;
  /** 422 alone. */
  problems?: Fault[];
}

/** What is wrong with a text, and where: `problem.rs`. */
export interface Fault {
  /** From 1; null if the text is no file. */
  line: number | null;
  /** In characters, from 1. */
  column: number | null;
  /** The column after the last bad character. */
  end_column: number | null;
  /** The field of a JSON body, if the fault is in one. */
  field: string | null;
  severity: "problem" | "warning" | "note";
  message: string;
  /** What to do. */
  hint: string | null;
  /** The line as it stands in the file, shortened around the fault; null if there is none. */
  excerpt: string | null;
}

export type Scope = "metrics" | "look" | "operate" | "define";

// GET status ------------------------------------------------------------------------------------------------

/** ClusterWire: the servers that share a database, by its clock. */
export interface Cluster {
  /** Which server owns the jobs; empty if none does. */
  owner: string;
  /** How long its lease lasts unless it is renewed, in milliseconds. */
  lease_left_ms: number;
  /** By how much the clock of the server that answers is ahead of the database's, in milliseconds; less than
   * 0: behind it. */
  clock_ahead_ms: number;
  /** Those that were there within the hour. */
  servers: Member[];
  /** How often the jobs were taken over, by how the owner before had ended. */
  takeovers: Record<string, number>;
  /** How often a server was refused a write because another owned the jobs. */
  fenced: number;
  /** Requests that wait in the inbox. */
  inbox_waiting: number;
  /** Requests that were refused, and are kept there for people. */
  inbox_refused: number;
  /** How long the oldest that waits has waited, in milliseconds. */
  inbox_oldest_ms: number | null;
  /** Who owns which shard; absent where there is one. */
  shards?: Shard[];
  database: Database;
}

/** ShardWire: a part of the jobs that has an owner of its own. */
export interface Shard {
  /** Its number, from 0. */
  shard: number;
  /** Which server owns it; empty if none does. */
  owner: string;
  /** Whether the server that answers owns it. */
  is_here: boolean;
  /** The number of its last owner. */
  epoch: number;
  /** How long the lease lasts unless it is renewed, in milliseconds. */
  lease_left_ms: number;
}

/** MemberWire: a server that shares a database. */
export interface Member {
  /** Its process and its machine. */
  name: string;
  /** Its data directory. */
  address: string;
  /** Its version. */
  version: string;
  /** How long ago it was heard of, in milliseconds. */
  silent_ms: number;
  /** Whether it owns the jobs. */
  is_owner: boolean;
}

/** DatabaseWire: how a shared database is. */
export interface Database {
  /** Its version. */
  version: string;
  /** Its setting of that name, for the servers' role. */
  synchronous_commit: string;
  /** How many standbys of the database are connected. */
  standbys: number;
  /** How many of them a commit waits for. */
  synchronous_standbys: number;
  /** Whether its settings name standbys that a commit is to wait for. */
  wants_synchronous: boolean;
  /** How long the oldest transaction goes on, in milliseconds, as far as the role may see it. */
  oldest_transaction_ms: number;
  /** How many transactions have begun since the oldest that keeps old rows from being removed. */
  oldest_xmin_age: number;
  /** Rows that autovacuum is still to remove. */
  dead_rows: number;
  /** Rows that are in use. */
  live_rows: number;
  /** The servers' role, as it is written in SQL. */
  role: string;
  /** How many standbys the role may not see the state of. */
  unseen_standbys: number;
  /** How many sessions of other roles it may not see the transactions of. */
  unseen_sessions: number;
  /** Whether the role may make the tables of a later version. */
  may_migrate: boolean;
  /** Schemas that names could be looked for in, and the database, where others than the servers' role, the owner and superusers may create something. */
  others_create_in: string[];
  /** Whether a pooler stands before it. */
  is_pooled: boolean;
}

/** StatusWire, and (+). */
export interface Status {
  version: string;
  pid: number;
  data: string;
  started: Instant;
  state: string;
  paused: boolean;
  pause_terms?: PauseTerms;
  jobs: number;
  pending: number;
  open: number;
  running: number;
  runs: number;
  dead: number;
  /** Jobs that start a few at a time, because the server died while they ran. */
  quarantined: number;
  next: Instant | null;
  files: Pick<FileState, "name" | "read" | "jobs" | "problems" | "notice">[];
  is_kept: boolean;
  changes_max: number;
  connection_changes_max: number;
  refused: number;
  /** What keeps the server from doing all that it should; empty if nothing does. */
  troubles: string[];
  /** The servers that share a database; absent where the store is a folder. */
  cluster?: Cluster;
  /** (+) running, stopping, starting. */
  state_code: "running" | "stopping" | "starting";
  /** (+) The name of the machine. */
  host: string;
  /** (+) The job that is next. */
  next_job: string | null;
  /** (+) The zone of the server, and the version of its zone data. */
  zone: string;
  tzdata: string;
  /** (+) The server's clock. */
  now: Instant;
  /** (+) Jobs in trouble, jobs paused, runs queued, files with a problem. */
  troubled: number;
  resting: number;
  queued: number;
  bad_files: number;
  /** (+) Who asks, and what that person may. */
  you: You;
  /** (+) A pause of everything, or null. */
  pause: Pause | null;
  /** (+) The hash in the addresses of the assets that this server gives. */
  assets: string;
  civil: Civils;
}

export interface You {
  name: string;
  scope: Scope;
}

// GET health ------------------------------------------------------------------------------------------------

/** The document of `doctor --json`, and (+). */
export interface Health {
  asked: "server";
  level: Level;
  findings: Finding[];
  /** (+) What has a limit, and how much of it is in use. */
  limits: Limit[];
  /** (+) Bytes of database, journal, output; and what is free. */
  store: { part: string; bytes: number }[];
}

export type Level = "ok" | "warning" | "bad";

export interface Finding {
  subject: string;
  level: Level;
  text: string;
  hint?: string;
  /** (+) `clock_jumped`, `file_problems`, `disk`, `agenda_mismatch`, `store_fault`, .. */
  code: string;
  /** (+) The job or file that it is about. */
  job?: string;
  file?: string;
}

export interface Limit {
  code: string;
  text: string;
  used: number;
  max: number;
}

// GET jobs?q,state,group,label,source,sort,after,limit  ->  JobList -----------------------------------------
// state: any of active, paused, done, troubled, failing, silent, running, mismatched, with commas between.
// sort: name, state, next, last, median, p95; with "-" before it descending.

export interface JobList {
  items: Job[];
  next: string | null;
  /** How many match in all; null where counting would cost a scan. */
  total: number | null;
  /** How many are behind in no order: by median and p95 1,000 are sorted. */
  unsorted: number;
}

/** JobWire, and (+). */
export interface Job {
  name: string;
  /** The words of `list`. */
  state: string;
  state_code: JobState;
  /** When it is due next, as its timetable says. */
  next: Instant | null;
  next_civil?: Civil;
  /** When the server will look at it next: at `next`, or before it where that is far away. Later than `next`,
   * or null beside it, is a fault, and stands in `troubles`. */
  armed: Instant | null;
  armed_civil?: Civil;
  /** Since when no run has succeeded, if that is longer than `silent_after` says. */
  silent_since?: Instant;
  pause_terms?: PauseTerms;
  triggers: string[];
  /** (+) Beside each trigger: what it means. */
  sentences: string[];
  /** (+) The zone of the first trigger. */
  zone: string;
  action: string;
  policies: string;
  group: string | null;
  labels: Record<string, string>;
  priority: number;
  source: string;
  source_code: "file" | "command" | "program";
  /** (+) The line of the file. */
  source_line: number | null;
  runs: number;
  /** How many failures in a row. */
  failures: number;
  running: number;
  queued: number;
  last: Run | null;
  /** (+) Of the runs that succeeded among the last 100; null without one. */
  median_ms: number | null;
  p95_ms: number | null;
  /** (+) The last 20 runs, the oldest first. */
  recent: Square[];
  pause: Pause | null;
  troubles: Trouble[];
  civil: Civils;
}

export type JobState = "active" | "paused" | "paused_failures" | "paused_crashes" | "quarantined" | "done";

export interface Square {
  run: string;
  state: RunState;
  /** Its nominal time. */
  at: Instant;
  duration_ms: number | null;
}

/** PauseTermsWire: how long a pause lasts, and why there is one. */
export interface PauseTerms {
  /** When it ends by itself; null: not before somebody ends it. */
  until: Instant | null;
  until_civil?: Civil;
  note: string;
}

export interface Pause {
  reason_code: "asked" | "failures" | "crashes";
  reason: string;
  note: string | null;
  /** Null in lists, and where the audit does not have it. */
  since: Instant | null;
  until: Instant | null;
  /** Who paused it; null in lists, if the server did, and where the audit does not have it. */
  by: string | null;
  civil: Civils;
}

/** Why somebody should look at a job, and what that person can do. */
export interface Trouble {
  code: "failing" | "silent" | "mismatched" | "dead" | "behind" | "paused_failures" | "paused_crashes";
  text: string;
  hint: string;
  since: Instant | null;
  /** The run to look at. */
  run: string | null;
}

// GET jobs/{job}  ->  JobDetail, with an ETag ---------------------------------------------------------------

export interface JobDetail extends Job {
  /** A table of a job file. Secrets are not in it. */
  definition: string;
  /** Each policy that is not the default, in words. */
  policy_words: { code: string; text: string }[];
  /** Each reason why it does not run now, and what ends it. */
  holds?: { code: string; why: string; ends: string }[];
  /** The first runs that wait for their time. */
  waiting?: object[];
  waiting_count?: number;
}

// POST jobs/{job}/run      {at?: Instant, in?, key?: string}  -> 202 Started, 200 if that run was there
// POST jobs/{job}/pause    {note: string, until?: Instant}   -> JobDetail
// POST jobs/{job}/resume   {note?: string}                   -> JobDetail
// POST pause, resume       the same for everything           -> Status
// POST jobs/{job}/backfill {from, to, preview, expected?}    -> 200 BackfillPreview; 202 Accepted

export interface Started {
  run: string;
  href: string;
}

export interface BackfillPreview {
  count: number;
  /** The first 20. */
  times: Moment[];
}

export interface Accepted {
  count: number;
  /** The action whose progress can be asked for. */
  id: string;
  href: string;
}

// GET jobs/{job}/next?n,from  ->  Moments -------------------------------------------------------------------

export interface Moments {
  items: Moment[];
  /** The search for more was given up: so many occurrences in a row are excluded. */
  is_cut: boolean;
}


export interface Moment {
  at: Instant;
  civil: Civil;
  /** What a change of the clock does to it. */
  remark?: { code: "gap" | "overlap_first" | "overlap_second"; text: string };
}

// GET jobs/{job}/stats?window=7d|30d|90d --------------------------------------------------------------------

export interface Stats {
  /** Of those of the last 100 runs that succeeded, as in the list of jobs. */
  duration: Distribution;
  lateness: Distribution;
  /** Of the last 100 runs those that started, the oldest first. */
  points: Point[];
  /** There may be older runs in the window. */
  is_cut: boolean;
}

export interface Point {
  run: string;
  at: Instant;
  civil: Civil;
  state: RunState;
  duration_ms: number | null;
  lateness_ms: number | null;
}

export interface Distribution {
  count: number;
  median_ms: number | null;
  p95_ms: number | null;
  max_ms: number | null;
}

// GET jobs/{job}/heatmap?year  ------------------------------------------------------------------------------

export interface Heatmap {
  year: number;
  /** Days with at least one run, in the zone of the job. */
  days: { date: string; worst: RunState; runs: number; failed: number; missed: number }[];
  /** There are more runs than the last 10,000, which are looked at: earlier days are left out. */
  is_cut: boolean;
}

// GET runs?job,state,cause,group,line,since,until,order=ended|nominal,after,limit  ->  List<Run> ------------
// GET runs/{run}  ->  RunDetail.   {run} = job/nominal/series, each encoded.

export type RunState =
  | "scheduled"
  | "queued"
  | "running"
  | "succeeded"
  | "failed"
  | "timed_out"
  | "cancelled"
  | "skipped_overlap"
  | "skipped_paused"
  | "missed"
  | "abandoned"
  | "dead";

export type Cause = "trigger" | "catch_up" | "boot" | "request" | "backfill" | "once";

/** RunWire, and (+). */
export interface Run {
  /** `job@nominal`, `#series` after it if that is not 0. */
  run: string;
  job: string;
  nominal: Instant;
  cause: Cause;
  state: RunState;
  attempt: number;
  due: Instant;
  started: Instant | null;
  ended: Instant | null;
  outcome: string | null;
  /** succeeded, exit, signal, status, not_started, final, failed, timed_out, killed */
  outcome_code?: string | null;
  /** The number of an exit status, of a signal or of a server's answer. */
  outcome_number?: number;
  reason: string;
  /** server_down, earlier_running, paused, cancelled, .. or "" */
  reason_code: string;
  /** What a one-shot job does, in short. */
  action?: string;
  count: number;
  last: Instant | null;
  /** (+) */
  series: number;
  zone: string;
  lateness_ms: number | null;
  duration_ms: number | null;
  /** (+) The median of the job, for a run that is running. */
  usual_ms: number | null;
  /** (+) The last line of output, at most 200 characters, as it was written. */
  last_line: string | null;
  civil: Civils;
}

export interface RunDetail extends Run {
  planned: Instant;
  attempts: Attempt[];
  /** Why it did not start when it was due, in order. */
  waits: { code: string; text: string; from: Instant; until: Instant | null }[];
  /** How many bytes of output there are; null if it was pruned. */
  output_bytes: number | null;
  hrefs: { self: string; job: string; output: string; events: string };
}

export interface Attempt {
  number: number;
  started: Instant;
  ended: Instant | null;
  state: RunState | null;
  outcome: string | null;
  duration_ms: number | null;
  civil: Civils;
}

// POST runs/{run}/cancel, retry, drop  {note?}  ->  202 {run}

// GET runs/{run}/output?attempt,tail   Range   ->   200 or 206, text/plain; charset=utf-8
//
// The bytes of the file, whose lines are `INSTANT ATTEMPT stdout|stderr TEXT`, with `+` behind the stream where the next line of it goes on. `tail=N` asks for the last N
// lines, at most 256 KiB of them, and is answered by 206 with Content-Range. `X-Complete: true` says that
// nothing follows.
//
// GET runs/{run}/output/events?after=OFFSET   SSE
//
//   id: 18213                                 the offset after these bytes
//   event: text
//   data: {"text": "2026-10-25T00:30:01.250Z 1 stdout 17 files\n"}     whole lines
//
//   event: end
//   data: {"state": "succeeded"}

export interface OutputText {
  text: string;
}

// POST actions ----------------------------------------------------------------------------------------------

export interface ActionAsked {
  do: "run" | "pause" | "resume" | "cancel" | "retry" | "drop";
  of: "jobs" | "runs";
  /** One of the two. */
  ids?: string[];
  /** The parameters of GET jobs or GET runs that choose. */
  filter?: Record<string, string>;
  note?: string;
  until?: Instant;
  preview: boolean;
  /** The count of the preview; another one now is 409 `changed`. */
  expected?: number;
}

export interface ActionPreview {
  count: number;
  /** 10 at most. */
  examples: string[];
}

/** GET actions/{id} */
export interface ActionState {
  id: string;
  state: "running" | "done";
  count: number;
  done: number;
  failed: number;
  /** The first 10. */
  errors: { id: string; detail: string }[];
}

// GET once  ->  List<Once>;  DELETE once/{id} ---------------------------------------------------------------

/** OnceWire, and (+). */
export interface Once {
  name: string;
  due: Instant;
  key: string | null;
  submitted: Instant;
  action: string;
  policies: string;
  /** As a table of a job file; not in lists. */
  definition?: string;
  id: string;
  civil: Civils;
}

// GET files;  POST check {files: Sent[]};  POST apply {files: Sent[], prune, preview, expected?} ------------

/** FileStateWire, and (+). */
export interface FileState {
  name: string;
  read: Instant | null;
  jobs: number;
  /** All problems as the text that `check` prints. */
  problems: string;
  /** What is to be known beside that, as that it has lost most of its jobs. */
  notice?: string;
  state_code: "applied" | "differs" | "problems" | "unreadable";
  state: string;
  faults: Fault[];
  civil: Civils;
}

export interface Sent {
  path: string;
  text: string;
}

export interface Checked {
  files: {
    path: string;
    /** Of all files of a request the first thousand, in four megabytes at most. */
    faults: Fault[];
    /** How many more there are. */
    faults_left_out: number;
    /**
     * Each job as a table of a job file: a crontab becomes TOML here. Of all files of a request those in twelve
     * megabytes.
     */
    jobs: { name: string; sentence: string; definition: string }[];
    /** How many more there are. */
    jobs_left_out: number;
  }[];
}

/** AppliedWire, and (+). */
export interface Applied {
  added: string[];
  changed: string[];
  removed: string[];
  refused: string[];
  unchanged: number;
  problems: string;
  /**
   * (+) A unified diff of definitions; in a preview alone. Beyond four megabytes its last line says how many jobs
   * are left out.
   */
  diff: string;
  /** (+) The first thousand, in four megabytes at most. */
  faults: Fault[];
  /** (+) How many more there are. */
  faults_left_out: number;
}

// POST explain {schedule, dialect, zone, from?, n, name?}  ->  Explained; 422 with one Fault ----------------

export type Dialect = "unix" | "quartz" | "oncalendar";

/** The documents of `explain` and `next` in one, and (+). */
export interface Explained {
  expression: string;
  dialect: Dialect;
  zone: string;
  dst: string;
  day_rule: string;
  from: string;
  explanation: {
    sentence: string;
    fields: { unit: string; text: string; values: string }[];
    notes: string[];
    changes: { at: string; text: string; effect: string }[];
    warnings: { text: string; start: number; end: number }[];
  };
  times: Moment[];
  /** (+) The document of `translate` for each dialect. */
  translations: { to: string; translation: string | null; notes: string[]; reason: string | null }[];
  /** (+) How often on each day of the 12 months from `from`; days with none are left out. */
  days: { date: string; count: number }[];
  /** It is due more often than 600,000 times, which are counted: later days are left out. */
  is_cut: boolean;
}

// GET upcoming?from,to --------------------------------------------------------------------------------------

export interface Upcoming {
  from: Instant;
  to: Instant;
  /** At most 1,000, those that are due first. */
  lanes: Lane[];
  /** How many jobs have no lane here. */
  lanes_left_out: number;
  /** How many jobs are due that are not paused, and how often: those without a lane too. */
  job_count: number;
  time_count: number;
  /** Jobs have more times than were searched. */
  is_cut: boolean;
  /** Changes of the clock of the zones of these jobs. */
  changes: { zone: string; at: Instant; civil: Civil; delta_ms: number; text: string }[];
  /** How many start in each step from `from` on. */
  histogram: {
    step_ms: number;
    counts: number[];
    /** From here on jobs whose times were too many to search are counted as often as before; null: none. */
    estimated_from: Instant | null;
  };
}

export interface Lane {
  job: string;
  zone: string;
  group: string | null;
  median_ms: number | null;
  paused: boolean;
  /** At most 300, and 60,000 of all lanes. */
  times: Moment[];
  /** How many there are in all, or at least if is_cut. */
  count: number;
  is_cut: boolean;
  /** Where a run will probably still be going when the next is due. `until` is the end of the first of the
   * two. */
  overlaps: { at: Instant; until: Instant; code: string; text: string }[];
}

// GET audit?since,actor,job,after,limit  ->  List<AuditEntry> -----------------------------------------------

/** AuditWire, and (+). */
export interface AuditEntry {
  /** Counts up. */
  number: number;
  at: Instant;
  /** `uid 1000` over the socket; over HTTP `token NAME`, `proxy user NAME` or `local user`. */
  actor: string;
  /** The command: run, pause, resume, cancel, dead_retry, dead_drop, backfill, apply, define, remove, .. */
  action: string;
  /** A job, a run or a one-shot job; empty for everything. */
  target: string;
  /** What was said about it; empty if nothing was. */
  note: string;
  /** (+) Where from. */
  origin: "socket" | "HTTP";
  /** (+) */
  text: string;
  job: string | null;
  run: string | null;
  /** In the zone of the server. */
  civil: Civils;
}

// POST session {code} or {token}  ->  204 with the cookie, 401, 429;  DELETE session  ->  204

// GET events?after=EPOCH.N   SSE; `after` does for a new stream what Last-Event-ID does for an old one ---

export interface Events {
  /** First on each stream. */
  hello: { version: string; assets: string; now: Instant };
  "run.changed": { run: string; job: string; state: RunState };
  "job.changed": { job: string };
  "file.changed": { file: string };
  "once.changed": { id: string };
  "clock.jumped": Record<string, never>;
  "audit.added": Record<string, never>;
  "server.ending": Record<string, never>;
  /** Every 15 seconds, without an id: by this the page knows that the stream lives. */
  beat: Record<string, never>;
  /** What was missed is not known: ask again. */
  reset: Record<string, never>;
}

export type EventName = keyof Events;
