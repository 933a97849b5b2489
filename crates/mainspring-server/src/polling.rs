//! Polls a future on the thread that calls, until it is ready.
//!
//! Cost: a channel for each future.
//!
//! Does not know what the future waits for, nor for how long it may.

use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::{Context, Poll, Wake, Waker};

/// Wakes the thread: all wake-ups between two polls are one message.
struct Wakeup(SyncSender<()>);

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        // There is one already, or the thread waits no more.
        let _ = self.0.try_send(());
    }
}

/// Polls a future on this thread until it is ready. In between `wait` waits for a message, with which it is
/// woken.
pub fn poll_here<T>(future: impl Future<Output = T>, wait: impl Fn(&Receiver<()>)) -> T {
    let mut future = pin!(future);
    let (sender, woken) = sync_channel(1);
    let waker = Waker::from(Arc::new(Wakeup(sender)));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        wait(&woken);
    }
}

/// Waits on this thread for what was begun, however long it takes.
#[expect(clippy::missing_panics_doc, reason = "the channel lasts as long as the future is polled")]
pub fn wait_for<T>(begun: impl Future<Output = T>) -> T {
    poll_here(begun, |woken| woken.recv().expect("what is polled can wake this thread"))
}
