//! The floor of W6: a bare loop over a sorted array that sleeps as the engines do.
//!
//! ```text
//!   sorted [ (tick, payload) (tick, payload) .. ]     loop: hand out what is due by the clock; sleep until the next tick
//! ```
//!
//! It has the same clocks as the engines beside it: their resolution, slack, tolerance and waiting are the
//! library's. So what it is late by is the machine's, and its neighbours', in the same minutes; what an
//! engine is late by beyond that is the engine's.
//!
//! Cost: the figure itself.
//!
//! It is no engine: it takes its timers before the first is due, and cannot cancel.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use mainspring::clock::{Clock, Monotonic, Notifier};
use mainspring_queue::Tick;

use super::engines::{THRIFTY_TICK, TOLERANCE, precise_clock};
use crate::case::{Case, Failure, Measurement, Workload};
use crate::recorder::Recorder;
use crate::stopwatch::until;
use crate::subject::{Kind, Subject};
use crate::workload::lateness;

/// The floor of the precise engine.
pub const PRECISE: &str = "floor-precise-10us";

/// The floor of the thrifty engine.
pub const THRIFTY: &str = "floor-thrifty-250us";

/// The subjects.
pub fn subjects() -> [Subject; 2] {
    let thrifty = || Monotonic::with_resolution(THRIFTY_TICK);
    let about = "a loop over a sorted array, ticks of 10 us, a slack of 1 ns";
    [
        floor(PRECISE, about, precise_clock, Duration::ZERO),
        floor(THRIFTY, "the same, ticks of 83.3 us, a tolerance of 250 us", thrifty, TOLERANCE),
    ]
}

fn floor(
    name: &'static str,
    about: &'static str,
    clock: impl Fn() -> Monotonic + 'static,
    tolerance: Duration,
) -> Subject {
    Subject::new(name, Kind::Floor, about, move |case| measure(case, clock(), tolerance))
}

fn measure(case: &Case, clock: Monotonic, tolerance: Duration) -> Measurement {
    if case.workload != Workload::W6 {
        return Err(Failure::Unable("the floor of the clock: it can be late, and nothing else".to_owned()));
    }
    let recorder = Arc::new(Recorder::new(case.size));
    let floor = Loop::start(Arc::clone(&recorder), Arc::new(clock), tolerance, case.size)?;
    lateness::measure(case, &recorder, |at, payload| floor.launch(at, payload))
}

/// A timer of the loop.
type Shot = (Tick, u64);

struct Loop {
    clock: Arc<Monotonic>,
    tolerance: Duration,
    shots: Sender<Shot>,
}

impl Loop {
    fn start(
        recorder: Arc<Recorder>,
        clock: Arc<Monotonic>,
        tolerance: Duration,
        size: u64,
    ) -> Result<Loop, Failure> {
        let (sender, receiver) = mpsc::channel();
        let thread_clock = Arc::clone(&clock);
        let thread = thread::Builder::new().name("floor".to_owned());
        let started = thread.spawn(move || run(&receiver, size, &thread_clock, &recorder));
        started.map_err(|error| Failure::Wrong(format!("its thread did not start: {error}")))?;
        Ok(Loop { clock, tolerance, shots: sender })
    }

    fn launch(&self, at: Instant, payload: u64) -> Result<(), Failure> {
        let earliest = self.clock.after(until(at));
        let ticks = self.tolerance.as_nanos() / self.clock.resolution().as_nanos();
        let tick = earliest.roundest_until(earliest.after(ticks as u64));
        self.shots.send((tick, payload)).map_err(|_| Failure::Wrong("the loop has ended".to_owned()))
    }
}

/// Takes all timers, sorts them, and hands each out when its tick has begun.
fn run(receiver: &Receiver<Shot>, size: u64, clock: &Monotonic, recorder: &Recorder) {
    let mut shots: Vec<Shot> = receiver.iter().take(size as usize).collect();
    shots.sort_unstable();
    let (notifier, mut shots) = (Notifier::new(), shots.into_iter().peekable());
    while let Some((next, _)) = shots.peek().copied() {
        clock.wait(&notifier, Some(next));
        let now = clock.now();
        while let Some((_, payload)) = shots.next_if(|(tick, _)| *tick <= now) {
            recorder.fired(payload);
        }
    }
}
