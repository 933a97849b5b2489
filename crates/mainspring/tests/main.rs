//! The public API of the engine, tested: time is manual, or "never early" is all that is claimed of it.
#![allow(clippy::unwrap_used, reason = "these are tests, their helpers included")]

mod adapter;
mod behaviour;
mod calendar;
mod callback;
mod channel;
mod delay_queue;
mod desk;
mod discard;
mod drivers;
mod examples;
#[cfg(target_os = "linux")]
mod fork;
mod future;
mod keyed;
mod late_run;
mod mailbox;
mod outsider;
mod per_worker;
mod periods;
mod poll;
mod presets;
mod refused;
mod shutdown;
mod single;
mod slow;
mod translated;
mod unwind;
mod wishes;
