//! The webhooks under way: a thread for each, at most [`MAX_DELIVERIES`], which reports back into the loop.
//!
//! ```text
//! loop ── start ──▶ thread: deliver ── DeliveryResult ──▶ channel ──▶ loop: turn ──▶ reports
//!                                   └─ one byte on a socket pair, so that poll wakes
//! ```
//!
//! Deliveries of one sequence go one after the other: the thread of a later one waits for that of the one
//! before, whose timeout bounds this.
//!
//! A delivery cannot be called back: one that is killed is reported as ended at once and its answer is
//! ignored, but it keeps its place until its thread is done, which its timeout bounds.
//!
//! Cost: one thread of [`STACK_BYTES`] and one connection per webhook under way; nothing while there is none.
//!
//! Does not keep idle threads: starting one costs less than a thousandth of a request.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use thiserror::Error;

use crate::clock::Moment;
use crate::descriptors::MAX_RUNNING;
use crate::end::{End, KillCause, Outcome, Reports};
use crate::notified_channel::{NotifiedReceiver, NotifyingSender, notified_channel};
use crate::output::Stream;
use crate::output::{LineSplitter, Piece};
use crate::shortage::is_shortage;
use crate::webhook::{DeliveryResult, WebhookSpec, deliver};
use mainspring_action::template::Values;
use mainspring_host::net::{AsFd, BorrowedFd};

/// The most webhooks under way at one time: as many as processes.
pub const MAX_DELIVERIES: usize = MAX_RUNNING;

/// The stack of a delivery's thread: four times what a TLS handshake was seen to need.
pub const STACK_BYTES: usize = 512 << 10;

/// Why a webhook was not sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotSent {
    /// So many are under way, which is the most.
    #[error("{0} webhooks are under way already, which is the limit")]
    Full(usize),
    /// The operating system would not start a thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

impl NotSent {
    /// Whether the operating system lacks something that other runs may give back.
    pub fn is_shortage(&self) -> bool {
        matches!(self, NotSent::Thread(error) if is_shortage(error))
    }
}

/// The webhooks under way, each under the key that the loop has for its run.
#[derive(Debug)]
pub struct Deliveries<K> {
    capacity: usize,
    under_way: Vec<UnderWay<K>>,
    next_number: u64,
    sender: NotifyingSender<(u64, DeliveryResult)>,
    results: NotifiedReceiver<(u64, DeliveryResult)>,
}

#[derive(Debug)]
struct UnderWay<K> {
    number: u64,
    key: K,
    started: Moment,
    is_reported: bool,
    /// What it is one of, and its thread until the next of it waits for this.
    sequence: Option<(String, Option<JoinHandle<()>>)>,
}

impl<K: PartialEq> Deliveries<K> {
    /// Makes a place for so many deliveries, up to [`MAX_DELIVERIES`], with none under way.
    ///
    /// # Errors
    ///
    /// When the operating system gives no socket pair.
    pub fn of_at_most(capacity: usize) -> io::Result<Deliveries<K>> {
        let (sender, results) = notified_channel()?;
        let capacity = capacity.min(MAX_DELIVERIES);
        Ok(Deliveries { capacity, under_way: Vec::new(), next_number: 0, sender, results })
    }

    /// Sends a webhook, after all of the same sequence that are under way; its end is told by a later
    /// [`turn`](Self::turn).
    ///
    /// # Errors
    ///
    /// See [`NotSent`]; the run is over then.
    pub fn start(
        &mut self,
        sequence: Option<String>,
        spec: &Arc<WebhookSpec>,
        values: Values,
        key: K,
        now: Moment,
    ) -> Result<(), NotSent> {
        if self.is_full() {
            return Err(NotSent::Full(self.capacity));
        }
        let is_known = |delivery: &UnderWay<K>| delivery.key == key && !delivery.is_reported;
        debug_assert!(!self.under_way.iter().any(is_known), "an attempt is sent once");
        let before = sequence.as_ref().and_then(|sequence| self.take_thread(sequence));
        let number = self.next_number;
        let (spec, sender) = (Arc::clone(spec), self.sender.clone());
        let unix_s = now.wall.as_second();
        let send = move || {
            // A thread that panicked is over, too.
            let _ = before.map(JoinHandle::join);
            // One that panicked has an end, too: else its run had none, and its place was taken for good.
            let delivered = catch_unwind(AssertUnwindSafe(|| deliver(&spec, values, unix_s)));
            let delivered = delivered.unwrap_or_else(|_| DeliveryResult::panicked());
            // Fails only after the loop has ended.
            let _ = sender.send((number, delivered));
        };
        let builder = thread::Builder::new().name("webhook".to_owned()).stack_size(STACK_BYTES);
        let thread = builder.spawn(send).map_err(NotSent::Thread)?;
        self.next_number += 1;
        let sequence = sequence.map(|sequence| (sequence, Some(thread)));
        self.under_way.push(UnderWay { number, key, started: now, is_reported: false, sequence });
        debug_assert!(self.under_way.len() <= self.capacity);
        Ok(())
    }

    /// The thread of the last delivery of a sequence, if it is under way.
    fn take_thread(&mut self, sequence: &str) -> Option<JoinHandle<()>> {
        let own = self.under_way.iter_mut().filter_map(|delivery| delivery.sequence.as_mut());
        own.filter(|(name, _)| name == sequence).find_map(|(_, thread)| thread.take())
    }

    /// Whether no further webhook can be sent now.
    pub fn is_full(&self) -> bool {
        self.capacity <= self.under_way.len()
    }

    /// The number of webhooks whose end was not reported.
    pub fn running_count(&self) -> usize {
        self.under_way.iter().filter(|delivery| !delivery.is_reported).count()
    }

    /// Reports what has come back.
    pub fn turn(&mut self, now: Moment, reports: &mut dyn Reports<K>) {
        self.results.clear();
        while let Some((number, delivered)) = self.results.next() {
            let Some(at) = self.under_way.iter().position(|delivery| delivery.number == number) else {
                continue;
            };
            let delivery = self.under_way.swap_remove(at);
            if !delivery.is_reported {
                report(&delivery, delivered, now, reports);
            }
        }
    }

    /// Reports a delivery as killed; its answer will be ignored. Returns whether there is such a run.
    pub fn kill(&mut self, key: &K, now: Moment, reports: &mut dyn Reports<K>) -> bool {
        let found = self.under_way.iter_mut().find(|delivery| delivery.key == *key && !delivery.is_reported);
        found.map(|delivery| delivery.give_up(now, reports)).is_some()
    }

    /// Reports all deliveries as killed.
    pub fn kill_all(&mut self, now: Moment, reports: &mut dyn Reports<K>) {
        for delivery in self.under_way.iter_mut().filter(|delivery| !delivery.is_reported) {
            delivery.give_up(now, reports);
        }
    }
}

impl<K> UnderWay<K> {
    fn give_up(&mut self, now: Moment, reports: &mut dyn Reports<K>) {
        debug_assert!(!self.is_reported, "the end of a delivery is told once");
        self.is_reported = true;
        let end = End {
            outcome: Some(Outcome::NoAnswer("it was given up before an answer came".to_owned())),
            is_success: false,
            after: now.since(self.started),
            cause: Some(KillCause::Requested),
            dropped_bytes: 0,
            is_output_held: false,
            retry_at: None,
        };
        reports.ended(&self.key, &end);
    }
}

fn report<K>(delivery: &UnderWay<K>, delivered: DeliveryResult, now: Moment, reports: &mut dyn Reports<K>) {
    let DeliveryResult { outcome, is_success, is_timeout, answer, dropped_bytes, retry_after } = delivered;
    let mut splitter = LineSplitter::default();
    let mut each = |piece: Piece<'_>| reports.line(&delivery.key, Stream::Stdout, &piece);
    splitter.push(&answer, &mut each);
    splitter.finish(&mut each);
    if 0 < dropped_bytes {
        let text = Piece::line("the rest of the answer is left out: it is too long");
        reports.line(&delivery.key, Stream::Note, &text);
    }
    let end = End {
        outcome: Some(outcome),
        is_success,
        after: now.since(delivery.started),
        cause: is_timeout.then_some(KillCause::Timeout),
        dropped_bytes,
        is_output_held: false,
        retry_at: retry_after.filter(|_| !is_success).map(|after| after.resolve(now.wall)),
    };
    reports.ended(&delivery.key, &end);
}

impl<K> AsFd for Deliveries<K> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.results.as_fd()
    }
}
