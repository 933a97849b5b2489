//! The lack of a queued run: why it is not admitted, or has no slot.
//!
//! Cost: O(log n), and O(workers).
//!
//! Does not look at the runs before it in its admission queue.

use super::super::hold::Hold;
use super::super::live::Live;
use super::OpenRuns;

impl OpenRuns {
    /// Why a queued run has no slot, if it waits for a batch, no worker serves it, or its group or those that
    /// do are full.
    pub(in super::super) fn why_no_slot(&self, live: &Live) -> Option<Hold> {
        let run = live.run.key.clone();
        if let Some(batch) = live.work.policies.after_batch.clone().filter(|_| self.batches.holds(live)) {
            return Some(Hold::AfterBatch { run, batch });
        }
        let needs = live.needs.as_ref()?;
        let full_group = live.work.group.as_ref().and_then(|group| {
            let full = self.slots.full_group(group).map(|limit| (limit, self.slots.running_of(group)));
            Hold::of_group(&run, group, full, self.slots.groups.full_rate(group))
        });
        self.slots.workers.why_no_slot(run, needs, self.slots.placement(&live.work), full_group)
    }
}
