//! W1, W1b and W2 of engines: the same steps by the real clock, on one thread of the program.
//!
//! ```text
//!   W1    delays uniform in 1 ms ..= 60 s; the cancelled one is chosen at random, and may have fired
//!   W1b   one fixed delay of 30 s, the oldest is cancelled
//!   W2    a random timer is moved to 30 s from now
//! ```
//!
//! What a program calls has a clock: reading it is part of the figure, and so is the subject's own thread,
//! which fires what becomes due meanwhile on another core. Figures: `pair_ns` or `reset_ns`, and
//! `pair_cpu_ns` or `reset_cpu_ns`, the CPU time of the whole process by step.
//!
//! Cost: as by virtual time: up to two million steps before the watch starts, two million timed.
//!
//! It does not check that nothing is early: W6 does. It checks that each timer was cancelled or has fired.

use std::time::Duration;

use super::usage::cpu_seconds;
use crate::api::EngineSubject;
use crate::case::{Case, Failure, Figure, Measurement, RESET_DELAY, SPREAD, ensure};
use crate::random::Random;
use crate::recorder::{Recorder, UNTIMED};
use crate::stopwatch::{self, OwnTime};
use crate::workload::pace::{churn_step_count, warm_up_step_count};

/// How long the last firing may be on its way in the end.
const SETTLE: Duration = Duration::from_millis(200);

/// The fixed delay of W1b and W2.
const FIXED_DELAY: Duration = Duration::from_millis(RESET_DELAY);

/// Which timer makes place for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// Any of them, at random.
    Random,
    /// The oldest.
    Oldest,
}

/// W1 and W1b.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure_churn<S: EngineSubject>(
    case: &Case,
    subject: &S,
    recorder: &Recorder,
    victim: Victim,
) -> Measurement {
    let _entered = subject.enter();
    let mut crowd = Crowd::fill(case, subject, |random| match victim {
        Victim::Random => random_delay(random),
        Victim::Oldest => FIXED_DELAY,
    })?;
    crowd.churn(warm_up_step_count(case.size), victim)?;
    let step_count = churn_step_count(case.size);
    let (ns, cpu_ns) = timed(step_count, || crowd.churn(step_count, victim))?;
    crowd.check(recorder)?;
    Ok(vec![Figure::new("pair_ns", ns), Figure::new("pair_cpu_ns", cpu_ns)])
}

/// W2.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure_reset<S: EngineSubject>(case: &Case, subject: &S, recorder: &Recorder) -> Measurement {
    let _entered = subject.enter();
    let mut crowd = Crowd::fill(case, subject, |_| FIXED_DELAY)?;
    crowd.reset(warm_up_step_count(case.size))?;
    let step_count = churn_step_count(case.size);
    let (ns, cpu_ns) = timed(step_count, || crowd.reset(step_count))?;
    let fired_count = subject.fired_count(recorder);
    ensure(fired_count == 0, || format!("{fired_count} timers fired that had been moved"))?;
    crowd.check(recorder)?;
    Ok(vec![Figure::new("reset_ns", ns), Figure::new("reset_cpu_ns", cpu_ns)])
}

fn random_delay(random: &mut Random) -> Duration {
    Duration::from_millis(1 + random.below(SPREAD))
}

/// What some steps take, by step: time, and CPU time of the process.
fn timed(step_count: u64, work: impl FnOnce() -> Result<(), Failure>) -> Result<(f64, f64), Failure> {
    let cpu_before = cpu_seconds()?;
    let stopwatch = OwnTime::start();
    work()?;
    let ns = stopwatch.ns_per(step_count);
    Ok((ns, (cpu_seconds()? - cpu_before) * 1e9 / step_count as f64))
}

/// The timers of one thread.
struct Crowd<'a, S: EngineSubject> {
    subject: &'a S,
    random: Random,
    live: Vec<Option<S::Key>>,
    oldest: usize,
    scheduled_count: u64,
    cancelled_count: u64,
}

impl<'a, S: EngineSubject> Crowd<'a, S> {
    fn fill(
        case: &Case,
        subject: &'a S,
        delay: impl Fn(&mut Random) -> Duration,
    ) -> Result<Crowd<'a, S>, Failure> {
        let mut crowd = Crowd {
            subject,
            random: Random::new(case.seed),
            live: Vec::with_capacity(case.size as usize),
            oldest: 0,
            scheduled_count: case.size,
            cancelled_count: 0,
        };
        for _ in 0..case.size {
            let delay = delay(&mut crowd.random);
            let key = subject.schedule(delay, UNTIMED)?;
            crowd.live.push(Some(key));
        }
        Ok(crowd)
    }

    fn churn(&mut self, step_count: u64, victim: Victim) -> Result<(), Failure> {
        let size = self.live.len();
        for _ in 0..step_count {
            let (delay, place) = match victim {
                Victim::Random => (random_delay(&mut self.random), self.random.below(size as u64) as usize),
                Victim::Oldest => (FIXED_DELAY, self.oldest),
            };
            let key = self.subject.schedule(delay, UNTIMED)?;
            if let Some(old) = self.live[place].replace(key) {
                self.cancelled_count += u64::from(self.subject.cancel(old));
            }
            self.oldest = if self.oldest + 1 == size { 0 } else { self.oldest + 1 };
        }
        self.scheduled_count += step_count;
        Ok(())
    }

    fn reset(&mut self, step_count: u64) -> Result<(), Failure> {
        let size = self.live.len() as u64;
        for _ in 0..step_count {
            let place = &mut self.live[self.random.below(size) as usize];
            if let Some(key) = place.take() {
                *place = Some(self.subject.reset(key, FIXED_DELAY)?);
            }
        }
        Ok(())
    }

    /// Cancels all that is left, and checks that each timer was cancelled or has fired.
    fn check(mut self, recorder: &Recorder) -> Result<(), Failure> {
        for key in self.live.into_iter().flatten() {
            self.cancelled_count += u64::from(self.subject.cancel(key));
        }
        stopwatch::sleep_until(stopwatch::instant() + SETTLE);
        debug_assert!(self.cancelled_count <= self.scheduled_count, "a timer is cancelled once");
        let (fired, cancelled, scheduled) =
            (recorder.fired_count(), self.cancelled_count, self.scheduled_count);
        ensure(fired <= scheduled, || format!("{fired} timers fired of {scheduled}"))?;
        ensure(!S::CANCEL_TELLS || fired + cancelled == scheduled, || {
            format!("{fired} fired and {cancelled} cancelled are not {scheduled} scheduled")
        })
    }
}
