//! Suspects: what may have killed the server starts again singly, and not for ever.
//!
//! A start record is on disk before anything starts. So whatever in a job can bring the server down, it was among the runs
//! that have no end when the next server takes over; nobody else need be held up.
//!
//! ```text
//!  the server dies in runs of a, b, c ──▶ a, b, c have died once: suspects; all others start as ever
//!      a ├── probation ──┤ outlives it, or ends: not a suspect any more
//!                    b ├─ ✗ the server dies: b has died twice ──▶ b ├─ ✗ three times: dead letter, and paused
//!                                                                   c ├── probation ..
//! ```
//!
//! | | |
//! |---|---|
//! | counted | for a job in its mark, from run to run; for a one-shot job in its run, from attempt to attempt |
//! | one more | the run is found without an end after an unclean takeover; written with that end, before anything starts |
//! | none again | the run ends in any other way, or outlives its [`PROBATION`]; its job is resumed by hand, or added anew |
//! | one or more | a suspect: it starts only while no other suspect is on probation |
//! | [`MAX_CRASHES`] | no further attempt: the run is a dead letter unless the policy keeps none, and the job is paused |
//!
//! A server that was asked to end and killed what still ran gave its shard up in good order: that counts for nothing.
//!
//! Cost: nothing while nobody is suspected; else a look at each suspect in line when a place is free.
//!
//! Does not find what kills the server late: whoever outlives its probation is cleared, and counts from one again. Its retry
//! policy bounds that. A run by hand of a paused job starts all the same, because whoever asks knows.
//!
//! Source: the restart limit of [systemd.unit(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html)
//! (`StartLimitBurst=`), and the poison messages of queues, such as `maxReceiveCount` of
//! [Amazon SQS](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html).

use jiff::{SignedDuration, Timestamp};

use super::{Live, Planner};
use crate::operation::{Operation, Takeover};
use crate::output::{Note, Output};
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;

/// How many times in a row the server may die in a job before it is not started again: once among others, and twice alone. Fewer
/// would condemn by chance; and systemd gives a service up that starts five times within ten seconds, so it has to be
/// over before that.
pub const MAX_CRASHES: u32 = 3;

/// How long a suspect runs before it is cleared and the next one starts. What kills a server does so while it starts, or as
/// soon as it has taken all memory; and two hundred long runs that a power cut ended are all back within half an hour.
pub const PROBATION: SignedDuration = SignedDuration::from_secs(10);

/// The suspect that runs alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Probation {
    pub(super) key: RunKey,
    /// When it is cleared. `None` until its start is on disk, because only then it starts.
    pub(super) until: Option<Timestamp>,
}

/// Why there is no further attempt.
pub(super) fn died_in_it(crashes: u32) -> String {
    format!("the server died in it {crashes} times")
}

fn end_of_probation(now: Timestamp) -> Timestamp {
    now.saturating_add(PROBATION).unwrap_or(Timestamp::MAX)
}

impl Planner {
    /// How many times in a row the server died in this run, or in runs of its job.
    pub(super) fn crashes(&self, run: &Run) -> u32 {
        match run.cause {
            Cause::Once => run.crashes,
            _ => self.jobs.get(&run.key.job).map_or(0, |tracked| tracked.mark.crashes),
        }
    }

    /// Whether a run has to wait for the probation of another.
    pub(super) fn is_barred(&self, run: &Run) -> bool {
        self.probation.is_some() && 0 < self.crashes(run)
    }

    /// A run starts: alone, if it is a suspect.
    pub(super) fn begin_probation(&mut self, run: &Run) {
        if 0 < self.crashes(run) {
            assert!(self.probation.is_none(), "suspects start one at a time");
            self.probation = Some(Probation { key: run.key.clone(), until: None });
        }
    }

    /// The start of a run is on disk, and leaves.
    pub(super) fn time_probation(&mut self, now: Timestamp, key: &RunKey) {
        if let Some(probation) =
            self.probation.as_mut().filter(|probation| probation.key == *key && probation.until.is_none())
        {
            probation.until = Some(end_of_probation(now));
        }
    }

    /// Clears whoever has outlived its probation.
    pub(super) fn end_probation(&mut self, now: Timestamp) {
        let Some(Probation { key, until: Some(until) }) = &mut self.probation else { return };
        // The clock may have been set back: nobody waits longer for that.
        *until = end_of_probation(now).min(*until);
        if now < *until {
            return;
        }
        let key = key.clone();
        self.probation = None;
        let live = self.runs.get_mut(&key).expect("who is on probation runs");
        if live.run.cause == Cause::Once {
            live.run.crashes = 0;
            let attempt = live.run.attempt;
            self.ledger.record(Operation::Clear { key, attempt });
        } else {
            self.clear_crashes(&key);
        }
    }

    /// The server has outlived a run of this job.
    pub(super) fn clear_crashes(&mut self, key: &RunKey) {
        if let Some(tracked) = self.jobs.get_mut(&key.job)
            && 0 < tracked.mark.crashes
        {
            tracked.mark.crashes = 0;
            let mark = tracked.mark.clone();
            self.ledger.record(Operation::Mark(mark));
        }
    }

    /// A run that was running when the last server ended. `is_last` says that no other of its job is to follow.
    pub(super) fn abandon(&mut self, now: Timestamp, live: Live, is_last: bool) {
        let key = &live.run.key;
        let died = u32::from(self.takeover == Takeover::Unclean);
        let crashes = self.crashes(&live.run).saturating_add(died);
        let is_once = live.run.cause == Cause::Once;
        self.ledger.perform(Output::Note(Note::Abandoned(key.clone())));
        // The runs of a job that died together are one death, which is written with the last of them.
        if !is_once
            && is_last
            && died == 1
            && let Some(tracked) = self.jobs.get_mut(&key.job)
        {
            tracked.mark.crashes = crashes;
            let mark = tracked.mark.clone();
            self.ledger.record(Operation::Mark(mark));
        }
        let reason = match died == 1 && MAX_CRASHES <= crashes {
            true => died_in_it(crashes),
            false => "the server ended while it ran".to_owned(),
        };
        self.end_attempt(now, live, RunState::Abandoned, None, (&reason, crashes));
    }

    /// Whether the server died so often that there is no further attempt.
    pub(super) fn is_crash_loop(&self, run: &Run) -> bool {
        run.state == RunState::Abandoned && self.takeover == Takeover::Unclean && MAX_CRASHES <= run.crashes
    }

    /// Checks who is on probation.
    pub(super) fn check_probation(&self) {
        let Some(probation) = &self.probation else { return };
        let state = self.runs.get(&probation.key).map(|live| live.run.state);
        assert_eq!(state, Some(RunState::Running), "who is on probation runs");
    }
}
