//! How far long work is, as a bar.
//!
//! Cost: one write per step.
//!
//! Does not show anything unless somebody sees it.
//!
//! Source: own.

use std::io::{self, IsTerminal};

use crate::message::say;

/// A bar on standard error, if somebody sees it there and standard output goes elsewhere.
pub(super) struct Progress {
    total: u64,
    done: u64,
    is_shown: bool,
}

const BAR_CHARS: u64 = 30;

impl Progress {
    pub(super) fn new(total: u64) -> Progress {
        let is_shown = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Progress { total, done: 0, is_shown }
    }

    pub(super) fn add(&mut self, count: u64) {
        self.done += count;
        if self.is_shown {
            say(&format!("\r{}", bar(self.done, self.total)));
        }
    }

    pub(super) fn finish(&self) {
        if self.is_shown {
            say("\n");
        }
    }
}

fn bar(done: u64, total: u64) -> String {
    let total = total.max(done).max(1);
    let filled = done * BAR_CHARS / total;
    let (full, empty) = ("#".repeat(filled as usize), " ".repeat((BAR_CHARS - filled) as usize));
    format!("[{full}{empty}] {done}/{total}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_filled_as_far_as_the_work_is_done() {
        assert_eq!(bar(0, 10), format!("[{}] 0/10", " ".repeat(30)));
        assert_eq!(bar(5, 10), format!("[{}{}] 5/10", "#".repeat(15), " ".repeat(15)));
        assert_eq!(bar(12, 10), format!("[{}] 12/12", "#".repeat(30)));
    }
}
