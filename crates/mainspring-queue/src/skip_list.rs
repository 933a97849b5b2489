//! A skip list: a sorted linked list with express lanes.
//!
//! ```text
//!   lane 2  head ----------------------> 20 ---------------------> end
//!   lane 1  head ---------> 10 --------> 20 ---------> 40 -------> end
//!   lane 0  head --> 5 ---> 10 --> 15 -> 20 --> 30 --> 40 --> 50 -> end
//! ```
//!
//! Each timer has a *tower* of one or more lanes, its height drawn from a generator with a seed: the same
//! calls on a list of the same seed build the same list. A quarter of the towers of each height is one
//! higher, so a timer has 4/3 lanes on average. Towers live in one pool of numbers per height, cut into
//! pieces that are used again, so that a timer costs no allocation of its own.
//!
//! Cost: schedule, cancel and reset O(log n) expected, pop O(1) expected, `next_wakeup` O(1), exact. Memory
//! per timer beyond the payload: 5.3 (tower) + 16 (sequence and tower) + 12. Granularity: one tick. Equals
//! fire first in, first out; a reset goes behind its equals.
//!
//! It does not bound its worst case: an unlucky run of towers makes it slower, never wrong.
//!
//! Source: W. Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees" (1990).

use alloc::vec::Vec;

use crate::arena::{Arena, NONE};
use crate::queue::Equals;
use crate::sorted::{Sorted, SortedIndex};
use crate::tick::Tick;

/// The most lanes. With a quarter of the towers rising, 4^16 timers keep the promised cost.
const LANE_COUNT: usize = 16;

/// The seed of [`SkipList::new`]. Any other would do as well.
const DEFAULT_SEED: u64 = 0x6d61_696e_7370_7269;

/// The skip list. See the [module](self).
pub type SkipList<T> = Sorted<Lanes, T>;

impl<T> SkipList<T> {
    /// Makes an empty list at tick 0 with a fixed seed. Allocates nothing.
    pub const fn new() -> SkipList<T> {
        SkipList::with_seed(DEFAULT_SEED)
    }

    /// Makes an empty list at tick 0 whose towers follow from `seed`; every seed is good.
    pub const fn with_seed(seed: u64) -> SkipList<T> {
        Sorted::over(Lanes {
            heads: [NONE; LANE_COUNT],
            lane_count: 1,
            pools: [const { Pool { lanes: Vec::new(), first_free: NONE } }; LANE_COUNT],
            next_sequence: 0,
            // The generator must not stand at 0.
            random: if seed == 0 { DEFAULT_SEED } else { seed },
        })
    }
}

impl<T> Default for SkipList<T> {
    fn default() -> SkipList<T> {
        SkipList::new()
    }
}

/// The list itself.
#[derive(Clone, Debug)]
pub struct Lanes {
    /// The first timer of each lane.
    heads: [u32; LANE_COUNT],
    /// Lanes from this one on are empty.
    lane_count: usize,
    /// Towers of height h + 1 are in pool h.
    pools: [Pool; LANE_COUNT],
    next_sequence: u64,
    random: u64,
}

/// Pieces of equal length: the towers of one height.
#[derive(Clone, Debug)]
struct Pool {
    lanes: Vec<u32>,
    /// Where a free piece starts; its first number is where the next one does.
    first_free: u32,
}

/// What a timer's record keeps.
#[derive(Clone, Debug, Default)]
pub struct Tower {
    /// Breaks ties between equal deadlines: later inserted is larger.
    sequence: u64,
    /// Where the tower starts in its pool.
    start: u32,
    height: u8,
}

/// The timers that stand before a place, lane by lane; [`NONE`] is the head of the list.
type Before = [u32; LANE_COUNT];

impl Pool {
    fn take(&mut self, height: usize) -> u32 {
        let start = self.first_free;
        if start == NONE {
            let start = self.lanes.len();
            assert!(start + height < NONE as usize, "a tower's start fits in 32 bits");
            self.lanes.resize(start + height, NONE);
            return start as u32;
        }
        self.first_free = self.lanes[start as usize];
        start
    }

    fn give_back(&mut self, start: u32) {
        self.lanes[start as usize] = self.first_free;
        self.first_free = start;
    }
}

impl Lanes {
    /// A height from 1 to the number of lanes; each is a quarter as likely as the one before.
    fn draw_height(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let quarters = (self.random.leading_zeros() / 2) as usize;
        (quarters + 1).min(LANE_COUNT)
    }

    fn next<T>(&self, arena: &Arena<Tower, T>, index: u32, lane: usize) -> u32 {
        if index == NONE {
            return self.heads[lane];
        }
        let tower = &arena.at(index).link;
        self.pools[tower.height as usize - 1].lanes[tower.start as usize + lane]
    }

    fn set_next<T>(&mut self, arena: &Arena<Tower, T>, index: u32, lane: usize, next: u32) {
        if index == NONE {
            self.heads[lane] = next;
            return;
        }
        let tower = &arena.at(index).link;
        self.pools[tower.height as usize - 1].lanes[tower.start as usize + lane] = next;
    }

    /// Finds the last timer of each lane that stands before the given key.
    fn find_before<T>(&self, arena: &Arena<Tower, T>, deadline: Tick, sequence: u64) -> Before {
        let mut before = [NONE; LANE_COUNT];
        let mut index = NONE;
        for lane in (0..self.lane_count).rev() {
            loop {
                let next = self.next(arena, index, lane);
                if next == NONE {
                    break;
                }
                let record = arena.at(next);
                if (deadline, sequence) <= (record.deadline, record.link.sequence) {
                    break;
                }
                index = next;
            }
            before[lane] = index;
        }
        before
    }
}

impl SortedIndex for Lanes {
    type Link = Tower;
    const EQUALS: Equals = Equals::Fifo;

    fn insert<T>(&mut self, arena: &mut Arena<Tower, T>, index: u32) {
        let height = self.draw_height();
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let start = self.pools[height - 1].take(height);
        let record = arena.at_mut(index);
        record.link = Tower { sequence, start, height: height as u8 };
        let deadline = record.deadline;
        self.lane_count = self.lane_count.max(height);
        let before = self.find_before(arena, deadline, sequence);
        for (lane, &previous) in before.iter().enumerate().take(height) {
            let next = self.next(arena, previous, lane);
            self.set_next(arena, index, lane, next);
            self.set_next(arena, previous, lane, index);
        }
    }

    fn remove<T>(&mut self, arena: &mut Arena<Tower, T>, index: u32) {
        let record = arena.at(index);
        let Tower { sequence, start, height } = record.link;
        let before = self.find_before(arena, record.deadline, sequence);
        for (lane, &previous) in before.iter().enumerate().take(height as usize) {
            assert_eq!(self.next(arena, previous, lane), index, "a timer follows those before it");
            let next = self.next(arena, index, lane);
            self.set_next(arena, previous, lane, next);
        }
        self.pools[height as usize - 1].give_back(start);
        while self.lane_count > 1 && self.heads[self.lane_count - 1] == NONE {
            self.lane_count -= 1;
        }
    }

    fn first<T>(&self, arena: &Arena<Tower, T>) -> Option<(Tick, u32)> {
        let first = self.heads[0];
        (first != NONE).then(|| (arena.at(first).deadline, first))
    }

    fn check<T>(&self, arena: &Arena<Tower, T>) {
        for lane in 0..LANE_COUNT {
            let mut count = 0;
            let mut last = None;
            let mut index = self.heads[lane];
            while index != NONE {
                let record = arena.at(index);
                let key = (record.deadline, record.link.sequence);
                assert!(last < Some(key), "lane {lane} is sorted");
                assert!(lane < record.link.height as usize, "a tower is in its lanes only");
                last = Some(key);
                count += 1;
                index = self.next(arena, index, lane);
            }
            assert!(lane == 0 || lane < self.lane_count || count == 0, "unused lanes are empty");
            assert!(lane > 0 || count == arena.len(), "each live record is in the lowest lane");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::TimerQueue;

    fn heights(seed: u64) -> Vec<u8> {
        let mut queue = SkipList::with_seed(seed);
        for deadline in 0..64 {
            queue.schedule(Tick::new(deadline), ()).expect("the list has room");
        }
        let mut lanes = queue_index(&queue);
        (0..64).map(|_| lanes.draw_height() as u8).collect()
    }

    fn queue_index<T>(queue: &SkipList<T>) -> Lanes {
        queue.index().clone()
    }

    #[test]
    fn the_same_seed_builds_the_same_list() {
        assert_eq!(heights(7), heights(7));
        assert_ne!(heights(7), heights(8));
        assert_eq!(heights(0), heights(DEFAULT_SEED));
    }

    #[test]
    fn towers_are_used_again() {
        let mut queue = SkipList::new();
        for step in 0..100_000_u64 {
            let id = queue.schedule(Tick::new(step), ()).expect("the list has room");
            queue.cancel(id).expect("the timer is pending");
        }
        let lanes: usize = queue_index(&queue).pools.iter().map(|pool| pool.lanes.len()).sum();
        assert!(lanes <= (1..=LANE_COUNT).sum(), "one tower of each height is enough");
    }
}
