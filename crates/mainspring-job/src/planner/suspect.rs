//! Suspects: what may have killed the server starts again singly, and not for ever.
//!
//! A start record is on disk before anything starts. So whatever in a job can bring the server down, it was among the runs
//! that have no end when the next server takes over; nobody else need be held up.
//!
//! ```text
//!  the server dies in runs of a, b, c ──▶ a, b, c have died once: suspects; all others start as ever
//!      a ├── trial ──┤ outlives it, or ends: not a suspect any more
//!                    b ├─ ✗ the server dies: b has died twice ──▶ b ├─ ✗ three times: dead letter, and paused
//!                                                                   c ├── trial ..
//! ```
//!
//! | | |
//! |---|---|
//! | counted | for a job in its mark, from run to run; for a one-shot job in its run, from attempt to attempt |
//! | one more | the run is found without an end after an unclean takeover; written with that end, before anything starts |
//! | none again | the run ends in any other way, or outlives its [`TRIAL`]; its job is resumed by hand, or added anew |
//! | one or more | a suspect: it starts only while no other suspect is on trial |
//! | [`MAX_DEATHS`] | no further attempt: the run is a dead letter unless the policy keeps none, and the job is paused |
//!
//! A server that was asked to end and killed what still ran gave its shard up in good order: that counts for nothing.
//!
//! Cost: nothing while nobody is suspected; else a look at each suspect in line when a place is free.
//!
//! Does not find what kills the server late: whoever outlives its trial is acquitted, and counts from one again. Its retry
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
pub const MAX_DEATHS: u32 = 3;

/// How long a suspect runs before it is acquitted and the next one starts. What kills a server does so while it starts, or as
/// soon as it has taken all memory; and two hundred long runs that a power cut ended are all back within half an hour.
pub const TRIAL: SignedDuration = SignedDuration::from_secs(10);

/// The suspect that runs alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trial {
    pub(super) key: RunKey,
    /// When it is acquitted. `None` until its start is on disk, because only then it starts.
    pub(super) until: Option<Timestamp>,
}

/// Why there is no further attempt.
pub(super) fn died_in_it(deaths: u32) -> String {
    format!("the server died in it {deaths} times")
}

fn end_of_trial(now: Timestamp) -> Timestamp {
    now.saturating_add(TRIAL).unwrap_or(Timestamp::MAX)
}

impl Planner {
    /// How many times in a row the server died in this run, or in runs of its job.
    pub(super) fn deaths(&self, run: &Run) -> u32 {
        match run.cause {
            Cause::Once => run.deaths,
            _ => self.jobs.get(&run.key.job).map_or(0, |tracked| tracked.mark.deaths),
        }
    }

    /// Whether a run has to wait for the trial of another.
    pub(super) fn is_barred(&self, run: &Run) -> bool {
        self.trial.is_some() && 0 < self.deaths(run)
    }

    /// A run starts: alone, if it is a suspect.
    pub(super) fn begin_trial(&mut self, run: &Run) {
        if 0 < self.deaths(run) {
            assert!(self.trial.is_none(), "suspects start one at a time");
            self.trial = Some(Trial { key: run.key.clone(), until: None });
        }
    }

    /// The start of a run is on disk, and leaves.
    pub(super) fn time_trial(&mut self, now: Timestamp, key: &RunKey) {
        if let Some(trial) = self.trial.as_mut().filter(|trial| trial.key == *key && trial.until.is_none()) {
            trial.until = Some(end_of_trial(now));
        }
    }

    /// Acquits whoever has outlived its trial.
    pub(super) fn end_trial(&mut self, now: Timestamp) {
        let Some(Trial { key, until: Some(until) }) = &mut self.trial else { return };
        // The clock may have been set back: nobody waits longer for that.
        *until = end_of_trial(now).min(*until);
        if now < *until {
            return;
        }
        let key = key.clone();
        self.trial = None;
        let live = self.runs.get_mut(&key).expect("who is on trial runs");
        if live.run.cause == Cause::Once {
            live.run.deaths = 0;
            let attempt = live.run.attempt;
            self.ledger.record(Operation::Acquit { key, attempt });
        } else {
            self.clear_deaths(&key);
        }
    }

    /// The server has outlived a run of this job.
    pub(super) fn clear_deaths(&mut self, key: &RunKey) {
        if let Some(tracked) = self.jobs.get_mut(&key.job)
            && 0 < tracked.mark.deaths
        {
            tracked.mark.deaths = 0;
            let mark = tracked.mark.clone();
            self.ledger.record(Operation::Mark(mark));
        }
    }

    /// A run that was running when the last server ended. `is_last` says that no other of its job is to follow.
    pub(super) fn abandon(&mut self, now: Timestamp, live: Live, is_last: bool) {
        let key = &live.run.key;
        let died = u32::from(self.takeover == Takeover::Unclean);
        let deaths = self.deaths(&live.run).saturating_add(died);
        let is_once = live.run.cause == Cause::Once;
        self.ledger.perform(Output::Note(Note::Abandoned(key.clone())));
        // The runs of a job that died together are one death, which is written with the last of them.
        if !is_once
            && is_last
            && died == 1
            && let Some(tracked) = self.jobs.get_mut(&key.job)
        {
            tracked.mark.deaths = deaths;
            let mark = tracked.mark.clone();
            self.ledger.record(Operation::Mark(mark));
        }
        let reason = match died == 1 && MAX_DEATHS <= deaths {
            true => died_in_it(deaths),
            false => "the server ended while it ran".to_owned(),
        };
        self.end_attempt(now, live, RunState::Abandoned, None, (&reason, deaths));
    }

    /// Whether the server died so often that there is no further attempt.
    pub(super) fn is_condemned(&self, run: &Run) -> bool {
        run.state == RunState::Abandoned && self.takeover == Takeover::Unclean && MAX_DEATHS <= run.deaths
    }

    /// Checks who is on trial.
    pub(super) fn check_trial(&self) {
        let Some(trial) = &self.trial else { return };
        let state = self.runs.get(&trial.key).map(|live| live.run.state);
        assert_eq!(state, Some(RunState::Running), "who is on trial runs");
    }
}
