//! A progress bar for long work.
//!
//! ```text
//! reading the store [############                  ] 410/1024
//! ```
//!
//! Cost: one write per step; for work that does not say how far it is, a thread that looks five times a
//! second.
//!
//! Does not show anything unless somebody sees it, and leaves nothing behind.
//!
//! Source: proc_pid_io(5), for the counts of what a process has read.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::cli::serve::AskArgs;
use mainspring_server::message::say;

/// A bar on standard error, until it is dropped.
pub(super) struct Progress {
    label: &'static str,
    total: u64,
    done: u64,
    is_shown: bool,
}

const BAR_CHARS: u64 = 30;

/// How often work that does not tell is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// What a store is counted in.
const MIB: u64 = 1 << 20;

impl Progress {
    /// A bar for work whose result is printed after it: shown if standard error is a terminal and people are
    /// meant.
    pub(super) fn new(args: &AskArgs, label: &'static str, total: usize) -> Progress {
        Progress { label, total: total as u64, done: 0, is_shown: !args.json && io::stderr().is_terminal() }
    }

    /// A bar for work whose result is printed meanwhile: shown if that goes elsewhere as well.
    pub(super) fn beside_output(label: &'static str, total: u64) -> Progress {
        let is_shown = io::stderr().is_terminal() && !io::stdout().is_terminal();
        Progress { label, total, done: 0, is_shown }
    }

    pub(super) fn add(&mut self, count: usize) {
        self.done += count as u64;
        self.show();
    }

    /// Does `work` while the bar follows how much of `file` this process has read.
    pub(super) fn follow<T>(&mut self, file: &Path, work: impl FnOnce() -> T) -> T {
        if !self.is_shown {
            return work();
        }
        self.total = fs::metadata(file).map_or(0, |found| found.len()) / MIB;
        let before = read_bytes();
        let (end, is_ended) = channel::<()>();
        thread::scope(|scope| {
            let bar = &mut *self;
            let look = move || {
                while is_ended.recv_timeout(LOOK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    bar.done = read_bytes().saturating_sub(before) / MIB;
                    bar.show();
                }
            };
            // Without a thread there is no bar, and the work is done all the same.
            let _ = thread::Builder::new().name("progress".into()).spawn_scoped(scope, look);
            let result = work();
            drop(end);
            result
        })
    }

    fn show(&self) {
        if self.is_shown {
            say(&format!("\r{} {}", self.label, bar(self.done, self.total)));
        }
    }
}

/// Takes the bar away.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            say("\r\u{1b}[K");
        }
    }
}

/// What this process has read so far; 0 where the kernel does not count.
fn read_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let count = text.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok());
    count.unwrap_or_default()
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

    #[test]
    fn work_is_done_with_and_without_a_bar() {
        for is_shown in [false, true] {
            let mut progress = Progress { label: "", total: 0, done: 0, is_shown };
            assert_eq!(progress.follow(Path::new("/no/such/file"), || 7), 7);
        }
    }
}
