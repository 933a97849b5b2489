//! A queue behind a lock: what a timer's id names, and the part that all drivers share.
//!
//! ```text
//!   any thread   schedule, cancel, reset: one queue operation under the lock; "is it earlier than all I knew?" -> alarm
//!   one thread   turn: advance -> pop -> (lock released) fire -> pop -> ... -> asleep until next
//! ```
//!
//! A shard is a [`Part`]: a timer holds the shard that it is in, and not the driver, so that whatever is
//! counted is counted there. Threads of different shards write to no line of memory that they share.
//!
//! | field | guard | why |
//! |---|---|---|
//! | `queue`, `counts`, `lateness` | `state` | every operation on them is short and bounded by the queue's own cost |
//! | `next` | `state`, mirrored in the atomic `next` | not later than the earliest deadline; a thread that schedules before it sees that a thread wakes in time |
//! | `is_asleep` | `state` | set in the critical section that looked at the queue last, so that a timer scheduled after that look finds it set |
//! | `refusal` | `state` | once there is one, nothing is taken or fired any more |
//! | `backoff` | see [`backoff`] | threads that schedule make way for the one that fires |
//! | `firings` | `state`; `has_fired` tells of changes | see [`firing`] |
//! | `ends_when_empty` | atomic, relaxed: set before the lock is taken for the first look, and read under it | a thread runs the shard until nothing is pending, and a cancel may make it so |
//!
//! The queue alone knows whether a timer is pending, and it is asked under the lock by every path: a cancel,
//! a reset, a look, a count, a firing. So what one caller was told holds for all of them.
//!
//! The atomic mirror is one half of a store-then-load handshake with sleepers: see
//! [`per_worker`](super::per_worker), which puts the fences.
//!
//! Cost: one lock per operation and per firing; a virtual call to the alarm where a timer is the earliest.
//!
//! A cancel that finds the lock taken waits for one operation of the queue. For a caller that drops the
//! answer it was tried to leave a note instead, in a queue without a lock, which the next caller read. A
//! timer that a note names is neither pending nor gone, and each path had to know: one fired, and a full
//! queue stayed full. Nor did the notes gain anything. A pair of schedule and cancel, with notes and with the
//! lock, in ns of all threads together, lowest of six runs in turns on two cores of an AMD EPYC: alone 70 and
//! 70, two threads at one queue 77 and 76, four 75 and 75, beside one that schedules without end 188 and 211,
//! where equal runs differ by 45.

mod backoff;
mod firing;
#[cfg_attr(not(feature = "report"), path = "shard/no_lateness.rs")]
mod lateness;
mod turn;

use std::sync::Arc;

use mainspring_queue::{ExpiredTimer, Reason, RejectedTimer, ResetError, Tick, TimerQueue};

use self::backoff::Backoff;
use self::firing::Firings;
use self::lateness::Lateness;
use super::{Counts, Part, Refusal, RefusedTimer, TimerId, UnfiredTimer};
use crate::clock::{Clock, Notifier};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, lock};

pub(super) use self::turn::{NoWatch, Role, Turn, Watch};

/// A queue, its lock, and what happened to it. Aligned to two cache lines, because processors fetch them in
/// pairs.
#[repr(align(128))]
pub(super) struct Shard<Q> {
    index: u32,
    clock: Arc<dyn Clock>,
    alarm: Arc<dyn Alarm>,
    next: AtomicU64,
    backoff: Backoff,
    ends_when_empty: AtomicBool,
    state: Mutex<State<Q>>,
    has_fired: Condvar,
}

struct State<Q> {
    queue: Q,
    firings: Firings,
    counts: Counts,
    lateness: Lateness,
    /// `None`: nothing is pending.
    next: Option<Tick>,
    is_asleep: bool,
    /// Why nothing is taken or fired any more.
    refusal: Option<Refusal>,
}

/// Whether a queue's limits hold for a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitCheck {
    /// They do.
    Limited,
    /// They do not: it goes past a limit on their number, and one beyond the horizon fires there, early.
    Assured,
}

/// Wakes the thread that a change of a shard concerns.
pub(super) trait Alarm: Send + Sync {
    /// Nothing before `tick` was known in a shard, and now something is, at that tick.
    fn wake(&self, shard: u32, thread: ThreadToWake, tick: Tick);
}

/// Which thread has to do with a shard that something earlier was scheduled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadToWake {
    /// A thread that sleeps over it.
    Sleeper,
    /// A thread that is at work on it, or none.
    Worker,
}

/// A thread at work looks at the queue again before it sleeps; one that sleeps must be woken.
impl Alarm for Notifier {
    fn wake(&self, _shard: u32, thread: ThreadToWake, _tick: Tick) {
        if thread == ThreadToWake::Sleeper {
            self.notify();
        }
    }
}

impl<Q> Shard<Q> {
    pub(super) fn new(index: u32, queue: Q, clock: Arc<dyn Clock>, alarm: Arc<dyn Alarm>) -> Shard<Q> {
        let state = State {
            queue,
            firings: Firings::default(),
            counts: Counts::default(),
            lateness: Lateness::default(),
            next: None,
            is_asleep: false,
            refusal: None,
        };
        Shard {
            index,
            backoff: Backoff::new(clock.resolution()),
            clock,
            alarm,
            next: AtomicU64::new(u64::MAX),
            ends_when_empty: AtomicBool::new(false),
            state: Mutex::new(state),
            has_fired: Condvar::new(),
        }
    }

    pub(super) fn index(&self) -> u32 {
        self.index
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    fn id(&self, timer: mainspring_queue::TimerId) -> TimerId {
        TimerId { shard: self.index, timer }
    }

    /// Not later than the earliest deadline; [`Tick::MAX`] if there is none, or one at that tick. Takes no
    /// lock.
    pub(super) fn next(&self) -> Tick {
        Tick::new(self.next.load(Ordering::SeqCst))
    }

    /// Whether anything is pending.
    pub(super) fn has_next(&self) -> bool {
        lock(&self.state).next.is_some()
    }

    fn publish(&self, state: &mut State<Q>, next: Option<Tick>) {
        state.next = next;
        self.next.store(next.unwrap_or(Tick::MAX).get(), Ordering::SeqCst);
    }

    /// Ends an operation that may have made `deadline` the earliest: wakes the thread that sleeps past it.
    #[inline]
    fn finish(&self, state: MutexGuard<'_, State<Q>>, deadline: Tick) {
        if state.next.is_none_or(|next| deadline < next) {
            self.finish_earlier(state, deadline);
        }
    }

    #[cold]
    fn finish_earlier(&self, mut state: MutexGuard<'_, State<Q>>, deadline: Tick) {
        self.publish(&mut state, Some(deadline));
        let thread = if state.is_asleep { ThreadToWake::Sleeper } else { ThreadToWake::Worker };
        drop(state);
        self.alarm.wake(self.index, thread, deadline);
    }

    /// Inlined by force, as what it calls: so the payload is moved once, into its record.
    #[inline(always)]
    fn add<T>(&self, check: LimitCheck, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>>
    where
        Q: TimerQueue<T>,
    {
        let has_paused = self.backoff.back_off(&*self.clock);
        let mut state = lock(&self.state);
        if let Some(reason) = state.refusal {
            return Err(RefusedTimer::new(reason, payload));
        }
        state.counts.held_back += u64::from(has_paused);
        // What is asked for the past is due now: a turn comes to it after all that were due before. By its
        // own deadline it would come first, and one that schedules itself again would keep all others away.
        let due = deadline.max(state.queue.now());
        match state.add(check, due, payload) {
            Ok(timer) => {
                // By the deadline that was asked for: a sleeper is woken for what a stuck worker leaves.
                self.finish(state, deadline);
                Ok(self.id(timer))
            }
            Err(rejected) => {
                drop(state);
                self.add_rejected(check, deadline, rejected)
            }
        }
    }

    /// Tries again with a queue that knows what time it is: while nothing is due nothing advances it, and a
    /// horizon is counted from its last advance. What must be taken and still lies beyond is put at the
    /// horizon.
    #[cold]
    fn add_rejected<T>(
        &self,
        check: LimitCheck,
        deadline: Tick,
        rejected: RejectedTimer<T>,
    ) -> Result<TimerId, RefusedTimer<T>>
    where
        Q: TimerQueue<T>,
    {
        if rejected.reason != Reason::BeyondHorizon {
            return Err(rejected.into());
        }
        // A clock may be the owner's code: no lock is held.
        let now = self.clock.now();
        let mut state = lock(&self.state);
        if let Some(reason) = state.refusal {
            return Err(RefusedTimer::new(reason, rejected.payload));
        }
        state.queue.advance(now);
        let horizon = match (check, state.queue.profile().horizon) {
            (LimitCheck::Assured, Some(horizon)) => state.queue.now().after(horizon),
            _ => Tick::MAX,
        };
        let deadline = deadline.min(horizon);
        let timer = state.add(check, deadline, rejected.payload)?;
        self.finish(state, deadline);
        Ok(self.id(timer))
    }

    /// From now on a cancel that leaves nothing pending wakes the shard's thread.
    pub(super) fn set_ends_when_empty(&self, ends_when_empty: bool) {
        self.ends_when_empty.store(ends_when_empty, Ordering::Relaxed);
    }

    /// Ends an operation that took a timer away.
    #[inline(always)]
    fn finish_removal<T>(&self, state: MutexGuard<'_, State<Q>>)
    where
        Q: TimerQueue<T>,
    {
        if self.ends_when_empty.load(Ordering::Relaxed) && state.queue.is_empty() {
            drop(state);
            self.alarm.wake(self.index, ThreadToWake::Sleeper, Tick::ZERO);
        }
    }

    /// Counts that the shard's thread went on after a wait. It looks at the queue before it sleeps again, so
    /// what is scheduled until then need not wake it.
    pub(super) fn count_wakeup(&self) {
        let mut state = lock(&self.state);
        state.counts.wakeups += 1;
        state.is_asleep = false;
    }

    /// Marks that the shard's thread continues after a wait: what is scheduled until it has looked again need
    /// not wake it.
    pub(super) fn note_awake(&self) {
        lock(&self.state).is_asleep = false;
    }

    pub(super) fn stop(&self) {
        self.refuse(Refusal::Stopped);
    }

    /// Stops for a reason. The first one stays.
    pub(super) fn refuse(&self, reason: Refusal) {
        lock(&self.state).refusal.get_or_insert(reason);
    }

    /// Waits until a timer does not fire, unless the calling thread fires it.
    fn wait_until_fired(&self, timer: mainspring_queue::TimerId) {
        let mut state = lock(&self.state);
        while state.firings.contains_on_other_thread(timer) {
            state.firings.begin_wait();
            state = self.has_fired.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.firings.end_wait();
        }
    }

    /// Notes the end of a firing.
    #[inline]
    fn end_firing(&self, state: &mut State<Q>, timer: mainspring_queue::TimerId) {
        if state.firings.end(timer) {
            self.has_fired.notify_all();
        }
    }

    pub(super) fn len<T>(&self) -> usize
    where
        Q: TimerQueue<T>,
    {
        let state = lock(&self.state);
        state.check_counts();
        state.queue.len()
    }

    pub(super) fn counts<T>(&self) -> Counts
    where
        Q: TimerQueue<T>,
    {
        let state = lock(&self.state);
        state.check_counts();
        state.counts
    }

    #[cfg(feature = "report")]
    pub(super) fn add_to<T>(&self, report: &mut super::Report)
    where
        Q: TimerQueue<T>,
    {
        let mut state = lock(&self.state);
        report.counts.add(&state.counts);
        state.lateness.add_to(&mut report.lateness_ticks);
    }

    pub(super) fn take_unfired<T>(&self) -> Vec<UnfiredTimer<T>>
    where
        Q: TimerQueue<T>,
    {
        let mut state = lock(&self.state);
        state.queue.advance(Tick::MAX);
        std::iter::from_fn(|| state.queue.pop_expired()).map(|timer| self.unfired(timer)).collect()
    }

    fn unfired<T>(&self, timer: ExpiredTimer<T>) -> UnfiredTimer<T> {
        let ExpiredTimer { id, deadline, payload } = timer;
        UnfiredTimer { id: self.id(id), deadline, payload }
    }
}

impl<Q> State<Q> {
    #[inline(always)]
    fn add<T>(
        &mut self,
        check: LimitCheck,
        deadline: Tick,
        payload: T,
    ) -> Result<mainspring_queue::TimerId, RejectedTimer<T>>
    where
        Q: TimerQueue<T>,
    {
        let timer = match check {
            LimitCheck::Limited => self.queue.schedule(deadline, payload)?,
            LimitCheck::Assured => self.queue.schedule_past_limit(deadline, payload)?,
        };
        self.counts.scheduled += 1;
        Ok(timer)
    }

    /// Asserts that each timer that was scheduled has left once, or is pending. What is left when the shard
    /// stops was not fired.
    fn check_counts<T>(&self)
    where
        Q: TimerQueue<T>,
    {
        let Counts { scheduled, fired, cancelled, .. } = self.counts;
        let pending = self.queue.len() as u64;
        debug_assert!(fired + cancelled + pending <= scheduled, "a timer leaves its shard once");
        debug_assert!(
            self.refusal.is_some() || fired + cancelled + pending == scheduled,
            "a timer that was scheduled has left its shard or is pending"
        );
    }
}

impl<T, Q: TimerQueue<T> + Send> Part<T> for Shard<Q> {
    fn shard(&self) -> u32 {
        self.index
    }

    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        self.add(LimitCheck::Limited, deadline, payload)
    }

    fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        self.add(LimitCheck::Assured, deadline, payload)
    }

    fn cancel(&self, id: TimerId) -> Option<T> {
        if id.shard != self.index {
            return None;
        }
        let mut state = lock(&self.state);
        let payload = state.queue.cancel(id.timer)?;
        state.counts.cancelled += 1;
        self.finish_removal(state);
        Some(payload)
    }

    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        let has_paused = self.backoff.back_off(&*self.clock);
        let mut state = lock(&self.state);
        state.counts.held_back += u64::from(has_paused);
        if id.shard != self.index {
            return Err(ResetError::NotPending);
        }
        // As in `add`.
        let deadline = deadline.max(state.queue.now());
        let mut outcome = state.queue.reset(id.timer, deadline);
        if outcome == Err(ResetError::BeyondHorizon) {
            // As in `add_rejected`.
            drop(state);
            let now = self.clock.now();
            state = lock(&self.state);
            state.queue.advance(now);
            outcome = state.queue.reset(id.timer, deadline);
        }
        outcome?;
        state.counts.reset += 1;
        self.finish(state, deadline);
        Ok(())
    }

    fn update(&self, id: TimerId, change: &mut dyn FnMut(&mut T)) -> bool {
        let mut state = lock(&self.state);
        if id.shard != self.index {
            return false;
        }
        state.queue.payload_mut(id.timer).map(change).is_some()
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        let state = lock(&self.state);
        if id.shard != self.index {
            return None;
        }
        state.queue.deadline(id.timer)
    }

    fn is_firing(&self, id: TimerId) -> bool {
        id.shard == self.index && lock(&self.state).firings.contains(id.timer)
    }

    fn wait_for_firing(&self, id: TimerId) {
        if id.shard == self.index {
            self.wait_until_fired(id.timer);
        }
    }

    fn granularity(&self) -> u64 {
        lock(&self.state).queue.profile().granularity
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
