//! A timetable of several triggers, without what is excluded, from a start up to an end.
//!
//! ```text
//! When::on(Cron) ─ or(Every, Cron, After) ─ except(Cron), except_dates(..) ─ starting(..), ending(..) ─▶ a timetable
//! ```
//!
//! Cost: none worth a word.
//!
//! Does not check anything: [`start`](crate::Builder::start) does, and says what is wrong.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use mainspring_cron::Schedule;
use mainspring_file::jobfile::JobFile;
use mainspring_file::source::Source;
use mainspring_job::{After as JobAfter, Ending, Exclusion, JobName, Timetable, Trigger};

use crate::trigger::{Cron, Every};

/// The end of a run of another job of the program, which then is an occurrence of this one. What follows is
/// on disk together with the end that it follows.
///
/// # Example
/// ```
/// use mainspring_embed::{After, Cron, Jobs, ManualClock, Run};
///
/// let clock = ManualClock::at("2026-01-01T00:00:00Z".parse()?);
/// let jobs = Jobs::simulated(&clock)
///     .job("extract", Cron::parse("0 3 * * *")?, |_: &Run| Ok::<(), String>(()))
///     .job("load", After::success_of("extract"), |_: &Run| Ok::<(), String>(()))
///     .start()?;
/// clock.advance(std::time::Duration::from_secs(86_400));
/// assert_eq!(jobs.runs_of("load", 10)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct After {
    job: String,
    ending: Ending,
}

impl After {
    /// A run of that job has succeeded.
    pub fn success_of(job: impl Into<String>) -> After {
        After { job: job.into(), ending: Ending::Succeeded }
    }

    /// A run of that job has failed, taken too long or been abandoned, and is not tried again.
    pub fn failure_of(job: impl Into<String>) -> After {
        After { job: job.into(), ending: Ending::Failed }
    }

    /// A run of that job has ended, however it did.
    pub fn end_of(job: impl Into<String>) -> After {
        After { job: job.into(), ending: Ending::Any }
    }
}

#[derive(Clone, Debug)]
enum Part {
    Cron(Cron),
    Every(Every),
    Schedule(Box<Schedule>),
    After(After),
}

#[derive(Clone, Debug, PartialEq)]
enum Rest {
    Times(Cron),
    Dates(Date, Date),
}

/// When a job is due. A [`Cron`], an [`Every`], an [`After`] or a schedule alone is one.
///
/// # Example
/// ```
/// use mainspring_embed::{Cron, When};
///
/// // On working days at nine, on Saturdays at eleven; not from Christmas to the new year, and never at noon.
/// let berlin = |text: &str| -> Result<Cron, Box<dyn std::error::Error>> {
///     Ok(Cron::parse(text)?.zone("Europe/Berlin")?)
/// };
/// let when = When::on(berlin("0 9-17 * * mon-fri")?)
///     .or(berlin("0 11 * * sat")?)
///     .except(berlin("* 12 * * *")?)
///     .except_dates("2026-12-24".parse()?, "2026-12-31".parse()?);
/// # let _ = when;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a timetable is given to a job"]
pub struct When {
    parts: Vec<Part>,
    rests: Vec<Rest>,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    /// All that it is made of has the same start, end and exclusions.
    is_of_one_span: bool,
}

impl From<Part> for When {
    fn from(part: Part) -> When {
        When { parts: vec![part], rests: Vec::new(), start: None, end: None, is_of_one_span: true }
    }
}

impl From<Cron> for When {
    fn from(cron: Cron) -> When {
        Part::Cron(cron).into()
    }
}

impl From<Every> for When {
    fn from(every: Every) -> When {
        Part::Every(every).into()
    }
}

impl From<Schedule> for When {
    fn from(schedule: Schedule) -> When {
        Part::Schedule(Box::new(schedule)).into()
    }
}

impl From<After> for When {
    fn from(after: After) -> When {
        Part::After(after).into()
    }
}

impl When {
    /// When this is.
    pub fn on(trigger: impl Into<When>) -> When {
        trigger.into()
    }

    /// When this is as well. Two at one moment are one. At most 64 triggers are one timetable, which has one
    /// start, one end and the same exclusions for all of them: they are said after the last `or`.
    /// [`start`](crate::Builder::start) refuses what has them on one side alone, or others there.
    pub fn or(mut self, trigger: impl Into<When>) -> When {
        let When { parts, rests, start, end, is_of_one_span } = trigger.into();
        self.parts.extend(parts);
        self.is_of_one_span &= is_of_one_span && (&self.rests, self.start, self.end) == (&rests, start, end);
        self
    }

    /// Not in a minute that this names: `* 12 * * *` leaves out all from 12:00:00 to 12:59:59. At most 512
    /// exclusions are part of a timetable, of times and dates together.
    pub fn except(mut self, times: Cron) -> When {
        self.rests.push(Rest::Times(times));
        self
    }

    /// Not on these days, both included, in the zone of its triggers. Each call is one of at most 512
    /// exclusions.
    pub fn except_dates(mut self, first: Date, last: Date) -> When {
        self.rests.push(Rest::Dates(first, last));
        self
    }

    /// Not before this.
    pub fn starting(self, at: Timestamp) -> When {
        When { start: Some(at), ..self }
    }

    /// Not at this time or later.
    pub fn ending(self, at: Timestamp) -> When {
        When { end: Some(at), ..self }
    }

    /// The one zone of all that names times; of a period, which has none, it is that of the others.
    fn zone(&self) -> Result<TimeZone, String> {
        let of_part = |part: &Part| match part {
            Part::Cron(cron) => Some(cron.zone.clone()),
            Part::Schedule(schedule) => Some(schedule.zone().clone()),
            Part::Every(_) | Part::After(_) => None,
        };
        let of_rest = |rest: &Rest| match rest {
            Rest::Times(cron) => Some(cron.zone.clone()),
            Rest::Dates(..) => None,
        };
        let mut zones = self.parts.iter().filter_map(of_part).chain(self.rests.iter().filter_map(of_rest));
        let first = zones.next().unwrap_or(TimeZone::UTC);
        match zones.all(|zone| zone == first) {
            true => Ok(first),
            false => Err("all that says when it is due, and when not, is in one time zone".to_owned()),
        }
    }

    /// Checks that the text of its job, which others read, has its schedules.
    ///
    /// # Errors
    /// One would be another there: what it is cannot be said in the text.
    pub(crate) fn check_text(&self, text: &str) -> Result<(), String> {
        let file = JobFile::parse(&Source::new("text", text), &TimeZone::UTC);
        let triggers = file.jobs.iter().flat_map(|placed| placed.job.timetable.triggers());
        let read: Vec<&Schedule> = triggers.filter_map(Trigger::schedule).collect();
        let is_other = |part: &&Part| matches!(part, Part::Schedule(own) if !read.contains(&&**own));
        match self.parts.iter().find(is_other) {
            Some(Part::Schedule(other)) => Err(format!(
                "its schedule `{}` would be another one in a job file: expected an expression of cron or \
                 `@every` without a dialect, a phase or a policy of its own, in a zone with a name of IANA",
                other.expression()
            )),
            _ => Ok(()),
        }
    }

    /// The timetable of the job of this name, or what is wrong with it.
    pub(crate) fn timetable(&self, name: &JobName) -> Result<Timetable, String> {
        let message = |error: &dyn fmt::Display| error.to_string();
        debug_assert!(!self.parts.is_empty(), "it is made of a trigger");
        if !self.is_of_one_span {
            return Err(
                "what `or` combines has one start, one end and the same exclusions: say `starting`, \
                        `ending` and `except` after the last `or`"
                    .to_owned(),
            );
        }
        let zone = self.zone()?;
        let trigger = |part: &Part| -> Result<Trigger, String> {
            Ok(match part {
                Part::Cron(cron) => cron.schedule(name).into(),
                Part::Every(every) => every.schedule(zone.clone()).map_err(|error| message(&error))?.into(),
                Part::Schedule(schedule) => Schedule::clone(schedule).into(),
                Part::After(After { job, ending }) => {
                    let job = JobName::new(job).map_err(|error| format!("`{job}`: {error}"))?;
                    JobAfter::new(job, *ending).into()
                }
            })
        };
        // In the order in which the text of a definition has them.
        let (mut parts, mut rests) = (self.parts.clone(), self.rests.clone());
        parts.sort_by_key(|part| match part {
            Part::Cron(_) | Part::Schedule(_) => 0,
            Part::Every(_) => 1,
            Part::After(_) => 2,
        });
        rests.sort_by_key(|rest| matches!(rest, Rest::Dates(..)));
        let triggers: Vec<Trigger> = parts.iter().map(trigger).collect::<Result<_, _>>()?;
        let rests = rests.iter().map(|rest| match rest {
            Rest::Times(cron) => Ok(Exclusion::Times(Box::new(cron.schedule(name)))),
            Rest::Dates(first, last) if last < first => {
                Err(format!("{last}, the last of the days that it excludes, comes before {first}, the first"))
            }
            Rest::Dates(first, last) => {
                Ok(Exclusion::Dates { first: *first, last: *last, zone: zone.clone() })
            }
        });
        let rests = rests.collect::<Result<_, _>>()?;
        let timetable = Timetable::new(triggers).and_then(|made| made.without(rests));
        timetable.and_then(|made| made.between(self.start, self.end)).map_err(|error| message(&error))
    }
}
