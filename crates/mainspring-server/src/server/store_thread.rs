//! The store's thread: it owns the connection that writes, and carries out the orders of the loop.
//!
//! ```text
//! Order ──▶ channel ──▶ StoreThread: store ── Report ──▶ notified channel ──▶ loop
//! ```
//!
//! | the store says | the thread |
//! |---|---|
//! | done | reports the answers |
//! | busy, unknown | says so once, and tries again each [`TRY_WAIT`] until it is done, however long that takes |
//! | full | says so, and tries again when the loop has made room |
//! | anything else | says so, and ends: the server stops |
//!
//! A start that was decided long before its batch is tried is dated then: it begins when that is on disk.
//!
//! Until the loop has its first batch for it the thread renews the lease by itself, where it runs out: a
//! start that reads many jobs takes longer than a lease lasts.
//!
//! Batches are written in the order in which they were given, and jobs are taken in between. Loads, renewals
//! and questions are answered between two tries, also while a batch waits. None of them depends on a batch
//! that was given after it was decided.
//!
//! Cost: that of the store, and up to [`SPIN`] of processor time for each batch. The thread sleeps while it
//! has no order.
//!
//! Does not decide how many batches are on their way: [`writer`](super::writer), the loop's side, does.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Answer, Batch, Commit, Holder, Input, JobName, Lease, MAX_PAGE, OnceId, Operation, Reader, Store,
    StoreError,
};

use super::next_step::{Question, QuestionAnswer};
use mainspring_exec::clock::{Moment, Reading, boot_time, follow};
use mainspring_exec::notified_channel::NotifyingSender;

/// How long the thread waits before it tries a batch again for which the store was busy.
const TRY_WAIT: Duration = Duration::from_millis(10);

/// From this on the record of a start is too early: people see seconds. Below it the planner and the record
/// have the same time.
const MISDATED: SignedDuration = SignedDuration::from_secs(1);

/// How long each of the two threads asks again and again, and lets others have the processor in between,
/// before it sleeps until the other has done its part: to be woken takes as long as a small batch, and twice
/// in each. A batch on a fast disk takes about so long.
pub(super) const SPIN: Duration = Duration::from_micros(200);

/// How often the thread renews the lease by itself before the first batch: a start that hangs loses it.
const MAX_START_RENEWALS: u32 = 600;

/// What the planner is to be told of the store, and how it is read.
pub(super) type Load = Box<dyn FnOnce(&mut dyn Reader) -> Result<Input, StoreError> + Send>;

/// What the thread is to do.
pub(super) enum Order {
    Commit(Batch),
    /// There may be room for what the store was too full for.
    Again,
    Renew,
    /// Read what the planner asked for.
    Load(Load),
    /// Ask the store that writes, where it has no reader.
    Ask(Question),
    /// A source was applied which has no job.
    KeepSource(String),
    /// The planner says something else of itself.
    KeepStatus(String, Option<String>),
    Release,
}

/// What the thread has done.
pub(super) enum Report {
    /// A batch is on disk, and the store's clock showed this.
    Committed(CommittedBatch, Option<Reading>),
    Renewed(Option<Reading>),
    /// The store has no room for the first batch; the thread waits for [`Order::Again`].
    Full,
    /// The first batch waits because the store is busy.
    Busy(String),
    /// What the planner asked for.
    Loaded(Input),
    Answered(QuestionAnswer),
    /// What the store did of itself.
    Note(String),
    Released(Result<(), StoreError>),
    Failed(StoreError),
}

/// A batch that is on disk.
pub(super) struct CommittedBatch {
    pub(super) number: u64,
    pub(super) answers: Vec<Answer>,
    /// What has the keys and names that submissions of it found taken.
    pub(super) holders: Vec<(usize, Holder)>,
}

/// The boot time before the store was asked that renewed the lease last, from which on it lasts: the thread
/// tells, and the loop reads.
#[derive(Clone, Debug)]
pub(super) struct RenewedAt(Arc<AtomicU64>);

impl RenewedAt {
    pub(super) fn new(asked_at: Duration) -> RenewedAt {
        let renewed = RenewedAt(Arc::default());
        renewed.set(asked_at);
        renewed
    }

    fn set(&self, asked_at: Duration) {
        let ns = u64::try_from(asked_at.as_nanos()).expect("no machine runs for five centuries");
        self.0.fetch_max(ns, Ordering::SeqCst);
    }

    pub(super) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::SeqCst))
    }
}

/// The thread's side.
pub(super) struct StoreThread {
    store: Box<dyn Store + Send>,
    lease: Lease,
    renewed: RenewedAt,
    /// How often it may still renew the lease by itself.
    start_renewals: u32,
    reports: NotifyingSender<Report>,
    /// What is to be written, the next first.
    batches: VecDeque<Batch>,
    /// The store was too full for the first, and the loop has not said that there is room.
    is_full: bool,
    /// Why the first waits, as the loop knows it.
    busy: Option<String>,
    /// A batch was written after the last order.
    has_written: bool,
    /// What the planner says of itself, and of the places of definitions, until the store has it.
    unkept_status: Option<(String, Option<String>)>,
}

impl StoreThread {
    pub(super) fn new(
        store: Box<dyn Store + Send>,
        lease: Lease,
        renewed: RenewedAt,
        reports: NotifyingSender<Report>,
    ) -> StoreThread {
        let (batches, busy, unkept_status) = (VecDeque::new(), None, None);
        StoreThread {
            store,
            lease,
            renewed,
            start_renewals: MAX_START_RENEWALS,
            reports,
            batches,
            is_full: false,
            busy,
            has_written: false,
            unkept_status,
        }
    }

    /// Does what it is told, until the loop has ended or the store fails, which is the last report.
    pub(super) fn work(mut self, orders: &Receiver<Order>) {
        if let Err(error) = self.obey(orders) {
            self.tell(Report::Failed(error));
        }
    }

    fn tell(&self, report: Report) {
        // Fails only after the loop has ended.
        let _ = self.reports.send(report);
    }

    fn obey(&mut self, orders: &Receiver<Order>) -> Result<(), StoreError> {
        loop {
            let can_write = !self.batches.is_empty() && !self.is_full;
            let order = match (can_write, self.busy.is_some()) {
                (false, _) => self.next_order(orders),
                (true, false) => orders.recv_timeout(Duration::ZERO),
                (true, true) => orders.recv_timeout(TRY_WAIT),
            };
            match order {
                Ok(order) => self.take(order)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => self.write()?,
            }
            for note in self.store.notes() {
                self.tell(Report::Note(note));
            }
        }
    }

    /// Waits for the next order. After a batch was written the next often comes at once.
    fn next_order(&mut self, orders: &Receiver<Order>) -> Result<Order, RecvTimeoutError> {
        if std::mem::take(&mut self.has_written)
            && let Some(order) = spin(Moment::now(), SPIN, || orders.try_recv().ok())
        {
            return Ok(order);
        }
        match self.lease.lasts.filter(|_| 0 < self.start_renewals) {
            None => orders.recv().map_err(RecvTimeoutError::from),
            Some(lasts) => orders.recv_timeout(lasts / 4).or_else(|error| match error {
                RecvTimeoutError::Timeout => {
                    self.start_renewals -= 1;
                    Ok(Order::Renew)
                }
                RecvTimeoutError::Disconnected => Err(error),
            }),
        }
    }

    fn take(&mut self, order: Order) -> Result<(), StoreError> {
        match order {
            Order::Commit(batch) => {
                debug_assert!(self.batches.back().is_none_or(|last| last.number < batch.number));
                self.start_renewals = 0;
                self.batches.push_back(batch);
            }
            Order::Again => self.is_full = false,
            Order::Renew => match (boot_time(), self.store.renew(self.lease)) {
                (asked_at, Ok(renewed)) if renewed.lasts.is_some() => {
                    self.renewed.set(asked_at);
                    self.tell(Report::Renewed(reading(renewed.now, asked_at)));
                    self.keep_status()?;
                }
                // Room and patience are for the next commit.
                (_, Ok(_) | Err(StoreError::Full(_) | StoreError::Busy(_) | StoreError::Unknown)) => {}
                (_, Err(error)) => return Err(error),
            },
            Order::Load(load) => {
                let input = load(&mut *self.store)?;
                self.tell(Report::Loaded(input));
            }
            Order::Ask(question) => {
                let reader: &mut dyn Reader = &mut *self.store;
                let answer = question.answer(reader);
                self.tell(Report::Answered(answer));
            }
            Order::KeepSource(source) => may_wait(self.store.keep_source(self.lease, &source))?,
            Order::KeepStatus(status, lines) => {
                let before = self.unkept_status.take().and_then(|(_, lines)| lines);
                self.unkept_status = Some((status, lines.or(before)));
                self.keep_status()?;
            }
            Order::Release => {
                let released = self.store.release(self.lease);
                self.tell(Report::Released(released));
            }
        }
        Ok(())
    }

    /// What cannot be kept now is with the next renewal: the loop gives it only when it is another one.
    fn keep_status(&mut self) -> Result<(), StoreError> {
        let Some((status, lines)) = &self.unkept_status else { return Ok(()) };
        let result = self.store.keep_status(self.lease, status, lines.as_deref());
        if result.is_ok() {
            self.unkept_status = None;
        }
        may_wait(result)
    }

    /// Writes what comes next, or tries it again later.
    fn write(&mut self) -> Result<(), StoreError> {
        debug_assert!(!self.is_full, "the loop says when there is room to try it");
        let Some(batch) = self.batches.front_mut() else { return Ok(()) };
        date_starts(batch, Moment::now().wall);
        let asked_at = boot_time();
        let committed = self.store.commit(self.lease, batch).and_then(|Commit { answers, now, .. }| {
            debug_assert_eq!(answers.len(), batch.operations.len(), "each operation has an answer");
            self.renewed.set(asked_at);
            let (number, reading) = (batch.number, reading(now, asked_at));
            // Where these cannot be read the batch is sent again, which writes nothing.
            let holders = Holder::of_batch(&mut *self.store, batch, &answers)?;
            Ok(Report::Committed(CommittedBatch { number, answers, holders }, reading))
        });
        match committed {
            Ok(report) => {
                self.batches.pop_front();
                self.has_written = true;
                self.busy = None;
                self.tell(report);
            }
            Err(error @ (StoreError::Busy(_) | StoreError::Unknown)) => {
                // A connection that is lost is refused next, which says more.
                let why = error.to_string();
                if self.busy.replace(why.clone()).as_ref() != Some(&why) {
                    self.tell(Report::Busy(why));
                }
            }
            Err(StoreError::Full(_)) => {
                self.is_full = true;
                self.tell(Report::Full);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// It is kept the next time otherwise.
fn may_wait(result: Result<(), StoreError>) -> Result<(), StoreError> {
    match result {
        Err(StoreError::Full(_) | StoreError::Busy(_) | StoreError::Unknown) => Ok(()),
        result => result,
    }
}

/// What is started by a batch that is tried now was decided before, in vain for a while if the store was
/// locked.
fn date_starts(batch: &mut Batch, now: Timestamp) {
    for operation in &mut batch.operations {
        let started = match operation {
            Operation::Begin { at, .. } => Some(at),
            Operation::Plan(run) | Operation::Fire { run, .. } => run.started.as_mut(),
            _ => None,
        };
        started.into_iter().filter(|at| MISDATED <= now.duration_since(**at)).for_each(|at| *at = now);
    }
}

/// What the store's clock showed in an answer that is there now, which this thread follows as the loop does.
fn reading(shown: Option<Timestamp>, asked_at: Duration) -> Option<Reading> {
    let reading = shown.map(|shown| Reading { shown, asked_at, answered_at: boot_time() });
    reading.into_iter().for_each(follow);
    reading
}

/// Asks until there is an answer or it has taken too long. On a machine with one processor the other thread
/// has it meanwhile.
pub(super) fn spin<T>(since: Moment, longest: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        let answer = ask();
        if answer.is_some() || longest <= Moment::now().since(since) {
            return answer;
        }
        thread::yield_now();
    }
}

/// The first pending one-shot jobs.
pub(super) fn load(up_to: Timestamp, limit: usize) -> Load {
    Box::new(move |reader| {
        let first = OnceId::first_at(Timestamp::MIN);
        let (pending, is_complete) = page(reader.load(first, up_to, limit), limit)?;
        Ok(Input::Loaded { pending, is_complete })
    })
}

/// Ids of pending one-shot jobs.
pub(super) fn load_ids(after: OnceId, up_to: Timestamp, limit: usize) -> Load {
    Box::new(move |reader| {
        let (ids, is_complete) = page(reader.load_ids(after, up_to, limit), limit)?;
        Ok(Input::LoadedIds { ids, is_complete })
    })
}

/// Whether a one-shot job of a batch is pending.
pub(super) fn check_batch(batch: JobName) -> Load {
    Box::new(move |reader| {
        let is_pending = match reader.has_pending_of(&batch) {
            Err(StoreError::Busy(_)) => None,
            read => Some(read?),
        };
        Ok(Input::BatchChecked { batch, is_pending })
    })
}

/// What was read, and whether that was all. While the store is busy nothing is, and the planner asks again.
fn page<T>(read: Result<Vec<T>, StoreError>, limit: usize) -> Result<(Vec<T>, bool), StoreError> {
    match read {
        Ok(rows) => {
            debug_assert!(rows.len() <= limit, "a store gives no more than it is asked for");
            let is_complete = rows.len() < limit.min(MAX_PAGE);
            Ok((rows, is_complete))
        }
        Err(StoreError::Busy(_) | StoreError::Unknown) => Ok((Vec::new(), false)),
        Err(error) => Err(error),
    }
}
