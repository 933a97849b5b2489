//! Measuring and waiting.

#![expect(clippy::disallowed_methods, reason = "what is measured is a real process in real time")]

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// What `work` returns, and how long it took.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let done = work();
    (done, began.elapsed())
}

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

pub(crate) fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// Sleeps until then, and tells by how much it was late.
#[allow(dead_code, reason = "not every program that has this file compares with it")]
pub(crate) fn sleep_until(at: Timestamp) -> Duration {
    if let Ok(wait) = Duration::try_from(at.duration_since(now())) {
        std::thread::sleep(wait);
    }
    Duration::try_from(now().duration_since(at)).unwrap_or_default()
}
