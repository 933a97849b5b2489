//! Caches the last run of each job from one list to the next, until a batch touches the job.
//!
//! ```text
//! list ─▶ question, after n batches ─▶ store ─▶ text ─▶ learn: kept, unless a batch after the n-th touches the job
//! batch on its way to the store ─▶ Touch: of one job, or of all ─▶ it is not known any more
//! ```
//!
//! It is exact where this loop alone writes to the store, as with a file or memory; what several owners share
//! is asked each time. It rests on five facts:
//!
//! 1. The store tells of the last run of a job what its ended runs say, and nothing else.
//! 2. What changes those is an operation of a batch, and each batch is noted before it is given to the store.
//! 3. An answer is kept only if the question was put when every batch given before it was on disk. So it has
//!    all that those have changed.
//! 4. It may have less or more of the batches after those. They are noted as well: what they touch is not
//!    kept, or is dropped.
//! 5. Of a decision that is in no batch yet nothing is noted. So what is kept counts only when there is none.
//!
//! A batch that the store refuses, or takes late, has been noted all the same: then the store is asked.
//!
//! Cost: a lookup for each operation that may end a run; at most
//! [`MAX_LAST_BYTES`] for each of [`MAX_ROWS`](super::job_rows::MAX_ROWS) jobs.
//!
//! Does not know the runs.

use mainspring_job::{JobName, Operation};

use super::listed::LastText;

/// How long a text is that is kept: four times as long as most. For a longer one the store is asked each
/// time.
const MAX_LAST_BYTES: usize = 2 << 10;

/// How many batches were given to the store.
pub(super) type BatchCount = u64;

/// Whose last run an operation may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch<'o> {
    Nobody,
    Job(&'o JobName),
    /// The operation does not name the job.
    Anybody,
}

impl Touch<'_> {
    /// That of an operation. A run that is added open, or goes from one open state to another, is not over,
    /// neither before nor afterwards.
    pub(super) fn of(operation: &Operation) -> Touch<'_> {
        match operation {
            Operation::Plan(run) if run.state.is_open() => Touch::Nobody,
            Operation::Move { from, to, .. } if from.is_open() && to.is_open() => Touch::Nobody,
            Operation::Plan(run) | Operation::Fire { run, .. } => Touch::Job(&run.key.job),
            Operation::Begin { key, .. }
            | Operation::End { key, .. }
            | Operation::Clear { key, .. }
            | Operation::Move { key, .. } => Touch::Job(&key.job),
            // The record of the job is made, and runs of a job that was removed are found again.
            Operation::Define { mark, .. } => Touch::Job(&mark.job),
            Operation::Prune { job: Some(job), .. } => Touch::Job(job),
            // The one-shot job has a name, which may be that of a job that was defined later.
            Operation::Withdraw { .. } | Operation::Prune { job: None, .. } => Touch::Anybody,
            Operation::Submit(_)
            | Operation::Mark(_)
            | Operation::Rewind(_)
            | Operation::Forget { .. }
            | Operation::PauseAll(_)
            | Operation::Audit(_) => Touch::Nobody,
        }
    }
}

/// What the loop knows of the last run of one job.
#[derive(Debug)]
pub(super) struct LastRun {
    /// What the store has told, and how many batches were given when it was asked.
    known: Option<(LastText, BatchCount)>,
    /// The batch that touched it last.
    touched: BatchCount,
}

impl LastRun {
    /// Nothing is known, nor which of the batches before this one touched it.
    pub(super) fn unknown(given: BatchCount) -> LastRun {
        LastRun { known: None, touched: given }
    }

    /// What is known, where any job was touched last by that batch.
    pub(super) fn known(&self, all_touched: BatchCount) -> Option<LastText> {
        let (text, _) = self.known.as_ref().filter(|(_, asked)| all_touched <= *asked)?;
        Some(text.clone())
    }

    /// A batch touches it.
    pub(super) fn touch(&mut self, batch: BatchCount) {
        (self.known, self.touched) = (None, batch);
    }

    /// The store has told it, asked when so many batches were on disk.
    pub(super) fn learn(&mut self, text: LastText, asked: BatchCount) {
        let bytes = text.as_ref().map_or(0, |text| text.len());
        if self.touched <= asked && bytes <= MAX_LAST_BYTES {
            self.known = Some((text, asked));
        }
    }
}

/// What the store told of the last runs of jobs.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// How many batches were given when it was asked.
    pub(super) asked: BatchCount,
    pub(super) lasts: Vec<(JobName, LastText)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_until_a_batch_after_its_question_touches_the_job() {
        let text: LastText = Some("{}".into());
        let mut last = LastRun::unknown(3);
        last.learn(text.clone(), 2);
        assert_eq!(last.known(0), None, "batch 3 may have touched it");
        last.learn(text.clone(), 3);
        assert_eq!(last.known(0), Some(text.clone()));
        assert_eq!((last.known(3), last.known(4)), (Some(text.clone()), None), "batch 4 touched all");
        last.touch(5);
        assert_eq!(last.known(0), None);
        last.learn(text.clone(), 4);
        assert_eq!(last.known(0), None, "it was asked before");
        last.learn(None, 5);
        assert_eq!(last.known(5), Some(None), "it is known that there is none");
        let mut last = LastRun::unknown(5);
        last.learn(Some("x".repeat(MAX_LAST_BYTES + 1).into()), 5);
        assert_eq!(last.known(5), None, "it is too long");
    }
}
