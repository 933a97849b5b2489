//! How far a run has come: a bar with the time left on a terminal, plain lines elsewhere.
//!
//! Cost: a line per measurement. It does not touch standard output, which is for results.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressStyle};

use crate::case::Case;
use crate::stopwatch::Stopwatch;

/// Seconds between plain lines: enough to see that it lives.
const LINE_SECONDS: f64 = 10.0;

/// Where progress is shown.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    done_count: usize,
    total_count: usize,
    started: Stopwatch,
    last_line: Stopwatch,
}

impl Progress {
    /// Makes one for this process's standard error.
    pub fn new() -> Progress {
        let bar = stderr().is_terminal().then(|| ProgressBar::new(0));
        let now = Stopwatch::start();
        Progress { bar, done_count: 0, total_count: 0, started: now, last_line: now }
    }

    /// Says how many measurements there are.
    pub fn begin(&mut self, total_count: usize) {
        self.total_count = total_count;
        self.started = Stopwatch::start();
        if let Some(bar) = &self.bar {
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len}  {eta} left  {msg}");
            bar.set_style(style.expect("the template is a constant that is tested"));
            bar.set_length(total_count as u64);
        }
    }

    /// Says what is being measured.
    pub fn measuring(&mut self, subject: &str, case: &Case) {
        let text = format!("{} N = {} {subject}", case.workload, case.size);
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None if self.last_line.ns() > LINE_SECONDS * 1e9 => {
                self.last_line = Stopwatch::start();
                eprintln!("{}/{}  {}  {text}", self.done_count, self.total_count, self.left());
            }
            None => (),
        }
    }

    /// Counts measurements that are over.
    pub fn done(&mut self, count: usize) {
        self.done_count += count;
        if let Some(bar) = &self.bar {
            bar.inc(count as u64);
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

    fn left(&self) -> String {
        if self.done_count == 0 {
            return "time left: unknown".to_owned();
        }
        let left_count = (self.total_count - self.done_count) as f64;
        let seconds = self.started.ns() / 1e9 / self.done_count as f64 * left_count;
        format!("about {seconds:.0} s left")
    }
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_has_a_legal_template() {
        let mut progress = Progress::new();
        progress.bar = Some(ProgressBar::hidden());
        progress.begin(10);
        progress.done(3);
        assert_eq!(progress.done_count, 3);
        progress.end();
    }
}
