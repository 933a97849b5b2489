//! Parks the workers of a driver, and selects the one to wake.
//!
//! ```text
//!   scheduler:  next := deadline;        fence;  who sleeps past it?
//!   sleeper:    asleep_until := limit;   fence;  is anything earlier?
//! ```
//!
//! Two threads each store one and then load the other. With a sequentially consistent fence between the two,
//! one of them at least sees what the other stored. Loom checks it.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `asleep_until` | atomic, with the fence | see above |
//! | `owners` | atomics, with the same fence | a scheduler that reads an old owner wakes one that is awake to look, or finds none and wakes another |
//!
//! Cost: a look at each slot.
//!
//! It does not know what the shards hold.

use mainspring_queue::Tick;

use crate::clock::Notifier;
use crate::driver::shard::{Alarm, ThreadToWake};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

/// What [`WorkerSlot::asleep_until`] says of a worker that is awake, or that no worker is. Tick 0 is no time
/// to sleep until.
pub(super) const AWAKE: u64 = 0;

/// The owner of a shard that waits to be adopted.
pub(super) const NO_WORKER: usize = usize::MAX;

/// All workers' places.
pub(super) struct WorkerSlots {
    slots: Vec<WorkerSlot>,
    /// The slot of the worker that runs each shard; [`NO_WORKER`].
    owners: Vec<AtomicUsize>,
    /// How long a due timer is left to its own worker.
    grace_ticks: u64,
}

/// A worker's place. Aligned to two cache lines, because processors fetch them in pairs.
#[repr(align(128))]
pub(super) struct WorkerSlot {
    pub(super) notifier: Notifier,
    pub(super) is_taken: AtomicBool,
    /// Until which tick its worker sleeps; [`AWAKE`].
    pub(super) asleep_until: AtomicU64,
}

impl WorkerSlots {
    pub(super) fn new(count: usize, grace_ticks: u64) -> WorkerSlots {
        let slot = |_| WorkerSlot {
            notifier: Notifier::new(),
            is_taken: AtomicBool::new(false),
            asleep_until: AtomicU64::new(AWAKE),
        };
        WorkerSlots {
            slots: (0..count).map(slot).collect(),
            owners: (0..count).map(|_| AtomicUsize::new(NO_WORKER)).collect(),
            grace_ticks,
        }
    }

    pub(super) fn all(&self) -> &[WorkerSlot] {
        &self.slots
    }

    pub(super) fn set_owner(&self, shard: usize, slot: usize) {
        self.owners[shard].store(slot, Ordering::SeqCst);
    }

    /// When a shard whose earliest deadline is `deadline` is looked at by others than its owner.
    pub(super) fn watched_from(&self, deadline: Tick) -> Tick {
        deadline.after(self.grace_ticks)
    }

    /// Makes sure that somebody looks at `deadline` or, with the grace that its owner has, soon after:
    /// notifies the worker that sleeps longest unless one wakes by then. If none sleeps, each will look
    /// before it does.
    pub(super) fn ensure_watched(&self, deadline: Tick) {
        if deadline == Tick::MAX {
            return;
        }
        fence(Ordering::SeqCst);
        let limit = self.watched_from(deadline).get();
        let mut longest: Option<(u64, &WorkerSlot)> = None;
        for slot in &self.slots {
            let until = slot.asleep_until.load(Ordering::SeqCst);
            if until == AWAKE {
                continue;
            }
            if until <= limit {
                return;
            }
            if longest.is_none_or(|(known, _)| known < until) {
                longest = Some((until, slot));
            }
        }
        if let Some((_, slot)) = longest {
            slot.notifier.notify();
        }
    }
}

impl Alarm for WorkerSlots {
    fn wake(&self, shard: u32, _: ThreadToWake, tick: Tick) {
        // Pairs with the fence of a sleeper: this thread sees it, or it sees the deadline.
        fence(Ordering::SeqCst);
        let owner = self.slots.get(self.owners[shard as usize].load(Ordering::SeqCst));
        match owner.map(|slot| slot.asleep_until.load(Ordering::SeqCst)) {
            // At work, or there is none: others must keep an eye on it.
            None | Some(AWAKE) => self.ensure_watched(tick),
            // One that sleeps until the end of time says the same as one that sleeps for ever.
            Some(until) if until <= tick.get() && tick < Tick::MAX => (),
            Some(_) => owner.into_iter().for_each(|slot| slot.notifier.notify()),
        }
    }
}
