//! futures-timer's `Delay`: a heap behind a lock, and a thread that waits.
//!
//! Cost: that of the crate.
//!
//! It does not run by virtual time, so the workloads on one thread are not for it.
//!
//! Source: <https://docs.rs/futures-timer>.

use std::pin::Pin;
use std::task::Waker;
use std::time::{Duration, Instant};

use futures_timer::Delay;

use super::waking::{LaunchedFutures, begin, counting_waker};
use crate::api::EngineSubject;
use crate::case::Failure;
use crate::stopwatch;
use crate::subject::{Kind, Subject};

/// The subject.
pub fn subject() -> Subject {
    Subject::engine("futures-timer", Kind::Library, "the crate futures-timer 3.0: Delay", |recorder| {
        Ok(FuturesTimer { waker: counting_waker(&recorder), launched: LaunchedFutures::new(recorder) })
    })
}

struct FuturesTimer {
    waker: Waker,
    launched: LaunchedFutures<Delay>,
}

impl EngineSubject for FuturesTimer {
    type Key = Pin<Box<Delay>>;
    type Local = ();

    const CANCEL_TELLS: bool = false;
    const FORGETS_LAUNCHED: bool = false;

    fn enter(&self) {}

    fn schedule(&self, (): &mut (), delay: Duration, _: u64) -> Result<Self::Key, Failure> {
        Ok(begin(Delay::new(delay), &self.waker))
    }

    fn cancel(&self, (): &mut (), key: Self::Key) -> bool {
        drop(key);
        true
    }

    fn reset(&self, (): &mut (), key: Self::Key, delay: Duration) -> Result<Self::Key, Failure> {
        let mut key = key;
        key.as_mut().reset(delay);
        Ok(key)
    }

    fn launch(&self, (): &mut (), at: Instant, payload: u64) -> Result<(), Failure> {
        let delay = at.saturating_duration_since(stopwatch::instant());
        self.launched.launch(Delay::new(delay), payload);
        Ok(())
    }
}
