//! The presets: the systems of the field as Mainspring makes them, each through its own engine.
//!
//! ```text
//!   W1 .. W4, W8   one thread, by the workload's clock: see `by_turns`      W5 .. W7b   the real clock
//! ```
//!
//! A figure is the preset's own when everything a program would pay is in it. So a timer here is a [`Task`],
//! a boxed closure of 16 bytes, as behind every front, and each call goes through a
//! [`Handle`](mainspring::Handle): a virtual call, the driver's lock, the queue. [`Preset::structure`] names
//! the queue alone, which is measured beside it: what lies between the two is the engine.
//!
//! | parameter | value | because |
//! |---|---|---|
//! | worker_count of `go_1_14` | 1; 2 on the real clock | Go has a worker per processor that it may use |
//! | slots of `simple_wheel` | 65,536 of 1 ms | it must hold the minute of W1 |
//! | slots of `rounds_wheel` | 512 of 1 ms | as the structure beside it |
//! | sizes of `hierarchical_wheel` | ms, s, min, h | as the structure beside it |
//! | tick and slots of `timingwheel` | 1 ms, 20 | its own example |
//! | pending_count_max of `netty` | none | its default |
//! | clock of `skynet` | ticks of 10 ms | its own; all others count milliseconds |
//!
//! `nginx_loop` is a driver for a program to run; here it runs on a thread of its own, without sockets.
//!
//! Cost: that of the engine, and an allocation per timer, on whichever thread schedules it.
//!
//! It does not use what only a front has, such as nginx's leave to keep a timer that moves by less than 300
//! ms.

pub mod by_turns;
pub mod turns;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mainspring::Engine;
use mainspring::clock::{Clock, Monotonic};
use mainspring::driver::poll::{AnySource, Ready, Serve};
use mainspring::driver::{Fire, FiredTimer};
use mainspring::front::{RunTasks, Task};
use mainspring::preset;

use super::engines::RunningEngine;
use super::queues::SIMPLE_SLOT_COUNT;
use crate::case::{Case, Failure, Measurement, Workload};
use crate::recorder::Recorder;
use crate::subject::{Kind, Subject};
use crate::workload;

use by_turns::ByTurns;
use turns::Turns;

/// Starts a preset on a clock.
type Start = fn(Arc<dyn Clock>) -> io::Result<Engine<Task>>;

/// What a preset is as a subject.
#[derive(Clone, Copy)]
pub struct Preset {
    /// Its name among the subjects.
    pub name: &'static str,
    /// The subject that is its queue alone.
    pub structure: &'static str,
    about: &'static str,
    /// By the workload's clock.
    start: Start,
    /// By the real clock.
    start_live: Start,
    resolution: Duration,
    /// How many ticks of its clock, less one, its queue may be late.
    granularity: u64,
    /// Which workloads it cannot do, and why.
    pub unable: &'static [(Workload, &'static str)],
}

const MILLISECOND: Duration = Duration::from_millis(1);

/// Workers on the real clock: as many as a measurement may use cores.
const WORKER_COUNT: usize = 2;

/// What a wheel of rounds says to thirty days.
const WAKES_EVERY_ROUND: &[(Workload, &str)] =
    &[(Workload::W4, "it wakes at every occupied slot of every round, thousands of times per timer")];

/// What a ring of 65,536 ms says to thirty days and to an hour.
const ENDS_AFTER_A_MINUTE: &[(Workload, &str)] = &[
    (Workload::W4, "its ring ends after 65 s"),
    (Workload::W7, "its ring ends after 65 s"),
    (Workload::W7b, "its ring ends after 65 s"),
];

/// The table of presets, in the library's order.
pub const PRESETS: [Preset; 14] = [
    preset("preset::go_1_9", "heap::Quaternary", "Go up to 1.9: one heap, one thread", preset::go_1_9),
    preset("preset::go_1_10", "heap::Quaternary", "Go 1.10 to 1.13: 64 heaps, a thread each", |clock| {
        Ok(preset::go_1_10(clock))
    }),
    Preset {
        start_live: |clock| preset::go_1_14(clock, WORKER_COUNT),
        ..preset("preset::go_1_14", "heap::Lazy", "Go from 1.14: a lazy heap per worker", |clock| {
            preset::go_1_14(clock, 1)
        })
    },
    Preset {
        unable: ENDS_AFTER_A_MINUTE,
        ..preset("preset::simple_wheel", "wheel::Simple", "one ring of 65,536 slots of 1 ms", |clock| {
            preset::simple_wheel(clock, SIMPLE_SLOT_COUNT)
        })
    },
    Preset {
        unable: WAKES_EVERY_ROUND,
        ..preset("preset::rounds_wheel", "wheel::Rounds", "virtual levels: 512 slots of 1 ms", |clock| {
            preset::rounds_wheel(clock, 512, 1)
        })
    },
    preset("preset::hierarchical_wheel", "wheel::Hierarchical", "levels of ms, s, min, h", |clock| {
        preset::hierarchical_wheel(clock, &[1_000, 60, 60, 24])
    }),
    preset("preset::kafka", "wheel::Overflow", "Kafka's SystemTimer", preset::kafka),
    preset("preset::timingwheel", "wheel::Overflow", "RussellLuo/timingwheel, 1 ms x 20", |clock| {
        let tick = preset::TIMINGWHEEL_TICK_MIN;
        preset::timingwheel(clock, tick, preset::KAFKA_SLOT_COUNT).map_err(io::Error::other)
    }),
    Preset {
        granularity: preset::NETTY_TICK.as_millis() as u64,
        unable: WAKES_EVERY_ROUND,
        ..preset("preset::netty", "wheel::Rounds", "Netty's HashedWheelTimer, 100 ms x 512", |clock| {
            preset::netty(clock, usize::MAX)
        })
    },
    Preset {
        resolution: preset::SKYNET_TICK,
        ..preset("preset::skynet", "wheel::Cascading", "skynet's timer, ticks of 10 ms", preset::skynet)
    },
    preset("preset::nginx", "RedBlackTree", "nginx's tree, one thread", preset::nginx),
    preset("preset::nginx_loop", "RedBlackTree", "nginx's tree in a loop that polls", |clock| {
        let driver = Arc::new(preset::nginx_loop(clock)?);
        driver.start(WithoutSockets)?;
        Ok(Engine::from_driver(driver))
    }),
    preset("preset::skip_list", "SkipList", "a skip list, one thread", preset::skip_list),
    preset("preset::mainspring", "wheel::Chunked", "Mainspring's own, striped", preset::mainspring_on),
];

const fn preset(name: &'static str, structure: &'static str, about: &'static str, start: Start) -> Preset {
    Preset {
        name,
        structure,
        about,
        start,
        start_live: start,
        resolution: MILLISECOND,
        granularity: 1,
        unable: &[],
    }
}

/// The presets as subjects.
pub fn subjects() -> Vec<Subject> {
    PRESETS.iter().map(Preset::subject).collect()
}

/// The preset of that name.
pub fn named(subject: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == subject)
}

impl Preset {
    fn subject(&'static self) -> Subject {
        Subject::new(self.name, Kind::Preset, self.about, move |case| self.measure(case))
    }

    fn measure(&self, case: &Case) -> Measurement {
        if let Some((_, reason)) = self.unable.iter().find(|(workload, _)| *workload == case.workload) {
            return Err(Failure::Unable((*reason).to_owned()));
        }
        let failed = |error| Failure::Wrong(format!("the preset did not start: {error}"));
        if case.workload.is_real_time() {
            return workload::measure_engine(case, |recorder| {
                let clock = Arc::new(Monotonic::with_resolution(self.resolution));
                let engine = (self.start_live)(clock).map_err(failed)?;
                // It lives as long as the process, which measures one case: threads that count references to
                // it would meet there.
                let recorder: &'static Recorder = Box::leak(Box::new(recorder));
                let task = move |payload| Task::new(move |_| recorder.fired(payload));
                Ok(RunningEngine::new(engine, Duration::ZERO, task))
            });
        }
        let turns = Turns::new(self.resolution);
        let engine = (self.start)(turns.clone()).map_err(failed)?;
        workload::measure_queue(case, || ByTurns::new(engine, turns, self.granularity))
    }
}

/// Runs tasks, and has no sockets to serve.
struct WithoutSockets;

impl Fire<Task> for WithoutSockets {
    fn fire(&mut self, fired: FiredTimer<Task>) {
        RunTasks.fire(fired);
    }
}

impl Serve<Task, AnySource> for WithoutSockets {
    fn ready(&mut self, _: Ready<AnySource>) {}
}
