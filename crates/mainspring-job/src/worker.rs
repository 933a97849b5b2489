//! Workers: the servers that carry runs out, as the planner knows them.
//!
//! ```text
//!  Present(worker) ──▶ runs start at it ──▶ Leaving: no more start ──▶ Gone { how }: what still ran is abandoned
//!        ▲  │                                                       └─▶ Left: what had not begun waits again
//!        └──┘ again, with other labels or another capacity
//! ```
//!
//! A run starts at a worker that is present, has every label that the run needs, and has a free place. A
//! server of its own is one worker, present from the start to the end.
//!
//! | | |
//! |---|---|
//! | an id | names one life of a worker; a server that comes back has another, so nothing of its former life is believed |
//! | a label | says something that the worker has: a machine, a region, a handler of a program |
//! | a level | of a label, for what has versions: a worker with level 3 serves what needs at most 3 |
//! | a capacity | how many runs may run at the worker at once |
//! | what is ahead | how many more may be started there, and wait at the worker: runs that are tried again if it dies |
//!
//! Cost: a clone of [`Needs`] counts a reference.
//!
//! Does not choose: see [`Planner`](crate::Planner). Does not find out who is there: the store's leases do.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest label of a worker, in bytes: it has room for the longest name of a job, and words before it.
pub const MAX_WORKER_LABEL_BYTES: usize = 256;

/// Names one life of a worker. Of two lives of one server the later has the greater number.
///
/// # Example
/// ```
/// use mainspring_job::WorkerId;
///
/// assert!(WorkerId(7) < WorkerId(8), "a server that comes back is another worker");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "an id is its number")]
pub struct WorkerId(pub u64);

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Says something that a worker has: `gpu`, `region=eu`, `handler=send-mail`. Equal texts are the same label;
/// the order is that of their bytes.
///
/// # Example
/// ```
/// use mainspring_job::WorkerLabel;
///
/// let label: WorkerLabel = "region=eu".parse()?;
/// assert_eq!(label.as_str(), "region=eu");
/// assert!("two words".parse::<WorkerLabel>().is_err());
/// # Ok::<(), mainspring_job::WorkerLabelError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerLabel(Arc<str>);

impl WorkerLabel {
    /// Checks a text and makes it a label.
    ///
    /// # Errors
    /// When it is empty, is longer than [`MAX_WORKER_LABEL_BYTES`], or holds white space, a comma or a
    /// control character.
    pub fn new(text: &str) -> Result<WorkerLabel, WorkerLabelError> {
        let is_wrong = |c: char| c.is_whitespace() || c.is_control() || c == ',';
        if text.is_empty() {
            Err(WorkerLabelError::Empty)
        } else if MAX_WORKER_LABEL_BYTES < text.len() {
            Err(WorkerLabelError::TooLong)
        } else if let Some(wrong) = text.chars().find(|&c| is_wrong(c)) {
            Err(WorkerLabelError::Character(wrong))
        } else {
            Ok(WorkerLabel(text.into()))
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for WorkerLabel {
    type Err = WorkerLabelError;

    fn from_str(text: &str) -> Result<WorkerLabel, WorkerLabelError> {
        WorkerLabel::new(text)
    }
}

/// Says why a text is no label of a worker.
///
/// # Example
/// ```
/// use mainspring_job::{WorkerLabel, WorkerLabelError};
///
/// assert_eq!(WorkerLabel::new("a b"), Err(WorkerLabelError::Character(' ')));
/// assert_eq!(WorkerLabelError::Empty.to_string(), "a label must not be empty");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerLabelError {
    /// There is nothing.
    Empty,
    /// It has more than [`MAX_WORKER_LABEL_BYTES`] bytes.
    TooLong,
    /// This character may not stand in it.
    Character(char),
}

impl fmt::Display for WorkerLabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkerLabelError::Empty => f.write_str("a label must not be empty"),
            WorkerLabelError::TooLong => write!(f, "a label has at most {MAX_WORKER_LABEL_BYTES} bytes"),
            WorkerLabelError::Character(c) => {
                write!(f, "`{}` may not stand in a label: no white space and no comma may", c.escape_debug())
            }
        }
    }
}

impl Error for WorkerLabelError {}

/// The labels that a run needs of its worker, each with the least level, and which worker that must be, if
/// the run is for one. The default needs nothing.
///
/// # Example
/// ```
/// use mainspring_job::{Needs, Worker, WorkerId};
///
/// let worker = Worker::new(WorkerId(1), "web-1", 16).with_label("handler=mail".parse()?, 3);
/// let needs = |level| Ok::<_, mainspring_job::WorkerLabelError>(Needs::new([("handler=mail".parse()?, level)]));
/// assert!(worker.serves(&needs(2)?) && !worker.serves(&needs(4)?));
/// assert!(worker.serves(&Needs::default()));
/// # Ok::<(), mainspring_job::WorkerLabelError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Needs {
    labels: Arc<[(WorkerLabel, u32)]>,
    worker: Option<WorkerId>,
}

impl Needs {
    /// These. Of a label that is there twice the greater level counts.
    pub fn new(labels: impl IntoIterator<Item = (WorkerLabel, u32)>) -> Needs {
        let mut needs: Vec<(WorkerLabel, u32)> = labels.into_iter().collect();
        needs.sort_unstable_by(|one, other| other.cmp(one));
        needs.dedup_by(|later, first| later.0 == first.0);
        needs.reverse();
        Needs { labels: needs.into(), worker: None }
    }

    /// The same of one worker, or of whichever.
    pub(crate) fn at(self, worker: Option<WorkerId>) -> Needs {
        Needs { worker, ..self }
    }

    /// The labels and their levels, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(WorkerLabel, u32)> {
        self.labels.iter()
    }
}

/// The labels with commas between, for people; `anything` if there are none.
impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.labels.is_empty() {
            return f.write_str("anything");
        }
        self.labels.iter().enumerate().try_for_each(|(index, (label, level))| {
            f.write_str(if index == 0 { "" } else { ", " })?;
            if *level == 0 { write!(f, "{label}") } else { write!(f, "{label} of version {level}") }
        })
    }
}

/// A server that carries runs out.
///
/// # Example
/// ```
/// use mainspring_job::{Input, Worker, WorkerEvent, WorkerId};
///
/// let worker = Worker::new(WorkerId(1), "web-1", 16).with_label("gpu".parse()?, 0);
/// let input = Input::Worker(WorkerEvent::Present(worker));
/// # let _ = input;
/// # Ok::<(), mainspring_job::WorkerLabelError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worker {
    /// Which life of it.
    pub id: WorkerId,
    /// For people; of two workers that are equally free the first by name gets a run.
    pub name: String,
    /// What it has, each with its level.
    pub labels: BTreeMap<WorkerLabel, u32>,
    /// How many runs may run at it at once. With 0 it carries out nothing.
    pub capacity: usize,
    /// How many more may be started there, which wait at it. Only runs are whose retry policy names
    /// `abandoned`: if the worker dies, it is not known which of them had begun.
    pub ahead: usize,
}

impl Worker {
    /// One without labels.
    pub fn new(id: WorkerId, name: impl Into<String>, capacity: usize) -> Worker {
        Worker { id, name: name.into(), labels: BTreeMap::new(), capacity, ahead: 0 }
    }

    /// The same where so many more may be started, and wait.
    #[must_use]
    pub fn with_ahead(self, ahead: usize) -> Worker {
        Worker { ahead, ..self }
    }

    /// The same with a label of a level; 0 where levels mean nothing.
    #[must_use]
    pub fn with_label(mut self, label: WorkerLabel, level: u32) -> Worker {
        self.labels.insert(label, level);
        self
    }

    /// The same with several labels, each with its level.
    #[must_use]
    pub fn with_labels(mut self, labels: impl IntoIterator<Item = (WorkerLabel, u32)>) -> Worker {
        self.labels.extend(labels);
        self
    }

    /// Whether it has all that a run needs.
    pub fn serves(&self, needs: &Needs) -> bool {
        needs.worker.is_none_or(|id| id == self.id) && needs.iter().all(|need| self.has(need))
    }

    /// Whether it has a label, of at least a level.
    pub(crate) fn has(&self, (label, level): &(WorkerLabel, u32)) -> bool {
        self.labels.get(label).is_some_and(|has| level <= has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str) -> WorkerLabel {
        WorkerLabel::new(text).unwrap()
    }

    #[test]
    fn labels_are_plain_words() {
        for good in ["gpu", "region=eu", "handler=send-mail", "größe=3", "a/b:c+d"] {
            assert_eq!(WorkerLabel::new(good).unwrap().to_string(), good);
        }
        let long = "x".repeat(MAX_WORKER_LABEL_BYTES + 1);
        let cases = [
            ("", WorkerLabelError::Empty),
            (long.as_str(), WorkerLabelError::TooLong),
            ("a b", WorkerLabelError::Character(' ')),
            ("a,b", WorkerLabelError::Character(',')),
            ("a\u{7}", WorkerLabelError::Character('\u{7}')),
        ];
        for (bad, error) in cases {
            assert_eq!(WorkerLabel::new(bad), Err(error), "{bad}");
        }
        assert!(WorkerLabel::new(&"x".repeat(MAX_WORKER_LABEL_BYTES)).is_ok());
    }

    #[test]
    fn needs_are_the_same_in_any_order_and_the_greater_level_counts() {
        let (gpu, mail) = (label("gpu"), label("handler=mail"));
        let one = Needs::new([(mail.clone(), 1), (gpu.clone(), 0), (mail.clone(), 3)]);
        let other = Needs::new([(gpu.clone(), 0), (mail.clone(), 3)]);
        assert_eq!(one, other);
        assert_eq!(one.to_string(), "gpu, handler=mail of version 3");
        assert_eq!(Needs::default().to_string(), "anything");
    }

    #[test]
    fn a_worker_serves_what_it_has_all_labels_of() {
        let worker = Worker::new(WorkerId(1), "a", 1).with_label(label("gpu"), 0).with_label(label("h"), 2);
        let serves = |needs: &[(&str, u32)]| {
            worker.serves(&Needs::new(needs.iter().map(|(text, level)| (label(text), *level))))
        };
        assert!(serves(&[]) && serves(&[("gpu", 0)]) && serves(&[("gpu", 0), ("h", 2)]));
        assert!(!serves(&[("h", 3)]) && !serves(&[("gpu", 0), ("eu", 0)]));
    }
}
