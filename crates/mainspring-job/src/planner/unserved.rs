//! Runs that wait for what no worker has: since when, and the moment at which their jobs tell of it.
//!
//! ```text
//!  a line of runs that need gpu   no worker has it ──── five minutes ────▶ the hook of each job in the line
//!                                        └─ one comes: forgotten
//! ```
//!
//! Cost: O(lines * workers) for each fact.
//!
//! Does not outlive the planner: another one counts from its start, so the same wait may be told again.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

/// How long a run waits for what no worker has until its job tells of it: a server that is replaced is back
/// by then.
pub const UNSERVED_PATIENCE: SignedDuration = SignedDuration::from_mins(5);

/// Since when lines have no worker; `None` once that was told.
#[derive(Debug)]
pub(super) struct UnservedLines<K>(BTreeMap<K, Option<Timestamp>>);

impl<K> Default for UnservedLines<K> {
    fn default() -> UnservedLines<K> {
        UnservedLines(BTreeMap::new())
    }
}

impl<K: Clone + Ord> UnservedLines<K> {
    /// These lines have no worker, and no other. Answers those for which the moment has come.
    pub(super) fn tell<'l>(&mut self, now: Timestamp, lines: impl Iterator<Item = &'l K>) -> Vec<K>
    where
        K: 'l,
    {
        let mut before = std::mem::take(&mut self.0);
        let mut overdue = Vec::new();
        for line in lines {
            let since = before.remove(line).unwrap_or(Some(now));
            let is_over = since.is_some_and(|since| UNSERVED_PATIENCE <= now.duration_since(since));
            if is_over {
                overdue.push(line.clone());
            }
            self.0.insert(line.clone(), since.filter(|_| !is_over));
        }
        overdue
    }

    /// The next moment.
    pub(super) fn next(&self) -> Option<Timestamp> {
        let since = self.0.values().flatten().min()?;
        since.checked_add(UNSERVED_PATIENCE).ok()
    }
}
