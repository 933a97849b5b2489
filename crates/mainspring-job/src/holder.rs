//! The holder of a key or a name: the one-shot job, or its run, because of which a submission changed
//! nothing.
//!
//! ```text
//!  the same key (or none in both) and the same work   the same submission again: nothing is to be done
//!  anything else                                      another has the place: the submission is refused
//! ```
//!
//! Without a key the due time has to be the same too: a name alone does not say that a second submission is
//! the first.
//!
//! Cost: two or three questions to the store for each submission that was no new one, and none for the
//! others.
//!
//! Does not keep anything from changing: what waited when a submission was refused may run when its holder is
//! read. One that is gone by then has no holder.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::name::JobName;
use crate::once::{Once, OnceId, Submission};
use crate::operation::{Answer, Batch, Operation};
use crate::run::{Run, RunKey};
use crate::state::RunState;
use crate::store::{Reader, StoreError};
use crate::work::Work;

/// What has the key or the name that a submission asked for.
///
/// # Example
/// ```
/// use mainspring_job::{Action, Holder, Once, OnceId, Submission, Work};
///
/// let due = "2026-11-21T09:00:00Z".parse()?;
/// let work = Work::new(Action::new("mail", "to: ada")?);
/// let holder = Holder::waiting(Once::new(OnceId { due, number: 7 }, due, work.clone()));
/// assert_eq!(holder.standing(), "pending, due 2026-11-21T09:00:00Z");
/// assert!(holder.is_same(&Submission::new(due, work.clone())));
/// assert!(!holder.is_same(&Submission::new(due, work).with_key("another")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Holder {
    /// Its id. `None` for a run of that name and due time that was found without a key.
    pub id: Option<OnceId>,
    /// Its name.
    pub name: JobName,
    /// Its idempotency key, if it has one.
    pub key: Option<String>,
    /// When it is or was due.
    pub due: Timestamp,
    /// The state of its run. `None`: it has not fired.
    pub state: Option<RunState>,
    /// Why its run is in that state; empty if the state says it all.
    pub why: String,
    /// What it does. `None` for a run of a job, which is no one-shot job.
    pub work: Option<Arc<Work>>,
}

impl Holder {
    /// One of which no more is known.
    pub fn new(name: JobName, due: Timestamp) -> Holder {
        Holder { id: None, name, key: None, due, state: None, why: String::new(), work: None }
    }

    /// A one-shot job that has not fired.
    pub fn waiting(once: Once) -> Holder {
        let Once { id, name, key, work, .. } = once;
        Holder { id: Some(id), key, work: Some(work), ..Holder::new(name, id.due) }
    }

    fn of_run(id: Option<OnceId>, key: Option<&str>, run: Run) -> Holder {
        let (state, why, key) = (Some(run.state), run.why(), key.map(str::to_owned));
        Holder { id, key, state, why, work: run.work, ..Holder::new(run.key.job, run.key.nominal) }
    }

    /// Whether a submission asks for what this one is: see the [module's table](self).
    pub fn is_same(&self, submission: &Submission) -> bool {
        let is_due_then = self.key.is_some() || self.due == submission.due;
        self.key == submission.key && self.work.as_ref() == Some(&submission.work) && is_due_then
    }

    /// How it stands, for people: `pending, due ..`, or the state of its run and why.
    pub fn standing(&self) -> String {
        match self.state {
            None => format!("pending, due {}", self.due),
            Some(state) if self.why.is_empty() => state.name().to_owned(),
            Some(state) => format!("{} ({})", state.name(), self.why),
        }
    }

    /// Asks a store what has the key of a one-shot job, or else its name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn find<R: Reader + ?Sized>(reader: &mut R, once: &Once) -> Result<Option<Holder>, StoreError> {
        let key = once.key.as_deref();
        if let Some(key) = key
            && let Some((id, name)) = reader.keyed(key)?
        {
            let waiting = reader.pending_named(&name)?.filter(|found| found.id == id);
            if waiting.is_some() {
                return Ok(waiting.map(Holder::waiting));
            }
            let run = reader.run(&RunKey::new(name, id.due))?;
            return Ok(run.map(|run| Holder::of_run(Some(id), Some(key), run)));
        }
        if let Some(found) = reader.pending_named(&once.name)? {
            return Ok(Some(Holder::waiting(found)));
        }
        let run = reader.run(&RunKey::new(once.name.clone(), once.id.due))?;
        Ok(run.map(|run| Holder::of_run(None, None, run)))
    }

    /// The holders for the submissions of a batch that were no new ones: what [`Input::Holders`] tells. Each
    /// with the place of its operation in the batch.
    ///
    /// [`Input::Holders`]: crate::Input::Holders
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn of_batch<R: Reader + ?Sized>(
        reader: &mut R,
        batch: &Batch,
        answers: &[Answer],
    ) -> Result<Vec<(usize, Holder)>, StoreError> {
        let mut holders = Vec::new();
        for (index, (operation, answer)) in batch.operations.iter().zip(answers).enumerate() {
            if let (Operation::Submit(once), Answer::Duplicate(_)) = (operation, answer)
                && let Some(holder) = Holder::find(reader, once)?
            {
                holders.push((index, holder));
            }
        }
        Ok(holders)
    }
}

/// As a sentence: what it is, and how it stands.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.name)?;
        if let Some(key) = &self.key {
            write!(f, " with the key `{key}`")?;
        }
        write!(f, " is {}", self.standing())
    }
}
