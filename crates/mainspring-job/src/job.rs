//! A job: its work, its timetable, and its policies.
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
use std::fmt;
use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::hook::Hooks;
use crate::name::JobName;
use crate::rate::Rate;
use crate::timetable::Timetable;
use crate::work::Work;

/// The most labels of a job.
pub const MAX_LABELS: usize = 16;

/// The longest name of a label, and the longest text of one, in bytes.
pub const MAX_LABEL_BYTES: usize = 64;

/// Jobs whose runs share a limit, a rate, or both.
///
/// A name that ends with `@` stands for a group of each owner, whose limits are its own: what is said of
/// `mail@` holds for `mail@ada` and for `mail@bob`, unless something defines these. A rate does not.
///
/// # Example
/// ```
/// use mainspring_job::Group;
///
/// // Of all jobs that say `group = "bank"`: at most two at once, and at most ten starts in a second.
/// let group = Group::new("bank".parse()?, 2).with_rate("10/1s".parse()?);
/// assert_eq!(group.to_string(), "the limit 2 and the rate 10/1s");
/// // As many at once as the servers have places for.
/// assert_eq!(Group::rated("mail".parse()?, "100/1m".parse()?).limit, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// Its name.
    pub name: JobName,
    /// How many runs of its jobs may be running at once; at least 1. `None`: as many as have a place.
    pub limit: Option<u32>,
    /// How many of them may start in a time. `None`: as many as have a place.
    pub rate: Option<Rate>,
    /// How many of them may be open, scheduled ones too: an occurrence beyond it is missed. Runs by hand and
    /// one-shot jobs count, and are not refused. `None`: as many as there is room for.
    pub max_open: Option<u32>,
}

impl Group {
    /// A group of which at most `limit` runs may be running at once; at least 1.
    pub fn new(name: JobName, limit: u32) -> Group {
        Group { name, limit: Some(limit), rate: None, max_open: None }
    }

    /// A group of which no more runs start than the rate allows.
    pub fn rated(name: JobName, rate: Rate) -> Group {
        Group { name, limit: None, rate: Some(rate), max_open: None }
    }

    /// The same with a rate.
    #[must_use]
    pub fn with_rate(self, rate: Rate) -> Group {
        Group { rate: Some(rate), ..self }
    }

    /// The same with a limit of its open runs.
    #[must_use]
    pub fn with_max_open(self, max_open: u32) -> Group {
        Group { max_open: Some(max_open), ..self }
    }
}

/// What its runs share: `the limit 2 and the rate 10/1s`.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit.map(|limit| format!("the limit {limit}"));
        let rate = self.rate.map(|rate| format!("the rate {rate}"));
        let open = self.max_open.map(|count| format!("at most {count} open runs"));
        let parts: Vec<String> = [limit, rate, open].into_iter().flatten().collect();
        if parts.is_empty() { f.write_str("no limit") } else { f.write_str(&parts.join(" and ")) }
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
    /// The zone in which people think of it: that of its first schedule, or what its definition says.
    pub zone: TimeZone,
    /// How many occurrences may become runs, ever, starts of the server included; then the job is done. One
    /// that waits for its place counts already, and gives it back if it never starts. Skipped and missed ones
    /// do not count, nor do runs by hand.
    pub max_runs: Option<u64>,
    /// What it does.
    pub work: Arc<Work>,
    /// What else is done when something of note happens to it.
    pub hooks: Option<Hooks>,
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
        let zone = timetable.zone().cloned().unwrap_or(TimeZone::UTC);
        Job {
            name,
            timetable,
            zone,
            max_runs: None,
            work: work.into(),
            labels: BTreeMap::new(),
            hooks: None,
            source,
            text,
        }
    }
}
