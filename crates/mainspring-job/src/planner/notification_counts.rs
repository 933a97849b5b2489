//! Counts the notifications of each group to each target in the present minute.
//!
//! Cost: a count for each group and target that gets a notification in a minute.
//!
//! Does not outlive the server: the next one counts again.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::hook::MAX_CALLS_A_MINUTE;
use crate::name::JobName;

/// How many notifications of each group each target got in one minute.
#[derive(Debug, Default)]
pub(super) struct NotificationCounts {
    minute: i64,
    counts: BTreeMap<(Option<JobName>, String), u32>,
}

impl NotificationCounts {
    /// Counts one more, and says whether it is one too many.
    pub(super) fn is_too_often(&mut self, now: Timestamp, group: Option<&JobName>, target: &str) -> bool {
        let minute = now.as_second().div_euclid(60);
        if self.minute != minute {
            (self.minute, self.counts) = (minute, BTreeMap::new());
        }
        let count = self.counts.entry((group.cloned(), target.to_owned())).or_default();
        *count = count.saturating_add(1);
        MAX_CALLS_A_MINUTE < *count
    }
}
