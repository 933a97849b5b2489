//! Timers in a program without an operating system: this is compiled with `no_std`, so that nothing in it or
//! below it needs more than `alloc`.
//!
//! ```text
//!  a hardware timer's interrupt ──▶ Pulse::tick ──▶ the deeds that are due, to the main loop
//! ```
//!
//! It is a library, because a program without std brings a start, an allocator and a panic handler of its own
//! machine. The tests of the crate run its parts.
#![no_std]

extern crate alloc;

pub mod pulse;
