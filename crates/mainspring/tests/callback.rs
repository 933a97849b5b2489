//! The callback front.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring::Handle;
use mainspring::clock::{Clock, Manual};
use mainspring::driver::{Refusal, Single};
use mainspring::front::Callbacks;
use mainspring::front::callback::Periodic;
use mainspring::front::{Firing, RunTasks, Task};
use mainspring::preset;
use mainspring_queue::Tick;
use mainspring_queue::wheel::{Chunked, Simple};

/// A driver on the test's own thread, whose waits move time.
struct Simulation {
    driver: Arc<Single<Chunked<Task>>>,
    clock: Manual,
    callbacks: Callbacks,
}

impl Simulation {
    fn new() -> Simulation {
        let clock = Manual::leaping();
        let driver = Arc::new(Single::new(Chunked::new(), Arc::new(clock.clone())));
        let callbacks = Callbacks::new(Handle::new(driver.clone()));
        Simulation { driver, clock, callbacks }
    }

    fn run(&self) {
        self.driver.run_until_idle(&mut RunTasks);
    }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn a_callback_runs_once_after_its_delay() {
    let simulation = Simulation::new();
    let (sender, receiver) = mpsc::channel();
    let timer = simulation.callbacks.after(ms(20), move |firing| sender.send(firing).unwrap()).unwrap();
    assert!(timer.is_pending());
    assert_eq!(timer.deadline(), Some(Tick::new(20)));
    simulation.run();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [Firing::new(Tick::new(20), Tick::new(20))]);
    assert!(!timer.is_pending());
    assert!(!timer.cancel());
    assert!(!timer.reset(ms(5)));
}

#[test]
fn a_reset_moves_the_callback_and_a_cancel_stops_it() {
    let simulation = Simulation::new();
    let (sender, receiver) = mpsc::channel();
    let send = |name: &'static str| {
        let sender = sender.clone();
        move |firing: Firing| sender.send((name, firing.now.get())).unwrap()
    };
    let moved = simulation.callbacks.after(ms(20), send("moved")).unwrap();
    let stopped = simulation.callbacks.after(ms(30), send("stopped")).unwrap();
    simulation.callbacks.after(ms(40), send("left alone")).unwrap();
    assert!(moved.reset(ms(50)));
    assert!(stopped.cancel());
    simulation.run();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [("left alone", 40), ("moved", 50)]);
}

/// Runs a periodic callback of 10 ms; before its n-th run returns, time passes by `slowness[n]`.
fn periodic_runs(slowness: &'static [u64]) -> Vec<(u64, u64)> {
    let simulation = Simulation::new();
    let clock = simulation.clock.clone();
    let own: Arc<Mutex<Option<Periodic>>> = Arc::default();
    let runs = Arc::new(Mutex::new(Vec::new()));
    let periodic = simulation.callbacks.every(ms(10), {
        let (own, runs) = (Arc::clone(&own), Arc::clone(&runs));
        move |firing: Firing| {
            let mut runs = runs.lock().unwrap();
            runs.push((firing.deadline.get(), firing.now.get()));
            clock.advance(ms(slowness[runs.len() - 1]));
            if runs.len() == slowness.len() {
                assert!(own.lock().unwrap().as_ref().unwrap().cancel());
            }
        }
    });
    *own.lock().unwrap() = Some(periodic.unwrap());
    simulation.run();
    runs.lock().unwrap().clone()
}

#[test]
fn a_periodic_callback_does_not_drift() {
    assert_eq!(periodic_runs(&[0, 3, 9, 0]), [(10, 10), (20, 20), (30, 30), (40, 40)]);
}

#[test]
fn periods_that_are_over_are_dropped_and_not_made_up_for() {
    assert_eq!(periodic_runs(&[35, 0, 0, 0]), [(10, 10), (20, 45), (50, 50), (60, 60)]);
}

#[test]
fn a_periodic_callback_that_panics_goes_on() {
    let simulation = Simulation::new();
    let runs = Arc::new(Mutex::new(0));
    let driver = Arc::clone(&simulation.driver);
    simulation
        .callbacks
        .every(ms(10), {
            let runs = Arc::clone(&runs);
            move |_| {
                let count = {
                    let mut runs = runs.lock().unwrap();
                    *runs += 1;
                    *runs
                };
                if count == 3 {
                    driver.stop();
                }
                assert!(count != 2, "the second run fails");
            }
        })
        .unwrap();
    simulation.run();
    assert_eq!(*runs.lock().unwrap(), 3);
}

#[test]
fn a_period_of_zero_is_an_error() {
    let error = Simulation::new().callbacks.every(Duration::ZERO, |_| ()).expect_err("the period is zero");
    assert_eq!(error, Refusal::ZeroPeriod);
    assert_eq!(error.to_string(), "a period must be longer than zero");
}

#[test]
fn a_period_shorter_than_a_tick_comes_several_times_in_one() {
    let simulation = Simulation::new();
    let driver = Arc::clone(&simulation.driver);
    let (sender, receiver) = mpsc::channel();
    simulation
        .callbacks
        .every(Duration::from_micros(400), move |firing| {
            sender.send(firing.deadline.get()).unwrap();
            if firing.deadline == Tick::new(3) {
                driver.stop();
            }
        })
        .unwrap();
    simulation.run();
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [1, 1, 2, 2, 2, 3]);
}

#[test]
fn a_cancelled_periodic_callback_is_dropped() {
    let simulation = Simulation::new();
    let token = Arc::new(());
    let kept = Arc::clone(&token);
    let periodic = simulation.callbacks.every(ms(10), move |_| drop(Arc::clone(&kept))).unwrap();
    assert_eq!(Arc::strong_count(&token), 2);
    assert!(periodic.cancel());
    assert!(!periodic.cancel());
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn a_cancel_of_a_periodic_callback_of_which_no_run_comes_has_ended_nothing() {
    let simulation = Simulation::new();
    let until = |last: Tick| move |now: Tick| (now < last).then_some(last);
    let cancelled = |last| {
        let periodic = simulation.callbacks.following(until(last), |_| ()).unwrap();
        simulation.run();
        periodic.cancel()
    };
    let last = simulation.clock.now().after(10);
    assert!(!cancelled(last), "it has run");
    assert!(!cancelled(last), "it never runs");
    let periodic = simulation.callbacks.following(until(last.after(10)), |_| ()).unwrap();
    assert!(periodic.cancel());
}

#[test]
fn delays_without_end_are_taken_and_never_over() {
    let engine = preset::mainspring().unwrap();
    let timer = engine.callbacks().after(Duration::MAX, |_| unreachable!("eternity is over")).unwrap();
    let periodic = engine.callbacks().every(Duration::MAX, |_| unreachable!("eternity is over")).unwrap();
    assert!(timer.is_pending());
    assert!(timer.cancel());
    assert!(periodic.cancel());
}

#[test]
fn a_queue_with_a_horizon_refuses_what_lies_beyond() {
    let engine = preset::callbacks(Simple::new(100), Arc::new(Manual::stepped())).unwrap();
    let refusal = engine.callbacks().after(ms(101), |_| ()).expect_err("100 ticks are the horizon");
    assert!(matches!(refusal, Refusal::Rejected(_)));
    assert!(refusal.to_string().contains("horizon"), "{refusal}");
}

#[test]
fn an_engine_may_be_dropped_by_its_own_callback() {
    let clock = Manual::stepped();
    let (done, is_done) = mpsc::channel();
    let engine = Arc::new(Mutex::new(None));
    let started = preset::callbacks(Chunked::new(), Arc::new(clock.clone())).unwrap();
    started
        .callbacks()
        .after(ms(1), {
            let engine = Arc::clone(&engine);
            move |_| {
                drop(engine.lock().unwrap().take());
                done.send(()).unwrap();
            }
        })
        .unwrap();
    *engine.lock().unwrap() = Some(started);
    clock.advance(ms(1));
    is_done.recv().unwrap();
}

#[test]
fn on_the_real_clock_a_callback_is_never_early() {
    let engine = preset::mainspring().unwrap();
    let clock = Arc::clone(engine.handle().clock());
    let (sender, receiver) = mpsc::channel();
    for delay in [0, 1, 2, 5] {
        let (sender, clock) = (sender.clone(), Arc::clone(&clock));
        let earliest = clock.after(ms(delay));
        engine.callbacks().after(ms(delay), move |_| sender.send((earliest, clock.now())).unwrap()).unwrap();
    }
    for _ in 0..4 {
        let (earliest, now) = receiver.recv().unwrap();
        assert!(earliest <= now);
    }
}
