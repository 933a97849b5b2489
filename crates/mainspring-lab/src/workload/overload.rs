//! W10: eight threads do nothing but schedule, for a minute, on two cores.
//!
//! ```text
//!   thread x 8:  schedule, 1 ms .. 100 ms ahead | schedule | ..        engine: fire, fire ..
//! ```
//!
//! More is asked for than can be done. An engine may make its callers wait, or its timers: callers that wait
//! ask for less, timers that wait are late for ever. So firing must win. Figures: `lateness_s_max`, the
//! largest lateness of any timer by the deadline that its caller had in mind; `scheduled_per_s`;
//! `call_us_max`, the longest of the calls that were timed, one in a thousand.
//!
//! Cost: a minute, and as long again until all have fired.
//!
//! It does not go on when as many timers wait as the case's size: then lateness has no end, and is what it is
//! so far.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::api::EngineSubject;
use crate::case::{Case, Failure, Figure, Measurement, ensure};
use crate::random::Random;
use crate::recorder::Recorder;
use crate::stopwatch::{self, Stopwatch};

/// How long the threads schedule.
const SPAN: Duration = Duration::from_secs(60);

/// In tests, which have few timers.
const SPAN_SHORT: Duration = Duration::from_millis(100);

/// The longest delay: short, so that what waits is what is late.
const DELAY_NS_MAX: u64 = 100_000_000;

/// The shortest.
const DELAY_NS_MIN: u64 = 1_000_000;

/// How many timers a thread schedules between two looks at the clock and the others.
const CHUNK: u64 = 1_024;

/// How often it is looked how many wait.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long the last timer may take to fire when nothing is scheduled any more.
const PATIENCE: Duration = Duration::from_secs(120);

const _: () = assert!(DELAY_NS_MIN < DELAY_NS_MAX);
const _: () = assert!((DELAY_NS_MAX as u128) < PATIENCE.as_nanos(), "the last is due before it is given up");
const _: () = assert!(LOOK_EVERY.as_millis() < SPAN_SHORT.as_millis());
const _: () = assert!(SPAN_SHORT.as_millis() < SPAN.as_millis());

/// What the threads share.
#[derive(Default)]
struct Shared {
    scheduled_count: AtomicU64,
    call_ns_max: AtomicU64,
    is_over: AtomicBool,
}

/// Measures W10.
///
/// # Errors
/// The subject cannot do it, or a timer was early or lost.
pub fn measure<S: EngineSubject>(case: &Case, subject: &S, recorder: &Recorder) -> Measurement {
    if !S::HAS_CLOCK || !subject.forgets_launched() {
        return Err(Failure::Unable("its timers must be kept until they have fired, or never do".to_owned()));
    }
    let span = if case.size < 1_000_000 { SPAN_SHORT } else { SPAN };
    let shared = Shared::default();
    let stopwatch = Stopwatch::start();
    let worked = thread::scope(|scope| {
        let work = |number| {
            let shared = &shared;
            move || work(case, subject, recorder, number, shared)
        };
        let threads: Vec<_> =
            (0..u64::from(case.thread_count)).map(|number| scope.spawn(work(number))).collect();
        let end = stopwatch::instant() + span;
        while stopwatch::instant() < end && waiting_count(&shared, recorder) < case.size {
            stopwatch::sleep_until(stopwatch::instant() + LOOK_EVERY.min(span));
        }
        shared.is_over.store(true, Ordering::Relaxed);
        let join = |thread: thread::ScopedJoinHandle<'_, Result<(), Failure>>| {
            thread.join().unwrap_or_else(|_| Err(Failure::Wrong("a thread panicked".to_owned())))
        };
        threads.into_iter().try_for_each(join)
    });
    worked?;
    let seconds = stopwatch.ns() / 1e9;
    let end = stopwatch::instant() + PATIENCE;
    while 0 < waiting_count(&shared, recorder) && stopwatch::instant() < end {
        stopwatch::sleep_until(stopwatch::instant() + LOOK_EVERY);
    }
    let scheduled_count = shared.scheduled_count.load(Ordering::Relaxed);
    let fired_count = recorder.fired_count();
    ensure(fired_count == scheduled_count, || {
        format!("{fired_count} timers fired instead of {scheduled_count}")
    })?;
    ensure(recorder.early_count() == 0, || format!("{} timers fired early", recorder.early_count()))?;
    Ok(vec![
        Figure::new("lateness_s_max", recorder.lateness_ns_max() as f64 / 1e9),
        Figure::new("scheduled_per_s", scheduled_count as f64 / seconds),
        Figure::new("call_us_max", shared.call_ns_max.load(Ordering::Relaxed) as f64 / 1_000.0),
    ])
}

fn waiting_count(shared: &Shared, recorder: &Recorder) -> u64 {
    // Threads tell what they have scheduled a little later than it may have fired.
    shared.scheduled_count.load(Ordering::Relaxed).saturating_sub(recorder.fired_count())
}

fn work<S: EngineSubject>(
    case: &Case,
    subject: &S,
    recorder: &Recorder,
    number: u64,
    shared: &Shared,
) -> Result<(), Failure> {
    let _entered = subject.enter();
    let mut random = Random::new(case.seed * 1_000 + number);
    while !shared.is_over.load(Ordering::Relaxed) {
        let mut call_ns_max = 0.0_f64;
        for step in 0..CHUNK {
            let payload = recorder.now_ns() + DELAY_NS_MIN + random.below(DELAY_NS_MAX - DELAY_NS_MIN);
            let stopwatch = (step == 0).then(Stopwatch::start);
            subject.launch(recorder.at(payload), payload)?;
            call_ns_max = call_ns_max.max(stopwatch.map_or(0.0, Stopwatch::ns));
        }
        shared.scheduled_count.fetch_add(CHUNK, Ordering::Relaxed);
        shared.call_ns_max.fetch_max(call_ns_max as u64, Ordering::Relaxed);
    }
    Ok(())
}
