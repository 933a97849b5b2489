//! Futures that wait, without an executor: polled once, counted when they wake.
//!
//! ```text
//!   schedule   Box::pin(future), polled once with a waker that tells the recorder     cancel    drop
//!   launch     the same, kept until the end; its waker knows its payload
//! ```
//!
//! Cost: that of the library; no task is made and none is run, in its favour.
//!
//! It does not see a cancel that comes too late: the future does not say.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

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

/// The waker of all timers whose payload is not asked for.
pub fn counting_waker(recorder: &Arc<Recorder>) -> Waker {
    Waker::from(Arc::new(Shot { recorder: Arc::clone(recorder), payload: UNTIMED }))
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

/// Futures that are never cancelled.
#[derive(Debug)]
pub struct LaunchedFutures<F> {
    recorder: Arc<Recorder>,
    futures: Mutex<Vec<Pin<Box<F>>>>,
}

impl<F: Future> LaunchedFutures<F> {
    /// None yet.
    pub fn new(recorder: Arc<Recorder>) -> LaunchedFutures<F> {
        LaunchedFutures { recorder, futures: Mutex::new(Vec::new()) }
    }

    /// Begins one more and keeps it.
    pub fn launch(&self, future: F, payload: u64) {
        let waker = Waker::from(Arc::new(Shot { recorder: Arc::clone(&self.recorder), payload }));
        let future = begin(future, &waker);
        self.futures.lock().unwrap_or_else(PoisonError::into_inner).push(future);
    }
}
