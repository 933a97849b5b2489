//! The progress of a run: a bar with the time left on a terminal, plain lines elsewhere.
//!
//! Cost: a line per measurement. It does not touch standard output, which is for results.

use indicatif::{ProgressBar, ProgressStyle};

use crate::case::Case;
use crate::estimate::{Estimate, words};
use crate::stopwatch::Stopwatch;

/// Seconds between plain lines: enough to see that it lives.
const LINE_SECONDS: f64 = 10.0;

/// Where progress is shown.
#[derive(Debug)]
pub struct Progress {
    /// It is hidden where standard error is no terminal, and counts all the same.
    bar: ProgressBar,
    estimate: Estimate,
    last_line: Stopwatch,
}

impl Default for Progress {
    /// Makes one for this process's standard error.
    fn default() -> Progress {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {msg}");
        let bar = ProgressBar::new(0).with_style(style.expect("the template is a constant that is tested"));
        Progress { bar, estimate: Estimate::default(), last_line: Stopwatch::start() }
    }
}

impl Progress {
    /// Adds measurements to come.
    pub fn plan(&mut self, subject: &str, case: Case, round_count: u32) {
        self.bar.inc_length(u64::from(round_count));
        self.estimate.plan(subject, case, round_count);
    }

    /// Shows how much there is.
    pub fn begin(&self) {
        if self.bar.is_hidden() {
            eprintln!("{} measurements, {}", self.total_count(), words(self.estimate.seconds_left()));
        }
    }

    /// Says what is being measured.
    pub fn measuring(&mut self, subject: &str, case: &Case) {
        let left = words(self.estimate.seconds_left());
        let text = format!("{left}  {} N = {} {subject}", case.workload, case.size);
        if self.bar.is_hidden() && self.last_line.ns() > LINE_SECONDS * 1e9 {
            eprintln!("{}/{}  {text}", self.bar.position(), self.total_count());
            self.last_line = Stopwatch::start();
        }
        self.bar.set_message(text);
    }

    /// Counts a measurement that was made. `case` is as it was planned.
    pub fn done(&mut self, subject: &str, case: Case, seconds: f64) {
        self.estimate.done(subject, case, seconds);
        self.count(1);
    }

    /// Counts those of a subject that will not be made.
    pub fn give_up(&mut self, subject: &str, case: Case) {
        let count = self.estimate.give_up(subject, case);
        self.count(count);
    }

    fn count(&self, count: u32) {
        self.bar.inc(u64::from(count));
        debug_assert!(self.bar.position() <= self.total_count(), "what is done was planned");
    }

    fn total_count(&self) -> u64 {
        self.bar.length().unwrap_or_default()
    }

    /// Says something that must be seen.
    pub fn say(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    /// Takes the bar away.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Workload;

    #[test]
    fn the_bar_has_a_legal_template_and_all_that_is_planned_ends() {
        let mut progress = Progress::default();
        let case = Case { workload: Workload::W1, size: 1_000, thread_count: 1, seed: 0 };
        progress.plan("able", case, 2);
        progress.plan("unable", case, 3);
        progress.begin();
        progress.done("able", case, 1.0);
        progress.give_up("unable", case);
        progress.done("able", case, 1.0);
        assert_eq!((progress.bar.position(), progress.total_count()), (5, 5));
        progress.end();
    }
}
