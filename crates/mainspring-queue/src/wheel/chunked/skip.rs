//! Drops cancelled hints ahead of time, so that the chunked wheel sleeps past them.
//!
//! ```text
//!   advance to T: nothing is due  ──▶  [dead dead] [dead] [dead, moved ──▶ later] [live] ..   the slots that come next
//!                                       dropped     dropped  put where it belongs  next wakeup: this one
//! ```
//!
//! A hint outlives its timer, so the next wakeup may be a dead one's tick. A program whose timeouts are
//! nearly all cancelled would wake for each of them. So an advance that finds nothing, though something was
//! foreseen, looks at the slots that come next, and drops what is dead until a living timer comes first. What
//! was reset to a later time goes where it belongs.
//!
//! Cost: nothing where each wakeup has its timer. Else a look at a record for each dead hint, once, and at
//! most [`SKIPPED_HINT_COUNT_MAX`] in one advance.
//!
//! It does not look for the dead behind a living timer: one wakeup in vain is allowed for each.

use super::Chunked;
use super::chunks::{CHUNK_HINT_COUNT, Chain};
use super::rings::Slot;

/// How many hints one advance looks at, at most: about 40 us where each waits for its record's memory.
const SKIPPED_HINT_COUNT_MAX: usize = 2_048;

impl<T> Chunked<T> {
    /// Drops the dead that come next. Nothing is due, and all time up to now is worked off.
    #[cold]
    pub(super) fn skip_dead(&mut self) {
        let mut left = SKIPPED_HINT_COUNT_MAX;
        while let Some((slot, tick)) = self.rings.next_slot(self.reached) {
            let chain = self.rings.chain(slot);
            let is_true = |hint| self.records.deadline_of(hint) == Some(tick);
            // A lone hint has no chunk.
            let hint_count = (chain.chunk_count as usize * CHUNK_HINT_COUNT).max(1);
            if left < hint_count || self.chunks.iter(chain).any(is_true) {
                return;
            }
            left -= hint_count;
            self.clean(slot);
        }
    }

    /// Drops the dead of a slot, and puts elsewhere what belongs elsewhere. The others keep their order.
    fn clean(&mut self, slot: Slot) {
        let mut chain = self.rings.take(slot);
        self.sweep.slot_is_clean(slot.index());
        let mut later = Chain::EMPTY;
        while !chain.is_empty() {
            let taken = self.chunks.take_first(&mut chain);
            for hint in taken.as_slice() {
                let Some(deadline) = self.records.deadline_of(*hint) else { continue };
                if Slot::of(deadline, slot.level) == slot {
                    // No more chunks than were taken out, so nothing has to be swept for them.
                    self.chunks.push(&mut later, hint.at(deadline));
                    later.earliest = later.earliest.min(deadline);
                } else {
                    self.put_ahead(hint.at(deadline), deadline);
                }
            }
        }
        if !later.is_empty() {
            *self.rings.chain_mut(slot) = later;
            self.rings.occupy(slot);
        }
    }
}
