//! The fronts: APIs through which a program uses timers.
//!
//! | front | a timer is | for |
//! |---|---|---|
//! | [`Callbacks`] | a closure | doing something later, or again and again |
//! | [`Futures`] | a future | async programs, under any runtime |
//! | [`Channels`] (feature `channel`) | a value on a channel | threads that wait for several things: Go's API |
//! | [`DelayQueue`] | an item under a key, which comes out | delay queues, caches |
//! | [`KeyedTasks`] | a closure under a key, with a count of repeats | tasks that are looked up, replaced and removed by name |
//! | [`Mailboxes`] | a message to a service | actors: skynet's way |
//! | [`Calendar`] (feature `calendar`) | a schedule in a time zone and a closure | cron |
//! | [`Occurrences`] (feature `calendar`) | a schedule in a time zone, as a stream | cron in async programs |
//!
//! An engine makes them: [`Engine::callbacks`](crate::Engine::callbacks) and so on. Fronts know a
//! [`Handle`](crate::Handle) and what a driver hands them, and nothing of queues. All share one payload, the
//! [`Task`], so they share an engine.
//!
//! # When it is dropped
//!
//! | dropped | then |
//! |---|---|
//! | [`Timer`], [`Periodic`], a calendar's [`Entry`] | it continues |
//! | [`Sleep`], [`Timeout`], [`Interval`]; [`ChannelTimer`], [`Ticker`], the last clone of [`Firings`] | it is cancelled |
//! | the last clone of [`KeyedTasks`], [`DelayQueue`], [`Calendar`] | all that it holds ends, its timers as well |
//! | the last clone of [`Mailboxes`] | nothing is sent any more; its timers wait until they are due |
//! | [`Callbacks`], [`Futures`], [`Channels`], a [`Handle`](crate::Handle) | nothing: they are references |
//! | the [`Engine`](crate::Engine) | nothing fires any more, and new timers are refused |
//!
//! # A front of your own
//!
//! Is whatever schedules [`Task`]s by a handle, or payloads of another type by an engine of its own: see
//! [`Engine::start`](crate::Engine::start).
//!
//! ```
//! use std::time::Duration;
//! use mainspring::{Engine, Handle, Task};
//! use mainspring::driver::{Refusal, TimerId};
//!
//! /// Unparks threads.
//! struct Alarms {
//!     handle: Handle,
//! }
//!
//! impl Alarms {
//!     fn unpark_after(&self, delay: Duration) -> Result<TimerId, Refusal> {
//!         let thread = std::thread::current();
//!         Ok(self.handle.schedule_after(delay, Task::new(move |_| thread.unpark()))?)
//!     }
//! }
//!
//! let engine = Engine::new()?;
//! let alarms = Alarms { handle: engine.handle().clone() };
//! let alarm = alarms.unpark_after(Duration::from_millis(1))?;
//! while alarms.handle.deadline(alarm).is_some() {
//!     std::thread::park();
//! }
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

#[cfg(feature = "calendar")]
pub mod calendar;
pub mod callback;
#[cfg(feature = "channel")]
pub mod channel;
pub mod delay_queue;
pub mod future;
pub mod keyed_tasks;
pub mod mailbox;
#[cfg(feature = "calendar")]
pub mod occurrences;
mod period;
pub mod task;
pub mod threads;

#[cfg(feature = "calendar")]
#[doc(inline)]
pub use calendar::{Calendar, Entry, Occurrence};
#[doc(inline)]
pub use callback::{Callbacks, Periodic, Timer};
#[cfg(feature = "channel")]
#[doc(inline)]
pub use channel::{ChannelTimer, Channels, Delay, Firings, Ticker};
#[doc(inline)]
pub use delay_queue::DelayQueue;
#[doc(inline)]
pub use future::{Elapsed, Futures, Interval, MissedTicks, Sleep, Timeout};
#[doc(inline)]
pub use keyed_tasks::{KeyedTasks, Repeat};
#[doc(inline)]
pub use mailbox::Mailboxes;
#[cfg(feature = "calendar")]
#[doc(inline)]
pub use occurrences::Occurrences;
#[doc(inline)]
pub use task::{Firing, RunTasks, RunTasksOn, Task};
#[doc(inline)]
pub use threads::Threads;
