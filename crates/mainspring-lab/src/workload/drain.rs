//! W3: schedule N timers uniform over 60 s, then advance in ticks of 1 ms until all have fired.
//!
//! Figures: `insert_ns` into fresh memory; `fire_ns`, all advances together by timer; `advance_us_max`, the
//! worst single advance with what it hands out: how long the world stands still.
//!
//! Cost: 60,000 advances, each with two clock reads, which are 40 ns of some microseconds and taken off
//! again.
//!
//! It does not give anybody time off: work that a structure puts off must be done in one of the advances.

use super::usage::interruption_count_of_thread;
use crate::api::{Due, QueueSubject};
use crate::case::{Case, Failure, Figure, Measurement, SPREAD, ensure};
use crate::random::Random;
use crate::stopwatch::{OwnTime, Stopwatch};

/// Measures W3.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure<S: QueueSubject>(case: &Case, mut subject: S) -> Measurement {
    let mut random = Random::new(case.seed);
    let mut live = Vec::with_capacity(case.size as usize);
    let stopwatch = OwnTime::start();
    for _ in 0..case.size {
        let deadline = 1 + random.below(SPREAD);
        live.push(subject.schedule(deadline, deadline)?);
    }
    let insert_ns = stopwatch.ns_per(case.size);
    let mut due_counts = vec![0_u64; SPREAD as usize + 1];
    let mut random = Random::new(case.seed);
    for _ in 0..case.size {
        due_counts[1 + random.below(SPREAD) as usize] += 1;
    }
    let drained = drain(&mut subject, live, &due_counts)?;
    ensure(drained.due.count == case.size, || {
        format!("{} timers fired instead of {}", drained.due.count, case.size)
    })?;
    Ok(vec![
        Figure::new("insert_ns", insert_ns),
        Figure::new("fire_ns", drained.ns_total / case.size as f64),
        Figure::new("advance_us_max", drained.ns_max / 1_000.0),
    ])
}

struct DrainCounts {
    due: Due,
    ns_total: f64,
    ns_max: f64,
}

fn drain<S: QueueSubject>(
    subject: &mut S,
    live: Vec<S::Key>,
    due_counts: &[u64],
) -> Result<DrainCounts, Failure> {
    let clock_ns = clock_read_ns();
    let mut drained = DrainCounts { due: Due::default(), ns_total: 0.0, ns_max: 0.0 };
    let (mut expected_count, mut interruption_count) = (0, interruption_count_of_thread());
    let whole = OwnTime::start();
    let end = SPREAD + subject.granularity() - 1;
    for now in 1..=end {
        expected_count += due_counts.get(now as usize).copied().unwrap_or_default();
        drained.due.payload_max = 0;
        let stopwatch = Stopwatch::start();
        subject.advance(now, &mut drained.due);
        let ns = stopwatch.ns() - clock_ns - subject.take_handover_ns();
        drained.ns_total += ns;
        // Another thread's turn is no part of an advance.
        let was_interrupted = interruption_count != interruption_count_of_thread();
        if was_interrupted {
            interruption_count = interruption_count_of_thread();
        } else {
            drained.ns_max = drained.ns_max.max(ns);
        }
        let due = &drained.due;
        ensure(due.payload_max <= now, || format!("a timer for {} fired at {now}", due.payload_max))?;
        ensure(due.count <= expected_count, || {
            format!("{} timers fired by {now} where {expected_count} are due", due.count)
        })?;
        ensure(subject.granularity() > 1 || due.count == expected_count, || {
            format!("only {} timers fired by {now} where {expected_count} are due", due.count)
        })?;
    }
    debug_assert_eq!(expected_count, due_counts.iter().sum::<u64>(), "the clock has passed every deadline");
    drained.ns_total -= whole.kept_off_ns().min(drained.ns_total);
    let stopwatch = OwnTime::start();
    for key in live {
        subject.release(key);
    }
    drained.ns_total += stopwatch.ns();
    ensure(subject.pending_count() == 0, || {
        format!("{} timers are left after the last deadline", subject.pending_count())
    })?;
    Ok(drained)
}

/// What starting and stopping the watch itself takes: the least of some tries.
fn clock_read_ns() -> f64 {
    (0..1_000).map(|_| Stopwatch::start().ns()).fold(f64::MAX, f64::min)
}
