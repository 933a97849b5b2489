//! Bounds of a group: how many of its runs go on at a time, and how many start in a time.
//!
//! Cost: none worth a word.
//!
//! Does not count runs: the planner does.

use std::time::Duration;

use mainspring_job::{Group, JobName, PolicyError, Rate};

/// What the runs of a group share. A number alone is how many may go on at a time.
///
/// # Example
/// ```
/// use mainspring_embed::{Bounds, Options};
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// let two_at_a_time = Options::new("charge").group("bank", 2);
/// let ten_in_a_second = Options::new("charge").group("bank", Bounds::rate(10, second));
/// let both = Options::new("charge").group("bank", Bounds::rate(10, second).at_a_time(2));
/// # let _ = (two_at_a_time, ten_in_a_second, both);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    limit: Option<u32>,
    rate: Option<(u32, Duration)>,
}

impl Bounds {
    /// At most so many starts in any span of so long, each attempt among them: 1 to 10,000, in a millisecond
    /// to a day. What is outside of that is told by [`Builder::start`](crate::Builder::start). All servers of
    /// a pool share it. A planner that takes over takes all as started for so long, but at most for ten
    /// seconds.
    pub fn rate(starts: u32, period: Duration) -> Bounds {
        Bounds { limit: None, rate: Some((starts, period)) }
    }

    /// And at most so many runs at a time; at least 1.
    #[must_use]
    pub fn at_a_time(self, limit: u32) -> Bounds {
        Bounds { limit: Some(limit.max(1)), ..self }
    }

    pub(crate) fn group(&self, name: JobName) -> Result<Group, PolicyError> {
        debug_assert!(self.limit.is_some() || self.rate.is_some(), "a group bounds something");
        let rate = self.rate.map(|(starts, period)| Rate::new(starts, period)).transpose()?;
        let mut group = Group::new(name, 1);
        (group.limit, group.rate) = (self.limit, rate);
        Ok(group)
    }
}

/// At most so many runs at a time; at least 1.
impl From<u32> for Bounds {
    fn from(limit: u32) -> Bounds {
        Bounds { limit: Some(limit.max(1)), rate: None }
    }
}
