//! Each structure passes the public suite, in the shapes that people use and in awkward ones.

use mainspring_queue::contract::exercise;
use mainspring_queue::wheel::{Bitmap, Cascading, Chunked, Hierarchical, Overflow, Rounds, Simple};
use mainspring_queue::{LimitedQueue, Naive, RedBlackTree, SkipList, Tick, TimerQueue, heap};

#[test]
fn the_oracle_keeps_its_own_contract() {
    exercise(Naive::new);
}

#[test]
fn the_quaternary_heap_keeps_the_contract() {
    exercise(heap::Quaternary::new);
}

#[test]
fn the_lazy_heap_keeps_the_contract() {
    exercise(heap::Lazy::new);
}

#[test]
fn the_red_black_tree_keeps_the_contract() {
    exercise(RedBlackTree::new);
}

#[test]
fn the_skip_list_keeps_the_contract_with_any_seed() {
    exercise(SkipList::new);
    exercise(|| SkipList::with_seed(1));
}

#[test]
fn the_simple_wheel_keeps_the_contract_within_any_horizon() {
    exercise(|| Simple::new(4_096));
    exercise(|| Simple::new(7));
    exercise(|| Simple::new(1));
}

#[test]
fn the_rounds_wheel_keeps_the_contract_with_any_ring_and_tick() {
    exercise(|| Rounds::new(512, 1));
    exercise(|| Rounds::new(60, 100));
    exercise(|| Rounds::new(5, 7));
    exercise(|| Rounds::new(1, 1));
}

#[test]
fn the_hierarchical_wheel_keeps_the_contract_with_any_levels() {
    exercise(|| Hierarchical::new(&[60, 60, 24]));
    exercise(|| Hierarchical::new(&[256, 64, 64, 64, 64]));
    exercise(|| Hierarchical::new(&[2]));
    exercise(|| Hierarchical::new(&[3, 5, 2, 7]));
}

#[test]
fn the_overflow_wheel_keeps_the_contract_with_any_ring_and_tick() {
    exercise(|| Overflow::new(20, 1));
    exercise(|| Overflow::new(2, 1));
    exercise(|| Overflow::new(64, 10));
    exercise(|| Overflow::new(3, 7));
}

#[test]
fn the_cascading_wheel_keeps_the_contract() {
    exercise(Cascading::new);
}

#[test]
fn a_limited_queue_keeps_the_contract_below_its_limit() {
    exercise(|| LimitedQueue::new(Bitmap::new(), usize::MAX));
}

#[test]
fn the_bitmapped_wheel_keeps_the_contract() {
    exercise(Bitmap::new);
}

#[test]
fn the_chunked_wheel_keeps_the_contract() {
    exercise(Chunked::new);
}

#[test]
fn every_structure_lends_payloads_until_they_are_handed_out() {
    fn trial(mut queue: impl TimerQueue<u32>) {
        let ids = [5, 9, 9].map(|deadline| queue.schedule(Tick::new(deadline), 0).unwrap());
        for (id, payload) in ids.into_iter().zip(1..) {
            *queue.payload_mut(id).unwrap() = payload;
        }
        assert_eq!(queue.cancel(ids[1]), Some(2));
        assert_eq!(queue.payload_mut(ids[1]), None);
        queue.advance(Tick::new(20));
        *queue.payload_mut(ids[0]).expect("expired is still pending") = 10;
        let popped: Vec<u32> =
            std::iter::from_fn(|| queue.pop_expired()).map(|timer| timer.payload).collect();
        assert_eq!(popped, [10, 3]);
        assert!(ids.into_iter().all(|id| queue.payload_mut(id).is_none()));
    }
    trial(Naive::new());
    trial(heap::Quaternary::new());
    trial(heap::Lazy::new());
    trial(RedBlackTree::new());
    trial(SkipList::new());
    trial(Simple::new(60));
    trial(Bitmap::new());
    trial(Chunked::new());
    trial(LimitedQueue::new(Overflow::new(20, 1), 3));
}
