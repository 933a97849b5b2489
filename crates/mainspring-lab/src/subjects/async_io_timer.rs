//! async-io's `Timer`, smol's: a map behind a lock, and a thread that waits.
//!
//! Cost: that of the crate.
//!
//! It does not run by virtual time, so the workloads on one thread are not for it.
//!
//! Source: <https://docs.rs/async-io>.

use std::pin::Pin;
use std::task::Waker;
use std::time::{Duration, Instant};

use async_io::Timer;

use super::waking::{LaunchedFutures, begin, counting_waker};
use crate::api::EngineSubject;
use crate::case::Failure;
use crate::subject::{Kind, Subject};

/// The subject.
pub fn subject() -> Subject {
    Subject::engine("async-io", Kind::Library, "the crate async-io 2.6: Timer", |recorder| {
        Ok(AsyncIo { waker: counting_waker(&recorder), launched: LaunchedFutures::new(recorder) })
    })
}

struct AsyncIo {
    waker: Waker,
    launched: LaunchedFutures<Timer>,
}

impl EngineSubject for AsyncIo {
    type Key = Pin<Box<Timer>>;
    type Local = ();

    const CANCEL_TELLS: bool = false;
    const FORGETS_LAUNCHED: bool = false;

    fn enter(&self) {}

    fn schedule(&self, (): &mut (), delay: Duration, _: u64) -> Result<Self::Key, Failure> {
        Ok(begin(Timer::after(delay), &self.waker))
    }

    fn cancel(&self, (): &mut (), key: Self::Key) -> bool {
        drop(key);
        true
    }

    fn reset(&self, (): &mut (), key: Self::Key, delay: Duration) -> Result<Self::Key, Failure> {
        let mut key = key;
        key.as_mut().set_after(delay);
        Ok(key)
    }

    fn launch(&self, (): &mut (), at: Instant, payload: u64) -> Result<(), Failure> {
        self.launched.launch(Timer::at(at), payload);
        Ok(())
    }
}
