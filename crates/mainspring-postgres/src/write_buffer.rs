//! Selects the operations of a large batch that become one row of the write buffer, not rows of the tables.
//!
//! ```text
//!  batch k   ─ submissions ──────────────┐                                         ┌▶ pack: those that have succeeded
//!  batch k+1 ─ their starts, and more ───┼─▶ entry ─▶ flush, every MAX_BATCHES ───┼▶ pending, open_run, history: the rest
//!  batch k+2 ─ their ends, and more ─────┘            batches, each job once       └▶ entry: what is under way
//!        └──── all else: as in a small batch
//! ```
//!
//! A job is unflushed while all that the database has of it is in the write buffer. Its number says that it
//! is new: it was made in the epoch of the lease, after all that were submitted under it. So nothing has to
//! be looked for, and each of its operations is new. What the write buffer has no form for, such as a
//! withdrawal, has it flushed before.
//!
//! A reader of the tables has it flushed too, and then no job is unflushed: the row of the shard counts how
//! often that was, and a batch names the count that it goes by.
//!
//! A batch is large if it has [`LARGE`] operations. Smaller ones come from an owner that has time: their jobs
//! go into the tables, and what is in the write buffer goes before them.
//!
//! Cost: a look among some thousands of numbers for each operation, and two copies of each text. A cycle of
//! a one-shot job is written in an eighth of the time that its rows take (BENCHMARKS.md).
//!
//! Does not read what it holds: who reads has the write buffer flushed and archive blocks opened before.
//!
//! Source: the log and the checkpoints of databases (Mohan et al., "ARIES", 1992); row groups of columns
//! (Ailamaki et al., "Weaving Relations for Cache Performance", 2001), as the archive blocks are.

use std::borrow::Cow;

use mainspring_job::{Batch, JobName, Once, OnceId, Operation};

use super::document;
use super::one_shot_record::{ArchiveBlock, OneShotRecord, Rows, Step};
use super::value::Value;

/// From how many operations on a batch is large: a quarter of the largest. An owner that writes so many at
/// once has more to write than it can, one batch after another.
pub(super) const LARGE: usize = 256;

/// After how many batches the write buffer is flushed: to flush takes some 5 ms for each, in which no batch
/// is written, and a takeover as long.
const MAX_BATCHES: usize = 16;

/// How much text is sent once more for archive blocks: where there is more all is written as rows, as a
/// statement is held in memory at both ends.
const MAX_SENT_BYTES: usize = 4 << 20;

/// A job that the last so many batches have touched stays in the write buffer if it has not ended: its end is
/// to be expected there. To write it twice there costs a tenth of what its rows cost.
const KEPT_BATCHES: u64 = 3;

/// What is to be done with a batch.
pub(super) enum Plan {
    /// It has nothing for the write buffer, and touches nothing there.
    Direct,
    /// It touches what is in the write buffer otherwise.
    Flush,
    /// A part of it is for the write buffer.
    Keep(Box<BufferEntry>),
}

/// The unflushed jobs of a lease.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    /// In the order of their numbers.
    unflushed: Vec<UnflushedJob>,
    /// What the last batch has added to them that is not known to be written: which of them, and what. `None`
    /// is its submission.
    steps: Vec<(usize, Option<Step>)>,
    /// The greatest number that was submitted.
    last: u64,
    /// How many rows there are.
    batches: usize,
    /// How many there were since the lease began.
    batch: u64,
    /// The number of the last batch.
    last_batch: u64,
    /// How often it was flushed, if that is known.
    times: Option<i64>,
    /// There may be more in the write buffer than is known here.
    is_doubtful: bool,
}

/// One of them.
#[derive(Debug)]
struct UnflushedJob {
    record: OneShotRecord,
    /// Which batch has touched it last.
    since: u64,
}

/// What there is, for archive blocks and for one entry.
pub(super) struct Flush {
    /// Something of the entry is for the tables.
    pub(super) has_rest: bool,
    /// The number of the last batch that is in it.
    pub(super) last: u64,
    /// The parameters of `settle_2` after those.
    pub(super) values: Vec<Value>,
}

/// The part of a batch that is for the write buffer.
#[derive(Default)]
pub(super) struct BufferEntry {
    /// Which operations it has.
    pub(super) is_kept: Vec<bool>,
    /// What is bound for it: see the parameters of `commit_3`.
    pub(super) values: Vec<Value>,
    rows: Rows,
}

impl WriteBuffer {
    /// Whether something is there that must be flushed at some time.
    pub(super) fn is_empty(&self) -> bool {
        self.batches == 0 && !self.is_doubtful
    }

    /// Whether it has to be flushed before the next large batch, whatever that is.
    pub(super) fn is_full(&self) -> bool {
        MAX_BATCHES <= self.batches || self.is_doubtful || self.times.is_none()
    }

    /// How often it was flushed; `None` if the database has to be asked.
    pub(super) fn times(&self) -> Option<i64> {
        self.times
    }

    /// What a batch has added that failed, or that is not known to be written, is as if it had never been.
    fn take_back(&mut self) {
        while let Some((place, step)) = self.steps.pop() {
            match step {
                Some(step) => self.unflushed[place].record.take_back(step),
                None => self.unflushed.truncate(place),
            }
        }
    }

    /// Whether a job is to stay when it is flushed because it is full.
    fn stays(&self, unflushed: &UnflushedJob) -> bool {
        self.batch < unflushed.since + KEPT_BATCHES && !self.is_doubtful && unflushed.record.is_under_way()
    }

    /// The numbers of the jobs that are to stay when it is flushed because it is full, in their order.
    pub(super) fn under_way(&mut self) -> Vec<i64> {
        self.take_back();
        self.unflushed
            .iter()
            .filter(|unflushed| self.stays(unflushed))
            .map(|unflushed| unflushed.record.number())
            .collect()
    }

    /// What there is, if so many of its jobs may go into archive blocks. All that does not go there is bound
    /// for one entry; what of that is not to be kept goes into the tables.
    pub(super) fn flush(&mut self, keep: &[i64], from: usize) -> Option<Flush> {
        self.take_back();
        let records = || self.unflushed.iter().map(|unflushed| &unflushed.record);
        let plain_count = records().filter(|record| record.is_plain()).count();
        let bytes: usize = records().map(OneShotRecord::body_bytes).sum();
        if self.is_doubtful || self.times.is_none() || plain_count < from || MAX_SENT_BYTES < bytes {
            return None;
        }
        let (mut block, mut rows, mut has_rest) = (ArchiveBlock::default(), Rows::default(), false);
        // In their order: jobs that were submitted one after another are in one archive block.
        for record in records() {
            if record.is_plain() {
                block.push(record);
            } else {
                rows.whole(record);
                has_rest |= keep.binary_search(&record.number()).is_err();
            }
        }
        let mut values = Vec::new();
        block.bind(&mut values);
        rows.bind(&mut values);
        Some(Flush { has_rest, last: self.last_batch, values })
    }

    /// It has been flushed so often, if that is known. Nothing is there but what was to stay, if it did.
    pub(super) fn flushed(&mut self, times: Option<i64>, kept: &[i64]) {
        self.take_back();
        self.unflushed.retain(|UnflushedJob { record, .. }| {
            record.is_under_way() && kept.binary_search(&record.number()).is_ok()
        });
        (self.batches, self.times, self.is_doubtful) =
            (usize::from(!self.unflushed.is_empty()), times, false);
    }

    /// A batch may be there that is not known here.
    pub(super) fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    /// A batch is written: the last one that was parted, if a part of it is in the write buffer.
    pub(super) fn written(&mut self, batch: &Batch, has_entry: bool) {
        let numbers = batch.operations.iter().filter_map(|operation| match operation {
            Operation::Submit(once) => Some(once.id.number),
            _ => None,
        });
        self.last = numbers.fold(self.last, u64::max);
        self.last_batch = batch.number;
        if !has_entry {
            return self.take_back();
        }
        (self.batches, self.batch) = (self.batches + 1, self.batch + 1);
        for (place, _) in self.steps.drain(..) {
            self.unflushed[place].since = self.batch;
        }
    }

    /// Where a job is that may be among the unflushed ones.
    fn find(&self, name: &JobName) -> Option<usize> {
        let number = OnceId::number_of(name)?;
        let last = self.unflushed.len().checked_sub(1)?;
        // A planner gives one number after another: nearly all stand as far from the last as they count.
        let back = usize::try_from(self.unflushed[last].record.id().number.checked_sub(number)?).ok()?;
        let place = match last.checked_sub(back) {
            Some(place) if self.unflushed[place].record.id().number == number => place,
            _ => {
                self.unflushed.binary_search_by_key(&number, |unflushed| unflushed.record.id().number).ok()?
            }
        };
        (self.unflushed[place].record.name() == name).then_some(place)
    }

    /// Parts a batch of an epoch. What it adds to the unflushed jobs is there from now on, if it is
    /// [written](Journal::written).
    pub(super) fn plan(&mut self, epoch: u64, batch: &Batch) -> Plan {
        self.take_back();
        let (mut entry, mut last, mut prunes) = (BufferEntry::default(), self.last, Vec::new());
        entry.is_kept = vec![false; batch.operations.len()];
        for (place, operation) in batch.operations.iter().enumerate() {
            if let Operation::Submit(once) = operation {
                let is_new = once.id.epoch() == epoch && last < once.id.number;
                last = last.max(once.id.number);
                if is_new && is_plain(once) {
                    self.submit(once, &mut entry.rows);
                    entry.is_kept[place] = true;
                    continue;
                }
            }
            if let Operation::Prune { job: None, .. } = operation {
                prunes.push((place, document::operation(operation)));
                continue;
            }
            let Some(found) = touched(operation).and_then(|name| self.find(&name)) else { continue };
            let Some(step) = self.unflushed[found].record.follow(operation, &mut entry.rows) else {
                return Plan::Flush;
            };
            self.steps.push((found, Some(step)));
            entry.is_kept[place] = true;
        }
        // How many are to be left is counted when all are in the tables.
        let has_prunes = !prunes.is_empty() && !self.is_empty();
        if self.steps.is_empty() && !has_prunes {
            return Plan::Direct;
        }
        let mut documents = Vec::new();
        for (place, prune) in prunes {
            entry.is_kept[place] = true;
            documents.push(prune);
        }
        entry.bind(documents);
        Plan::Keep(Box::new(entry))
    }

    /// Its number is greater than those of all others.
    fn submit(&mut self, once: &Once, rows: &mut Rows) {
        let unflushed = UnflushedJob { record: OneShotRecord::new(once), since: self.batch };
        rows.submission(&unflushed.record);
        self.steps.push((self.unflushed.len(), None));
        self.unflushed.push(unflushed);
    }
}

/// Whether a submission can be written without a look at the tables, if its number is new.
fn is_plain(once: &Once) -> bool {
    once.key.is_none() && once.id.is_name(&once.name)
}

/// The job that an operation is about, if it is about one.
fn touched(operation: &Operation) -> Option<Cow<'_, JobName>> {
    Some(Cow::Borrowed(match operation {
        Operation::Submit(once) => &once.name,
        Operation::Withdraw { id, .. } => return Some(Cow::Owned(id.name())),
        Operation::Fire { run, .. } | Operation::Plan(run) => &run.key.job,
        Operation::Begin { key, .. }
        | Operation::End { key, .. }
        | Operation::Clear { key, .. }
        | Operation::Move { key, .. } => &key.job,
        Operation::Define { mark, .. } | Operation::Mark(mark) | Operation::Rewind(mark) => &mark.job,
        Operation::Forget { job, .. } => job,
        Operation::Prune { job, .. } => job.as_ref()?,
        Operation::PauseAll(_) | Operation::Audit(_) => return None,
    }))
}

impl BufferEntry {
    /// Makes its columns its values, and adds what is pruned.
    pub(super) fn bind(&mut self, prunes: Vec<serde_json::Value>) -> &mut BufferEntry {
        std::mem::take(&mut self.rows).bind(&mut self.values);
        self.values.push(Value::Documents(prunes));
        self
    }
}
