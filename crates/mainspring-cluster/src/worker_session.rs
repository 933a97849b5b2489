//! A session of a worker in its pool: what it was given, and what it has to tell.
//!
//! ```text
//!  join ─▶ handed over ─▶ ended, reported ─▶ on record: forgotten        lost ─▶ another session
//!                              └── not on record after [`REPEAT_WAIT`]: reported again
//! ```
//!
//! An end is as old as it is when its report is sent: it may wait for a database that does not answer.
//!
//! Cost: a record for each attempt that is this worker's.
//!
//! Does not speak to the database.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use mainspring_exec::clock::{Moment, boot_time};
use mainspring_job::{AttemptEnd, LeaseDeadlines, Outcome, RunKey, WorkerId};
use mainspring_postgres::Report;
use mainspring_server::server::remote_output::OwnFile;

/// How long a report may be on record without what follows from it before it is made again.
const REPEAT_WAIT: Duration = Duration::from_secs(5);

/// What a session of the worker knows.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: WorkerId,
    /// The boot time before the last renewal that was answered.
    pub(super) renewed: Duration,
    /// The last assignment that was handed over.
    pub(super) last_assigned: u64,
    /// The attempts that were handed over, until they are its own no more by the records; with the report of
    /// each that has ended.
    pub(super) attempts: HashMap<(RunKey, u32), Option<OwnReport>>,
    /// The files of those that were not reported.
    pub(super) files: HashMap<(RunKey, u32), OwnFile>,
    /// The attempts that the loop was told to end.
    pub(super) killed: HashSet<(RunKey, u32)>,
    /// How many reports it has made.
    pub(super) report_count: u64,
    pub(super) unsent: Vec<OwnReport>,
}

/// A report of this worker.
#[derive(Clone, Debug)]
pub(super) struct OwnReport {
    pub(super) report: Report,
    /// When what it tells of ended.
    pub(super) ended: Moment,
    /// When it was made, or made again.
    pub(super) made: Moment,
}

impl OwnReport {
    /// As it is sent now.
    pub(super) fn sent(&self, now: Moment) -> Report {
        let mut report = self.report.clone();
        report.end.age = now.since(self.ended);
        report
    }
}

impl Session {
    pub(super) fn new(id: WorkerId, renewed: Duration) -> Session {
        let (attempts, files, killed) = (HashMap::new(), HashMap::new(), HashSet::new());
        Self { id, renewed, last_assigned: 0, attempts, files, killed, report_count: 0, unsent: Vec::new() }
    }

    /// Whether its lease is to be renewed.
    pub(super) fn is_old(&self, lasts: Duration) -> bool {
        LeaseDeadlines::of(lasts).renew <= boot_time().saturating_sub(self.renewed)
    }

    pub(super) fn report(&mut self, end: AttemptEnd) {
        self.report_count += 1;
        let (attempted, made) = ((end.key.clone(), end.attempt), Moment::now());
        let report = Report { worker: self.id, number: self.report_count, end };
        let own = OwnReport { report, ended: made, made };
        self.attempts.insert(attempted, Some(own.clone()));
        self.unsent.push(own);
        self.check();
    }

    /// That what is sent is in its order: the planner reads on from the last number that it has read.
    fn check(&self) {
        let number = |own: &OwnReport| own.report.number;
        debug_assert!(self.unsent.is_sorted_by(|one, next| number(one) < number(next)));
        debug_assert!(self.unsent.last().is_none_or(|last| number(last) == self.report_count));
    }

    /// Nothing starts here any more: what has neither begun nor ended may run elsewhere.
    pub(super) fn give_back(&mut self, running: &[(RunKey, u32)]) {
        let unbegun =
            self.attempts.iter().filter(|(attempted, end)| end.is_none() && !running.contains(attempted));
        for (key, attempt) in unbegun.map(|(attempted, _)| attempted.clone()).collect::<Vec<_>>() {
            self.report(AttemptEnd::new(key, attempt, Outcome::Returned));
        }
        let is_left = |(attempted, end): (_, &Option<_>)| end.is_some() || running.contains(attempted);
        debug_assert!(self.attempts.iter().all(is_left), "what has not begun is given back");
    }

    /// These are its own by the records. What has ended and is not among them is on record; of what is among
    /// them for long the report was lost.
    pub(super) fn compare(&mut self, own: &HashSet<(RunKey, u32)>) {
        self.attempts.retain(|attempted, ended| ended.is_none() || own.contains(attempted));
        self.killed.retain(|attempted| own.contains(attempted));
        let now = Moment::now();
        for own in self.attempts.values_mut().flatten() {
            if REPEAT_WAIT <= now.since(own.made) {
                self.report_count += 1;
                (own.report.number, own.made) = (self.report_count, now);
                self.unsent.push(own.clone());
            }
        }
        self.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempted(minute: u8) -> (RunKey, u32) {
        (format!("j@2026-11-21T03:{minute:02}:00Z").parse().unwrap(), 1)
    }

    #[test]
    fn what_was_handed_over_to_a_loop_that_has_ended_is_given_back_once() {
        let mut session = Session::new(WorkerId(7), Duration::ZERO);
        session.attempts.extend([1, 2].map(|minute| (attempted(minute), None)));
        session.report(AttemptEnd::new(attempted(3).0, 1, Outcome::Succeeded));
        for _ in 0..2 {
            // The second is there still, after SIGKILL.
            session.give_back(&[attempted(2)]);
            let ends = session.unsent.iter().map(|own| (&own.report.end.key, &own.report.end.outcome));
            let expected = [(&attempted(3).0, &Outcome::Succeeded), (&attempted(1).0, &Outcome::Returned)];
            assert_eq!(ends.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_report_is_made_again_while_its_attempt_runs_by_the_records_and_is_forgotten_then() {
        let mut session = Session::new(WorkerId(7), Duration::ZERO);
        session.attempts.insert(attempted(1), None);
        for minute in [2, 3] {
            session.report(AttemptEnd::new(attempted(minute).0, 1, Outcome::Succeeded));
        }
        session.unsent.clear();
        let own = HashSet::from([attempted(1), attempted(3)]);
        session.compare(&own);
        assert!(session.unsent.is_empty(), "it was sent a moment ago");
        assert_eq!(session.attempts.keys().cloned().collect::<HashSet<_>>(), own);
        let again = session.attempts.get_mut(&attempted(3)).unwrap().as_mut().unwrap();
        (again.ended.monotonic, again.made.monotonic) =
            (again.ended.monotonic - REPEAT_WAIT, again.made.monotonic - REPEAT_WAIT);
        session.compare(&own);
        assert_eq!(session.unsent.iter().map(|own| own.report.number).collect::<Vec<_>>(), [3]);
        assert!(REPEAT_WAIT <= session.unsent[0].sent(Moment::now()).end.age, "it ended when it did");
        session.compare(&own);
        assert_eq!(session.unsent.len(), 1, "and again only later");
    }
}
