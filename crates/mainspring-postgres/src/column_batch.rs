//! Splits a batch into the operations for one statement of each kind, and those done one by one after it.
//!
//! ```text
//!  batch ─┬─ submissions ─┐
//!         ├─ open runs   ─┼─▶ columns ─▶ commit_2 (sql/0008_waves.sql), all of them new
//!         ├─ begins      ─┤                └─ MS001: some are not: those are done one by one with the rest
//!         ├─ ends        ─┘
//!         └─ all else, and what touches the same as one before ─▶ documents, in their order
//! ```
//!
//! An operation belongs to the column batch if nothing before it in the batch touches what it touches: then
//! it does not matter that it is done sooner. After a barrier, whose effect is on more than it names, nothing
//! does.
//!
//! Cost: a look into a set for each thing that an operation touches, and a copy of each text into its column.
//!
//! Does not know what is stored: that an operation is not new is found out by doing the column batch.

use std::collections::HashSet;

use jiff::Timestamp;
use mainspring_job::{Batch, Once, OnceId, Operation, Outcome, Run, RunKey, RunState, Work};
use mainspring_rows::{nanoseconds, number};

use super::document;
use super::escape::kept;
use super::value::{Column, Text, Value};

/// What an operation touches.
#[derive(PartialEq, Eq, Hash)]
enum TouchedKey<'b> {
    Pending(OnceId),
    Name(&'b str),
    Key(&'b str),
    Run(&'b str, Timestamp, u32),
}

/// The columns of one kind.
#[derive(Default)]
pub(super) struct Columns {
    numbers: Vec<Column>,
    texts: Vec<Column>,
}

impl Columns {
    /// One more row.
    pub(super) fn push<'t>(
        &mut self,
        numbers: impl IntoIterator<Item = Option<i64>>,
        texts: impl IntoIterator<Item = Option<Text<'t>>>,
    ) {
        for (index, number) in numbers.into_iter().enumerate() {
            if self.numbers.len() <= index {
                self.numbers.push(Column::default());
            }
            self.numbers[index].push_number(number);
        }
        for (index, text) in texts.into_iter().enumerate() {
            if self.texts.len() <= index {
                self.texts.push(Column::default());
            }
            self.texts[index].push_text(text.as_deref());
        }
    }

    /// So many columns of numbers, and then so many of texts, each as a whole.
    fn bind(mut self, number_count: usize, text_count: usize, values: &mut Vec<Value>) {
        self.numbers.iter_mut().chain(&mut self.texts).for_each(Column::complete);
        self.bind_short(number_count, text_count, values);
    }

    /// The same, and a column whose rows are alike has one row.
    pub(super) fn bind_short(mut self, number_count: usize, text_count: usize, values: &mut Vec<Value>) {
        self.numbers.resize(number_count, Column::default());
        self.texts.resize(text_count, Column::default());
        values.extend(self.numbers.into_iter().map(Value::Numbers));
        values.extend(self.texts.into_iter().map(Value::Strings));
    }
}

/// What is asked of `commit_2` in the places after the number of the batch.
#[derive(Default)]
pub(super) struct ColumnBatch {
    submissions: Columns,
    runs: Columns,
    begins: Columns,
    ends: Columns,
    singles: Vec<serde_json::Value>,
    ordinals: Vec<i64>,
}

/// A text as it is kept.
pub(super) fn some(text: &str) -> Option<Text<'_>> {
    Some(kept(text))
}

/// A word of the program's own.
pub(super) fn word(word: &'static str) -> Option<Text<'static>> {
    Some(Text::Borrowed(word))
}

pub(super) fn work(work: Option<&Work>) -> [Option<Text<'_>>; 4] {
    [
        work.and_then(|work| some(work.action.kind())),
        work.and_then(|work| some(work.action.body())),
        work.map(|work| Text::Owned(work.policies.to_string())),
        work.and_then(|work| work.group.as_ref()).map(|group| Text::Borrowed(group.as_str())),
    ]
}

/// The text of an outcome; that of nearly all is made here.
pub(super) fn told(outcome: &Outcome) -> Text<'static> {
    if *outcome == Outcome::Succeeded {
        "succeeded".into()
    } else {
        kept(&outcome.to_string()).into_owned().into()
    }
}

fn of_key(key: &RunKey) -> TouchedKey<'_> {
    TouchedKey::Run(key.job.as_str(), key.nominal, key.series)
}

/// Whether the column batch may have it, as far as the operation itself says.
fn is_plain(operation: &Operation) -> bool {
    // What `insert_all` has columns for.
    let is_open =
        |run: &Run| run.state.is_open() && run.ended.is_none() && run.outcome.is_none() && run.span.is_none();
    match operation {
        Operation::Submit(_) | Operation::Begin { .. } => true,
        Operation::Fire { run, .. } | Operation::Plan(run) => is_open(run),
        Operation::End { state, .. } => RunState::Running.may_become(*state),
        _ => false,
    }
}

/// What an operation touches that another may touch too; `None` if it is more than the operation names.
fn touched(operation: &Operation) -> Option<Vec<TouchedKey<'_>>> {
    Some(match operation {
        Operation::Submit(once) => {
            let name = once.name.as_str();
            let key = once.key.as_deref().map(TouchedKey::Key);
            let places =
                [TouchedKey::Pending(once.id), TouchedKey::Name(name), TouchedKey::Run(name, once.id.due, 0)];
            places.into_iter().chain(key).collect()
        }
        Operation::Fire { id, run } => {
            vec![TouchedKey::Pending(*id), TouchedKey::Name(run.key.job.as_str()), of_key(&run.key)]
        }
        Operation::Plan(run) => vec![of_key(&run.key)],
        Operation::Begin { key, .. }
        | Operation::End { key, .. }
        | Operation::Clear { key, .. }
        | Operation::Move { key, .. } => vec![of_key(key)],
        // Columns that no operation of the column batch has to do with.
        Operation::Mark(_) | Operation::Rewind(_) | Operation::Forget { .. } | Operation::Audit(_) => {
            Vec::new()
        }
        // The name of what is withdrawn, the last run of a job that is made, and what is pruned.
        Operation::Withdraw { .. }
        | Operation::Define { .. }
        | Operation::Prune { .. }
        | Operation::PauseAll(_) => return None,
    })
}

fn is_named(once: &Once) -> bool {
    once.name.as_str().parse::<OnceId>().is_err()
}

impl ColumnBatch {
    /// Parts a batch, but for what is kept in the write buffer: nothing else touches that. `unfit` are the
    /// places of operations that are done one by one in any case.
    pub(super) fn of(batch: &Batch, is_kept: &[bool], unfit: &HashSet<i64>) -> ColumnBatch {
        let (mut column_batch, mut seen) = (ColumnBatch::default(), HashSet::new());
        let (mut is_open, mut has_fired, mut has_named) = (true, false, false);
        let is_kept = is_kept.iter().copied().chain(std::iter::repeat(false));
        for ((ordinal, operation), is_kept) in (1_i64..).zip(&batch.operations).zip(is_kept) {
            if is_kept {
                continue;
            }
            let places = touched(operation);
            let is_alone = is_open && places.iter().flatten().all(|place| !seen.contains(place));
            // The name that a job leaves when it fires is known to the store alone: what fires and what takes
            // a name keep their order.
            let fires = matches!(operation, Operation::Fire { .. });
            let names = matches!(operation, Operation::Submit(once) if is_named(once));
            let waits = (has_fired && names) || (has_named && fires);
            is_open &= places.is_some();
            has_fired |= fires;
            seen.extend(places.into_iter().flatten());
            if is_alone && is_plain(operation) && !waits && !unfit.contains(&ordinal) {
                column_batch.take(ordinal, operation);
            } else {
                // In the column batch it would come before the firings; one by one it comes after them.
                has_named |= names;
                column_batch.singles.push(document::operation(operation));
                column_batch.ordinals.push(ordinal);
            }
        }
        column_batch
    }

    fn take(&mut self, ordinal: i64, operation: &Operation) {
        match operation {
            Operation::Submit(once) => self.submit(ordinal, once),
            Operation::Fire { id, run } => self.insert(ordinal, Some(*id), run),
            Operation::Plan(run) => self.insert(ordinal, None, run),
            Operation::Begin { key, attempt, at, .. } => self.begins.push(
                [
                    ordinal,
                    nanoseconds(key.nominal),
                    i64::from(key.series),
                    i64::from(*attempt),
                    nanoseconds(*at),
                ]
                .map(Some),
                [some(key.job.as_str())],
            ),
            Operation::End { key, attempt, state, at, outcome, crashes, reason } => self.ends.push(
                [
                    ordinal,
                    nanoseconds(key.nominal),
                    i64::from(key.series),
                    i64::from(*attempt),
                    nanoseconds(*at),
                    i64::from(*crashes),
                ]
                .map(Some),
                [
                    some(key.job.as_str()),
                    word(state.name()),
                    outcome.as_ref().map(told),
                    Some(document::code(reason.as_ref()).into()),
                ],
            ),
            _ => unreachable!("no other operation is plain"),
        }
    }

    fn submit(&mut self, ordinal: i64, once: &Once) {
        let numbers = [
            ordinal,
            nanoseconds(once.id.due),
            number(once.id.number),
            i64::from(is_named(once)),
            nanoseconds(once.submitted),
            i64::from(once.work.priority),
        ];
        let texts = [some(once.name.as_str()), once.key.as_deref().and_then(some)];
        self.submissions.push(numbers.map(Some), texts.into_iter().chain(work(Some(&once.work))));
    }

    fn insert(&mut self, ordinal: i64, id: Option<OnceId>, run: &Run) {
        let numbers = [
            Some(ordinal),
            id.map(|id| nanoseconds(id.due)),
            id.map(|id| number(id.number)),
            Some(nanoseconds(run.key.nominal)),
            Some(i64::from(run.key.series)),
            Some(i64::from(run.attempt)),
            Some(nanoseconds(run.due)),
            Some(nanoseconds(run.planned)),
            run.started.map(nanoseconds),
            run.work.as_ref().map(|work| i64::from(work.priority)),
            Some(i64::from(run.crashes)),
            Some(i64::from(run.forgiven)),
        ];
        let texts = [
            some(run.key.job.as_str()),
            word(run.cause.name()),
            word(run.state.name()),
            Some(document::code(run.reason.as_ref()).into()),
        ];
        self.runs.push(numbers, texts.into_iter().chain(work(run.work.as_deref())));
    }

    /// Its places: see the parameters of `commit_2`.
    pub(super) fn bind(self, values: &mut Vec<Value>) {
        let from = RunState::ALL.into_iter().filter(|state| state.may_become(RunState::Running));
        values.push(Value::Documents(self.singles));
        values.push(Value::Ints(self.ordinals));
        self.submissions.bind(6, 6, values);
        self.runs.bind(12, 8, values);
        self.begins.bind(5, 1, values);
        values.push(Value::Texts(from.map(|state| state.name().to_owned()).collect()));
        self.ends.bind(6, 4, values);
    }
}
