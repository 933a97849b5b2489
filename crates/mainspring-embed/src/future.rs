//! Futures as handlers, on the program's own runtime.
//!
//! ```text
//! handler ─▶ future ─▶ Guarded ─▶ the program's spawner ─▶ polled by its runtime ─▶ outcome ─▶ loop
//!                         └─ panics are caught, and it is dropped at its next await when its grace is over
//! ```
//!
//! Cost: two allocations for each run, and a catch of panics for each poll.
//!
//! Does not start a runtime.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use mainspring_job::{Failure, Outcome};

use crate::handler_error::{HandlerEnd, HandlerError, drop_panic};
use crate::run::Run;

/// A future that may be polled by any thread.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Hands a future to the program's runtime.
#[derive(Clone)]
pub(crate) struct Spawner(Arc<dyn Fn(BoxFuture<()>) + Send + Sync>);

impl Spawner {
    pub(crate) fn new(spawn: impl Fn(BoxFuture<()>) + Send + Sync + 'static) -> Spawner {
        Spawner(Arc::new(spawn))
    }

    /// A spawner that panics has dropped the future, which tells its end then.
    pub(crate) fn spawn(&self, future: BoxFuture<()>) {
        catch_unwind(AssertUnwindSafe(|| (self.0)(future))).unwrap_or_else(drop_panic);
    }
}

/// A run as a future: tells once how it ended, also when the runtime drops it.
pub(crate) struct GuardedRun<F: FnOnce(HandlerEnd)> {
    run: Run,
    future: Option<BoxFuture<Result<(), HandlerError>>>,
    tell: Option<F>,
}

impl<F: FnOnce(HandlerEnd)> GuardedRun<F> {
    pub(crate) fn new(run: Run, future: BoxFuture<Result<(), HandlerError>>, tell: F) -> GuardedRun<F> {
        GuardedRun { run, future: Some(future), tell: Some(tell) }
    }

    fn end(&mut self, end: HandlerEnd) {
        if let Some(tell) = self.tell.take() {
            // What it holds goes before its end is told.
            catch_unwind(AssertUnwindSafe(|| drop(self.future.take()))).unwrap_or_else(drop_panic);
            tell(end);
        }
    }
}

/// The result of one poll, or a panic.
type PollResult = Result<Poll<Result<(), HandlerError>>, Box<dyn Any + Send>>;

impl<F: FnOnce(HandlerEnd) + Unpin> Future for GuardedRun<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        debug_assert_eq!(self.future.is_some(), self.tell.is_some(), "what continues has not told its end");
        self.run.stop().watch(context.waker());
        if self.run.stop().is_to_be_dropped() {
            self.end(Outcome::Killed.into());
            return Poll::Ready(());
        }
        let Some(future) = &mut self.future else { return Poll::Ready(()) };
        let polled: PollResult = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        let ended = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => Ok(result),
            Err(panic) => Err(panic),
        };
        self.end(HandlerEnd::from(ended));
        Poll::Ready(())
    }
}

impl<F: FnOnce(HandlerEnd)> Drop for GuardedRun<F> {
    fn drop(&mut self) {
        let reason = match thread::panicking() {
            true => "the spawner panicked: it has no runtime to hand the future to",
            false => "the program's runtime dropped it before it was done",
        };
        self.end(Outcome::Failed(Failure::Other(reason.to_owned())).into());
    }
}
