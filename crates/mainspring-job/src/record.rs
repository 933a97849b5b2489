//! The record of a job beside its runs: how far it has been planned, and whether it is paused.
//!
//! The watermark is the main field. It only grows while the timetable is the same. It is written in the same
//! batch as the runs up to it, and nothing at or before it is ever planned again. So a restart, a clock that
//! is set and a suspended machine are one code path.

use jiff::Timestamp;

use crate::absence::Absence;
use crate::name::JobName;
use crate::policy::Retention;
use crate::state::RunState;

/// Why a job is paused.
///
/// # Example
/// ```
/// use mainspring_job::Pause;
///
/// assert_eq!(Pause::from_name("asked"), Some(Pause::Manual));
/// assert_eq!(Pause::Failures.name(), "failures");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pause {
    /// A person paused it.
    Manual,
    /// It failed as often in a row as its policy allows.
    Failures,
    /// The server died in its runs [`MAX_CRASHES`](crate::MAX_CRASHES) times in a row.
    Crashes,
}

impl Pause {
    /// The word in records and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Pause::Manual => "asked",
            Pause::Failures => "failures",
            Pause::Crashes => "deaths",
        }
    }

    /// The reason of that name.
    pub fn from_name(name: &str) -> Option<Pause> {
        [Pause::Manual, Pause::Failures, Pause::Crashes].into_iter().find(|pause| pause.name() == name)
    }
}

/// How long a pause lasts, and why there is one.
///
/// # Example
/// ```
/// use mainspring_job::PauseTerms;
///
/// let terms = PauseTerms::new("the disk is being replaced").until("2026-11-21T18:00:00Z".parse()?);
/// assert!(terms.is_over("2026-11-21T18:00:00Z".parse()?));
/// assert!(!PauseTerms::default().is_over("2026-11-21T18:00:00Z".parse()?), "it lasts until somebody ends it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PauseTerms {
    /// When it ends by itself, by the store's clock. `None`: not before somebody ends it.
    pub until: Option<Timestamp>,
    /// What was said about it; empty if nothing was. At most [`MAX_NOTE_BYTES`](crate::MAX_NOTE_BYTES).
    pub note: String,
}

impl PauseTerms {
    /// One that lasts until somebody ends it.
    pub fn new(note: impl Into<String>) -> PauseTerms {
        PauseTerms { until: None, note: note.into() }
    }

    /// The same, and it ends by itself.
    #[must_use]
    pub fn until(self, until: Timestamp) -> PauseTerms {
        PauseTerms { until: Some(until), ..self }
    }

    /// Whether it has ended by itself.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// How far a job is: the part of its record that every run changes.
///
/// # Example
/// ```
/// use mainspring_job::Mark;
///
/// let mut mark = Mark::new("backup".parse()?, "2026-11-21T08:00:00Z".parse()?, "30 2 * * * UTC cron".to_owned());
/// // Nothing up to here is planned again.
/// mark.watermark = "2026-11-22T02:30:00Z".parse()?;
/// assert_eq!((mark.runs, mark.pause), (0, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mark {
    /// Which job.
    pub job: JobName,
    /// The last nominal time that was planned, skipped or given up; or the time at which the job was first
    /// seen.
    pub watermark: Timestamp,
    /// From when on it is defined. A job that is defined again after it was removed begins again; one that
    /// was absent does not.
    pub since: Timestamp,
    /// How many occurrences became runs; those that wait for their start are among them.
    pub runs: u64,
    /// How many runs failed in a row, up to the last that ended.
    pub failures: u32,
    /// How many times in a row the server died while the job ran: see [`MAX_CRASHES`](crate::MAX_CRASHES).
    pub crashes: u32,
    /// The greatest series in the key of a run of it: the number of its last backfill, or of a worker.
    pub max_series: u32,
    /// Whether it is paused, and why.
    pub pause: Option<Pause>,
    /// How long the pause lasts, if somebody paused it; else the default.
    pub pause_terms: PauseTerms,
    /// The text of its timetable. If another one comes, the watermark moves to that moment, back too: a new
    /// timetable counts from when it is known.
    pub timetable: String,
}

impl Mark {
    /// The mark of a job that is seen for the first time.
    pub fn new(job: JobName, now: Timestamp, timetable: String) -> Mark {
        Mark {
            job,
            watermark: now,
            since: now,
            runs: 0,
            failures: 0,
            crashes: 0,
            max_series: 0,
            pause: None,
            pause_terms: PauseTerms::default(),
            timetable,
        }
    }
}

/// The run of a job that ended last, as its record keeps it.
///
/// # Example
/// ```
/// use mainspring_job::{LastRun, RunState};
///
/// let time = "2026-11-21T02:30:00Z".parse()?;
/// let last = LastRun::new(time, 0, RunState::Succeeded, time);
/// assert!(!last.state.is_open());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastRun {
    /// The nominal time in its key.
    pub nominal: Timestamp,
    /// The series in its key.
    pub series: u32,
    /// What became of it.
    pub state: RunState,
    /// When it ended.
    pub ended: Timestamp,
}

impl LastRun {
    /// A run that is over.
    pub fn new(nominal: Timestamp, series: u32, state: RunState, ended: Timestamp) -> LastRun {
        LastRun { nominal, series, state, ended }
    }
}

/// All of a job but its runs.
///
/// # Example
/// ```
/// use mainspring_job::{JobRecord, Mark};
///
/// let mark = Mark::new("backup".parse()?, "2026-11-21T08:00:00Z".parse()?, String::new());
/// let record = JobRecord::new(mark, Some("jobs.toml".to_owned()));
/// assert!(record.text.is_empty(), "its definition is in the file");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobRecord {
    /// How far it is.
    pub mark: Mark,
    /// Where its definition came from: see [`Job::source`](crate::Job::source). `None`: the job was removed,
    /// and what is left is its mark, so that nothing fires again if it comes back while its history is kept.
    pub source: Option<String>,
    /// What is kept of a job without a source, if it may come back as it was.
    pub absence: Option<Absence>,
    /// By what the history of a removed job goes.
    pub retention: Retention,
    /// Its definition, if the store is where it lives: see [`Job::text`](crate::Job::text).
    pub text: String,
    /// Of its runs that are kept and not open, the one with the latest nominal time. The store keeps it with
    /// the ends of runs.
    pub last: Option<LastRun>,
    /// When a run of it last succeeded since it has a record, whether that run is kept or not.
    pub last_success: Option<Timestamp>,
}

impl JobRecord {
    /// The record of a job whose definition is not kept by the store.
    pub fn new(mark: Mark, source: Option<String>) -> JobRecord {
        let (absence, retention, text) = (None, Retention::default(), String::new());
        JobRecord { mark, source, absence, retention, text, last: None, last_success: None }
    }

    /// Since when no run of it has succeeded: from when on it is defined, where none has since then.
    pub fn silent_since(&self) -> Timestamp {
        self.last_success.map_or(self.mark.since, |at| at.max(self.mark.since))
    }
}
