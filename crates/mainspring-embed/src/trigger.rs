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
#[derive(Clone, Debug)]
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

/// The longest period: about a century, as that of an expression.
const MAX_PERIOD: Duration = Duration::from_hours(24 * 36_525);

/// A period, counted from the Unix epoch: a restart does not move it.
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
    /// So many seconds; at least one.
    pub const fn seconds(count: u32) -> Every {
        Every(Duration::from_secs(if count == 0 { 1 } else { count as u64 }))
    }

    /// So many minutes; at least one.
    pub const fn minutes(count: u32) -> Every {
        Every(Duration::from_secs(if count == 0 { 60 } else { count as u64 * 60 }))
    }

    /// So many hours; at least one.
    pub const fn hours(count: u32) -> Every {
        Every(Duration::from_secs(if count == 0 { 3_600 } else { count as u64 * 3_600 }))
    }
}

impl Every {
    pub(crate) fn schedule(self, zone: TimeZone) -> Schedule {
        let text = format!("@every {}s", self.0.min(MAX_PERIOD).as_secs());
        let expression = Expression::parse(&text).expect("a period of whole seconds is an expression");
        Schedule::new(expression, zone)
    }
}
