//! Reads the time outside of the server, and waits.

#![expect(clippy::disallowed_methods, reason = "what is tested is a real process in real time")]

use std::time::Duration;

use jiff::Timestamp;

/// Nanoseconds since 1970, by the wall clock.
pub(crate) fn now_ns() -> i64 {
    i64::try_from(Timestamp::now().as_nanosecond()).expect("it is not 2262 yet")
}

pub(crate) fn sleep_ms(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

pub(crate) fn sleep_us(us: u64) {
    std::thread::sleep(Duration::from_micros(us));
}
