//! Counts the notifications to each target in the present minute.
//!
//! Cost: a count for each target that gets a notification in a minute.
//!
//! Does not outlive the server: the next one counts again.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::hook::MAX_CALLS_A_MINUTE;

/// How many notifications each target got in one minute.
#[derive(Debug, Default)]
pub(super) struct NotificationCounts {
    minute: i64,
    counts: BTreeMap<String, u32>,
}

impl NotificationCounts {
    /// Counts one more, and says whether it is one too many.
    pub(super) fn is_too_often(&mut self, now: Timestamp, target: &str) -> bool {
        let minute = now.as_second().div_euclid(60);
        if self.minute != minute {
            (self.minute, self.counts) = (minute, BTreeMap::new());
        }
        let count = self.counts.entry(target.to_owned()).or_default();
        *count = count.saturating_add(1);
        MAX_CALLS_A_MINUTE < *count
    }
}
