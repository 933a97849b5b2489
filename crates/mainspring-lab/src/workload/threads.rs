//! W5: T threads each do W1 on one shared engine, by the real clock, cancelling their own timers and others'.
//!
//! ```text
//!   thread:  schedule -> [every 16th is left at a place and another's taken] -> replaces a random live one -> cancel that
//! ```
//!
//! Figures: `pairs_per_s`, of all threads together, and `pair_cpu_ns`, the CPU time of the whole process by
//! pair: that of the subject's own threads too, and hardly that of a neighbour on the machine.
//!
//! Cost: a second.
//!
//! It does not show what more cores would: more threads than cores show what a lock does whose holder is not
//! running.

use std::mem;
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::usage::cpu_seconds;
use crate::api::EngineSubject;
use crate::case::{Case, Failure, Figure, Measurement, SPREAD, ensure};
use crate::random::Random;
use crate::recorder::{Recorder, UNTIMED};
use crate::stopwatch::{self, Stopwatch};

/// How long each thread works while the watch runs: long against a wake-up or an interrupt.
const RUN_NS: f64 = 1e9;

/// How many pairs a thread makes between two looks at the watch.
const CHUNK: u64 = 1_024;

/// Pairs of each thread before the watch starts.
const WARM_UP_STEP_COUNT: u64 = 100_000;

/// One in so many timers changes hands.
const EXCHANGE_EVERY: u64 = 16;

/// Places where timers change hands: many, so that threads seldom meet at one.
const PLACE_COUNT: u64 = 64;

const _: () = assert!(EXCHANGE_EVERY < CHUNK, "timers change hands while the watch runs");

/// How long the last firing may be on its way when all threads are done.
const SETTLE: Duration = Duration::from_millis(200);

type Places<K> = Vec<Mutex<Option<K>>>;

/// Measures W5.
///
/// # Errors
/// The subject cannot do it, or answered wrongly.
pub fn measure<S: EngineSubject>(case: &Case, subject: &S, recorder: &Recorder) -> Measurement {
    let places: Places<S::Key> = (0..PLACE_COUNT).map(|_| Mutex::new(None)).collect();
    let thread_count = u64::from(case.thread_count);
    let barrier = Barrier::new(case.thread_count as usize + 1);
    let (seconds, cpu_s, tallies) = thread::scope(|scope| {
        let work = |number| {
            let (places, barrier) = (&places, &barrier);
            move || Thread::work(case, subject, number, places, barrier)
        };
        let threads: Vec<_> = (0..thread_count).map(|number| scope.spawn(work(number))).collect();
        barrier.wait();
        let (stopwatch, cpu_before) = (Stopwatch::start(), cpu_seconds());
        barrier.wait();
        let seconds = stopwatch.ns() / 1e9;
        let cpu_s = cpu_seconds().and_then(|cpu_s| Ok(cpu_s - cpu_before?));
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Tally, Failure>>| {
            thread.join().unwrap_or_else(|_| Err(Failure::Wrong("a thread panicked".to_owned())))
        };
        (seconds, cpu_s, threads.into_iter().map(join).collect::<Result<Vec<Tally>, Failure>>())
    });
    let tallies = tallies?;
    check(subject, recorder, &tallies, places)?;
    let pair_count: u64 = tallies.iter().map(|tally| tally.timed_count).sum();
    Ok(vec![
        Figure::new("pairs_per_s", pair_count as f64 / seconds),
        Figure::new("pair_cpu_ns", cpu_s? * 1e9 / pair_count as f64),
    ])
}

/// What a thread did.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    scheduled_count: u64,
    cancelled_count: u64,
    /// Pairs while the watch ran.
    timed_count: u64,
}

/// A thread at work.
struct Thread<'a, S: EngineSubject> {
    subject: &'a S,
    random: Random,
    live: Vec<S::Key>,
    places: &'a Places<S::Key>,
    tally: Tally,
}

impl<'a, S: EngineSubject> Thread<'a, S> {
    fn work(
        case: &Case,
        subject: &'a S,
        number: u64,
        places: &'a Places<S::Key>,
        barrier: &Barrier,
    ) -> Result<Tally, Failure> {
        let _entered = subject.enter();
        let mut thread = Thread {
            subject,
            random: Random::new(case.seed * 1_000 + number),
            live: Vec::with_capacity(case.size as usize),
            places,
            tally: Tally::default(),
        };
        let filled = thread.fill(case.size).and_then(|()| thread.run(WARM_UP_STEP_COUNT.min(case.size)));
        // Whatever happened, the others wait for all of us.
        barrier.wait();
        let run = filled.and_then(|()| thread.run_for_a_while(case.size));
        barrier.wait();
        run?;
        for key in mem::take(&mut thread.live) {
            thread.tally.cancelled_count += u64::from(subject.cancel(key));
        }
        Ok(thread.tally)
    }

    #[inline]
    fn schedule(&mut self) -> Result<S::Key, Failure> {
        let delay = Duration::from_millis(1 + self.random.below(SPREAD));
        self.tally.scheduled_count += 1;
        self.subject.schedule(delay, UNTIMED)
    }

    fn fill(&mut self, size: u64) -> Result<(), Failure> {
        for _ in 0..size {
            let key = self.schedule()?;
            self.live.push(key);
        }
        Ok(())
    }

    /// Works until the time is over; in tests, which have few timers, until there is enough to check.
    fn run_for_a_while(&mut self, size: u64) -> Result<(), Failure> {
        let stopwatch = Stopwatch::start();
        let count_max = if size < 1_000 { CHUNK } else { u64::MAX };
        while stopwatch.ns() < RUN_NS && self.tally.timed_count < count_max {
            self.run(CHUNK)?;
            self.tally.timed_count += CHUNK;
        }
        Ok(())
    }

    fn run(&mut self, step_count: u64) -> Result<(), Failure> {
        let size = self.live.len() as u64;
        for step in 0..step_count {
            let mut key = self.schedule()?;
            if step % EXCHANGE_EVERY == 0 {
                let place = &self.places[self.random.below(PLACE_COUNT) as usize];
                match place.lock().unwrap_or_else(PoisonError::into_inner).replace(key) {
                    Some(others) => key = others,
                    None => continue,
                }
            }
            let old = mem::replace(&mut self.live[self.random.below(size) as usize], key);
            self.tally.cancelled_count += u64::from(self.subject.cancel(old));
        }
        Ok(())
    }
}

/// Cancels what lies at the places, and checks that each timer was cancelled or fired.
fn check<S: EngineSubject>(
    subject: &S,
    recorder: &Recorder,
    tallies: &[Tally],
    places: Places<S::Key>,
) -> Result<(), Failure> {
    let _entered = subject.enter();
    let mut cancelled_count: u64 = tallies.iter().map(|tally| tally.cancelled_count).sum();
    for place in places {
        if let Some(key) = place.into_inner().unwrap_or_else(PoisonError::into_inner) {
            cancelled_count += u64::from(subject.cancel(key));
        }
    }
    stopwatch::sleep_until(stopwatch::instant() + SETTLE);
    let scheduled_count: u64 = tallies.iter().map(|tally| tally.scheduled_count).sum();
    let fired_count = recorder.fired_count();
    ensure(fired_count <= scheduled_count, || format!("{fired_count} timers fired of {scheduled_count}"))?;
    ensure(!S::CANCEL_TELLS || fired_count + cancelled_count == scheduled_count, || {
        format!("{fired_count} fired and {cancelled_count} cancelled are not {scheduled_count} scheduled")
    })
}
