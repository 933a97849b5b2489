//! The way of a due run from the timer thread to the loop.
//!
//! ```text
//! timer thread            channel of at most MAX_WAITING            loop
//! callback ── send ──────▶ [due][due][due] ───────── drain ──▶ start, in order of arrival
//!              └─ one byte on a socket pair, so that poll wakes
//! ```
//!
//! Cost: `send` is one push and one write that cannot block; the timer thread is never held up by a slow loop.
//!
//! Does not keep what does not fit: such runs are counted, and the loop logs the count. That needs the loop to stand
//! still, for instance because nobody reads the log.
//!
//! Source: own.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use jiff::Zoned;

use crate::bell::{Bell, Ring, bell};

/// The most due runs that wait for the loop.
pub const MAX_WAITING: usize = 4096;

/// A run that is due.
#[derive(Clone, Debug)]
pub struct Due {
    /// Which job: its index in the list of jobs.
    pub job_index: usize,
    /// The time that the schedule names.
    pub nominal: Zoned,
    /// How long after that time the timer fired.
    pub lateness: Duration,
    /// How many earlier occurrences passed without a run, because the machine was suspended or the clock was set.
    pub missed_count: u32,
}

/// Makes both ends.
///
/// # Errors
///
/// When the operating system gives no socket pair.
pub fn channel() -> io::Result<(DueSender, DueReceiver)> {
    let (sender, receiver) = sync_channel(MAX_WAITING);
    let (ring, bell) = bell()?;
    let lost_count = Arc::new(AtomicU64::new(0));
    let sending = DueSender { sender, ring, lost_count: Arc::clone(&lost_count) };
    Ok((sending, DueReceiver { receiver, bell, lost_count }))
}

/// The end for callbacks.
#[derive(Clone, Debug)]
pub struct DueSender {
    sender: SyncSender<Due>,
    ring: Ring,
    /// Written here, taken by the receiver; a mere count, so `Relaxed` suffices.
    lost_count: Arc<AtomicU64>,
}

impl DueSender {
    /// Hands over a due run and wakes the loop. Never blocks; after the loop has ended it does nothing.
    pub fn send(&self, due: Due) {
        if self.sender.try_send(due).is_err() {
            self.lost_count.fetch_add(1, Ordering::Relaxed);
        }
        self.ring.ring();
    }
}

/// The end for the loop.
#[derive(Debug)]
pub struct DueReceiver {
    receiver: Receiver<Due>,
    bell: Bell,
    lost_count: Arc<AtomicU64>,
}

impl DueReceiver {
    /// Takes what has arrived, and how many runs were lost since the last call because the channel was full.
    pub fn drain(&mut self) -> (Vec<Due>, u64) {
        self.bell.quiet();
        (self.receiver.try_iter().collect(), self.lost_count.swap(0, Ordering::Relaxed))
    }
}

impl AsFd for DueReceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    fn due(job_index: usize) -> Due {
        let nominal = jiff::Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
        Due { job_index, nominal, lateness: Duration::ZERO, missed_count: 0 }
    }

    #[test]
    fn due_runs_arrive_in_order() {
        let (sender, mut receiver) = channel().unwrap();
        for job_index in 0..3 {
            sender.send(due(job_index));
        }
        let (arrived, lost_count) = receiver.drain();
        assert_eq!(arrived.iter().map(|due| due.job_index).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(lost_count, 0);
        assert!(receiver.drain().0.is_empty());
    }

    #[test]
    fn what_does_not_fit_is_counted_and_sending_never_blocks() {
        let (sender, mut receiver) = channel().unwrap();
        for job_index in 0..MAX_WAITING + 7 {
            sender.send(due(job_index));
        }
        let (arrived, lost_count) = receiver.drain();
        assert_eq!((arrived.len(), lost_count), (MAX_WAITING, 7));
        assert_eq!(receiver.drain().1, 0);
    }

    #[test]
    fn sending_after_the_loop_has_ended_does_nothing() {
        let (sender, receiver) = channel().unwrap();
        drop(receiver);
        sender.send(due(0));
    }
}
