//! Quarantine: jobs that may have killed the server start again a few at a time, and a limited number of
//! times.
//!
//! A start record is on disk before anything starts. So the job that killed the server is among those whose
//! runs have no end when the next server takes over. These jobs are in quarantine; all others start as ever.
//!
//! ```text
//!  the server dies in runs of a, b, .. z ──▶ each has one crash: they start up to 16 at a time, on probation
//! a, b, .. p ├── probation ──┤ outlive it, or end: no crashes, out of quarantine; q and the others follow
//! ├─ ✗ the server dies again: a .. p have two crashes ──▶ each of them starts alone
//! b ├─ ✗ three: a crash loop; dead letter, and paused
//! ```
//!
//! | | |
//! |---|---|
//! | counted | for a job in its mark, from run to run; for a one-shot job in its run, from attempt to attempt |
//! | one more | the run is found without an end after an unclean takeover, and the server is not known to have lived on for [`PROBATION`] after its start; written with that end, before anything starts |
//! | none again | the run ends in any other way, or outlives its [`PROBATION`]; its job is resumed by hand, or added again |
//! | one | it starts while less than [`MAX_ON_PROBATION`] are on probation, and none that has to be alone |
//! | two or more | it starts alone: while no other is on probation |
//! | [`MAX_CRASHES`] | no further attempt: the run is a dead letter unless the policy keeps none, and the job is paused |
//!
//! A server that was asked to end and killed its runs gave its lease up in good order, which is no crash. A
//! power cut is no crash either; a new start of the machine tells it: see [`Takeover`].
//!
//! A death that came long after the start of a run is not its fault, and neither is a lease that ran out
//! while its owner lived. No server saw when the owner died. It was alive at each time that is on record, and
//! where leases run out, when it renewed its own: see [`Planner::following`](super::Planner::following).
//!
//! On several servers it is a worker that dies: its runs are found without an end, and the table holds for
//! it. One that only lost its lease comes back as another life of its process, and then its end is not
//! counted. A planner that takes over in between does not know of that, and leaves the count as it is.
//!
//! Cost: nothing while nothing is in quarantine; else a look at each run of it in line when a slot is free.
//!
//! Does not find a job that kills the server late: a run that outlives its probation counts from one again,
//! and its retry policy bounds that. Does not find a job that kills the machine. A run by hand of a paused
//! job starts all the same, because a person asks for it.
//!
//! Source: the restart limit of
//! [systemd.unit(5)](https://www.freedesktop.org/software/systemd/man/latest/systemd.unit.html)
//! (`StartLimitBurst=`), and the poison messages of queues, such as `maxReceiveCount` of [Amazon
//! SQS](https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::ledger::Position;
use crate::name::JobName;
use crate::operation::Takeover;
use crate::reason::Reason;
use crate::run::{Run, RunKey};
use crate::state::RunState;
use crate::worker::WorkerId;

/// How many times in a row the server may die in a job before it is not started again: once among all that
/// ran, once among a few, once alone. With fewer a job would be given up by chance; and systemd gives a
/// service up that starts five times within ten seconds, so it has to be over before that.
pub const MAX_CRASHES: u32 = 3;
const _: () = assert!(2 < MAX_CRASHES, "a job is alone on probation before it is given up");

/// How long a run is on probation. What kills a server does so while it starts, or as soon as it has taken
/// all memory.
pub const PROBATION: SignedDuration = SignedDuration::from_secs(10);

/// How many runs are on probation at once: as many as the server runs at once, 256, are through in less than
/// three minutes, and if it dies again so few are left that each may have its turn alone in the same time.
pub const MAX_ON_PROBATION: usize = 16;

/// How many workers that are gone may come back and acquit what ran at them. A process is back with its next
/// question to the database, and a pool has some tens of them.
const MAX_BLAMED: usize = 256;

/// What is in quarantine.
#[derive(Debug, Default)]
pub(super) struct Quarantine {
    /// How the last owner ended, or the worker that is gone last.
    takeover: Option<Takeover>,
    /// How long before the takeover it was last heard of, if its lease has run out.
    silent: Option<Duration>,
    /// The latest time on record at which the last owner lived.
    lived_until: Option<Timestamp>,
    /// What ran at that which may have killed it.
    suspected: BTreeSet<JobName>,
    /// Jobs that have crashes and are not paused for them.
    jobs: BTreeSet<JobName>,
    /// Open runs of one-shot jobs that have crashes.
    runs: BTreeSet<RunKey>,
    /// Runs on probation; each of them runs.
    probation: BTreeMap<RunKey, Probation>,
    /// What was suspected of the end of each of the last [`MAX_BLAMED`] workers that are gone.
    blamed: BTreeMap<WorkerId, BTreeMap<JobName, Vec<RunKey>>>,
}

#[derive(Debug)]
struct Probation {
    /// The record of its start.
    start: Position,
    /// When it is over. `None` until the start is on disk, because only then it starts.
    until: Option<Timestamp>,
    is_alone: bool,
}

impl Quarantine {
    /// The last owner lived at these times.
    pub(super) fn hear(&mut self, times: impl Iterator<Item = Timestamp>) {
        self.lived_until = self.lived_until.into_iter().chain(times).max();
    }

    /// The last owner was last heard of so long before the takeover.
    pub(super) fn follow(&mut self, silent: Option<Duration>) {
        self.silent = silent;
    }

    /// The latest time at which the last owner is known to have lived.
    pub(super) fn owner_lived_until(&self, now: Timestamp) -> Timestamp {
        let last_contact = self.silent.and_then(|silent| now.checked_sub(silent).ok());
        last_contact.max(self.lived_until).unwrap_or(Timestamp::MIN)
    }

    /// A worker that ran these ended in this way, or the last owner with all that ran at it, and is known to
    /// have lived until then. What had started soon before may be to blame for its end.
    pub(super) fn take_over<'r>(
        &mut self,
        takeover: Takeover,
        lived_until: Timestamp,
        cut_off: impl Iterator<Item = &'r Run>,
    ) {
        self.takeover = Some(takeover);
        let is_soon = |started: Timestamp| lived_until.duration_since(started) < PROBATION;
        let suspected = cut_off.filter(|run| run.started.is_none_or(is_soon));
        self.suspected = match takeover {
            Takeover::Unclean => suspected.map(|run| run.key.job.clone()).collect(),
            Takeover::Clean | Takeover::Rebooted => BTreeSet::new(),
        };
    }

    /// These runs are counted for the end of this worker, unless its process turns out to live.
    pub(super) fn blame(&mut self, id: WorkerId, suspected: Vec<RunKey>) {
        if suspected.is_empty() {
            return;
        }
        let of_worker = self.blamed.entry(id).or_default();
        suspected.into_iter().for_each(|key| of_worker.entry(key.job.clone()).or_default().push(key));
        while MAX_BLAMED < self.blamed.len() {
            self.blamed.pop_first();
        }
    }

    /// The process of this worker lives. Returns what was counted for its end, once.
    pub(super) fn acquit(&mut self, id: WorkerId) -> BTreeMap<JobName, Vec<RunKey>> {
        self.blamed.remove(&id).unwrap_or_default()
    }

    /// Whether the end of what is gone last was a crash, for which this job may be to blame.
    pub(super) fn suspects(&self, job: &JobName) -> bool {
        self.suspected.contains(job)
    }

    /// Why what was running when that ended has no end.
    pub(super) fn why_cut_off(&self) -> Reason {
        match self.takeover {
            None | Some(Takeover::Clean) => Reason::ServerEnded,
            Some(Takeover::Unclean) => Reason::ServerDied,
            Some(Takeover::Rebooted) => Reason::MachineDown,
        }
    }

    /// These jobs and these runs of one-shot jobs are in quarantine. Tells how many that is.
    pub(super) fn begin(&mut self, jobs: BTreeSet<JobName>, runs: BTreeSet<RunKey>) -> usize {
        (self.jobs, self.runs) = (jobs, runs);
        self.len()
    }

    /// The names of the jobs, one-shot jobs among them.
    pub(super) fn names(&self) -> impl Iterator<Item = &JobName> {
        self.jobs.iter().chain(self.runs.iter().map(|key| &key.job))
    }

    fn len(&self) -> usize {
        self.jobs.len() + self.runs.len()
    }

    /// Whether a run with so many crashes may start now.
    pub(super) fn admits(&self, crashes: u32) -> bool {
        let has_alone = || self.probation.values().any(|probation| probation.is_alone);
        match crashes {
            0 => true,
            1 => self.probation.len() < MAX_ON_PROBATION && !has_alone(),
            _ => self.probation.is_empty(),
        }
    }

    /// A run with so many crashes starts: on probation, if it has any.
    pub(super) fn begin_probation(&mut self, key: &RunKey, crashes: u32, start: Position) {
        if 0 < crashes {
            assert!(self.admits(crashes), "a run that is barred does not start");
            let probation = Probation { start, until: None, is_alone: 1 < crashes };
            let replaced = self.probation.insert(key.clone(), probation);
            debug_assert!(replaced.is_none(), "a probation ends with its attempt");
        }
    }

    /// A record of a run is on disk. If it is that of its start, the start leaves now.
    pub(super) fn recorded(&mut self, key: &RunKey, position: Position, now: Timestamp) {
        if let Some(probation) = self.probation.get_mut(key).filter(|it| it.start == position) {
            probation.until = Some(end_of_probation(now));
        }
    }

    /// When the first probation is over.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.probation.values().filter_map(|probation| probation.until).min()
    }

    /// Ends each probation that was outlived.
    pub(super) fn end_probation(&mut self, now: Timestamp) -> Vec<RunKey> {
        let mut over = Vec::new();
        self.probation.retain(|key, probation| {
            let Some(until) = &mut probation.until else { return true };
            // The clock may have been set back: a probation takes no longer for that.
            *until = end_of_probation(now).min(*until);
            let is_over = *until <= now;
            if is_over {
                over.push(key.clone());
            }
            !is_over
        });
        over
    }

    /// A job is not in quarantine any more. Tells whether it was the last: the quarantine is over.
    pub(super) fn release_job(&mut self, name: &JobName) -> bool {
        self.jobs.remove(name) && self.len() == 0
    }

    /// A run is not on probation any more, nor in quarantine if it is that of a one-shot job. Tells the same.
    pub(super) fn release_run(&mut self, key: &RunKey) -> bool {
        self.probation.remove(key);
        self.runs.remove(key) && self.len() == 0
    }

    /// Checks what is on probation.
    pub(super) fn check<'r>(&self, run: impl Fn(&RunKey) -> Option<&'r Run>) {
        assert!(self.probation.len() <= MAX_ON_PROBATION, "no more are on probation than may be");
        assert!(self.blamed.len() <= MAX_BLAMED, "the worker that has been gone for longest is forgotten");
        for (key, probation) in &self.probation {
            let state = run(key).map(|run| run.state);
            assert_eq!(state, Some(RunState::Running), "what is on probation runs: {key}");
            let is_right = !probation.is_alone || self.probation.len() == 1;
            assert!(is_right, "{key} is on probation alone");
        }
    }
}

fn end_of_probation(now: Timestamp) -> Timestamp {
    now.saturating_add(PROBATION).unwrap_or(Timestamp::MAX)
}
