//! Threads act beside the one that fires, run through every interleaving: they look at a timer's channel,
//! which is made then, they make way for a firing that has fallen behind, and they schedule while it is busy.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use loom::sync::atomic::Ordering;
use loom::thread;
use mainspring::Handle;
use mainspring::clock::Manual;
use mainspring::driver::{Driver, FiredTimer, Refusal, Single, Striped, Timers};
use mainspring::front::channel::ChannelTimer;
use mainspring::front::{Channels, RunTasks, Task};
use mainspring_queue::{Naive, Tick};

use super::bounded;

type Tasks = Arc<Single<Naive<Task>>>;

/// A timer of a channel, due at the first tick, which has not begun.
fn channel_timer() -> (Manual, Tasks, ChannelTimer) {
    let clock = Manual::stepped();
    let driver = Arc::new(Single::new(Naive::new(), clock.clone()));
    let channels = Channels::new(Handle::<Task>::new(driver.clone()));
    let timer = channels.timer(Duration::from_millis(1)).unwrap();
    (clock, driver, timer)
}

#[test]
fn whoever_looks_at_a_channel_while_its_timer_fires_receives_the_firing_once() {
    bounded(|| {
        let (clock, driver, timer) = channel_timer();
        clock.advance_to(Tick::new(1));
        let runner = thread::spawn(move || driver.run_until_idle(&mut RunTasks));
        // The channel is made before, between or after what the firing does.
        let receiver = timer.receiver().clone();
        runner.join().unwrap();
        assert!(receiver.try_recv().is_ok());
        assert!(timer.receiver().try_recv().is_err());
    });
}

#[test]
fn two_that_look_at_a_channel_at_once_see_the_same() {
    bounded(|| {
        let (_clock, _driver, timer) = channel_timer();
        let timer = Arc::new(timer);
        let other = thread::spawn({
            let timer = Arc::clone(&timer);
            move || timer.receiver().clone()
        });
        let own = timer.receiver().clone();
        assert!(own.same_channel(&other.join().unwrap()));
        assert!(own.same_channel(timer.receiver()));
    });
}

#[test]
fn whoever_looks_at_a_channel_while_its_engine_ends_is_told_of_the_end() {
    bounded(|| {
        let (_clock, driver, timer) = channel_timer();
        let ender = thread::spawn(move || drop(Driver::<Task>::shutdown(&*driver)));
        let receiver = timer.receiver().clone();
        ender.join().unwrap();
        assert_eq!(receiver.try_recv(), Err(crossbeam_channel::TryRecvError::Disconnected));
    });
}

/// A driver whose one timer is 60 ms late.
fn late() -> Arc<Single<Naive<u32>>> {
    let clock = Manual::stepped();
    let driver = Arc::new(Single::new(Naive::new(), clock.clone()));
    driver.schedule(Tick::ZERO, 1).unwrap();
    clock.advance_to(Tick::new(60));
    driver
}

#[test]
fn whoever_makes_way_goes_on_when_firing_has_caught_up() {
    static HAS_PAUSED: AtomicBool = AtomicBool::new(false);
    bounded(|| {
        let driver = late();
        let runner = thread::spawn({
            let driver = Arc::clone(&driver);
            move || driver.run_until(Tick::new(60), &mut |_: FiredTimer<u32>| ())
        });
        // A pause of a model has no end of its own: loom says so if no thread is notified.
        driver.schedule(Tick::MAX, 2).unwrap();
        runner.join().unwrap();
        let counts = Timers::<u32>::counts(&*driver);
        assert_eq!((counts.scheduled, counts.fired), (2, 1));
        HAS_PAUSED.fetch_or(counts.held_back == 1, Ordering::Relaxed);
    });
    assert!(HAS_PAUSED.load(Ordering::Relaxed), "the model reaches the pause");
}

#[test]
fn whoever_makes_way_goes_on_when_the_driver_is_shut_down() {
    bounded(|| {
        let driver = late();
        let runner = thread::spawn({
            let driver = Arc::clone(&driver);
            move || driver.run(&mut |_: FiredTimer<u32>| driver.stop())
        });
        let outcome = driver.schedule(Tick::MAX, 2).map_err(|refused| refused.reason);
        runner.join().unwrap();
        assert!(outcome.is_ok() || outcome == Err(Refusal::Stopped));
    });
}

#[test]
fn a_striped_driver_that_is_busy_never_sleeps_past_a_timer_of_another_stripe() {
    bounded(|| {
        let driver = Arc::new(Striped::new(2, Naive::new, Arc::new(Manual::stepped())));
        // Turns are of one firing here, so the stripe is busy when the other thread schedules.
        driver.schedule(Tick::ZERO, 7).unwrap();
        let runner = thread::spawn({
            let driver = Arc::clone(&driver);
            let mut left = 2;
            move || {
                driver.run(&mut |_: FiredTimer<u32>| {
                    left -= 1;
                    if left == 0 {
                        drop(Driver::<u32>::shutdown(&*driver));
                    }
                });
            }
        });
        let scheduler = thread::spawn({
            let driver = Arc::clone(&driver);
            move || driver.schedule(Tick::ZERO, 8).unwrap()
        });
        scheduler.join().unwrap();
        runner.join().unwrap();
    });
}
