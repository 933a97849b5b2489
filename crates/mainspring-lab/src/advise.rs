//! Recommends a queue for a program: its trace replayed through every one.
//!
//! ```text
//!   trace --> features (what kind of timers)   \
//!         --> replay by each queue, apart      --> a table, best first --> sentences
//! ```
//!
//! All queues must fire the same timers at the same wakeups' times, or the advice is refused.
//!
//! Cost: three replays a queue, each in a process of its own.
//!
//! It does not know a rival: what is asked for is a line to change in the program, not another library.

pub mod advice;
pub mod features;
pub mod replay;

pub use advice::sentences;
pub use features::Features;
pub use replay::{Outcome, replay};
