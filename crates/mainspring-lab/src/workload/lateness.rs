//! W6: the real clock. 100,000 timers a second for 10 s: how late does each fire, and for how much CPU?
//!
//! ```text
//!   schedule all (3 s) | 10 s of deadlines, uniform | everything must have fired
//!                      |<------ CPU time ----->|
//! ```
//!
//! All are scheduled before the first is due, so that no producer's own wake-ups hide the engine's. Figures:
//! `p50_us`, `p99_us`, `p999_us`, `max_us`, `cpu_s`, and the quantiles of [`QUANTILES`] for the plot.
//!
//! Cost: 14 s.
//!
//! It does not wait for the hopelessly late: what has not fired some seconds after its time fails the check.

use std::time::{Duration, Instant};

use super::usage::cpu_seconds;
use crate::case::{Case, Failure, Figure, Measurement, ensure};
use crate::random::Random;
use crate::recorder::{LATENESS_NS_MAX, Recorder};
use crate::stopwatch;

/// The time for scheduling a million timers: three microseconds each.
const LEAD: Duration = Duration::from_secs(3);

/// The time in which they are due.
const SPAN: Duration = Duration::from_secs(10);

/// How long after the last deadline CPU time is still counted.
const TAIL: Duration = Duration::from_millis(100);

/// How long after that the last timer may fire.
const PATIENCE: Duration = Duration::from_secs(10);

/// The quantiles of the plot, and their figures' names.
pub const QUANTILES: [(f64, &str); 10] = [
    (0.0, "q0_us"),
    (0.1, "q10_us"),
    (0.25, "q25_us"),
    (0.5, "p50_us"),
    (0.75, "q75_us"),
    (0.9, "q90_us"),
    (0.99, "p99_us"),
    (0.999, "p999_us"),
    (0.9999, "q9999_us"),
    (1.0, "max_us"),
];

const _: () = assert!(TAIL.as_millis() < PATIENCE.as_millis());
const _: () = assert!(PATIENCE.as_nanos() < LATENESS_NS_MAX as u128, "what is waited for is told as it was");
const _: () = {
    assert!(QUANTILES[0].0 == 0.0);
    assert!(QUANTILES[QUANTILES.len() - 1].0 == 1.0);
    let mut index = 1;
    while index < QUANTILES.len() {
        assert!(QUANTILES[index - 1].0 < QUANTILES[index].0, "a curve goes from left to right");
        index += 1;
    }
};

/// Measures W6 of what launches timers: an engine, or the floor.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure(
    case: &Case,
    recorder: &Recorder,
    launch: impl Fn(Instant, u64) -> Result<(), Failure>,
) -> Measurement {
    let mut random = Random::new(case.seed);
    let (lead_ns, span_ns) = (LEAD.as_nanos() as u64, SPAN.as_nanos() as u64);
    for _ in 0..case.size {
        let payload = lead_ns + random.below(span_ns);
        launch(recorder.at(payload), payload)?;
    }
    let begin = recorder.at(lead_ns);
    if begin <= stopwatch::instant() {
        return Err(Failure::Unable(format!("scheduling took it more than {LEAD:?}")));
    }
    stopwatch::sleep_until(begin);
    let cpu_before = cpu_seconds()?;
    stopwatch::sleep_until(begin + SPAN + TAIL);
    let cpu_s = cpu_seconds()? - cpu_before;
    let end = begin + SPAN + PATIENCE;
    while recorder.fired_count() < case.size && stopwatch::instant() < end {
        stopwatch::sleep_until(stopwatch::instant() + TAIL);
    }
    ensure(recorder.fired_count() == case.size, || {
        format!("{} timers fired instead of {}", recorder.fired_count(), case.size)
    })?;
    ensure(recorder.early_count() == 0, || format!("{} timers fired early", recorder.early_count()))?;
    let histogram = recorder.lateness_ns();
    let us = |quantile| histogram.value_at_quantile(quantile) as f64 / 1_000.0;
    let mut figures: Vec<Figure> =
        QUANTILES.iter().map(|&(quantile, name)| Figure::new(name, us(quantile))).collect();
    figures.push(Figure::new("cpu_s", cpu_s));
    Ok(figures)
}
