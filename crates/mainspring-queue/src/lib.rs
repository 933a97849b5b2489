//! Timer queues behind one contract.
//!
//! A timer queue holds deadlines and payloads; its owner says what time it is ([`TimerQueue::advance`]) and takes out
//! what is due ([`TimerQueue::pop_expired`]). The crate reads no clock, starts no thread, runs no callback, allocates
//! through `alloc` only, and contains no unsafe code.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "contract")]
extern crate std;

pub mod tick;

pub mod queue;

mod arena;

mod sorted;

pub mod heap;

pub mod red_black_tree;

pub mod skip_list;

pub mod naive;

#[cfg(feature = "contract")]
pub mod contract;

pub use naive::Naive;
pub use queue::{Equals, Expired, Order, Profile, Reason, Rejected, ResetError, TimerId, TimerQueue};
pub use red_black_tree::RedBlackTree;
pub use skip_list::SkipList;
pub use sorted::Sorted;
pub use tick::Tick;
