//! Explains the effect of a zone's coming clock changes on a calendar.
//!
//! Costs one calendar search for each listed time.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp, Zoned};

use super::list::join;
use crate::dst::{Gap, Overlap};
use crate::zone::{Change, ZonedCalendar};

/// The number of times that are listed; the others become "and more".
const LISTED_TIMES: usize = 3;
/// One year ahead. A change further away may be moved by a law before it comes.
const HORIZON: SignedDuration = SignedDuration::from_hours(24 * 366);

/// One change of the clock in a schedule's zone, and what it does to the schedule: a part of
/// [`Explanation`](crate::Explanation).
///
/// # Example
/// ```
/// use mainspring_cron::Schedule;
///
/// let schedule = Schedule::parse("30 2 * * *", "Europe/Paris")?;
/// let change = &schedule.explain("2025-01-01T00:00:00Z".parse()?).changes[0];
/// assert_eq!(change.at.to_string(), "2025-03-30T03:00:00+02:00[Europe/Paris]");
/// assert_eq!(change.text, "on Sun 2025-03-30 the clock goes from 02:00 to 03:00 (+01:00 to +02:00)");
/// assert_eq!(change.effect, "02:30 does not exist: it runs once, at 03:00");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockChange {
    /// The first moment after the change, with the offset that holds from then on.
    pub at: Zoned,
    /// What the wall clock does: `on Sun 2025-03-30 the clock goes from 02:00 to 03:00 (+01:00 to +02:00)`.
    pub text: String,
    /// What the schedule does: `02:30 does not exist: it runs once, at 03:00`.
    pub effect: String,
    /// Whether a fixed time of the schedule lies inside the gap.
    pub(crate) hits_gap: bool,
}

/// The changes of the next year. There are two in most zones and four in some.
pub(crate) fn coming(zoned: &ZonedCalendar<'_>, from: Timestamp) -> Vec<ClockChange> {
    let first = Change::following(zoned.zone, from);
    let changes = std::iter::successors(first, |change| Change::following(zoned.zone, change.at));
    changes
        .take_while(|change| change.at.duration_since(from) <= HORIZON)
        .map(|change| explain(zoned, change))
        .collect()
}

fn explain(zoned: &ZonedCalendar<'_>, change: Change) -> ClockChange {
    let (before, after) = (change.before.to_datetime(change.at), change.after.to_datetime(change.at));
    let (low, high) = (before.min(after), before.max(after));
    let times = times_between(zoned, low, high);
    let policy = zoned.policy_at(change);
    let at = change.at.to_zoned(zoned.zone.clone());
    let format = if before.date() == after.date() { "%H:%M" } else { "%a %H:%M" };
    let clock = |time: DateTime| time.strftime(format).to_string();
    let text = format!(
        "on {} the clock goes from {} to {} ({} to {})",
        at.strftime("%a %Y-%m-%d"),
        clock(before),
        clock(after),
        offset_text(change.before),
        offset_text(change.after)
    );
    let is_gap = change.gap().is_some();
    let hits_gap = is_gap && !times.is_empty();
    let effect = match (is_gap, &times[..]) {
        (true, []) => "nothing is due in the time that is left out".to_owned(),
        (false, []) => "nothing is due in the time that comes twice".to_owned(),
        (true, times) => gap_effect(policy.gap, times, &clock(after)),
        (false, times) => overlap_effect(policy.overlap, times),
    };
    ClockChange { at, text, effect, hits_gap }
}

fn gap_effect(gap: Gap, times: &[String], end: &str) -> String {
    let (listed, verb) = (join(times), if times.len() == 1 { "does" } else { "do" });
    match gap {
        Gap::Run => format!("{listed} {verb} not exist: it runs once, at {end}"),
        Gap::Skip => format!("{listed} {verb} not exist: nothing runs instead"),
        Gap::Shift => format!("{listed} {verb} not exist: it runs later by the length of the gap"),
    }
}

fn overlap_effect(overlap: Overlap, times: &[String]) -> String {
    let (listed, verb) = (join(times), if times.len() == 1 { "comes" } else { "come" });
    match overlap {
        Overlap::First => format!("{listed} {verb} twice: it runs the first time only"),
        Overlap::Last => format!("{listed} {verb} twice: it runs the second time only"),
        Overlap::Both => format!("{listed} {verb} twice: it runs both times"),
    }
}

/// The first due times of `low..high`, and "more" if there are others.
fn times_between(zoned: &ZonedCalendar<'_>, low: DateTime, high: DateTime) -> Vec<String> {
    let format = |time: DateTime| match (time.second(), time.subsec_nanosecond()) {
        (0, 0) => "%H:%M",
        (_, 0) => "%H:%M:%S",
        _ => "%H:%M:%S%.f",
    };
    let mut times = Vec::new();
    let mut from = Some(low);
    while let Some(found) = from.and_then(|from| zoned.calendar.next(from)).filter(|found| *found < high) {
        if times.len() == LISTED_TIMES {
            times.push("more".to_owned());
            break;
        }
        times.push(found.strftime(format(found)).to_string());
        from = found.checked_add(SignedDuration::from_nanos(1)).ok();
    }
    times
}

fn offset_text(offset: Offset) -> String {
    let seconds = offset.seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", seconds.abs() / 3600, seconds.abs() / 60 % 60)
}
