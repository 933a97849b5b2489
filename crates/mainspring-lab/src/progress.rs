//! The progress of a run: a bar with the time left on a terminal, plain lines elsewhere.
//!
//! Cost: a line per measurement. It does not touch standard output, which is for results.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

use crate::case::Case;
use crate::estimate::{Estimate, words};
use crate::stopwatch::Stopwatch;

/// Seconds between plain lines: enough to see that it lives.
const LINE_SECONDS: f64 = 10.0;

/// Where progress is shown.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    done_count: u32,
    total_count: u32,
    estimate: Estimate,
    last_line: Stopwatch,
}

impl Default for Progress {
    /// Makes one for this process's standard error.
    fn default() -> Progress {
        let bar = stderr().is_terminal().then(|| ProgressBar::new(0));
        let (estimate, last_line) = (Estimate::default(), Stopwatch::start());
        Progress { bar, done_count: 0, total_count: 0, estimate, last_line }
    }
}

impl Progress {
    /// Adds measurements to come.
    pub fn plan(&mut self, subject: &str, case: Case, round_count: u32) {
        self.total_count += round_count;
        self.estimate.plan(subject, case, round_count);
    }

    /// Shows how much there is.
    pub fn begin(&self) {
        match &self.bar {
            Some(bar) => {
                let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {msg}");
                bar.set_style(style.expect("the template is a constant that is tested"));
                bar.set_length(u64::from(self.total_count));
            }
            None => eprintln!("{} measurements, {}", self.total_count, words(self.estimate.seconds_left())),
        }
    }

    /// Says what is being measured.
    pub fn measuring(&mut self, subject: &str, case: &Case) {
        let left = || words(self.estimate.seconds_left());
        match &self.bar {
            Some(bar) => {
                bar.set_message(format!("{}  {} N = {} {subject}", left(), case.workload, case.size));
            }
            None if self.last_line.ns() > LINE_SECONDS * 1e9 => {
                let (done_count, total_count) = (self.done_count, self.total_count);
                eprintln!(
                    "{done_count}/{total_count}  {}  {} N = {} {subject}",
                    left(),
                    case.workload,
                    case.size
                );
                self.last_line = Stopwatch::start();
            }
            None => (),
        }
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

    fn count(&mut self, count: u32) {
        self.done_count += count;
        debug_assert!(self.done_count <= self.total_count, "what is done was planned");
        if let Some(bar) = &self.bar {
            bar.inc(u64::from(count));
        }
    }

    /// Says something that must be seen.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Workload;

    #[test]
    fn the_bar_has_a_legal_template_and_all_that_is_planned_ends() {
        let mut progress = Progress { bar: Some(ProgressBar::hidden()), ..Progress::default() };
        let case = Case { workload: Workload::W1, size: 1_000, thread_count: 1, seed: 0 };
        progress.plan("able", case, 2);
        progress.plan("unable", case, 3);
        progress.begin();
        progress.done("able", case, 1.0);
        progress.give_up("unable", case);
        progress.done("able", case, 1.0);
        assert_eq!((progress.done_count, progress.total_count), (5, 5));
        progress.end();
    }
}
