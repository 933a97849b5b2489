//! W4: a thousand timers uniform over thirty days, fired from wakeup to wakeup.
//!
//! A program that is mostly asleep: what counts is how often it wakes for nothing. Figures: `fire_ns`,
//! `wakeups_per_fire`.
//!
//! Cost: some microseconds, so the whole is repeated ten times one after the other in one structure, each
//! time later by thirty days.
//!
//! It does not sleep: a wakeup is a step of the subject, to the time that it asks for.

use crate::api::{Due, QueueSubject};
use crate::case::{Case, Failure, Figure, Measurement, ensure};
use crate::random::Random;
use crate::stopwatch::OwnTime;

/// Thirty days in ticks of a millisecond.
pub const PERIOD: u64 = 30 * 86_400_000;

/// How often the whole is repeated: one time over takes less than what a clock read or a page fault would add
/// to it.
pub const REPEAT_COUNT: u64 = 10;

/// A structure that wakes more often per timer than this is not measured to the end, which would take
/// minutes.
const WAKEUPS_PER_FIRE_MAX: u64 = 10_000;

/// Measures W4.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure<S: QueueSubject>(case: &Case, mut subject: S) -> Measurement {
    let mut random = Random::new(case.seed);
    let mut walk = Walk::default();
    for _ in 0..REPEAT_COUNT {
        let mut keys = Vec::with_capacity(case.size as usize);
        for _ in 0..case.size {
            let deadline = walk.now + 1 + random.below(PERIOD);
            keys.push(subject.schedule(deadline, deadline)?);
        }
        let stopwatch = OwnTime::start();
        walk.fire_all(&mut subject, case.size * REPEAT_COUNT * WAKEUPS_PER_FIRE_MAX)?;
        walk.ns += stopwatch.ns() - subject.take_handover_ns();
        for key in keys {
            subject.release(key);
        }
    }
    let fired_count = walk.fired_count;
    ensure(fired_count == case.size * REPEAT_COUNT, || {
        format!("{fired_count} timers fired instead of {}", case.size * REPEAT_COUNT)
    })?;
    Ok(vec![
        Figure::new("fire_ns", walk.ns / fired_count as f64),
        Figure::new("wakeups_per_fire", walk.wakeup_count as f64 / fired_count as f64),
    ])
}

/// How far the program has come.
#[derive(Default)]
struct Walk {
    now: u64,
    fired_count: u64,
    wakeup_count: u64,
    ns: f64,
}

impl Walk {
    fn fire_all<S: QueueSubject>(&mut self, subject: &mut S, wakeup_count_max: u64) -> Result<(), Failure> {
        while subject.pending_count() > 0 {
            if wakeup_count_max < self.wakeup_count {
                return Err(Failure::Unable(format!(
                    "it wakes more than {WAKEUPS_PER_FIRE_MAX} times per timer"
                )));
            }
            let mut due = Due::default();
            let Some(step) = subject.step(&mut due) else { break };
            debug_assert!(self.now <= step.now, "the clock does not go back");
            self.now = step.now;
            self.wakeup_count += step.wakeup_count;
            self.fired_count += due.count;
            ensure(due.payload_max <= step.now, || {
                format!("a timer for {} fired at {}", due.payload_max, step.now)
            })?;
        }
        Ok(())
    }
}
