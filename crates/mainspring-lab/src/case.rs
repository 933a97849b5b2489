//! One measurement: which workload, how large, with which seed; and what came out of it.
//!
//! ```text
//!   Case { workload, size, thread_count, seed }  --subject-->  [Figure { metric, value }]  or why not
//! ```
//!
//! Cost: none. It does not know any subject.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Delays are uniform in 1 ..= this many ticks of a millisecond.
pub const SPREAD: u64 = 60_000;

/// The fixed delay of W1b and W2, in ticks.
pub const RESET_DELAY: u64 = 30_000;

/// The largest size at which nothing is left out, and whose checks fire every timer.
pub const SIZE_FULL: u64 = 1_000_000;

/// The workloads of the standard, in its order. [`explain`](crate::explain) says what each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum)]
#[value(rename_all = "verbatim")]
pub enum Workload {
    /// Churn: schedule and cancel at random.
    W1,
    /// Churn, first in first out.
    W1b,
    /// Resets of one timer of many.
    W2,
    /// Insert all, then fire all.
    W3,
    /// A few timers in a long time.
    W4,
    /// Churn on several threads.
    W5,
    /// How late timers fire.
    W6,
    /// What an idle engine costs.
    W7,
    /// What an idle engine costs whose timers were cancelled.
    W7b,
    /// Memory for each timer.
    W8,
    /// All at once.
    W9,
    /// More timers than the engine can fire.
    W10,
}

impl Workload {
    /// Whether it can only be done by the real clock or on several threads.
    pub const fn is_real_time(self) -> bool {
        matches!(self, Workload::W5 | Workload::W6 | Workload::W7 | Workload::W7b | Workload::W10)
    }

    /// The number of timers where the standard fixes it: other sizes make no sense there.
    pub const fn fixed_size(self) -> Option<u64> {
        match self {
            Workload::W4 => Some(1_000),
            // Few enough that a wakeup for each is seen, and many beside the wakeups that must be.
            Workload::W7b => Some(200),
            Workload::W6 | Workload::W7 | Workload::W9 => Some(1_000_000),
            // Timers per thread.
            Workload::W5 => Some(100_000),
            // As many may wait before it is given up: a second and a half of what eight threads schedule.
            Workload::W10 => Some(5_000_000),
            Workload::W1 | Workload::W1b | Workload::W2 | Workload::W3 | Workload::W8 => None,
        }
    }

    /// The workload of that name, whatever its case.
    pub fn named(name: &str) -> Option<Workload> {
        Workload::from_str(name, true).ok()
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A variant is called as in tables and on the command line.
        formatter.pad(&format!("{self:?}"))
    }
}

/// One measurement to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Case {
    /// What is done.
    pub workload: Workload,
    /// How many timers, in the workload's own sense.
    pub size: u64,
    /// How many threads; 1 but for W5 and W10.
    pub thread_count: u32,
    /// Where the random numbers start. A round's number.
    pub seed: u64,
}

/// A number that came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is and in which unit, such as `pair_ns`.
    pub metric: String,
    /// How much.
    pub value: f64,
}

impl Figure {
    /// Makes one.
    pub fn new(metric: &str, value: f64) -> Figure {
        debug_assert!(value.is_finite(), "{metric} is a number");
        Figure { metric: metric.to_owned(), value }
    }
}

/// Why a measurement has no figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Failure {
    /// The subject cannot do the workload; the reason is part of the results.
    Unable(String),
    /// The subject's answers were wrong, or the machine would not measure.
    Wrong(String),
}

impl Failure {
    /// The word with which a wrong answer begins in results.
    pub const WRONG: &str = "the check failed: ";

    /// A timer that was to be moved is not pending.
    pub fn lost() -> Failure {
        Failure::Wrong("a live timer was gone".to_owned())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unable(reason) => formatter.write_str(reason),
            Failure::Wrong(reason) => write!(formatter, "{}{reason}", Failure::WRONG),
        }
    }
}

impl std::error::Error for Failure {}

/// What a measurement gives.
pub type Measurement = Result<Vec<Figure>, Failure>;

/// Fails the measurement unless `holds`.
pub fn ensure(holds: bool, sentence: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::Wrong(sentence())) }
}
