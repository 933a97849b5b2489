//! The suite that every driver passes, on a clock that the test moves.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mainspring::clock::{Clock, Manual, Monotonic};
use mainspring::driver::poll::{AnySource, Ready, Serve};
use mainspring::driver::{Fire, FiredTimer, FiringPanic, PerWorker, Poll, Refusal, Sharded, Striped};
use mainspring::front::{Callbacks, RunTasks};
use mainspring::{Engine, Handle};
use mainspring_queue::wheel::Chunked;
use mainspring_queue::{RedBlackTree, Tick, heap};

/// What a payload does when it fires: it says so, or it says so and panics, or it schedules another.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Deed {
    Tell(u64),
    Panic(u64),
    Schedule(u64, Tick),
}

/// Carries out the deeds that fire.
#[derive(Clone)]
struct Doer {
    told: Sender<(u64, Tick, Tick)>,
    handle: Arc<Mutex<Option<Handle<Deed>>>>,
    panics: Arc<Mutex<Vec<FiringPanic>>>,
}

impl Fire<Deed> for Doer {
    fn fire(&mut self, fired: FiredTimer<Deed>) {
        let tell = |name| self.told.send((name, fired.deadline, fired.now)).unwrap_or(());
        match fired.payload {
            Deed::Tell(name) => tell(name),
            Deed::Panic(name) => {
                tell(name);
                panic!("deed {name} panics");
            }
            Deed::Schedule(name, deadline) => {
                let handle = self.handle.lock().unwrap().clone();
                handle.expect("the engine has started").schedule_at(deadline, Deed::Tell(name)).unwrap();
            }
        }
    }

    fn panicked(&mut self, panic: &FiringPanic) {
        self.panics.lock().unwrap().push(panic.clone());
    }
}

type Start = fn(Arc<dyn Clock>, Doer) -> Engine<Deed>;

const DRIVERS: [(&str, Start); 9] = [
    ("single", |clock, doer| Engine::start(Chunked::new(), clock, doer).unwrap()),
    ("striped, 1", |clock, doer| striped(1, clock, doer)),
    ("striped, 8", |clock, doer| striped(8, clock, doer)),
    ("sharded, 1", |clock, doer| Engine::from_driver(Arc::new(Sharded::new(1, Chunked::new, clock, doer)))),
    ("sharded, 64", |clock, doer| {
        Engine::from_driver(Arc::new(Sharded::new(64, heap::Quaternary::new, clock, doer)))
    }),
    ("per worker, 1", |clock, doer| per_worker(1, clock, &doer)),
    ("per worker, 2", |clock, doer| per_worker(2, clock, &doer)),
    ("per worker, 5", |clock, doer| per_worker(5, clock, &doer)),
    ("poll", poll),
];

fn striped(stripe_count: usize, clock: Arc<dyn Clock>, doer: Doer) -> Engine<Deed> {
    let driver = Arc::new(Striped::new(stripe_count, Chunked::new, clock));
    driver.start(doer).unwrap();
    Engine::from_driver(driver)
}

fn per_worker(worker_count: usize, clock: Arc<dyn Clock>, doer: &Doer) -> Engine<Deed> {
    let driver = Arc::new(PerWorker::new(worker_count, heap::Lazy::new, clock));
    driver.start(doer).unwrap();
    Engine::from_driver(driver)
}

fn poll(clock: Arc<dyn Clock>, doer: Doer) -> Engine<Deed> {
    let driver = Arc::new(Poll::<_>::new(RedBlackTree::new(), clock).unwrap());
    driver.start(doer).unwrap();
    Engine::from_driver(driver)
}

impl Serve<Deed, AnySource> for Doer {
    fn ready(&mut self, _: Ready<AnySource>) {
        unreachable!("there are no sources");
    }
}

struct Trial {
    name: &'static str,
    clock: Manual,
    engine: Engine<Deed>,
    told: Receiver<(u64, Tick, Tick)>,
    panics: Arc<Mutex<Vec<FiringPanic>>>,
}

impl Trial {
    fn tell(&self, name: u64, deadline: u64) -> mainspring::TimerId {
        self.engine.handle().schedule_at(Tick::new(deadline), Deed::Tell(name)).unwrap()
    }

    /// The next so many deeds, sorted by name: drivers with threads of their own tell in any order.
    fn told(&self, count: usize) -> Vec<u64> {
        let mut names: Vec<u64> = (0..count)
            .map(|_| {
                let (name, deadline, now) =
                    self.told.recv_timeout(Duration::from_secs(60)).expect("what is due fires");
                assert!(deadline <= now, "{}: {name} was early", self.name);
                name
            })
            .collect();
        names.sort_unstable();
        names
    }
}

/// Starts a driver on a clock; also returns the receiver of what its deeds tell.
fn start(run: Start, clock: Arc<dyn Clock>) -> (Engine<Deed>, Receiver<(u64, Tick, Tick)>, Doer) {
    let (sender, told) = channel();
    let doer = Doer { told: sender, handle: Arc::default(), panics: Arc::default() };
    let engine = run(clock, doer.clone());
    *doer.handle.lock().unwrap() = Some(engine.handle().clone());
    (engine, told, doer)
}

fn named(name: &str) -> Start {
    DRIVERS.iter().find(|driver| driver.0 == name).expect("the table has it").1
}

/// Runs a trial with every driver.
fn with_each(trial: impl Fn(Trial)) {
    for (name, run) in DRIVERS {
        let clock = Manual::stepped();
        let (engine, told, doer) = start(run, Arc::new(clock.clone()));
        trial(Trial { name, clock, engine, told, panics: doer.panics });
    }
}

#[test]
fn every_timer_fires_once_and_never_early() {
    with_each(|trial| {
        let deadlines: Vec<u64> = (0..200).map(|name| name * 7 % 50).collect();
        for (name, &deadline) in (0..).zip(&deadlines) {
            trial.tell(name, deadline);
        }
        let mut fired = BTreeSet::new();
        for now in 0..50 {
            trial.clock.advance_to(Tick::new(now));
            let due = deadlines.iter().filter(|&&deadline| deadline == now).count();
            fired.extend(trial.told(due));
        }
        assert_eq!(fired.len(), 200, "{}", trial.name);
        let report = trial.engine.report();
        assert_eq!((report.counts.scheduled, report.counts.fired), (200, 200), "{}", trial.name);
        assert_eq!(report.lateness_ticks.len(), 200, "{}", trial.name);
        assert!(trial.told.try_recv().is_err(), "{}", trial.name);
    });
}

#[test]
fn an_earlier_timer_is_not_held_up_by_a_later_one() {
    with_each(|trial| {
        for name in (1..=20).rev() {
            trial.tell(name, name * 10);
        }
        for name in 1..=20 {
            trial.clock.advance_to(Tick::new(name * 10));
            assert_eq!(trial.told(1), [name], "{}", trial.name);
        }
    });
}

#[test]
fn any_thread_may_cancel_and_reset() {
    with_each(|trial| {
        let cancelled = trial.tell(1, 10);
        let moved = trial.tell(2, 10);
        trial.tell(3, 10);
        let handle = trial.engine.handle();
        thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(handle.cancel(cancelled), Some(Deed::Tell(1)));
                assert_eq!(handle.cancel(cancelled), None);
                handle.reset_at(moved, Tick::new(5)).unwrap();
                assert_eq!(handle.deadline(moved), Some(Tick::new(5)));
            });
        });
        assert_eq!(handle.pending_count(), 2);
        trial.clock.advance_to(Tick::new(5));
        assert_eq!(trial.told(1), [2], "{}", trial.name);
        assert!(handle.reset_at(moved, Tick::new(9)).is_err(), "{}", trial.name);
        trial.clock.advance_to(Tick::new(10));
        assert_eq!(trial.told(1), [3], "{}", trial.name);
        let counts = trial.engine.counts();
        assert_eq!((counts.scheduled, counts.cancelled, counts.reset, counts.fired), (3, 1, 1, 2));
    });
}

#[test]
fn what_is_discarded_does_not_fire() {
    with_each(|trial| {
        let ids = [1, 2, 3].map(|name| trial.tell(name, 10));
        let handle = trial.engine.handle();
        thread::scope(|scope| {
            scope.spawn(|| handle.cancel(ids[1]));
        });
        handle.cancel(ids[1]);
        assert_eq!(handle.pending_count(), 2, "{}", trial.name);
        trial.clock.advance_to(Tick::new(10));
        assert_eq!(trial.told(2), [1, 3], "{}", trial.name);
        handle.cancel(ids[0]);
        let counts = trial.engine.counts();
        assert_eq!((counts.scheduled, counts.cancelled, counts.fired), (3, 1, 2), "{}", trial.name);
    });
}

#[test]
fn what_fires_may_schedule() {
    with_each(|trial| {
        let handle = trial.engine.handle();
        handle.schedule_at(Tick::new(5), Deed::Schedule(1, Tick::new(8))).unwrap();
        handle.schedule_at(Tick::new(5), Deed::Schedule(2, Tick::ZERO)).unwrap();
        trial.clock.advance_to(Tick::new(5));
        assert_eq!(trial.told(1), [2], "{}", trial.name);
        while handle.pending_count() == 0 {
            thread::yield_now();
        }
        trial.clock.advance_to(Tick::new(8));
        assert_eq!(trial.told(1), [1], "{}", trial.name);
    });
}

#[test]
fn a_panic_is_reported_and_harms_no_other() {
    with_each(|trial| {
        trial.engine.handle().schedule_at(Tick::new(1), Deed::Panic(1)).unwrap();
        trial.tell(2, 1);
        trial.tell(3, 2);
        trial.clock.advance_to(Tick::new(2));
        assert_eq!(trial.told(3), [1, 2, 3], "{}", trial.name);
        let handle = trial.engine.handle().clone();
        trial.engine.shutdown();
        assert_eq!(handle.counts().panicked, 1, "{}", trial.name);
        assert_eq!(trial.panics.lock().unwrap()[0].message, "deed 1 panics");
    });
}

#[test]
fn shutdown_hands_back_what_did_not_fire_in_order() {
    with_each(|trial| {
        for deadline in [30, 10, u64::MAX, 20] {
            trial.tell(deadline, deadline);
        }
        let handle = trial.engine.handle().clone();
        let unfired = trial.engine.shutdown();
        let deadlines: Vec<u64> = unfired.iter().map(|timer| timer.deadline.get()).collect();
        assert_eq!(deadlines, [10, 20, 30, u64::MAX], "{}", trial.name);
        let refused = handle.schedule_at(Tick::ZERO, Deed::Tell(9)).expect_err("the engine was shut down");
        assert_eq!(
            (refused.reason, refused.into_payload()),
            (Refusal::Stopped, Deed::Tell(9)),
            "{}",
            trial.name
        );
        assert_eq!(handle.pending_count(), 0, "{}", trial.name);
        assert_eq!(handle.counts().fired, 0, "{}", trial.name);
    });
}

#[test]
fn an_id_of_one_driver_does_not_reach_beyond_the_shards_of_another() {
    let (wide, _, _) = start(named("sharded, 64"), Arc::new(Manual::stepped()));
    let ids: Vec<_> = (0..3)
        .map(|name| {
            let handle = wide.handle().clone();
            let schedule = move || handle.schedule_at(Tick::new(9), Deed::Tell(name)).unwrap();
            thread::scope(|scope| scope.spawn(schedule).join().unwrap())
        })
        .collect();
    assert!(ids.iter().collect::<BTreeSet<_>>().len() == 3, "each thread has a shard of its own");
    let (narrow, _, _) = start(named("sharded, 1"), Arc::new(Manual::stepped()));
    for id in ids {
        assert_eq!(narrow.handle().cancel(id), None);
        assert!(narrow.handle().reset_at(id, Tick::ZERO).is_err());
    }
}

/// On the real clock, from eight threads: schedules, cancels and resets timers, and compares every count at
/// the end.
#[test]
fn counts_are_consistent_after_eight_threads_and_nothing_is_early() {
    const THREADS: u64 = 8;
    const STEPS: u64 = 3_000;
    for (name, run) in DRIVERS {
        let clock = Arc::new(Monotonic::new());
        let (engine, told, _doer) = start(run, clock);
        let cancelled: u64 = thread::scope(|scope| {
            let work = |thread: u64| {
                let handle = engine.handle().clone();
                move || (0..STEPS).filter(|step| disturb(&handle, thread * STEPS + step)).count() as u64
            };
            let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(work(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let handle = engine.handle().clone();
        let unfired = engine.shutdown().len() as u64;
        let counts = handle.counts();
        assert_eq!(counts.scheduled, THREADS * STEPS, "{name}");
        assert_eq!(counts.cancelled, cancelled, "{name}");
        assert_eq!(counts.fired + counts.cancelled + unfired, counts.scheduled, "{name}");
        let fired: Vec<_> = told.try_iter().collect();
        assert!(fired.iter().all(|(_, deadline, now)| deadline <= now), "{name}: never early");
        let names: BTreeSet<u64> = fired.iter().map(|&(name, _, _)| name).collect();
        assert_eq!((names.len(), fired.len() as u64), (fired.len(), counts.fired), "{name}: never twice");
    }
}

/// Schedules a timer and perhaps moves or cancels it; tells whether it cancelled it.
fn disturb(handle: &Handle<Deed>, name: u64) -> bool {
    let delay = Duration::from_micros(name * 7_919 % 20_000);
    let id = handle.schedule_after(delay, Deed::Tell(name)).unwrap();
    match name % 4 {
        0 => handle.cancel(id).is_some(),
        1 => {
            // It may have fired already: then it does not move.
            let _ = handle.reset_after(id, Duration::from_millis(name % 5));
            false
        }
        _ => false,
    }
}

#[test]
fn a_chain_of_callbacks_stays_in_the_shard_that_runs_it() {
    let driver = Arc::new(Sharded::new(64, heap::Quaternary::new, Manual::stepped(), RunTasks));
    let engine = Engine::from_driver(Arc::clone(&driver));
    let callbacks = engine.callbacks();
    let (sender, receiver) = channel();
    link(&callbacks, 100, sender);
    receiver.recv_timeout(Duration::from_secs(60)).expect("the chain ends");
    assert_eq!(driver.thread_count(), 1, "a shard has its timers and those of its callbacks");
}

/// Schedules a callback that does the same with one less to go.
fn link(callbacks: &Callbacks, left: u32, end: Sender<()>) {
    let Some(left) = left.checked_sub(1) else { return end.send(()).unwrap() };
    let next = callbacks.clone();
    callbacks.at(Tick::ZERO, move |_| link(&next, left, end)).unwrap();
}
