//! The work of a run: an action, and its policies, group and priority.
//!
//! Cost: an action is two texts; jobs and their runs share one `Work`.
//!
//! Does not know when it is due: see [`Job`](crate::Job).

use std::error::Error;
use std::fmt;

use crate::name::JobName;
use crate::policy::Policies;

/// The longest body of an action, in bytes: a shell script of some size. What is larger belongs in a file.
pub const MAX_BODY_BYTES: usize = 256 * 1024;

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
    /// The group whose limit it shares, if any. A group that no source defines has no limit.
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
