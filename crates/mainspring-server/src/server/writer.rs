//! The store's thread: it owns the connection that writes, so that no flush of a disk holds the loop up.
//!
//! ```text
//! loop ── batch, load, renewal ──▶ channel ──▶ thread: store ── Report ──▶ channel ──▶ loop
//!                                                            └─ a byte on a socket pair, so that poll wakes
//! ```
//!
//! | the store says | the thread |
//! |---|---|
//! | done | reports the answers |
//! | busy, unknown | says so once, and tries again each [`TRY_WAIT`] until it is done, however long that takes |
//! | full | says so, and tries again when the loop has made room |
//! | anything else | says so, and ends: the server stops |
//!
//! Batches are written in the order in which they were given. Loads, renewals and questions are answered between two tries,
//! also while a batch waits: none of them rests on a batch that was given after what it asks for was decided.
//!
//! Cost: two switches between threads for each batch. At most [`MAX_IN_FLIGHT`] batches are with the thread: while they are, the
//! planner gathers what comes, and the next batch has all of it: the second is given only when it is large.
//!
//! Does not decide what becomes of a failure: the loop does.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mainspring_job::{Answer, Batch, Lease, MAX_PAGE, Once, OnceId, Reader, Store, StoreError};

use super::asking::{Answered, Question};
use mainspring_exec::bell::{Bell, Ring, bell};
use mainspring_exec::clock::Moment;

/// How many batches are on their way at once: one that is written, and one that is next if it is worth it.
const MAX_IN_FLIGHT: usize = 2;

/// How many commands make the next batch worth it while one is written. Fewer are better off in one batch with those that come
/// meanwhile: of 32 clients that wait for their answers, each shares a flush with most others.
const WORTHWHILE: usize = 256;

/// How long the loop waits for the store alone after it gave a batch, and hears nothing else. A disk that is fast answers within
/// it, and what clients asked meanwhile is found together: it shares the next flush, and costs one wake-up instead of one each.
/// A thousandth of a second is below what any timeout or kill is held to.
const PATIENCE: Duration = Duration::from_millis(1);

/// How long the thread waits before it tries a batch again for which the store was busy.
const TRY_WAIT: Duration = Duration::from_millis(10);

/// How often a batch is tried again for which the disk has no room.
const ROOM_WAIT: Duration = Duration::from_secs(1);

/// After this time a commit is late, and people are told.
const LATE: Duration = Duration::from_secs(1);

/// What the thread is to do.
enum Order {
    Commit(Batch),
    /// There may be room for what the store was too full for.
    Again,
    Renew,
    Load {
        up_to: Timestamp,
        limit: usize,
    },
    LoadIds {
        after: OnceId,
        up_to: Timestamp,
        limit: usize,
    },
    Ask(Question),
    Release,
}

/// What the thread has done.
pub(super) enum Report {
    Committed {
        number: u64,
        answers: Vec<Answer>,
    },
    /// The store has no room for the first batch; the thread waits for [`Writer::again`].
    Full,
    /// The first batch waits because the store is busy.
    Busy,
    Loaded {
        pending: Vec<Once>,
        is_complete: bool,
    },
    LoadedIds {
        ids: Vec<OnceId>,
        is_complete: bool,
    },
    Answered(Answered),
    /// What the store did of itself.
    Note(String),
    Released(Result<(), StoreError>),
    Failed(StoreError),
}

/// Why the first batch is not written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delay {
    None,
    Busy,
    Full,
}

/// The loop's side of the thread.
pub(super) struct Writer {
    /// `None` when the thread is to end.
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    reports: Receiver<Report>,
    /// What was received before it was asked for.
    early: Option<Report>,
    /// The loop waits for a report itself and needs no ring.
    is_awaited: Arc<AtomicBool>,
    bell: Bell,
    /// When each batch was given that is not on disk.
    in_flight: VecDeque<Moment>,
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
    /// How the shard was given up.
    pub(super) released: Option<Result<(), StoreError>>,
}

impl Writer {
    /// Hands a store over to a thread of its own.
    ///
    /// # Errors
    /// When the operating system gives no thread or no socket pair.
    pub(super) fn start(store: Box<dyn Store + Send>, lease: Lease) -> io::Result<Writer> {
        let (ring, bell) = bell()?;
        let (orders, taken) = channel();
        let (sender, reports) = channel();
        let is_awaited = Arc::new(AtomicBool::new(false));
        let tell = Tell { sender, ring, is_awaited: Arc::clone(&is_awaited) };
        let work = move || {
            let mut hand =
                Hand { store, lease, tell, batches: VecDeque::new(), is_full: false, is_said_busy: false };
            if let Err(error) = hand.work(&taken) {
                hand.tell.say(Report::Failed(error));
            }
        };
        let thread = thread::Builder::new().name("store".to_owned()).spawn(work)?;
        Ok(Writer {
            orders: Some(orders),
            thread: Some(thread),
            reports,
            early: None,
            is_awaited,
            bell,
            in_flight: VecDeque::new(),
            delay: Delay::None,
            tried: None,
            is_said_late: false,
            has_more: false,
            backlog_count: 0,
            committed_count: 0,
            released: None,
        })
    }

    /// Whether another batch is to be given.
    pub(super) fn takes_batch(&self) -> bool {
        let is_worthwhile = self.in_flight.len() < MAX_IN_FLIGHT && WORTHWHILE <= self.backlog_count;
        self.delay != Delay::Full && (self.in_flight.is_empty() || is_worthwhile)
    }

    /// Whether all that was given is on disk.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// How many batches will be on disk when all that is decided now is; of what waits for a place, one.
    pub(super) fn needed_count(&self) -> u64 {
        self.committed_count + self.in_flight.len() as u64 + u64::from(self.has_more)
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
        self.in_flight.push_back(now);
        self.order(Order::Commit(batch));
    }

    /// Has the batch tried again that the store was too full for.
    pub(super) fn again(&mut self, now: Moment) {
        self.tried = Some(now);
        self.order(Order::Again);
    }

    /// When that is worth it.
    pub(super) fn room_deadline(&self) -> Option<Instant> {
        let tried = self.tried.filter(|_| self.is_full())?;
        tried.monotonic.checked_add(ROOM_WAIT)
    }

    pub(super) fn renew(&self) {
        self.order(Order::Renew);
    }

    pub(super) fn load(&self, up_to: Timestamp, limit: usize) {
        self.order(Order::Load { up_to, limit });
    }

    /// Reads ids of pending one-shot jobs.
    pub(super) fn load_ids(&self, after: OnceId, up_to: Timestamp, limit: usize) {
        self.order(Order::LoadIds { after, up_to, limit });
    }

    /// Asks the store that writes, where it has no reader.
    pub(super) fn ask(&self, question: Question) {
        self.order(Order::Ask(question));
    }

    pub(super) fn release(&self) {
        self.order(Order::Release);
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // It fails only after the thread has reported why it ended.
            let _ = orders.send(order);
        }
    }

    /// The next report, if there is one.
    pub(super) fn next_report(&mut self, now: Moment) -> Option<Report> {
        let report = self.early.take().or_else(|| self.reports.try_recv().ok())?;
        match &report {
            Report::Committed { .. } => {
                self.in_flight.pop_front();
                self.committed_count += 1;
                (self.delay, self.tried) = (Delay::None, None);
            }
            Report::Busy => self.delay = Delay::Busy,
            Report::Full => {
                self.delay = Delay::Full;
                self.tried.get_or_insert(now);
            }
            _ => {}
        }
        Some(report)
    }

    /// Waits for the batch that was given just now, at most [`PATIENCE`] from then on and at most `longest`. Returns whether there
    /// is a report.
    pub(super) fn linger(&mut self, now: Moment, longest: Duration) -> bool {
        let Some(&given) = self.in_flight.back() else { return false };
        let wait = PATIENCE.saturating_sub(now.since(given)).min(longest);
        if self.early.is_none() && !wait.is_zero() {
            self.is_awaited.store(true, Ordering::SeqCst);
            let report = self.reports.recv_timeout(wait);
            self.is_awaited.store(false, Ordering::SeqCst);
            // One that came in between was not rung for.
            self.early = report.or_else(|_| self.reports.try_recv()).ok();
        }
        self.early.is_some()
    }

    /// Forgets the rings so far: reports are looked for afterwards.
    pub(super) fn quiet(&self) {
        self.bell.quiet();
    }

    /// How long the first batch has waited.
    pub(super) fn waited(&self, now: Moment) -> Option<Duration> {
        Some(now.since(*self.in_flight.front()?))
    }

    /// The same, if that is longer than it should.
    pub(super) fn late(&self, now: Moment) -> Option<Duration> {
        self.waited(now).filter(|waited| LATE <= *waited && self.delay != Delay::Full)
    }

    /// When people are to be told that the first batch is late.
    pub(super) fn late_deadline(&self) -> Option<Instant> {
        let given = self.in_flight.front().filter(|_| !self.is_said_late)?;
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
        Some(trouble.unwrap_or_else(|| "the store answers again: all goes on".to_owned()))
    }

    /// What the server waits for, for people.
    pub(super) fn trouble(&self, now: Moment) -> Option<String> {
        let seconds = self.late(now)?.as_secs();
        Some(match self.delay {
            Delay::Busy => format!(
                "another program has locked the store for {seconds} s: nothing starts and nothing is acknowledged until it lets go"
            ),
            _ => format!(
                "the disk has not written for {seconds} s: nothing starts and nothing is acknowledged until it has"
            ),
        })
    }
}

impl Drop for Writer {
    /// Waits until the store is closed, which folds its log into its file. A store that does not answer is left as it is.
    fn drop(&mut self) {
        self.orders = None;
        let Some(thread) = self.thread.take() else { return };
        if self.in_flight.is_empty() || thread.is_finished() {
            // A panic of the thread is on standard error.
            let _ = thread.join();
        }
    }
}

impl AsFd for Writer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// The way back to the loop.
struct Tell {
    sender: Sender<Report>,
    ring: Ring,
    is_awaited: Arc<AtomicBool>,
}

impl Tell {
    fn say(&self, report: Report) {
        // Fails only after the loop has ended.
        let _ = self.sender.send(report);
        if !self.is_awaited.load(Ordering::SeqCst) {
            self.ring.ring();
        }
    }
}

/// The thread's side.
struct Hand {
    store: Box<dyn Store + Send>,
    lease: Lease,
    tell: Tell,
    /// What is to be written, the next first.
    batches: VecDeque<Batch>,
    /// The store was too full for the first, and the loop has not said that there is room.
    is_full: bool,
    /// The loop knows that the first waits.
    is_said_busy: bool,
}

impl Hand {
    /// Does what it is told, until the loop has ended or the store fails.
    fn work(&mut self, orders: &Receiver<Order>) -> Result<(), StoreError> {
        loop {
            let can_write = !self.batches.is_empty() && !self.is_full;
            let wait = match (can_write, self.is_said_busy) {
                (false, _) => None,
                (true, false) => Some(Duration::ZERO),
                (true, true) => Some(TRY_WAIT),
            };
            match wait
                .map_or_else(|| orders.recv().map_err(RecvTimeoutError::from), |it| orders.recv_timeout(it))
            {
                Ok(order) => self.take(order)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => self.write()?,
            }
            for note in self.store.notes() {
                self.tell.say(Report::Note(note));
            }
        }
    }

    fn take(&mut self, order: Order) -> Result<(), StoreError> {
        match order {
            Order::Commit(batch) => self.batches.push_back(batch),
            Order::Again => self.is_full = false,
            Order::Renew => match self.store.renew(self.lease) {
                // Room and patience are for the next commit.
                Ok(_) | Err(StoreError::Full(_) | StoreError::Busy | StoreError::Unknown) => {}
                Err(error) => return Err(error),
            },
            Order::Load { up_to, limit } => {
                let first = OnceId::first_at(Timestamp::MIN);
                let read = self.store.load(self.lease.shard, first, up_to, limit);
                let (pending, is_complete) = page(read, limit)?;
                self.tell.say(Report::Loaded { pending, is_complete });
            }
            Order::LoadIds { after, up_to, limit } => {
                let read = self.store.load_ids(self.lease.shard, after, up_to, limit);
                let (ids, is_complete) = page(read, limit)?;
                self.tell.say(Report::LoadedIds { ids, is_complete });
            }
            Order::Ask(question) => {
                let reader: &mut dyn Reader = &mut *self.store;
                self.tell.say(Report::Answered(question.answer(reader)));
            }
            Order::Release => {
                let released = self.store.release(self.lease);
                self.tell.say(Report::Released(released));
            }
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), StoreError> {
        let Some(batch) = self.batches.front() else { return Ok(()) };
        match self.store.commit(self.lease, batch) {
            Ok(committed) => {
                let report = Report::Committed { number: batch.number, answers: committed.answers };
                self.batches.pop_front();
                self.is_said_busy = false;
                self.tell.say(report);
            }
            Err(StoreError::Busy | StoreError::Unknown) => {
                if !self.is_said_busy {
                    self.is_said_busy = true;
                    self.tell.say(Report::Busy);
                }
            }
            Err(StoreError::Full(_)) => {
                self.is_full = true;
                self.tell.say(Report::Full);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// What was read, and whether that was all. While the store is busy nothing is, and the planner asks again.
fn page<T>(read: Result<Vec<T>, StoreError>, limit: usize) -> Result<(Vec<T>, bool), StoreError> {
    match read {
        Ok(rows) => {
            let is_complete = rows.len() < limit.min(MAX_PAGE);
            Ok((rows, is_complete))
        }
        Err(StoreError::Busy | StoreError::Unknown) => Ok((Vec::new(), false)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
