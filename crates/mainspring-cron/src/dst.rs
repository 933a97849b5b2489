//! What a fixed-time job does when its zone changes the clock.
//!
//! ```text
//! gap:      01:59 -> 03:00   02:30 does not exist     run at 03:00 | skip | shift to 03:30
//! overlap:  01:59 -> 01:00   01:30 comes twice        first | last | both
//! ```
//!
//! | policy | gap | overlap | as in |
//! |---|---|---|---|
//! | `cron` | run | first | Debian's cron |
//! | `literal` | skip | both | the wall clock, taken at its word |
//! | `skip` | skip | first | never twice, never at another time |
//! | `shift` | shift | first | the same distance from midnight |
//!
//! Jobs with a wildcard minute or hour follow the wall clock under every policy: they would otherwise fall silent for
//! an hour in autumn. So does everything when a change is three hours or longer: that is a correction of the calendar
//! (Samoa left out a whole day in 2011), and not daylight saving. Three hours exactly are the manual's limit; Debian's
//! program differs from it for a clock that is set back by three hours and no minute more.
//!
//! Source: [cron(8)](https://manpages.debian.org/bookworm/cron/cron.8.en.html), "Notes".

use std::fmt;
use std::str::FromStr;

use crate::options::UnknownName;

/// Says what becomes of a time that a change of the clock leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gap {
    /// It runs once, at the first moment after the gap, however many times of it were left out.
    Run,
    /// It does not run.
    Skip,
    /// It runs later by the length of the gap: 02:30 becomes 03:30.
    Shift,
}

/// Says what becomes of a time that comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overlap {
    /// It runs before the clock is set back.
    First,
    /// It runs after the clock was set back.
    Last,
    /// It runs twice.
    Both,
}

/// Says what a fixed-time job does at changes of the clock of less than three hours.
///
/// # Example
/// ```
/// use mainspring_cron::{DstPolicy, Gap, Overlap};
///
/// assert_eq!("cron".parse(), Ok(DstPolicy::CRON));
/// assert_eq!("run+last".parse(), Ok(DstPolicy { gap: Gap::Run, overlap: Overlap::Last }));
/// assert_eq!(DstPolicy::SHIFT.to_string(), "shift");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DstPolicy {
    /// For times that do not exist.
    pub gap: Gap,
    /// For times that come twice.
    pub overlap: Overlap,
}

impl DstPolicy {
    /// Debian's rule: once at the end of a gap, on the first pass of an overlap.
    pub const CRON: DstPolicy = DstPolicy { gap: Gap::Run, overlap: Overlap::First };
    /// What the wall clock shows: not in a gap, twice in an overlap.
    pub const LITERAL: DstPolicy = DstPolicy { gap: Gap::Skip, overlap: Overlap::Both };
    /// Not in a gap, on the first pass of an overlap.
    pub const SKIP: DstPolicy = DstPolicy { gap: Gap::Skip, overlap: Overlap::First };
    /// Later by the length of a gap, on the first pass of an overlap.
    pub const SHIFT: DstPolicy = DstPolicy { gap: Gap::Shift, overlap: Overlap::First };

    const NAMED: [(&str, DstPolicy); 4] = [
        ("cron", DstPolicy::CRON),
        ("literal", DstPolicy::LITERAL),
        ("skip", DstPolicy::SKIP),
        ("shift", DstPolicy::SHIFT),
    ];
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

/// The name of a named policy, or else `gap+overlap`.
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
        let known = [Gap::Run, Gap::Skip, Gap::Shift].into_iter().find(|gap| gap.to_string() == name);
        known.ok_or_else(|| UnknownName::new(name, "run, skip or shift"))
    }
}

impl FromStr for Overlap {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Overlap, UnknownName> {
        let known = [Overlap::First, Overlap::Last, Overlap::Both]
            .into_iter()
            .find(|overlap| overlap.to_string() == name);
        known.ok_or_else(|| UnknownName::new(name, "first, last or both"))
    }
}

/// Reads a name of the table, or a gap and an overlap with `+` between them.
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
