CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, owner TEXT NOT NULL,
    machine_start TEXT NOT NULL DEFAULT '',
    is_paused INTEGER NOT NULL, pause_until INTEGER, pause_note TEXT NOT NULL DEFAULT '',
    batch INTEGER NOT NULL, answers TEXT NOT NULL,
    -- How many rows there are.
    jobs INTEGER NOT NULL DEFAULT 0, pending INTEGER NOT NULL DEFAULT 0, open INTEGER NOT NULL DEFAULT 0,
    runs INTEGER NOT NULL DEFAULT 0, dead INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE job (
    name TEXT PRIMARY KEY, watermark INTEGER NOT NULL, runs INTEGER NOT NULL, failures INTEGER NOT NULL,
    deaths INTEGER NOT NULL DEFAULT 0, max_series INTEGER NOT NULL,
    pause TEXT, pause_until INTEGER, pause_note TEXT NOT NULL DEFAULT '',
    timetable TEXT NOT NULL, source TEXT, text TEXT NOT NULL,
    -- Its last run that is over, and when a run of it last succeeded.
    last_nominal INTEGER, last_series INTEGER, last_state TEXT, last_ended INTEGER, last_success INTEGER
) WITHOUT ROWID;

CREATE TABLE pending (
    due INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, is_named INTEGER NOT NULL, key TEXT,
    submitted INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, policies TEXT NOT NULL, work_group TEXT,
    priority INTEGER NOT NULL, PRIMARY KEY (due, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX pending_name ON pending (name) WHERE is_named = 1;
-- The members of a batch: its name is the last word of their policies.
CREATE INDEX pending_batch ON pending (substr(' ' || policies, instr(' ' || policies, ' batch=') + 7))
    WHERE 0 < instr(' ' || policies, ' batch=');

CREATE TABLE once_key (
    key TEXT PRIMARY KEY, due INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX once_key_name ON once_key (name, due);

CREATE TABLE run (
    job TEXT NOT NULL, nominal INTEGER NOT NULL, series INTEGER NOT NULL, cause TEXT NOT NULL, state TEXT NOT NULL,
    attempt INTEGER NOT NULL, due INTEGER NOT NULL, planned INTEGER NOT NULL, started INTEGER, ended INTEGER,
    outcome TEXT, reason TEXT NOT NULL, span_last INTEGER, span_count INTEGER, span_is_exact INTEGER,
    deaths INTEGER NOT NULL DEFAULT 0, forgiven INTEGER NOT NULL DEFAULT 0,
    kind TEXT, body TEXT, policies TEXT, work_group TEXT, priority INTEGER, worker INTEGER,
    PRIMARY KEY (job, nominal, series)
) WITHOUT ROWID;
CREATE INDEX run_nominal ON run (nominal, job, series);
CREATE INDEX run_ended ON run (ended, job, nominal, series) WHERE ended IS NOT NULL;
CREATE INDEX run_open ON run (job, nominal, series) WHERE state IN ('scheduled', 'queued', 'running');
CREATE INDEX run_once ON run (nominal, job, series) WHERE cause = 'once';
-- Of the states that people ask for and that few runs are in, where most succeed.
CREATE INDEX run_other ON run (nominal, job, series)
    WHERE state NOT IN ('scheduled', 'queued', 'running', 'succeeded');
CREATE INDEX run_other_ended ON run (ended, job, nominal, series)
    WHERE state NOT IN ('scheduled', 'queued', 'running', 'succeeded');
-- Of the causes and groups that people ask for, where most runs have a schedule and no group of their own.
CREATE INDEX run_rare ON run (cause, nominal, job, series) WHERE cause NOT IN ('trigger', 'once');
CREATE INDEX run_rare_ended ON run (cause, ended, job, nominal, series) WHERE cause NOT IN ('trigger', 'once');
CREATE INDEX run_group ON run (work_group) WHERE work_group IS NOT NULL;

CREATE TABLE attempt (
    job TEXT NOT NULL, nominal INTEGER NOT NULL, series INTEGER NOT NULL, number INTEGER NOT NULL,
    started INTEGER NOT NULL, ended INTEGER, state TEXT, outcome TEXT, worker INTEGER, PRIMARY KEY (job, nominal, series, number)
) WITHOUT ROWID;

CREATE TABLE audit (
    number INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
    target TEXT NOT NULL, note TEXT NOT NULL
);
