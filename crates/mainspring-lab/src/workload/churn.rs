//! W1 and W1b: N timers live; a step schedules one and cancels a live one.
//!
//! ```text
//!   W1    delays uniform in 1 ms ..= 60 s, the cancelled one chosen at random
//!   W1b   one fixed delay of 30 s, the oldest is cancelled: a request's timeout that is answered
//! ```
//!
//! The clock stands: what is measured is the pair. Figure: `pair_ns`.
//!
//! Cost: up to two million pairs before the watch starts, two million timed.
//!
//! It does not fire anything until the watch has stopped; then everything that is left, for the check.

use std::mem;

use super::{RESET_DELAY, SPREAD, churn_step_count, drain_by_deadline, warm_up_step_count};
use crate::case::{Case, Failure, Figure, Measured, ensure};
use crate::random::Random;
use crate::stopwatch::Stopwatch;
use crate::subject::QueueSubject;

/// W1.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure_random<S: QueueSubject>(case: &Case, subject: S) -> Measured {
    measure(case, subject, |random| 1 + random.below(SPREAD), |random, size, _| random.below(size))
}

/// W1b.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure_oldest<S: QueueSubject>(case: &Case, subject: S) -> Measured {
    measure(case, subject, |_| RESET_DELAY, |_, size, step| step % size)
}

/// A subject under churn.
pub struct Churn<S: QueueSubject> {
    /// The subject.
    pub subject: S,
    /// The keys of all live timers.
    pub live: Vec<S::Key>,
    /// Where the random numbers stand.
    pub random: Random,
    /// How many were cancelled.
    pub cancelled_count: u64,
}

impl<S: QueueSubject> Churn<S> {
    /// Schedules a case's timers.
    ///
    /// # Errors
    /// The subject cannot hold one.
    pub fn fill(case: &Case, subject: S, deadline: impl Fn(&mut Random) -> u64) -> Result<Churn<S>, Failure> {
        let live = Vec::with_capacity(case.size as usize);
        let mut churn = Churn { subject, live, random: Random::new(case.seed), cancelled_count: 0 };
        for _ in 0..case.size {
            let deadline = deadline(&mut churn.random);
            churn.live.push(churn.subject.schedule(deadline, deadline)?);
        }
        Ok(churn)
    }

    /// Makes so many pairs.
    ///
    /// # Errors
    /// The subject cannot hold a timer.
    #[inline]
    pub fn run(
        &mut self,
        step_count: u64,
        deadline: impl Fn(&mut Random) -> u64,
        pick: impl Fn(&mut Random, u64, u64) -> u64,
    ) -> Result<(), Failure> {
        let size = self.live.len() as u64;
        for step in 0..step_count {
            let deadline = deadline(&mut self.random);
            let key = self.subject.schedule(deadline, deadline)?;
            let picked = pick(&mut self.random, size, step);
            let old = mem::replace(&mut self.live[picked as usize], key);
            self.cancelled_count += u64::from(self.subject.cancel(old));
        }
        Ok(())
    }
}

fn measure<S: QueueSubject>(
    case: &Case,
    subject: S,
    deadline: impl Fn(&mut Random) -> u64 + Copy,
    pick: impl Fn(&mut Random, u64, u64) -> u64 + Copy,
) -> Measured {
    let mut churn = Churn::fill(case, subject, deadline)?;
    let warm_up_count = warm_up_step_count(case.size);
    churn.run(warm_up_count, deadline, pick)?;
    let step_count = churn_step_count(case.size);
    let stopwatch = Stopwatch::start();
    churn.run(step_count, deadline, pick)?;
    let pair_ns = stopwatch.ns_per(step_count);
    check(case, churn, warm_up_count + step_count)?;
    Ok(vec![Figure::new("pair_ns", pair_ns)])
}

/// Checks that each cancel met a live timer and that all the others fire, not early, with their payloads.
fn check<S: QueueSubject>(case: &Case, mut churn: Churn<S>, pair_count: u64) -> Result<(), Failure> {
    ensure(churn.cancelled_count == pair_count, || {
        format!("of {pair_count} cancels {} found their timer", churn.cancelled_count)
    })?;
    ensure(churn.subject.pending_count() == case.size, || {
        format!("{} timers are pending instead of {}", churn.subject.pending_count(), case.size)
    })?;
    let due = drain_by_deadline(&mut churn.subject, 0, SPREAD)?;
    ensure(due.count == case.size, || format!("{} timers fired instead of {}", due.count, case.size))?;
    for key in churn.live {
        churn.subject.release(key);
    }
    Ok(())
}
