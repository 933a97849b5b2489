//! A preset on one thread, by the workload's clock: W1 to W4 and W8.
//!
//! ```text
//!   schedule   a closure of 16 bytes is boxed; handle -> driver's lock -> queue       advance   the engine's turn
//! ```
//!
//! Included: the allocation, the virtual call, the lock, and on the engine's side the lock around each firing
//! and the call of the closure. Taken off: the hand-over to the engine's thread, which in a program a real
//! clock does (W6 and W7 show what that costs).
//!
//! Cost: that of the engine. It does not wake the engine where nothing can be due.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mainspring::clock::Clock;
use mainspring::driver::{Refusal, RefusedTimer, TimerId};
use mainspring::front::Task;
use mainspring::{Engine, Handle};
use mainspring_queue::Tick;

use super::turns::Turns;
use crate::api::{Due, QueueSubject, Step};
use crate::case::Failure;
use crate::stopwatch::Stopwatch;

/// The preset, its clock, and what it knows of its engine's sleep.
pub struct ByTurns {
    handle: Handle<Task>,
    _engine: Engine<Task>,
    turns: Arc<Turns>,
    fired: &'static FiredCounts,
    /// Until when the engine sleeps. What is scheduled before that wakes it.
    asleep_until: Tick,
    /// Whether something was, since its last turn.
    is_woken: bool,
    ms_per_tick: u64,
    granularity: u64,
    now: u64,
    handover_ns: f64,
}

/// What the engine's thread has fired since it was last asked. One thread writes, another reads when that one
/// sleeps.
#[derive(Debug, Default)]
struct FiredCounts {
    count: AtomicU64,
    payload_sum: AtomicU64,
    payload_max: AtomicU64,
}

impl FiredCounts {
    #[inline]
    fn fire(&self, payload: u64) {
        let count = self.count.load(Ordering::Relaxed) + 1;
        let payload_sum = self.payload_sum.load(Ordering::Relaxed).wrapping_add(payload);
        self.count.store(count, Ordering::Relaxed);
        self.payload_sum.store(payload_sum, Ordering::Relaxed);
        if self.payload_max.load(Ordering::Relaxed) < payload {
            self.payload_max.store(payload, Ordering::Relaxed);
        }
    }

    fn take(&self, due: &mut Due) {
        due.count += self.count.swap(0, Ordering::Relaxed);
        due.payload_sum = due.payload_sum.wrapping_add(self.payload_sum.swap(0, Ordering::Relaxed));
        due.payload_max = due.payload_max.max(self.payload_max.swap(0, Ordering::Relaxed));
    }
}

impl ByTurns {
    /// Makes the subject of an engine that runs by `turns`, whose queue may be late by `granularity` ticks
    /// less one.
    pub fn new(engine: Engine<Task>, turns: Arc<Turns>, granularity: u64) -> ByTurns {
        let ms_per_tick = turns.resolution().as_millis() as u64;
        assert!(ms_per_tick > 0, "workloads count milliseconds");
        ByTurns {
            handle: engine.handle().clone(),
            _engine: engine,
            turns,
            // It lives as long as the process, which measures one case: a reference to count would be a cost
            // of the lab's.
            fired: Box::leak(Box::default()),
            asleep_until: Tick::MAX,
            is_woken: false,
            ms_per_tick,
            granularity: granularity * ms_per_tick,
            now: 0,
            handover_ns: 0.0,
        }
    }

    #[inline]
    fn tick(&mut self, deadline: u64) -> Tick {
        let tick =
            Tick::new(if self.ms_per_tick == 1 { deadline } else { deadline.div_ceil(self.ms_per_tick) });
        self.is_woken |= tick < self.asleep_until;
        tick
    }
}

#[cold]
fn failure(refused: &RefusedTimer<Task>) -> Failure {
    match refused.reason {
        Refusal::Rejected(reason) => Failure::Unable(reason.to_string()),
        reason => Failure::Wrong(reason.to_string()),
    }
}

impl QueueSubject for ByTurns {
    type Key = TimerId;

    #[inline]
    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<TimerId, Failure> {
        let (tick, fired) = (self.tick(deadline), self.fired);
        let task = Task::new(move |_| fired.fire(payload));
        self.handle.schedule_at(tick, task).map_err(|refused| failure(&refused))
    }

    #[inline]
    fn cancel(&mut self, key: TimerId) -> bool {
        self.handle.cancel(key).is_some()
    }

    #[inline]
    fn reset(&mut self, key: TimerId, deadline: u64) -> Result<TimerId, Failure> {
        let tick = self.tick(deadline);
        match self.handle.reset_at(key, tick) {
            Ok(()) => Ok(key),
            Err(error) => Err(Failure::Wrong(error.to_string())),
        }
    }

    fn advance(&mut self, now: u64, due: &mut Due) {
        self.now = now;
        let tick = Tick::new(now / self.ms_per_tick);
        if !self.is_woken && tick < self.asleep_until {
            return self.turns.pass_to(tick);
        }
        let stopwatch = Stopwatch::start();
        let turn = self.turns.advance_to(tick);
        self.handover_ns += (stopwatch.ns() - turn.work_ns).max(0.0);
        self.asleep_until = turn.asleep_until;
        self.is_woken = false;
        self.fired.take(due);
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        if self.handle.pending_count() == 0 {
            return None;
        }
        // Until it has had a turn, it is not known when it would wake.
        if self.is_woken {
            self.advance(self.now, due);
        }
        Some(self.wake_at(self.asleep_until.get().saturating_mul(self.ms_per_tick), due))
    }

    fn pending_count(&self) -> u64 {
        self.handle.pending_count() as u64
    }

    fn granularity(&self) -> u64 {
        self.granularity
    }

    fn take_handover_ns(&mut self) -> f64 {
        std::mem::take(&mut self.handover_ns)
    }
}
