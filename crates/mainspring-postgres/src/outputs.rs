//! The ends of what runs wrote, for servers that have not their files.
//!
//! Cost: a session, and a round trip for some outputs.
//!
//! Does not belong to a commit: an output that is lost costs its lines and nothing else.

use mainspring_job::{KeptOutput, OnceId, OutputKeeper, StoreError};
use mainspring_rows::{Columns, ReadResult, nanoseconds};

use super::connection::Connection;
use super::escape::kept;
use super::location::{Location, OF_OWNER};
use super::read;
use super::row::CurrentRow;
use super::shard::Shard;
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
}

impl OutputKeeper for Outputs {
    fn keep(&mut self, outputs: &[KeptOutput]) -> Result<(), StoreError> {
        read::flush(&mut self.connection)?;
        // Of a run that is gone already nothing is kept: it would never be removed.
        let sql = "INSERT INTO mainspring.output (job, nominal, series, left_out, lines)
            SELECT u.job, u.nominal, u.series, u.left_out, u.lines
            FROM UNNEST($1, $2, $3, $4, $5, $6) AS u (job, nominal, series, left_out, lines, number)
            WHERE EXISTS (SELECT FROM mainspring.run AS r
                WHERE r.job = u.job AND r.nominal = u.nominal AND r.series = u.series)
                OR EXISTS (SELECT FROM mainspring.pack AS p
                WHERE p.first_number <= u.number AND u.number <= p.last_number AND u.number = ANY (p.number))
            ON CONFLICT (job, nominal, series) DO UPDATE
                SET left_out = EXCLUDED.left_out, lines = EXCLUDED.lines, at = clock_timestamp()";
        let numbers = |of: fn(&KeptOutput) -> i64| Value::Ints(outputs.iter().map(of).collect());
        let values = [
            Value::Texts(outputs.iter().map(|output| output.key.job.to_string()).collect()),
            numbers(|output| nanoseconds(output.key.nominal)),
            numbers(|output| i64::from(output.key.series)),
            numbers(|output| mainspring_rows::number(output.left_out_bytes)),
            Value::Texts(outputs.iter().map(|output| kept(&output.lines).into_owned()).collect()),
            Value::Numbers(outputs.iter().map(number_of).collect()),
        ];
        self.connection.call("keep outputs", sql, &values).map(drop)
    }
}

/// The number of a one-shot job without a name of its own: it may be in an archive block.
fn number_of(output: &KeptOutput) -> Option<i64> {
    output.key.job.as_str().parse::<OnceId>().ok().map(|id| mainspring_rows::number(id.number))
}

/// What is kept of a run.
pub(super) fn output(
    connection: &mut Connection,
    _shard: Shard,
    key: &mainspring_job::RunKey,
) -> ReadResult<Option<KeptOutput>> {
    let sql = "SELECT left_out, lines FROM mainspring.output WHERE job = $1 AND nominal = $2 AND series = $3";
    let values = [
        Value::text(key.job.as_str()),
        Value::Int(nanoseconds(key.nominal)),
        Value::Int(i64::from(key.series)),
    ];
    let rows = connection.call("read an output", sql, &values)?;
    let Some(row) = rows.first() else { return Ok(None) };
    let found = CurrentRow(row);
    let mut output = KeptOutput::new(key.clone(), found.maybe_text(1)?.unwrap_or_default().into_owned());
    output.left_out_bytes = mainspring_rows::unsigned(found.maybe_integer(0)?.unwrap_or_default());
    Ok(Some(output))
}
