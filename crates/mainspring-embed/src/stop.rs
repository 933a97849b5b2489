//! Signals a run that it is to stop.
//!
//! ```text
//! timeout, cancel, shutdown ─▶ told ──▶ is_stopping, wait_for_stop, stopped().await
//!                               └─ grace over ─▶ dropped: a future is dropped at its next await
//! ```
//!
//! Cost: a flag, and a lock where something waits for it.
//!
//! Does not stop anything: a function looks at the flag, or it continues.

use std::future::poll_fn;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

/// What was said so far; it only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum StopStage {
    #[default]
    Nothing,
    Stop,
    Drop,
}

#[derive(Debug, Default)]
struct State {
    stage: StopStage,
    wakers: Vec<Waker>,
}

/// The token of one attempt.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    state: Mutex<State>,
    changed: Condvar,
}

impl Stop {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this lock")
    }

    fn say(&self, stage: StopStage) {
        let mut state = self.lock();
        if stage <= state.stage {
            return;
        }
        state.stage = stage;
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.changed.notify_all();
        wakers.iter().for_each(Waker::wake_by_ref);
    }

    /// The run is to stop.
    pub(crate) fn tell(&self) {
        self.say(StopStage::Stop);
    }

    /// A future is dropped now.
    pub(crate) fn have_dropped(&self) {
        self.say(StopStage::Drop);
    }

    pub(crate) fn is_told(&self) -> bool {
        StopStage::Stop <= self.lock().stage
    }

    pub(crate) fn is_to_be_dropped(&self) -> bool {
        StopStage::Drop <= self.lock().stage
    }

    /// Wakes a task when more is said. Each task is kept once.
    pub(crate) fn watch(&self, waker: &Waker) {
        let mut state = self.lock();
        if !state.wakers.iter().any(|known| known.will_wake(waker)) {
            state.wakers.push(waker.clone());
        }
    }

    /// Waits until the run is to stop, at most so long. Returns whether it is.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        let state = self.lock();
        let wait = self.changed.wait_timeout_while(state, longest, |state| state.stage < StopStage::Stop);
        let (state, _) = wait.expect("nothing panics while it holds this lock");
        StopStage::Stop <= state.stage
    }

    /// Is ready when the run is to stop.
    pub(crate) async fn requested(&self) {
        poll_fn(|context| {
            self.watch(context.waker());
            if self.is_told() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
