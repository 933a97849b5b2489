//! A turn: what one thread does with a shard between two sleeps.
//!
//! ```text
//!   advance -> [ pop -> (lock released) fire ] up to a batch -> asleep until next, or busy
//! ```
//!
//! The lock is taken once per firing. A timer that was cancelled or reset before its firing began does
//! not fire: until it is popped it is in the queue, where a cancel finds it. The firing begins with the
//! pop.
//!
//! What `next` says is not touched during a batch: it lies at or before now, which is a lower bound still,
//! and spares a thread that schedules meanwhile the alarm. Only where other threads take over while one is in
//! a callback ([`Watch`]) is it published before each firing.
//!
//! Before it sleeps, the thread gives memory back that a crowd of timers has left behind, in small steps: a
//! thread that schedules waits for no more than one.
//!
//! The first timer of a turn says how far behind the thread is: see [`backoff`](super::backoff).
//!
//! Cost: a lock and a pop per firing; the clock once per turn.

use mainspring_queue::{Budget, Tick, TimerQueue};

use super::backoff::InTurn;
use super::{Shard, State};
use crate::clock::Notifier;
use crate::driver::panic_capture::fire_and_catch;
use crate::driver::{Fire, FiredTimer, UnfiredTimer};
use crate::sync::lock;

/// After how many firings the clock is read again. Long enough to make a clock read cheap beside them, short
/// enough that timers which come due meanwhile keep their order.
/// Models take turns of one firing: what happens between turns is what they look at.
const BATCH_MAX: u32 = if cfg!(mainspring_loom) { 1 } else { 64 };

/// How many timers' memory is given back in one turn: some 10 us under the lock.
const TRIM_MAX: usize = 1_024;

/// What a turn ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Turn {
    /// All that was due has been fired; the next wakeup, if any timer is pending.
    Idle(Option<Tick>),
    /// As many have been fired as were allowed, or as much memory given back, and there may be more.
    Busy,
    /// The shard is being shut down.
    Stopping,
}

/// On whose behalf a thread takes a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Role {
    /// The shard is the thread's own.
    Owner,
    /// The shard's own thread has not come to its timers. It may be back after each.
    Thief,
}

impl Role {
    fn firing_count_max(self) -> u32 {
        match self {
            Role::Owner => BATCH_MAX,
            Role::Thief => 1,
        }
    }
}

/// What is done before each firing, with no lock held: while the callback runs no thread has the shard.
pub(in crate::driver) trait Watch {
    /// Whether the shard's next wakeup must be known by then.
    const NEEDS_NEXT: bool;

    fn before_firing(&self);
}

/// Nothing: no other thread takes over.
pub(in crate::driver) struct NoWatch;

impl Watch for NoWatch {
    const NEEDS_NEXT: bool = false;

    fn before_firing(&self) {}
}

impl<Q> Shard<Q> {
    /// Fires timers on the calling thread, which is the shard's own, sleeping in between, until the shard
    /// stops.
    pub(in crate::driver) fn run<T>(&self, notifier: &Notifier, fire: &mut impl Fire<T>)
    where
        Q: TimerQueue<T>,
    {
        loop {
            match self.turn(Role::Owner, fire, &NoWatch) {
                Turn::Busy => (),
                Turn::Idle(until) => self.sleep(notifier, until),
                Turn::Stopping => return,
            }
        }
    }

    /// Sleeps until a tick, or a notification.
    pub(in crate::driver) fn sleep(&self, notifier: &Notifier, until: Option<Tick>) {
        self.clock.wait(notifier, until);
        self.count_wakeup();
    }

    /// Fires what is due, up to as many timers as the role allows.
    pub(in crate::driver) fn turn<T, W: Watch>(&self, role: Role, fire: &mut impl Fire<T>, watch: &W) -> Turn
    where
        Q: TimerQueue<T>,
    {
        let _in_turn = InTurn::begin();
        let read = self.clock.now();
        let mut state = lock(&self.state);
        state.is_asleep = false;
        if state.refusal.is_some() {
            return self.stopping();
        }
        state.queue.advance(read);
        for firing_index in 0..role.firing_count_max() {
            // A thief may have advanced the queue past what this thread read.
            let now = state.queue.now();
            let Some(timer) = state.queue.pop_expired() else {
                if state.queue.trim(&mut Budget::new(TRIM_MAX)) {
                    return Turn::Busy;
                }
                let until = state.queue.next_wakeup();
                self.publish(&mut state, until);
                state.is_asleep = true;
                self.backoff.end();
                return Turn::Idle(until);
            };
            debug_assert!(timer.deadline <= now, "no timer fires before its deadline");
            let late_ticks = now.since(timer.deadline);
            state.begin_firing(timer.id, role, late_ticks);
            if firing_index == 0 {
                self.backoff.note_lateness(late_ticks, state.queue.profile().granularity, now);
            }
            if W::NEEDS_NEXT {
                let until = state.queue.next_wakeup();
                self.publish(&mut state, until);
            }
            drop(state);
            watch.before_firing();
            let own_id = timer.id;
            let UnfiredTimer { id, deadline, payload } = self.unfired(timer);
            let has_panicked = fire_and_catch(fire, FiredTimer { id, deadline, now, payload });
            state = lock(&self.state);
            self.end_firing(&mut state, own_id);
            state.counts.panicked += u64::from(has_panicked);
            if state.refusal.is_some() {
                return self.stopping();
            }
        }
        Turn::Busy
    }

    /// Nothing will fire any more, so no thread need back off for it.
    fn stopping(&self) -> Turn {
        self.backoff.end();
        Turn::Stopping
    }
}

impl<Q> State<Q> {
    #[inline]
    fn begin_firing(&mut self, timer: mainspring_queue::TimerId, role: Role, late_ticks: u64) {
        self.counts.fired += 1;
        self.counts.stolen += u64::from(role == Role::Thief);
        self.counts.lateness_ticks_max = self.counts.lateness_ticks_max.max(late_ticks);
        self.lateness.record(late_ticks);
        self.firings.begin(timer);
    }
}
