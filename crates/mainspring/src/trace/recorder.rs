//! Records what is done to a queue, while it is switched on.
//!
//! ```text
//!   program -> engine -> RecordedQueue<Q> -> Q
//!                           |  is it on?  one branch
//!                           v
//!                        Recorder { timers seen, steps up to a capacity }   <- switched on and off, and taken, by anybody
//! ```
//!
//! Timers that were scheduled while it was off are left out for good: a replay would not know them.
//!
//! Cost: off, a relaxed load and a branch per call. On, a lock that no other thread holds, a clock read and a
//! hash; 32 bytes a step and about 40 a pending timer.
//!
//! It does not record advances: those are the driver's choice and not the program's.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use mainspring_queue::{
    Budget, ExpiredTimer, PopResult, RejectedTimer, ResetError, Tick, TimerId, TimerQueue, forward,
};

use super::{Operation, Step, Trace};
use crate::clock::Clock;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock};

/// The switch and the record of one [`RecordedQueue`] queue. Clones are the same recorder.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use mainspring::clock::{Clock, Monotonic};
/// use mainspring::trace::Recorder;
/// use mainspring_queue::wheel::Chunked;
///
/// let clock: Arc<dyn Clock> = Arc::new(Monotonic::new());
/// let recorder = Recorder::new(Arc::clone(&clock), 1_000_000);
/// let engine = mainspring::preset::callbacks(recorder.around(Chunked::new()), clock)?;
///
/// recorder.switch_on();
/// let timer = engine.callbacks().after(Duration::from_secs(30), |_| ())?;
/// timer.cancel();
/// recorder.switch_off();
///
/// let trace = recorder.take();
/// assert_eq!((trace.steps.len(), trace.dropped_count), (2, 0));
/// // std::fs::write("timers.trace", trace.to_string())?, then: mainspring-lab advise timers.trace
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

struct Shared {
    /// Relaxed: a switch need not be seen at once, and orders nothing else.
    is_on: AtomicBool,
    clock: Arc<dyn Clock>,
    capacity: usize,
    record: Mutex<Record>,
}

#[derive(Default)]
struct Record {
    steps: Vec<Step>,
    dropped_count: u64,
    /// Pending timers that the record has seen from their beginning.
    numbers: HashMap<TimerId, u64>,
    next_number: u64,
}

impl Recorder {
    /// Makes one that is off, for at most `capacity` steps; what comes after is counted and not kept. Times
    /// are those of `clock`, which should be the driver's: the time of a queue stands still while its driver
    /// sleeps.
    #[inline]
    pub fn new(clock: impl Clock, capacity: usize) -> Recorder {
        let clock = clock.into_shared();
        let (is_on, record) = (AtomicBool::new(false), Mutex::new(Record::default()));
        Recorder { shared: Arc::new(Shared { is_on, clock, capacity, record }) }
    }

    /// Puts the recorder around a queue. One queue only: timers of two would have the same names.
    pub fn around<Q>(&self, queue: Q) -> RecordedQueue<Q> {
        RecordedQueue { queue, recorder: self.clone() }
    }

    /// Begins to record.
    #[inline]
    pub fn switch_on(&self) {
        self.shared.is_on.store(true, Ordering::Relaxed);
    }

    /// Stops recording. Timers that are pending are forgotten: what happens to them meanwhile would be
    /// missing.
    #[inline]
    pub fn switch_off(&self) {
        self.shared.is_on.store(false, Ordering::Relaxed);
        lock(&self.shared.record).numbers.clear();
    }

    /// Tells whether it is on.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.shared.is_on.load(Ordering::Relaxed)
    }

    /// Takes what was recorded so far, and begins again with an empty record. Timers that are pending are
    /// forgotten.
    #[inline]
    pub fn take(&self) -> Trace {
        let Record { steps, dropped_count, .. } = std::mem::take(&mut *lock(&self.shared.record));
        Trace { tick: self.shared.clock.resolution(), dropped_count, steps }
    }

    /// Records an operation if it is on.
    #[inline]
    fn note(&self, id: TimerId, operation: Operation) {
        if self.is_on() {
            self.record_step(id, operation);
        }
    }

    #[cold]
    #[inline]
    fn record_step(&self, id: TimerId, operation: Operation) {
        let at = self.shared.clock.now();
        let mut record = lock(&self.shared.record);
        let number = match operation {
            Operation::Schedule(_) => {
                record.next_number += 1;
                let number = record.next_number;
                record.numbers.insert(id, number);
                Some(number)
            }
            Operation::Reset(_) => record.numbers.get(&id).copied(),
            Operation::Cancel | Operation::Fire => record.numbers.remove(&id),
        };
        let Some(timer) = number else { return };
        // Once something is missing, nothing after it can be replayed.
        if record.steps.len() < self.shared.capacity && record.dropped_count == 0 {
            // Two threads may read a clock in one order and come here in the other.
            let at = record.steps.last().map_or(at, |last| at.max(last.at));
            record.steps.push(Step { at, timer, operation });
        } else {
            record.dropped_count += 1;
        }
    }
}

impl fmt::Debug for Recorder {
    #[inline]
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recorder").field("is_on", &self.is_on()).finish_non_exhaustive()
    }
}

/// A queue whose operations are recorded while its [`Recorder`] is on.
///
/// ```
/// use mainspring::clock::Manual;
/// use mainspring::queue::{Tick, TimerQueue, wheel::Chunked};
/// use mainspring::trace::Recorder;
///
/// let recorder = Recorder::new(Manual::stepped(), 1_000);
/// let mut queue = recorder.around(Chunked::new());
/// recorder.switch_on();
/// queue.schedule(Tick::new(5), "recorded")?;
/// assert_eq!(recorder.take().steps.len(), 1);
/// assert_eq!(queue.into_inner().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RecordedQueue<Q> {
    queue: Q,
    recorder: Recorder,
}

impl<Q> RecordedQueue<Q> {
    /// Returns the queue itself.
    #[inline]
    pub fn into_inner(self) -> Q {
        self.queue
    }
}

impl<T, Q: TimerQueue<T>> TimerQueue<T> for RecordedQueue<Q> {
    #[inline]
    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        let id = self.queue.schedule(deadline, payload)?;
        self.recorder.note(id, Operation::Schedule(deadline));
        Ok(id)
    }

    #[inline]
    fn schedule_past_limit(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
        let id = self.queue.schedule_past_limit(deadline, payload)?;
        self.recorder.note(id, Operation::Schedule(deadline));
        Ok(id)
    }

    #[inline]
    fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.queue.cancel(id).inspect(|_| self.recorder.note(id, Operation::Cancel))
    }

    #[inline]
    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        self.queue.reset(id, deadline)?;
        self.recorder.note(id, Operation::Reset(deadline));
        Ok(())
    }

    #[inline]
    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
        self.queue.pop_expired().inspect(|expired| self.recorder.note(expired.id, Operation::Fire))
    }

    #[inline]
    fn pop_within(&mut self, budget: &mut Budget) -> PopResult<T> {
        let popped = self.queue.pop_within(budget);
        if let PopResult::Timer(expired) = &popped {
            self.recorder.note(expired.id, Operation::Fire);
        }
        popped
    }

    #[inline]
    fn check(&self) {
        self.queue.check();
    }

    forward!(rest: recorded => recorded.queue);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mainspring_queue::contract;
    use mainspring_queue::heap::Quaternary;

    use super::*;
    use crate::clock::Manual;

    fn recorded(capacity: usize) -> (Manual, Recorder, RecordedQueue<Quaternary<u8>>) {
        let clock = Manual::stepped();
        let recorder = Recorder::new(Arc::new(clock.clone()), capacity);
        let queue = recorder.around(Quaternary::new());
        (clock, recorder, queue)
    }

    fn operations(trace: &Trace) -> Vec<(u64, u64, Operation)> {
        trace.steps.iter().map(|step| (step.at.get(), step.timer, step.operation)).collect()
    }

    #[test]
    fn every_operation_is_recorded_at_its_time() {
        let (clock, recorder, mut queue) = recorded(100);
        recorder.switch_on();
        let first = queue.schedule(Tick::new(10), 1).expect("there is room");
        clock.advance(Duration::from_millis(2));
        let second = queue.schedule(Tick::new(20), 2).expect("there is room");
        queue.reset(first, Tick::new(15)).expect("it is pending");
        clock.advance(Duration::from_millis(13));
        queue.advance(Tick::new(15));
        assert_eq!(queue.pop_expired().map(|expired| expired.id), Some(first));
        assert_eq!(queue.cancel(second), Some(2));
        assert_eq!(queue.cancel(second), None);
        let expected = [
            (0, 1, Operation::Schedule(Tick::new(10))),
            (2, 2, Operation::Schedule(Tick::new(20))),
            (2, 1, Operation::Reset(Tick::new(15))),
            (15, 1, Operation::Fire),
            (15, 2, Operation::Cancel),
        ];
        assert_eq!(operations(&recorder.take()), expected);
        assert_eq!(recorder.take().steps, []);
    }

    #[test]
    fn a_recorded_queue_keeps_the_contract_while_it_records() {
        contract::exercise(|| {
            let recorder = Recorder::new(Arc::new(Manual::stepped()), 1_000_000);
            recorder.switch_on();
            recorder.around(Quaternary::new())
        });
    }

    #[test]
    fn timers_from_before_are_left_out() {
        let (_, recorder, mut queue) = recorded(100);
        let before = queue.schedule(Tick::new(10), 1).expect("there is room");
        recorder.switch_on();
        queue.cancel(before);
        let during = queue.schedule(Tick::new(10), 2).expect("there is room");
        recorder.switch_off();
        recorder.switch_on();
        queue.cancel(during);
        assert_eq!(operations(&recorder.take()), [(0, 1, Operation::Schedule(Tick::new(10)))]);
    }

    #[test]
    fn a_full_record_counts_what_it_drops_and_holds_no_hole() {
        let (_, recorder, mut queue) = recorded(2);
        recorder.switch_on();
        for payload in 0..5 {
            queue.schedule(Tick::new(10), payload).expect("there is room");
        }
        let trace = recorder.take();
        assert_eq!((trace.steps.len(), trace.dropped_count), (2, 3));
        queue.schedule(Tick::new(10), 9).expect("there is room");
        assert_eq!(recorder.take().steps.len(), 1);
    }
}
