//! A server of a history: its clocks, what it thinks of its lease, and its store's thread.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Batch, Command, Input, JobRecord, Lease, OnceId, PauseTerms, Planner, Run, RunKey, Start, Ticket,
};

use super::plan::{Clocks, Network};

/// A moment by the clock of the store, in nanoseconds since the history began.
pub(crate) type Nanos = i64;

pub(crate) const SECOND: Nanos = 1_000_000_000;
pub(crate) const MS: Nanos = 1_000_000;

/// What a server asks the store, one thing after the other.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    Acquire,
    /// All that the one before has left.
    Read,
    Commit(Batch),
    Renew,
    Load {
        up_to: Timestamp,
        limit: usize,
    },
    LoadIds {
        after: OnceId,
        up_to: Timestamp,
        limit: usize,
    },
    Release,
}

/// What was read at a takeover.
pub(crate) struct TakeoverState {
    pub jobs: Vec<JobRecord>,
    pub paused: Option<PauseTerms>,
    pub runs: Vec<Run>,
}

/// What it thinks it is.
pub(crate) enum Role {
    /// It does not run.
    Down,
    /// It asks for the lease each second.
    StandsBy,
    /// It has the lease, and reads.
    Begins(Lease),
    Owns(Box<Owner>),
}

/// What it knows as the owner.
pub(crate) struct Owner {
    pub lease: Lease,
    pub planner: Planner,
    pub inputs: VecDeque<Input>,
    /// How many batches are on their way.
    pub sent: u64,
    /// What was to start, and does when the lease is renewed.
    pub withheld: Vec<Start>,
    pub is_old: bool,
    pub asked: BTreeMap<Ticket, Command>,
    pub is_stopping: bool,
    pub is_releasing: bool,
    /// What it has started, and whether it has told that to end.
    pub running: BTreeMap<(RunKey, u32), bool>,
}

pub(crate) struct Server {
    pub clocks: Clocks,
    /// What was added to its wall clock since.
    pub set_by: Nanos,
    pub role: Role,
    /// Grows whenever all that is on its way is for no process any more.
    pub life: u32,
    pub network: Network,
    pub is_frozen: bool,
    /// It is stopped for so many seconds when its next batch has come to the store.
    pub freezes_in_commit: Option<i64>,
    /// What came while it was frozen.
    pub mail: Vec<super::world::Incident>,
    pub orders: VecDeque<Order>,
    /// The number of the order that the store is asked, and when it was.
    pub waits_for: Option<(u64, Reading)>,
    /// When the lease was renewed as far as it knows, and when it last tried to.
    pub renewed: Reading,
    pub tried: Reading,
    /// The next turn that it will have.
    pub wake: Option<Nanos>,
    /// The latest that its wall clock has shown.
    pub latest: Timestamp,
    /// It is started again after it has ended.
    pub again_after: i64,
}

/// Both clocks of a machine at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub boot: Duration,
    pub wall: Timestamp,
}

impl Server {
    pub(crate) fn new(clocks: Clocks) -> Server {
        let never = Reading { boot: Duration::ZERO, wall: Timestamp::MIN };
        Server {
            clocks,
            set_by: 0,
            role: Role::StandsBy,
            life: 0,
            network: Network::Good,
            is_frozen: false,
            freezes_in_commit: None,
            mail: Vec::new(),
            orders: VecDeque::new(),
            waits_for: None,
            renewed: never,
            tried: never,
            wake: None,
            latest: Timestamp::MIN,
            again_after: 0,
        }
    }

    pub(crate) fn read(&self, start: Timestamp, now: Nanos) -> Reading {
        // An hour after the machine was started.
        let boot = 3_600 * SECOND + now + now / 1_000_000 * self.clocks.boot_drift;
        let wall = now + now / 1_000_000 * self.clocks.drift + self.clocks.apart_ms * MS + self.set_by;
        Reading { boot: Duration::from_nanos(boot as u64), wall: start + SignedDuration::from_nanos(wall) }
    }

    /// How much later by the store's clock so much by its wall clock is, rounded up.
    pub(crate) fn wall_span(&self, span: SignedDuration) -> Nanos {
        let nanos = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX / 4).max(0);
        nanos / (1_000_000 + self.clocks.drift) * 1_000_000 + 2 * MS
    }

    pub(crate) fn owner(&mut self) -> Option<&mut Owner> {
        match &mut self.role {
            Role::Owns(owner) => Some(owner),
            _ => None,
        }
    }

    pub(crate) fn owns(&self) -> Option<&Owner> {
        match &self.role {
            Role::Owns(owner) => Some(owner),
            _ => None,
        }
    }

    /// All that was on its way is for no process any more.
    pub(crate) fn forget(&mut self) {
        self.life += 1;
        self.orders.clear();
        self.waits_for = None;
        self.mail.clear();
    }
}
