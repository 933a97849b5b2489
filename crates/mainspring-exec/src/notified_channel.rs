//! A channel whose receiving end a loop can poll: values of other threads, and a byte that wakes the loop.
//!
//! ```text
//! any thread: NotifyingSender ── value ──▶ channel ──▶ NotifiedReceiver: clear, then next until there is none
//!                              └─ a byte on a socket pair, so that poll wakes
//! ```
//!
//! | field | ordering | why |
//! |---|---|---|
//! | `is_awaited` | sequentially consistent | who sends looks after the value is in the channel, and who has waited looks into the channel after it is lowered: one of the two sees the other |
//!
//! Cost: that of the channel and of the [`notifier`](crate::notifier): at most a system call for each value.
//!
//! Does not wait for a value: the loop polls, or waits for the channel itself.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::notifier::{Notifications, Notifier, pair};
use mainspring_host::net::{AsFd, BorrowedFd};

/// An end for other threads.
#[derive(Debug)]
pub struct NotifyingSender<T> {
    sender: Sender<T>,
    notifier: Notifier,
    /// The loop waits for the channel itself and needs no notification.
    is_awaited: Arc<AtomicBool>,
}

/// The end for the loop.
#[derive(Debug)]
pub struct NotifiedReceiver<T> {
    receiver: Receiver<T>,
    notifications: Notifications,
    /// While it is held, the other end is not readable for good after the last sender is gone.
    notifier: Notifier,
    is_awaited: Arc<AtomicBool>,
}

/// Makes both ends.
///
/// # Errors
///
/// When the operating system gives no socket pair.
pub fn notified_channel<T>() -> io::Result<(NotifyingSender<T>, NotifiedReceiver<T>)> {
    let (sender, receiver) = channel();
    let (notifier, notifications) = pair()?;
    let is_awaited = Arc::default();
    let of_sender =
        NotifyingSender { sender, notifier: notifier.clone(), is_awaited: Arc::clone(&is_awaited) };
    Ok((of_sender, NotifiedReceiver { receiver, notifications, notifier, is_awaited }))
}

impl<T> Clone for NotifyingSender<T> {
    fn clone(&self) -> NotifyingSender<T> {
        let (sender, is_awaited) = (self.sender.clone(), Arc::clone(&self.is_awaited));
        NotifyingSender { sender, notifier: self.notifier.clone(), is_awaited }
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
        if !self.is_awaited.load(Ordering::SeqCst) {
            self.notifier.notify();
        }
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

    /// Waits for the channel itself, by `wait`: nothing wakes the loop meanwhile. Returns what that has
    /// found, or what came at its end.
    pub fn wait_by(&self, wait: impl FnOnce(&Receiver<T>) -> Option<T>) -> Option<T> {
        self.is_awaited.store(true, Ordering::SeqCst);
        let found = wait(&self.receiver);
        self.is_awaited.store(false, Ordering::SeqCst);
        // One that came in between was not rung for.
        found.or_else(|| self.next())
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
