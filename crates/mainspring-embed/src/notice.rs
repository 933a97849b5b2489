//! The notice for a handler that a job names for its failures, recoveries, missed runs and silence.
//!
//! ```text
//! job's run ends ─▶ a submission to the handler, in the batch that records the end ─▶ handler(run, Notice)
//! ```
//!
//! So a notice is as durable as what it tells of, and follows the rules of its handler: retries, dead
//! letters. While one of a kind waits, no second one of a job is submitted. Of failures in a row the 1st,
//! 2nd, 4th, 8th .. are told, and the one that pauses the job.
//!
//! Cost: a small document for each.
//!
//! Does not tell of submissions: what submits knows their names.

use std::time::Duration;

use mainspring_action::body::{Body, HandlerBody};
use mainspring_file::hook::MAX_TARGETS;
use mainspring_job::{Call, Hook, Notice as JobNotice, NoticeKind, Work};
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::error::Error;

/// What happened to a job: the payload of a handler that [`Options::notify`](crate::Options::notify) names.
///
/// # Example
/// ```
/// use mainspring_embed::{Every, Jobs, ManualClock, Notice, NoticeKind, Options, Run};
/// use std::sync::mpsc::channel;
///
/// let (told, notices) = channel();
/// let clock = ManualClock::at("2026-01-01T00:00:00Z".parse()?);
/// let backup = Options::new("backup").notify("page", [NoticeKind::Failed]);
/// let _jobs = Jobs::simulated(&clock)
///     .job(backup, Every::hours(24), |_: &Run| Err("the disk is full"))
///     .handler("page", move |_: &Run, notice: Notice| told.send(notice))
///     .start()?;
/// clock.advance(std::time::Duration::from_secs(86_400));
/// let notice = notices.try_recv()?;
/// assert_eq!((notice.job.as_str(), notice.kind.as_str()), ("backup", "failed"));
/// assert_eq!(notice.detail, "failed: the disk is full");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Notice {
    /// The job.
    pub job: String,
    /// The name of a kind of [`NoticeKind::FOR_PEOPLE`].
    pub kind: String,
    /// The key of the run; of several that were missed the first. Empty for silence.
    pub run: String,
    /// When it happened, as in RFC 3339.
    pub at: String,
    /// How it ended, or why it was missed, as a sentence.
    pub detail: String,
    /// How many attempts there were.
    pub attempts: u32,
    /// How many runs failed in a row, this one included.
    pub failures: u32,
    /// How many were missed.
    pub count: u64,
}

impl Notice {
    fn of(notice: &JobNotice) -> Notice {
        Notice {
            job: notice.job.to_string(),
            kind: notice.kind.name().to_owned(),
            run: notice.run.as_ref().map(ToString::to_string).unwrap_or_default(),
            at: notice.at.to_string(),
            detail: notice.detail.clone(),
            attempts: notice.attempts,
            failures: notice.failures,
            count: notice.count,
        }
    }
}

/// What a job wants told, by the names of handlers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notify {
    pub(crate) targets: Vec<(String, Vec<NoticeKind>)>,
    pub(crate) silent_after: Option<Duration>,
}

impl Notify {
    pub(crate) fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.silent_after.is_none()
    }

    /// Finds the handlers.
    pub(crate) fn hook(&self, catalogue: &Catalogue) -> Result<JobHook, Error> {
        let mut targets = Vec::new();
        for (name, kinds) in &self.targets {
            let entry = catalogue.get(name).ok_or_else(|| Error::NoHandler(name.clone()))?;
            if let Some(kind) = kinds.iter().find(|kind| !NoticeKind::FOR_PEOPLE.contains(kind)) {
                let names = NoticeKind::FOR_PEOPLE.map(NoticeKind::name).join(", ");
                let reason = format!("it can be told of {names}; not of {}", kind.name());
                return Err(Error::definition(name, reason));
            }
            let body = HandlerBody { name: name.clone(), version: entry.version, payload: String::new() };
            targets.push(Target { body, work: entry.work.clone(), kinds: kinds.clone() });
        }
        Ok(JobHook { targets, silent_after: self.silent_after })
    }
}

#[derive(Debug)]
struct Target {
    body: HandlerBody,
    /// The rules of its handler.
    work: Work,
    kinds: Vec<NoticeKind>,
}

/// The hook of a job, as the planner asks it.
#[derive(Debug)]
pub(crate) struct JobHook {
    targets: Vec<Target>,
    silent_after: Option<Duration>,
}

impl Hook for JobHook {
    fn calls(&self, notice: &JobNotice) -> Vec<Call> {
        debug_assert!(self.targets.len() <= MAX_TARGETS, "the definition was checked");
        let of_it = self.targets.iter().filter(|target| target.kinds.contains(&notice.kind));
        let call = |target: &Target| {
            let payload = serde_json::to_string(&Notice::of(notice)).ok()?;
            let action = Body::Handler(HandlerBody { payload, ..target.body.clone() }).encode().ok()?;
            let mut work = Work::new(action).with_policies(target.work.policies.clone());
            (work.group, work.priority) = (target.work.group.clone(), target.work.priority);
            // A handler is called for each: it may put them together as it likes.
            Some(Call::new(None, work))
        };
        of_it.filter_map(call).collect()
    }

    fn more(&self, _target: &str) -> Option<Work> {
        None
    }

    fn silent_after(&self) -> Option<Duration> {
        self.silent_after
    }

    fn text(&self) -> String {
        format!("{self:?}")
    }
}
