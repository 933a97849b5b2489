//! A job: what to do, when, and by which policies.
//!
//! ```text
//!  Job ─┬─ name                    unique
//!       ├─ timetable ─┬─ triggers  one or several schedules: cron, OnCalendar, every, at, at boot
//!       │             ├─ exclusions   times and dates on which it rests
//!       │             └─ start, end
//!       ├─ max_runs                it ends after so many
//!       ├─ work ─┬─ action         kind and body: the executor's own, the planner never looks inside
//!       │        ├─ policies       misfire, overlap, retry, timeout, ..
//!       │        └─ group, priority
//!       └─ source, text            where its definition came from, and the definition as written
//! ```
//!
//! A [`Once`](crate::Once) is a job with one due time and no definition: `at` on the command line.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::name::JobName;
use crate::policy::Policies;
use crate::timetable::Timetable;

/// The longest body of an action, in bytes: a shell script of some size. What is larger belongs in a file.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

/// The most labels of a job.
pub const MAX_LABELS: usize = 16;

/// The longest name of a label, and the longest text of one, in bytes.
pub const MAX_LABEL_BYTES: usize = 64;

/// The longest word for a kind of action.
pub const MAX_KIND_BYTES: usize = 32;

/// What an executor is to do. The planner and the stores carry it and never look inside.
///
/// # Example
/// ```
/// use mainspring_job::Action;
///
/// // Which executor, and what it is to do: the second is in its own format.
/// let action = Action::new("process", "pg_dump orders")?;
/// assert_eq!((action.kind(), action.body()), ("process", "pg_dump orders"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    kind: String,
    body: String,
}

impl Action {
    /// Makes an action. `kind` names the executor, `body` is what it wrote for itself.
    ///
    /// # Errors
    /// When one of them is too long.
    pub fn new(kind: impl Into<String>, body: impl Into<String>) -> Result<Action, JobError> {
        let (kind, body) = (kind.into(), body.into());
        if MAX_KIND_BYTES < kind.len() {
            return Err(JobError::KindTooLong);
        }
        if MAX_BODY_BYTES < body.len() {
            return Err(JobError::BodyTooLong { bytes: body.len() });
        }
        Ok(Action { kind, body })
    }

    /// Which executor: `process`, `webhook`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// What it does, in that executor's own format.
    pub fn body(&self) -> &str {
        &self.body
    }
}

/// What a run does, and by which policies.
///
/// # Example
/// ```
/// use mainspring_job::{Action, Work};
///
/// let action = Action::new("process", "pg_dump orders")?;
/// let mut work = Work::new(action).with_policies("retry=3 overlap=queue-one".parse()?);
/// work.priority = 10;
/// assert_eq!(work.policies.retry.max, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Work {
    /// What to do.
    pub action: Action,
    /// By which rules.
    pub policies: Policies,
    /// The group whose limit it shares, if any. A group that nobody defined has no limit.
    pub group: Option<JobName>,
    /// Who starts first when places are short: higher before lower, 0 is usual. Equals start by due time.
    pub priority: i8,
}

impl Work {
    /// Work with the usual policies, in no group.
    pub fn new(action: Action) -> Work {
        Work { action, policies: Policies::default(), group: None, priority: 0 }
    }

    /// The same work by other policies.
    #[must_use]
    pub fn with_policies(self, policies: Policies) -> Work {
        Work { policies, ..self }
    }
}

/// Jobs that share a limit.
///
/// # Example
/// ```
/// use mainspring_job::Group;
///
/// // At most two jobs at once that say `group = "database"`.
/// let group = Group::new("database".parse()?, 2);
/// assert_eq!(group.limit, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// Its name.
    pub name: JobName,
    /// How many runs of its jobs may be running at once; at least 1.
    pub limit: u32,
}

impl Group {
    /// A group of which at most `limit` runs may be running at once; at least 1.
    pub fn new(name: JobName, limit: u32) -> Group {
        Group { name, limit }
    }
}

/// A job's definition.
///
/// # Example
/// ```
/// use mainspring_job::{Action, Job, Timetable, Work, cron::Schedule};
///
/// let daily = Timetable::new([Schedule::parse("30 2 * * *", "Europe/Berlin")?])?;
/// let mut job = Job::new("backup".parse()?, daily, Work::new(Action::new("process", "pg_dump orders")?));
/// job.max_runs = Some(10);
/// assert_eq!(job.name.as_str(), "backup");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Job {
    /// Its name.
    pub name: JobName,
    /// When it is due.
    pub timetable: Timetable,
    /// How many occurrences may become runs, ever, starts of the server included; then the job is done. One
    /// that waits for its place counts already, and gives it back if it never starts. Skipped and missed ones
    /// do not count, nor do runs by hand.
    pub max_runs: Option<u64>,
    /// What it does.
    pub work: Arc<Work>,
    /// Words about it, by which people choose jobs: a team, a service. They change nothing of what it does.
    /// At most [`MAX_LABELS`], each a name and a text of at most [`MAX_LABEL_BYTES`].
    pub labels: BTreeMap<String, String>,
    /// Where the definition came from: the name of a file, or empty for one that came by command. A new set
    /// from one source never touches the jobs of another.
    pub source: String,
    /// The definition as the source's reader can read it again. Kept in the store for jobs that came by
    /// command.
    pub text: String,
}

impl Job {
    /// A job without an end, from no source and without a text: the fields say the rest.
    pub fn new(name: JobName, timetable: Timetable, work: impl Into<Arc<Work>>) -> Job {
        let (source, text) = (String::new(), String::new());
        Job { name, timetable, max_runs: None, work: work.into(), labels: BTreeMap::new(), source, text }
    }
}

/// Says why an action is refused.
///
/// # Example
/// ```
/// use mainspring_job::{Action, JobError, MAX_BODY_BYTES};
///
/// let error = Action::new("process", "x".repeat(MAX_BODY_BYTES + 1)).unwrap_err();
/// assert_eq!(error, JobError::BodyTooLong { bytes: 262_145 });
/// assert_eq!(error.to_string(), "the action has 262145 bytes, and 262144 is the limit");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError {
    /// The kind of an action is longer than [`MAX_KIND_BYTES`].
    KindTooLong,
    /// The body of an action is longer than [`MAX_BODY_BYTES`].
    BodyTooLong {
        /// How long it is.
        bytes: usize,
    },
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::KindTooLong => write!(f, "the kind of an action has at most {MAX_KIND_BYTES} bytes"),
            JobError::BodyTooLong { bytes } => {
                write!(f, "the action has {bytes} bytes, and {MAX_BODY_BYTES} is the limit")
            }
        }
    }
}

impl Error for JobError {}
