//! The process slots of one server whose loops, one for each shard, start processes side by side.
//!
//! Each planner counts its own runs. What all of them start together is counted here, so that `--max-running`
//! holds for the machine. An attempt that finds no slot waits as one does that finds no memory.
//!
//! Cost: a lock for each start and turn, held while a process is started. Loops start one after another so.
//!
//! Does not divide the slots: a shard with much to do may have all of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainspring_job::Shard;

/// What the loops of a server share.
#[derive(Debug)]
pub struct ProcessSlots {
    most: usize,
    taken: Mutex<BTreeMap<Shard, SlotUsage>>,
}

/// What runs of a shard.
#[derive(Debug, Default)]
struct SlotUsage {
    count: usize,
    pids: Vec<u32>,
}

/// The process slots of one loop.
#[derive(Clone, Debug)]
pub(super) struct LoopSlots {
    slots: Arc<ProcessSlots>,
    shard: Shard,
}

/// The right to start something: no other loop starts or reaps anything meanwhile.
pub(super) struct Starting<'s> {
    shard: Shard,
    taken: MutexGuard<'s, BTreeMap<Shard, SlotUsage>>,
}

impl ProcessSlots {
    /// So many at a time.
    pub fn new(most: usize) -> Arc<ProcessSlots> {
        Arc::new(ProcessSlots { most, taken: Mutex::default() })
    }

    /// The process slots of one loop.
    pub(super) fn of(self: &Arc<ProcessSlots>, shard: Shard) -> LoopSlots {
        LoopSlots { slots: Arc::clone(self), shard }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Shard, SlotUsage>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoopSlots {
    /// The right to start something, unless all places are taken.
    pub(super) fn begin(&self) -> Option<Starting<'_>> {
        let taken = self.slots.lock();
        let count: usize = taken.values().map(|taken| taken.count).sum();
        (count < self.slots.most).then_some(Starting { shard: self.shard, taken })
    }

    /// So many attempts are not over, and these are their processes.
    pub(super) fn set(&self, count: usize, pids: impl Iterator<Item = u32>) {
        set(&mut self.slots.lock(), self.shard, count, pids);
    }

    /// Does something that needs the processes of all loops, while none is started.
    pub(super) fn with_all<T>(&self, act: impl FnOnce(Vec<u32>) -> T) -> T {
        let taken = self.slots.lock();
        act(taken.values().flat_map(|taken| taken.pids.iter().copied()).collect())
    }
}

impl Starting<'_> {
    /// It is started, or was not to be: so many attempts are not over now.
    pub(super) fn end(mut self, count: usize, pids: impl Iterator<Item = u32>) {
        set(&mut self.taken, self.shard, count, pids);
    }
}

fn set(taken: &mut BTreeMap<Shard, SlotUsage>, shard: Shard, count: usize, pids: impl Iterator<Item = u32>) {
    taken.insert(shard, SlotUsage { count, pids: pids.collect() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_loops_together_have_so_many_places_and_know_each_others_processes() {
        let slots = ProcessSlots::new(2);
        let (one, other) = (slots.of(Shard(0)), slots.of(Shard(1)));
        one.begin().unwrap().end(1, [11].into_iter());
        other.begin().unwrap().end(1, [12].into_iter());
        assert!(one.begin().is_none() && other.begin().is_none());
        assert_eq!(one.with_all(|pids| pids), [11, 12]);
        other.set(0, [].into_iter());
        assert!(one.begin().is_some());
    }
}
