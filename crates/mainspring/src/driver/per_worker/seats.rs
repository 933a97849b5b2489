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
//! | `owners` | atomics, with the same fence | a scheduler that reads an old owner wakes one that is awake to look, or finds nobody and wakes another |
//!
//! Cost: a look at each seat.
//!
//! It does not know what the lanes hold.

use mainspring_queue::Tick;

use crate::clock::Bell;
use crate::driver::lane::{Alarm, Concerned};
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};

/// What [`Seat::asleep_until`] says of a worker that is awake, or that nobody is. Tick 0 is no time to sleep
/// until.
pub(super) const AWAKE: u64 = 0;

/// The owner of a lane that waits to be adopted.
pub(super) const NOBODY: usize = usize::MAX;

/// All workers' places.
pub(super) struct Seats {
    seats: Vec<Seat>,
    /// The seat of the worker that runs each lane; [`NOBODY`].
    owners: Vec<AtomicUsize>,
    /// How long a due timer is left to its own worker.
    grace_ticks: u64,
}

/// A worker's place. Aligned to two cache lines, because processors fetch them in pairs.
#[repr(align(128))]
pub(super) struct Seat {
    pub(super) bell: Bell,
    pub(super) is_taken: AtomicBool,
    /// Until which tick its worker sleeps; [`AWAKE`].
    pub(super) asleep_until: AtomicU64,
}

impl Seats {
    pub(super) fn new(count: usize, grace_ticks: u64) -> Seats {
        let seat = |_| Seat {
            bell: Bell::new(),
            is_taken: AtomicBool::new(false),
            asleep_until: AtomicU64::new(AWAKE),
        };
        Seats {
            seats: (0..count).map(seat).collect(),
            owners: (0..count).map(|_| AtomicUsize::new(NOBODY)).collect(),
            grace_ticks,
        }
    }

    pub(super) fn all(&self) -> &[Seat] {
        &self.seats
    }

    pub(super) fn set_owner(&self, lane: usize, seat: usize) {
        self.owners[lane].store(seat, Ordering::SeqCst);
    }

    /// When a lane whose earliest deadline is `deadline` is looked at by others than its owner.
    pub(super) fn watched_from(&self, deadline: Tick) -> Tick {
        deadline.after(self.grace_ticks)
    }

    /// Makes sure that somebody looks at `deadline` or, with the grace that its owner has, soon after: rings
    /// the worker that sleeps longest unless one wakes by then. If none sleeps, each will look before it
    /// does.
    pub(super) fn ensure_watched(&self, deadline: Tick) {
        if deadline == Tick::MAX {
            return;
        }
        fence(Ordering::SeqCst);
        let limit = self.watched_from(deadline).get();
        let mut longest: Option<(u64, &Seat)> = None;
        for seat in &self.seats {
            let until = seat.asleep_until.load(Ordering::SeqCst);
            if until == AWAKE {
                continue;
            }
            if until <= limit {
                return;
            }
            if longest.is_none_or(|(known, _)| known < until) {
                longest = Some((until, seat));
            }
        }
        if let Some((_, seat)) = longest {
            seat.bell.ring();
        }
    }
}

impl Alarm for Seats {
    fn wake(&self, lane: u32, _: Concerned, tick: Tick) {
        // Pairs with the fence of a sleeper: this thread sees it, or it sees the deadline.
        fence(Ordering::SeqCst);
        let owner = self.seats.get(self.owners[lane as usize].load(Ordering::SeqCst));
        match owner.map(|seat| seat.asleep_until.load(Ordering::SeqCst)) {
            // At work, or nobody: others must keep an eye on it.
            None | Some(AWAKE) => self.ensure_watched(tick),
            Some(until) if tick.get() < until => owner.into_iter().for_each(|seat| seat.bell.ring()),
            Some(_) => (),
        }
    }
}
