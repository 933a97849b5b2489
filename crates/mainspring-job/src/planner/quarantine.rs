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
use crate::name::JobName;
use crate::operation::Takeover;
use crate::reason::Reason;
use crate::run::RunKey;

/// How many times in a row the server may die in a job before it is not started again: once among all that ran, once among a
/// few, once alone. Fewer would condemn by chance; and systemd gives a service up that starts five times within ten
/// seconds, so it has to be over before that.
pub const MAX_CRASHES: u32 = 3;

/// How long a run is on probation. What kills a server does so while it starts, or as soon as it has taken all memory.
pub const PROBATION: SignedDuration = SignedDuration::from_secs(10);

/// How many runs are on probation at once: as many as the server runs at once, 256, are through in less than three minutes, and
/// if it dies again so few are left that each may have its turn alone in the same time.
pub const MAX_ON_PROBATION: usize = 16;

/// What is in quarantine.
#[derive(Debug)]
pub(super) struct Quarantine {
    /// How the last owner ended.
    pub(super) takeover: Takeover,
    /// Jobs that have crashes and are not paused for them.
    pub(super) jobs: BTreeSet<JobName>,
    /// Open runs of one-shot jobs that have crashes.
    pub(super) runs: BTreeSet<RunKey>,
    pub(super) probation: BTreeMap<RunKey, Probation>,
}

#[derive(Debug)]
pub(super) struct Probation {
    /// The record of its start.
    pub(super) start: Place,
    /// When it is over. `None` until the start is on disk, because only then it starts.
    pub(super) until: Option<Timestamp>,
    pub(super) is_alone: bool,
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
    pub(super) fn admits(&self, crashes: u32) -> bool {
        let has_alone = || self.probation.values().any(|probation| probation.is_alone);
        match crashes {
            0 => true,
            1 => self.probation.len() < MAX_ON_PROBATION && !has_alone(),
            _ => self.probation.is_empty(),
        }
    }

    /// Why what was running when the last owner ended has no end.
    pub(super) fn why_cut_off(&self) -> Reason {
        match self.takeover {
            Takeover::Clean => Reason::ServerEnded,
            Takeover::Unclean => Reason::ServerDied,
            Takeover::Rebooted => Reason::MachineDown,
        }
    }

    /// When the first probation is over.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.probation.values().filter_map(|probation| probation.until).min()
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len() + self.runs.len()
    }
}

pub(super) fn end_of_probation(now: Timestamp) -> Timestamp {
    now.saturating_add(PROBATION).unwrap_or(Timestamp::MAX)
}
