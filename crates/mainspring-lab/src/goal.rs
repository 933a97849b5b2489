//! One goal, and what a run says of it.
//!
//! | judged against | says |
//! |---|---|
//! | a rival, or the best library | how many times faster |
//! | the floor | how much is left to gain |
//! | what it stands on | what it adds |
//! | itself on one thread | what another core brings |
//! | nothing | a bound in units: wakeups, us, bytes |
//!
//! A library is a crate that holds timers and can cancel them; std's collections are none.
//!
//! Cost: none beside the measuring.
//!
//! It does not look at the spread, unless the goal is for the worst round: medians are compared, and `run`
//! shows the ranges.

use crate::case::{Case, Failure, Workload};
use crate::results::Results;
use crate::statistics::Summary;
use crate::subject::{Kind, Subject};
use crate::subjects;
use crate::table::{group, three_digits};

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Nothing: the bound has the figure's unit.
    Bound,
    /// One subject.
    Subject(&'static str),
    /// The library that is best at it.
    BestLibrary,
    /// The same subject on one thread.
    OneThread,
    /// What the subject stands on: the bound is for the difference, in the figure's unit.
    Beyond(&'static str),
}

/// Which of a subject's rounds counts. Of what it is compared with, the median does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// The one in the middle.
    Median,
    /// The one with the largest figure.
    Worst,
}

/// On which side of the bound is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Not above it.
    AtMost,
    /// Below it.
    Below,
    /// Not below it.
    AtLeast,
}

impl Side {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Side::AtMost => value <= bound,
            Side::Below => value < bound,
            Side::AtLeast => bound <= value,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Side::AtMost => "at most",
            Side::Below => "below",
            Side::AtLeast => "at least",
        }
    }
}

/// One goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// What is done.
    pub workload: Workload,
    /// With how many timers.
    pub size: u64,
    /// By how many threads.
    pub thread_count: u32,
    /// What is judged.
    pub metric: &'static str,
    /// Of which round.
    pub rounds: Rounds,
    /// Which subject is judged.
    pub subject: &'static str,
    /// By what.
    pub against: Against,
    /// On which side it should be.
    pub side: Side,
    /// Of what.
    pub bound: f64,
}

impl Goal {
    /// The first round of what is done.
    fn case(&self) -> Case {
        let Goal { workload, size, thread_count, .. } = *self;
        Case { workload, size, thread_count, seed: 0 }
    }

    /// What must be measured to judge it.
    pub fn needs(&self) -> Vec<(Case, String)> {
        let case = self.case();
        let mut needs = vec![(case, self.subject.to_owned())];
        match self.against {
            Against::Bound => (),
            Against::Subject(name) | Against::Beyond(name) => needs.push((case, name.to_owned())),
            Against::BestLibrary => needs.extend(libraries().into_iter().map(|name| (case, name))),
            Against::OneThread => needs.push((Case { thread_count: 1, ..case }, self.subject.to_owned())),
        }
        needs
    }

    /// Judges it.
    pub fn judge(&self, results: &Results) -> Verdict {
        let summary = |name: &str, case: Case| results.summary(name, case, self.metric);
        let median = |name: &str, case| summary(name, case).map(|summary| summary.median);
        let case = self.case();
        let own = |summary: Summary| match self.rounds {
            Rounds::Median => summary.median,
            Rounds::Worst => summary.max,
        };
        let figure = summary(self.subject, case).map(own);
        let (against, reference) = match self.against {
            Against::Bound => (None, None),
            Against::Subject(name) | Against::Beyond(name) => (Some(name.to_owned()), median(name, case)),
            Against::OneThread => {
                let one = Case { thread_count: 1, ..case };
                (Some("itself on one thread".to_owned()), median(self.subject, one))
            }
            Against::BestLibrary => {
                let found = libraries().into_iter().filter_map(|name| Some((median(&name, case)?, name)));
                let best = found.min_by(|left, right| left.0.total_cmp(&right.0));
                best.map_or((None, None), |(value, name)| (Some(name), Some(value)))
            }
        };
        let judged = match self.against {
            Against::Bound => figure,
            Against::Beyond(_) => figure.zip(reference).map(|(figure, reference)| figure - reference),
            _ => figure.zip(reference).map(|(figure, reference)| figure / reference),
        };
        let outcome = match judged {
            Some(judged) if self.side.holds(judged, self.bound) => Outcome::Met,
            Some(_) => Outcome::Missed,
            None => self.unjudged(results),
        };
        Verdict { goal: *self, figure, against, reference, judged, outcome }
    }

    /// Why there is nothing to judge: a rival that is not installed is no fault of ours.
    fn unjudged(&self, results: &Results) -> Outcome {
        let is_rival = |name: &str| matches!(self.against, Against::Subject(rival) if rival == name);
        let skipped = results
            .skipped
            .iter()
            .find(|skipped| skipped.case.workload == self.workload && is_rival(&skipped.subject));
        match skipped.map(|skipped| &skipped.failure) {
            Some(Failure::Unable(reason)) => Outcome::NoRival(reason.clone()),
            _ => Outcome::NotMeasured,
        }
    }
}

/// The names of the structures that are libraries.
fn libraries() -> Vec<String> {
    let is_library = |subject: &Subject| subject.kind == Kind::Library;
    let structures = subjects::structures();
    structures.into_iter().filter(is_library).map(|subject| subject.name.to_owned()).collect()
}

/// What came of a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is met.
    Met,
    /// It is not.
    Missed,
    /// It was not measured, which counts as missed.
    NotMeasured,
    /// What it is compared with is not here, and why.
    NoRival(String),
}

/// A goal and what a run says of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The goal.
    pub goal: Goal,
    /// The subject's figure; none if it was not measured.
    pub figure: Option<f64>,
    /// Which subject it was compared with.
    pub against: Option<String>,
    /// That one's median.
    pub reference: Option<f64>,
    /// What the bound is for: the figure by the reference, or the figure less what it stands on, or the
    /// figure itself.
    pub judged: Option<f64>,
    /// What came of it.
    pub outcome: Outcome,
}

impl Verdict {
    /// Whether it speaks against the project.
    pub fn is_missed(&self) -> bool {
        matches!(self.outcome, Outcome::Missed | Outcome::NotMeasured)
    }

    /// A row of a table: workload, N, figure, what it is compared with, ratio, bound, outcome.
    pub fn row(&self) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), three_digits);
        let goal = &self.goal;
        let size = match goal.thread_count {
            1 => format!("N = {}", group(goal.size as i64)),
            count => format!("N = {} x {count}", group(goal.size as i64)),
        };
        let against =
            self.against.as_ref().map_or(String::new(), |name| format!("{name} {}", number(self.reference)));
        let judged = match goal.against {
            Against::Bound => String::new(),
            Against::Beyond(_) => {
                self.judged.map_or("-".to_owned(), |more| format!("+{}", three_digits(more)))
            }
            _ => number(self.judged),
        };
        let worst = if goal.rounds == Rounds::Worst { "worst " } else { "" };
        let outcome = match &self.outcome {
            Outcome::Met => "ok".to_owned(),
            Outcome::Missed => "MISSED".to_owned(),
            Outcome::NotMeasured => "MISSED: not measured".to_owned(),
            Outcome::NoRival(reason) => format!("not judged: {reason}"),
        };
        vec![
            goal.workload.to_string(),
            size,
            goal.subject.to_owned(),
            format!("{worst}{} {}", goal.metric, number(self.figure)),
            against,
            judged,
            format!("{} {}", goal.side.words(), three_digits(goal.bound)),
            outcome,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Figure;
    use crate::results::{Record, SkippedSubject};

    const CASE: Case = Case { workload: Workload::W1b, size: 1_000, thread_count: 1, seed: 0 };

    const GOAL: Goal = Goal {
        workload: Workload::W1b,
        size: 1_000,
        thread_count: 1,
        metric: "pair_ns",
        rounds: Rounds::Median,
        subject: "wheel::Chunked",
        against: Against::BestLibrary,
        side: Side::AtMost,
        bound: 1.0 / 3.0,
    };

    fn results(figures: &[(&str, f64)]) -> Results {
        let record = |(round, &(subject, value)): (usize, &(&str, f64))| Record {
            subject: subject.to_owned(),
            case: Case { seed: round as u64, ..CASE },
            figure: Figure::new("pair_ns", value),
        };
        Results { records: figures.iter().enumerate().map(record).collect(), skipped: Vec::new() }
    }

    #[test]
    fn a_ratio_is_taken_to_the_best_library_and_not_to_std() {
        let figures =
            [("wheel::Chunked", 10.0), ("slab-wheel", 31.0), ("tokio-sleep", 104.0), ("std-heap-lazy", 12.0)];
        let verdict = GOAL.judge(&results(&figures));
        assert_eq!(verdict.against.as_deref(), Some("slab-wheel"));
        assert_eq!(verdict.outcome, Outcome::Met, "{verdict:?}");
        assert_eq!(verdict.row().last().map(String::as_str), Some("ok"));
    }

    #[test]
    fn the_worst_round_is_compared_with_the_median_of_the_others() {
        let figures = [("wheel::Chunked", 10.0), ("wheel::Chunked", 12.0), ("slab-wheel", 31.0)];
        let goal = Goal { rounds: Rounds::Worst, ..GOAL };
        let figures_close = [("wheel::Chunked", 10.0), ("wheel::Chunked", 10.2), ("slab-wheel", 31.0)];
        assert_eq!(goal.judge(&results(&figures_close)).outcome, Outcome::Met);
        let verdict = goal.judge(&results(&figures));
        assert_eq!(verdict.figure, Some(12.0));
        assert_eq!(verdict.outcome, Outcome::Missed);
    }

    #[test]
    fn what_a_subject_adds_is_a_difference() {
        let figures = [("wheel::Chunked", 70.0), ("floor", 40.0)];
        let goal = Goal { against: Against::Beyond("floor"), bound: 30.0, ..GOAL };
        let verdict = goal.judge(&results(&figures));
        assert_eq!((verdict.judged, &verdict.outcome), (Some(30.0), &Outcome::Met));
        assert_eq!(verdict.row()[5], "+30.0");
    }

    #[test]
    fn what_was_not_measured_is_missed_and_a_rival_that_is_not_here_is_told() {
        let verdict = GOAL.judge(&Results::default());
        assert!(verdict.is_missed());
        assert_eq!(verdict.row().last().map(String::as_str), Some("MISSED: not measured"));
        let goal = Goal { against: Against::Subject("go-channel"), ..GOAL };
        let mut results = results(&[("wheel::Chunked", 10.0)]);
        results.skipped.push(SkippedSubject {
            subject: "go-channel".to_owned(),
            case: CASE,
            failure: Failure::Unable("no `go` is installed".to_owned()),
        });
        let verdict = goal.judge(&results);
        assert!(!verdict.is_missed());
        assert_eq!(verdict.row().last().map(String::as_str), Some("not judged: no `go` is installed"));
    }

    #[test]
    fn bounds_hold_on_their_own_side() {
        assert!(Side::AtMost.holds(2.0, 2.0));
        assert!(!Side::Below.holds(2.0, 2.0));
        assert!(Side::AtLeast.holds(1.6, 1.6));
        assert!(!Side::AtLeast.holds(1.5, 1.6));
    }
}
