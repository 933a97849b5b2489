//! How a program meets the timers.
//!
//! | front | a timer is | for |
//! |---|---|---|
//! | [`callback`] | a closure | doing something later, or again and again |
//! | `calendar` (feature `calendar`) | a schedule in a time zone and a closure | cron |
//!
//! Fronts know a [`Handle`](crate::Handle) and nothing of queues and drivers.

#[cfg(feature = "calendar")]
pub mod calendar;
pub mod callback;

#[cfg(feature = "calendar")]
pub use calendar::Calendar;
pub use callback::Callbacks;
