//! Sleeps as futures, polled once, by the real clock: those of libraries, and our own front's.
//!
//! | subject | behind it | a reset |
//! |---|---|---|
//! | `pingora-timeout` | slots of 10 ms that the timers of a thread share, and a thread | makes another |
//! | `async-io` | a map behind a lock, and a thread that waits | moves it |
//! | `futures-timer` | a heap behind a lock, and a thread that waits | moves it |
//!
//! Cost: that of the crate. A call is a call: each subject is a type of its own.
//!
//! They do not run by virtual time, so the workloads on one thread are not for them. Those of pingora-timeout
//! are late by up to 10 ms and 10 more, and give no memory of a slot back before its time.
//!
//! Source: <https://docs.rs/pingora-timeout>, <https://docs.rs/async-io>, <https://docs.rs/futures-timer>.

use std::future::Future;
use std::pin::Pin;
use std::task::Waker;
use std::time::{Duration, Instant};

use async_io::Timer;
use futures_timer::Delay;
use pingora_timeout::sleep;

use super::waking::{begin, futures};
use crate::stopwatch::until;
use crate::subject::{Kind, Subject};

/// The subjects.
pub fn subjects() -> [Subject; 3] {
    [
        subject(
            "pingora-timeout",
            "the crate pingora-timeout 0.9: sleep",
            sleep,
            |at| sleep(until(at)),
            |key, delay, waker| *key = begin(sleep(delay), waker),
        ),
        subject("async-io", "the crate async-io 2.6: Timer", Timer::after, Timer::at, |key, delay, _| {
            key.as_mut().set_after(delay);
        }),
        subject(
            "futures-timer",
            "the crate futures-timer 3.0: Delay",
            Delay::new,
            |at| Delay::new(until(at)),
            |key, delay, _| key.as_mut().reset(delay),
        ),
    ]
}

fn subject<F: Future + Send + 'static>(
    name: &'static str,
    about: &'static str,
    after: impl Fn(Duration) -> F + Copy + Send + Sync + 'static,
    at: impl Fn(Instant) -> F + Copy + Send + Sync + 'static,
    reset: impl Fn(&mut Pin<Box<F>>, Duration, &Waker) + Copy + Send + Sync + 'static,
) -> Subject {
    Subject::engine(name, Kind::Library, about, move |recorder| Ok(futures(recorder, after, at, reset)))
}
