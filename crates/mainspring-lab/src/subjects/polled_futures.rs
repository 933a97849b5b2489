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
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use async_io::Timer;
use futures_timer::Delay;
use pingora_timeout::sleep;

use super::waking::{LaunchedFutures, begin, counting_waker};
use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::Recorder;
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
    Subject::engine(name, Kind::Library, about, move |recorder| {
        Ok(PolledFutures::new(recorder, after, at, reset))
    })
}

/// Futures that end after a delay, end at a time, and are moved like this.
pub struct PolledFutures<F, A, T, R> {
    after: A,
    at: T,
    reset: R,
    waker: Waker,
    launched: LaunchedFutures<F>,
}

impl<F, A, T, R> PolledFutures<F, A, T, R>
where
    F: Future,
    A: Fn(Duration) -> F,
    R: Fn(&mut Pin<Box<F>>, Duration, &Waker),
{
    /// Makes the subject of these three functions, whose wakers tell the recorder.
    pub fn new(recorder: Arc<Recorder>, after: A, at: T, reset: R) -> PolledFutures<F, A, T, R> {
        let waker = counting_waker(&recorder);
        PolledFutures { after, at, reset, waker, launched: LaunchedFutures::new(recorder) }
    }
}

impl<F, A, T, R> EngineSubject for PolledFutures<F, A, T, R>
where
    F: Future + Send + 'static,
    A: Fn(Duration) -> F + Send + Sync + 'static,
    T: Fn(Instant) -> F + Send + Sync + 'static,
    R: Fn(&mut Pin<Box<F>>, Duration, &Waker) + Send + Sync + 'static,
{
    type Key = Pin<Box<F>>;

    const CANCEL_TELLS: bool = false;
    const FORGETS_LAUNCHED: bool = false;

    #[inline]
    fn schedule(&self, delay: Duration, _: u64) -> Result<Self::Key, Failure> {
        Ok(begin((self.after)(delay), &self.waker))
    }

    #[inline]
    fn cancel(&self, key: Self::Key) -> bool {
        drop(key);
        true
    }

    fn reset(&self, mut key: Self::Key, delay: Duration) -> Result<Self::Key, Failure> {
        (self.reset)(&mut key, delay, &self.waker);
        Ok(key)
    }

    fn launch(&self, at: Instant, payload: u64) -> Result<(), Failure> {
        self.launched.launch((self.at)(at), payload);
        Ok(())
    }
}
