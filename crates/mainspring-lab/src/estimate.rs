//! Estimates the time left of a run: the work left, at the speed that each subject has shown.
//!
//! ```text
//!   a measurement to come:  the same one's mean so far
//!                           or what its case takes on average  x  how much slower this subject has been than that
//! ```
//!
//! A measurement with ten million timers takes a hundred times as long as one with a thousand, and comes
//! last: a mean over all would promise too much for most of a run.
//!
//! Cost: a look at each measurement to come. It does not know any subject beforehand.

use std::collections::BTreeMap;

use crate::case::{Case, Workload};

/// What is left of a run, and what was seen of it.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// Rounds to come, by subject and case.
    left: BTreeMap<(String, Case), u32>,
    /// What was measured: how often, and how long it took together.
    seen: BTreeMap<(String, Case), (u32, f64)>,
}

/// A sum of what was expected and of what it took.
#[derive(Default)]
struct Pace {
    expected: f64,
    taken: f64,
}

impl Estimate {
    /// Adds measurements to come.
    pub fn plan(&mut self, subject: &str, case: Case, round_count: u32) {
        self.left.insert((subject.to_owned(), case), round_count);
    }

    /// Notes that one was made.
    pub fn done(&mut self, subject: &str, case: Case, seconds: f64) {
        debug_assert!(0.0 <= seconds, "a round takes time");
        let key = (subject.to_owned(), case);
        if let Some(left) = self.left.get_mut(&key) {
            *left = left.saturating_sub(1);
        }
        let seen = self.seen.entry(key).or_default();
        *seen = (seen.0 + 1, seen.1 + seconds);
    }

    /// Notes that the rest of a subject's rounds will not be made. How many those are.
    pub fn give_up(&mut self, subject: &str, case: Case) -> u32 {
        let key = (subject.to_owned(), case);
        self.seen.remove(&key);
        self.left.remove(&key).unwrap_or_default()
    }

    /// How many seconds are left.
    pub fn seconds_left(&self) -> f64 {
        let mut by_subject: BTreeMap<&str, Pace> = BTreeMap::new();
        let mut all = Pace::default();
        for ((subject, case), &(count, seconds)) in &self.seen {
            let expected = seconds_expected(case) * f64::from(count);
            for pace in [by_subject.entry(subject).or_default(), &mut all] {
                pace.expected += expected;
                pace.taken += seconds;
            }
        }
        let ratio = |pace: &Pace| (pace.expected > 0.0).then(|| pace.taken / pace.expected);
        let one = |key: &(String, Case)| match self.seen.get(key) {
            Some(&(count, seconds)) => seconds / f64::from(count),
            None => {
                let own = by_subject.get(key.0.as_str()).and_then(ratio);
                seconds_expected(&key.1) * own.or_else(|| ratio(&all)).unwrap_or(1.0)
            }
        };
        let left: f64 = self.left.iter().map(|(key, &count)| one(key) * f64::from(count)).sum();
        debug_assert!(0.0 <= left, "nothing ends before now");
        left
    }
}

/// What a case takes on average over the subjects, in seconds: a first guess, corrected as a run continues.
fn seconds_expected(case: &Case) -> f64 {
    let size = case.size as f64;
    // The more timers, the more caches are too small: 70 ns an operation at a thousand, 0.5 us at a million,
    // 1 us at ten.
    let operation = 2e-8 + 5e-7 * (size / 1e6).powf(0.35);
    match case.workload {
        // Filling, four million steps, and a check that fires.
        Workload::W1 | Workload::W1b | Workload::W2 => 0.1 + (4e6 + size) * operation,
        Workload::W3 => 0.1 + size * operation,
        Workload::W4 => 0.1,
        Workload::W5 => 2.0 + size * f64::from(case.thread_count) * 1e-6,
        Workload::W6 => 14.0,
        Workload::W7 | Workload::W7b => 12.0,
        Workload::W9 => 4.0,
        Workload::W10 => 65.0,
        // Filling, two pairs a timer, and a check.
        Workload::W8 => 0.1 + 3.0 * size * operation,
    }
}

/// Seconds as a person says them.
pub fn words(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..=99 => format!("about {seconds} s left"),
        100..=5_999 => format!("about {} min left", seconds.div_ceil(60)),
        _ => format!("about {} h {} min left", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(size: u64) -> Case {
        Case { workload: Workload::W3, size, thread_count: 1, seed: 0 }
    }

    #[test]
    fn large_measurements_to_come_are_not_taken_for_small_ones() {
        let mut estimate = Estimate::default();
        for subject in ["fast", "slow"] {
            estimate.plan(subject, case(1_000), 1);
            estimate.plan(subject, case(10_000_000), 1);
        }
        let expected = seconds_expected(&case(1_000));
        estimate.done("fast", case(1_000), expected);
        estimate.done("slow", case(1_000), 3.0 * expected);
        let large = seconds_expected(&case(10_000_000));
        assert!((estimate.seconds_left() - 4.0 * large).abs() < 1e-6, "{}", estimate.seconds_left());
    }

    #[test]
    fn what_was_measured_once_takes_as_long_again_and_what_was_given_up_nothing() {
        let mut estimate = Estimate::default();
        estimate.plan("able", case(1_000), 3);
        estimate.plan("unable", case(1_000), 3);
        estimate.done("able", case(1_000), 7.0);
        assert_eq!(estimate.give_up("unable", case(1_000)), 3);
        assert!((estimate.seconds_left() - 14.0).abs() < 1e-9);
    }

    #[test]
    fn seconds_are_said_in_the_unit_that_fits() {
        let cases = [(5.4, "about 5 s left"), (130.0, "about 3 min left"), (7_260.0, "about 2 h 1 min left")];
        for (seconds, text) in cases {
            assert_eq!(words(seconds), text);
        }
    }
}
