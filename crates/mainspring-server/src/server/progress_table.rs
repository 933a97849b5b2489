//! The progress of attempts that go on, in memory and as a text that a server leaves for the others.
//!
//! ```text
//!  handler ─▶ Execution::progress ─▶ ProgressTable ─┬─▶ list, show, history           one server
//!                                                   └─▶ text, with the lease ─▶ read ─▶ the same at each server
//! ```
//!
//! Cost: an entry for each attempt that has told its progress.
//!
//! Does not promise anything: what cannot be read is no progress.

use std::collections::HashMap;

use mainspring_job::{JobName, Run, RunState};

use super::execution::AttemptKey;
use crate::protocol::ProgressWire;

/// How many attempts a server tells the others of: the text is some ten kilobytes, and is sent with each
/// renewal of its lease.
const MAX_TOLD: usize = 256;

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressTable(HashMap<AttemptKey, ProgressWire>);

impl FromIterator<(AttemptKey, ProgressWire)> for ProgressTable {
    fn from_iter<I: IntoIterator<Item = (AttemptKey, ProgressWire)>>(rows: I) -> ProgressTable {
        ProgressTable(rows.into_iter().collect())
    }
}

impl ProgressTable {
    /// As text; empty if there is nothing.
    pub fn text(&self) -> String {
        let rows: Vec<_> = self.0.iter().take(MAX_TOLD).collect();
        debug_assert!(rows.len() <= MAX_TOLD, "the text has a bound");
        if rows.is_empty() { String::new() } else { serde_json::to_string(&rows).unwrap_or_default() }
    }

    /// Out of such a text. A newer server may write another, which says nothing here.
    pub fn read(text: &str) -> ProgressTable {
        serde_json::from_str::<Vec<_>>(text).unwrap_or_default().into_iter().collect()
    }

    /// Takes in another.
    pub fn add(&mut self, other: ProgressTable) {
        self.0.extend(other.0);
    }

    /// The rows that another lacks, or has otherwise.
    pub fn beyond(self, other: &ProgressTable) -> impl Iterator<Item = (AttemptKey, ProgressWire)> {
        self.0.into_iter().filter(|(attempted, progress)| other.0.get(attempted) != Some(progress))
    }

    /// That of a run, if it still runs and this is of its last attempt.
    pub(super) fn of_run(&self, run: &Run) -> Option<ProgressWire> {
        let is_on = run.state == RunState::Running;
        self.0.get(&(run.key.clone(), run.attempt)).copied().filter(|_| is_on)
    }

    /// That of the last run of a job that tells one.
    pub(super) fn of_job(&self, job: &JobName) -> Option<ProgressWire> {
        let own = self.0.iter().filter(|((key, _), _)| key.job == *job);
        own.max_by_key(|(attempted, _)| *attempted).map(|(_, progress)| *progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::Cause;

    fn row(run: &str, attempt: u32, done: u64, of: u64) -> (AttemptKey, ProgressWire) {
        ((run.parse().unwrap(), attempt), ProgressWire::new(done, of))
    }

    #[test]
    fn a_table_is_read_as_it_was_written_and_what_is_no_table_says_nothing() {
        let table: ProgressTable =
            [row("tea@2026-11-21T03:00:00Z", 2, 42, 100), row("a@2026-11-21T03:00:00Z#7", 1, u64::MAX, 0)]
                .into_iter()
                .collect();
        assert_eq!(ProgressTable::read(&table.text()), table);
        assert_eq!(ProgressTable::default().text(), "");
        for text in
            ["", "{}", "[[[\"tea\",1],{\"done\":1}]]", "[[[\"tea@2026-11-21T03:00:00Z\",1],{\"done\":-1}]]"]
        {
            assert_eq!(ProgressTable::read(text), ProgressTable::default(), "{text}");
        }
        let more = (0..1_000).map(|second| row("tea@2026-11-21T03:00:00Z", second, 1, 2));
        assert_eq!(ProgressTable::read(&more.collect::<ProgressTable>().text()).0.len(), MAX_TOLD);
    }

    #[test]
    fn progress_is_that_of_the_attempt_that_goes_on_and_of_no_other() {
        let table: ProgressTable = [row("tea@2026-11-21T03:00:00Z", 2, 42, 100)].into_iter().collect();
        let at = "2026-11-21T03:00:00Z".parse().unwrap();
        let key = "tea@2026-11-21T03:00:00Z".parse().unwrap();
        let mut run = Run::new(key, Cause::Trigger, RunState::Running, at, at);
        for (attempt, state, is_told) in [
            (2, RunState::Running, true),
            (1, RunState::Running, false),
            (3, RunState::Running, false),
            (2, RunState::Scheduled, false),
            (2, RunState::Failed, false),
        ] {
            (run.attempt, run.state) = (attempt, state);
            assert_eq!(table.of_run(&run).is_some(), is_told, "attempt {attempt}, {state:?}");
        }
        assert_eq!(table.of_job(&JobName::new("te").unwrap()), None);
        assert_eq!(table.of_job(&JobName::new("tea").unwrap()), Some(ProgressWire { done: 42, of: 100 }));
    }

    #[test]
    fn more_than_all_is_all_and_without_a_whole_any_number_may_be_done() {
        for (done, of, text) in [
            (42, 100, "42 of 100"),
            (101, 100, "100 of 100"),
            (u64::MAX, 1, "1 of 1"),
            (7, 0, "7 done"),
            (0, 0, "0 done"),
            (u64::MAX, u64::MAX, "18446744073709551615 of 18446744073709551615"),
        ] {
            assert_eq!(ProgressWire::new(done, of).to_string(), text);
        }
    }
}
