//! Rate: how many runs of a group may start in a time.
//!
//! ```text
//!  3/1s    ──×──×─×────────┼──×──×─×────▶    in no second, wherever it begins, are there more than three
//!            └─── 1 s ─────┘
//! ```
//!
//! The text is `10/1s`: a number, and a duration as policies have them. A unit alone is one of it: `10/s`.
//!
//! Cost: two numbers.
//!
//! Does not count starts: the planner does.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::policy::PolicyError;
use crate::policy::text::{duration, duration_text, number};

/// The most starts of a rate: the planner remembers each, in 12 bytes.
pub const MAX_RATE_STARTS: u32 = 10_000;

/// The shortest period of a rate: a planner with a disk decides about once in a millisecond.
pub const MIN_RATE_PERIOD: Duration = Duration::from_millis(1);

/// The longest period of a rate: a day. Of what is longer a new planner would know too little.
pub const MAX_RATE_PERIOD: Duration = Duration::from_secs(86_400);

const _: () = assert!(MIN_RATE_PERIOD.as_millis() < MAX_RATE_PERIOD.as_millis());

/// At most so many starts in any span of a period. A start at the end of the span is in the next.
///
/// # Example
/// ```
/// use mainspring_job::Rate;
/// use std::time::Duration;
///
/// let rate: Rate = "10/1s".parse()?;
/// assert_eq!(rate, Rate::new(10, Duration::from_secs(1))?);
/// assert_eq!("600/min".parse::<Rate>()?.to_string(), "600/1m");
/// assert!("0/1s".parse::<Rate>().is_err());
/// # Ok::<(), mainspring_job::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// From 1 to [`MAX_RATE_STARTS`].
    starts: u32,
    /// From [`MIN_RATE_PERIOD`] to [`MAX_RATE_PERIOD`].
    period: Duration,
}

impl Rate {
    /// At most so many starts, from 1 to [`MAX_RATE_STARTS`], in any span of a period from
    /// [`MIN_RATE_PERIOD`] to [`MAX_RATE_PERIOD`].
    ///
    /// # Errors
    /// When one of them is outside of its limits, which the error names.
    pub fn new(starts: u32, period: Duration) -> Result<Rate, PolicyError> {
        number("number of starts", &starts.to_string(), 1, MAX_RATE_STARTS)?;
        if period < MIN_RATE_PERIOD || MAX_RATE_PERIOD < period {
            let (least, most) = (duration_text(MIN_RATE_PERIOD), duration_text(MAX_RATE_PERIOD));
            let expected = format!("a duration from {least} to {most}");
            return Err(PolicyError::new("period of a rate", &duration_text(period), expected));
        }
        Ok(Rate { starts, period })
    }

    /// How many runs may start.
    pub fn starts(&self) -> u32 {
        self.starts
    }

    /// In how long a time.
    pub fn period(&self) -> Duration {
        self.period
    }
}

impl FromStr for Rate {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Rate, PolicyError> {
        let Some((starts, period)) = text.split_once('/') else {
            return Err(PolicyError::new("rate", text, "starts in a time, such as 10/1s or 100/1m"));
        };
        let is_unit = period.starts_with(|first: char| first.is_ascii_alphabetic());
        let period = if is_unit { format!("1{period}") } else { period.to_owned() };
        let starts = number("number of starts", starts, 1, MAX_RATE_STARTS)?;
        Rate::new(starts, duration("period of a rate", &period, Duration::MAX)?)
    }
}

/// What is read back: `10/1s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.starts, duration_text(self.period))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_back_up_to_their_limits() {
        for (text, shown) in [
            ("10/1s", "10/1s"),
            ("10/s", "10/1s"),
            ("100/1m", "100/1m"),
            ("100/min", "100/1m"),
            ("1/1ms", "1/1ms"),
            ("10000/24h", "10000/24h"),
            ("5/1h30m", "5/1h30m"),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate.to_string(), shown);
            assert_eq!(shown.parse(), Ok(rate));
        }
    }

    #[test]
    fn what_is_no_rate_says_what_was_expected() {
        let starts = "a number from 1 to 10000";
        let period = "a duration from 1ms to 24h";
        for (text, expected) in [
            ("10", "starts in a time, such as 10/1s or 100/1m"),
            ("", "starts in a time, such as 10/1s or 100/1m"),
            ("0/1s", starts),
            ("10001/1s", starts),
            ("-1/1s", starts),
            ("ten/1s", starts),
            ("10/", "a duration such as 90s, 1h30m or 500ms"),
            ("10/1", "a duration such as 90s, 1h30m or 500ms"),
            ("10/-1s", "a duration such as 90s, 1h30m or 500ms"),
            ("10/1s/2", "a duration such as 90s, 1h30m or 500ms"),
            ("10/0s", period),
            ("10/999us", period),
            ("10/24h1ms", period),
        ] {
            let error = text.parse::<Rate>().expect_err(text);
            assert!(error.to_string().ends_with(&format!(": expected {expected}")), "{text}: {error}");
        }
        assert!(Rate::new(1, Duration::MAX).is_err());
    }
}
