//! A run: one occurrence of a job on its way from due to done, and the record of it.
//!
//! ```text
//!  key (job, nominal, series)      attempt 1        attempt 2
//!  ──────────────────────────────▶ [start .. end]   [start .. end]
//!  one row in the store            at most one start record for each attempt
//! ```
//!
//! A row may also stand for many occurrences that did not run: a [`Span`] of missed ones, or of ones that
//! passed while the job was paused. So three years of a job that is due every second are one row.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use mainspring_cron::TimeText;

use crate::name::JobName;
use crate::outcome::Outcome;
use crate::reason::Reason;
use crate::state::RunState;
use crate::timetable::Span;
use crate::work::Work;
use crate::worker::WorkerId;

/// Names a run for ever. Ordered by job, then nominal time.
///
/// # Example
/// ```
/// use mainspring_job::RunKey;
///
/// let mut key = RunKey::new("backup".parse()?, "2026-11-21T02:30:00Z".parse()?);
/// assert_eq!(key.to_string(), "backup@2026-11-21T02:30:00Z");
/// key.series = 2;
/// assert_eq!(key.to_string().parse(), Ok(key), "the second backfill");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a key is its three parts")]
pub struct RunKey {
    /// Whose run.
    pub job: JobName,
    /// The time that the trigger named; the time of asking for a run by hand.
    pub nominal: Timestamp,
    /// 0, but for a backfill and where each worker has a run of its own. A backfill repeats nominal times on
    /// purpose, and counts up for each job. A run that is for one worker has the number of that worker.
    pub series: u32,
}

impl RunKey {
    /// The key of an ordinary run.
    pub fn new(job: JobName, nominal: Timestamp) -> RunKey {
        RunKey { job, nominal, series: 0 }
    }
}

/// `job@2026-11-21T03:00:00Z`, with `#2` after it for the second backfill or the second worker. The part of
/// an idempotency key that is the same for all attempts.
impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.job, self.nominal)?;
        if self.series == 0 { Ok(()) } else { write!(f, "#{}", self.series) }
    }
}

impl FromStr for RunKey {
    type Err = KeyError;

    /// # Errors
    /// When it is not what [`RunKey`] shows.
    fn from_str(text: &str) -> Result<RunKey, KeyError> {
        // A job's name may hold an `@`, a time may not.
        let read = || {
            let (job, rest) = text.rsplit_once('@')?;
            let (nominal, series) = rest.split_once('#').unwrap_or((rest, "0"));
            let (job, nominal) = (JobName::new(job).ok()?, TimeText::instant(nominal).ok()?);
            Some(RunKey { job, nominal, series: series.parse().ok()? })
        };
        read().ok_or(KeyError::Run)
    }
}

/// Says what a text is not, which was to be the key of a run or the id of a one-shot job.
///
/// # Example
/// ```
/// use mainspring_job::{KeyError, RunKey};
///
/// assert_eq!("backup".parse::<RunKey>(), Err(KeyError::Run));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// No key of a run.
    Run,
    /// No id of a one-shot job.
    Once,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyError::Run => {
                "no run is called so: expected a job and a time, as in `backup@2026-11-21T03:00:00Z`"
            }
            KeyError::Once => "no one-shot job has this id: expected `once-` and two numbers",
        })
    }
}

impl Error for KeyError {}

/// Says why there is a run.
///
/// # Example
/// ```
/// use mainspring_job::Cause;
///
/// assert_eq!(Cause::from_name("backfill"), Some(Cause::Backfill));
/// assert!(Cause::Trigger.is_counted() && !Cause::Backfill.is_counted());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// A trigger was due.
    Trigger,
    /// A trigger had been due earlier, and the misfire policy makes it good.
    CatchUp,
    /// The scheduler started, and the job is for that (`@reboot`).
    Boot,
    /// A person asked for one run, now or at a time.
    Request,
    /// A person asked for a range of times to be run again.
    Backfill,
    /// A delayed job came due.
    Once,
    /// A run of another job ended.
    After,
}

impl Cause {
    /// All causes.
    pub const ALL: [Cause; 7] = [
        Cause::Trigger,
        Cause::CatchUp,
        Cause::Boot,
        Cause::Request,
        Cause::Backfill,
        Cause::Once,
        Cause::After,
    ];

    /// The word in records and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Trigger => "trigger",
            Cause::CatchUp => "catch_up",
            Cause::Boot => "boot",
            Cause::Request => "request",
            Cause::Backfill => "backfill",
            Cause::Once => "once",
            Cause::After => "after",
        }
    }

    /// The cause of that name.
    pub fn from_name(name: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|cause| cause.name() == name)
    }

    /// Whether it counts as one of a job's [`max_runs`](crate::Job::max_runs).
    pub const fn is_counted(self) -> bool {
        matches!(self, Cause::Trigger | Cause::CatchUp | Cause::Boot | Cause::After)
    }

    /// Whether a person asked for this very run, so that no overlap rule may drop it: it waits instead.
    pub const fn is_kept(self) -> bool {
        !matches!(self, Cause::Trigger | Cause::Boot | Cause::After)
    }
}

/// What the store holds of a run.
///
/// # Example
/// ```
/// use mainspring_job::{Cause, Run, RunKey, RunState};
///
/// let due = "2026-11-21T02:30:00Z".parse()?;
/// let key = RunKey::new("backup".parse()?, due);
/// let mut run = Run::new(key, Cause::Trigger, RunState::Scheduled, due, due);
/// assert!(run.state.may_become(RunState::Running));
/// (run.state, run.attempt, run.started) = (RunState::Running, 1, Some(due));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// Its job, its nominal time, and its series.
    pub key: RunKey,
    /// Why it is there.
    pub cause: Cause,
    /// How far it is.
    pub state: RunState,
    /// The attempt that runs or ran last, from 1; 0 before the first. Waiting for a retry it is still that of
    /// the failure.
    pub attempt: u32,
    /// How many of its attempts do not count against its retries: those up to the time at which it was last
    /// taken out of the dead letters to be tried again, and those since then that were given back.
    pub forgiven: u32,
    /// How many of its attempts in a row, up to the last that ended, died with the server: see
    /// [`MAX_CRASHES`](crate::MAX_CRASHES).
    pub crashes: u32,
    /// When it may start, by the store's clock: with jitter, spread and back-off.
    pub due: Timestamp,
    /// When it was first recorded.
    pub planned: Timestamp,
    /// When the last attempt's start was recorded, which is before anything started.
    pub started: Option<Timestamp>,
    /// When the last attempt's end was recorded, or when it became clear that there will be none.
    pub ended: Option<Timestamp>,
    /// Where the last attempt runs or ran; where the first is to run, if its job has a run for each worker.
    /// `None` if neither was said.
    pub worker: Option<WorkerId>,
    /// How the last attempt ended.
    pub outcome: Option<Outcome>,
    /// Why it is in its state. `None` if the state says it all.
    pub reason: Option<Reason>,
    /// Set if this row stands for several occurrences; then it never runs.
    pub span: Option<Span>,
    /// What to do, for runs without a definition: one-shot jobs. Else `None`, and the job's definition says
    /// it.
    pub work: Option<Arc<Work>>,
}

impl Run {
    /// Why it is in its state, as a sentence; empty if the state says it all.
    pub fn why(&self) -> String {
        self.reason.as_ref().map(ToString::to_string).unwrap_or_default()
    }

    /// Whether it was a dead letter, and is tried again.
    pub(crate) fn was_dead(&self) -> bool {
        self.reason == Some(Reason::RetryRequested)
    }

    /// What of its reason stays while it waits and runs: that it was a dead letter.
    pub(crate) fn lasting_reason(&self) -> Option<Reason> {
        self.was_dead().then_some(Reason::RetryRequested)
    }

    /// Whether a person asked for its first start at a later time than at once.
    pub(crate) fn was_asked_for_later(&self) -> bool {
        self.cause == Cause::Request && self.planned < self.due
    }

    /// A run that has not been attempted.
    pub fn new(key: RunKey, cause: Cause, state: RunState, due: Timestamp, planned: Timestamp) -> Run {
        Run {
            key,
            cause,
            state,
            attempt: 0,
            forgiven: 0,
            crashes: 0,
            due,
            planned,
            started: None,
            ended: None,
            worker: None,
            outcome: None,
            reason: None,
            span: None,
            work: None,
        }
    }
}

/// One try of a run, as the store holds it. There is one for each (job, nominal time, series, attempt), for
/// ever.
///
/// # Example
/// ```
/// use mainspring_job::{Attempt, Outcome, RunState};
///
/// let mut attempt = Attempt::new(1, "2026-11-21T02:30:00Z".parse()?);
/// assert_eq!(attempt.ended, None);
/// attempt.ended = Some("2026-11-21T02:31:00Z".parse()?);
/// (attempt.state, attempt.outcome) = (Some(RunState::Succeeded), Some(Outcome::Succeeded));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// From 1.
    pub number: u32,
    /// When its start was recorded, which is before anything started.
    pub started: Timestamp,
    /// When its end was recorded.
    pub ended: Option<Timestamp>,
    /// The state that its end led to.
    pub state: Option<RunState>,
    /// How it ended, as the executor saw it.
    pub outcome: Option<Outcome>,
    /// The worker that carried it out, if that is known.
    pub worker: Option<WorkerId>,
}

impl Attempt {
    /// One that has begun and not ended.
    pub fn new(number: u32, started: Timestamp) -> Attempt {
        Attempt { number, started, ended: None, state: None, outcome: None, worker: None }
    }
}
