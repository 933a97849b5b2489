//! A queue behind a lock, and what one thread does with it: the part that all drivers share.
//!
//! ```text
//!   any thread   schedule, cancel, reset: one queue operation under the lock; "is it earlier than all I knew?"
//!   one thread   turn: advance -> pop -> (lock released) fire -> pop -> ... -> asleep until next
//! ```
//!
//! | field | guard | why |
//! |---|---|---|
//! | `queue`, `counts`, `lateness` | `state` | every operation on them is short and bounded by the queue's own cost |
//! | `next` | `state`, mirrored in the atomic `next` | not later than the earliest deadline; whoever schedules before it must see that somebody wakes in time |
//! | `is_asleep` | `state` | set in the critical section that looked at the queue last, so that a timer scheduled after that look finds it set |
//! | `is_stopping` | `state` | once true, nothing is taken or fired any more |
//! | `notes` | a queue without a lock | ids to cancel, from threads that would not wait; read by whoever asks or schedules, and before a firing begins |
//! | `given_up` | `state` | what notes named: cancelled for whoever asks, and dropped by a thread that fires, which `schedule` wakes for it |
//! | `note_count` | - | says that there are notes: written after a note is left, so that who reads it may miss only one that is being left |
//!
//! The atomic mirror is one half of a store-then-load handshake with sleepers: see [`per_worker`](super::per_worker), which
//! puts the fences.
//!
//! Cost: one lock per operation and per firing. It does not wait and does not wake anybody: drivers do.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hdrhistogram::Histogram;
use mainspring_queue::{Expired, Reason, Rejected, ResetError, Tick, TimerQueue};

use super::caught::{drop_caught, fire_caught};
use super::{Counts, Fire, Fired, Refusal, Refused, Report, TimerId, Unfired};
use crate::clock::Clock;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::mpsc::{Receiver, Sender, channel};
use crate::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// After how many firings the clock is read again. Long enough to make a clock read cheap beside them, short enough that
/// timers which come due meanwhile keep their order.
const BATCH_MAX: u32 = 64;

/// Latenesses above this many ticks (18 minutes at a millisecond) are recorded as this.
const LATENESS_TICKS_MAX: u64 = 1 << 20;
/// Two digits are exact: figures are read as "about 15 ticks", and a histogram stays below 20 KiB.
const LATENESS_DIGITS: u8 = 2;

/// A queue, its lock, and what happened to it.
pub struct Lane<Q> {
    index: u32,
    next: AtomicU64,
    note_count: AtomicUsize,
    notes: Sender<mainspring_queue::TimerId>,
    state: Mutex<State<Q>>,
}

struct State<Q> {
    queue: Q,
    notes: Receiver<mainspring_queue::TimerId>,
    /// What notes asked for: timers that are cancelled for whoever asks, and whose payloads are still to be dropped.
    given_up: BTreeSet<mainspring_queue::TimerId>,
    counts: Counts,
    /// Made when the first timer fires: many lanes never fire one.
    lateness: Option<Histogram<u64>>,
    next: Tick,
    is_asleep: bool,
    is_stopping: bool,
}

/// What a turn ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// All that was due has been fired; the next wakeup, if any timer is pending.
    Idle(Option<Tick>),
    /// As many have been fired as were allowed, and there may be more.
    Busy,
    /// The lane is being shut down.
    Stopping,
}

/// On whose behalf a thread takes a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The lane is the thread's own.
    Owner,
    /// The lane's own thread has not come to its timers. It may be back after each.
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

/// Whether a queue's limits hold for a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// They do.
    Limited,
    /// They do not: it goes past a limit on their number, and one beyond the horizon fires there, early.
    Assured,
}

/// Whether a change needs somebody to wake earlier: at this tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// No: something earlier was known.
    No,
    /// Nothing earlier was known, and a thread sleeps over this lane.
    Sleeper(Tick),
    /// Nothing earlier was known, and a thread is at work on this lane.
    Worker(Tick),
}

impl<Q> Lane<Q> {
    pub(super) fn new(index: u32, queue: Q) -> Lane<Q> {
        let (notes, receiver) = channel();
        let state = State {
            queue,
            notes: receiver,
            given_up: BTreeSet::new(),
            counts: Counts::default(),
            lateness: None,
            next: Tick::MAX,
            is_asleep: false,
            is_stopping: false,
        };
        let (next, note_count) = (AtomicU64::new(u64::MAX), AtomicUsize::new(0));
        Lane { index, next, note_count, notes, state: Mutex::new(state) }
    }

    /// No code of the owner runs under the lock, so a poisoned lock guards a sound state.
    fn state(&self) -> MutexGuard<'_, State<Q>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Not later than the earliest deadline; [`Tick::MAX`] if there is none. Takes no lock.
    pub(super) fn next(&self) -> Tick {
        Tick::new(self.next.load(Ordering::SeqCst))
    }

    fn publish(&self, state: &mut State<Q>, next: Option<Tick>) {
        state.next = next.unwrap_or(Tick::MAX);
        self.next.store(state.next.get(), Ordering::SeqCst);
    }

    /// Says whom the change concerns that was just made: whoever sleeps past the deadline, or over what is to be dropped.
    fn note_earlier(&self, mut state: MutexGuard<'_, State<Q>>, deadline: Tick) -> Wake {
        let deadline = if state.given_up.is_empty() { deadline } else { Tick::ZERO };
        if state.next <= deadline {
            return Wake::No;
        }
        self.publish(&mut state, Some(deadline));
        if state.is_asleep { Wake::Sleeper(deadline) } else { Wake::Worker(deadline) }
    }

    pub(super) fn schedule<T>(
        &self,
        clock: &dyn Clock,
        room: Room,
        deadline: Tick,
        payload: T,
    ) -> Result<(TimerId, Wake), Refused<T>>
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
        self.read_notes(&mut state);
        if state.is_stopping {
            return Err(Refused { reason: Refusal::Stopped, payload });
        }
        match state.add(room, deadline, payload) {
            Ok(timer) => Ok((TimerId { lane: self.index, timer }, self.note_earlier(state, deadline))),
            Err(rejected) if rejected.reason == Reason::BeyondHorizon => {
                drop(state);
                self.schedule_far(clock, room, deadline, rejected.payload)
            }
            Err(rejected) => Err(rejected.into()),
        }
    }

    /// Tries again with a queue that knows what time it is: while nothing is due nothing advances it, and a horizon is counted
    /// from its last advance. What must be taken and still lies beyond is put at the horizon.
    #[cold]
    fn schedule_far<T>(
        &self,
        clock: &dyn Clock,
        room: Room,
        deadline: Tick,
        payload: T,
    ) -> Result<(TimerId, Wake), Refused<T>>
    where
        Q: TimerQueue<T>,
    {
        // A clock may be the owner's code: no lock is held.
        let now = clock.now();
        let mut state = self.state();
        if state.is_stopping {
            return Err(Refused { reason: Refusal::Stopped, payload });
        }
        state.queue.advance(now);
        let horizon = match (room, state.queue.profile().horizon) {
            (Room::Assured, Some(horizon)) => state.queue.now().after(horizon),
            _ => Tick::MAX,
        };
        let deadline = deadline.min(horizon);
        let timer = state.add(room, deadline, payload)?;
        Ok((TimerId { lane: self.index, timer }, self.note_earlier(state, deadline)))
    }

    pub(super) fn cancel<T>(&self, id: TimerId) -> Option<T>
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
        if state.is_given_up(id.timer) {
            return None;
        }
        let payload = state.queue.cancel(id.timer)?;
        state.counts.cancelled += 1;
        Some(payload)
    }

    /// Cancels without waiting: at once if the lane is free, else by a note to whoever is there.
    pub(super) fn discard<T>(&self, id: TimerId)
    where
        Q: TimerQueue<T>,
    {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                // The lane keeps the other end as long as it lives.
                let _ = self.notes.send(id.timer);
                // Release: who sees the count finds the note.
                self.note_count.fetch_add(1, Ordering::Release);
                return;
            }
        };
        if state.is_given_up(id.timer) {
            return;
        }
        let payload = state.queue.cancel(id.timer);
        state.counts.cancelled += u64::from(payload.is_some());
        drop(state);
        // The payload's own `Drop` runs with no lock held.
        drop(payload);
    }

    /// Reads what notes ask for: from here on those timers are cancelled, whoever asks. Their payloads are dropped by a
    /// thread that fires.
    #[inline]
    fn read_notes<T>(&self, state: &mut State<Q>)
    where
        Q: TimerQueue<T>,
    {
        // Acquire: whoever sees the count finds the notes.
        match self.note_count.load(Ordering::Acquire) {
            0 => (),
            announced => self.read_announced(state, announced, None),
        }
    }

    /// Not more than were announced: who leaves notes all the time must not keep us here. `taken` is a timer that has left the
    /// queue and not begun to fire: a note may name it too.
    #[cold]
    fn read_announced<T>(
        &self,
        state: &mut State<Q>,
        announced: usize,
        taken: Option<mainspring_queue::TimerId>,
    ) where
        Q: TimerQueue<T>,
    {
        for _ in 0..announced {
            let Ok(id) = state.notes.try_recv() else { break };
            // Relaxed: only this side takes notes away, under the lock.
            self.note_count.fetch_sub(1, Ordering::Relaxed);
            let is_pending = Some(id) == taken || state.queue.deadline(id).is_some();
            if is_pending && state.given_up.insert(id) {
                state.counts.cancelled += 1;
            }
        }
    }

    pub(super) fn reset<T>(&self, clock: &dyn Clock, id: TimerId, deadline: Tick) -> Result<Wake, ResetError>
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
        if state.is_given_up(id.timer) {
            return Err(ResetError::NotPending);
        }
        let mut outcome = state.queue.reset(id.timer, deadline);
        if outcome == Err(ResetError::BeyondHorizon) {
            // As in `schedule_far`.
            drop(state);
            let now = clock.now();
            state = self.state();
            state.queue.advance(now);
            outcome = state.queue.reset(id.timer, deadline);
        }
        outcome?;
        state.counts.reset += 1;
        Ok(self.note_earlier(state, deadline))
    }

    pub(super) fn deadline<T>(&self, id: TimerId) -> Option<Tick>
    where
        Q: TimerQueue<T>,
    {
        let state = self.state();
        if state.is_given_up(id.timer) { None } else { state.queue.deadline(id.timer) }
    }

    pub(super) fn len<T>(&self) -> usize
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
        self.read_notes(&mut state);
        state.queue.len() - state.given_up.len()
    }

    pub(super) fn counts<T>(&self) -> Counts
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
        self.read_notes(&mut state);
        state.counts
    }

    pub(super) fn add_to<T>(&self, report: &mut Report)
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
        self.read_notes(&mut state);
        report.counts.add(&state.counts);
        if let Some(lateness) = &state.lateness {
            report.lateness_ticks.add(lateness).expect("all lanes' histograms have the same bounds");
        }
    }

    /// Counts that the lane's thread went on after a wait. It looks at the queue before it sleeps again, so what is
    /// scheduled until then need not wake it.
    pub(super) fn count_wakeup(&self) {
        let mut state = self.state();
        state.counts.wakeups += 1;
        state.is_asleep = false;
    }

    /// Marks that the lane's thread goes on after a wait: what is scheduled until it has looked again need not wake it.
    pub(super) fn note_awake(&self) {
        self.state().is_asleep = false;
    }

    pub(super) fn stop(&self) {
        self.state().is_stopping = true;
    }

    pub(super) fn take_unfired<T>(&self) -> Vec<Unfired<T>>
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
        self.read_notes(&mut state);
        let graves = self.open_graves(&mut state);
        drop(state);
        // There is nobody left to report a panic to; its message was printed.
        graves.into_iter().for_each(|timer| _ = catch_unwind(AssertUnwindSafe(|| drop(timer))));
        let mut state = self.state();
        state.queue.advance(Tick::MAX);
        std::iter::from_fn(|| state.queue.pop_expired()).map(|timer| self.unfired(timer)).collect()
    }

    fn unfired<T>(&self, timer: Expired<T>) -> Unfired<T> {
        let Expired { id, deadline, payload } = timer;
        Unfired { id: TimerId { lane: self.index, timer: id }, deadline, payload }
    }

    /// Takes out what was given up, to be dropped with no lock held.
    #[cold]
    fn open_graves<T>(&self, state: &mut State<Q>) -> Vec<Unfired<T>>
    where
        Q: TimerQueue<T>,
    {
        let given_up = std::mem::take(&mut state.given_up);
        let take = |id| {
            let deadline = state.queue.deadline(id)?;
            let payload = state.queue.cancel(id)?;
            Some(self.unfired(Expired { id, deadline, payload }))
        };
        given_up.into_iter().filter_map(take).collect()
    }

    /// Fires what is due, up to as many timers as the role allows. Before each firing, with no lock held, `watch` is called: while the callback
    /// runs this lane is nobody's.
    pub(super) fn turn<T>(
        &self,
        clock: &dyn Clock,
        role: Role,
        fire: &mut impl Fire<T>,
        watch: impl Fn(),
    ) -> Turn
    where
        Q: TimerQueue<T>,
    {
        let read = clock.now();
        let mut state = self.state();
        state.is_asleep = false;
        if state.is_stopping {
            return Turn::Stopping;
        }
        state.queue.advance(read);
        for _ in 0..role.firing_count_max() {
            self.read_notes(&mut state);
            if !state.given_up.is_empty() {
                let graves = self.open_graves(&mut state);
                drop(state);
                graves.into_iter().for_each(|timer| drop_caught(fire, timer));
                state = self.state();
                if state.is_stopping {
                    return Turn::Stopping;
                }
            }
            // A thief may have advanced the queue past what this thread read.
            let now = state.queue.now();
            let Some(timer) = state.queue.pop_expired() else {
                let until = state.queue.next_wakeup();
                self.publish(&mut state, until);
                state.is_asleep = true;
                return Turn::Idle(until);
            };
            // Here the firing begins: a note that was left before this look is obeyed.
            let announced = self.note_count.load(Ordering::Acquire);
            if announced > 0 {
                self.read_announced(&mut state, announced, Some(timer.id));
                if state.given_up.remove(&timer.id) {
                    drop(state);
                    drop_caught(fire, self.unfired(timer));
                    state = self.state();
                    continue;
                }
            }
            state.count_firing(role, now.since(timer.deadline));
            let until = state.queue.next_wakeup();
            self.publish(&mut state, until);
            drop(state);
            watch();
            let Unfired { id, deadline, payload } = self.unfired(timer);
            let fired = Fired { id, deadline, now, payload };
            let has_panicked = fire_caught(fire, fired);
            state = self.state();
            state.counts.panicked += u64::from(has_panicked);
            if state.is_stopping {
                return Turn::Stopping;
            }
        }
        Turn::Busy
    }
}

impl<Q> State<Q> {
    fn add<T>(
        &mut self,
        room: Room,
        deadline: Tick,
        payload: T,
    ) -> Result<mainspring_queue::TimerId, Rejected<T>>
    where
        Q: TimerQueue<T>,
    {
        let timer = match room {
            Room::Limited => self.queue.schedule(deadline, payload)?,
            Room::Assured => self.queue.schedule_past_limit(deadline, payload)?,
        };
        self.counts.scheduled += 1;
        Ok(timer)
    }

    fn is_given_up(&self, id: mainspring_queue::TimerId) -> bool {
        !self.given_up.is_empty() && self.given_up.contains(&id)
    }

    fn count_firing(&mut self, role: Role, late_ticks: u64) {
        self.counts.fired += 1;
        self.counts.stolen += u64::from(role == Role::Thief);
        self.counts.lateness_ticks_max = self.counts.lateness_ticks_max.max(late_ticks);
        self.lateness.get_or_insert_with(empty_lateness).saturating_record(late_ticks);
    }
}

/// A histogram of latenesses in ticks, with nothing in it.
pub(super) fn empty_lateness() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENESS_TICKS_MAX, LATENESS_DIGITS)
        .expect("the bounds are those of a histogram")
}
