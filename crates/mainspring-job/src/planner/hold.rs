//! Hold: one reason why a job or a run does not run now, in words for people and for programs.
//!
//! Cost: that of a text.
//!
//! Does not find out which reasons there are: see [`Planner::holds`](super::Planner::holds).

use std::fmt;

use jiff::Timestamp;

use super::quarantine::MAX_CRASHES;
use super::rest::Rest;
use crate::name::JobName;
use crate::rate::Rate;
use crate::record::{Mark, Pause, PauseTerms};
use crate::run::{Run, RunKey};
use crate::worker::Needs;

/// The most runs that a reason names: more do not fit a line, and a group may have thousands.
pub(super) const MAX_HOLDERS: usize = 4;

/// One reason why a job, or a run that waits, does not run now.
///
/// # Example
/// ```
/// use mainspring_job::{Hold, Pause};
///
/// let hold = Hold::Paused { why: Pause::Manual, until: None };
/// assert_eq!((hold.code(), hold.to_string().as_str()), ("paused", "it is paused"));
/// assert_eq!(hold.ends(&"backup".parse()?), "`mainspring resume backup`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hold {
    /// The server is about to end.
    Stopping,
    /// Everything is paused.
    AllPaused {
        /// When that ends by itself.
        until: Option<Timestamp>,
    },
    /// The job is paused.
    Paused {
        /// Who paused it, or after what.
        why: Pause,
        /// When that ends by itself.
        until: Option<Timestamp>,
    },
    /// The server died in it: its runs start with few others, or alone.
    Quarantined {
        /// How many times in a row.
        crashes: u32,
    },
    /// The clock stands before what is planned of it already.
    ClockBehind {
        /// Up to when it is planned.
        planned: Timestamp,
    },
    /// As many runs are open as may be, and it waits for room.
    NoRoom,
    /// A run of it is running, and its overlap rule allows no other beside it.
    Running(RunKey),
    /// A run of it is due, and waits for its turn or the end of one of the other reasons.
    Waiting(RunKey),
    /// A run of it is due, and as many runs of its group are running as may.
    GroupFull {
        /// The run that waits.
        run: RunKey,
        /// Its group.
        group: JobName,
        /// How many of the group may run at once.
        limit: u32,
        /// The runs that have the places, at most four, in order of their keys.
        holders: Vec<RunKey>,
    },
    /// A run of it is due, and as many of its group have started as may in a time.
    GroupRate {
        /// The run that waits.
        run: RunKey,
        /// Its group.
        group: JobName,
        /// How many of the group may start in which time.
        rate: Rate,
        /// When the next of the group may.
        until: Timestamp,
    },
    /// A run of it is due, and something of the batch for which it waits is left.
    AfterBatch {
        /// The run that waits.
        run: RunKey,
        /// Its policy says for which.
        batch: JobName,
    },
    /// A run of it is due, and the servers that serve it run as many as they may.
    ServerFull {
        /// The run that waits.
        run: RunKey,
        /// How many may run at once at these workers.
        limit: usize,
    },
    /// A run of it is due, and no server has what it needs.
    Unserved {
        /// The run that waits.
        run: RunKey,
        /// What it needs.
        needs: Needs,
    },
    /// It has had as many runs as it may.
    Done,
    /// Its timetable names no further time.
    NoTime,
}

impl Hold {
    /// The reasons that the record of a job tells, those first that hold all else.
    pub fn of_mark(mark: &Mark, now: Timestamp) -> impl Iterator<Item = Hold> {
        // One that is over ends when the planner looks, which it does not while everything is paused.
        let pause = mark.pause.filter(|_| !mark.pause_terms.is_over(now));
        let paused = pause.map(|why| Hold::Paused { why, until: mark.pause_terms.until });
        let quarantined = Hold::of_crashes(mark.crashes).filter(|_| mark.pause != Some(Pause::Crashes));
        let behind = (now < mark.watermark).then_some(Hold::ClockBehind { planned: mark.watermark });
        [paused, quarantined, behind].into_iter().flatten()
    }

    /// That of so many crashes of a job, or of the run of a one-shot job.
    pub(super) fn of_crashes(crashes: u32) -> Option<Hold> {
        (0 < crashes).then_some(Hold::Quarantined { crashes })
    }

    /// Everything is paused.
    pub fn of_pause(terms: &PauseTerms) -> Hold {
        Hold::AllPaused { until: terms.until }
    }

    /// Whether a reason of its job holds a run that is planned, and may be one that a pause does not hold.
    pub(super) fn is_for(&self, run: &Run) -> bool {
        match self {
            Hold::Paused { .. } => Rest::Paused.holds(run),
            Hold::ClockBehind { .. } => false,
            _ => true,
        }
    }

    /// Why nothing of a group may start: its limit, with the runs that have the places, before its rate, with
    /// when it opens.
    pub(super) fn of_group<'r>(
        run: &RunKey,
        group: &JobName,
        full: Option<(u32, impl Iterator<Item = &'r RunKey>)>,
        full_rate: Option<(Rate, Timestamp)>,
    ) -> Option<Hold> {
        let (run, group) = (run.clone(), group.clone());
        if let Some((limit, running)) = full {
            let holders = running.take(MAX_HOLDERS).cloned().collect();
            return Some(Hold::GroupFull { run, group, limit, holders });
        }
        full_rate.map(|(rate, until)| Hold::GroupRate { run, group, rate, until })
    }

    /// The word for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Hold::Stopping => "stopping",
            Hold::AllPaused { .. } => "all_paused",
            Hold::Paused { why: Pause::Manual, .. } => "paused",
            Hold::Paused { why: Pause::Failures, .. } => "paused_failures",
            Hold::Paused { why: Pause::Crashes, .. } => "paused_crashes",
            Hold::Quarantined { .. } => "quarantined",
            Hold::ClockBehind { .. } => "clock_behind",
            Hold::NoRoom => "no_room",
            Hold::Running(_) => "running",
            Hold::Waiting(_) => "waiting",
            Hold::GroupFull { .. } => "group_full",
            Hold::GroupRate { .. } => "group_rate",
            Hold::AfterBatch { .. } => "after_batch",
            Hold::ServerFull { .. } => "server_full",
            Hold::Unserved { .. } => "unserved",
            Hold::Done => "done",
            Hold::NoTime => "no_time",
        }
    }

    /// What ends it, for people: a command, or what has to happen.
    pub fn ends(&self, job: &JobName) -> String {
        match self {
            Hold::Stopping => "the next server".to_owned(),
            Hold::AllPaused { until: Some(until) } => format!("{until}, or `mainspring resume --all`"),
            Hold::AllPaused { until: None } => "`mainspring resume --all`".to_owned(),
            Hold::Paused { until: Some(until), .. } => format!("{until}, or `mainspring resume {job}`"),
            Hold::Paused { until: None, .. } => format!("`mainspring resume {job}`"),
            Hold::Quarantined { .. } => "a run that ends, or runs for ten seconds".to_owned(),
            Hold::ClockBehind { planned } => format!("{planned}, or `mainspring rewind {job}`"),
            Hold::NoRoom => "the ends of other runs".to_owned(),
            Hold::Running(run) => format!("its end, or `mainspring cancel {run}`"),
            Hold::Waiting(run) => format!("its start, or `mainspring cancel {run}`"),
            Hold::GroupFull { run, .. } => {
                format!("the end of a run of the group, or `mainspring cancel {run}`")
            }
            Hold::GroupRate { run, until, .. } => format!("{until}, or `mainspring cancel {run}`"),
            Hold::AfterBatch { run, batch } => {
                format!("the end of batch {batch}, or `mainspring cancel {run}`")
            }
            Hold::ServerFull { run, .. } => format!("the end of a run, or `mainspring cancel {run}`"),
            Hold::Unserved { needs, .. } => format!("a server that has {needs}"),
            Hold::Done | Hold::NoTime => "another definition".to_owned(),
        }
    }
}

/// The sentence, for people.
impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hold::Stopping => f.write_str("the server is stopping"),
            Hold::AllPaused { .. } => f.write_str("everything is paused"),
            Hold::Paused { why: Pause::Manual, .. } => f.write_str("it is paused"),
            Hold::Paused { why: Pause::Failures, .. } => {
                f.write_str("it is paused: it failed too often in a row")
            }
            Hold::Paused { why: Pause::Crashes, .. } => {
                write!(f, "it is paused: the server died in it {MAX_CRASHES} times in a row")
            }
            Hold::Quarantined { crashes: 1 } => f.write_str(
                "it is in quarantine: the server died while it ran, and it starts with few others",
            ),
            Hold::Quarantined { crashes } => {
                write!(f, "it is in quarantine: the server died in it {crashes} times, and it starts alone")
            }
            Hold::ClockBehind { .. } => f.write_str("the clock stands before what is planned already"),
            Hold::NoRoom => f.write_str("too many runs are open"),
            Hold::Running(run) => write!(f, "{run} is running"),
            Hold::Waiting(run) => write!(f, "{run} is due and waits for its turn"),
            Hold::GroupFull { run, group, limit, holders } => {
                write!(f, "{run} is due and waits for a place of group {group}, whose limit is {limit}: ")?;
                holders.iter().enumerate().try_for_each(|(index, holder)| {
                    write!(f, "{}{holder}", if index == 0 { "" } else { ", " })
                })?;
                let others = usize::try_from(*limit).unwrap_or(usize::MAX).saturating_sub(holders.len());
                match (others, holders.len()) {
                    (0, 1) => f.write_str(" has it"),
                    (0, _) => f.write_str(" have them"),
                    (others, _) => write!(f, " and {others} more have them"),
                }
            }
            Hold::GroupRate { run, group, rate, .. } => {
                write!(f, "{run} is due, and group {group} has had as many starts as its rate {rate} allows")
            }
            Hold::AfterBatch { run, batch } => {
                write!(f, "{run} is due, and something of batch {batch} waits or runs")
            }
            Hold::ServerFull { run, limit } => {
                write!(f, "{run} is due and waits for a place of the server, which runs {limit} at once")
            }
            Hold::Unserved { run, needs } => write!(f, "{run} is due, and no server has {needs}"),
            Hold::Done => f.write_str("it has had as many runs as it may"),
            Hold::NoTime => f.write_str("its timetable names no further time"),
        }
    }
}
