//! A timetable: the triggers of a job, without what is excluded, between its start and its end.
//!
//! ```text
//!  triggers    ──×───────×──×────────×───×───────×──▶   several schedules; two at one moment are one occurrence
//!  exclusions  ────▒▒▒▒▒▒▒▒▒▒▒────────────────────────   dates, or times that an expression names
//!  start, end       [                       )
//!  occurrences ──────────────────────×───×───────────▶
//! ```
//!
//! Cost: a question costs one search of the calendar for each trigger, and as many again for each step over
//! an exclusion. A step passes a whole day if the day is excluded, else a whole hour, else a minute, else one
//! occurrence.
//!
//! | question | steps |
//! |---|---|
//! | [`Timetable::next_after`] | at most [`MAX_STEPS`]; then the answer is [`Next::NotBefore`], and is asked for again at that time |
//! | all others | as many as there are in the range that the caller gives: an excluded year is 365, or at worst 60 a minute |

use std::error::Error;
use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_cron::{DstPolicy, Expression, Schedule};

pub(crate) use crate::exclusion::before;
use crate::exclusion::{Exclusion, INSTANT};
use crate::trigger::{After, Trigger, identity_of, zone_text};

/// The most triggers of a job.
pub const MAX_TRIGGERS: usize = 64;

/// The most exclusions of a job: the holidays of some years.
pub const MAX_EXCLUSIONS: usize = 512;

/// How many steps over what is excluded [`Timetable::next_after`] takes: nothing bounds how far away the next
/// occurrence is.
pub const MAX_STEPS: usize = 1_000;

/// Up to how many occurrences are counted one by one; beyond, a count is "at least".
pub const MAX_COUNTED: u64 = 1_000;

/// Answers when the next occurrence is.
///
/// # Example
/// ```
/// use mainspring_job::{Next, Timetable, cron::Schedule};
///
/// let once = Timetable::new([Schedule::parse("@at 2030-01-31T08:00:00Z", "UTC")?])?;
/// let due = "2030-01-31T08:00:00Z".parse()?;
/// assert_eq!(once.next_after("2026-01-01T00:00:00Z".parse()?), Next::At(due));
/// assert_eq!(once.next_after(due), Next::Never);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a moment, a wait, or neither: there is no fourth answer")]
pub enum Next {
    /// The next occurrence is at this moment.
    At(Timestamp),
    /// There is none up to this moment; ask again from there.
    NotBefore(Timestamp),
    /// There is none any more.
    Never,
}

impl Next {
    /// Whether the next occurrence is not after this moment.
    pub fn is_due(self, now: Timestamp) -> bool {
        matches!(self, Next::At(next) if next <= now)
    }
}

/// Says when a job is due.
///
/// # Example
/// ```
/// use mainspring_cron::Schedule;
/// use mainspring_job::{Next, Timetable};
///
/// let weekdays = Schedule::parse("0 9 * * mon-fri", "UTC")?;
/// let saturday = Schedule::parse("0 11 * * sat", "UTC")?;
/// let timetable = Timetable::new([weekdays, saturday])?;
/// let friday = "2026-11-20T09:00:00Z".parse()?;
/// assert_eq!(timetable.next_after(friday), Next::At("2026-11-21T11:00:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Timetable {
    /// From 1 to `MAX_TRIGGERS`.
    triggers: Vec<Trigger>,
    /// At most `MAX_EXCLUSIONS`.
    exclusions: Vec<Exclusion>,
    /// Nothing is due before.
    start: Timestamp,
    /// Nothing is due then or later; after `start`.
    end: Timestamp,
}

impl Timetable {
    /// All occurrences of all triggers.
    ///
    /// # Errors
    /// When there is no trigger, or more than [`MAX_TRIGGERS`].
    pub fn new(triggers: impl IntoIterator<Item = impl Into<Trigger>>) -> Result<Timetable, TimetableError> {
        // One more than there may be, so that there is an end to an endless list.
        let triggers: Vec<Trigger> = triggers.into_iter().take(MAX_TRIGGERS + 1).map(Into::into).collect();
        match triggers.len() {
            0 => Err(TimetableError::NoTrigger),
            1..=MAX_TRIGGERS => {
                Ok(Timetable { triggers, exclusions: Vec::new(), start: Timestamp::MIN, end: Timestamp::MAX })
            }
            _ => Err(TimetableError::TooManyTriggers),
        }
    }

    /// Leaves out what any of these holds. Times are those that the wall clock shows, whatever their schedule
    /// does when a clock is changed.
    ///
    /// # Errors
    /// When there are more than [`MAX_EXCLUSIONS`].
    pub fn without(mut self, mut exclusions: Vec<Exclusion>) -> Result<Timetable, TimetableError> {
        if MAX_EXCLUSIONS < exclusions.len() {
            return Err(TimetableError::TooManyExclusions);
        }
        for exclusion in &mut exclusions {
            if let Exclusion::Times(schedule) = exclusion {
                **schedule = schedule.as_ref().clone().with_dst(DstPolicy::LITERAL);
            }
        }
        self.exclusions = exclusions;
        Ok(self)
    }

    /// Only occurrences from `start` up to and not including `end`.
    ///
    /// # Errors
    /// When that is no time at all.
    pub fn between(
        mut self,
        start: Option<Timestamp>,
        end: Option<Timestamp>,
    ) -> Result<Timetable, TimetableError> {
        let (start, end) = (start.unwrap_or(Timestamp::MIN), end.unwrap_or(Timestamp::MAX));
        if end <= start {
            return Err(TimetableError::EmptyRange);
        }
        (self.start, self.end) = (start, end);
        Ok(self)
    }

    /// Its triggers.
    pub fn triggers(&self) -> &[Trigger] {
        &self.triggers
    }

    /// The zone of its first schedule, if it has one.
    pub fn zone(&self) -> Option<&TimeZone> {
        self.triggers.iter().find_map(|trigger| Some(trigger.schedule()?.zone()))
    }

    /// What is left out.
    pub fn exclusions(&self) -> &[Exclusion] {
        &self.exclusions
    }

    /// The first moment at which it may be due, if there is one.
    pub fn start(&self) -> Option<Timestamp> {
        Some(self.start).filter(|&start| start != Timestamp::MIN)
    }

    /// The first moment at which it is not due any more, if there is one.
    pub fn end(&self) -> Option<Timestamp> {
        Some(self.end).filter(|&end| end != Timestamp::MAX)
    }

    /// Whether one of the triggers is the start of the machine.
    pub fn is_at_boot(&self) -> bool {
        self.triggers.iter().any(Trigger::is_at_boot)
    }

    /// Whether one of the triggers is each start of the server.
    pub fn is_at_server_start(&self) -> bool {
        self.triggers.contains(&Trigger::ServerStart)
    }

    /// The ends of other jobs' runs that are among the triggers.
    pub fn follows(&self) -> impl Iterator<Item = &After> {
        self.triggers.iter().filter_map(Trigger::after)
    }

    /// Whether something that no trigger names may be due at a moment: it is neither excluded, nor before the
    /// start, nor at the end or after it.
    pub fn admits(&self, moment: Timestamp) -> bool {
        let is_within = self.start <= moment && moment < self.end;
        is_within && !self.exclusions.iter().any(|exclusion| exclusion.holds(moment))
    }

    /// The first occurrence strictly after a moment.
    pub fn next_after(&self, after: Timestamp) -> Next {
        let mut after = after.max(before(self.start));
        for _ in 0..MAX_STEPS {
            let times = self.triggers.iter().filter_map(|trigger| trigger.next_after(after));
            let Some(moment) = times.min().filter(|&time| time < self.end) else {
                return Next::Never;
            };
            match self.exclusions.iter().find(|exclusion| exclusion.holds(moment)) {
                None => return Next::At(moment),
                Some(exclusion) => after = exclusion.stretch(moment).1,
            }
        }
        Next::NotBefore(after)
    }

    /// The first occurrence in `(after, up_to]`, however much of it is excluded.
    pub fn first_in(&self, after: Timestamp, up_to: Timestamp) -> Option<Timestamp> {
        let mut after = after;
        loop {
            match self.next_after(after) {
                Next::At(moment) => return Some(moment).filter(|moment| *moment <= up_to),
                Next::NotBefore(moment) if moment < up_to => after = moment,
                Next::NotBefore(_) | Next::Never => return None,
            }
        }
    }

    /// The first and the last occurrence in `(after, up_to]`.
    pub fn stretch_in(&self, after: Timestamp, up_to: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let first = self.first_in(after, up_to)?;
        let end = up_to.checked_add(INSTANT).unwrap_or(Timestamp::MAX);
        let last = self.prev_before(end, before(first)).unwrap_or(first);
        debug_assert!(first <= last && last <= up_to, "a stretch is within what was asked for");
        Some((first, last))
    }

    /// The last occurrence strictly before a moment and after `floor`, however much of it is excluded.
    pub fn prev_before(&self, before: Timestamp, floor: Timestamp) -> Option<Timestamp> {
        let mut before = before.min(self.end);
        loop {
            let times = self.triggers.iter().filter_map(|trigger| trigger.prev_before(before));
            let moment = times.max()?;
            if moment <= floor || moment < self.start {
                return None;
            }
            match self.exclusions.iter().find(|exclusion| exclusion.holds(moment)) {
                None => return Some(moment),
                Some(exclusion) => before = exclusion.stretch(moment).0,
            }
        }
    }

    /// The occurrences in `(after, up_to]`, in order, at most `limit`.
    pub fn occurrences(&self, after: Timestamp, up_to: Timestamp, limit: usize) -> Vec<Timestamp> {
        let mut found = Vec::new();
        let mut after = after;
        for _ in 0..limit.saturating_add(MAX_STEPS) {
            match self.next_after(after) {
                Next::At(moment) if moment <= up_to && found.len() < limit => {
                    found.push(moment);
                    after = moment;
                }
                Next::NotBefore(moment) if moment <= up_to => after = moment,
                _ => break,
            }
        }
        found
    }

    /// How many occurrences lie in `[first, last]`, which both are occurrences: exactly for one fixed period
    /// or for few, else at least so many.
    ///
    /// # Panics
    /// When `last` comes before `first`.
    pub fn count(&self, first: Timestamp, last: Timestamp) -> Span {
        assert!(first <= last, "occurrences are counted from the first to the last");
        if let ([trigger], []) = (self.triggers.as_slice(), self.exclusions.as_slice())
            && let Some(Expression::Every(every)) = trigger.schedule().map(Schedule::expression)
        {
            let span_ns = (last.as_nanosecond() - first.as_nanosecond()).unsigned_abs();
            let count = u64::try_from(span_ns / every.period().as_nanos() + 1).unwrap_or(u64::MAX);
            return Span { last, count, is_exact: true };
        }
        let mut count = 1;
        let mut at = first;
        while at < last && count < MAX_COUNTED {
            match self.first_in(at, last) {
                Some(next) => (at, count) = (next, count + 1),
                None => break,
            }
        }
        Span { last, count, is_exact: last <= at }
    }
}

/// A text that is equal for timetables that mean the same; the store keeps it to see that one has changed.
impl fmt::Display for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.triggers.iter().map(Trigger::identity).collect();
        parts.extend(self.exclusions.iter().map(|exclusion| match exclusion {
            Exclusion::Dates { first, last, zone } => format!("not {first}..{last} {}", zone_text(zone)),
            Exclusion::Times(schedule) => format!("not {}", identity_of(schedule)),
        }));
        parts.extend(self.start().map(|start| format!("from {start}")));
        parts.extend(self.end().map(|end| format!("until {end}")));
        f.write_str(&parts.join("; "))
    }
}

/// Many occurrences in one record, from the run's nominal time up to `last`.
///
/// # Example
/// ```
/// use mainspring_job::{Timetable, cron::Schedule};
///
/// let minutes = Timetable::new([Schedule::parse("@every 1m", "UTC")?])?;
/// let span = minutes.count("2026-11-21T00:00:00Z".parse()?, "2026-11-22T00:00:00Z".parse()?);
/// assert_eq!((span.count, span.is_exact), (1_441, true), "both ends are counted");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the plain fields of a record")]
pub struct Span {
    /// The last occurrence.
    pub last: Timestamp,
    /// How many there were, both ends included.
    pub count: u64,
    /// `false`: there were at least that many, and counting stopped there.
    pub is_exact: bool,
}

/// Says why a timetable is refused.
///
/// # Example
/// ```
/// use mainspring_job::{Timetable, TimetableError, Trigger};
///
/// assert_eq!(Timetable::new(Vec::<Trigger>::new()), Err(TimetableError::NoTrigger));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimetableError {
    /// There is no trigger.
    NoTrigger,
    /// There are more triggers than [`MAX_TRIGGERS`].
    TooManyTriggers,
    /// There are more exclusions than [`MAX_EXCLUSIONS`].
    TooManyExclusions,
    /// The end is not after the start.
    EmptyRange,
}

impl fmt::Display for TimetableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimetableError::NoTrigger => f.write_str("a job needs a trigger: when is it due?"),
            TimetableError::TooManyTriggers => write!(f, "a job has at most {MAX_TRIGGERS} triggers"),
            TimetableError::TooManyExclusions => write!(f, "a job has at most {MAX_EXCLUSIONS} exclusions"),
            TimetableError::EmptyRange => f.write_str("the end of a job must come after its start"),
        }
    }
}

impl Error for TimetableError {}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use jiff::civil::Date;
    use jiff::tz::TimeZone;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn cron(text: &str) -> Schedule {
        Schedule::new(Expression::parse(text).unwrap(), TimeZone::UTC)
    }

    #[test]
    fn several_triggers_at_one_moment_are_one_occurrence() {
        let timetable =
            Timetable::new(vec![cron("0 * * * *"), cron("0 12 * * *"), cron("@every 20m")]).unwrap();
        let found = timetable.occurrences(at("2026-01-01T11:30:00Z"), at("2026-01-01T12:30:00Z"), 10);
        let expected = ["11:40", "12:00", "12:20"].map(|time| at(&format!("2026-01-01T{time}:00Z")));
        assert_eq!(found, expected);
    }

    #[test]
    fn excluded_days_and_minutes_are_stepped_over_and_the_range_is_half_open() {
        let day = |text: &str| text.parse::<Date>().unwrap();
        let dates =
            Exclusion::Dates { first: day("2026-12-24"), last: day("2026-12-26"), zone: TimeZone::UTC };
        let noon = Exclusion::Times(Box::new(cron("* 12 * * *")));
        let timetable =
            Timetable::new(vec![cron("30 0 12,13 * * *")]).unwrap().without(vec![dates, noon]).unwrap();
        let timetable =
            timetable.between(Some(at("2026-12-23T13:00:30Z")), Some(at("2026-12-28T13:00:30Z"))).unwrap();
        let found = timetable.occurrences(at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z"), 10);
        assert_eq!(found, [at("2026-12-23T13:00:30Z"), at("2026-12-27T13:00:30Z")]);
        assert_eq!(timetable.prev_before(at("2027-01-01T00:00:00Z"), Timestamp::MIN), Some(found[1]));
        assert_eq!(timetable.prev_before(found[1], found[0]), None);
    }

    #[test]
    fn a_rest_of_three_months_costs_a_step_a_day_and_one_without_end_is_given_up() {
        let seconds = |excluded: &str| {
            let exclusion = Exclusion::Times(Box::new(cron(excluded)));
            Timetable::new(vec![cron("* * * * * *")]).unwrap().without(vec![exclusion]).unwrap()
        };
        let from = at("2026-01-01T00:00:00Z");
        assert_eq!(seconds("* * * 1-3 *").next_after(from), Next::At(at("2026-04-01T00:00:00Z")));
        let Next::NotBefore(later) = seconds("* * * * *").next_after(from) else { panic!("it is excluded") };
        assert_eq!(later.duration_since(from).as_hours(), 24 * i64::try_from(MAX_STEPS).unwrap() - 1);
    }

    /// What a timetable names in a range, searched from its start or from its end.
    fn searched(timetable: &Timetable, start: Timestamp, end: Timestamp) -> [Vec<Timestamp>; 2] {
        let ahead = std::iter::successors(timetable.first_in(start, end), |at| timetable.first_in(*at, end));
        let back =
            std::iter::successors(timetable.prev_before(end, start), |at| timetable.prev_before(*at, start));
        let mut back: Vec<Timestamp> = back.collect();
        back.reverse();
        [ahead.collect(), back]
    }

    #[test]
    fn steps_over_what_is_excluded_find_what_a_look_at_each_moment_finds() {
        // Each zone with two of its days, on which the clock changes if it ever does.
        let places = [
            ("UTC", ["2026-03-29", "2026-06-06"]),
            ("Europe/Berlin", ["2026-03-29", "2026-10-25"]),
            ("America/New_York", ["2026-03-08", "2026-11-01"]),
            ("Australia/Lord_Howe", ["2026-04-04", "2026-10-03"]),
            ("Asia/Kolkata", ["2026-03-28", "2026-03-29"]),
        ];
        let texts =
            ["* 1-3 * * *", "* * * * sun", "*/2 * * * *", "30 * * * * *", "0-59 2 * * *", "* 0 29 3 *"];
        let trigger = Schedule::new(Expression::parse("*/30 * * * * *").unwrap(), TimeZone::UTC);
        for (text, (zone, day)) in texts
            .iter()
            .flat_map(|text| places.map(|(zone, days)| days.map(|day| (*text, (zone, day)))).concat())
        {
            let schedule = Schedule::new(Expression::parse(text).unwrap(), TimeZone::get(zone).unwrap());
            let exclusion = Exclusion::Times(Box::new(schedule));
            let timetable = Timetable::new(vec![trigger.clone()]).unwrap().without(vec![exclusion]).unwrap();
            let exclusion = &timetable.exclusions()[0];
            let start = at(&format!("{day}T00:00:00Z")) - SignedDuration::from_secs(5);
            let moments = (0..2_880).map(|count| start + SignedDuration::from_secs(5 + 30 * count));
            let looked: Vec<Timestamp> = moments.filter(|moment| !exclusion.holds(*moment)).collect();
            let found = searched(&timetable, start, start + SignedDuration::from_hours(24));
            assert!(found == [looked.clone(), looked], "{text} in {zone} on {day}");
        }
    }

    #[test]
    fn a_fixed_period_is_counted_by_arithmetic_and_a_calendar_up_to_a_limit() {
        let (first, last) = (at("2023-01-01T00:00:00Z"), at("2026-01-01T00:00:00Z"));
        let every = Timetable::new(vec![cron("@every 1s")]).unwrap();
        assert_eq!(every.count(first, last), Span { last, count: 94_694_401, is_exact: true });
        let seconds = Timetable::new(vec![cron("* * * * * *")]).unwrap();
        assert_eq!(seconds.count(first, last), Span { last, count: MAX_COUNTED, is_exact: false });
        let days = Timetable::new(vec![cron("@daily")]).unwrap();
        assert_eq!(days.count(at("2025-12-01T00:00:00Z"), last), Span { last, count: 32, is_exact: true });
    }

    #[test]
    fn the_text_tells_timetables_apart() {
        let anchored = |anchor: &str| {
            let Expression::Every(every) = Expression::parse("@every 1h").unwrap() else { unreachable!() };
            Schedule::new(Expression::Every(every.with_anchor(at(anchor))), TimeZone::UTC)
        };
        let texts = [cron("@daily"), anchored("2026-01-01T00:07:00Z"), anchored("2026-01-01T00:08:00Z")]
            .map(|trigger| Timetable::new(vec![trigger]).unwrap().to_string());
        assert_eq!(texts[0], "@daily UTC cron");
        assert!(texts[1] != texts[2]);
    }
}
