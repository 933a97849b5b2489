//! Every timer structure of the field behind one contract.
//!
//! A timer queue holds deadlines and payloads. Its owner says what time it is ([`TimerQueue::advance`]) and
//! takes out the timers that are due ([`TimerQueue::pop_expired`]). The crate reads no clock, starts no
//! thread and runs no callback. It allocates through `alloc` and, for large tables on Linux, from the kernel.
//! Its unsafe code is in one file, that of its tables. The crate `mainspring` puts clocks, drivers and fronts
//! on top.
//!
//! ```
//! use mainspring_queue::{Tick, TimerQueue, wheel::Chunked};
//!
//! let mut queue = Chunked::new();
//! queue.schedule(Tick::new(30), "later")?;
//! let first = queue.schedule(Tick::new(10), "first")?;
//! queue.reset(first, Tick::new(20)).expect("the timer is pending");
//!
//! queue.advance(Tick::new(25));
//! assert_eq!(queue.pop_expired().map(|timer| timer.payload), Some("first"));
//! assert_eq!(queue.pop_expired(), None);
//! assert_eq!(queue.next_wakeup(), Some(Tick::new(30)));
//! # Ok::<(), mainspring_queue::RejectedTimer<&str>>(())
//! ```
//!
//! | queue | from | schedule | cancel | fires | take it when |
//! |---|---|---|---|---|---|
//! | [`wheel::Chunked`] | Mainspring | O(1) | O(1) | O(1) | in doubt |
//! | [`heap::Quaternary`] | Go <= 1.13 | O(log n) | O(log n) | O(log n) | few timers, memory is dear |
//! | [`heap::Lazy`] | Go >= 1.14 | O(log n) | O(1) | O(log n) | most timers are cancelled or moved later |
//! | [`RedBlackTree`] | nginx | O(log n) | O(log n) | O(log n) | equals must keep their order and memory must not jump |
//! | [`SkipList`] | skip-list timers | O(log n) | O(log n) | O(1) | as the tree |
//! | [`wheel::Simple`] | Varghese & Lauck | O(1) | O(1) | O(1) | all delays are short |
//! | [`wheel::Rounds`] | Netty, "virtual levels" | O(1) | O(1) | n/ring a tick | a coarse tick is enough |
//! | [`wheel::Hierarchical`] | Varghese & Lauck | O(levels) | O(1) | O(levels) | levels must be minutes and hours |
//! | [`wheel::Overflow`] | Kafka | O(levels) | O(1) | O(levels) | time is mostly empty |
//! | [`wheel::Bitmap`] | timeout.c, tokio | O(1) | O(1) | O(1) | memory for a few timers must stay below 20 KiB |
//! | [`wheel::Cascading`] | skynet, old Linux | O(1) | O(1) | O(levels) | it ticks anyway |
//! | [`Naive`] | the oracle | O(1) | O(n) | O(n) | in tests |
//!
//! The crate is `no_std`: it needs `alloc`, and on Linux `libc` for its tables in huge pages. A program for a
//! machine without an operating system is `examples/no_std`.
//!
//! The feature `contract` (which needs `std`) makes the test suite public, so that you can test a queue of
//! your own by the same contract. The feature `serde` writes a [`Tick`] as its number.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]
// What a version 1.0 would freeze is chosen, and what a page must say is said.
#![warn(missing_debug_implementations)]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc, clippy::return_self_not_must_use)]

extern crate alloc;
#[cfg(feature = "contract")]
extern crate std;

pub mod tick;

mod budget;

pub mod queue;

mod forward;

mod arena;

mod table;

mod sorted_queue;

pub mod heap;

pub mod red_black_tree;

pub mod skip_list;

pub mod wheel;

pub mod limited_queue;

pub mod naive;

#[cfg(feature = "serde")]
mod serde;

#[cfg(feature = "contract")]
pub mod contract;

#[doc(inline)]
pub use limited_queue::LimitedQueue;
#[doc(inline)]
pub use naive::Naive;
#[doc(inline)]
pub use queue::{
    Budget, Equals, ExpiredTimer, Order, PopResult, Profile, Reason, RejectedTimer, ResetError, TimerId,
    TimerQueue,
};
#[doc(inline)]
pub use red_black_tree::RedBlackTree;
#[doc(inline)]
pub use skip_list::SkipList;
#[doc(inline)]
pub use tick::Tick;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
