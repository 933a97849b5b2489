//! Hooks: the notifications that a program wants when an event happens to a job, as one-shot jobs.
//!
//! ```text
//!  End(backup@02:30, failed), Submit(notify:backup:failed)     one unit, so one batch
//! ```
//!
//! The planner asks the hooks of a job for their calls, and submits them in the unit that records the event.
//! So a notification is as durable as its event. It is tried again, and ends as a dead letter, by policies of
//! its own.
//!
//! | event | is reported |
//! |---|---|
//! | the first attempt of a run starts | always, for a hook that tells a watchdog of it |
//! | a run ends for good | always, for a hook that wants its output or its end |
//! | it failed, took too long, or was abandoned | of failures in a row the 1st, 2nd, 4th, 8th .. and the one that pauses |
//! | it succeeded after failures | always |
//! | occurrences were missed | once for each record of them |
//! | a run has waited for [`UNSERVED_PATIENCE`](crate::UNSERVED_PATIENCE) for what no worker has | once for each such wait |
//! | no run has succeeded for as long as [`Hook::silent_after`] says | once, until one succeeds |
//!
//! While a notification for people waits, for its place or to be tried again, no second one of its kind is
//! submitted. Of starts and ends [`MAX_WAITING_CALLS`] of a job may wait, each for itself; while open runs
//! take half of their room, one. A note of the planner says what is left out. What a planner reports of the
//! time before it, it submits beside what waits. A target gets at most
//! [`MAX_CALLS_A_MINUTE`] of those of a group one by one in a minute; one more says that there are others. Of
//! a group that has as many open runs as it may none is submitted.
//!
//! Cost: nothing for a job without hooks; else a call for each end of a run.
//!
//! Does not send anything: the executor does, by the calls of the hook.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::name::JobName;
use crate::outcome::Outcome;
use crate::run::RunKey;
use crate::work::Work;

/// How many notifications of one group and one target are made in a minute before they are put together.
pub const MAX_CALLS_A_MINUTE: u32 = 10;

/// The most calls that one notice leads to; further ones are not made.
pub const MAX_CALLS: usize = 8;

/// How many calls may wait that a hook makes of the starts of a job, and of its ends: a job whose mails no
/// program takes leaves room for others.
pub const MAX_WAITING_CALLS: usize = 100;

/// Says what is to be done when something happens to a job.
///
/// Its answers depend on the hook and the notice alone, and it does not wait: it is asked in the planner's
/// turn.
/// # Example
/// ```
/// use std::time::Duration;
/// use mainspring_job::{Action, Call, Hook, Hooks, JobName, Notice, NoticeKind, Work};
///
/// #[derive(Debug)]
/// struct Page;
///
/// impl Hook for Page {
///     fn calls(&self, notice: &Notice) -> Vec<Call> {
///         let text = format!("{} has {}", notice.job, notice.kind.name());
///         let work = Action::new("mail", text).map(Work::new);
///         work.into_iter().map(|work| Call::new(Some("ada".to_owned()), work)).collect()
///     }
///
///     fn more(&self, _target: &str) -> Option<Work> {
///         None
///     }
///
///     fn silent_after(&self) -> Option<Duration> {
///         None
///     }
///
///     fn text(&self) -> String {
///         "page".to_owned()
///     }
/// }
///
/// let failed = Notice::new("backup".parse()?, NoticeKind::Failed, "2026-11-21T02:30:00Z".parse()?);
/// assert_eq!(Page.calls(&failed)[0].work.action.body(), "backup has failed");
/// assert_eq!(Hooks::new(Page), Hooks::new(Page));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Hook: fmt::Debug + Send + Sync {
    /// What is to be done about it; nothing if it is empty.
    fn calls(&self, notice: &Notice) -> Vec<Call>;

    /// What is to be done at a target of which there are too many notices to be told one by one.
    fn more(&self, target: &str) -> Option<Work>;

    /// How long no run may have succeeded before that is told.
    fn silent_after(&self) -> Option<Duration>;

    /// A text that is equal for hooks that mean the same, and for no others.
    fn text(&self) -> String;
}

/// The hook of a job. Two are equal if their texts are: see [`Hook`] for an example.
///
/// # Example
/// ```
/// use mainspring_job::{Hooks, Job};
///
/// fn is_told(job: &Job) -> bool {
///     job.hooks.as_ref().and_then(|hooks| hooks.hook().silent_after()).is_some()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Hooks(Arc<dyn Hook>);

impl Hooks {
    /// A hook as a job holds it.
    pub fn new(hook: impl Hook + 'static) -> Hooks {
        Hooks(Arc::new(hook))
    }

    /// The hook.
    pub fn hook(&self) -> &dyn Hook {
        &*self.0
    }
}

impl PartialEq for Hooks {
    fn eq(&self, other: &Hooks) -> bool {
        self.0.text() == other.0.text()
    }
}

/// Something to be done about a notice.
///
/// # Example
/// ```
/// use mainspring_job::{Action, Call, Work};
///
/// let work = Work::new(Action::new("mail", "backup has failed")?);
/// assert_eq!(Call::new(None, work).target, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// Who is told, for the limit of how often; `None` where there is none.
    pub target: Option<String>,
    /// What tells it.
    pub work: Work,
}

impl Call {
    /// Work that tells a target.
    pub fn new(target: Option<String>, work: Work) -> Call {
        Call { target, work }
    }
}

/// What happened.
///
/// # Example
/// ```
/// use mainspring_job::{Notice, NoticeKind};
///
/// let mut notice = Notice::new("backup".parse()?, NoticeKind::Missed, "2026-11-21T02:30:00Z".parse()?);
/// notice.count = 3;
/// assert_eq!(notice.run, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Notice {
    /// The job that it is about.
    pub job: JobName,
    /// Which kind of thing it is.
    pub kind: NoticeKind,
    /// In which run: of several that were missed the first.
    pub run: Option<RunKey>,
    /// The time at which it happened.
    pub at: Timestamp,
    /// How it ended, or why it was missed, as a sentence.
    pub detail: String,
    /// How the run ended, of a notice of an end.
    pub outcome: Option<Outcome>,
    /// How many attempts there were.
    pub attempts: u32,
    /// How many runs failed in a row, this one included.
    pub failures: u32,
    /// How many were missed.
    pub count: u64,
}

impl Notice {
    /// Something that happened to a job at a time, and nothing more.
    pub fn new(job: JobName, kind: NoticeKind, at: Timestamp) -> Notice {
        let (run, outcome, detail) = (None, None, String::new());
        Notice { job, kind, run, at, detail, outcome, attempts: 0, failures: 0, count: 1 }
    }
}

/// Says what happened to a job.
///
/// # Example
/// ```
/// use mainspring_job::NoticeKind;
///
/// assert_eq!(NoticeKind::Recovered.name(), "recovered");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum NoticeKind {
    /// The first attempt of a run starts.
    Started,
    /// A run has ended for good, in whatever way.
    Ended,
    /// A run has failed, taken too long or been abandoned, for good.
    Failed,
    /// A run has succeeded, and the one before failed.
    Recovered,
    /// Occurrences were missed.
    Missed,
    /// A run has waited too long for what no worker has.
    Unserved,
    /// No run has succeeded for too long.
    Silent,
}

impl NoticeKind {
    /// Those that people are told of. The others are for watchdogs, and for who wants each output.
    pub const FOR_PEOPLE: [NoticeKind; 5] = [
        NoticeKind::Failed,
        NoticeKind::Recovered,
        NoticeKind::Missed,
        NoticeKind::Unserved,
        NoticeKind::Silent,
    ];

    /// The word in job files and documents.
    pub const fn name(self) -> &'static str {
        match self {
            NoticeKind::Started => "started",
            NoticeKind::Ended => "ended",
            NoticeKind::Failed => "failed",
            NoticeKind::Recovered => "recovered",
            NoticeKind::Missed => "missed",
            NoticeKind::Unserved => "unserved",
            NoticeKind::Silent => "silent",
        }
    }
}
