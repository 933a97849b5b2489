//! A server of a pool: what it knows, its clock, and what ails it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mainspring_job::{Batch, Lease, Outcome, Planner, RunKey, WorkerId};

/// Milliseconds since the start of the history, by the database's clock.
pub(crate) type Millis = i64;

/// When a worker renews its lease.
pub(crate) const RENEW: Millis = 2_500;

/// When it starts nothing any more.
pub(crate) const OLD: Millis = 10_000;

/// When what it runs is ended.
pub(crate) const OVER: Millis = 13_000;

/// When it is taken for lost.
pub(crate) const LOST: Millis = 16_000;

/// How long the lease of a planner lasts.
pub(crate) const PLANNER_LEASE: Millis = 3_000;

/// What a worker has learnt.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    pub number: u64,
    pub key: RunKey,
    pub attempt: u32,
    pub outcome: Outcome,
    pub ended: Millis,
}

/// The part of a server that carries runs out.
#[derive(Debug)]
pub(crate) struct WorkerPart {
    pub id: WorkerId,
    /// Its own boot time before it asked for the last renewal that was answered.
    pub renewed: Millis,
    /// What it has seen of its own.
    pub seen: BTreeSet<(RunKey, u32)>,
    /// What of that it has not started yet.
    pub assigned: VecDeque<(RunKey, u32)>,
    /// What it could not append yet.
    pub unsent: VecDeque<Report>,
    /// When it is to end, once it leaves.
    pub leaves: Option<Millis>,
}

/// The part of a server that plans, at whichever has the lease.
pub(crate) struct PlannerPart {
    pub lease: Lease,
    pub planner: Planner,
    /// A batch of which it is not known whether it is on disk.
    pub pending: Option<Batch>,
    /// Workers that the planner was told of.
    pub known: BTreeMap<WorkerId, bool>,
    /// Reports that it was told.
    pub received: BTreeSet<u64>,
}

pub(crate) struct Server {
    pub index: usize,
    /// How many thousandths its boot clock is fast.
    pub fast: Millis,
    pub label: Option<&'static str>,
    pub capacity: usize,
    /// How many more it is given, which wait.
    pub ahead: usize,
    pub frozen_until: Millis,
    pub cut_until: Millis,
    pub down_until: Millis,
    pub worker: Option<WorkerPart>,
    /// The worker that its process was, which is no more.
    pub former: Option<WorkerId>,
    pub planner: Option<PlannerPart>,
}

impl Server {
    /// Its boot clock at a time.
    pub(crate) fn boot(&self, now: Millis) -> Millis {
        now + now * self.fast / 1_000
    }

    /// Whether its worker's lease is over, by its own clock.
    pub(crate) fn is_over(&self, now: Millis) -> bool {
        self.worker.as_ref().is_some_and(|worker| OVER <= self.boot(now) - worker.renewed)
    }

    pub(crate) fn acts(&self, now: Millis) -> bool {
        self.frozen_until <= now && self.down_until <= now
    }

    pub(crate) fn reaches(&self, now: Millis) -> bool {
        self.acts(now) && self.cut_until <= now
    }
}
