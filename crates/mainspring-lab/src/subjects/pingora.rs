//! pingora-timeout's sleeps: slots of 10 ms that all timers of a thread share, and a thread that looks at
//! them.
//!
//! ```text
//!   schedule   Box::pin(sleep(delay)), polled once     cancel    drop: the slot stays until its time
//! ```
//!
//! Cost: that of the crate.
//!
//! It does not run by virtual time, is late by up to 10 ms and 10 more, and gives no memory of a slot back
//! before its time.
//!
//! Source: <https://docs.rs/pingora-timeout>.

use std::future::Future;
use std::pin::Pin;
use std::task::Waker;
use std::time::{Duration, Instant};

use pingora_timeout::sleep;

use super::waking::{LaunchedFutures, begin, counting_waker};
use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::UNTIMED;
use crate::stopwatch;
use crate::subject::{Kind, Subject};

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The subject.
pub fn subject() -> Subject {
    Subject::engine("pingora-timeout", Kind::Library, "the crate pingora-timeout 0.9: sleep", |recorder| {
        Ok(Pingora { waker: counting_waker(&recorder), launched: LaunchedFutures::new(recorder) })
    })
}

struct Pingora {
    waker: Waker,
    launched: LaunchedFutures<Sleep>,
}

impl EngineSubject for Pingora {
    type Key = Sleep;
    type Local = ();

    const CANCEL_TELLS: bool = false;
    const FORGETS_LAUNCHED: bool = false;

    fn enter(&self) {}

    fn schedule(&self, (): &mut (), delay: Duration, _: u64) -> Result<Sleep, Failure> {
        Ok(begin(sleep(delay), &self.waker))
    }

    fn cancel(&self, (): &mut (), key: Sleep) -> bool {
        drop(key);
        true
    }

    fn reset(&self, (): &mut (), key: Sleep, delay: Duration) -> Result<Sleep, Failure> {
        // It cannot be moved: a program makes another.
        drop(key);
        self.schedule(&mut (), delay, UNTIMED)
    }

    fn launch(&self, (): &mut (), at: Instant, payload: u64) -> Result<(), Failure> {
        let delay = at.saturating_duration_since(stopwatch::instant());
        self.launched.launch(Box::pin(sleep(delay)), payload);
        Ok(())
    }
}
