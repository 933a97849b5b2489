//! A channel whose receiving end a loop can poll: values of other threads, and a byte that wakes the loop.
//!
//! ```text
//! any thread: NotifyingSender ── value ──▶ channel ──▶ NotifiedReceiver: clear, then next until there is none
//!                              └─ a byte on a socket pair, so that poll wakes
//! ```
//!
//! Cost: that of the channel and of the [`notifier`](mainspring_exec::notifier): at most a system call for
//! each value.
//!
//! Does not wait for a value: the loop polls.

use std::io;
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::thread::{self, JoinHandle};

use mainspring_exec::notifier::{Notifications, Notifier, pair};
use mainspring_host::net::{AsFd, BorrowedFd};

/// An end for other threads.
#[derive(Debug)]
pub struct NotifyingSender<T> {
    sender: Sender<T>,
    notifier: Notifier,
}

/// The end for the loop.
#[derive(Debug)]
pub struct NotifiedReceiver<T> {
    receiver: Receiver<T>,
    notifications: Notifications,
    /// While it is held, the other end is not readable for good after the last sender is gone.
    notifier: Notifier,
}

/// Makes both ends.
///
/// # Errors
///
/// When the operating system gives no socket pair.
pub fn notified_channel<T>() -> io::Result<(NotifyingSender<T>, NotifiedReceiver<T>)> {
    let (sender, receiver) = channel();
    let (notifier, notifications) = pair()?;
    let of_sender = NotifyingSender { sender, notifier: notifier.clone() };
    Ok((of_sender, NotifiedReceiver { receiver, notifications, notifier }))
}

impl<T> Clone for NotifyingSender<T> {
    fn clone(&self) -> NotifyingSender<T> {
        NotifyingSender { sender: self.sender.clone(), notifier: self.notifier.clone() }
    }
}

impl<T> NotifyingSender<T> {
    /// Sends a value, and wakes the loop.
    ///
    /// # Errors
    ///
    /// When the loop has ended.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.sender.send(value)?;
        self.notifier.notify();
        Ok(())
    }

    /// What wakes the loop for another reason.
    pub fn notifier(&self) -> &Notifier {
        &self.notifier
    }
}

impl<A: Send + 'static> NotifyingSender<A> {
    /// Starts a thread that sends the answer to each question that it is asked, in their order. It ends with
    /// the sender of questions, or with the loop.
    ///
    /// # Errors
    ///
    /// When the operating system gives no thread.
    pub fn answer_beside<Q: Send + 'static>(
        self,
        name: &str,
        mut answer: impl FnMut(Q) -> A + Send + 'static,
    ) -> io::Result<(Sender<Q>, JoinHandle<()>)> {
        let (sender, questions) = channel();
        let work = move || {
            while let Ok(question) = questions.recv()
                && self.send(answer(question)).is_ok()
            {}
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok((sender, thread))
    }
}

impl<T> NotifiedReceiver<T> {
    /// Clears the notifications so far: values are looked for afterwards.
    pub fn clear(&self) {
        self.notifications.clear();
    }

    /// The next value, if there is one.
    pub fn next(&self) -> Option<T> {
        self.receiver.try_recv().ok()
    }

    /// Has the loop look again.
    pub fn look_again(&self) {
        self.notifier.notify();
    }
}

impl<T> AsFd for NotifiedReceiver<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notifications.as_fd()
    }
}
