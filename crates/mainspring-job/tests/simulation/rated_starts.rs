//! The starts that count for a rate, as the records say them.
//!
//! A clock that is set back makes times of two kinds: what was decided before counts no more then. What is
//! not on disk yet may be of either kind, until all is.

use jiff::{SignedDuration, Timestamp};
use mainspring_job::Rate;

/// For at most so long a new planner waits.
const MAX_REST: SignedDuration = SignedDuration::from_secs(10);

#[derive(Default)]
pub(crate) struct RatedStarts {
    starts: Vec<Timestamp>,
    /// When the present planner began, unless the clock was set back since.
    began: Option<Timestamp>,
    was_set_back: bool,
    is_unsure: bool,
}

fn period(rate: Rate) -> SignedDuration {
    SignedDuration::try_from(rate.period()).unwrap()
}

impl RatedStarts {
    pub(crate) fn begin(&mut self, rate: Option<Rate>, at: Timestamp) {
        self.began = Some(at);
        if rate.is_some_and(|rate| MAX_REST < period(rate)) {
            // The new planner knows little of them.
            self.starts.clear();
        }
    }

    pub(crate) fn add(&mut self, at: Timestamp) {
        self.starts.push(at);
    }

    pub(crate) fn set_back(&mut self) {
        (self.began, self.was_set_back, self.is_unsure) = (None, true, true);
        self.starts.clear();
    }

    pub(crate) fn settle(&mut self) {
        if self.is_unsure {
            self.starts.clear();
            self.is_unsure = false;
        }
    }

    /// How many starts there were in the period that ends at a time.
    pub(crate) fn count_before(&self, rate: Rate, at: Timestamp) -> usize {
        if self.is_unsure {
            return 0;
        }
        self.starts.iter().filter(|start| **start <= at && at < **start + period(rate)).count()
    }

    /// Whether the present planner has to wait at a time for what it does not know.
    pub(crate) fn is_resting(&self, rate: Rate, at: Timestamp) -> bool {
        self.began.is_some_and(|began| began <= at && at < began + period(rate).min(MAX_REST))
    }

    /// Whether runs may have to wait for the rate at a time.
    pub(crate) fn may_be_full(&self, rate: Option<Rate>, at: Timestamp) -> bool {
        let Some(rate) = rate else { return false };
        let is_new = self.began.is_some_and(|began| at < began + period(rate));
        is_new || self.was_set_back || rate.starts() as usize <= self.count_before(rate, at)
    }
}
