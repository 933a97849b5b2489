//! The goals of the default queue and engine: what the project claims, as ratios within one run.
//!
//! | judged against | says |
//! |---|---|
//! | a rival, or the best library | how many times faster |
//! | the floor | how much is left to gain |
//! | itself on one thread | what another core brings |
//! | nothing | a bound in units: wakeups, us, bytes |
//!
//! [`GOALS`] is the table. A library is a crate that holds timers and can cancel them; std's collections are
//! none.
//!
//! Cost: the judging none, the measuring some minutes.
//!
//! It does not look at the spread: medians are compared, and `run` shows the ranges.

use serde::Serialize;

use crate::case::{Case, Workload};
use crate::results::{Cell, Results};
use crate::subject::{self, Kind, engines, locked, queues, tokio_runtime};
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
}

/// On which side of the bound is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Not above it.
    AtMost,
    /// Below it.
    Below,
    /// Not below it.
    AtLeast,
    /// Above it.
    Above,
}

impl Side {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Side::AtMost => value <= bound,
            Side::Below => value < bound,
            Side::AtLeast => bound <= value,
            Side::Above => bound < value,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Side::AtMost => "at most",
            Side::Below => "below",
            Side::AtLeast => "at least",
            Side::Above => "above",
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
    /// Who is judged.
    pub subject: &'static str,
    /// By what.
    pub against: Against,
    /// On which side it should be.
    pub side: Side,
    /// Of what.
    pub bound: f64,
}

const MILLION: u64 = 1_000_000;

/// A goal of the default queue.
const fn queue(
    workload: Workload,
    size: u64,
    metric: &'static str,
    against: Against,
    side: Side,
    bound: f64,
) -> Goal {
    Goal { workload, size, thread_count: 1, metric, subject: queues::DEFAULT, against, side, bound }
}

/// A goal of an engine by the real clock.
const fn engine(
    workload: Workload,
    subject: &'static str,
    metric: &'static str,
    side: Side,
    bound: f64,
) -> Goal {
    Goal { workload, size: MILLION, thread_count: 1, metric, subject, against: Against::Bound, side, bound }
}

/// A goal of the default engine on two threads.
const fn pair(against: Against, side: Side, bound: f64) -> Goal {
    let (workload, subject) = (Workload::W5, engines::DEFAULT);
    Goal { workload, size: 100_000, thread_count: 2, metric: "pairs_per_s", subject, against, side, bound }
}

const TOKIO: Against = Against::Subject("tokio-sleep");
const FLOOR: Against = Against::Subject("floor");

/// The table.
pub const GOALS: [Goal; 22] = [
    queue(Workload::W1, MILLION, "pair_ns", TOKIO, Side::AtMost, 1.0 / 8.0),
    queue(Workload::W1, MILLION, "pair_ns", Against::BestLibrary, Side::AtMost, 1.0 / 4.0),
    queue(Workload::W1, MILLION, "pair_ns", FLOOR, Side::AtMost, 2.0),
    queue(Workload::W1, 1_000, "pair_ns", Against::BestLibrary, Side::AtMost, 1.0 / 3.0),
    queue(Workload::W1b, MILLION, "pair_ns", Against::BestLibrary, Side::AtMost, 1.0 / 3.0),
    queue(Workload::W2, MILLION, "reset_ns", TOKIO, Side::AtMost, 1.0 / 4.0),
    queue(Workload::W3, MILLION, "insert_ns", Against::BestLibrary, Side::AtMost, 1.0 / 2.0),
    queue(Workload::W3, MILLION, "fire_ns", Against::BestLibrary, Side::AtMost, 1.0 / 6.0),
    queue(Workload::W3, MILLION, "advance_us_max", Against::Bound, Side::Below, 200.0),
    queue(Workload::W4, 1_000, "wakeups_per_fire", Against::Bound, Side::AtMost, 1.0),
    queue(Workload::W4, 1_000, "fire_ns", Against::Bound, Side::Below, 100.0),
    pair(Against::OneThread, Side::AtLeast, 1.6),
    pair(Against::Subject(tokio_runtime::TWO_WORKERS), Side::AtLeast, 8.0),
    pair(Against::Subject(locked::STD_HEAP), Side::Above, 1.0),
    engine(Workload::W6, engines::PRECISE, "p50_us", Side::Below, 60.0),
    engine(Workload::W6, engines::PRECISE, "p99_us", Side::Below, 200.0),
    engine(Workload::W6, engines::THRIFTY, "p99_us", Side::Below, 500.0),
    engine(Workload::W6, engines::THRIFTY, "cpu_s", Side::Below, 1.0),
    engine(Workload::W7, engines::DEFAULT, "switches", Side::AtMost, 0.0),
    engine(Workload::W7, engines::DEFAULT, "cpu_ms", Side::Below, 1.0),
    queue(Workload::W8, MILLION, "fresh_bytes", Against::Bound, Side::AtMost, 48.0),
    queue(Workload::W8, MILLION, "churned_bytes", Against::Bound, Side::AtMost, 72.0),
];

impl Goal {
    /// Where its own figure stands.
    fn cell(&self) -> Cell {
        let Goal { workload, size, thread_count, metric, .. } = *self;
        Cell { workload, size, thread_count, metric: metric.to_owned() }
    }

    /// What must be measured to judge it.
    pub fn needs(&self) -> Vec<(Case, String)> {
        let case =
            Case { workload: self.workload, size: self.size, thread_count: self.thread_count, seed: 0 };
        let mut needs = vec![(case, self.subject.to_owned())];
        match self.against {
            Against::Bound => (),
            Against::Subject(name) => needs.push((case, name.to_owned())),
            Against::BestLibrary => needs.extend(libraries().into_iter().map(|name| (case, name))),
            Against::OneThread => needs.push((Case { thread_count: 1, ..case }, self.subject.to_owned())),
        }
        needs
    }

    /// Judges it.
    pub fn judge(&self, results: &Results) -> Verdict {
        let cell = self.cell();
        let median = |name: &str, cell: &Cell| results.summary(name, cell).map(|summary| summary.median);
        let figure = median(self.subject, &cell);
        let (against, reference) = match self.against {
            Against::Bound => (None, Some(1.0)),
            Against::Subject(name) => (Some(name.to_owned()), median(name, &cell)),
            Against::OneThread => {
                let one = Cell { thread_count: 1, ..cell };
                (Some("itself on one thread".to_owned()), median(self.subject, &one))
            }
            Against::BestLibrary => {
                let found = libraries().into_iter().filter_map(|name| Some((median(&name, &cell)?, name)));
                let best = found.min_by(|left, right| left.0.total_cmp(&right.0));
                best.map_or((None, None), |(value, name)| (Some(name), Some(value)))
            }
        };
        let ratio = figure.zip(reference).map(|(figure, reference)| figure / reference);
        Verdict {
            workload: self.workload,
            size: self.size,
            thread_count: self.thread_count,
            metric: self.metric,
            subject: self.subject,
            figure,
            reference: reference.filter(|_| against.is_some()),
            against,
            ratio,
            side: self.side,
            bound: self.bound,
            is_met: ratio.is_some_and(|ratio| self.side.holds(ratio, self.bound)),
        }
    }
}

/// The names of the structures that are libraries.
fn libraries() -> Vec<String> {
    let is_library = |subject: &subject::Subject| subject.kind == Kind::Library;
    let structures = subject::structures();
    structures.into_iter().filter(is_library).map(|subject| subject.name.to_owned()).collect()
}

/// What came of a goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// What was done.
    pub workload: Workload,
    /// With how many timers.
    pub size: u64,
    /// By how many threads.
    pub thread_count: u32,
    /// What was judged.
    pub metric: &'static str,
    /// Who was judged.
    pub subject: &'static str,
    /// Its median; none if it was not measured.
    pub figure: Option<f64>,
    /// Who it was compared with.
    pub against: Option<String>,
    /// That one's median.
    pub reference: Option<f64>,
    /// The figure by the reference, or the figure itself where there is none.
    pub ratio: Option<f64>,
    /// On which side of the bound it should be.
    pub side: Side,
    /// The bound.
    pub bound: f64,
    /// Whether it is.
    pub is_met: bool,
}

impl Verdict {
    /// A row of a table: workload, N, figure, what it is compared with, ratio, bound, verdict.
    pub fn row(&self) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), three_digits);
        let size = match self.thread_count {
            1 => format!("N = {}", group(self.size as i64)),
            count => format!("N = {} x {count}", group(self.size as i64)),
        };
        let against =
            self.against.as_ref().map_or(String::new(), |name| format!("{name} {}", number(self.reference)));
        let ratio = if self.against.is_some() { number(self.ratio) } else { String::new() };
        let verdict = match (self.is_met, self.ratio) {
            (true, _) => "ok",
            (false, Some(_)) => "MISSED",
            (false, None) => "MISSED: not measured",
        };
        vec![
            self.workload.to_string(),
            size,
            self.subject.to_owned(),
            format!("{} {}", self.metric, number(self.figure)),
            against,
            ratio,
            format!("{} {}", self.side.words(), three_digits(self.bound)),
            verdict.to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Figure;
    use crate::results::Record;

    fn results(figures: &[(&str, Case, &str, f64)]) -> Results {
        let record = |&(subject, case, metric, value): &(&str, Case, &str, f64)| Record {
            subject: subject.to_owned(),
            case,
            figure: Figure::new(metric, value),
        };
        Results { records: figures.iter().map(record).collect(), skipped: Vec::new() }
    }

    #[test]
    fn a_ratio_is_taken_to_the_best_library_and_not_to_std() {
        let case = Case { workload: Workload::W1b, size: MILLION, thread_count: 1, seed: 0 };
        let results = results(&[
            (queues::DEFAULT, case, "pair_ns", 10.0),
            ("slab-wheel", case, "pair_ns", 31.0),
            ("tokio-sleep", case, "pair_ns", 104.0),
            ("std-heap-lazy", case, "pair_ns", 12.0),
        ]);
        let goal = GOALS.iter().find(|goal| goal.workload == Workload::W1b).expect("W1b has a goal");
        let verdict = goal.judge(&results);
        assert_eq!(verdict.against.as_deref(), Some("slab-wheel"));
        assert!(verdict.is_met, "{verdict:?}");
        assert_eq!(verdict.row().last().map(String::as_str), Some("ok"));
    }

    #[test]
    fn what_was_not_measured_is_missed() {
        for goal in GOALS {
            let verdict = goal.judge(&Results::default());
            assert!(!verdict.is_met);
            assert_eq!(verdict.row().last().map(String::as_str), Some("MISSED: not measured"));
        }
    }

    #[test]
    fn all_that_goals_name_exists() {
        for goal in GOALS {
            for (_, name) in goal.needs() {
                assert!(subject::named(&name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn bounds_hold_on_their_own_side() {
        assert!(Side::AtMost.holds(2.0, 2.0));
        assert!(!Side::Below.holds(2.0, 2.0));
        assert!(Side::AtLeast.holds(1.6, 1.6));
        assert!(!Side::Above.holds(1.0, 1.0));
    }
}
