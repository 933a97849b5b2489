//! Timers that wake, and that are cancelled by dropping them: those of async libraries, and our own front's.
//!
//! ```text
//!   schedule   begun with a waker that tells the recorder     cancel    drop
//!   launch     the same with a waker that knows its payload, kept until the end; or a task of a runtime
//! ```
//!
//! Cost: that of the library. A future is polled once; where no task is made none is run, in its favour.
//!
//! They do not see a cancel that comes too late: the timer does not say.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::{Recorder, UNTIMED};

/// A waker that tells the recorder of one payload.
#[derive(Debug)]
pub struct Shot {
    recorder: Arc<Recorder>,
    payload: u64,
}

impl Wake for Shot {
    fn wake(self: Arc<Self>) {
        self.recorder.fired(self.payload);
    }
}

impl Shot {
    fn waker(recorder: &Arc<Recorder>, payload: u64) -> Waker {
        Waker::from(Arc::new(Shot { recorder: Arc::clone(recorder), payload }))
    }
}

/// The waker of all timers whose payload is not asked for.
pub fn counting_waker(recorder: &Arc<Recorder>) -> Waker {
    Shot::waker(recorder, UNTIMED)
}

/// Polls a future once, so that its library knows of it.
pub fn begin<F: Future>(future: F, waker: &Waker) -> Pin<Box<F>> {
    let mut future = Box::pin(future);
    // A delay of a millisecond may be over when a busy thread comes to it: then no thread is woken.
    if future.as_mut().poll(&mut Context::from_waker(waker)).is_ready() {
        waker.wake_by_ref();
    }
    future
}

/// Futures that end after a delay, end at a time, and are moved like this. Those that are launched are kept.
pub fn futures<F: Future + Send + 'static>(
    recorder: Arc<Recorder>,
    after: impl Fn(Duration) -> F + Send + Sync + 'static,
    at: impl Fn(Instant) -> F + Send + Sync + 'static,
    reset: impl Fn(&mut Pin<Box<F>>, Duration, &Waker) + Send + Sync + 'static,
) -> impl EngineSubject {
    let (waker, launched) = (counting_waker(&recorder), Mutex::new(Vec::new()));
    let launch = move |instant, payload| {
        let future = begin(at(instant), &Shot::waker(&recorder, payload));
        launched.lock().unwrap_or_else(PoisonError::into_inner).push(future);
    };
    let begin = move |delay, waker: &Waker| begin(after(delay), waker);
    WakingTimers { begin, reset, launch, waker, runtime: None, forgets_launched: false }
}

/// Timers that begin, are moved, and are launched like this.
pub struct WakingTimers<B, R, L> {
    /// Begins one after a delay.
    pub begin: B,
    /// Moves one to a delay from now.
    pub reset: R,
    /// Begins one that ends at a time, with its payload.
    pub launch: L,
    /// The waker of those that are begun.
    pub waker: Waker,
    /// The runtime that they need.
    pub runtime: Option<&'static Runtime>,
    /// Whether one that was launched needs no memory of the program's until it fires.
    pub forgets_launched: bool,
}

impl<K, B, R, L> EngineSubject for WakingTimers<B, R, L>
where
    K: Send + 'static,
    B: Fn(Duration, &Waker) -> K + Send + Sync + 'static,
    R: Fn(&mut K, Duration, &Waker) + Send + Sync + 'static,
    L: Fn(Instant, u64) + Send + Sync + 'static,
{
    type Key = K;

    const CANCEL_TELLS: bool = false;

    fn forgets_launched(&self) -> bool {
        self.forgets_launched
    }

    fn enter(&self) -> impl Sized {
        self.runtime.map(Runtime::enter)
    }

    #[inline]
    fn schedule(&self, delay: Duration, _: u64) -> Result<K, Failure> {
        Ok((self.begin)(delay, &self.waker))
    }

    #[inline]
    fn cancel(&self, key: K) -> bool {
        drop(key);
        true
    }

    fn reset(&self, mut key: K, delay: Duration) -> Result<K, Failure> {
        (self.reset)(&mut key, delay, &self.waker);
        Ok(key)
    }

    fn launch(&self, at: Instant, payload: u64) -> Result<(), Failure> {
        (self.launch)(at, payload);
        Ok(())
    }
}
