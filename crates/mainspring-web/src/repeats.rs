//! Lines of the log that somebody without a token can cause.
//!
//! ```text
//! said ── INTERVAL: counted, and not said ──▶ said, with the count
//! ```
//!
//! Cost: none worth a word; a line each ten seconds at most.
//!
//! Does not say how many came after the last line.

use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_server::message::say;

/// How long after a line the next ones are only counted: six lines a minute fill no disk, and tell a person
/// that it continues.
const INTERVAL: Duration = Duration::from_secs(10);

/// Lines about one thing.
#[derive(Debug, Default)]
pub struct Repeats {
    written_at: Option<Moment>,
    /// How many were not said since.
    unsaid_count: u64,
}

impl Repeats {
    /// Says one more, or only counts it.
    pub fn say(&mut self, line: &str, now: Moment) {
        self.add(line, now).iter().for_each(|line| say(&format!("{line}\n")));
    }

    /// The line to say now for one more, without its end; `None` if it is only counted.
    fn add(&mut self, line: &str, now: Moment) -> Option<String> {
        if self.written_at.is_some_and(|at| now.since(at) < INTERVAL) {
            self.unsaid_count += 1;
            return None;
        }
        self.written_at = Some(now);
        Some(match std::mem::take(&mut self.unsaid_count) {
            0 => line.to_owned(),
            count => format!("{line} ({count} more like this were not written)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_caused_a_thousand_times_is_a_line_and_a_count() {
        let (mut repeats, mut now) = (Repeats::default(), Moment::now());
        let lines: Vec<String> = (0..2_000)
            .filter_map(|_| {
                now.monotonic += Duration::from_millis(10);
                repeats.add("refused", now)
            })
            .collect();
        let next = "refused (999 more like this were not written)".to_owned();
        assert_eq!(lines, ["refused".to_owned(), next]);
        now.monotonic += INTERVAL * 2;
        assert_eq!(repeats.add("refused", now).unwrap(), "refused (999 more like this were not written)");
        now.monotonic += INTERVAL;
        assert_eq!(repeats.add("refused", now).unwrap(), "refused");
    }
}
