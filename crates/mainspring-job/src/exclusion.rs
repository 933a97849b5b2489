//! An exclusion: times at which a job rests though a trigger names them.
//!
//! ```text
//!  dates   ──[  24th  25th  26th  )──▶          whole days in a zone
//!  times   ──▒─▒─▒─▒─▒─▒─▒─▒─▒─▒─▒──▶          each minute that a schedule names
//! ```
//!
//! Cost: a question costs one search of the calendar; a stretch two, or the change of a day or an hour looked
//! up.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use mainspring_cron::{Expression, Schedule};

/// The step from a moment to the next.
pub(super) const INSTANT: SignedDuration = SignedDuration::from_nanos(1);
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// A bit for each minute of an hour, and for each hour of a day.
const ALL_MINUTES: u64 = (1 << 60) - 1;
const ALL_HOURS: u32 = (1 << 24) - 1;

const _: () = assert!(ALL_MINUTES.count_ones() == 60);
const _: () = assert!(ALL_HOURS.count_ones() == 24);

/// Leaves occurrences out.
///
/// # Example
/// ```
/// use mainspring_job::{Exclusion, Next, Timetable, cron::Schedule, jiff::tz::TimeZone};
///
/// let (first, last) = ("2026-12-24".parse()?, "2026-12-26".parse()?);
/// let holidays = Exclusion::Dates { first, last, zone: TimeZone::UTC };
/// let daily = Timetable::new([Schedule::parse("30 2 * * *", "UTC")?])?.without(vec![holidays])?;
/// let next = daily.next_after("2026-12-23T12:00:00Z".parse()?);
/// assert_eq!(next, Next::At("2026-12-27T02:30:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Exclusion {
    /// Whole days in a zone, both included.
    Dates {
        /// The first day.
        first: Date,
        /// The last day; the same for a single one.
        last: Date,
        /// Whose days.
        zone: TimeZone,
    },
    /// Every occurrence that lies on an occurrence of this schedule, or in a minute that begins with one:
    /// `* 12 * * *` excludes everything from 12:00:00 up to 12:59:59.
    Times(Box<Schedule>),
}

impl Exclusion {
    /// Whether a moment is left out.
    pub fn holds(&self, moment: Timestamp) -> bool {
        match self {
            Exclusion::Dates { first, last, zone } => {
                let date = zone.to_datetime(moment).date();
                *first <= date && date <= *last
            }
            Exclusion::Times(schedule) => {
                let is_named = |moment: Timestamp| schedule_names(schedule, moment);
                is_named(moment) || is_named(minute_of(moment))
            }
        }
    }

    /// A stretch around a moment that is left out, from its first moment to its last: the longest that is
    /// known without looking further. All of it is left out.
    pub(super) fn stretch(&self, moment: Timestamp) -> (Timestamp, Timestamp) {
        match self {
            Exclusion::Dates { first, last, zone } => {
                let start = first_of(*first, zone).unwrap_or(moment).min(moment);
                let next = last.tomorrow().ok().and_then(|day| first_of(day, zone));
                // Where a clock is set back over midnight the next day may have begun before.
                (start, next.map_or(moment, |next| before(next).max(moment)))
            }
            Exclusion::Times(schedule) => {
                let minute = minute_of(moment);
                if !schedule_names(schedule, minute) {
                    return (moment, moment);
                }
                let stretch = whole_of(schedule, moment).unwrap_or((minute, end_after(minute, MINUTE)));
                (stretch.0.min(moment), stretch.1.max(moment))
            }
        }
    }
}

/// The day or the hour around a moment that a schedule names, if it names all minutes of that.
fn whole_of(schedule: &Schedule, moment: Timestamp) -> Option<(Timestamp, Timestamp)> {
    let Expression::Calendar(pattern) = schedule.expression() else { return None };
    // Any other pattern may leave out what a change of the clock repeats.
    if !pattern.is_wildcard() || pattern.minutes() != ALL_MINUTES {
        return None;
    }
    let local = moment.to_zoned(schedule.zone().clone());
    if local.offset().seconds() % 60 != 0 {
        // The minutes of the clock are not those of UTC: local mean time, long ago.
        return None;
    }
    let (first, last) = if pattern.hours() == ALL_HOURS {
        let next = first_of(local.date().tomorrow().ok()?, schedule.zone())?;
        (first_of(local.date(), schedule.zone())?, before(next))
    } else {
        let minute = SignedDuration::from_mins(i64::from(local.minute()));
        let first = minute_of(moment).checked_sub(minute).ok()?;
        (first, end_after(first, MINUTE * 60))
    };
    // A day or an hour in which the clock changes is passed minute by minute.
    let offset = |moment| schedule.zone().to_offset(moment);
    (offset(first) == local.offset() && offset(last) == local.offset()).then_some((first, last))
}

fn first_of(day: Date, zone: &TimeZone) -> Option<Timestamp> {
    day.to_zoned(zone.clone()).ok().map(|midnight| midnight.timestamp())
}

/// The last moment of what begins then and is so long.
fn end_after(first: Timestamp, length: SignedDuration) -> Timestamp {
    first.checked_add(length).map_or(Timestamp::MAX, before)
}

fn schedule_names(schedule: &Schedule, moment: Timestamp) -> bool {
    schedule.next_after(before(moment)).is_some_and(|next| next.timestamp() == moment)
}

/// The last moment before one.
pub(super) fn before(moment: Timestamp) -> Timestamp {
    moment.checked_sub(INSTANT).unwrap_or(Timestamp::MIN)
}

fn minute_of(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second().div_euclid(60) * 60).unwrap_or(Timestamp::MIN)
}
