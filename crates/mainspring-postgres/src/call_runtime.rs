//! The runtime of one connection: it runs while a call waits.
//!
//! ```text
//!  a thread of the program ─▶ future, on this thread
//!  a task, or `spawn_blocking` ─▶ future, on a thread of its own: a runtime may not wait inside of another
//! ```
//!
//! Cost: none beside the future; inside of another runtime a thread for each call.
//!
//! Does not keep a caller's runtime free: the call takes the caller's thread until it is over.

use std::future::Future;
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;

/// See the head of this file. It is there until it is dropped.
pub(super) struct CallRuntime(Option<Runtime>);

impl CallRuntime {
    /// # Errors
    /// When the operating system gives no event queue.
    pub(super) fn new() -> io::Result<CallRuntime> {
        Ok(CallRuntime(Some(Builder::new_current_thread().enable_all().build()?)))
    }

    /// Waits for a future, at most so long. `None` is no answer: the time was over, or there was no thread.
    pub(super) fn wait<T: Send>(
        &self,
        longest: Duration,
        future: impl Future<Output = T> + Send,
    ) -> Option<T> {
        let runtime = self.0.as_ref().expect("it is there until the drop");
        let wait = || runtime.block_on(async { timeout(longest, future).await.ok() });
        if Handle::try_current().is_err() {
            return wait();
        }
        let named = thread::Builder::new().name("call".to_owned());
        thread::scope(|scope| named.spawn_scoped(scope, wait).ok()?.join().ok()).flatten()
    }
}

impl Drop for CallRuntime {
    /// Waits for nothing: what drops the connection may be a task.
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}
