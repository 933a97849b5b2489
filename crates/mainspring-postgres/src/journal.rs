//! What of a large batch is one row of the journal, instead of rows of the tables.
//!
//! ```text
//!  batch k   ─ submissions ──────────────┐
//!  batch k+1 ─ their starts, and more ───┼─▶ journal ─▶ settle, every MAX_BATCHES batches ─▶ pending, open_run, history
//!  batch k+2 ─ their ends, and more ─────┘              each job once, as what it is then
//!        └──── all else: as in a small batch      what is under way stays in the journal
//! ```
//!
//! A job is young while all that the database has of it is in the journal. Its number says that it is new: it
//! was made in the epoch of the lease, after all that were submitted under it. So nothing has to be looked
//! for, and each of its operations is new. What the journal has no form for, such as a withdrawal, has it
//! settled before.
//!
//! A reader of the tables has it settled too, and then no job is young: the row of the shard counts how often
//! that was, and a batch names the count that it goes by.
//!
//! A batch is large if it has [`LARGE`] operations. Smaller ones come from an owner that has time: their jobs
//! go into the tables, and what is in the journal goes before them.
//!
//! Cost: a look into a map for each operation, and a copy of each text. A cycle of a one-shot job is written
//! in a quarter of the time.
//!
//! Does not hold what the jobs are: the journal does.
//!
//! Source: the log and the checkpoints of databases (Mohan et al., "ARIES", 1992).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mainspring_job::{Batch, Cause, JobName, Once, OnceId, Operation, Run, RunKey, RunState, Work};
use mainspring_rows::{nanoseconds, number};

use super::document;
use super::value::Value;
use super::wave::{Columns, some, work};

/// From how many operations on a batch is large: a quarter of the largest. An owner that writes so many at
/// once has more to write than it can, one batch after another.
pub(super) const LARGE: usize = 256;

/// After how many batches the journal is settled: to settle takes some 5 ms for each, in which no batch is
/// written, and a takeover as long.
const MAX_BATCHES: usize = 16;

/// A job that the last so many batches have touched stays in the journal if it has not ended: its end is to
/// be expected there. To write it twice there costs a tenth of what its rows cost.
const KEPT_BATCHES: u64 = 3;

/// How far a young job is.
#[derive(Clone, Debug)]
enum Stage {
    Pending(OnceId, Arc<Work>),
    /// Fired, and not begun.
    Waiting(OnceId),
    Running(OnceId),
    /// Its first attempt has ended, in this state.
    Ended(OnceId, RunState),
    /// It has what follows: to be tried again, or to lie with the dead letters. All else is for the tables.
    Moved,
}

impl Stage {
    /// Which job it is, if it has not ended.
    fn under_way(&self) -> Option<OnceId> {
        match self {
            Stage::Pending(id, _) | Stage::Waiting(id) | Stage::Running(id) => Some(*id),
            Stage::Ended(..) | Stage::Moved => None,
        }
    }
}

/// What is to be done with a batch.
pub(super) enum Plan {
    /// It has nothing for the journal, and touches nothing there.
    Direct,
    /// It touches what is in the journal otherwise.
    Settle,
    /// A part of it is for the journal.
    Keep(Box<Entry>),
}

/// The young jobs of a lease.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// How far each is, and since which batch.
    young: HashMap<JobName, (Stage, u64)>,
    /// The greatest number that was submitted.
    last: u64,
    /// How many rows there are.
    batches: usize,
    /// How many there were since the lease began.
    batch: u64,
    /// How often it was settled, if that is known.
    times: Option<i64>,
    /// There may be more in the journal than is known here.
    is_doubtful: bool,
}

/// The part of a batch that is for the journal.
#[derive(Default)]
pub(super) struct Entry {
    /// Which operations it has.
    pub(super) is_kept: Vec<bool>,
    /// What is bound for it, in the order of [`COLUMNS`].
    pub(super) values: Vec<Value>,
    submissions: Columns,
    runs: Columns,
    begins: Columns,
    ends: Columns,
    moves: Columns,
    changed: HashMap<JobName, Stage>,
}

impl Journal {
    /// Whether something is there that must be settled at some time.
    pub(super) fn is_empty(&self) -> bool {
        self.batches == 0 && !self.is_doubtful
    }

    /// Whether it has to be settled before the next batch, whatever that is.
    pub(super) fn is_full(&self) -> bool {
        MAX_BATCHES <= self.batches || self.is_doubtful
    }

    /// How often it was settled; `None` if the database has to be asked.
    pub(super) fn times(&self) -> Option<i64> {
        self.times
    }

    /// The numbers of the jobs that are to stay when it is settled because it is full.
    pub(super) fn under_way(&self) -> Vec<i64> {
        let stays = |(stage, since): &(Stage, u64)| {
            (self.batch < since + KEPT_BATCHES && !self.is_doubtful).then(|| stage.under_way()).flatten()
        };
        self.young.values().filter_map(stays).map(|id| number(id.number)).collect()
    }

    /// It has been settled so often, if that is known. Nothing is there but what was to stay, if it did.
    pub(super) fn settled(&mut self, times: Option<i64>, kept: &[i64]) {
        let kept: HashSet<i64> = kept.iter().copied().collect();
        let mut young = std::mem::take(&mut self.young);
        young.retain(|_, (stage, _)| stage.under_way().is_some_and(|id| kept.contains(&number(id.number))));
        let batches = usize::from(!young.is_empty());
        *self = Journal { young, batches, last: self.last, batch: self.batch, times, is_doubtful: false };
    }

    /// A batch may be there that is not known here.
    pub(super) fn doubt(&mut self) {
        self.is_doubtful = true;
    }

    /// A batch is written, with this part of it in the journal.
    pub(super) fn written(&mut self, batch: &Batch, entry: Option<Entry>) {
        let numbers = batch.operations.iter().filter_map(|operation| match operation {
            Operation::Submit(once) => Some(once.id.number),
            _ => None,
        });
        self.last = numbers.fold(self.last, u64::max);
        if let Some(entry) = entry {
            (self.batches, self.batch) = (self.batches + 1, self.batch + 1);
            let since = self.batch;
            self.young.extend(entry.changed.into_iter().map(|(name, stage)| (name, (stage, since))));
        }
    }

    /// Parts a batch of an epoch.
    pub(super) fn plan(&self, epoch: u64, batch: &Batch) -> Plan {
        let (mut entry, mut last, mut prunes) = (Entry::default(), self.last, Vec::new());
        entry.is_kept = vec![false; batch.operations.len()];
        for (place, operation) in batch.operations.iter().enumerate() {
            if let Operation::Submit(once) = operation {
                let is_new = once.id.epoch() == epoch && last < once.id.number;
                last = last.max(once.id.number);
                if is_new && is_plain(once) {
                    entry.submit(place, once);
                    continue;
                }
            }
            if let Operation::Prune { job: None, .. } = operation {
                prunes.push((place, document::operation(operation)));
                continue;
            }
            let Some(name) = touched(operation) else { continue };
            let before = || self.young.get(&name).map(|(stage, _)| stage);
            let Some(stage) = entry.changed.get(&name).or_else(before).cloned() else { continue };
            if !entry.follow(place, name, &stage, operation) {
                return Plan::Settle;
            }
        }
        // How many are to be left is counted when all are in the tables.
        let has_prunes = !prunes.is_empty() && !self.is_empty();
        if entry.changed.is_empty() && !has_prunes {
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
}

/// Whether a submission can be written without a look at the tables, if its number is new.
fn is_plain(once: &Once) -> bool {
    once.key.is_none() && once.name == once.id.name()
}

/// The one-shot job without a name of its own that an operation is about, if it is about one.
fn touched(operation: &Operation) -> Option<JobName> {
    let name = match operation {
        Operation::Submit(once) => &once.name,
        Operation::Withdraw { id, .. } => return Some(id.name()),
        Operation::Fire { run, .. } | Operation::Plan(run) => &run.key.job,
        Operation::Begin { key, .. }
        | Operation::End { key, .. }
        | Operation::Clear { key, .. }
        | Operation::Move { key, .. } => &key.job,
        Operation::Define { mark, .. } | Operation::Mark(mark) | Operation::Rewind(mark) => &mark.job,
        Operation::Forget(name) => name,
        Operation::Prune { job, .. } => job.as_ref()?,
        Operation::PauseAll(_) | Operation::Audit(_) => return None,
    };
    Some(name.clone())
}

/// Whether it is what the journal has a form for: the first run of the job, as it was submitted.
fn is_first(run: &Run, id: OnceId, its_work: &Arc<Work>) -> bool {
    let is_begun = match run.state {
        RunState::Running => run.attempt == 1 && run.started.is_some(),
        RunState::Queued | RunState::Scheduled => run.attempt == 0 && run.started.is_none(),
        _ => false,
    };
    let has_more = run.ended.is_some() || run.outcome.is_some() || run.reason.is_some() || run.span.is_some();
    let is_same = run.work.as_ref().is_some_and(|work| Arc::ptr_eq(work, its_work) || work == its_work);
    is_begun
        && !has_more
        && is_same
        && run.cause == Cause::Once
        && is_of(&run.key, id)
        && (run.forgiven, run.crashes) == (0, 0)
}

fn may_follow(from: RunState, to: RunState) -> bool {
    from.may_become(to) && to != RunState::Running && !from.is_forgiven_as(to)
}

fn is_of(key: &RunKey, id: OnceId) -> bool {
    (key.nominal, key.series) == (id.due, 0)
}

impl Entry {
    fn submit(&mut self, place: usize, once: &Once) {
        let numbers = [
            nanoseconds(once.id.due),
            number(once.id.number),
            nanoseconds(once.submitted),
            i64::from(once.work.priority),
        ];
        let texts = [some(once.name.as_str())];
        self.submissions.push(numbers.map(Some), texts.into_iter().chain(work(Some(&once.work))));
        self.keep(place, once.name.clone(), Stage::Pending(once.id, Arc::clone(&once.work)));
    }

    fn keep(&mut self, place: usize, name: JobName, stage: Stage) {
        self.is_kept[place] = true;
        self.changed.insert(name, stage);
    }

    /// Takes what comes next in the life of a young job; false if it is something else.
    fn follow(&mut self, place: usize, name: JobName, stage: &Stage, operation: &Operation) -> bool {
        let next = match (operation, stage) {
            (Operation::Fire { id, run }, Stage::Pending(young, work))
                if id == young && is_first(run, *young, work) =>
            {
                self.fire(*id, run)
            }
            (Operation::Begin { key, attempt: 1, at }, Stage::Waiting(young)) if is_of(key, *young) => {
                self.begins.push([number(young.number), nanoseconds(*at)].map(Some), []);
                Stage::Running(*young)
            }
            (Operation::End { key, attempt: 1, state, .. }, Stage::Running(young))
                if is_of(key, *young) && RunState::Running.may_become(*state) =>
            {
                self.end(*young, operation)
            }
            (Operation::Move { key, from, to, .. }, Stage::Ended(young, state))
                if is_of(key, *young) && from == state && may_follow(*from, *to) =>
            {
                self.go_on(*young, operation)
            }
            _ => return false,
        };
        self.keep(place, name, next);
        true
    }

    fn fire(&mut self, id: OnceId, run: &Run) -> Stage {
        let numbers = [
            Some(number(id.number)),
            Some(nanoseconds(run.due)),
            Some(nanoseconds(run.planned)),
            run.started.map(nanoseconds),
        ];
        self.runs.push(numbers, [some(run.state.name())]);
        if run.state == RunState::Running { Stage::Running(id) } else { Stage::Waiting(id) }
    }

    fn end(&mut self, id: OnceId, operation: &Operation) -> Stage {
        if let Operation::End { state, at, outcome, crashes, reason, .. } = operation {
            let texts = [
                some(state.name()),
                outcome.as_ref().and_then(|outcome| some(&outcome.to_string())),
                Some(document::code(reason.as_ref())),
            ];
            let numbers = [number(id.number), nanoseconds(*at), i64::from(*crashes)];
            self.ends.push(numbers.map(Some), texts);
            return Stage::Ended(id, *state);
        }
        Stage::Moved
    }

    fn go_on(&mut self, id: OnceId, operation: &Operation) -> Stage {
        if let Operation::Move { to, due, at, reason, .. } = operation {
            let texts = [some(to.name()), Some(document::code(reason.as_ref()))];
            self.moves.push([number(id.number), nanoseconds(*due), nanoseconds(*at)].map(Some), texts);
        }
        Stage::Moved
    }

    fn bind(&mut self, prunes: Vec<serde_json::Value>) {
        for (columns, number_count, text_count) in [
            (&mut self.submissions, 4, 5),
            (&mut self.runs, 4, 1),
            (&mut self.begins, 2, 0),
            (&mut self.ends, 3, 3),
            (&mut self.moves, 3, 2),
        ] {
            std::mem::take(columns).bind(number_count, text_count, &mut self.values);
        }
        self.values.push(Value::Documents(prunes));
    }
}

/// The columns of the journal that an entry fills.
pub(super) const COLUMNS: [&str; 28] = [
    "s_due",
    "s_number",
    "s_submitted",
    "s_priority",
    "s_name",
    "s_kind",
    "s_body",
    "s_policies",
    "s_work_group",
    "r_number",
    "r_due",
    "r_planned",
    "r_started",
    "r_state",
    "b_number",
    "b_at",
    "e_number",
    "e_at",
    "e_deaths",
    "e_state",
    "e_outcome",
    "e_reason",
    "m_number",
    "m_due",
    "m_at",
    "m_state",
    "m_reason",
    "prunes",
];
