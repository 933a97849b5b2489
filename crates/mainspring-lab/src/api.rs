//! The traits through which a workload uses what it measures.
//!
//! ```text
//!   QueueSubject    one thread, the workload says what time it is      W1, W1b, W2, W3, W4, W8, W9
//!   EngineSubject   any threads, the real clock                        W1, W1b, W2, W5 .. W7b, W9, W10
//!   a preset        both
//! ```
//!
//! Each holds a payload of 8 bytes and gives a key back that cancels.
//!
//! Cost: none. The workloads are generic over their subject, so that a call is a call, and not one through a
//! pointer.
//!
//! It does not name any subject.

use std::time::{Duration, Instant};

use crate::case::Failure;
use crate::recorder::Recorder;
use crate::stopwatch;

/// Why a structure is not asked for what needs a clock.
pub const STRUCTURE_ALONE: &str = "a structure alone: it has no clock and no threads";

/// Why an engine is not asked for what its structure does.
pub const ENGINE_ALONE: &str = "an engine: its structure is measured by itself";

/// A structure on one thread, by virtual time: ticks of 1 ms from 0.
pub trait QueueSubject {
    /// What cancels and resets a timer.
    type Key;

    /// How much of a key is the id alone. Memory is counted without it: it is the program's.
    const KEY_BYTES: u64 = size_of::<Self::Key>() as u64;

    /// Adds a timer.
    ///
    /// # Errors
    /// The structure cannot hold that deadline.
    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<Self::Key, Failure>;

    /// Removes a timer. Tells whether it was pending.
    fn cancel(&mut self, key: Self::Key) -> bool;

    /// Moves a pending timer, and gives its key from now on.
    ///
    /// # Errors
    /// The structure cannot hold that deadline.
    fn reset(&mut self, key: Self::Key, deadline: u64) -> Result<Self::Key, Failure>;

    /// Moves time to `now` and hands out what is due.
    fn advance(&mut self, now: u64, due: &mut Due);

    /// Moves time to the next wakeup and hands out what is due there, if anything. `None`: no timer is
    /// pending.
    fn step(&mut self, due: &mut Due) -> Option<Step>;

    /// Moves time to a wakeup and hands out what is due there.
    fn wake_at(&mut self, now: u64, due: &mut Due) -> Step {
        self.advance(now, due);
        Step { now, wakeup_count: 1 }
    }

    /// Releases the key of a timer that fired. Most need not be told.
    fn release(&mut self, key: Self::Key) {
        drop(key);
    }

    /// How many timers are pending.
    fn pending_count(&self) -> u64;

    /// How long handing over between the workload's thread and the subject's own took since this was last
    /// asked, in ns: time that only the lab needs, to be taken off.
    fn take_handover_ns(&mut self) -> f64 {
        0.0
    }

    /// How many ticks, less one, a timer may be late.
    fn granularity(&self) -> u64 {
        1
    }
}

/// One step of a program that sleeps until the next wakeup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where time stands after it.
    pub now: u64,
    /// How often the program woke.
    pub wakeup_count: u64,
}

/// What takes fired timers: counts them, and sums their payloads so that no reading of one can be left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Due {
    /// How many timers fired.
    pub count: u64,
    /// The sum of their payloads, wrapping.
    pub payload_sum: u64,
    /// The largest payload. Where payloads are deadlines, one above now fired early.
    pub payload_max: u64,
    /// Timers whose payload the subject does not hand out on firing.
    pub silent_count: u64,
}

impl Due {
    /// Takes a timer.
    #[inline]
    pub fn fire(&mut self, payload: u64) {
        self.count += 1;
        self.payload_sum = self.payload_sum.wrapping_add(payload);
        self.payload_max = self.payload_max.max(payload);
    }

    /// Takes timers of which only the number is known.
    #[inline]
    pub fn fire_silently(&mut self, count: u64) {
        self.count += count;
        self.silent_count += count;
    }
}

/// Timers for any thread, by the real clock. What fires goes to the [`Recorder`] that the subject was
/// made with.
pub trait EngineSubject: Send + Sync + 'static {
    /// What cancels a timer, from any thread.
    type Key: Send + 'static;

    /// Whether a cancel tells for certain that the timer will not fire. If not, the check allows for timers
    /// that were counted twice.
    const CANCEL_TELLS: bool = true;

    /// Whether it fires by itself.
    const HAS_CLOCK: bool = true;

    /// Whether a timer that was launched needs no memory of the program's until it fires.
    fn forgets_launched(&self) -> bool {
        true
    }

    /// Lets the calling thread take part, for as long as it holds what this returns.
    fn enter(&self) -> impl Sized {}

    /// Adds a timer.
    ///
    /// # Errors
    /// The engine does not take it.
    fn schedule(&self, delay: Duration, payload: u64) -> Result<Self::Key, Failure>;

    /// Removes a timer. Tells whether it was pending.
    fn cancel(&self, key: Self::Key) -> bool;

    /// Moves a pending timer to `delay` from now, and gives its key from then on.
    ///
    /// # Errors
    /// The engine does not take it, or the timer has fired.
    fn reset(&self, key: Self::Key, delay: Duration) -> Result<Self::Key, Failure>;

    /// Adds a timer that is never cancelled, as a program would that only waits for it.
    ///
    /// # Errors
    /// The engine does not take it, or cannot fire by the real clock.
    fn launch(&self, at: Instant, payload: u64) -> Result<(), Failure> {
        self.schedule(stopwatch::until(at), payload).map(drop)
    }

    /// How many timers have fired, if the subject knows better than its recorder.
    fn fired_count(&self, recorder: &Recorder) -> u64 {
        recorder.fired_count()
    }
}
