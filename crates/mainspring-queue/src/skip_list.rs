//! A skip list: a sorted linked list with express lanes.
//!
//! ```text
//!   lane 2  head ----------------------> 20 ---------------------> end
//!   lane 1  head ---------> 10 --------> 20 ---------> 40 -------> end
//!   lane 0  head --> 5 ---> 10 --> 15 -> 20 --> 30 --> 40 --> 50 -> end
//!
//!   a link  [ deadline of the next tower | next tower | previous tower ]
//! ```
//!
//! Each timer has a *tower* of one or more links, one per lane, its height drawn from a generator with a
//! seed: the same calls on a list of the same seed build the same list. A quarter of the towers of each
//! height is one higher, so a timer has 4/3 links on average. All towers lie in one table, as neighbouring
//! elements, and are used again, so that a timer costs no allocation of its own.
//!
//! At a million timers a step costs what it reads from memory. So a link says when the next tower is due: the
//! search reads the towers that it steps to and no others, and no record. And a link says which tower is
//! before it, so that a timer is taken out without a search. Both together, and the table in huge pages, made
//! a pair of schedule and cancel four times as fast as links of four bytes between records, which found what
//! is before a timer by a search.
//!
//! Cost: schedule O(log n) expected, cancel and pop O(1) expected, reset O(log n) expected, `next_wakeup`
//! O(1), exact. Memory per timer beyond the payload: 21.3 (links) + 5.3 (whose tower it is) + 8 (which is its
//! tower) + 12. Granularity: one tick. Equals fire first in, first out; a reset goes behind its equals.
//!
//! It does not bound its worst case: an unlucky run of towers makes it slower, never wrong.
//!
//! Source: W. Pugh, "Skip Lists: A Probabilistic Alternative to Balanced Trees" (1990).

use crate::arena::{Arena, NONE};
use crate::queue::{Equals, TimerQueue};
use crate::sorted_queue::{SortedIndex, SortedQueue};
use crate::table::Table;
use crate::tick::Tick;

/// The most lanes. With a quarter of the towers rising, 4^16 timers keep the promised cost.
const LANE_COUNT: usize = 16;

/// The seed of [`SkipList::new`]. Any other would do as well.
const DEFAULT_SEED: u64 = 0x6d61_696e_7370_7269;

/// The tower in front of all, of all lanes. It is no timer's.
const HEAD: u32 = 0;

/// The skip list. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, SkipList};
///
/// let mut queue = SkipList::with_seed(7);
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SkipList<T>(SortedQueue<Lanes, T>);

impl<T> SkipList<T> {
    /// Makes an empty list at tick 0 with a fixed seed. Allocates nothing.
    pub const fn new() -> SkipList<T> {
        SkipList::with_seed(DEFAULT_SEED)
    }

    /// Makes an empty list at tick 0 whose towers follow from `seed`; every seed is good.
    pub const fn with_seed(seed: u64) -> SkipList<T> {
        SkipList(SortedQueue::over(Lanes {
            links: Table::new(),
            owners: Table::new(),
            first_free: [NONE; LANE_COUNT],
            lane_count: 1,
            // The generator must not stand at 0.
            random: if seed == 0 { DEFAULT_SEED } else { seed },
        }))
    }
}

impl<T> Default for SkipList<T> {
    fn default() -> SkipList<T> {
        SkipList::new()
    }
}

impl<T> TimerQueue<T> for SkipList<T> {
    crate::forward!(queue => queue.0);
}

/// The list itself.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// The link of a tower in a lane is that many elements behind the tower's first. Empty, or the head's
    /// first.
    links: Table<Link>,
    /// Which record a tower belongs to, at the index of its first link.
    owners: Table<u32>,
    /// By height less one, the first of the towers that are free; the next is in their first link.
    first_free: [u32; LANE_COUNT],
    /// Lanes from this one on are empty.
    lane_count: u32,
    random: u64,
}

/// A tower in one lane.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// When the next tower's timer is due; [`Tick::MAX`] if there is none.
    deadline: Tick,
    /// The next tower, or [`NONE`].
    next: u32,
    /// The tower before this one.
    previous: u32,
}

/// A link that leads nowhere.
const END: Link = Link { deadline: Tick::MAX, next: NONE, previous: HEAD };

/// What a timer's record keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tower {
    /// Where its links start.
    start: u32,
    height: u32,
}

impl Lanes {
    /// A height from 1 to the number of lanes; each is a quarter as likely as the one before.
    fn draw_height(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let quarters = self.random.leading_zeros() / 2;
        (quarters + 1).min(LANE_COUNT as u32)
    }

    /// A tower without content.
    fn take_tower(&mut self, height: u32) -> u32 {
        if self.links.len() == 0 {
            self.push_links(LANE_COUNT as u32);
        }
        let start = self.first_free[height as usize - 1];
        if start == NONE {
            let start = self.links.len();
            self.push_links(height);
            return start;
        }
        self.first_free[height as usize - 1] = self.links.at(start).next;
        start
    }

    fn push_links(&mut self, count: u32) {
        for _ in 0..count {
            self.links.push(END);
            self.owners.push(NONE);
        }
    }

    fn give_back(&mut self, Tower { start, height }: &Tower) {
        let first_free = &mut self.first_free[*height as usize - 1];
        self.links.at_mut(*start).next = *first_free;
        *first_free = *start;
    }

    /// The first link of the head.
    fn first_link(&self) -> Link {
        self.links.find(HEAD).copied().unwrap_or(END)
    }
}

impl SortedIndex for Lanes {
    type Link = Tower;
    const EQUALS: Equals = Equals::Fifo;

    fn insert<T>(&mut self, arena: &mut Arena<Tower, T>, index: u32) {
        let height = self.draw_height();
        let start = self.take_tower(height);
        *self.owners.at_mut(start) = index;
        let record = arena.at_mut(index);
        record.link = Tower { start, height };
        let deadline = record.deadline;
        self.lane_count = self.lane_count.max(height);
        let mut tower = HEAD;
        for lane in (0..self.lane_count).rev() {
            let mut link = *self.links.at(tower + lane);
            // Behind all of equal deadline. The end is passed by no deadline, not even the last there is.
            while link.deadline <= deadline && link.next != NONE {
                tower = link.next;
                link = *self.links.at(tower + lane);
            }
            if height <= lane {
                continue;
            }
            *self.links.at_mut(start + lane) = Link { previous: tower, ..link };
            let before = self.links.at_mut(tower + lane);
            (before.deadline, before.next) = (deadline, start);
            if link.next != NONE {
                self.links.at_mut(link.next + lane).previous = start;
            }
        }
    }

    fn remove<T>(&mut self, arena: &mut Arena<Tower, T>, index: u32) {
        let tower = &arena.at(index).link;
        for lane in 0..tower.height {
            let link = *self.links.at(tower.start + lane);
            let before = self.links.at_mut(link.previous + lane);
            debug_assert_eq!(before.next, tower.start, "a timer follows the one before it");
            (before.deadline, before.next) = (link.deadline, link.next);
            if link.next != NONE {
                self.links.at_mut(link.next + lane).previous = link.previous;
            }
        }
        self.give_back(tower);
        while self.lane_count > 1 && self.links.at(HEAD + self.lane_count - 1).next == NONE {
            self.lane_count -= 1;
        }
    }

    fn first<T>(&self, _: &Arena<Tower, T>) -> Option<(Tick, u32)> {
        let Link { deadline, next, .. } = self.first_link();
        (next != NONE).then(|| (deadline, *self.owners.at(next)))
    }

    fn compact(&mut self) {
        if self.first_link().next == NONE {
            (self.links, self.owners) = (Table::new(), Table::new());
            self.first_free = [NONE; LANE_COUNT];
        }
    }

    fn check<T>(&self, arena: &Arena<Tower, T>) {
        assert_eq!(self.links.len(), self.owners.len(), "each link has a place for an owner");
        for lane in 0..LANE_COUNT as u32 {
            let (mut count, mut last, mut tower) = (0, Tick::ZERO, HEAD);
            let mut link = self.links.find(tower + lane).copied().unwrap_or(END);
            while link.next != NONE {
                let record = arena.at(*self.owners.at(link.next));
                assert_eq!(link.deadline, record.deadline, "a link says when the next timer is due");
                assert!(last <= record.deadline, "lane {lane} is sorted");
                assert_eq!(record.link.start, link.next, "a tower's owner knows it");
                assert!(lane < record.link.height, "a tower is in its lanes only");
                (count, last) = (count + 1, record.deadline);
                let next = *self.links.at(link.next + lane);
                assert_eq!(next.previous, tower, "a link says which tower is before it");
                (tower, link) = (link.next, next);
            }
            assert_eq!(link.deadline, Tick::MAX, "behind the last there is nothing to wait for");
            assert!(lane == 0 || lane < self.lane_count || count == 0, "unused lanes are empty");
            assert!(lane > 0 || count == arena.len(), "each live record is in the lowest lane");
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::queue::TimerQueue;

    fn heights(seed: u64) -> Vec<u32> {
        let mut queue = SkipList::with_seed(seed);
        for deadline in 0..64 {
            queue.schedule(Tick::new(deadline), ()).expect("the list has room");
        }
        let mut lanes = queue_index(&queue);
        (0..64).map(|_| lanes.draw_height()).collect()
    }

    fn queue_index<T>(queue: &SkipList<T>) -> Lanes {
        queue.0.index().clone()
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
        let towers: u32 = (1..=LANE_COUNT as u32).sum();
        let link_count = queue_index(&queue).links.len();
        assert!(link_count <= LANE_COUNT as u32 + towers, "one tower of each height and the head are enough");
        queue.compact();
        assert_eq!(queue_index(&queue).links.len(), 0, "an empty list needs none");
    }

    #[test]
    fn the_last_tick_is_a_deadline_like_any_other() {
        let mut queue = SkipList::new();
        let ids: Vec<_> =
            (0..3).map(|number| queue.schedule(Tick::MAX, number).expect("there is room")).collect();
        queue.check();
        assert_eq!(queue.cancel(ids[1]), Some(1));
        queue.advance(Tick::MAX);
        let payloads: Vec<_> =
            core::iter::from_fn(|| queue.pop_expired()).map(|timer| timer.payload).collect();
        assert_eq!(payloads, [0, 2]);
        queue.check();
    }
}
