//! The part of a driver that has no thread for it: it refuses every timer.
//!
//! ```text
//!   Sharded, no thread to be had   ── local() ──▶ NoThread ──▶ Absent: a clock, and no timers
//! ```
//!
//! So a sleep that is made while the driver has no thread is as small as any other: it asks again when it is
//! polled.
//!
//! Cost: none. It does not ask again itself.

use std::sync::Arc;

use mainspring_queue::{ResetError, Tick};

use crate::clock::Clock;
use crate::driver::{Part, Refusal, RefusedTimer, TimerId};

/// No driver has so many shards: a number that names none.
const NO_LANE: u32 = u32::MAX;

/// A part without a queue.
pub(super) struct Absent {
    clock: Arc<dyn Clock>,
}

impl Absent {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Absent {
        Absent { clock }
    }
}

impl<T> Part<T> for Absent {
    fn shard(&self) -> u32 {
        NO_LANE
    }

    fn schedule(&self, _: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        Err(RefusedTimer::new(Refusal::NoThread, payload))
    }

    fn schedule_assured(&self, _: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        Err(RefusedTimer::new(Refusal::NoThread, payload))
    }

    fn cancel(&self, _: TimerId) -> Option<T> {
        None
    }

    fn reset(&self, _: TimerId, _: Tick) -> Result<(), ResetError> {
        Err(ResetError::NotPending)
    }

    fn update(&self, _: TimerId, _: &mut dyn FnMut(&mut T)) -> bool {
        false
    }

    fn deadline(&self, _: TimerId) -> Option<Tick> {
        None
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}
