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
//! | `notes` | a queue without a lock | ids to cancel, from threads that would not wait; obeyed before anything is popped, and by whoever schedules |
//! | `note_count` | - | says that there are notes: written after a note is left, so that who reads it may miss only one that is being left |
//!
//! The atomic mirror is one half of a store-then-load handshake with sleepers: see [`per_worker`](super::per_worker), which
//! puts the fences.
//!
//! Cost: one lock per operation and per firing. It does not wait and does not wake anybody: drivers do.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hdrhistogram::Histogram;
use mainspring_queue::{Reason, Rejected, ResetError, Tick, TimerQueue};

use super::{Counts, Fire, Fired, Panicked, Refusal, Refused, Report, TimerId, Unfired};
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

/// Whether a change needs somebody to wake earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// No: something earlier was known.
    No,
    /// The deadline is the earliest, and a thread sleeps over this lane.
    Sleeper,
    /// The deadline is the earliest, and a thread is at work on this lane.
    Worker,
}

impl<Q> Lane<Q> {
    pub(super) fn new(index: u32, queue: Q) -> Lane<Q> {
        let (notes, receiver) = channel();
        let state = State {
            queue,
            notes: receiver,
            counts: Counts::default(),
            lateness: None,
            next: Tick::MAX,
            is_asleep: false,
            is_stopping: false,
        };
        let (next, note_count) = (AtomicU64::new(u64::MAX), AtomicUsize::new(0));
        Lane { index, next, note_count, notes, state: Mutex::new(state) }
    }

    /// No code of the owner runs under the lock but for the `Drop` of payloads, so a poisoned lock guards a sound state.
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

    fn note_earlier(&self, mut state: MutexGuard<'_, State<Q>>, deadline: Tick) -> Wake {
        if state.next <= deadline {
            return Wake::No;
        }
        self.publish(&mut state, Some(deadline));
        if state.is_asleep { Wake::Sleeper } else { Wake::Worker }
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
        // Dropped after the lock is released, as it was declared before.
        let _discarded;
        let mut state = self.state();
        _discarded = self.obey_notes(&mut state);
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
        let payload = state.queue.cancel(id.timer);
        state.counts.cancelled += u64::from(payload.is_some());
        drop(state);
        // The payload's own `Drop` runs with no lock held.
        drop(payload);
    }

    /// Cancels what notes ask for, and returns the payloads, to be dropped when the lock is released.
    #[inline]
    fn obey_notes<T>(&self, state: &mut State<Q>) -> Vec<T>
    where
        Q: TimerQueue<T>,
    {
        // Acquire: whoever sees the count finds the notes.
        match self.note_count.load(Ordering::Acquire) {
            0 => Vec::new(),
            announced => self.obey_announced(state, announced),
        }
    }

    /// Not more than were announced: who leaves notes all the time must not keep us here.
    #[cold]
    fn obey_announced<T>(&self, state: &mut State<Q>, announced: usize) -> Vec<T>
    where
        Q: TimerQueue<T>,
    {
        let mut discarded = Vec::new();
        for _ in 0..announced {
            let Ok(id) = state.notes.try_recv() else { break };
            // Relaxed: only this side takes notes away, under the lock.
            self.note_count.fetch_sub(1, Ordering::Relaxed);
            discarded.extend(state.queue.cancel(id));
        }
        state.counts.cancelled += discarded.len() as u64;
        discarded
    }

    pub(super) fn reset<T>(&self, clock: &dyn Clock, id: TimerId, deadline: Tick) -> Result<Wake, ResetError>
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
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
        self.state().queue.deadline(id.timer)
    }

    pub(super) fn len<T>(&self) -> usize
    where
        Q: TimerQueue<T>,
    {
        let _discarded;
        let mut state = self.state();
        _discarded = self.obey_notes(&mut state);
        state.queue.len()
    }

    pub(super) fn counts<T>(&self) -> Counts
    where
        Q: TimerQueue<T>,
    {
        let _discarded;
        let mut state = self.state();
        _discarded = self.obey_notes(&mut state);
        state.counts
    }

    pub(super) fn add_to<T>(&self, report: &mut Report)
    where
        Q: TimerQueue<T>,
    {
        let _discarded;
        let mut state = self.state();
        _discarded = self.obey_notes(&mut state);
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
        let _discarded;
        let mut state = self.state();
        _discarded = self.obey_notes(&mut state);
        state.queue.advance(Tick::MAX);
        let popped = std::iter::from_fn(|| state.queue.pop_expired());
        popped
            .map(|timer| Unfired {
                id: TimerId { lane: self.index, timer: timer.id },
                deadline: timer.deadline,
                payload: timer.payload,
            })
            .collect()
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
            // A thief may have advanced the queue past what this thread read.
            let now = state.queue.now();
            let discarded = self.obey_notes(&mut state);
            if !discarded.is_empty() {
                drop(state);
                drop(discarded);
                state = self.state();
            }
            let Some(timer) = state.queue.pop_expired() else {
                let until = state.queue.next_wakeup();
                self.publish(&mut state, until);
                state.is_asleep = true;
                return Turn::Idle(until);
            };
            state.count_firing(role, now.since(timer.deadline));
            let until = state.queue.next_wakeup();
            self.publish(&mut state, until);
            drop(state);
            watch();
            let fired = Fired {
                id: TimerId { lane: self.index, timer: timer.id },
                deadline: timer.deadline,
                now,
                payload: timer.payload,
            };
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

/// Fires one timer; tells whether that panicked.
fn fire_caught<T>(fire: &mut impl Fire<T>, fired: Fired<T>) -> bool {
    let (id, deadline) = (fired.id, fired.deadline);
    // What a panic leaves half done is the callback's own: the driver shares nothing with it.
    let Err(panic) = catch_unwind(AssertUnwindSafe(|| fire.fire(fired))) else { return false };
    let panicked = Panicked::new(id, deadline, &*panic);
    // The panic's own value and the report are the owner's code as well.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        fire.panicked(&panicked);
        drop(panic);
    }));
    true
}
