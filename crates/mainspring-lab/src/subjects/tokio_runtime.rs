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

use super::waking::{WakingTimers, begin, counting_waker};
use crate::case::Failure;
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
            |sleep, delay, _| sleep.as_mut().reset(time::Instant::now() + delay),
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
            |interval, delay, _| interval.reset_at(time::Instant::now() + delay),
            |at| async move { _ = interval_at(at.into(), PERIOD).tick().await },
        ),
    ]
}

/// A subject whose timers begin, are moved, and end at a time like this.
fn subject<K: Send + 'static, F: Future<Output = ()> + Send + 'static>(
    name: &'static str,
    about: &'static str,
    begin: impl Fn(Duration, &Waker) -> K + Copy + Send + Sync + 'static,
    reset: impl Fn(&mut K, Duration, &Waker) + Copy + Send + Sync + 'static,
    end_at: impl Fn(Instant) -> F + Copy + Send + Sync + 'static,
) -> Subject {
    Subject::engine(name, Kind::Library, about, move |recorder| {
        // It lives as long as the process, which measures one case.
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build();
        let runtime =
            runtime.map_err(|error| Failure::Wrong(format!("the runtime did not start: {error}")))?;
        let (runtime, waker): (&Runtime, _) = (Box::leak(Box::new(runtime)), counting_waker(&recorder));
        let launch = move |at, payload| {
            let (end, recorder) = (end_at(at), Arc::clone(&recorder));
            runtime.spawn(async move {
                end.await;
                recorder.fired(payload);
            });
        };
        Ok(WakingTimers { begin, reset, launch, waker, runtime: Some(runtime), forgets_launched: true })
    })
}
