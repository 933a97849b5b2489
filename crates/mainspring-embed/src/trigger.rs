//! Triggers of a job, as a program writes them.
//!
//! Cost: an expression is parsed once.
//!
//! Does not combine them: see [`When`](crate::When).

use std::time::Duration;

use jiff::tz::TimeZone;
use mainspring_cron::{Expression, ParseError, ParseOptions, Schedule};
use mainspring_job::JobName;

/// A cron expression in a time zone.
///
/// # Example
/// ```
/// use mainspring_embed::Cron;
///
/// // At three in the morning of Berlin, also on the days when its clocks change.
/// let nightly = Cron::parse("0 3 * * mon-fri")?.zone("Europe/Berlin")?;
/// # let _ = nightly;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    /// It can be read, with any name of a job.
    text: String,
    pub(crate) zone: TimeZone,
}

impl Cron {
    /// Reads an expression, which is in UTC until a zone is named. Five or six fields, `@daily` and its like,
    /// and what else `mainspring check` knows.
    ///
    /// # Errors
    /// When it cannot be understood; the message says where.
    pub fn parse(text: &str) -> Result<Cron, ParseError> {
        Expression::parse(text)?;
        Ok(Cron { text: text.to_owned(), zone: TimeZone::UTC })
    }

    /// The same in another zone, by its IANA name.
    ///
    /// # Errors
    /// When there is no such zone.
    pub fn zone(self, name: &str) -> Result<Cron, jiff::Error> {
        Ok(Cron { zone: TimeZone::get(name)?, ..self })
    }
}

impl Cron {
    /// The schedule of the job of this name, of which `H` and `~` are made.
    pub(crate) fn schedule(&self, name: &JobName) -> Schedule {
        let options = ParseOptions::new().with_job_name(name.as_str());
        let expression = Expression::parse_with(&self.text, &options);
        Schedule::new(expression.expect("it was read before"), self.zone.clone())
    }
}

/// A period, counted from the Unix epoch: a restart does not move it. It is at least a second and at most
/// 36,525 days: [`start`](crate::Builder::start) refuses a job with another one.
///
/// # Example
/// ```
/// use mainspring_embed::Every;
///
/// let often = Every::minutes(5);
/// # let _ = often;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every(Duration);

impl Every {
    /// So many seconds; 0 is refused when the jobs are started.
    pub const fn seconds(count: u32) -> Every {
        Every(Duration::from_secs(count as u64))
    }

    /// So many minutes; 0 is refused when the jobs are started.
    pub const fn minutes(count: u32) -> Every {
        Every(Duration::from_secs(count as u64 * 60))
    }

    /// So many hours; 0 is refused when the jobs are started.
    pub const fn hours(count: u32) -> Every {
        Every(Duration::from_secs(count as u64 * 3_600))
    }
}

impl Every {
    /// Its schedule in a zone.
    ///
    /// # Errors
    /// It is 0, or longer than a period may be: as `every` of a job file.
    pub(crate) fn schedule(self, zone: TimeZone) -> Result<Schedule, ParseError> {
        let expression = Expression::parse(&format!("@every {}s", self.0.as_secs()))?;
        Ok(Schedule::new(expression, zone))
    }
}
