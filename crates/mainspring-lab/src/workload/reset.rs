//! W2: N timers live; a step moves a random one to now + 30 s; the clock moves 1 ms every 1,000 steps.
//!
//! A keep-alive: each message moves its connection's timeout. Figure: `reset_ns`, the clock's steps included.
//!
//! Cost: up to two million steps before the watch starts, two million timed.
//!
//! It does not note deadlines on the way: the check draws the same numbers again afterwards and so knows each
//! timer's.

use std::mem;

use crate::api::{Due, QueueSubject};
use crate::case::{Case, Failure, Figure, Measurement, RESET_DELAY, ensure};
use crate::random::Random;
use crate::stopwatch::OwnTime;
use crate::workload::pace::{churn_step_count, warm_up_step_count};

/// Steps of which one moves the clock.
const STEPS_PER_TICK: u64 = 1_000;

/// A subject whose timers are moved.
pub struct Resets<S: QueueSubject> {
    subject: S,
    live: Vec<Option<S::Key>>,
    random: Random,
    now: u64,
    due: Due,
}

impl<S: QueueSubject> Resets<S> {
    /// Schedules a case's timers; each one's payload is its number.
    ///
    /// # Errors
    /// The subject cannot hold one.
    pub fn fill(case: &Case, subject: S) -> Result<Resets<S>, Failure> {
        let live = Vec::with_capacity(case.size as usize);
        let random = Random::new(case.seed);
        let mut resets = Resets { subject, live, random, now: 0, due: Due::default() };
        for number in 0..case.size {
            let key = resets.subject.schedule(RESET_DELAY, number)?;
            resets.live.push(Some(key));
        }
        Ok(resets)
    }

    /// Makes so many steps.
    ///
    /// # Errors
    /// The subject lost a timer.
    #[inline]
    pub fn run(&mut self, step_count: u64) -> Result<(), Failure> {
        let size = self.live.len() as u64;
        for step in 0..step_count {
            if step % STEPS_PER_TICK == 0 {
                self.now += 1;
                self.subject.advance(self.now, &mut self.due);
            }
            let held = &mut self.live[self.random.below(size) as usize];
            if let Some(key) = mem::take(held) {
                *held = Some(self.subject.reset(key, self.now + RESET_DELAY)?);
            }
        }
        Ok(())
    }
}

/// Measures W2.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure<S: QueueSubject>(case: &Case, subject: S) -> Measurement {
    let mut resets = Resets::fill(case, subject)?;
    let step_counts = [warm_up_step_count(case.size), churn_step_count(case.size)];
    resets.run(step_counts[0])?;
    resets.subject.take_handover_ns();
    let stopwatch = OwnTime::start();
    resets.run(step_counts[1])?;
    let reset_ns = (stopwatch.ns() - resets.subject.take_handover_ns()) / step_counts[1] as f64;
    check(case, resets, step_counts)?;
    Ok(vec![Figure::new("reset_ns", reset_ns)])
}

/// Draws the same numbers again: when each timer is due, as a count per tick.
fn due_counts(case: &Case, step_counts: [u64; 2]) -> (Vec<u64>, u64) {
    let mut random = Random::new(case.seed);
    let mut deadlines = vec![RESET_DELAY; case.size as usize];
    let mut now = 0;
    for step_count in step_counts {
        for step in 0..step_count {
            now += u64::from(step % STEPS_PER_TICK == 0);
            deadlines[random.below(case.size) as usize] = now + RESET_DELAY;
        }
    }
    let mut counts = vec![0; (now + RESET_DELAY + 1) as usize];
    for deadline in deadlines {
        counts[deadline as usize] += 1;
    }
    (counts, now)
}

/// Checks that every timer fires, and that at no time more have fired than are due.
fn check<S: QueueSubject>(case: &Case, mut resets: Resets<S>, step_counts: [u64; 2]) -> Result<(), Failure> {
    ensure(resets.due.count == 0, || format!("{} timers fired that had been moved", resets.due.count))?;
    ensure(resets.subject.pending_count() == case.size, || {
        format!("{} timers are pending instead of {}", resets.subject.pending_count(), case.size)
    })?;
    let (counts, now) = due_counts(case, step_counts);
    let mut expected_count: u64 = counts[..=now as usize].iter().sum();
    let mut due = Due::default();
    for tick in now + 1..counts.len() as u64 {
        expected_count += counts[tick as usize];
        if counts[tick as usize] > 0 {
            resets.subject.advance(tick, &mut due);
            ensure(due.count <= expected_count, || {
                format!("{} timers fired by {tick} where {expected_count} are due", due.count)
            })?;
        }
    }
    debug_assert_eq!(expected_count, case.size, "each timer is due once");
    resets.subject.advance(counts.len() as u64 + resets.subject.granularity(), &mut due);
    ensure(due.count == case.size, || format!("{} timers fired instead of {}", due.count, case.size))?;
    let number_sum = (0..case.size).fold(0, u64::wrapping_add);
    ensure(due.silent_count > 0 || due.payload_sum == number_sum, || "payloads were mixed up".to_owned())?;
    for key in resets.live.into_iter().flatten() {
        resets.subject.release(key);
    }
    Ok(())
}
