//! tokio's sleeps and intervals by the real clock, on two workers. An interval is polled once, and dropped
//! before it ticks again.
//!
//! ```text
//!                    sleep                                        interval
//!   schedule         Box::pin(sleep), polled once                 interval_at(now + delay, a day), polled once
//!   cancel           drop                                         drop
//!   launch, a task   sleep_until(at).await, then fire             one tick, then fire
//! ```
//!
//! Cost: that of tokio. Sleeps without tasks, where a task is not what is measured, are in its favour. An
//! interval is a boxed sleep with a period: what is compared is what a periodic timer costs to have.
//!
//! They do not see a cancel that comes too late: dropping a sleep tells nothing.
//!
//! Source: <https://docs.rs/tokio>, `time::sleep` and `time::interval_at`.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::time::{self, interval_at, sleep, sleep_until};

use super::waking::{begin, counting_waker};
use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::Recorder;
use crate::subject::{Kind, Subject};

/// tokio with as many workers as the reference machine has cores, which the goal of W5 names.
pub const TWO_WORKERS: &str = "tokio-2-workers";

/// Longer than any measurement: an interval is not to tick twice.
const PERIOD: Duration = Duration::from_secs(86_400);

/// The subjects.
pub fn subjects() -> [Subject; 2] {
    [
        subject(
            TWO_WORKERS,
            "tokio 1.54, sleep, two workers",
            |delay, waker| begin(sleep(delay), waker),
            |sleep, delay| sleep.as_mut().reset(time::Instant::now() + delay),
            |at| async move { sleep_until(at.into()).await },
        ),
        subject(
            "tokio-interval",
            "tokio 1.54, interval, two workers",
            |delay, waker| {
                let mut interval = interval_at(time::Instant::now() + delay, PERIOD);
                if interval.poll_tick(&mut Context::from_waker(waker)).is_ready() {
                    waker.wake_by_ref();
                }
                interval
            },
            |interval, delay| interval.reset_at(time::Instant::now() + delay),
            |at| async move { _ = interval_at(at.into(), PERIOD).tick().await },
        ),
    ]
}

/// A subject whose timers begin, are moved, and end at a time like this.
fn subject<K: Send + 'static, F: Future<Output = ()> + Send + 'static>(
    name: &'static str,
    about: &'static str,
    begin: impl Fn(Duration, &Waker) -> K + Copy + Send + Sync + 'static,
    reset: impl Fn(&mut K, Duration) + Copy + Send + Sync + 'static,
    end_at: impl Fn(Instant) -> F + Copy + Send + Sync + 'static,
) -> Subject {
    Subject::engine(name, Kind::Library, about, move |recorder| {
        // It lives as long as the process, which measures one case.
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
        let runtime =
            runtime.map_err(|error| Failure::Wrong(format!("the runtime did not start: {error}")))?;
        let (runtime, waker) = (Box::leak(Box::new(runtime)), counting_waker(&recorder));
        Ok(Tokio { runtime, waker, recorder, begin, reset, end_at })
    })
}

struct Tokio<B, R, E> {
    runtime: &'static Runtime,
    waker: Waker,
    recorder: Arc<Recorder>,
    begin: B,
    reset: R,
    end_at: E,
}

impl<K, F, B, R, E> EngineSubject for Tokio<B, R, E>
where
    K: Send + 'static,
    F: Future<Output = ()> + Send + 'static,
    B: Fn(Duration, &Waker) -> K + Send + Sync + 'static,
    R: Fn(&mut K, Duration) + Send + Sync + 'static,
    E: Fn(Instant) -> F + Send + Sync + 'static,
{
    type Key = K;

    const CANCEL_TELLS: bool = false;

    fn enter(&self) -> impl Sized {
        self.runtime.enter()
    }

    fn schedule(&self, delay: Duration, _: u64) -> Result<K, Failure> {
        Ok((self.begin)(delay, &self.waker))
    }

    fn cancel(&self, key: K) -> bool {
        drop(key);
        true
    }

    fn reset(&self, mut key: K, delay: Duration) -> Result<K, Failure> {
        (self.reset)(&mut key, delay);
        Ok(key)
    }

    fn launch(&self, at: Instant, payload: u64) -> Result<(), Failure> {
        let (end, recorder) = ((self.end_at)(at), Arc::clone(&self.recorder));
        self.runtime.spawn(async move {
            end.await;
            recorder.fired(payload);
        });
        Ok(())
    }
}
