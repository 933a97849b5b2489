//! A fixed period, counted on the time line and not on the wall clock.
//!
//! ```text
//! anchor (1970-01-01T00:00:00Z unless told)
//! |---period---|---period---|---period---|     next_after(t): the first mark strictly after t
//! ```
//!
//! The marks do not depend on when a program was started, so a restart does not move them. They do not depend
//! on a time zone either: when the clock changes, `@every 24h` moves by an hour on the wall clock. Constant
//! time.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::friendly::{Designator, Spacing, SpanPrinter};

use crate::error::ParseError;
use crate::word::Word;

const SECOND_NS: i128 = 1_000_000_000;
/// A shorter period would be a busy loop.
const SHORTEST_NS: i128 = 1_000_000;
/// About a century. A longer period is a mistake of the unit.
const LONGEST_NS: i128 = 36_525 * 86_400 * SECOND_NS;

const EXPECTED: &str = "a period such as 90s, 1h30m or 500ms";

/// The largest units first, and no longer ones than hours: `1h30m`.
const PERIODS: SpanPrinter = SpanPrinter::new().designator(Designator::HumanTime).spacing(Spacing::None);

/// The units of a period. Where several begin what is written, the longest name counts.
const UNITS: [(&str, i128); 9] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
    ("s", SECOND_NS),
    ("m", 60 * SECOND_NS),
    ("h", 3_600 * SECOND_NS),
    ("d", 86_400 * SECOND_NS),
    ("w", 604_800 * SECOND_NS),
];

const _: () = assert!(SHORTEST_NS == Every::SHORTEST.as_nanos() as i128);
const _: () = assert!(LONGEST_NS == Every::LONGEST.as_nanos() as i128);

/// A fixed period on the time line: due at `anchor + n * period` for all whole `n`.
///
/// The period is 1 ms to 36525 days, in whole nanoseconds. The anchor is the Unix epoch unless
/// [`Every::with_anchor`] or [`Every::with_phase`] moves it. No change of a clock or of a zone moves the
/// marks.
///
/// Two values are equal if period, phase and text are: `@every 60s` and `@every 1m` differ. `Display` writes
/// the period as `@every 1m30s`, without the phase.
///
/// # Example
/// ```
/// use std::time::Duration;
/// use mainspring_cron::Every;
///
/// let every = Every::new(Duration::from_secs(90)).expect("90 s is an allowed period");
/// let next = every.next_after("1970-01-01T00:01:30Z".parse().unwrap());
/// assert_eq!(next.unwrap().to_string(), "1970-01-01T00:03:00Z");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Every {
    text: String,
    /// Between `SHORTEST_NS` and `LONGEST_NS`.
    period_ns: i128,
    /// From 0 up to but not including the period.
    phase_ns: i128,
}

impl Every {
    /// The shortest period: one millisecond.
    pub const SHORTEST: Duration = Duration::from_millis(1);
    /// The longest period: 36525 days.
    pub const LONGEST: Duration = Duration::from_secs(36_525 * 86_400);

    /// Makes the marks at whole multiples of a period since the Unix epoch. `None` if the period is shorter
    /// than [`Every::SHORTEST`] or longer than [`Every::LONGEST`].
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    /// use mainspring_cron::Every;
    ///
    /// assert_eq!(Every::new(Duration::from_secs(5400)).unwrap().to_string(), "@every 1h30m");
    /// assert_eq!(Every::new(Duration::from_micros(999)), None);
    /// ```
    pub fn new(period: Duration) -> Option<Every> {
        let period_ns = i128::try_from(period.as_nanos()).ok()?;
        let is_allowed = (SHORTEST_NS..=LONGEST_NS).contains(&period_ns);
        let text = || PERIODS.unsigned_duration_to_string(&period);
        is_allowed.then(|| Every { text: text(), period_ns, phase_ns: 0 })
    }

    /// Moves the marks so that one of them falls on `anchor`, such as the stored start of a job.
    ///
    /// # Example
    /// ```
    /// use mainspring_cron::Expression;
    ///
    /// let Expression::Every(every) = Expression::parse("@every 1h")? else { unreachable!() };
    /// let every = every.with_anchor("2025-06-01T10:07:00Z".parse().unwrap());
    /// let next = every.next_after("2025-06-02T00:00:00Z".parse().unwrap()).unwrap();
    /// assert_eq!(next.to_string(), "2025-06-02T00:07:00Z");
    /// # Ok::<(), mainspring_cron::ParseError>(())
    /// ```
    #[must_use]
    pub fn with_anchor(mut self, anchor: Timestamp) -> Every {
        self.phase_ns = anchor.as_nanosecond().rem_euclid(self.period_ns);
        self
    }

    /// Moves the marks by `phase` after the Unix epoch. Whole periods in it change nothing.
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    /// use mainspring_cron::Every;
    ///
    /// let hourly = Every::new(Duration::from_secs(3600)).expect("1 h is an allowed period");
    /// let at_seven_past = hourly.with_phase(Duration::from_secs(3600 + 420));
    /// assert_eq!(at_seven_past.phase(), Duration::from_secs(420));
    /// ```
    #[must_use]
    pub fn with_phase(mut self, phase: Duration) -> Every {
        let phase_ns = i128::from(phase.as_secs()) * SECOND_NS + i128::from(phase.subsec_nanos());
        self.phase_ns = phase_ns.rem_euclid(self.period_ns);
        self
    }

    /// The time from one mark to the next.
    pub fn period(&self) -> Duration {
        duration(self.period_ns)
    }

    /// The time from the Unix epoch to the first mark at or after it; less than a period.
    pub fn phase(&self) -> Duration {
        duration(self.phase_ns)
    }

    /// The first mark strictly after a moment. `None` only if that lies beyond the year 9999.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let periods = (after.as_nanosecond() - self.phase_ns).div_euclid(self.period_ns) + 1;
        let found = Timestamp::from_nanosecond(self.phase_ns + periods * self.period_ns).ok();
        debug_assert!(found.is_none_or(|found| after < found));
        found
    }

    /// The last mark strictly before a moment. `None` only if that lies before the year -9999.
    pub fn prev_before(&self, before: Timestamp) -> Option<Timestamp> {
        let periods = (before.as_nanosecond() - 1 - self.phase_ns).div_euclid(self.period_ns);
        let found = Timestamp::from_nanosecond(self.phase_ns + periods * self.period_ns).ok();
        debug_assert!(found.is_none_or(|found| found < before));
        found
    }

    /// Reads `90s`, `1h30m`, `1.5h` or `500ms`.
    pub(crate) fn read(word: Word<'_>) -> Result<Every, ParseError> {
        if word.is_empty() {
            return Err(word.error(format!("expected {EXPECTED}")).with_hint("@every 1h"));
        }
        let positive = word.after_prefix('-');
        let sign = if positive.is_some() { -1 } else { 1 };
        let mut rest = positive.unwrap_or(word);
        let mut total_ns = 0_i128;
        while !rest.is_empty() {
            let (part_ns, after) = read_part(rest)?;
            (total_ns, rest) = (total_ns.saturating_add(part_ns), after);
        }
        let total_ns = sign * total_ns;
        if total_ns <= 0 {
            return Err(word.error("a period must be longer than nothing").with_hint("1s"));
        }
        if total_ns < SHORTEST_NS {
            return Err(word.error("a period must be at least 1ms").with_hint("1ms"));
        }
        if LONGEST_NS < total_ns {
            return Err(word.error("a period must be at most 36525d, about 100 years").with_hint("36525d"));
        }
        Ok(Every { text: word.text.to_owned(), period_ns: total_ns, phase_ns: 0 })
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@every {}", self.text)
    }
}

/// One number with its unit, and the text after it. A number that is too large saturates; it is out of range
/// then.
fn read_part(word: Word<'_>) -> Result<(i128, Word<'_>), ParseError> {
    let is_of_unit = |c: char| !c.is_ascii_digit() && c != '.';
    let (number, rest) = word.split_at(word.text.find(is_of_unit).unwrap_or(word.text.len()));
    let (whole, fraction) = number.text.split_once('.').unwrap_or((number.text, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    if !has_digits || fraction.contains('.') {
        return Err(word.expected(EXPECTED));
    }
    let begun = UNITS.iter().filter(|(name, _)| rest.text.starts_with(name));
    let Some((name, unit_ns)) = begun.max_by_key(|(name, _)| name.len()) else {
        let number_text = number.text;
        let message =
            format!("the number {number_text} has no unit: expected w, d, h, m, s, ms, us or ns after it");
        return Err(number.error(message).with_hint(format!("{number_text}s")));
    };
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(i128::MAX) };
    // Eighteen digits of a week's fraction are far below a nanosecond, and fit.
    let fraction = &fraction[..fraction.len().min(18)];
    let scale = 10_i128.pow(u32::try_from(fraction.len()).expect("at most 18 digits"));
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().expect("at most 18 digits") };
    let part_ns = whole.saturating_mul(*unit_ns).saturating_add(part * unit_ns / scale);
    Ok((part_ns, rest.split_at(name.len()).1))
}

fn duration(ns: i128) -> Duration {
    let seconds = u64::try_from(ns / SECOND_NS).expect("a period is positive and at most a century");
    Duration::new(seconds, u32::try_from(ns % SECOND_NS).expect("a part of a second is below 10^9"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Every, ParseError> {
        Every::read(Word::whole(text))
    }

    #[test]
    fn periods_are_sums_of_numbers_with_units() {
        let cases = [
            ("90s", 90_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5h", 5_400_000_000_000),
            ("500ms", 500_000_000),
            (".5s", 500_000_000),
            ("1500us", 1_500_000),
            ("2d", 172_800_000_000_000),
            ("36525d", LONGEST_NS),
        ];
        for (text, ns) in cases {
            let every = read(text).unwrap();
            assert_eq!(every.period().as_nanos(), ns as u128, "{text}");
            assert_eq!(every.to_string(), format!("@every {text}"));
        }
    }

    #[test]
    fn a_period_that_is_no_schedule_is_refused_at_its_characters() {
        let cases = [
            ("", 0..0),
            ("0s", 0..2),
            ("-5m", 0..3),
            ("1ns", 0..3),
            ("36525d1ns", 0..9),
            ("99999999999999999999999999999999999999999w", 0..42),
            ("90", 0..2),
            ("5m30", 2..4),
            ("5x", 0..1),
            ("1..5s", 0..5),
            ("5mfoo", 2..5),
        ];
        for (text, span) in cases {
            assert_eq!(read(text).unwrap_err().span(), span, "{text}");
        }
    }

    #[test]
    fn marks_before_the_epoch_are_marks_too() {
        let every = Every::new(Duration::from_secs(100)).unwrap().with_phase(Duration::from_secs(1_010));
        assert_eq!(every.phase(), Duration::from_secs(10));
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(every.next_after(at(-190)), Some(at(-90)));
        assert_eq!(every.next_after(at(-191)), Some(at(-190)));
        assert_eq!(every.prev_before(at(-90)), Some(at(-190)));
        assert_eq!(every.next_after(Timestamp::MAX), None);
    }
}
