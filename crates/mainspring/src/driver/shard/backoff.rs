//! Makes threads that schedule yield to the thread that fires, once that has fallen behind.
//!
//! ```text
//!   a turn finds a timer more than LATE_MIN late    ──▶ held_until := now + HOLD        (again each turn)
//!   schedule, reset: held_until is 0?               ──▶ go on
//!                    now < held_until?              ──▶ pause for PAUSE, or until the thread has caught up; then go on
//!   a turn finds nothing late                       ──▶ held_until := 0, all that pause go on
//! ```
//!
//! A mutex does not prefer the thread that has waited longest, and a processor is shared equally: eight
//! threads that only schedule take the lock and the processors from the one that fires. What they add then
//! comes later and later, without limit. A pause gives both back.
//!
//! A pause ends by itself, since the thread that fires may wait for the one that pauses. A callback that
//! takes long holds up no thread for longer than [`HOLD`]: `held_until` passes meanwhile. A thread that fires
//! timers itself never pauses.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `held_until` | atomic, relaxed | advice: a thread that misses a change pauses once too little or too often |
//! | `paused_at`, `pause_count` | atomic, relaxed | advice as well: how often threads have paused at one tick, whose clock may stand |
//! | `is_over` | `pausing` | told under the lock, so that a thread that has looked at `held_until` under it is told |
//!
//! Cost: a load where no thread is behind.
//!
//! Source: back-pressure, as TCP's receivers and bounded queues do it; the figures are this project's.

use std::cell::Cell;
use std::time::Duration;

use mainspring_queue::Tick;

use crate::clock::Clock;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, lock};

/// How late, beyond its queue's granularity, a timer is when the thread that fires counts as behind: longer
/// than a scheduler takes the processor away for, shorter than what people call stuck.
const LATE_MIN: Duration = Duration::from_millis(50);

/// For how long after a turn began others still make way. A turn takes 10 us, so one that takes longer is in
/// a callback, or its thread waits for a processor: the scheduler takes it away for 10 ms and more where many
/// want it. With 10 ms the callers went on at full speed meanwhile. A callback that takes long holds each
/// caller up for no longer than this in all.
const HOLD: Duration = Duration::from_millis(100);

/// How long one call makes way. Some thousand timers fire meanwhile, and async programs bear it.
const PAUSE: Duration = Duration::from_millis(1);

/// How often threads pause at one tick: as long as [`HOLD`] in all. A clock that a program moves may stand
/// while a callback takes long, and `held_until` would never pass.
const PAUSE_COUNT_MAX: u32 = (HOLD.as_millis() / PAUSE.as_millis()) as u32;

/// What threads of one shard that schedule look at before.
pub(super) struct Backoff {
    /// A tick; 0: no thread is to make way.
    held_until: AtomicU64,
    late_ticks_min: u64,
    hold_ticks: u64,
    paused_at: AtomicU64,
    pause_count: AtomicU32,
    pausing: Mutex<()>,
    is_over: Condvar,
}

crate::sync::thread_local! {
    /// How many turns the calling thread is in: a callback may run another driver's turn.
    #[allow(clippy::missing_const_for_thread_local, reason = "loom's macro knows no const")]
    static TURN_COUNT: Cell<u32> = Cell::new(0);
}

/// A thread's time in a turn: it does not make way.
pub(super) struct InTurn(());

impl InTurn {
    pub(super) fn begin() -> InTurn {
        TURN_COUNT.with(|count| count.set(count.get() + 1));
        InTurn(())
    }
}

/// What tells the calling thread from all others that live: where its variable lies.
pub(super) fn thread_address() -> usize {
    TURN_COUNT.with(|count| std::ptr::from_ref(count).addr())
}

impl Drop for InTurn {
    fn drop(&mut self) {
        TURN_COUNT.with(|count| count.set(count.get() - 1));
    }
}

impl Backoff {
    pub(super) fn new(resolution: Duration) -> Backoff {
        let ticks = |duration: Duration| {
            u64::try_from(duration.as_nanos().div_ceil(resolution.as_nanos())).unwrap_or(u64::MAX)
        };
        Backoff {
            held_until: AtomicU64::new(0),
            late_ticks_min: ticks(LATE_MIN),
            hold_ticks: ticks(HOLD),
            paused_at: AtomicU64::new(0),
            pause_count: AtomicU32::new(0),
            pausing: Mutex::new(()),
            is_over: Condvar::new(),
        }
    }

    /// Makes way, if that is asked for; tells whether the caller has paused. Called with no lock held.
    #[inline]
    pub(super) fn back_off(&self, clock: &dyn Clock) -> bool {
        match self.held_until.load(Ordering::Relaxed) {
            0 => false,
            until => self.pause(clock, Tick::new(until)),
        }
    }

    #[cold]
    fn pause(&self, clock: &dyn Clock, until: Tick) -> bool {
        let now = clock.now();
        if TURN_COUNT.with(Cell::get) > 0 || until <= now {
            return false;
        }
        if self.paused_at.swap(now.get(), Ordering::Relaxed) != now.get() {
            self.pause_count.store(0, Ordering::Relaxed);
        }
        if PAUSE_COUNT_MAX <= self.pause_count.load(Ordering::Relaxed) {
            return false;
        }
        self.pause_count.fetch_add(1, Ordering::Relaxed);
        let pausing = lock(&self.pausing);
        if self.held_until.load(Ordering::Relaxed) == 0 {
            return false;
        }
        // Waking early is allowed: the caller pauses once only.
        drop(self.is_over.wait_timeout(pausing, PAUSE));
        true
    }

    /// Asks others to make way, or no longer: a timer was fired so late, at `now`.
    pub(super) fn note_lateness(&self, late_ticks: u64, granularity: u64, now: Tick) {
        if late_ticks.saturating_sub(granularity - 1) < self.late_ticks_min {
            return self.end();
        }
        self.held_until.store(now.after(self.hold_ticks).get(), Ordering::Relaxed);
    }

    /// No thread need make way any more.
    #[inline]
    pub(super) fn end(&self) {
        if self.held_until.load(Ordering::Relaxed) != 0 {
            self.release();
        }
    }

    #[cold]
    fn release(&self) {
        let pausing = lock(&self.pausing);
        self.held_until.store(0, Ordering::Relaxed);
        drop(pausing);
        self.is_over.notify_all();
    }
}
