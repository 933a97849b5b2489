//! Structures behind one std mutex: what one writes oneself to share a queue, and the least an engine must
//! beat at W5.
//!
//! Cost: a lock per call.
//!
//! It does not fire: there is no clock behind the mutex, which is in its favour.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mainspring_queue::wheel::Chunked;

use super::heap_lazy::HeapLazy;
use super::queues::ContractQueue;
use crate::api::{EngineSubject, QueueSubject};
use crate::case::Failure;
use crate::subject::{Kind, Subject};

/// The std heap behind a mutex, which the goal of W5 names.
pub const STD_HEAP: &str = "mutex-std-heap";

/// The subjects.
pub fn subjects() -> [Subject; 2] {
    [
        Subject::engine(STD_HEAP, Kind::Std, "std-heap-lazy behind a mutex, no clock", |_| {
            Ok(LockedQueue(Mutex::new(HeapLazy::default())))
        }),
        Subject::engine("mutex-chunked", Kind::Ours, "wheel::Chunked behind a mutex, no clock", |_| {
            Ok(LockedQueue(Mutex::new(ContractQueue(Chunked::new()))))
        }),
    ]
}

/// A structure behind a mutex.
struct LockedQueue<S>(Mutex<S>);

impl<S> EngineSubject for LockedQueue<S>
where
    S: QueueSubject + Send + 'static,
    S::Key: Send + 'static,
{
    type Key = S::Key;

    const HAS_CLOCK: bool = false;

    #[inline(always)]
    fn schedule(&self, delay: Duration, payload: u64) -> Result<S::Key, Failure> {
        let deadline = delay.as_millis() as u64;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).schedule(deadline, payload)
    }

    #[inline(always)]
    fn cancel(&self, key: S::Key) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).cancel(key)
    }

    fn reset(&self, key: S::Key, delay: Duration) -> Result<S::Key, Failure> {
        let deadline = delay.as_millis() as u64;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).reset(key, deadline)
    }

    fn launch(&self, _: Instant, _: u64) -> Result<(), Failure> {
        Err(Failure::Unable("a structure behind a mutex has no clock".to_owned()))
    }
}
