//! The loop's side of the store's thread. The thread keeps the flush of a disk from holding the loop up.
//!
//! ```text
//! loop ── Writer: batch, load, renewal ──▶ channel ──▶ store thread ── Report ──▶ notified channel ──▶ Writer ── loop
//! ```
//!
//! Cost: two switches between threads for each batch, and up to [`SPIN`] of processor time on each of the two
//! threads. At most [`MAX_IN_FLIGHT`] batches are with the thread. Meanwhile the planner gathers facts for
//! the next batch. A second batch is given only when it is large.
//!
//! Does not decide what follows a failure: the loop does.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mainspring_job::{Batch, Lease, Store};

use super::store_thread::{Order, RenewedAt, Report, SPIN, StoreThread, spin};
use crate::protocol::HistogramWire;
use mainspring_exec::clock::Moment;
use mainspring_exec::notified_channel::{NotifiedReceiver, notified_channel};

/// How many batches are on their way at once: one that is written, and one that is next if it is worth it.
const MAX_IN_FLIGHT: usize = 2;

/// How many commands make the next batch worth it while one is written. Fewer are better off in one batch
/// with those that come meanwhile: of 32 clients that wait for their answers, each shares a flush with most
/// others.
const WORTHWHILE: usize = 256;

/// How long the loop waits for the store alone after it gave a batch, and hears nothing else. A disk that is
/// fast answers within it, and what clients asked meanwhile is found together: it shares the next flush, and
/// costs one wake-up instead of one each. A thousandth of a second is below what any timeout or kill is held
/// to.
const PATIENCE: Duration = Duration::from_millis(1);

/// So many operations are written within [`PATIENCE`]. While more are, the loop hears what else comes: it is
/// worth a batch of its own.
const PROMPT: usize = 128;
const _: () =
    assert!(PROMPT < WORTHWHILE, "what is worth a batch of its own is more than the loop waits for");
const _: () = assert!(WORTHWHILE <= mainspring_job::MAX_BATCH_OPERATIONS, "or no batch would be worth it");
const _: () = assert!(SPIN.as_nanos() < PATIENCE.as_nanos());
const _: () = assert!(PATIENCE.as_nanos() < LATE.as_nanos());

/// How often a batch is tried again for which the disk has no room.
const ROOM_WAIT: Duration = Duration::from_secs(1);

/// After this time a commit is late, and people are told.
pub(super) const LATE: Duration = Duration::from_secs(1);

/// Why nothing is written to a disk without room.
pub(super) const FULL: &str = "the disk is full";

/// Why the first batch is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Delay {
    None,
    /// What the store says of it.
    Busy(String),
    Full,
}

/// The loop's side of the thread.
pub(super) struct Writer {
    /// `None` when the thread is to end.
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    /// What the thread has done.
    pub(super) reports: NotifiedReceiver<Report>,
    /// What was received before it was asked for.
    early: Option<Report>,
    /// When each batch was given that is not on disk.
    in_flight: VecDeque<Moment>,
    /// Whether the last of them is written soon, unless something holds the store up.
    is_prompt: bool,
    delay: Delay,
    /// When a batch was last tried that the store is too full for.
    tried: Option<Moment>,
    /// Whether people know that a batch is late.
    is_said_late: bool,
    /// Whether the planner may have more to write than was taken.
    pub(super) has_more: bool,
    /// How many commands the planner was told whose operations may be in no batch yet.
    pub(super) backlog_count: usize,
    /// How many batches are on disk.
    pub(super) committed_count: u64,
    /// How long batches took to be on disk.
    pub(super) commits: HistogramWire,
}

impl Writer {
    /// Hands a store over to a thread of its own.
    ///
    /// # Errors
    /// When the operating system gives no thread or no socket pair.
    pub(super) fn start(
        store: Box<dyn Store + Send>,
        lease: Lease,
        renewed: RenewedAt,
    ) -> io::Result<Writer> {
        let ((orders, taken), (sender, reports)) = (channel(), notified_channel()?);
        let thread = StoreThread::new(store, lease, renewed, sender);
        let work = move || thread.work(&taken);
        let thread = thread::Builder::new().name("store".to_owned()).spawn(work)?;
        Ok(Writer {
            orders: Some(orders),
            thread: Some(thread),
            reports,
            early: None,
            in_flight: VecDeque::new(),
            is_prompt: false,
            delay: Delay::None,
            tried: None,
            is_said_late: false,
            has_more: false,
            backlog_count: 0,
            committed_count: 0,
            commits: HistogramWire::default(),
        })
    }

    /// Whether another batch is to be given.
    pub(super) fn takes_batch(&self) -> bool {
        let is_worthwhile = self.has_place() && WORTHWHILE <= self.backlog_count;
        self.delay != Delay::Full && (self.in_flight.is_empty() || is_worthwhile)
    }

    /// Whether there is a place for another batch.
    pub(super) fn has_place(&self) -> bool {
        self.in_flight.len() < MAX_IN_FLIGHT
    }

    /// Whether all that was given is on disk.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// How many batches will be on disk when all that is decided now is; of what waits for a place, one.
    pub(super) fn needed_count(&self) -> u64 {
        self.given_count() + u64::from(self.has_more)
    }

    /// How many batches were given.
    fn given_count(&self) -> u64 {
        self.committed_count + self.in_flight.len() as u64
    }

    /// Whether all that was decided is on disk.
    pub(super) fn is_settled(&self) -> bool {
        self.is_idle() && !self.has_more
    }

    /// Whether the disk has no room for what is to be written.
    pub(super) fn is_full(&self) -> bool {
        self.delay == Delay::Full
    }

    pub(super) fn commit(&mut self, batch: Batch, now: Moment) {
        debug_assert!(self.in_flight.len() < MAX_IN_FLIGHT, "no more batches are on their way than may be");
        debug_assert!(!batch.operations.is_empty(), "a batch has something to write");
        debug_assert_eq!(
            batch.number,
            self.given_count() + 1,
            "batches are given in the order of their numbers"
        );
        self.in_flight.push_back(now);
        self.is_prompt = batch.operations.len() <= PROMPT;
        self.order(Order::Commit(batch));
    }

    /// Has the batch tried again that the store was too full for.
    pub(super) fn again(&mut self, now: Moment) {
        debug_assert!(self.is_full(), "a batch is tried again that found no room");
        self.tried = Some(now);
        self.order(Order::Again);
    }

    /// When that is worth it.
    pub(super) fn room_deadline(&self) -> Option<Instant> {
        let tried = self.tried.filter(|_| self.is_full())?;
        tried.monotonic.checked_add(ROOM_WAIT)
    }

    pub(super) fn release(&self) {
        debug_assert!(self.is_idle() && !self.is_full(), "nothing is on its way that needs the lease");
        self.order(Order::Release);
    }

    /// Has the thread do something beside the batches.
    pub(super) fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // It fails only after the thread has reported why it ended.
            let _ = orders.send(order);
        }
    }

    /// The next report, if there is one.
    pub(super) fn next_report(&mut self, now: Moment) -> Option<Report> {
        let report = self.early.take().or_else(|| self.reports.next())?;
        match &report {
            Report::Committed(batch, _) => {
                let given = self.in_flight.pop_front();
                debug_assert!(given.is_some(), "what is on disk was given");
                given.into_iter().for_each(|given| self.commits.add(Moment::now().since(given)));
                self.committed_count += 1;
                debug_assert_eq!(batch.number, self.committed_count, "batches are on disk in their order");
                (self.delay, self.tried) = (Delay::None, None);
            }
            Report::Busy(why) => self.delay = Delay::Busy(why.clone()),
            Report::Full => {
                debug_assert!(!self.is_idle(), "what finds no room was given");
                self.delay = Delay::Full;
                self.tried.get_or_insert(now);
            }
            _ => {}
        }
        Some(report)
    }

    /// Waits for the batch that was given just now, at most [`PATIENCE`] from then on and at most `longest`.
    /// Returns whether there is a report.
    pub(super) fn linger(&mut self, now: Moment, longest: Duration) -> bool {
        let Some(&given) = self.in_flight.back().filter(|_| self.is_prompt) else { return false };
        let wait = PATIENCE.saturating_sub(now.since(given)).min(longest);
        if self.early.is_none() && !wait.is_zero() {
            self.early = self.reports.wait_by(|reports| {
                let report = spin(now, wait.min(SPIN), || reports.try_recv().ok());
                report.or_else(|| reports.recv_timeout(wait.saturating_sub(SPIN)).ok())
            });
        }
        self.early.is_some()
    }

    /// How long the first batch has waited, if that is longer than it should.
    pub(super) fn late(&self, now: Moment) -> Option<Duration> {
        let waited = now.since(self.waits_since()?);
        (LATE <= waited && !self.is_full()).then_some(waited)
    }

    /// When people are to be told that the first batch is late.
    pub(super) fn late_deadline(&self) -> Option<Instant> {
        // That the disk is full is said at once.
        let given = self.in_flight.front().filter(|_| !self.is_said_late && !self.is_full())?;
        given.monotonic.checked_add(LATE)
    }

    /// When the first batch was given that is not on disk.
    pub(super) fn waits_since(&self) -> Option<Moment> {
        self.in_flight.front().copied()
    }

    /// What there is to say since the last call: that the store does not answer, or that it does again.
    pub(super) fn news(&mut self, now: Moment) -> Option<String> {
        let trouble = self.trouble(now);
        if trouble.is_some() == self.is_said_late {
            return None;
        }
        self.is_said_late = trouble.is_some();
        Some(trouble.unwrap_or_else(|| "the store answers again: all continues".to_owned()))
    }

    /// Why what was given is not on disk, as far as the store has said.
    pub(super) fn why_late(&self) -> &str {
        match &self.delay {
            Delay::Busy(why) => why,
            Delay::Full => FULL,
            Delay::None => "the store does not answer",
        }
    }

    /// What the server waits for, for people.
    pub(super) fn trouble(&self, now: Moment) -> Option<String> {
        let seconds = self.late(now)?.as_secs();
        Some(match &self.delay {
            Delay::Busy(why) => format!(
                "{why}; for {seconds} s nothing has been written, so nothing starts and nothing is acknowledged"
            ),
            _ => format!(
                "the disk has not written for {seconds} s: nothing starts and nothing is acknowledged until it has"
            ),
        })
    }
}

impl Drop for Writer {
    /// Waits until the store is closed, which folds its log into its file. A store that does not answer is
    /// left as it is.
    fn drop(&mut self) {
        self.orders = None;
        let Some(thread) = self.thread.take() else { return };
        if self.in_flight.is_empty() || thread.is_finished() {
            // A panic of the thread is on standard error.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use mainspring_job::{MemoryStore, Operation, Owner};

    use super::*;
    use crate::waiting::wait_for;
    use mainspring_host::net::AsFd;

    const BATCH_COUNT: u64 = 3_000;

    /// A report that is not rung for would hold the loop up for this long.
    const RING_WAIT: Duration = Duration::from_secs(60);

    #[test]
    fn each_report_is_heard_however_long_the_loop_lingers() {
        let mut store = MemoryStore::new();
        let lease = store.acquire(&Owner::new("test")).unwrap();
        let mut writer = Writer::start(Box::new(store), lease, RenewedAt::new(Duration::ZERO)).unwrap();
        for number in 1..=BATCH_COUNT {
            let now = Moment::now();
            writer.commit(Batch::new(number, vec![Operation::PauseAll(None)]), now);
            // From no wait to a wait that ends about when the report comes.
            let mut is_there = writer.linger(now, Duration::from_micros(number % 50));
            let report = loop {
                if !is_there {
                    wait_for(&[writer.reports.as_fd()], &[], Some(RING_WAIT)).unwrap();
                    assert!(Moment::now().since(now) < RING_WAIT, "nothing was rung for batch {number}");
                }
                writer.reports.clear();
                // The notification of the batch before may come after its report was taken.
                match writer.next_report(Moment::now()) {
                    Some(report) => break report,
                    None => is_there = false,
                }
            };
            assert!(matches!(report, Report::Committed(batch, _) if batch.number == number));
            assert!(writer.is_idle());
        }
    }

    #[test]
    fn a_lease_is_renewed_while_a_start_has_nothing_to_write_yet() {
        let mut store = MemoryStore::lending(Duration::from_millis(20), jiff::Timestamp::UNIX_EPOCH);
        let lease = store.acquire(&Owner::new("test")).unwrap();
        let renewed = RenewedAt::new(Duration::ZERO);
        let mut writer = Writer::start(Box::new(store), lease, renewed.clone()).unwrap();
        let now = Moment::now();
        let report = loop {
            assert!(Moment::now().since(now) < RING_WAIT, "it is not renewed");
            wait_for(&[writer.reports.as_fd()], &[], Some(RING_WAIT)).unwrap();
            writer.reports.clear();
            if let Some(report) = writer.next_report(Moment::now()) {
                break report;
            }
        };
        assert!(matches!(report, Report::Renewed(_)));
        assert!(Duration::ZERO < renewed.get(), "the loop need not take the report for that");
    }

    #[test]
    fn a_full_disk_is_not_late_and_is_no_time_to_wait_for() {
        let mut store = MemoryStore::new();
        let lease = store.acquire(&Owner::new("test")).unwrap();
        let mut writer = Writer::start(Box::new(store), lease, RenewedAt::new(Duration::ZERO)).unwrap();
        writer.in_flight.push_back(Moment::now());
        assert!(writer.late_deadline().is_some());
        writer.delay = Delay::Full;
        assert_eq!(writer.late_deadline(), None, "the loop would turn once it is past");
    }

    #[test]
    fn the_loop_does_not_linger_when_nothing_was_given() {
        let mut store = MemoryStore::new();
        let lease = store.acquire(&Owner::new("test")).unwrap();
        let mut writer = Writer::start(Box::new(store), lease, RenewedAt::new(Duration::ZERO)).unwrap();
        assert!(!writer.linger(Moment::now(), Duration::MAX));
    }
}
