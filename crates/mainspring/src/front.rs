//! How a program meets the timers.
//!
//! | front | a timer is | for |
//! |---|---|---|
//! | [`callback`] | a closure | doing something later, or again and again |
//!
//! Fronts know a [`Handle`](crate::Handle) and nothing of queues and drivers.

pub mod callback;

pub use callback::Callbacks;
