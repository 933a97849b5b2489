//! Heaps of four children a node: the timer heaps of Go.
//!
//! ```text
//!   index   0 | 1 2 3 4 | 5 6 7 8   9 ..      children of i: 4i+1 .. 4i+4     parent of i: (i-1)/4
//!           ^   children   of 1       of 2
//! ```
//!
//! Four children make the heap half as deep as a binary one, and the four lie side by side in memory, so that
//! a step down costs one or two cache lines. [`Quaternary`] removes eagerly, by position; [`Lazy`] only
//! marks.
//!
//! This file holds what both share: moving an entry up or down. Both report every move of an entry, which is
//! how `Quaternary` keeps its records' positions right; `Lazy` ignores it.
//!
//! Cost: up O(log4 n), down O(4 log4 n) comparisons, building O(n). Equals keep no order.
//!
//! Source: D. B. Johnson, "Priority queues with update and finding minimum spanning trees" (1975), for heaps
//! of d children; Go's `runtime/time.go`.

pub mod lazy;
pub mod quaternary;

#[doc(inline)]
pub use lazy::Lazy;
#[doc(inline)]
pub use quaternary::Quaternary;

use crate::tick::Tick;

/// Children of a node.
const ARITY: usize = 4;

/// What a heap orders: the name of a timer, under a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry<N> {
    deadline: Tick,
    name: N,
}

/// Moves the entry at `hole` up to where it belongs and returns that place. `moved` hears of each entry's new
/// place.
fn sift_up<N: Copy>(entries: &mut [Entry<N>], mut hole: usize, mut moved: impl FnMut(N, usize)) -> usize {
    let entry = entries[hole];
    while hole > 0 {
        let parent = (hole - 1) / ARITY;
        if entries[parent].deadline <= entry.deadline {
            break;
        }
        entries[hole] = entries[parent];
        moved(entries[hole].name, hole);
        hole = parent;
    }
    entries[hole] = entry;
    moved(entry.name, hole);
    hole
}

/// Moves the entry at `hole` down to where it belongs and returns that place. `moved` hears of each entry's
/// new place.
fn sift_down<N: Copy>(entries: &mut [Entry<N>], mut hole: usize, mut moved: impl FnMut(N, usize)) -> usize {
    let entry = entries[hole];
    loop {
        let first_child = hole * ARITY + 1;
        let after_last = entries.len().min(first_child + ARITY);
        let Some(least) = (first_child..after_last).min_by_key(|&child| entries[child].deadline) else {
            break;
        };
        if entry.deadline <= entries[least].deadline {
            break;
        }
        entries[hole] = entries[least];
        moved(entries[hole].name, hole);
        hole = least;
    }
    entries[hole] = entry;
    moved(entry.name, hole);
    hole
}

/// Puts entries in any order into heap order.
fn build<N: Copy>(entries: &mut [Entry<N>]) {
    if entries.len() < 2 {
        return;
    }
    let last_parent = (entries.len() - 2) / ARITY;
    for hole in (0..=last_parent).rev() {
        sift_down(entries, hole, |_, _| ());
    }
}

/// Panics unless no entry is earlier than its parent.
fn check_order<N>(entries: &[Entry<N>]) {
    for (child, entry) in entries.iter().enumerate().skip(1) {
        let parent = (child - 1) / ARITY;
        assert!(entries[parent].deadline <= entry.deadline, "entry {child} is earlier than its parent");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn entry(deadline: u64) -> Entry<u64> {
        Entry { deadline: Tick::new(deadline), name: deadline }
    }

    #[test]
    fn building_orders_any_input() {
        for length in 0..40_u64 {
            let mut entries: Vec<_> = (0..length).map(|i| entry(i * 7 % 11)).rev().collect();
            build(&mut entries);
            check_order(&entries);
            assert_eq!(entries.len() as u64, length);
        }
    }

    #[test]
    fn sifting_reports_every_entry_that_moved() {
        let mut entries: Vec<_> = (10..40).map(entry).collect();
        entries.push(entry(1));
        let mut moves = Vec::new();
        let last = entries.len() - 1;
        let place = sift_up(&mut entries, last, |name, place| moves.push((name, place)));
        assert_eq!(place, 0);
        assert!(moves.iter().all(|&(name, place)| entries[place] == entry(name)));
        assert_eq!(moves.last(), Some(&(1, 0)));
    }
}
