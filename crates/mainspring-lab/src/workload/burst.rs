//! W9: N timers that are all due at once.
//!
//! ```text
//!   schedule N for one moment | it comes | the first fires .. N fire
//!                                        |<---- fire_ns x N ---->|
//! ```
//!
//! A restart that makes a million connections at once, and their timeouts; a batch of jobs at midnight.
//! Figures: `fire_ns` per timer, from the first to the last; of an engine also `fire_cpu_ns`, the CPU time of
//! the process by timer, and `first_us`, how late the first was seen.
//!
//! Cost: three seconds for engines, whose clock is real.
//!
//! It does not run what a task would do: a callback counts, a waker counts, a channel takes its value.

use std::time::Duration;

use super::usage::cpu_seconds;
use crate::api::{Due, EngineSubject, QueueSubject};
use crate::case::{Case, Failure, Figure, Measurement, RESET_DELAY, ensure};
use crate::recorder::{Recorder, UNTIMED};
use crate::stopwatch::{self, OwnTime};

/// The time for scheduling a million timers: three microseconds each.
const LEAD: Duration = Duration::from_secs(3);

/// In tests, which have few timers.
const LEAD_SHORT: Duration = Duration::from_millis(100);

/// So long before the moment nothing may have fired.
const GUARD: Duration = Duration::from_millis(1);

/// How often it is looked whether all have fired.
const LOOK_EVERY: Duration = Duration::from_micros(200);

/// How long after the moment the last may fire.
const PATIENCE: Duration = Duration::from_secs(20);

const _: () = assert!(LEAD_SHORT.as_millis() < LEAD.as_millis());
const _: () = assert!(GUARD.as_millis() < LEAD_SHORT.as_millis(), "it is looked after the last is scheduled");
const _: () = assert!(LOOK_EVERY.as_micros() < PATIENCE.as_micros());

/// Measures W9 of a structure.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure_queue<S: QueueSubject>(case: &Case, mut subject: S) -> Measurement {
    let mut keys = Vec::with_capacity(case.size as usize);
    for _ in 0..case.size {
        keys.push(subject.schedule(RESET_DELAY, RESET_DELAY)?);
    }
    let mut due = Due::default();
    subject.advance(RESET_DELAY - 1, &mut due);
    ensure(due.count == 0, || format!("{} timers fired early", due.count))?;
    subject.take_handover_ns();
    let stopwatch = OwnTime::start();
    subject.advance(RESET_DELAY + subject.granularity() - 1, &mut due);
    let ns = stopwatch.ns() - subject.take_handover_ns();
    ensure(due.count == case.size, || format!("{} timers fired instead of {}", due.count, case.size))?;
    let sum = RESET_DELAY.wrapping_mul(case.size);
    ensure(due.silent_count > 0 || due.payload_sum == sum, || "payloads were mixed up".to_owned())?;
    keys.into_iter().for_each(|key| subject.release(key));
    Ok(vec![Figure::new("fire_ns", ns / case.size as f64)])
}

/// Measures W9 of an engine.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure_engine<S: EngineSubject>(case: &Case, subject: &S, recorder: &Recorder) -> Measurement {
    if !S::HAS_CLOCK {
        return Err(Failure::Unable("it has no clock".to_owned()));
    }
    let _entered = subject.enter();
    let lead = if case.size < 1_000 { LEAD_SHORT } else { LEAD };
    let moment = stopwatch::instant() + lead;
    let mut keys = Vec::with_capacity(case.size as usize);
    for _ in 0..case.size {
        let delay = stopwatch::until(moment);
        keys.push(subject.schedule(delay, UNTIMED)?);
    }
    stopwatch::sleep_until(moment - GUARD);
    let early_count = subject.fired_count(recorder);
    if moment <= stopwatch::instant() {
        return Err(Failure::Unable(format!("scheduling took it more than {lead:?}")));
    }
    ensure(early_count == 0, || format!("{early_count} timers fired early"))?;
    let cpu_before = cpu_seconds()?;
    let (mut first, mut count) = (None, 0);
    while count < case.size && stopwatch::instant() < moment + PATIENCE {
        stopwatch::sleep_until(stopwatch::instant() + LOOK_EVERY);
        count = subject.fired_count(recorder);
        if 0 < count && first.is_none() {
            first = Some((stopwatch::instant(), count));
        }
    }
    let (end, cpu_s) = (stopwatch::instant(), cpu_seconds()? - cpu_before);
    ensure(count == case.size, || format!("{count} timers fired instead of {}", case.size))?;
    let (first, first_count) = first.unwrap_or((moment, 0));
    debug_assert!(first_count <= count, "what has fired has fired");
    // In a test all have fired when it is looked for the first time.
    let (begin, rest) = if first_count < count { (first, count - first_count) } else { (moment, count) };
    drop(keys);
    Ok(vec![
        Figure::new("fire_ns", (end - begin).as_nanos() as f64 / rest as f64),
        Figure::new("fire_cpu_ns", cpu_s * 1e9 / count as f64),
        Figure::new("first_us", first.saturating_duration_since(moment).as_nanos() as f64 / 1_000.0),
    ])
}
