//! tokio's intervals by the real clock, on two workers: each is polled once, and dropped before it ticks
//! again.
//!
//! ```text
//!   schedule   interval_at(now + delay, a day), polled once inside the runtime's context     cancel    drop
//!   launch     a task: one tick, then fire
//! ```
//!
//! Cost: that of tokio. An interval is a boxed sleep with a period.
//!
//! It does not tick twice: what is compared is what a periodic timer costs to have.
//!
//! Source: <https://docs.rs/tokio>, `time::interval_at`.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::time::{self, Interval, interval_at};

use super::tokio_runtime::two_workers;
use super::waking::counting_waker;
use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::Recorder;
use crate::subject::{Kind, Subject};

/// Longer than any measurement: an interval is not to tick twice.
const PERIOD: Duration = Duration::from_secs(86_400);

/// The subject.
pub fn subject() -> Subject {
    Subject::engine("tokio-interval", Kind::Library, "tokio 1.54, interval, two workers", |recorder| {
        Ok(TokioInterval { runtime: two_workers()?, waker: counting_waker(&recorder), recorder })
    })
}

struct TokioInterval {
    runtime: &'static Runtime,
    waker: Waker,
    recorder: Arc<Recorder>,
}

impl EngineSubject for TokioInterval {
    type Key = Interval;

    const CANCEL_TELLS: bool = false;

    fn enter(&self) -> impl Sized {
        self.runtime.enter()
    }

    fn schedule(&self, delay: Duration, _: u64) -> Result<Interval, Failure> {
        let mut interval = interval_at(time::Instant::now() + delay, PERIOD);
        if interval.poll_tick(&mut Context::from_waker(&self.waker)).is_ready() {
            self.waker.wake_by_ref();
        }
        Ok(interval)
    }

    fn cancel(&self, key: Interval) -> bool {
        drop(key);
        true
    }

    fn reset(&self, mut key: Interval, delay: Duration) -> Result<Interval, Failure> {
        key.reset_at(time::Instant::now() + delay);
        Ok(key)
    }

    fn launch(&self, at: Instant, payload: u64) -> Result<(), Failure> {
        let recorder = Arc::clone(&self.recorder);
        self.runtime.spawn(async move {
            let mut interval = interval_at(at.into(), PERIOD);
            poll_fn(|context| interval.poll_tick(context)).await;
            recorder.fired(payload);
        });
        Ok(())
    }
}
