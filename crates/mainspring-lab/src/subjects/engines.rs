//! Our own engines: one line each.
//!
//! [`subjects`] is the table: a queue, a clock and a driver that fires into the [`Recorder`].
//!
//! Cost: that of the engine. All calls go through a [`Handle`], as a program's do.
//!
//! It does not know a driver's inside. A variant for W6, precise or thrifty, is a line in the table, with a
//! clock of its own resolution or a tolerance of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mainspring::clock::{Clock, Monotonic};
use mainspring::driver::poll::{AnySource, Ready, Serve};
use mainspring::driver::{Fire, FiredTimer, PerWorker, Poll, RefusedTimer, Sharded, Striped, TimerId};
use mainspring::{Engine, Handle};
use mainspring_queue::wheel::Chunked;

use crate::api::EngineSubject;
use crate::case::Failure;
use crate::recorder::Recorder;
use crate::stopwatch::until;
use crate::subject::{Kind, Subject};

/// The engine that a user gets without reading, which the goals of W5 and W7 are set for.
pub const DEFAULT: &str = "engine-default";

/// The same by one queue behind one lock.
pub const SINGLE: &str = "engine-single";

/// Two shards, each with its lock.
pub const SHARDED: &str = "engine-sharded";

/// A queue for each worker.
pub const PER_WORKER: &str = "engine-per-worker";

/// The loop for sockets and timers.
pub const POLL: &str = "engine-poll";

/// The engine that the goal of W6 for the precise is set for.
pub const PRECISE: &str = "engine-precise-10us";

/// The engine that the goal of W6 for the thrifty is set for.
pub const THRIFTY: &str = "engine-thrifty-250us";

/// What the thrifty allow.
pub const TOLERANCE: Duration = Duration::from_micros(250);

/// A third of it: then every range has four ticks, of which one is a multiple of four, and that is where its
/// timers meet, each 333 us. With an eighth they meet each 250 us, a third more wake-ups for 50 us less of
/// lateness; with the whole of it each 500 us, which is later than the thrifty allow.
pub const THRIFTY_TICK: Duration = Duration::from_nanos(83_333);

const _: () = assert!(3 * THRIFTY_TICK.as_nanos() <= TOLERANCE.as_nanos());
const _: () = assert!(TOLERANCE.as_nanos() < 4 * THRIFTY_TICK.as_nanos(), "a range has four ticks");

/// Shards and workers: as many as the reference machine has cores.
const WORKER_COUNT: usize = 2;

/// The least timer slack that a kernel knows: sleeps end as soon as they can.
const SLACK: Duration = Duration::from_nanos(1);

/// The table of our engines.
pub fn subjects() -> Vec<Subject> {
    let coarse = Monotonic::new;
    let thrifty = || Monotonic::with_resolution(THRIFTY_TICK);
    let exact = Duration::ZERO;
    vec![
        engine(DEFAULT, "the default engine: striped, ticks of 1 ms", coarse, exact, striped),
        engine(SINGLE, "single, ticks of 1 ms", coarse, exact, single),
        engine(SHARDED, "sharded, 2 shards, ticks of 1 ms", coarse, exact, sharded),
        engine(PER_WORKER, "per worker, 2 workers, ticks of 1 ms", coarse, exact, per_worker),
        engine(POLL, "the loop for sockets and timers, ticks of 1 ms", coarse, exact, poll),
        engine(PRECISE, "striped, ticks of 10 us, a slack of 1 ns", precise_clock, exact, striped),
        engine(THRIFTY, "striped, ticks of 83.3 us, a tolerance of 250 us", thrifty, TOLERANCE, striped),
    ]
}

/// The clock of the precise.
pub fn precise_clock() -> Monotonic {
    Monotonic::with_resolution(Duration::from_micros(10)).with_slack(SLACK)
}

type Start = fn(Arc<dyn Clock>, &ToRecorder) -> std::io::Result<Engine<u64>>;

fn engine(
    name: &'static str,
    about: &'static str,
    clock: impl Fn() -> Monotonic + Send + Sync + 'static,
    tolerance: Duration,
    start: Start,
) -> Subject {
    Subject::engine(name, Kind::Ours, about, move |recorder| {
        let engine = start(Arc::new(clock()), &ToRecorder(Arc::clone(&recorder)))
            .map_err(|error| Failure::Wrong(format!("the engine did not start: {error}")))?;
        Ok(RunningEngine::new(engine, tolerance, |payload| payload))
    })
}

fn striped(clock: Arc<dyn Clock>, fire: &ToRecorder) -> std::io::Result<Engine<u64>> {
    Striped::for_cores(Chunked::new, clock).into_engine(fire.clone())
}

fn single(clock: Arc<dyn Clock>, fire: &ToRecorder) -> std::io::Result<Engine<u64>> {
    Engine::start(Chunked::new(), clock, fire.clone())
}

fn sharded(clock: Arc<dyn Clock>, fire: &ToRecorder) -> std::io::Result<Engine<u64>> {
    Ok(Engine::from_driver(Arc::new(Sharded::new(WORKER_COUNT, Chunked::new, clock, fire.clone()))))
}

fn per_worker(clock: Arc<dyn Clock>, fire: &ToRecorder) -> std::io::Result<Engine<u64>> {
    PerWorker::new(WORKER_COUNT, Chunked::new, clock).into_engine(fire)
}

fn poll(clock: Arc<dyn Clock>, fire: &ToRecorder) -> std::io::Result<Engine<u64>> {
    let driver = Arc::new(Poll::new(Chunked::new(), clock)?);
    driver.start(fire.clone())?;
    Ok(Engine::from_driver(driver))
}

/// Fires into the recorder.
#[derive(Clone, Debug)]
pub struct ToRecorder(Arc<Recorder>);

impl Fire<u64> for ToRecorder {
    fn fire(&mut self, fired: FiredTimer<u64>) {
        self.0.fired(fired.payload);
    }
}

impl Serve<u64, AnySource> for ToRecorder {
    fn ready(&mut self, _: Ready<AnySource>) {}
}

/// A running engine, whose timers have the payloads that `payload` makes of numbers.
pub struct RunningEngine<T: Send + 'static, M> {
    handle: Handle<T>,
    _engine: Engine<T>,
    payload: M,
    tolerance: Duration,
}

impl<T: Send, M: Fn(u64) -> T> RunningEngine<T, M> {
    /// Makes the subject of an engine whose timers may be late by `tolerance`.
    pub fn new(engine: Engine<T>, tolerance: Duration, payload: M) -> RunningEngine<T, M> {
        RunningEngine { handle: engine.handle().clone(), _engine: engine, payload, tolerance }
    }
}

fn unable<T>(refused: &RefusedTimer<T>) -> Failure {
    Failure::Unable(refused.reason.to_string())
}

impl<T, M> EngineSubject for RunningEngine<T, M>
where
    T: Send + 'static,
    M: Fn(u64) -> T + Send + Sync + 'static,
{
    type Key = TimerId;

    #[inline(always)]
    fn schedule(&self, delay: Duration, payload: u64) -> Result<TimerId, Failure> {
        self.handle.schedule_after(delay, (self.payload)(payload)).map_err(|refused| unable(&refused))
    }

    #[inline(always)]
    fn cancel(&self, key: TimerId) -> bool {
        self.handle.cancel(key).is_some()
    }

    fn reset(&self, key: TimerId, delay: Duration) -> Result<TimerId, Failure> {
        match self.handle.reset_after(key, delay) {
            Ok(()) => Ok(key),
            Err(error) => Err(Failure::Wrong(error.to_string())),
        }
    }

    fn launch(&self, at: Instant, payload: u64) -> Result<(), Failure> {
        if self.tolerance.is_zero() {
            return self.schedule(until(at), payload).map(drop);
        }
        let payload = (self.payload)(payload);
        self.handle
            .schedule_within(until(at), self.tolerance, payload)
            .map(drop)
            .map_err(|refused| unable(&refused))
    }
}
