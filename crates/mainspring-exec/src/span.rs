//! Lengths of time for the log.
//!
//! Cost: none worth a word.
//!
//! Does not round to the nearest: what is shown has passed.

use std::fmt;
use std::time::Duration;

/// A duration for reading: milliseconds below a minute's worth of seconds, then larger units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            0 => write!(f, "{} ms", self.0.as_millis()),
            1..60 if self.0.subsec_millis() == 0 => write!(f, "{seconds} s"),
            1..60 => write!(f, "{seconds}.{:03} s", self.0.subsec_millis()),
            60..3600 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            _ => write!(f, "{} h {} min", seconds / 3600, seconds % 3600 / 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_fitting_units() {
        let shown = |ms| Span(Duration::from_millis(ms)).to_string();
        assert_eq!([shown(0), shown(999), shown(1000)], ["0 ms", "999 ms", "1 s"]);
        assert_eq!([shown(59_999), shown(61_000)], ["59.999 s", "1 min 1 s"]);
        assert_eq!([shown(3_600_000), shown(90_061_000)], ["1 h 0 min", "25 h 1 min"]);
    }
}
