//! The last run of each job that is over. It is kept in the job's own row, so that a list of jobs reads no
//! runs.
//!
//! ```text
//!  a run ends ───────────────▶ record: it is the last, unless one with a later nominal time is
//!  it opens again, is pruned ─▶ replace: if it was the last, the last is looked for again
//! ```
//!
//! Cost: an update of the job's row for each end; most ends write that row in any case. Looking again reads
//! the job's runs from the latest back to the first that is over.
//!
//! Does not know one-shot jobs: they have no row.

use jiff::Timestamp;
use mainspring_job::{JobName, RunKey, RunState, StoreError};
use rusqlite::{Connection, params};

use super::connection::{execute, first};
use mainspring_rows::nanoseconds;

/// A run is over.
pub(super) fn record(
    connection: &Connection,
    key: &RunKey,
    state: RunState,
    ended: Timestamp,
) -> Result<(), StoreError> {
    debug_assert!(!state.is_open(), "it is over");
    let sql =
        "UPDATE job SET last_nominal = ?2, last_series = ?3, last_state = ?4, last_ended = ?5 WHERE name = ?1
        AND (last_nominal IS NULL OR (last_nominal, last_series) <= (?2, ?3))";
    let (job, nominal, ended) = (key.job.as_str(), nanoseconds(key.nominal), nanoseconds(ended));
    execute(connection, sql, params![job, nominal, key.series, state.name(), ended])?;
    if state == RunState::Succeeded {
        let sql = "UPDATE job SET last_success = max(coalesce(last_success, ?2), ?2) WHERE name = ?1";
        execute(connection, sql, params![job, ended])?;
    }
    Ok(())
}

/// A run is open again, or not there any more.
pub(super) fn replace(connection: &Connection, key: &RunKey) -> Result<(), StoreError> {
    let sql = "SELECT 1 FROM job WHERE name = ?1 AND last_nominal = ?2 AND last_series = ?3";
    let values = params![key.job.as_str(), nanoseconds(key.nominal), key.series];
    if first(connection, sql, values, |_| Ok(()))?.is_some() {
        look(connection, &key.job)?;
    }
    Ok(())
}

/// Looks for the last run of a job.
pub(super) fn look(connection: &Connection, job: &JobName) -> Result<(), StoreError> {
    let sql = "UPDATE job SET (last_nominal, last_series, last_state, last_ended) =
        (SELECT nominal, series, state, coalesce(ended, planned) FROM run WHERE run.job = ?1
            AND state NOT IN ('scheduled', 'queued', 'running') ORDER BY nominal DESC, series DESC LIMIT 1)
        WHERE name = ?1";
    execute(connection, sql, params![job.as_str()]).map(drop)
}
