//! tokio's sleeps by the real clock, on two workers.
//!
//! ```text
//!   schedule   Box::pin(sleep), polled once inside the runtime's context     cancel    drop
//!   launch     a task: sleep_until(at).await, then fire
//! ```
//!
//! Cost: that of tokio. Sleeps without tasks, where a task is not what is measured, are in its favour.
//!
//! It does not see a cancel that comes too late: dropping a sleep tells nothing.
//!
//! Source: <https://docs.rs/tokio>.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::time::{Sleep, sleep, sleep_until};

use super::waking::{begin, counting_waker};
use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::Recorder;
use crate::subject::{Kind, Subject};

/// tokio with as many workers as the reference machine has cores, which the goal of W5 names.
pub const TWO_WORKERS: &str = "tokio-2-workers";

/// The subject.
pub fn subject() -> Subject {
    Subject::engine(TWO_WORKERS, Kind::Library, "tokio 1.54, sleep, two workers", |recorder| {
        Ok(Tokio { runtime: two_workers()?, waker: counting_waker(&recorder), recorder })
    })
}

/// A runtime with two workers, which lives as long as the process: that measures one case.
///
/// # Errors
/// The operating system would not start a thread.
pub fn two_workers() -> Result<&'static Runtime, Failure> {
    let built = Builder::new_multi_thread().worker_threads(2).enable_time().build();
    let runtime = built.map_err(|error| Failure::Wrong(format!("the runtime did not start: {error}")))?;
    Ok(Box::leak(Box::new(runtime)))
}

struct Tokio {
    runtime: &'static Runtime,
    waker: Waker,
    recorder: Arc<Recorder>,
}

impl EngineSubject for Tokio {
    type Key = Pin<Box<Sleep>>;

    const CANCEL_TELLS: bool = false;

    fn enter(&self) -> impl Sized {
        self.runtime.enter()
    }

    fn schedule(&self, delay: Duration, _: u64) -> Result<Self::Key, Failure> {
        Ok(begin(sleep(delay), &self.waker))
    }

    fn cancel(&self, key: Self::Key) -> bool {
        drop(key);
        true
    }

    fn reset(&self, mut key: Self::Key, delay: Duration) -> Result<Self::Key, Failure> {
        key.as_mut().reset(tokio::time::Instant::now() + delay);
        Ok(key)
    }

    fn launch(&self, at: Instant, payload: u64) -> Result<(), Failure> {
        let recorder = Arc::clone(&self.recorder);
        self.runtime.spawn(async move {
            sleep_until(at.into()).await;
            recorder.fired(payload);
        });
        Ok(())
    }
}
