//! Rules for a fixed-time job when its zone changes the clock.
//!
//! ```text
//! gap:      01:59 -> 03:00   02:30 does not exist     run at 03:00 | skip | shift to 03:30
//! overlap:  01:59 -> 01:00   01:30 comes twice        first | last | both
//! ```
//!
//! | policy | gap | overlap | as in |
//! |---|---|---|---|
//! | `cron` | run | first | Debian's cron |
//! | `literal` | skip | both | the wall clock as it is |
//! | `skip` | skip | first | systemd |
//! | `shift` | shift | first | the same distance from midnight |
//!
//! A policy does not apply to a job whose minute or hour begins with `*`: it follows the wall clock, because
//! a job that runs every five minutes must not pause for an hour in autumn. It does not apply either to a
//! change of three hours or more, which corrects the calendar (Samoa left out a whole day in 2011) and is not
//! daylight saving. The limit of exactly three hours is that of the manual; Debian's program differs from its
//! manual for a clock that is set back by exactly three hours.
//!
//! Values only: the windows that follow from a policy are computed in `zone`.
//!
//! Source: [cron(8)](https://manpages.debian.org/bookworm/cron/cron.8.en.html), "Notes".

use std::fmt;
use std::str::FromStr;

use crate::options::{UnknownName, choice_of};

/// What becomes of a time that a change of the clock leaves out.
///
/// `Display` and `FromStr` use the names `run`, `skip` and `shift`.
///
/// # Example
/// ```
/// use mainspring_cron::{DstPolicy, Gap, Overlap, Schedule};
///
/// let nightly = Schedule::parse("30 2 * * *", "America/New_York")?;
/// let next = |gap| {
///     let schedule = nightly.clone().with_dst(DstPolicy::new(gap, Overlap::First));
///     schedule.next_after("2025-03-09T00:00:00-05:00".parse().unwrap()).unwrap().to_string()
/// };
/// assert_eq!(next(Gap::Run), "2025-03-09T03:00:00-04:00[America/New_York]");
/// assert_eq!(next(Gap::Skip), "2025-03-10T02:30:00-04:00[America/New_York]");
/// assert_eq!(next(Gap::Shift), "2025-03-09T03:30:00-04:00[America/New_York]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gap {
    /// It runs once, at the first moment after the gap, however many of its times were left out.
    Run,
    /// It does not run.
    Skip,
    /// It runs later by the length of the gap: 02:30 becomes 03:30.
    Shift,
}

/// What becomes of a time that comes twice.
///
/// `Display` and `FromStr` use the names `first`, `last` and `both`.
///
/// # Example
/// ```
/// use mainspring_cron::{DstPolicy, Gap, Overlap, Schedule};
///
/// let nightly = Schedule::parse("30 1 * * *", "America/New_York")?;
/// let count = |overlap| {
///     let schedule = nightly.clone().with_dst(DstPolicy::new(Gap::Run, overlap));
///     let day = schedule.upcoming("2025-11-02T00:00:00-04:00".parse().unwrap());
///     day.take_while(|time| time.day() == 2).count()
/// };
/// assert_eq!(count(Overlap::First), 1);
/// assert_eq!(count(Overlap::Both), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Overlap {
    /// It runs before the clock is set back.
    First,
    /// It runs after the clock was set back.
    Last,
    /// It runs twice.
    Both,
}

/// What a fixed-time job does at changes of the clock of less than three hours.
///
/// A job is fixed-time if neither its minute nor its hour begins with `*`; in OnCalendar every job is. All
/// others follow the wall clock, and so does every job at a change of three hours or more.
///
/// `Display` writes the name of a named policy (`cron`, `literal`, `skip`, `shift`), and otherwise the gap
/// and the overlap with a `+` between them. `FromStr` reads both forms.
///
/// # Example
/// ```
/// use mainspring_cron::{DstPolicy, Gap, Overlap};
///
/// assert_eq!("cron".parse(), Ok(DstPolicy::CRON));
/// assert_eq!("run+last".parse(), Ok(DstPolicy::new(Gap::Run, Overlap::Last)));
/// assert_eq!(DstPolicy::SHIFT.to_string(), "shift");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DstPolicy {
    /// For times that do not exist.
    pub gap: Gap,
    /// For times that come twice.
    pub overlap: Overlap,
}

impl DstPolicy {
    /// Debian's rule, and the default: once at the end of a gap, on the first pass of an overlap.
    pub const CRON: DstPolicy = DstPolicy::new(Gap::Run, Overlap::First);
    /// What the wall clock shows: not in a gap, twice in an overlap.
    pub const LITERAL: DstPolicy = DstPolicy::new(Gap::Skip, Overlap::Both);
    /// systemd's rule: not in a gap, on the first pass of an overlap.
    pub const SKIP: DstPolicy = DstPolicy::new(Gap::Skip, Overlap::First);
    /// Later by the length of a gap, on the first pass of an overlap.
    pub const SHIFT: DstPolicy = DstPolicy::new(Gap::Shift, Overlap::First);

    const NAMED: [(&str, DstPolicy); 4] = [
        ("cron", DstPolicy::CRON),
        ("literal", DstPolicy::LITERAL),
        ("skip", DstPolicy::SKIP),
        ("shift", DstPolicy::SHIFT),
    ];

    /// Makes a policy from what happens in a gap and in an overlap.
    pub const fn new(gap: Gap, overlap: Overlap) -> DstPolicy {
        DstPolicy { gap, overlap }
    }
}

impl Default for DstPolicy {
    fn default() -> DstPolicy {
        DstPolicy::CRON
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Gap::Run => "run",
            Gap::Skip => "skip",
            Gap::Shift => "shift",
        })
    }
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Overlap::First => "first",
            Overlap::Last => "last",
            Overlap::Both => "both",
        })
    }
}

impl fmt::Display for DstPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DstPolicy::NAMED.iter().find(|(_, policy)| policy == self) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{}+{}", self.gap, self.overlap),
        }
    }
}

impl FromStr for Gap {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Gap, UnknownName> {
        choice_of(&[Gap::Run, Gap::Skip, Gap::Shift], name, "run, skip or shift")
    }
}

impl FromStr for Overlap {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Overlap, UnknownName> {
        choice_of(&[Overlap::First, Overlap::Last, Overlap::Both], name, "first, last or both")
    }
}

impl FromStr for DstPolicy {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<DstPolicy, UnknownName> {
        if let Some((_, policy)) = DstPolicy::NAMED.iter().find(|(known, _)| *known == name) {
            return Ok(*policy);
        }
        match name.split_once('+') {
            Some((gap, overlap)) => Ok(DstPolicy { gap: gap.parse()?, overlap: overlap.parse()? }),
            None => {
                Err(UnknownName::new(name, "cron, literal, skip, shift, or gap+overlap such as run+last"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_read_back_from_what_it_shows() {
        for gap in [Gap::Run, Gap::Skip, Gap::Shift] {
            for overlap in [Overlap::First, Overlap::Last, Overlap::Both] {
                let policy = DstPolicy { gap, overlap };
                assert_eq!(policy.to_string().parse(), Ok(policy));
            }
        }
    }

    #[test]
    fn an_unknown_policy_says_which_there_are() {
        let error = "run+never".parse::<DstPolicy>().unwrap_err();
        assert_eq!(error.to_string(), "expected first, last or both, found `never`");
        assert!("vixie".parse::<DstPolicy>().unwrap_err().to_string().starts_with("expected cron, literal"));
    }
}
