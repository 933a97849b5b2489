//! The values of an answer as people read them: times, ends of runs, and pairs of a name and a text.
//!
//! Cost: one string for each.
//!
//! Does not know which answer they are of.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_exec::clock::Moment;
use mainspring_file::plain;
use mainspring_job::RunState;
use mainspring_server::log::rfc3339;
use mainspring_server::protocol::{JobState, JobWire, PauseTermsWire, RunWire};
use mainspring_server::relative::{ago, length, relative};

use super::zone_or_system;
use crate::cli::serve::AskArgs;
use crate::terminal::Screen;

/// From where an answer is seen.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// What relative times are relative to.
    pub(super) now: Timestamp,
    /// Of absolute times.
    pub(super) zone: TimeZone,
    /// What tables are shown on.
    pub(super) screen: Screen,
}

impl View {
    /// That of the caller: now, in the system's zone unless UTC is asked for, on standard output.
    pub(super) fn of(args: &AskArgs) -> View {
        let zone = if args.utc { TimeZone::UTC } else { zone_or_system(None) };
        View { now: Moment::now().wall, zone, screen: Screen::stdout() }
    }

    /// A time in the zone, to the millisecond; UTC has a `Z`, as in the names of runs.
    pub(super) fn absolute(&self, time: Timestamp) -> String {
        let time = Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time);
        match self.zone.iana_name() {
            Some("UTC" | "Etc/UTC") => time.to_string(),
            _ => rfc3339(&time.to_zoned(self.zone.clone())),
        }
    }
}

/// A time with how far it is from now.
pub(super) fn when(time: Timestamp, view: &View) -> String {
    format!("{} ({})", relative(time, view.now), view.absolute(time))
}

/// The same of a time at which something has happened.
pub(super) fn when_past(time: Timestamp, view: &View) -> String {
    format!("{} ({})", ago(time, view.now), view.absolute(time))
}

/// How long ago something has happened, if it has.
pub(crate) fn past(time: Option<Timestamp>, now: Timestamp) -> String {
    time.map_or_else(|| "-".to_owned(), |time| ago(time, now))
}

/// How far a time is from now, if there is one.
pub(crate) fn near(time: Option<Timestamp>, now: Timestamp) -> String {
    time.map_or_else(|| "-".to_owned(), |time| relative(time, now))
}

/// How long the last attempt of a run took, or has taken by `now` if it has not ended.
pub(crate) fn took(run: &RunWire, now: Option<Timestamp>) -> String {
    let so_far = now
        .filter(|_| run.ended.is_none())
        .zip(run.started)
        .map(|(now, started)| u64::try_from(now.as_millisecond() - started.as_millisecond()).unwrap_or(0));
    so_far.or(run.took_ms()).map_or_else(|| "-".to_owned(), length)
}

/// What a job without a next time waits for, if that is the end of another.
pub(super) fn after(job: &JobWire) -> Option<String> {
    let is_active = matches!(job.state_code, JobState::Active | JobState::Quarantined);
    let mut triggers = job.triggers.iter().filter(|trigger| trigger.starts_with("after "));
    triggers.next().filter(|_| job.next.is_none() && is_active).cloned()
}

/// How long a pause lasts, and why there is one.
pub(super) fn terms_text(terms: &PauseTermsWire, view: &View) -> String {
    let until = terms.until.map(|until| format!("until {}", when(until, view)));
    let note = Some(terms.note.clone()).filter(|note| !note.is_empty());
    until.into_iter().chain(note).collect::<Vec<_>>().join(": ")
}

pub(super) fn outcome_text(run: &RunWire) -> String {
    match &run.outcome {
        Some(outcome) if run.state != RunState::Succeeded => format!("{}: {outcome}", run.state),
        _ if run.reason.is_empty() => run.state.to_string(),
        _ => format!("{}: {}", run.state, run.reason),
    }
}

/// How many occurrences a row stands for, how far it is, how its last attempt ended, and the reason.
pub(crate) fn why(run: &RunWire) -> String {
    let count = (1 < run.count).then(|| format!("{} occurrences", run.count));
    let outcome = run.outcome.clone().filter(|_| run.state != RunState::Succeeded);
    // The reason of a dead letter counts its attempts, and the outcome says what was wrong with the last.
    let outcome = outcome.filter(|_| run.reason.is_empty() || run.state == RunState::Dead);
    let reason = Some(run.reason.clone()).filter(|reason| !reason.is_empty());
    let progress = run.progress.map(|progress| progress.to_string());
    count.into_iter().chain(progress).chain(outcome).chain(reason).collect::<Vec<_>>().join(", ")
}

/// Names and values, one pair a line.
pub(super) fn pairs(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let shown = pairs.iter().filter(|(_, value)| !value.is_empty());
    shown.map(|(name, value)| format!("{name:<width$}  {}\n", plain::line(value))).collect()
}
