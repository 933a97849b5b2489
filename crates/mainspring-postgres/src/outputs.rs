//! The ends of what runs wrote, for servers that have not their files; of open runs while somebody reads.
//!
//! Cost: a session, and a round trip for some outputs.
//!
//! Does not belong to a commit: an output that is lost costs its lines and nothing else.

use std::collections::BTreeSet;

use mainspring_job::{KeptOutput, MAX_KEPT_ATTEMPTS, RunKey, RunPhase, StoreError};
use mainspring_rows::questions::key_values;
use mainspring_rows::{Columns, ReadResult, nanoseconds};

use super::connection::Connection;
use super::escape::escape;
use super::location::{Location, OF_OWNER};
use super::row::{CurrentRow, small};
use super::value::Value;

/// The session that keeps them.
#[derive(Debug)]
pub struct Outputs {
    connection: Connection,
}

impl Outputs {
    /// Connects with the first output.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn new(location: &Location) -> Result<Outputs, StoreError> {
        Ok(Outputs { connection: Connection::new(location, OF_OWNER)? })
    }

    /// Keeps these, of one run at most one; what was kept of these attempts before goes.
    ///
    /// # Errors
    /// When they are not kept, or may not be.
    pub fn keep(&mut self, outputs: &[KeptOutput]) -> Result<(), StoreError> {
        let attempts = || outputs.iter().map(|output| (&output.key, output.attempt)).collect::<BTreeSet<_>>();
        debug_assert_eq!(attempts().len(), outputs.len(), "one statement keeps a row once");
        // Of a run that is gone already nothing is kept: it would never be removed.
        let sql = "WITH u AS (SELECT * FROM unnest($1, $2, $3, $4, $5, $6) AS u (job, nominal, series, attempt, left_out, lines)
                WHERE EXISTS (SELECT FROM mainspring.run AS r
                    WHERE r.job = u.job AND r.nominal = u.nominal AND r.series = u.series)),
            old AS (DELETE FROM mainspring.output AS o USING u WHERE $7 < u.attempt AND o.job = u.job
                AND o.nominal = u.nominal AND o.series = u.series AND o.attempt <= u.attempt - $7)
            INSERT INTO mainspring.output (job, nominal, series, attempt, left_out, lines)
            SELECT u.job, u.nominal, u.series, u.attempt, u.left_out, u.lines FROM u
            ON CONFLICT (job, nominal, series, attempt) DO UPDATE
                SET left_out = EXCLUDED.left_out, lines = EXCLUDED.lines, at = clock_timestamp()";
        let numbers = |of: fn(&KeptOutput) -> i64| Value::Ints(outputs.iter().map(of).collect());
        let values = [
            Value::Texts(outputs.iter().map(|output| output.key.job.to_string()).collect()),
            numbers(|output| nanoseconds(output.key.nominal)),
            numbers(|output| i64::from(output.key.series)),
            numbers(|output| i64::from(output.attempt)),
            numbers(|output| mainspring_rows::number(output.left_out_bytes)),
            Value::Texts(outputs.iter().map(|output| escape(&output.lines).into_owned()).collect()),
            Value::Int(i64::from(MAX_KEPT_ATTEMPTS)),
        ];
        self.connection.call("keep outputs", sql, &values).map(drop)
    }
}

/// What is kept of a run's attempts after one; of one that is open its server is asked to keep it so.
pub(super) fn output(
    connection: &mut Connection,
    key: &RunKey,
    after: u32,
    phase: RunPhase,
) -> ReadResult<Vec<KeptOutput>> {
    let sql = "SELECT attempt, left_out, lines FROM mainspring.read_output($1, $2, $3, $4, $5)";
    let mut values: Vec<Value> = key_values(key);
    values.extend([Value::Int(i64::from(after)), Value::Bool(phase == RunPhase::Open)]);
    let rows = connection.call("read an output", sql, &values)?;
    let read = |row| {
        let found = CurrentRow(row);
        let attempt = small(found.maybe_integer(0)?.unwrap_or_default())?;
        let lines = found.maybe_text(2)?.unwrap_or_default().into_owned();
        let mut output = KeptOutput::new(key.clone(), attempt, lines);
        output.left_out_bytes = mainspring_rows::unsigned(found.maybe_integer(1)?.unwrap_or_default());
        Ok(output)
    };
    rows.iter().map(read).collect()
}
