//! Retention: how much of a job's history is kept.
//!
//! A run that has ended is dropped when it is older than `days`, or when `keep` later ones have ended. The
//! store is pruned after each sixteenth end (of one-shot jobs after the 1,000th), so up to 15 (999) more may
//! be there. Open runs and dead letters are never dropped: the first are needed, and the second wait for a
//! person. A dropped run cannot run again by mistake, because its time is not after the job's watermark.

use std::fmt;
use std::str::FromStr;

use super::text::{self, PolicyError};

/// The most runs that are kept for a job.
pub const MAX_KEPT_RUNS: u32 = 1_000_000;

/// The longest age, in days: about a century.
const MAX_DAYS: u32 = 36_525;

/// Says how much history is kept.
///
/// # Example
/// ```
/// use mainspring_job::Retention;
///
/// let retention: Retention = "keep=7".parse()?;
/// assert_eq!((retention.keep, retention.days), (7, 90));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// So many ended runs, from 1 to [`MAX_KEPT_RUNS`]; more until the next look.
    pub keep: u32,
    /// None that ended longer ago, in days of 24 hours, from 1.
    pub days: u32,
}

impl Default for Retention {
    /// A hundred runs, ninety days: enough to see a pattern, and small.
    fn default() -> Retention {
        Retention { keep: 100, days: 90 }
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keep={},days={}", self.keep, self.days)
    }
}

impl FromStr for Retention {
    type Err = PolicyError;

    fn from_str(value: &str) -> Result<Retention, PolicyError> {
        let mut retention = Retention::default();
        for (name, part) in text::parts("retention", value.split(','))? {
            match name {
                "keep" => retention.keep = text::number("keep of retention", part, 1, MAX_KEPT_RUNS)?,
                "days" => retention.days = text::number("days of retention", part, 1, MAX_DAYS)?,
                _ => return Err(text::unknown_part("retention", name, "keep or days")),
            }
        }
        Ok(retention)
    }
}
