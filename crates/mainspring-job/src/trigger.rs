//! A trigger: one rule of a timetable that says when a job is due.
//!
//! ```text
//!  Trigger ─┬─ Schedule   cron, OnCalendar, every, at, at boot: written as text
//!           ├─ ServerStart each start of the server: no time that is known before
//!           ├─ After      the end of a run of another job: no time that is known before
//!           └─ Rule       anything else, written by the program that has the planner
//! ```
//!
//! Cost: that of the schedule or the rule.
//!
//! Does not combine: see [`Timetable`](crate::Timetable).

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use mainspring_cron::{Expression, Schedule};

use crate::name::JobName;
use crate::state::RunState;

/// The end of a run of another job, which is an occurrence of this one.
///
/// A run ends once, when nothing follows its last attempt. What never started, such as a missed or a skipped
/// run, is not followed by anything.
///
/// # Example
/// ```
/// use mainspring_job::{After, Ending, RunState, Timetable};
///
/// let after = After::new("extract".parse()?, Ending::Succeeded);
/// assert!(after.ending.holds(RunState::Succeeded) && !after.ending.holds(RunState::TimedOut));
/// let timetable = Timetable::new([after])?;
/// assert_eq!(timetable.to_string(), "after extract:succeeded");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct After {
    /// Whose run. It need not be known: then nothing is due until it is.
    pub job: JobName,
    /// Which ends.
    pub ending: Ending,
}

impl After {
    /// The ends of a job's runs of one kind.
    pub fn new(job: JobName, ending: Ending) -> After {
        After { job, ending }
    }
}

/// `extract:succeeded`
impl fmt::Display for After {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.job, self.ending.name())
    }
}

/// Says which ends of a run another job follows.
///
/// # Example
/// ```
/// use mainspring_job::{Ending, RunState};
///
/// assert_eq!(Ending::from_name("failed"), Some(Ending::Failed));
/// assert!(Ending::Failed.holds(RunState::Abandoned));
/// assert!(!Ending::Any.holds(RunState::Missed), "it never started");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Ending {
    /// It succeeded.
    #[default]
    Succeeded,
    /// It failed, took too long or was abandoned, and is not tried again.
    Failed,
    /// Any end of a run that had started, also one that somebody asked for.
    Any,
}

impl Ending {
    /// All of them.
    pub const ALL: [Ending; 3] = [Ending::Succeeded, Ending::Failed, Ending::Any];

    /// The word in job files and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Ending::Succeeded => "succeeded",
            Ending::Failed => "failed",
            Ending::Any => "any",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Ending> {
        Ending::ALL.into_iter().find(|ending| ending.name() == name)
    }

    /// Whether an attempt that led to this state, and is not tried again, is such an end.
    pub const fn holds(self, state: RunState) -> bool {
        let has_failed = matches!(state, RunState::Failed | RunState::TimedOut | RunState::Abandoned);
        match self {
            Ending::Succeeded => matches!(state, RunState::Succeeded),
            Ending::Failed => has_failed,
            Ending::Any => has_failed || matches!(state, RunState::Succeeded | RunState::Cancelled),
        }
    }
}

/// Says when, where no expression can: tides, the phases of the moon, the calendar of an exchange.
///
/// # Contract
/// 1. The answers depend on the rule and the moment alone. A rule whose answers change is another rule, with
///    another text: the planner then counts from when it is told.
/// 2. [`next_after`](Rule::next_after) is the earliest occurrence strictly after a moment,
///    [`prev_before`](Rule::prev_before) the latest strictly before one. An answer that lies elsewhere is
///    taken for none.
/// 3. Neither waits: they are asked in the planner's turn.
///
/// `mainspring_job::contract::exercise_rule` (feature `contract`) holds a rule to this.
///
/// # Example
/// ```
/// use jiff::{SignedDuration, Timestamp};
/// use mainspring_job::{Next, Rule, Timetable, contract};
///
/// /// The mean high tides at a place, which are 12 hours and 25 minutes apart.
/// #[derive(Debug)]
/// struct HighTide {
///     known: Timestamp,
/// }
///
/// const PERIOD_SECONDS: i64 = 44_700;
///
/// impl HighTide {
///     fn at(&self, number: i64) -> Option<Timestamp> {
///         let since = SignedDuration::from_secs(number.checked_mul(PERIOD_SECONDS)?);
///         self.known.checked_add(since).ok()
///     }
///
///     /// How many whole periods lie between the known tide and a moment.
///     fn count(&self, moment: Timestamp) -> i64 {
///         moment.duration_since(self.known).as_secs().div_euclid(PERIOD_SECONDS)
///     }
/// }
///
/// impl Rule for HighTide {
///     fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
///         let number = self.count(moment);
///         (number..number + 3).filter_map(|number| self.at(number)).find(|tide| moment < *tide)
///     }
///
///     fn prev_before(&self, moment: Timestamp) -> Option<Timestamp> {
///         let number = self.count(moment);
///         (number - 1..number + 2).rev().filter_map(|number| self.at(number)).find(|tide| *tide < moment)
///     }
///
///     fn text(&self) -> String {
///         format!("high tide, one at {}", self.known)
///     }
/// }
///
/// let known = "2026-01-01T03:10:00Z".parse()?;
/// contract::exercise_rule(&HighTide { known }, known, "2026-07-01T00:00:00Z".parse()?)?;
///
/// let timetable = Timetable::new(vec![HighTide { known }])?;
/// assert_eq!(timetable.next_after(known), Next::At("2026-01-01T15:35:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Rule: fmt::Debug + Send + Sync {
    /// The earliest occurrence strictly after a moment, if there is one.
    fn next_after(&self, moment: Timestamp) -> Option<Timestamp>;

    /// The latest occurrence strictly before a moment, if there is one.
    fn prev_before(&self, moment: Timestamp) -> Option<Timestamp>;

    /// A text that is equal for rules that mean the same, and for no others. Stores keep it to see that a
    /// timetable has changed.
    fn text(&self) -> String;
}

/// One rule of a timetable. Made from a [`Schedule`], an [`After`] or a [`Rule`] by `into`.
///
/// # Example
/// ```
/// use mainspring_cron::Schedule;
/// use mainspring_job::Trigger;
///
/// let trigger = Trigger::from(Schedule::parse("30 2 * * *", "Europe/Berlin")?);
/// assert_eq!(trigger.to_string(), "30 2 * * *");
/// let next = trigger.next_after("2026-03-29T12:00:00Z".parse()?);
/// assert_eq!(next, Some("2026-03-30T00:30:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are schedules: a box would cost each of them an allocation"
)]
pub enum Trigger {
    /// What a text can say.
    Schedule(Schedule),
    /// Each start of what has the planner, which [`Input::Begin`](crate::Input::Begin) tells: it names no
    /// times.
    ServerStart,
    /// Ends of another job's runs, which the planner sees: it names no times.
    After(After),
    /// What a program says.
    Rule(Arc<dyn Rule>),
}

impl Trigger {
    /// The earliest occurrence strictly after a moment, if there is one.
    pub fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
        match self {
            Trigger::Schedule(schedule) => schedule.next_after(moment).map(|time| time.timestamp()),
            Trigger::ServerStart | Trigger::After(_) => None,
            // A rule that breaks its word must not hold up the planner for ever.
            Trigger::Rule(rule) => rule.next_after(moment).filter(|&time| moment < time),
        }
    }

    /// The latest occurrence strictly before a moment, if there is one.
    pub fn prev_before(&self, moment: Timestamp) -> Option<Timestamp> {
        match self {
            Trigger::Schedule(schedule) => schedule.prev_before(moment).map(|time| time.timestamp()),
            Trigger::ServerStart | Trigger::After(_) => None,
            Trigger::Rule(rule) => rule.prev_before(moment).filter(|&time| time < moment),
        }
    }

    /// The schedule, if it is one.
    pub fn schedule(&self) -> Option<&Schedule> {
        match self {
            Trigger::Schedule(schedule) => Some(schedule),
            Trigger::ServerStart | Trigger::After(_) | Trigger::Rule(_) => None,
        }
    }

    /// The end of another job's run, if it is that.
    pub fn after(&self) -> Option<&After> {
        match self {
            Trigger::After(after) => Some(after),
            Trigger::Schedule(_) | Trigger::ServerStart | Trigger::Rule(_) => None,
        }
    }

    /// Whether it is the start of the machine.
    pub fn is_at_boot(&self) -> bool {
        self.schedule().is_some_and(Schedule::is_reboot)
    }

    /// A text that is equal for triggers that mean the same.
    pub(super) fn identity(&self) -> String {
        match self {
            Trigger::Schedule(schedule) => identity_of(schedule),
            Trigger::ServerStart => SERVER_START.to_owned(),
            Trigger::After(after) => format!("after {after}"),
            Trigger::Rule(rule) => format!("rule {}", rule.text()),
        }
    }
}

/// The text of that trigger.
const SERVER_START: &str = "server start";

/// The text of a schedule with all that its occurrences depend on.
pub(super) fn identity_of(schedule: &Schedule) -> String {
    match schedule.expression() {
        expression @ Expression::Every(every) => format!("{expression} phase {}ns", every.phase().as_nanos()),
        expression @ (Expression::At(_) | Expression::Reboot) => expression.to_string(),
        expression => format!("{expression} {} {}", zone_text(schedule.zone()), schedule.dst()),
    }
}

/// The name of a zone, or its rule where it has none.
pub(super) fn zone_text(zone: &jiff::tz::TimeZone) -> String {
    zone.iana_name().map_or_else(|| format!("{zone:?}"), str::to_owned)
}

/// The expression, `after` and a job's end, or the text of the rule.
impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trigger::Schedule(schedule) => schedule.expression().fmt(f),
            Trigger::ServerStart => f.write_str(SERVER_START),
            Trigger::After(after) => write!(f, "after {after}"),
            Trigger::Rule(rule) => f.write_str(&rule.text()),
        }
    }
}

/// Schedules and ends are equal if they are the same in all, rules if their texts are equal.
impl PartialEq for Trigger {
    fn eq(&self, other: &Trigger) -> bool {
        match (self, other) {
            (Trigger::Schedule(one), Trigger::Schedule(other)) => one == other,
            (Trigger::ServerStart, Trigger::ServerStart) => true,
            (Trigger::After(one), Trigger::After(other)) => one == other,
            (Trigger::Rule(one), Trigger::Rule(other)) => one.text() == other.text(),
            _ => false,
        }
    }
}

impl From<Schedule> for Trigger {
    fn from(schedule: Schedule) -> Trigger {
        Trigger::Schedule(schedule)
    }
}

impl From<After> for Trigger {
    fn from(after: After) -> Trigger {
        Trigger::After(after)
    }
}

impl<R: Rule + 'static> From<R> for Trigger {
    fn from(rule: R) -> Trigger {
        Trigger::Rule(Arc::new(rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timetable::{Next, Timetable};

    /// Names the moment that it is asked about, whichever way.
    #[derive(Debug)]
    struct Liar;

    impl Rule for Liar {
        fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
            Some(moment)
        }

        fn prev_before(&self, moment: Timestamp) -> Option<Timestamp> {
            Some(moment)
        }

        fn text(&self) -> String {
            "liar".to_owned()
        }
    }

    #[test]
    fn a_rule_that_breaks_its_word_is_due_never_and_ends_every_search() {
        let timetable = Timetable::new(vec![Liar]).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(timetable.next_after(now), Next::Never);
        assert_eq!(timetable.first_in(now, Timestamp::MAX), None);
        assert_eq!(timetable.prev_before(now, Timestamp::MIN), None);
    }

    #[test]
    fn rules_are_told_apart_by_their_texts_and_from_schedules() {
        let rule = || Trigger::from(Liar);
        assert_eq!(rule(), rule());
        assert!(rule() != Trigger::from(Schedule::parse("@daily", "UTC").unwrap()));
        assert_eq!(Timetable::new(vec![Liar]).unwrap().to_string(), "rule liar");
    }
}
