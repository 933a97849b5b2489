//! The runs of a backfill or a rewind, shown before it is asked for.
//!
//! Cost: O(occurrences) of the answer; a rewind counts the others without listing them.
//!
//! Does not know the records: the store leaves out occurrences that have run already.

use jiff::Timestamp;

use crate::operation::MAX_BATCH_OPERATIONS;
use crate::refusal::Refusal;
use crate::timetable::{Timetable, before};

/// The most runs of one backfill: a person watches it, and can ask for the next range afterwards.
pub const MAX_BACKFILL_RUNS: usize = 1_000;

const _: () = assert!(MAX_BACKFILL_RUNS < MAX_BATCH_OPERATIONS, "all of one are on disk together");

/// Tells what a backfill would run: the occurrences from `from` to `to`, both included, and not after `now`.
///
/// # Errors
/// When there are more than [`MAX_BACKFILL_RUNS`].
///
/// # Example
/// ```
/// use mainspring_job::{Timetable, cron::Schedule, preview};
///
/// let daily = Timetable::new([Schedule::parse("30 2 * * *", "UTC")?])?;
/// let (from, to) = ("2026-11-01T00:00:00Z".parse()?, "2026-11-30T00:00:00Z".parse()?);
/// let now = "2026-11-21T12:00:00Z".parse()?;
/// assert_eq!(preview(&daily, from, to, now)?.len(), 21, "those that have not come yet are left out");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn preview(
    timetable: &Timetable,
    from: Timestamp,
    to: Timestamp,
    now: Timestamp,
) -> Result<Vec<Timestamp>, Refusal> {
    let found = timetable.occurrences(before(from), to.min(now), MAX_BACKFILL_RUNS + 1);
    if MAX_BACKFILL_RUNS < found.len() { Err(Refusal::BackfillTooLarge) } else { Ok(found) }
}

/// Tells what a rewind would let run: the first occurrences after `now` up to the watermark, at most `most`,
/// and how many there are. Those that have a record of their own do not run again: the store knows which.
/// `None`: the job is not planned ahead.
///
/// # Example
/// ```
/// use mainspring_job::{Timetable, cron::Schedule, rewind_preview};
///
/// let daily = Timetable::new([Schedule::parse("30 2 * * *", "UTC")?])?;
/// let now = "2026-11-21T12:00:00Z".parse()?;
/// // The clock showed March once, and was set right again.
/// let watermark = "2027-03-01T00:00:00Z".parse()?;
/// let (first, count) = rewind_preview(&daily, watermark, now, 1).expect("it is planned ahead");
/// assert_eq!((first, count), (vec!["2026-11-22T02:30:00Z".parse()?], 99));
/// assert_eq!(rewind_preview(&daily, now, now, 1), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rewind_preview(
    timetable: &Timetable,
    watermark: Timestamp,
    now: Timestamp,
    most: usize,
) -> Option<(Vec<Timestamp>, u64)> {
    if watermark <= now {
        return None;
    }
    let count =
        timetable.stretch_in(now, watermark).map_or(0, |(first, last)| timetable.count(first, last).count);
    Some((timetable.occurrences(now, watermark, most), count))
}
