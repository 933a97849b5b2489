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
//! It does not fire anything until the watch has stopped; then, for the check, everything that is left, or of
//! more than a million a sixteenth.

use std::mem;

use crate::api::QueueSubject;
use crate::case::{Case, Failure, Figure, Measurement, RESET_DELAY, SIZE_FULL, SPREAD, ensure};
use crate::random::Random;
use crate::stopwatch::OwnTime;
use crate::workload::check::check_pending;
use crate::workload::pace::{churn_step_count, warm_up_step_count};

/// W1.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure_random<S: QueueSubject>(case: &Case, subject: S) -> Measurement {
    measure(case, subject, |random| 1 + random.below(SPREAD), |random, size, _| random.below(size))
}

/// W1b.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure_oldest<S: QueueSubject>(case: &Case, subject: S) -> Measurement {
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
            debug_assert!(picked < size, "one of those that live gives way");
            let old = mem::replace(&mut self.live[picked as usize], key);
            self.cancelled_count += u64::from(self.subject.cancel(old));
        }
        Ok(())
    }

    /// Checks that each cancel met a live timer and that the others fire, not early, and then releases all.
    /// `deadlines` are those of the live ones.
    ///
    /// # Errors
    /// It is not so.
    pub fn check(
        mut self,
        case: &Case,
        pair_count: u64,
        deadlines: impl FnOnce() -> Vec<u64>,
    ) -> Result<(), Failure> {
        ensure(self.cancelled_count == pair_count, || {
            format!("of {pair_count} cancels {} found their timer", self.cancelled_count)
        })?;
        ensure(self.subject.pending_count() == case.size, || {
            format!("{} timers are pending instead of {}", self.subject.pending_count(), case.size)
        })?;
        check_pending(&mut self.subject, deadlines, case.size)?;
        if case.size > SIZE_FULL {
            // Tidying up would take as long as the measurement, and the process ends here.
            mem::forget(self);
            return Ok(());
        }
        for key in self.live {
            self.subject.release(key);
        }
        Ok(())
    }
}

fn measure<S: QueueSubject>(
    case: &Case,
    subject: S,
    deadline: impl Fn(&mut Random) -> u64 + Copy,
    pick: impl Fn(&mut Random, u64, u64) -> u64 + Copy,
) -> Measurement {
    let mut churn = Churn::fill(case, subject, deadline)?;
    let warm_up_count = warm_up_step_count(case.size);
    churn.run(warm_up_count, deadline, pick)?;
    let step_count = churn_step_count(case.size);
    let stopwatch = OwnTime::start();
    churn.run(step_count, deadline, pick)?;
    let pair_ns = stopwatch.ns_per(step_count);
    let pair_count = warm_up_count + step_count;
    churn.check(case, pair_count, || deadlines(case, pair_count, deadline, pick))?;
    Ok(vec![Figure::new("pair_ns", pair_ns)])
}

/// Draws the same numbers again: the deadlines of the timers that are live in the end.
pub fn deadlines(
    case: &Case,
    pair_count: u64,
    deadline: impl Fn(&mut Random) -> u64,
    pick: impl Fn(&mut Random, u64, u64) -> u64,
) -> Vec<u64> {
    let mut random = Random::new(case.seed);
    let mut live: Vec<u64> = (0..case.size).map(|_| deadline(&mut random)).collect();
    // A change of pace does not change the numbers, but where the oldest is taken, steps are counted again.
    let warm_up_count = warm_up_step_count(case.size).min(pair_count);
    for step in (0..warm_up_count).chain(0..pair_count - warm_up_count) {
        let drawn = deadline(&mut random);
        live[pick(&mut random, case.size, step) as usize] = drawn;
    }
    live
}
