//! Each structure passes the public suite, in the shapes that people use and in awkward ones.

use mainspring_queue::contract::exercise;
use mainspring_queue::{Naive, RedBlackTree, SkipList, heap};

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
