//! A red-black tree over deadlines, its leftmost node cached: the timer tree of nginx.
//!
//! ```text
//!              20b                 every path from the root meets as many black nodes,
//!            /     \               no red node has a red child, and so
//!         10r       30b            the height is at most 2 log2(n + 1)
//!        /   \         \
//!     5b       20b      40r        a duplicate goes to the right of its equals
//!     ^ first
//! ```
//!
//! The nodes are the records of the arena, tied by record numbers instead of pointers.
//!
//! Cost: schedule, cancel, reset and pop O(log2 n); `next_wakeup` O(1), exact, because the leftmost node is
//! remembered (nginx walks down to it each time). Memory per timer beyond the payload: 16 (three ties and the
//! colour) + 12. Granularity: one tick. Equals fire first in, first out; a reset goes behind its equals.
//!
//! It does not balance by access, and each step down is likely a cache miss: at a million timers a wheel is
//! many times faster.
//!
//! Source: L. Guibas and R. Sedgewick, "A dichromatic framework for balanced trees" (1978); T. Cormen and
//! others, "Introduction to Algorithms", chapter 13; nginx, `ngx_event_timer.c`, for the use.

use crate::arena::{Arena, NONE};
use crate::queue::{Equals, TimerQueue};
use crate::sorted_queue::{SortedIndex, SortedQueue};
use crate::tick::Tick;

/// The red-black tree of nginx. See the [module](self).
///
/// ```
/// use mainspring_queue::{Tick, TimerQueue, RedBlackTree};
///
/// let mut queue = RedBlackTree::new();
/// queue.schedule(Tick::new(300), "later")?;
/// queue.schedule(Tick::new(100), "first")?;
/// queue.advance(Tick::new(200));
/// assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
/// # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RedBlackTree<T>(SortedQueue<Tree, T>);

impl<T> RedBlackTree<T> {
    /// Makes an empty tree at tick 0. Allocates nothing.
    pub const fn new() -> RedBlackTree<T> {
        RedBlackTree(SortedQueue::over(Tree { root: NONE, first: NONE }))
    }
}

impl<T> Default for RedBlackTree<T> {
    fn default() -> RedBlackTree<T> {
        RedBlackTree::new()
    }
}

impl<T> TimerQueue<T> for RedBlackTree<T> {
    crate::forward!(queue => queue.0);
}

/// The tree itself: its root and its leftmost node.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    root: u32,
    first: u32,
}

/// A node's ties.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    parent: u32,
    /// The left and the right child.
    children: [u32; 2],
    is_red: bool,
}

impl Default for Node {
    fn default() -> Node {
        Node { parent: NONE, children: [NONE; 2], is_red: true }
    }
}

/// Which child; the other side is `1 - side`.
type Side = usize;
const LEFT: Side = 0;
const RIGHT: Side = 1;

/// The arena as this tree sees it.
type Nodes<T> = Arena<Node, T>;

fn child<T>(nodes: &Nodes<T>, index: u32, side: Side) -> u32 {
    nodes.at(index).link.children[side]
}

fn parent<T>(nodes: &Nodes<T>, index: u32) -> u32 {
    nodes.at(index).link.parent
}

fn is_red<T>(nodes: &Nodes<T>, index: u32) -> bool {
    index != NONE && nodes.at(index).link.is_red
}

fn paint_red<T>(nodes: &mut Nodes<T>, index: u32) {
    nodes.at_mut(index).link.is_red = true;
}

fn paint_black<T>(nodes: &mut Nodes<T>, index: u32) {
    nodes.at_mut(index).link.is_red = false;
}

/// On which side of its parent `index` hangs.
fn side_of<T>(nodes: &Nodes<T>, parent: u32, index: u32) -> Side {
    if child(nodes, parent, LEFT) == index { LEFT } else { RIGHT }
}

/// The outermost node on one side of the subtree at `index`.
fn outermost<T>(nodes: &Nodes<T>, mut index: u32, side: Side) -> u32 {
    while child(nodes, index, side) != NONE {
        index = child(nodes, index, side);
    }
    index
}

impl Tree {
    /// Hangs `new` where `old` hangs; `new` may be [`NONE`].
    fn replace<T>(&mut self, nodes: &mut Nodes<T>, old: u32, new: u32) {
        let above = parent(nodes, old);
        if above == NONE {
            self.root = new;
        } else {
            let side = side_of(nodes, above, old);
            nodes.at_mut(above).link.children[side] = new;
        }
        if new != NONE {
            nodes.at_mut(new).link.parent = above;
        }
    }

    /// Turns the edge from `index` to its child on the other side, so that `index` sinks towards `side`.
    fn rotate<T>(&mut self, nodes: &mut Nodes<T>, index: u32, side: Side) {
        let riser = child(nodes, index, 1 - side);
        let between = child(nodes, riser, side);
        self.replace(nodes, index, riser);
        nodes.at_mut(riser).link.children[side] = index;
        let sinker = &mut nodes.at_mut(index).link;
        sinker.parent = riser;
        sinker.children[1 - side] = between;
        if between != NONE {
            nodes.at_mut(between).link.parent = index;
        }
    }

    /// Mends "a red node has a red child", starting at the new red node.
    fn mend_red<T>(&mut self, nodes: &mut Nodes<T>, mut index: u32) {
        while is_red(nodes, parent(nodes, index)) {
            let mut above = parent(nodes, index);
            let grandparent = parent(nodes, above);
            let side = side_of(nodes, grandparent, above);
            let uncle = child(nodes, grandparent, 1 - side);
            if is_red(nodes, uncle) {
                paint_black(nodes, above);
                paint_black(nodes, uncle);
                paint_red(nodes, grandparent);
                index = grandparent;
                continue;
            }
            if index == child(nodes, above, 1 - side) {
                self.rotate(nodes, above, side);
                above = index;
            }
            paint_black(nodes, above);
            paint_red(nodes, grandparent);
            self.rotate(nodes, grandparent, 1 - side);
            break;
        }
        paint_black(nodes, self.root);
    }

    /// Mends "the paths through `index`, a child of `above` on `side`, lack a black node". `index` may be
    /// [`NONE`].
    fn mend_black<T>(&mut self, nodes: &mut Nodes<T>, mut index: u32, mut above: u32) {
        while above != NONE && !is_red(nodes, index) {
            let side = side_of(nodes, above, index);
            let mut sibling = child(nodes, above, 1 - side);
            assert_ne!(sibling, NONE, "the side that lacks no black node holds one");
            if is_red(nodes, sibling) {
                paint_black(nodes, sibling);
                paint_red(nodes, above);
                self.rotate(nodes, above, side);
                sibling = child(nodes, above, 1 - side);
            }
            let near = child(nodes, sibling, side);
            let far = child(nodes, sibling, 1 - side);
            if !is_red(nodes, near) && !is_red(nodes, far) {
                paint_red(nodes, sibling);
                index = above;
                above = parent(nodes, index);
                continue;
            }
            if !is_red(nodes, far) {
                paint_black(nodes, near);
                paint_red(nodes, sibling);
                self.rotate(nodes, sibling, 1 - side);
                sibling = near;
            }
            nodes.at_mut(sibling).link.is_red = is_red(nodes, above);
            paint_black(nodes, above);
            let far = child(nodes, sibling, 1 - side);
            paint_black(nodes, far);
            self.rotate(nodes, above, side);
            return;
        }
        if index != NONE {
            paint_black(nodes, index);
        }
    }

    /// The next node in order, for a node that is leftmost.
    fn after_first<T>(nodes: &Nodes<T>, first: u32) -> u32 {
        match child(nodes, first, RIGHT) {
            NONE => parent(nodes, first),
            right => outermost(nodes, right, LEFT),
        }
    }
}

impl SortedIndex for Tree {
    type Link = Node;
    const EQUALS: Equals = Equals::Fifo;

    fn insert<T>(&mut self, nodes: &mut Nodes<T>, index: u32) {
        let deadline = nodes.at(index).deadline;
        let (mut above, mut side, mut below) = (NONE, LEFT, self.root);
        let mut is_first = true;
        while below != NONE {
            above = below;
            side = if deadline < nodes.at(below).deadline { LEFT } else { RIGHT };
            is_first &= side == LEFT;
            below = child(nodes, below, side);
        }
        nodes.at_mut(index).link = Node { parent: above, ..Node::default() };
        if above == NONE {
            self.root = index;
        } else {
            nodes.at_mut(above).link.children[side] = index;
        }
        if is_first {
            self.first = index;
        }
        self.mend_red(nodes, index);
    }

    fn remove<T>(&mut self, nodes: &mut Nodes<T>, index: u32) {
        if index == self.first {
            self.first = Tree::after_first(nodes, index);
        }
        let [left, right] = nodes.at(index).link.children;
        let lost_red;
        // The subtree that moved up by one, and the node that it now hangs below.
        let (moved, above);
        if left == NONE || right == NONE {
            moved = if left == NONE { right } else { left };
            above = parent(nodes, index);
            lost_red = is_red(nodes, index);
            self.replace(nodes, index, moved);
        } else {
            let successor = outermost(nodes, right, LEFT);
            lost_red = is_red(nodes, successor);
            moved = child(nodes, successor, RIGHT);
            if successor == right {
                above = successor;
            } else {
                above = parent(nodes, successor);
                self.replace(nodes, successor, moved);
                nodes.at_mut(successor).link.children[RIGHT] = right;
                nodes.at_mut(right).link.parent = successor;
            }
            self.replace(nodes, index, successor);
            let heir_is_red = is_red(nodes, index);
            let heir = &mut nodes.at_mut(successor).link;
            heir.children[LEFT] = left;
            heir.is_red = heir_is_red;
            nodes.at_mut(left).link.parent = successor;
        }
        if !lost_red {
            self.mend_black(nodes, moved, above);
        }
    }

    fn first<T>(&self, nodes: &Nodes<T>) -> Option<(Tick, u32)> {
        (self.first != NONE).then(|| (nodes.at(self.first).deadline, self.first))
    }

    fn check<T>(&self, nodes: &Nodes<T>) {
        if self.root == NONE {
            assert_eq!(self.first, NONE, "an empty tree has no first node");
            assert_eq!(nodes.len(), 0, "each live record is in the tree");
            return;
        }
        assert_eq!(parent(nodes, self.root), NONE, "the root hangs below nothing");
        assert!(!is_red(nodes, self.root), "the root is black");
        assert_eq!(self.first, outermost(nodes, self.root, LEFT), "the first node is the leftmost");
        let (node_count, _) = check_subtree(nodes, self.root, Tick::ZERO, Tick::MAX);
        assert_eq!(node_count, nodes.len(), "each live record is in the tree");
    }
}

/// Checks the subtree at `index`, whose deadlines must lie in `low..=high`; returns its size and its black
/// height. The recursion is as deep as the tree is high: at most 64 levels.
fn check_subtree<T>(nodes: &Nodes<T>, index: u32, low: Tick, high: Tick) -> (usize, usize) {
    if index == NONE {
        return (0, 0);
    }
    let record = nodes.at(index);
    assert!(low <= record.deadline, "a node is not earlier than those to its left");
    assert!(record.deadline <= high, "a node is not later than those to its right");
    for side in [LEFT, RIGHT] {
        let below = child(nodes, index, side);
        if below != NONE {
            assert_eq!(parent(nodes, below), index, "a child knows its parent");
            assert!(!(record.link.is_red && is_red(nodes, below)), "a red node has black children");
        }
    }
    let [left, right] = record.link.children;
    let (left_count, left_height) = check_subtree(nodes, left, low, record.deadline);
    let (right_count, right_height) = check_subtree(nodes, right, record.deadline, high);
    assert_eq!(left_height, right_height, "all paths have as many black nodes");
    (left_count + right_count + 1, left_height + usize::from(!record.link.is_red))
}
