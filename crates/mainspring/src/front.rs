//! How a program meets the timers.
//!
//! | front | a timer is | for |
//! |---|---|---|
//! | [`callback`] | a closure | doing something later, or again and again |
//! | `channel` (feature `channel`) | a value on a channel | threads that wait for several things: Go's API |
//! | [`future`] | a future | async programs, under any runtime |
//! | [`keyed`] | a closure under a key, with a count of repeats | tasks that are looked up, replaced and removed by name |
//! | [`mailbox`] | a message to a service | actors: skynet's way |
//! | `calendar` (feature `calendar`) | a schedule in a time zone and a closure | cron |
//! | `occurrences` (feature `calendar`) | a schedule in a time zone, as a stream | cron in async programs |
//!
//! Fronts know a [`Handle`](crate::Handle) and what a driver hands them, and nothing of queues. All share one payload, the
//! [`Task`], so they share an engine.

#[cfg(feature = "calendar")]
pub mod calendar;
pub mod callback;
#[cfg(feature = "channel")]
pub mod channel;
pub mod future;
pub mod keyed;
pub mod mailbox;
#[cfg(feature = "calendar")]
pub mod occurrences;
pub mod period;
pub mod task;
pub mod threads;

#[cfg(feature = "calendar")]
pub use calendar::Calendar;
pub use callback::Callbacks;
#[cfg(feature = "channel")]
pub use channel::Channels;
pub use future::Futures;
pub use keyed::Keyed;
pub use mailbox::Mailboxes;
#[cfg(feature = "calendar")]
pub use occurrences::Occurrences;
pub use period::PeriodError;
pub use task::{Firing, RunTasks, RunTasksOn, Task};
pub use threads::Threads;
