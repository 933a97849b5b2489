//! Quarantine: what may have killed the server starts again a few at a time, and not for ever.
//!
//! A start record is on disk before anything starts. So whatever in a job brought the server down was among the runs that have
//! no end when the next server takes over. Their jobs are in quarantine; all others start as ever.
//!
//! ```text
//!  the server dies in runs of a, b, .. z ──▶ each has one crash: they start up to 16 at a time, on probation
//!      a, b, .. p ├── probation ──┤ outlive it, or end: no crashes, out of quarantine; q and the others follow
//!                 ├─ ✗ the server dies again: a .. p have two crashes ──▶ each of them starts alone
//!                                                             b ├─ ✗ three: a crash loop; dead letter, and paused
//! ```
//!
//! | | |
//! |---|---|
//! | counted | for a job in its mark, from run to run; for a one-shot job in its run, from attempt to attempt |
//! | one more | the run is found without an end after an unclean takeover; written with that end, before anything starts |
//! | none again | the run ends in any other way, or outlives its [`PROBATION`]; its job is resumed by hand, or added anew |
//! | one | it starts while less than [`MAX_ON_PROBATION`] are on probation, and none that has to be alone |
//! | two or more | it starts alone: while no other is on probation |
//! | [`MAX_CRASHES`] | no further attempt: the run is a dead letter unless the policy keeps none, and the job is paused |
//!
//! A server that was asked to end and killed what still ran gave its shard up in good order: that is no crash. Nor is a power cut,
//! which the start of the machine tells: see [`Takeover`].
//!
//! Cost: nothing while nothing is in quarantine; else a look at each run of it in line when a place is free.
//!
//! Does not find what kills the server late: what outlives its probation counts from one again. Its retry policy bounds that.
//! Nor what kills the machine. A run by hand of a paused job starts all the same, because the person who asks knows.
//!
//! Source: the restart limit of [systemd.unit(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html)
//! (`StartLimitBurst=`), and the poison messages of queues, such as `maxReceiveCount` of
//! [Amazon SQS](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html).

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::ledger::Place;
use super::{Live, Planner};
use crate::name::JobName;
use crate::operation::{Operation, Takeover};
use crate::output::{Note, Output};
use crate::record::Pause;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;

/// How many times in a row the server may die in a job before it is not started again: once among all that ran, once among a
/// few, once alone. Fewer would condemn by chance; and systemd gives a service up that starts five times within ten
/// seconds, so it has to be over before that.
pub const MAX_CRASHES: u32 = 3;

/// How long a run is on probation. What kills a server does so while it starts, or as soon as it has taken all memory.
pub const PROBATION: SignedDuration = SignedDuration::from_secs(10);

/// How many runs are on probation at once: as many as the server runs at once, 256, are through in less than three minutes, and
/// if it dies again so few are left that each may have its turn alone in the same time.
pub const MAX_ON_PROBATION: usize = 16;

/// Why a run was cut off.
const ENDED: &str = "the server ended while it ran";
const DIED: &str = "the server died while it ran";
const WENT_DOWN: &str = "the machine went down while it ran";

/// What is in quarantine.
#[derive(Debug)]
pub(super) struct Quarantine {
    /// How the last owner ended.
    takeover: Takeover,
    /// Jobs that have crashes and are not paused for them.
    jobs: BTreeSet<JobName>,
    /// Open runs of one-shot jobs that have crashes.
    runs: BTreeSet<RunKey>,
    probation: BTreeMap<RunKey, Probation>,
}

#[derive(Debug)]
struct Probation {
    /// The record of its start.
    start: Place,
    /// When it is over. `None` until the start is on disk, because only then it starts.
    until: Option<Timestamp>,
    is_alone: bool,
}

impl Default for Quarantine {
    fn default() -> Quarantine {
        Quarantine {
            takeover: Takeover::Clean,
            jobs: BTreeSet::new(),
            runs: BTreeSet::new(),
            probation: BTreeMap::new(),
        }
    }
}

impl Quarantine {
    /// Whether a run with so many crashes may start now.
    fn admits(&self, crashes: u32) -> bool {
        let has_alone = || self.probation.values().any(|probation| probation.is_alone);
        match crashes {
            0 => true,
            1 => self.probation.len() < MAX_ON_PROBATION && !has_alone(),
            _ => self.probation.is_empty(),
        }
    }

    /// Why what was running when the last owner ended has no end.
    pub(super) fn why_cut_off(&self) -> &'static str {
        match self.takeover {
            Takeover::Clean => ENDED,
            Takeover::Unclean => DIED,
            Takeover::Rebooted => WENT_DOWN,
        }
    }

    /// When the first probation is over.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.probation.values().filter_map(|probation| probation.until).min()
    }

    fn len(&self) -> usize {
        self.jobs.len() + self.runs.len()
    }
}

/// Why there is no further attempt.
pub(super) fn died_in_it(crashes: u32) -> String {
    format!("the server died in it {crashes} times")
}

fn end_of_probation(now: Timestamp) -> Timestamp {
    now.saturating_add(PROBATION).unwrap_or(Timestamp::MAX)
}

impl Planner {
    /// The jobs in quarantine, one-shot jobs among them.
    pub fn quarantined(&self) -> impl Iterator<Item = &JobName> {
        self.quarantine.jobs.iter().chain(self.quarantine.runs.iter().map(|key| &key.job))
    }

    /// How many times in a row the server died in this run, or in runs of its job.
    pub(super) fn crashes(&self, run: &Run) -> u32 {
        match run.cause {
            Cause::Once => run.crashes,
            _ => self.jobs.get(&run.key.job).map_or(0, |tracked| tracked.mark.crashes),
        }
    }

    /// Whether a run has to wait for the probation of another.
    pub(super) fn is_barred(&self, run: &Run) -> bool {
        !self.quarantine.admits(self.crashes(run))
    }

    /// A run starts: on probation, if it is in quarantine.
    pub(super) fn begin_probation(&mut self, run: &Run, start: Place) {
        let crashes = self.crashes(run);
        if 0 < crashes {
            assert!(self.quarantine.admits(crashes), "a run that is barred does not start");
            let probation = Probation { start, until: None, is_alone: 1 < crashes };
            self.quarantine.probation.insert(run.key.clone(), probation);
        }
    }

    /// A record is on disk. If it is that of a start, the start leaves now.
    pub(super) fn time_probation(&mut self, now: Timestamp, key: &RunKey, place: Place) {
        if let Some(probation) = self.quarantine.probation.get_mut(key).filter(|it| it.start == place) {
            probation.until = Some(end_of_probation(now));
        }
    }

    /// Ends each probation that was outlived.
    pub(super) fn end_probation(&mut self, now: Timestamp) {
        let mut over = Vec::new();
        for (key, probation) in &mut self.quarantine.probation {
            let Some(until) = &mut probation.until else { continue };
            // The clock may have been set back: a probation takes no longer for that.
            *until = end_of_probation(now).min(*until);
            if *until <= now {
                over.push(key.clone());
            }
        }
        for key in over {
            self.quarantine.probation.remove(&key);
            let live = self.runs.get_mut(&key).expect("a run on probation runs");
            if live.run.cause == Cause::Once {
                live.run.crashes = 0;
                let attempt = live.run.attempt;
                self.ledger.record(Operation::Clear { key: key.clone(), attempt });
                self.release_run(&key);
            } else {
                self.clear_crashes(&key.job);
            }
            self.ledger.end_unit();
        }
    }

    /// The server has outlived a run of this job.
    pub(super) fn clear_crashes(&mut self, name: &JobName) {
        if let Some(tracked) = self.jobs.get_mut(name)
            && 0 < tracked.mark.crashes
        {
            tracked.mark.crashes = 0;
            self.keep_mark(name);
        }
        self.release_job(name);
    }

    /// A job is not in quarantine any more.
    pub(super) fn release_job(&mut self, name: &JobName) {
        if self.quarantine.jobs.remove(name) {
            self.note_release();
        }
    }

    /// A run is not on probation any more, nor in quarantine if it is that of a one-shot job.
    pub(super) fn release_run(&mut self, key: &RunKey) {
        self.quarantine.probation.remove(key);
        if self.quarantine.runs.remove(key) {
            self.note_release();
        }
    }

    fn note_release(&mut self) {
        if self.quarantine.len() == 0 {
            self.ledger.perform(Output::Note(Note::QuarantineOver));
        }
    }

    /// What the runs are that were running when the last server ended, each job's side by side: they are over before anything
    /// else. They take no place, are not in the way of another, and are not killed. There are as many as may run at once.
    pub(super) fn abandon_all(&mut self, now: Timestamp, takeover: Takeover, dead: Vec<Run>) {
        self.quarantine.takeover = takeover;
        let mut dead = dead.into_iter().peekable();
        while let Some(run) = dead.next() {
            let is_last = dead.peek().is_none_or(|next| next.key.job != run.key.job);
            match self.live(&run) {
                Some(live) => self.abandon(now, live, is_last),
                None => self.end_orphan(now, &run),
            }
            self.ledger.end_unit();
        }
    }

    /// Says what is in quarantine, when all that was restored is known.
    pub(super) fn begin_quarantine(&mut self) {
        let is_held = |mark: &crate::record::Mark| 0 < mark.crashes && mark.pause != Some(Pause::Crashes);
        let held = self.jobs.values().filter(|tracked| tracked.source.is_some() && is_held(&tracked.mark));
        self.quarantine.jobs = held.map(|tracked| tracked.mark.job.clone()).collect();
        let is_held = |run: &Run| run.cause == Cause::Once && 0 < run.crashes;
        let held = self.runs.values().filter(|live| is_held(&live.run));
        self.quarantine.runs = held.map(|live| live.run.key.clone()).collect();
        let count = self.quarantine.len();
        if 0 < count {
            self.ledger.perform(Output::Note(Note::Quarantine { count }));
        }
    }

    /// A run that was running when the last server ended. `is_last` says that no other of its job is to follow.
    fn abandon(&mut self, now: Timestamp, live: Live, is_last: bool) {
        let (key, takeover) = (live.run.key.clone(), self.quarantine.takeover);
        let crashed = u32::from(takeover == Takeover::Unclean);
        let crashes = self.crashes(&live.run).saturating_add(crashed);
        // The runs of a job that died together are one crash, which is written with the last of them.
        if live.run.cause != Cause::Once
            && is_last
            && crashed == 1
            && let Some(tracked) = self.jobs.get_mut(&key.job)
        {
            tracked.mark.crashes = crashes;
            self.keep_mark(&key.job);
        }
        let is_too_often = crashed == 1 && MAX_CRASHES <= crashes;
        let reason =
            if is_too_often { died_in_it(crashes) } else { self.quarantine.why_cut_off().to_owned() };
        self.ledger.perform(Output::Note(Note::Abandoned { key, reason: reason.clone() }));
        self.end_attempt(now, live, RunState::Abandoned, None, (&reason, crashes));
    }

    /// Whether the server died so often that there is no further attempt.
    pub(super) fn is_crash_loop(&self, run: &Run) -> bool {
        let has_crashed = self.quarantine.takeover == Takeover::Unclean;
        run.state == RunState::Abandoned && has_crashed && MAX_CRASHES <= run.crashes
    }

    /// Checks who is on probation.
    pub(super) fn check_probation(&self) {
        for (key, probation) in &self.quarantine.probation {
            let state = self.runs.get(key).map(|live| live.run.state);
            assert_eq!(state, Some(RunState::Running), "what is on probation runs: {key}");
            let is_right = !probation.is_alone || self.quarantine.probation.len() == 1;
            assert!(is_right, "{key} is on probation alone");
        }
    }
}
