//! The suite for rules that say when: those of [`Rule`].
//!
//! ```text
//!  from ──▶ next ──▶ next ──▶ .. up to        each strictly after the last
//!        ◀── prev ◀── prev ◀──                the same, back
//!           between two: the same neighbours
//! ```
//!
//! Cost: four questions for each occurrence, at most [`MAX_OCCURRENCES`] of them.
//!
//! Does not know which moments are right: that is for the rule's own tests.

use jiff::{SignedDuration, Timestamp};

use super::Violation;
use crate::trigger::Rule;

/// The most occurrences that are looked at: some years of a rule that names one an hour.
const MAX_OCCURRENCES: usize = 100_000;

/// Holds a rule to the contract of [`Rule`] between two moments.
///
/// # Errors
/// The first sentence of the contract that it does not keep, and where.
///
/// # Example
/// ```
/// use jiff::Timestamp;
/// use mainspring_job::{Rule, contract};
///
/// /// Names the moment that it is asked about, which is not after itself.
/// #[derive(Debug)]
/// struct Now;
///
/// impl Rule for Now {
///     fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
///         Some(moment)
///     }
///     fn prev_before(&self, moment: Timestamp) -> Option<Timestamp> {
///         Some(moment)
///     }
///     fn text(&self) -> String {
///         "now".to_owned()
///     }
/// }
///
/// let (from, up_to) = (Timestamp::UNIX_EPOCH, Timestamp::MAX);
/// assert!(contract::exercise_rule(&Now, from, up_to).is_err());
/// ```
pub fn exercise_rule(rule: &dyn Rule, from: Timestamp, up_to: Timestamp) -> Result<(), Violation> {
    let mut before: Option<Timestamp> = None;
    let mut moment = from;
    for _ in 0..MAX_OCCURRENCES {
        let Some(next) = rule.next_after(moment).filter(|next| *next <= up_to) else { return Ok(()) };
        if next <= moment {
            return Err(violation("the next occurrence lies after the moment", moment, Some(next), None));
        }
        let just_before = moment.max(next.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(moment));
        let again = rule.next_after(just_before);
        if again != Some(next) {
            let law = "the next occurrence is the same from wherever it is asked before";
            return Err(violation(law, just_before, again, Some(next)));
        }
        let back = rule.prev_before(next);
        if let Some(before) = before
            && back != Some(before)
        {
            return Err(violation("the way back is the way there", next, back, Some(before)));
        }
        if back.is_some_and(|back| next <= back) {
            return Err(violation("the last occurrence lies before the moment", next, back, None));
        }
        (before, moment) = (Some(next), next);
    }
    Ok(())
}

fn violation(
    law: &str,
    asked_at: Timestamp,
    found: Option<Timestamp>,
    expected: Option<Timestamp>,
) -> Violation {
    let text = |moment: Option<Timestamp>| moment.map_or("none".to_owned(), |moment| moment.to_string());
    let expected = expected.map_or(String::new(), |expected| format!(" instead of {expected}"));
    Violation { law: law.to_owned(), found: format!("asked at {asked_at}: {}{expected}", text(found)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every hour, with a flaw.
    #[derive(Debug)]
    struct Hourly {
        skips: bool,
        is_deaf_behind: bool,
    }

    impl Rule for Hourly {
        fn next_after(&self, moment: Timestamp) -> Option<Timestamp> {
            let step = if self.skips && moment.as_second() % 3_600 == 0 { 2 } else { 1 };
            Timestamp::from_second((moment.as_second().div_euclid(3_600) + step) * 3_600).ok()
        }

        fn prev_before(&self, moment: Timestamp) -> Option<Timestamp> {
            let hour = (moment.as_second() - 1).div_euclid(3_600);
            (!self.is_deaf_behind).then(|| Timestamp::from_second(hour * 3_600).ok())?
        }

        fn text(&self) -> String {
            format!("{self:?}")
        }
    }

    #[test]
    fn a_rule_that_leaves_one_out_or_does_not_look_back_is_caught() {
        let from = Timestamp::UNIX_EPOCH;
        let up_to = from + SignedDuration::from_hours(24);
        let found = |skips, is_deaf_behind| exercise_rule(&Hourly { skips, is_deaf_behind }, from, up_to);
        assert_eq!(found(false, false), Ok(()));
        assert!(found(true, false).is_err());
        assert!(found(false, true).is_err());
    }
}
