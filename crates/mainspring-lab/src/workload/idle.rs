//! W7 and W7b: timers wait or were cancelled, and nothing happens for 10 s.
//!
//! ```text
//!   W7    a million timers an hour away
//!   W7b   200 timeouts, one for every 50 ms that are watched, each cancelled at once; and one timer an hour away
//! ```
//!
//! Figures: `switches`, the voluntary context switches of all threads but the one that watches; `cpu_ms`, the
//! CPU time of the process.
//!
//! Cost: 12 s, asleep.
//!
//! It does not count the time in which the timers are scheduled, nor the second after.

use std::time::Duration;

use super::usage::{cpu_seconds, voluntary_switches_of_others};
use crate::api::EngineSubject;
use crate::case::{Case, Figure, Measurement};
use crate::random::Random;
use crate::recorder::UNTIMED;
use crate::stopwatch;

/// How far away all timers are, at least; they differ by up to a second.
const DELAY: Duration = Duration::from_secs(3_600);

/// The time for an engine to take note of its timers and go to sleep.
const SETTLE: Duration = Duration::from_secs(1);

/// How long it is watched.
const WATCH: Duration = Duration::from_secs(10);

const _: () = assert!(SETTLE.as_secs() + WATCH.as_secs() < DELAY.as_secs(), "none fires while it is watched");

/// What the timers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crowd {
    /// They wait.
    Waits,
    /// They were for the time that is watched, and were cancelled.
    Cancelled,
}

/// Measures W7 or W7b.
///
/// # Errors
/// The subject cannot do it.
pub fn measure<S: EngineSubject>(case: &Case, subject: &S, crowd: Crowd) -> Measurement {
    let mut random = Random::new(case.seed);
    let _entered = subject.enter();
    let mut keys = Vec::with_capacity(case.size as usize);
    let waiting_count = if crowd == Crowd::Waits { case.size } else { 1 };
    for _ in 0..waiting_count {
        let delay = DELAY + Duration::from_millis(random.below(1_000));
        keys.push(subject.schedule(delay, UNTIMED)?);
    }
    if crowd == Crowd::Cancelled {
        debug_assert!(u32::try_from(case.size).is_ok(), "a part of the time is a quotient of 32 bits");
        for number in 0..case.size as u32 {
            let delay = SETTLE + WATCH * (number + 1) / case.size as u32;
            let key = subject.schedule(delay, UNTIMED)?;
            subject.cancel(key);
        }
    }
    let begin = stopwatch::instant() + SETTLE;
    stopwatch::sleep_until(begin);
    let (switches, cpu) = (voluntary_switches_of_others()?, cpu_seconds()?);
    stopwatch::sleep_until(begin + WATCH);
    let switches = voluntary_switches_of_others()? - switches;
    let cpu_ms = (cpu_seconds()? - cpu) * 1_000.0;
    drop(keys);
    Ok(vec![Figure::new("switches", switches as f64), Figure::new("cpu_ms", cpu_ms)])
}
