//! tokio-util's `DelayQueue`, on a current-thread runtime whose clock is paused.
//!
//! Cost: that of the crate: a wheel over a slab, and one sleep of tokio for its next slot.
//!
//! It does not tell when it would wake: wakeups are counted where the runtime parks.
//!
//! Source: <https://docs.rs/tokio-util>, `time::DelayQueue`.

use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use tokio_util::time::DelayQueue;
use tokio_util::time::delay_queue::Key;

use super::tokio_sleep::PausedRuntime;
use crate::api::{Due, QueueSubject, Step};
use crate::case::Failure;
use crate::subject::{Kind, Subject};

/// The subject.
pub fn subject() -> Subject {
    let about = "tokio-util 0.7.20, DelayQueue on a runtime with its clock paused";
    Subject::queue("DelayQueue", Kind::Library, about, |_| Delays::default())
}

/// The queue and its runtime.
#[derive(Default)]
pub struct Delays {
    // First: the queue takes the runtime's time as its start.
    runtime: PausedRuntime,
    queue: DelayQueue<u64>,
}

impl Delays {
    /// Takes out what is due, and leaves the queue waiting for the rest.
    fn poll(&mut self, due: &mut Due) {
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(Some(expired)) = self.queue.poll_expired(&mut context) {
            due.fire(expired.into_inner());
        }
    }
}

impl QueueSubject for Delays {
    type Key = Key;

    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<Key, Failure> {
        Ok(self.queue.insert_at(payload, self.runtime.at(deadline)))
    }

    fn cancel(&mut self, key: Key) -> bool {
        self.queue.try_remove(&key).is_some()
    }

    fn reset(&mut self, key: Key, deadline: u64) -> Result<Key, Failure> {
        self.queue.reset_at(&key, self.runtime.at(deadline));
        Ok(key)
    }

    fn advance(&mut self, now: u64, due: &mut Due) {
        self.runtime.advance(now);
        self.poll(due);
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        if self.queue.is_empty() {
            return None;
        }
        let queue = &mut self.queue;
        let (expired, step) = self.runtime.run(poll_fn(|context| queue.poll_expired(context)));
        due.fire(expired?.into_inner());
        Some(step)
    }

    fn pending_count(&self) -> u64 {
        self.queue.len() as u64
    }
}
