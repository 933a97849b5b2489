//! The test suite that every timer queue must pass, public so that other queues can be held to it.
//!
//! ```text
//!   seed --> random Script --> run on (your queue, the oracle) step by step, check() after each
//!                |                         |
//!                +<------ shrink <---- a difference or a panic --> the shortest script found is printed
//! ```
//!
//! [`exercise`] makes 64 random scripts of 2,000 steps: timers scheduled at 0, now, near, far and at the end
//! of time; pending, expired, fired and stale ids cancelled and reset, earlier, later and to the past; time
//! advanced by 0, by 1, to the next wakeup, by huge jumps and across the boundaries where wheels wrap;
//! expired timers drained wholly or in part. After each step the [runner] compares the queue with
//! [`Naive`](crate::Naive) and with its own [`Profile`](crate::Profile), counts every payload's drops, and
//! calls [`check`](crate::TimerQueue::check).
//!
//! A failing script is printed in the language of [`script`], ready to be saved as a scenario.
//!
//! Cost: a second or so per structure in an optimised build; O(pending) per step.
//!
//! It does not measure time or memory.
//!
//! A queue of one's own, and all that it takes to hold it to the contract:
//!
//! ```
//! use std::collections::BTreeMap;
//! use std::num::NonZeroU32;
//!
//! use mainspring_queue::{
//!     Equals, ExpiredTimer, Order, Profile, Reason, RejectedTimer, ResetError, Tick, TimerId, TimerQueue, contract,
//! };
//!
//! /// Timers in the order of their deadlines, and then of their ids; and the deadline of each id.
//! struct Tree<T> {
//!     timers: BTreeMap<(Tick, TimerId), T>,
//!     deadlines: BTreeMap<TimerId, Tick>,
//!     next_index: u32,
//!     now: Tick,
//! }
//!
//! impl<T> Tree<T> {
//!     fn new() -> Tree<T> {
//!         Tree { timers: BTreeMap::new(), deadlines: BTreeMap::new(), next_index: 0, now: Tick::ZERO }
//!     }
//! }
//!
//! impl<T> TimerQueue<T> for Tree<T> {
//!     fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
//!         // No number is given out twice, so that a generation is not needed.
//!         let id = TimerId::from_parts(self.next_index, NonZeroU32::MIN);
//!         let Some(next_index) = self.next_index.checked_add(1) else {
//!             return Err(RejectedTimer { reason: Reason::Full, payload });
//!         };
//!         self.next_index = next_index;
//!         self.timers.insert((deadline, id), payload);
//!         self.deadlines.insert(id, deadline);
//!         Ok(id)
//!     }
//!
//!     fn cancel(&mut self, id: TimerId) -> Option<T> {
//!         let deadline = self.deadlines.remove(&id)?;
//!         self.timers.remove(&(deadline, id))
//!     }
//!
//!     fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
//!         let current = self.deadlines.get_mut(&id).ok_or(ResetError::NotPending)?;
//!         let payload = self.timers.remove(&(std::mem::replace(current, deadline), id));
//!         self.timers.extend(payload.map(|payload| ((deadline, id), payload)));
//!         Ok(())
//!     }
//!
//!     fn deadline(&self, id: TimerId) -> Option<Tick> {
//!         self.deadlines.get(&id).copied()
//!     }
//!
//!     fn next_wakeup(&self) -> Option<Tick> {
//!         self.peek().map(|(_, deadline)| deadline)
//!     }
//!
//!     fn advance(&mut self, now: Tick) {
//!         self.now = self.now.max(now);
//!     }
//!
//!     fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
//!         let first = self.timers.first_entry().filter(|first| first.key().0 <= self.now)?;
//!         let ((deadline, id), payload) = first.remove_entry();
//!         self.deadlines.remove(&id);
//!         Some(ExpiredTimer { id, deadline, payload })
//!     }
//!
//!     fn now(&self) -> Tick {
//!         self.now
//!     }
//!
//!     fn len(&self) -> usize {
//!         self.timers.len()
//!     }
//!
//!     fn peek(&self) -> Option<(TimerId, Tick)> {
//!         self.timers.first_key_value().map(|(&(deadline, id), _)| (id, deadline))
//!     }
//!
//!     fn profile(&self) -> Profile {
//!         Profile::exact(Order::Deadline, Equals::FifoUnlessReset)
//!     }
//! }
//!
//! contract::exercise(Tree::new);
//! ```

pub mod runner;
pub mod script;

mod generator;
mod outcome;
pub(crate) mod replay;
mod shrink;

pub use outcome::{Difference, Outcome};
pub use runner::{Token, run};
pub use script::{Script, ScriptError};

use std::string::String;

use crate::queue::TimerQueue;

/// How many scripts [`exercise`] makes.
pub const SEED_COUNT: u64 = 64;

/// How many steps each has.
pub const STEP_COUNT: usize = 2_000;

/// Holds the queues that `make` makes to the contract: 64 seeds, 2,000 steps each. `SEED` in the environment
/// names the only one to run; a failure prints the command with it.
///
/// # Panics
/// If a queue breaks the contract, with what was wrong and a short script that shows it.
///
/// ```
/// use mainspring_queue::{contract, heap::Lazy};
///
/// contract::exercise(Lazy::new);
/// ```
pub fn exercise<Q: TimerQueue<Token>>(make: impl Fn() -> Q) {
    replay::each_seed(0..SEED_COUNT, |seed| exercise_seed(&make, seed, STEP_COUNT));
}

/// Holds the queues that `make` makes to the contract with one random script.
///
/// # Panics
/// As [`exercise`] does.
///
/// ```
/// use mainspring_queue::{SkipList, contract};
///
/// contract::exercise_seed(&SkipList::new, 42, 100);
/// ```
pub fn exercise_seed<Q: TimerQueue<Token>>(make: &impl Fn() -> Q, seed: u64, step_count: usize) {
    let script = generator::script(seed, step_count);
    if let Err(first) = shrink::run_caught(&script, make) {
        let (script, last) = shrink::shrink(script, first, make);
        panic!("{}", report(seed, &script, &last));
    }
}

fn report(seed: u64, script: &Script, difference: &Difference) -> String {
    std::format!(
        "the queue breaks the contract (seed {seed}): {difference}\nthe shortest script found:\n{script}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wheel::{Bitmap, Cascading, Chunked, Hierarchical, Overflow, Rounds, Simple};
    use crate::{RedBlackTree, SkipList, heap};

    // In this binary a record's versions come round after four changes, and its generations are used up after
    // twelve timers.

    #[test]
    fn versions_that_come_round_break_no_promise_of_the_chunked_wheel() {
        exercise(Chunked::new);
    }

    #[test]
    fn records_that_are_used_up_break_no_promise() {
        let some = |exercise: &dyn Fn(u64)| (0..SEED_COUNT / 8).for_each(exercise);
        some(&|seed| exercise_seed(&heap::Quaternary::new, seed, STEP_COUNT));
        some(&|seed| exercise_seed(&heap::Lazy::new, seed, STEP_COUNT));
        some(&|seed| exercise_seed(&RedBlackTree::new, seed, STEP_COUNT));
        some(&|seed| exercise_seed(&SkipList::new, seed, STEP_COUNT));
        some(&|seed| exercise_seed(&|| Simple::new(4_096), seed, STEP_COUNT));
        some(&|seed| exercise_seed(&|| Rounds::new(60, 100), seed, STEP_COUNT));
        some(&|seed| exercise_seed(&|| Hierarchical::new(&[60, 60, 24]), seed, STEP_COUNT));
        some(&|seed| exercise_seed(&|| Overflow::new(20, 1), seed, STEP_COUNT));
        some(&|seed| exercise_seed(&Cascading::new, seed, STEP_COUNT));
        some(&|seed| exercise_seed(&Bitmap::new, seed, STEP_COUNT));
    }
}
