//! The owner's record of a new one-shot job: its submission, its first run, and what follows that at once.
//!
//! ```text
//!  submitted ─▶ fired ─▶ (begun) ─▶ ended ─▶ (moved: to be tried again, or to the dead letters)
//! ```
//!
//! It says how it is written: a part after another as they come ([`Rows`]), all that there is of it once
//! more, or as a job of an archive block.
//!
//! Cost: some 250 bytes, and a part of the work, whose text it shares. A copy of each text where it is
//! written. What a batch adds is added in place and can be taken back: a batch that fails is sent once more.
//!
//! Does not have a second attempt: that is for the tables.

use std::sync::Arc;

use mainspring_job::{Cause, JobName, Once, OnceId, Operation, Run, RunKey, RunState, Work};
use mainspring_rows::{nanoseconds, number};

use super::column_batch::{Columns, some, told, word, work};
use super::document;
use super::value::{Text, Value};

/// The first run, begun or not.
#[derive(Debug)]
struct First {
    due: i64,
    planned: i64,
    started: Option<i64>,
    state: RunState,
}

/// The end of its first attempt.
#[derive(Debug)]
struct End {
    state: RunState,
    at: i64,
    crashes: u32,
    outcome: Option<Text<'static>>,
    reason: String,
}

/// What follows at once.
#[derive(Debug)]
struct Move {
    to: RunState,
    due: i64,
    at: i64,
    reason: String,
}

/// What an operation has added to a life.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Fired,
    Begun,
    Ended,
    Moved,
}

/// A job.
#[derive(Debug)]
pub(super) struct OneShotRecord {
    id: OnceId,
    name: JobName,
    submitted: i64,
    work: Arc<Work>,
    run: Option<First>,
    /// When a run began that waited first.
    begun: Option<i64>,
    end: Option<End>,
    moved: Option<Move>,
}

impl OneShotRecord {
    pub(super) fn new(once: &Once) -> OneShotRecord {
        let (id, name, work) = (once.id, once.name.clone(), Arc::clone(&once.work));
        OneShotRecord {
            id,
            name,
            submitted: nanoseconds(once.submitted),
            work,
            run: None,
            begun: None,
            end: None,
            moved: None,
        }
    }

    pub(super) fn id(&self) -> OnceId {
        self.id
    }

    pub(super) fn name(&self) -> &JobName {
        &self.name
    }

    /// The number that it was submitted under.
    pub(super) fn number(&self) -> i64 {
        number(self.id.number)
    }

    /// Whether its end is to come.
    pub(super) fn is_under_way(&self) -> bool {
        self.end.is_none()
    }

    /// Whether an archive block has a form for it: it has succeeded, and there is nothing else to be said.
    pub(super) fn is_plain(&self) -> bool {
        let is_success =
            |end: &End| end.state == RunState::Succeeded && end.crashes == 0 && end.reason.is_empty();
        self.moved.is_none() && self.end.as_ref().is_some_and(is_success)
    }

    /// How long its text is, in bytes.
    pub(super) fn body_bytes(&self) -> usize {
        self.work.action.body().len()
    }

    fn is_running(&self) -> bool {
        let has_begun = self.run.as_ref().is_some_and(|run| run.state == RunState::Running);
        (has_begun || self.begun.is_some()) && self.end.is_none()
    }

    fn is_waiting(&self) -> bool {
        self.run.is_some() && !self.is_running() && self.end.is_none()
    }

    fn is_of(&self, key: &RunKey) -> bool {
        (key.nominal, key.series) == (self.id.due, 0)
    }

    /// Whether it is what there is a form for: the first run of the job, as it was submitted.
    fn is_first(&self, run: &Run) -> bool {
        let is_begun = match run.state {
            RunState::Running => run.attempt == 1 && run.started.is_some(),
            RunState::Queued | RunState::Scheduled => run.attempt == 0 && run.started.is_none(),
            _ => false,
        };
        let has_more =
            run.ended.is_some() || run.outcome.is_some() || run.reason.is_some() || run.span.is_some();
        let is_same =
            run.work.as_ref().is_some_and(|work| Arc::ptr_eq(work, &self.work) || *work == self.work);
        is_begun
            && !has_more
            && is_same
            && run.cause == Cause::Once
            && self.is_of(&run.key)
            && (run.forgiven, run.crashes) == (0, 0)
    }

    /// Takes what comes next, and writes it; `None` if it is something else.
    pub(super) fn follow(&mut self, operation: &Operation, rows: &mut Rows) -> Option<Step> {
        Some(match operation {
            Operation::Fire { id, run } if self.run.is_none() && *id == self.id && self.is_first(run) => {
                let (due, planned) = (nanoseconds(run.due), nanoseconds(run.planned));
                self.run =
                    Some(First { due, planned, started: run.started.map(nanoseconds), state: run.state });
                rows.run(self);
                Step::Fired
            }
            Operation::Begin { key, attempt: 1, at, .. } if self.is_waiting() && self.is_of(key) => {
                self.begun = Some(nanoseconds(*at));
                rows.begin(self);
                Step::Begun
            }
            Operation::End { key, attempt: 1, state, at, outcome, crashes, reason }
                if self.is_running() && self.is_of(key) && RunState::Running.may_become(*state) =>
            {
                let (at, outcome) = (nanoseconds(*at), outcome.as_ref().map(told));
                let reason = document::code(reason.as_ref());
                self.end = Some(End { state: *state, at, crashes: *crashes, outcome, reason });
                rows.end(self);
                Step::Ended
            }
            Operation::Move { key, from, to, due, at, reason }
                if self.moved.is_none() && self.is_of(key) && self.may_follow(*from, *to) =>
            {
                let (due, at) = (nanoseconds(*due), nanoseconds(*at));
                self.moved = Some(Move { to: *to, due, at, reason: document::code(reason.as_ref()) });
                rows.go_on(self);
                Step::Moved
            }
            _ => return None,
        })
    }

    /// Is as it was before this step, which was the last.
    pub(super) fn take_back(&mut self, step: Step) {
        match step {
            Step::Fired => self.run = None,
            Step::Begun => self.begun = None,
            Step::Ended => self.end = None,
            Step::Moved => self.moved = None,
        }
    }

    fn may_follow(&self, from: RunState, to: RunState) -> bool {
        self.end.as_ref().is_some_and(|end| end.state == from)
            && from.may_become(to)
            && to != RunState::Running
            && !from.is_forgiven_as(to)
    }
}

/// Parts of lives, in the columns of an entry of the write buffer.
#[derive(Default)]
pub(super) struct Rows {
    submissions: Columns,
    runs: Columns,
    begins: Columns,
    ends: Columns,
    moves: Columns,
}

impl Rows {
    pub(super) fn submission(&mut self, record: &OneShotRecord) {
        let numbers =
            [nanoseconds(record.id.due), record.number(), record.submitted, i64::from(record.work.priority)];
        let texts = [some(record.name.as_str())];
        self.submissions.push(numbers.map(Some), texts.into_iter().chain(work(Some(&record.work))));
    }

    fn run(&mut self, record: &OneShotRecord) {
        if let Some(run) = &record.run {
            let numbers = [Some(record.number()), Some(run.due), Some(run.planned), run.started];
            self.runs.push(numbers, [word(run.state.name())]);
        }
    }

    fn begin(&mut self, record: &OneShotRecord) {
        if let Some(at) = record.begun {
            self.begins.push([record.number(), at].map(Some), []);
        }
    }

    fn end(&mut self, record: &OneShotRecord) {
        if let Some(end) = &record.end {
            let outcome = end.outcome.as_deref().map(Text::Borrowed);
            let texts = [word(end.state.name()), outcome, Some(Text::Borrowed(&end.reason))];
            self.ends.push([record.number(), end.at, i64::from(end.crashes)].map(Some), texts);
        }
    }

    fn go_on(&mut self, record: &OneShotRecord) {
        if let Some(Move { to, due, at, reason }) = &record.moved {
            let texts = [word(to.name()), Some(Text::Borrowed(reason))];
            self.moves.push([record.number(), *due, *at].map(Some), texts);
        }
    }

    /// All that there is of a life.
    pub(super) fn whole(&mut self, record: &OneShotRecord) {
        self.submission(record);
        self.run(record);
        self.begin(record);
        self.end(record);
        self.go_on(record);
    }

    /// Its places: see the parameters of `commit_3`, and of `settle_2`.
    pub(super) fn bind(self, values: &mut Vec<Value>) {
        let Rows { submissions, runs, begins, ends, moves } = self;
        submissions.bind_short(4, 5, values);
        runs.bind_short(4, 1, values);
        begins.bind_short(2, 0, values);
        ends.bind_short(3, 3, values);
        moves.bind_short(3, 2, values);
    }
}

/// Jobs for a pack: see `settle_2`, whose parameters are bound in this order.
#[derive(Default)]
pub(super) struct ArchiveBlock(Columns);

impl ArchiveBlock {
    /// A job that [is plain](Life::is_plain); nothing of another.
    pub(super) fn push(&mut self, record: &OneShotRecord) {
        let OneShotRecord { id, name, work: its_work, run: Some(run), end: Some(end), .. } = record else {
            return;
        };
        let numbers = [
            Some(nanoseconds(id.due)),
            Some(record.number()),
            Some(run.due),
            Some(run.planned),
            run.started.or(record.begun),
            Some(end.at),
            Some(i64::from(its_work.priority)),
        ];
        let texts = [some(name.as_str())].into_iter().chain(work(Some(its_work)));
        self.0.push(numbers, texts.chain([end.outcome.as_deref().map(Text::Borrowed)]));
    }

    pub(super) fn bind(self, values: &mut Vec<Value>) {
        self.0.bind_short(7, 6, values);
    }
}
