//! A store in memory: the plainest thing that keeps the contract, and so the oracle for all others.
//!
//! Sorted maps, one for each kind of record. A batch is applied operation by operation; nothing can fail
//! halfway. A clone is what a disk would hold at that moment.
//!
//! Made by [`MemoryStore::lending`] it has leases that run out, as a store has that several servers share.
//!
//! Cost: O(log n) for each operation; `find`, `counts` and `Prune` walk what they look at. Does not survive
//! the process.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;

use super::lending::Lending;
use super::{Commit, Counts, Lease, MAX_PAGE, Owner, Query, Reader, Renewal, Store, StoreError};
use crate::audit::{Audit, AuditQuery, AuditRow, MAX_AUDIT_ROWS};
use crate::name::JobName;
use crate::once::{Once, OnceId};
use crate::operation::{Answer, Batch, MAX_BATCH_OPERATIONS, MAX_PRUNED, Operation, Takeover};
use crate::outcome::Outcome;
use crate::reason::Reason;
use crate::record::{JobRecord, LastRun, Mark, PauseTerms};
use crate::run::{Attempt, Cause, Run, RunKey};
use crate::state::RunState;
use crate::worker::WorkerId;

/// Keeps jobs and runs in memory.
///
/// # Example
/// ```
/// use mainspring_job::{MemoryStore, Owner, Store, Takeover};
///
/// let mut store = MemoryStore::new();
/// let lease = store.acquire(&Owner::new("first"))?;
/// // A clone is what a crash would leave.
/// let mut disk = store.clone();
/// assert_eq!(disk.acquire(&Owner::new("second"))?.takeover, Takeover::Unclean);
/// store.release(lease)?;
/// assert_eq!(store.acquire(&Owner::new("second"))?.takeover, Takeover::Clean);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    epoch: u64,
    /// The machine's start that its owner named, if it has acquired it and not released it.
    owned_since: Option<String>,
    jobs: BTreeMap<JobName, JobRecord>,
    paused: Option<PauseTerms>,
    /// The newest rows, and how many there were.
    audit: VecDeque<AuditRow>,
    audit_count: u64,
    pending: BTreeMap<OnceId, Once>,
    /// Names of pending jobs.
    names: BTreeMap<JobName, OnceId>,
    /// Idempotency keys of pending jobs and of kept runs.
    keys: BTreeMap<String, (OnceId, RunKey)>,
    runs: BTreeMap<RunKey, Run>,
    attempts: BTreeMap<(RunKey, u32), Attempt>,
    /// The last batch, and what was answered.
    last: Option<(u64, Vec<Answer>)>,
    /// Until when its owner has it. `None`: until another takes it.
    lending: Option<Lending>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// An empty store that several owners share: its leases last so long without a renewal, by a clock that
    /// shows `now` until [`set_time`](MemoryStore::set_time) says otherwise.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    /// use mainspring_job::{MemoryStore, Owner, Store, StoreError};
    ///
    /// let mut store = MemoryStore::lending(Duration::from_secs(15), "2026-11-21T08:00:00Z".parse()?);
    /// let first = store.acquire(&Owner::new("first"))?;
    /// let held = store.acquire(&Owner::new("second"));
    /// assert!(matches!(held, Err(StoreError::Held { .. })));
    /// store.set_time("2026-11-21T08:00:17Z".parse()?);
    /// store.acquire(&Owner::new("second"))?;
    /// assert!(matches!(store.renew(first), Err(StoreError::Fenced)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lending(lasts: Duration, now: Timestamp) -> MemoryStore {
        MemoryStore { lending: Some(Lending::new(lasts, now)), ..MemoryStore::default() }
    }

    /// Moves the clock of a store that lends. It never runs back: an earlier time changes nothing.
    pub fn set_time(&mut self, now: Timestamp) {
        if let Some(lending) = &mut self.lending {
            lending.now = lending.now.max(now);
        }
    }

    /// Ends the lease of a store that lends, as a person does by hand: the next caller is the owner.
    pub fn lapse(&mut self) {
        if let Some(lending) = &mut self.lending {
            lending.lapse();
        }
    }

    /// The store's time, and how long a lease lasts, if it lends.
    fn lent(&self) -> Renewal {
        let lending = self.lending.as_ref();
        Renewal { now: lending.map(|lending| lending.now), lasts: lending.map(|lending| lending.lasts) }
    }

    fn check_lease(&self, lease: Lease) -> Result<(), StoreError> {
        if lease.epoch == self.epoch { Ok(()) } else { Err(StoreError::Fenced) }
    }

    fn apply(&mut self, operation: &Operation) -> Answer {
        match operation {
            Operation::Submit(once) => self.submit(once),
            Operation::Fire { id, run } => match self.take_pending(*id) {
                Some(_) => self.insert(run),
                None => Answer::Gone,
            },
            Operation::Withdraw { id, at } => match self.take_pending(*id) {
                Some(once) => self.insert(&withdrawn(&once, *at)),
                None => Answer::Gone,
            },
            Operation::Plan(run) => self.insert(run),
            Operation::Begin { key, attempt, at, worker } => self.begin(key, *attempt, *at, *worker),
            Operation::End { .. } => self.end(operation),
            Operation::Clear { key, attempt } => {
                let Some(run) = self.runs.get_mut(key) else { return Answer::Missing };
                if run.attempt != *attempt || run.state != RunState::Running {
                    return Answer::Gone;
                }
                run.crashes = 0;
                Answer::New
            }
            Operation::Move { key, from, to, due, at, reason } => {
                let Some(run) = self.runs.get_mut(key) else { return Answer::Missing };
                if run.state != *from || !from.may_become(*to) || *to == RunState::Running {
                    return Answer::Gone;
                }
                (run.state, run.due) = (*to, *due);
                run.forgiven = from.forgives(*to).of(run.attempt, run.forgiven);
                run.reason.clone_from(reason);
                if !to.is_open() {
                    run.ended = Some(*at);
                }
                if *from == RunState::Running && to.is_open() {
                    let returned = (key.clone(), run.attempt);
                    let record = self.attempts.get_mut(&returned).expect("it has begun");
                    (record.ended, record.state, record.outcome) =
                        (Some(*at), Some(*to), Some(Outcome::Returned));
                }
                Answer::New
            }
            Operation::Define { mark, source, text } => self.define(mark, source, text),
            Operation::Mark(mark) => self.mark(mark),
            Operation::Rewind(mark) => {
                let Some(record) = self.jobs.get_mut(&mark.job) else { return Answer::Missing };
                record.mark = mark.clone();
                Answer::New
            }
            Operation::Forget { job, absence, retention } => {
                let Some(record) = self.jobs.get_mut(job) else { return Answer::Missing };
                (record.source, record.text) = (None, String::new());
                record.absence.clone_from(absence);
                record.retention = if absence.is_none() { *retention } else { Default::default() };
                Answer::New
            }
            Operation::Prune { job, keep, before } => self.prune(job.as_ref(), *keep, *before),
            Operation::PauseAll(paused) => {
                self.paused.clone_from(paused);
                Answer::New
            }
            Operation::Audit(audit) => self.keep_audit(audit),
        }
    }

    fn end(&mut self, operation: &Operation) -> Answer {
        let Operation::End { key, attempt, state, at, outcome, crashes, reason } = operation else {
            unreachable!("only an end is given");
        };
        let Some(run) = self.runs.get_mut(key) else { return Answer::Missing };
        if run.attempt != *attempt || run.state != RunState::Running || !state.is_end_of_attempt() {
            return Answer::Gone;
        }
        (run.state, run.ended, run.outcome) = (*state, Some(*at), outcome.clone());
        run.crashes = *crashes;
        run.reason.clone_from(reason);
        if *state == RunState::Succeeded
            && let Some(record) = self.jobs.get_mut(&key.job)
        {
            record.last_success = record.last_success.max(Some(*at));
        }
        let record = self.attempts.get_mut(&(key.clone(), *attempt)).expect("it has begun");
        (record.ended, record.state, record.outcome) = (Some(*at), Some(*state), outcome.clone());
        Answer::New
    }

    fn keep_audit(&mut self, audit: &Audit) -> Answer {
        self.audit_count += 1;
        self.audit.push_back(AuditRow { number: self.audit_count, audit: audit.clone() });
        let most = usize::try_from(MAX_AUDIT_ROWS).unwrap_or(usize::MAX);
        while most < self.audit.len() {
            self.audit.pop_front();
        }
        Answer::New
    }

    /// The last run of a job that is over.
    fn last_of(&self, job: &JobName) -> Option<LastRun> {
        let runs = self.runs.range(RunKey::new(job.clone(), Timestamp::MIN)..);
        let theirs = runs.map(|(_, run)| run).take_while(|run| run.key.job == *job);
        let last = theirs.filter(|run| !run.state.is_open()).last()?;
        let ended = last.ended.unwrap_or(last.planned);
        Some(LastRun { nominal: last.key.nominal, series: last.key.series, state: last.state, ended })
    }

    fn submit(&mut self, once: &Once) -> Answer {
        let key = RunKey::new(once.name.clone(), once.id.due);
        let known = once.key.as_ref().and_then(|key| self.keys.get(key)).map(|(id, _)| *id);
        let named = self.names.get(&once.name).copied();
        let same = self.pending.get(&once.id).map(|once| once.id);
        if let Some(id) = known.or(named).or(same) {
            return Answer::Duplicate(Some(id));
        }
        if self.runs.contains_key(&key) {
            return Answer::Duplicate(None);
        }
        if let Some(text) = &once.key {
            self.keys.insert(text.clone(), (once.id, key));
        }
        self.names.insert(once.name.clone(), once.id);
        self.pending.insert(once.id, once.clone());
        Answer::New
    }

    fn take_pending(&mut self, id: OnceId) -> Option<Once> {
        let once = self.pending.remove(&id)?;
        let named = self.names.remove(&once.name);
        debug_assert_eq!(named, Some(id), "a pending job is found by its name");
        Some(once)
    }

    fn insert(&mut self, run: &Run) -> Answer {
        if self.runs.contains_key(&run.key) {
            return Answer::Duplicate(None);
        }
        if run.state == RunState::Running {
            self.add_attempt(&run.key, run.attempt, run.started.unwrap_or(run.planned), run.worker);
        }
        self.runs.insert(run.key.clone(), run.clone());
        Answer::New
    }

    fn add_attempt(&mut self, key: &RunKey, number: u32, started: Timestamp, worker: Option<WorkerId>) {
        let attempt = Attempt { worker, ..Attempt::new(number, started) };
        let replaced = self.attempts.insert((key.clone(), number), attempt);
        debug_assert!(replaced.is_none(), "an attempt begins once");
    }

    fn begin(&mut self, key: &RunKey, attempt: u32, at: Timestamp, worker: Option<WorkerId>) -> Answer {
        let Some(run) = self.runs.get_mut(key) else { return Answer::Missing };
        if attempt <= run.attempt {
            return Answer::Duplicate(None);
        }
        if attempt != run.attempt + 1 || !run.state.may_become(RunState::Running) {
            return Answer::Gone;
        }
        (run.state, run.attempt, run.started) = (RunState::Running, attempt, Some(at));
        (run.ended, run.outcome, run.worker) = (None, None, worker);
        run.reason = run.lasting_reason();
        self.add_attempt(key, attempt, at, worker);
        Answer::New
    }

    fn define(&mut self, mark: &Mark, source: &str, text: &str) -> Answer {
        let new = JobRecord::new(mark.clone(), None);
        let record = self.jobs.entry(mark.job.clone()).or_insert(new);
        (record.source, record.absence) = (Some(source.to_owned()), None);
        record.retention = Default::default();
        text.clone_into(&mut record.text);
        Answer::New
    }

    fn mark(&mut self, mark: &Mark) -> Answer {
        let Some(record) = self.jobs.get_mut(&mark.job) else { return Answer::Missing };
        let is_other = record.mark.timetable != mark.timetable;
        let watermark = if is_other { Timestamp::MIN } else { record.mark.watermark };
        record.mark = Mark { watermark: watermark.max(mark.watermark), ..mark.clone() };
        Answer::New
    }

    fn prune(&mut self, job: Option<&JobName>, keep: u32, before: Timestamp) -> Answer {
        let is_theirs = |run: &&Run| match job {
            Some(name) => run.key.job == *name && run.cause != Cause::Once,
            None => run.cause == Cause::Once,
        };
        let is_over = |run: &&Run| !run.state.is_open() && run.state != RunState::Dead;
        let mut over: Vec<&Run> = self.runs.values().filter(is_theirs).filter(is_over).collect();
        over.sort_by_key(|run| (run.ended, run.key.clone()));
        let surplus = over.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
        let is_old = |run: &Run| run.ended.is_some_and(|ended| ended < before);
        let dropped = over.iter().enumerate().filter(|(index, run)| *index < surplus || is_old(run));
        let keys: Vec<RunKey> = dropped.map(|(_, run)| run.key.clone()).take(MAX_PRUNED).collect();
        for key in keys {
            self.runs.remove(&key);
            self.attempts.retain(|(of, _), _| *of != key);
            self.keys.retain(|_, (_, of)| *of != key);
        }
        let is_past = |record: &JobRecord| record.source.is_none() && record.mark.watermark < before;
        let is_left = |name: &JobName| self.runs.keys().any(|key| key.job == *name);
        match job.filter(|name| self.jobs.get(*name).is_some_and(is_past) && !is_left(name)) {
            Some(name) => drop(self.jobs.remove(name)),
            None => return Answer::New,
        }
        Answer::Gone
    }
}

/// The run of a one-shot job that was withdrawn.
fn withdrawn(once: &Once, at: Timestamp) -> Run {
    let mut run = once.run(RunState::Cancelled, once.id.due, at);
    run.ended = Some(at);
    run.reason = Some(Reason::Withdrawn);
    run
}

impl Store for MemoryStore {
    fn acquire(&mut self, owner: &Owner) -> Result<Lease, StoreError> {
        if let Some((by, left)) = self.lending.as_ref().and_then(Lending::held) {
            return Err(StoreError::Held { by, left });
        }
        self.epoch += 1;
        self.last = None;
        let before = self.owned_since.replace(owner.machine_start.clone());
        let takeover = before.map_or(Takeover::Clean, |before| owner.takeover_from(&before));
        let silent = self.lending.as_ref().and_then(Lending::silent);
        if let Some(lending) = &mut self.lending {
            lending.lend(&owner.name);
        }
        let mut lease = Lease::new(self.epoch, takeover);
        let lent = self.lent();
        (lease.lasts, lease.now, lease.silent) = (lent.lasts, lent.now, silent);
        Ok(lease)
    }

    fn renew(&mut self, lease: Lease) -> Result<Renewal, StoreError> {
        self.check_lease(lease)?;
        if let Some(lending) = &mut self.lending {
            lending.renew();
        }
        Ok(self.lent())
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.check_lease(lease)?;
        self.epoch += 1;
        if let Some(lending) = &mut self.lending {
            lending.free();
        }
        self.owned_since = None;
        Ok(())
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<Commit, StoreError> {
        self.check_lease(lease)?;
        let last = self.last.as_ref().map_or(0, |(number, _)| *number);
        if batch.number < last || last + 1 < batch.number {
            return Err(StoreError::Fenced);
        }
        let known = self.last.as_ref().filter(|_| batch.number == last).map(|(_, answers)| answers.clone());
        let now = self.renew(lease)?.now;
        if let Some(answers) = known {
            return Ok(Commit { answers, now });
        }
        let answers: Vec<Answer> = batch.operations.iter().map(|operation| self.apply(operation)).collect();
        debug_assert!(batch.operations.len() <= MAX_BATCH_OPERATIONS, "a batch keeps its limit");
        debug_assert_eq!(self.names.len(), self.pending.len(), "each pending job has its name");
        self.last = Some((batch.number, answers.clone()));
        Ok(Commit { answers, now })
    }
}

impl Reader for MemoryStore {
    fn load(&mut self, after: OnceId, up_to: Timestamp, limit: usize) -> Result<Vec<Once>, StoreError> {
        use std::ops::Bound::{Excluded, Included};
        if up_to < after.due {
            return Ok(Vec::new());
        }
        // An empty range of one excluded end would be refused by the map.
        let end = OnceId::last_at(up_to);
        if after == end {
            return Ok(Vec::new());
        }
        let found = self.pending.range((Excluded(after), Included(end)));
        Ok(found.map(|(_, once)| once.clone()).take(limit.min(MAX_PAGE)).collect())
    }

    fn jobs(&mut self) -> Result<(Vec<JobRecord>, Option<PauseTerms>), StoreError> {
        let with_last =
            |record: &JobRecord| JobRecord { last: self.last_of(&record.mark.job), ..record.clone() };
        Ok((self.jobs.values().map(with_last).collect(), self.paused.clone()))
    }

    fn open_runs(&mut self, after: Option<&RunKey>, limit: usize) -> Result<Vec<Run>, StoreError> {
        let is_after = |run: &&Run| after.is_none_or(|after| *after < run.key);
        let open = self.runs.values().filter(|run| run.state.is_open()).filter(is_after);
        Ok(open.take(limit.min(MAX_PAGE)).cloned().collect())
    }

    fn find(&mut self, query: &Query) -> Result<Vec<Run>, StoreError> {
        let ranked = self.runs.values().filter_map(|run| Some((query.rank(run)?, run)));
        let mut found: Vec<_> = ranked.collect();
        found.sort_by(|(one, _), (other, _)| other.cmp(one));
        found.truncate(query.limit.min(MAX_PAGE));
        Ok(found.into_iter().map(|(_, run)| run.clone()).collect())
    }

    fn run(&mut self, key: &RunKey) -> Result<Option<Run>, StoreError> {
        Ok(self.runs.get(key).cloned())
    }

    fn attempts(&mut self, key: &RunKey) -> Result<Vec<Attempt>, StoreError> {
        let range = (key.clone(), 0)..=(key.clone(), u32::MAX);
        Ok(self.attempts.range(range).map(|(_, attempt)| attempt.clone()).collect())
    }

    fn pending_named(&mut self, name: &JobName) -> Result<Option<Once>, StoreError> {
        Ok(self.names.get(name).and_then(|id| self.pending.get(id)).cloned())
    }

    fn keyed(&mut self, key: &str) -> Result<Option<(OnceId, JobName)>, StoreError> {
        Ok(self.keys.get(key).map(|(id, run)| (*id, run.job.clone())))
    }

    fn counts(&mut self) -> Result<Counts, StoreError> {
        let count = |is_counted: fn(&Run) -> bool| {
            u64::try_from(self.runs.values().filter(|run| is_counted(run)).count()).unwrap_or(u64::MAX)
        };
        Ok(Counts {
            jobs: self.jobs.values().filter(|record| record.source.is_some()).map(|_| 1).sum(),
            pending: u64::try_from(self.pending.len()).unwrap_or(u64::MAX),
            open: count(|run| run.state.is_open()),
            runs: count(|_| true),
            dead: count(|run| run.state == RunState::Dead),
        })
    }

    fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        let found = self.audit.iter().rev().filter(|row| query.holds(row));
        Ok(found.take(query.limit.min(MAX_PAGE)).cloned().collect())
    }
}
