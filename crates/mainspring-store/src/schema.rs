//! The tables, and how a file of an older version becomes one of this.
//!
//! ```text
//!  shard     one row: epoch, owner, the start of its machine, the last batch with its answers, how many rows there are
//!  job       one row a job: definition, watermark, counts, pause, its last run
//!  pending   one-shot jobs that have not fired, clustered by (due, number)
//!  once_key  idempotency keys of pending jobs and of kept runs
//!  run       one row a run, clustered by (job, nominal, series)
//!  audit     one row a command of a person or a program, the newest of them
//!  attempt   one row a start, clustered by (job, nominal, series, number): there cannot be two
//! ```
//!
//! Times are nanoseconds since 1970 in 64 bits. `user_version` is the version of the format; a new file is
//! made by all steps one after the other, so that there is one way to the current tables. Each step is one
//! transaction.

use mainspring_job::StoreError;
use rusqlite::Connection;

use super::fault::mapped;

/// The version that the steps lead to.
pub const VERSION: u32 = 8;

const _: () = assert!(STEPS.len() == VERSION as usize);

/// How many tables there are.
const TABLE_COUNT: u32 = 7;

/// What leads from each version to the next; the first makes the tables.
pub(super) const STEPS: [&str; 8] = [
    "CREATE TABLE shard (
        shard INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, owner TEXT NOT NULL, is_paused INTEGER NOT NULL,
        batch INTEGER NOT NULL, answers TEXT NOT NULL
    );
    CREATE TABLE job (
        name TEXT PRIMARY KEY, watermark INTEGER NOT NULL, runs INTEGER NOT NULL, failures INTEGER NOT NULL,
        backfills INTEGER NOT NULL, pause TEXT, timetable TEXT NOT NULL, source TEXT, text TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE pending (
        due INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, is_named INTEGER NOT NULL, key TEXT,
        submitted INTEGER NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, policies TEXT NOT NULL, work_group TEXT,
        priority INTEGER NOT NULL, PRIMARY KEY (due, number)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX pending_name ON pending (name) WHERE is_named = 1;
    CREATE TABLE once_key (
        key TEXT PRIMARY KEY, due INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX once_key_name ON once_key (name, due);
    CREATE TABLE run (
        job TEXT NOT NULL, nominal INTEGER NOT NULL, series INTEGER NOT NULL, cause TEXT NOT NULL, state TEXT NOT NULL,
        attempt INTEGER NOT NULL, due INTEGER NOT NULL, planned INTEGER NOT NULL, started INTEGER, ended INTEGER,
        outcome TEXT, reason TEXT NOT NULL, span_last INTEGER, span_count INTEGER, span_is_exact INTEGER, kind TEXT,
        body TEXT, policies TEXT, work_group TEXT, priority INTEGER, PRIMARY KEY (job, nominal, series)
    ) WITHOUT ROWID;
    CREATE INDEX run_nominal ON run (nominal, job, series);
    CREATE INDEX run_open ON run (job, nominal, series) WHERE state IN ('scheduled', 'queued', 'running');
    CREATE INDEX run_dead ON run (nominal, job, series) WHERE state = 'dead';
    CREATE INDEX run_once ON run (nominal, job, series) WHERE cause = 'once';",
    "CREATE TABLE attempt (
        job TEXT NOT NULL, nominal INTEGER NOT NULL, series INTEGER NOT NULL, number INTEGER NOT NULL,
        started INTEGER NOT NULL, ended INTEGER, state TEXT, outcome TEXT, PRIMARY KEY (job, nominal, series, number)
    ) WITHOUT ROWID;
    INSERT INTO attempt SELECT job, nominal, series, attempt, started, ended,
        CASE WHEN ended IS NULL THEN NULL ELSE state END, outcome FROM run WHERE started IS NOT NULL;",
    "ALTER TABLE job ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE run ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;",
    "ALTER TABLE run ADD COLUMN forgiven INTEGER NOT NULL DEFAULT 0;",
    "ALTER TABLE shard ADD COLUMN machine_start TEXT NOT NULL DEFAULT '';",
    "CREATE INDEX run_over ON run (job, nominal, series) WHERE state NOT IN ('scheduled', 'queued', 'running');
    ALTER TABLE shard ADD COLUMN jobs INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE shard ADD COLUMN pending INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE shard ADD COLUMN open INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE shard ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE shard ADD COLUMN dead INTEGER NOT NULL DEFAULT 0;
    UPDATE shard SET jobs = (SELECT count(*) FROM job WHERE source IS NOT NULL),
        pending = (SELECT count(*) FROM pending), runs = (SELECT count(*) FROM run),
        open = (SELECT count(*) FROM run WHERE state IN ('scheduled', 'queued', 'running')),
        dead = (SELECT count(*) FROM run WHERE state = 'dead')
        WHERE shard = (SELECT min(shard) FROM shard);",
    "ALTER TABLE shard ADD COLUMN pause_until INTEGER;
    ALTER TABLE shard ADD COLUMN pause_note TEXT NOT NULL DEFAULT '';
    ALTER TABLE job ADD COLUMN pause_until INTEGER;
    ALTER TABLE job ADD COLUMN pause_note TEXT NOT NULL DEFAULT '';
    ALTER TABLE job ADD COLUMN last_nominal INTEGER;
    ALTER TABLE job ADD COLUMN last_series INTEGER;
    ALTER TABLE job ADD COLUMN last_state TEXT;
    ALTER TABLE job ADD COLUMN last_ended INTEGER;
    ALTER TABLE job ADD COLUMN last_success INTEGER;
    UPDATE job SET (last_nominal, last_series, last_state, last_ended) =
        (SELECT nominal, series, state, coalesce(ended, planned) FROM run WHERE run.job = job.name
            AND state NOT IN ('scheduled', 'queued', 'running') ORDER BY nominal DESC, series DESC LIMIT 1),
        last_success = (SELECT max(ended) FROM run WHERE run.job = job.name AND state = 'succeeded');
    DROP INDEX run_over;
    CREATE INDEX run_ended ON run (ended, job, nominal, series) WHERE ended IS NOT NULL;
    CREATE TABLE audit (
        number INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
        target TEXT NOT NULL, note TEXT NOT NULL
    );",
    // Of the runs that people ask for by state, and that are few where most succeed.
    "CREATE INDEX run_other ON run (nominal, job, series)
        WHERE state NOT IN ('scheduled', 'queued', 'running', 'succeeded');
    CREATE INDEX run_other_ended ON run (ended, job, nominal, series)
        WHERE state NOT IN ('scheduled', 'queued', 'running', 'succeeded');
    DROP INDEX IF EXISTS run_dead;",
];

/// Makes or migrates the tables.
pub(super) fn prepare(connection: &mut Connection) -> Result<(), StoreError> {
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(mapped)?;
    if VERSION < found {
        return Err(StoreError::TooNew { found, known: VERSION });
    }
    for (version, step) in (1..).zip(STEPS).skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        let transaction = connection.transaction().map_err(mapped)?;
        transaction.execute_batch(step).map_err(mapped)?;
        transaction.pragma_update(None, "user_version", version).map_err(mapped)?;
        transaction.commit().map_err(mapped)?;
    }
    Ok(())
}

/// Whether the tables are those of this version, for who only reads them: nothing is migrated.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(mapped)?;
    if VERSION < found {
        return Err(StoreError::TooNew { found, known: VERSION });
    }
    if found < VERSION {
        let text = format!("it has the older format {found}: mainspring serve makes it format {VERSION}");
        return Err(StoreError::Io(text.into()));
    }
    // A view or a virtual table in the place of a table would be a program of the user who wrote the file.
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE %'
        AND name IN ('shard', 'job', 'pending', 'once_key', 'run', 'attempt', 'audit')";
    let count: u32 = connection.query_row(sql, [], |row| row.get(0)).map_err(mapped)?;
    if count != TABLE_COUNT {
        return Err(StoreError::Corrupt("its tables are not those that this program makes".to_owned()));
    }
    Ok(())
}
