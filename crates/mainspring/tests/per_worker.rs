//! Behaviour peculiar to the driver with a queue per worker, and to the one with shards.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use mainspring::Handle;
use mainspring::clock::{Clock, Manual, Monotonic};
use mainspring::driver::{Driver, FiredTimer, PerWorker, Sharded, Timers};
use mainspring::front::{RunTasks, Task};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Chunked;

/// Longer than any of these tests should take; when it is over they fail instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

fn tasks(worker_count: usize, clock: impl Clock) -> (Arc<PerWorker<Chunked<Task>>>, Handle<Task>) {
    let driver = Arc::new(PerWorker::new(worker_count, Chunked::new, Arc::new(clock)));
    let handle = Handle::new(driver.clone());
    (driver, handle)
}

#[test]
fn timers_of_a_stuck_worker_are_run_by_another() {
    let (driver, handle) = tasks(2, Monotonic::new());
    driver.start(&RunTasks).unwrap();
    let (fired, is_fired) = channel();
    let (verdict, is_decided) = channel();
    let inner = handle.clone();
    let stuck = Task::new(move |_| {
        for name in 0..10_u64 {
            let fired = fired.clone();
            let task =
                Task::new(move |firing| fired.send((name, firing.deadline <= firing.now)).unwrap_or(()));
            inner.schedule_after(Duration::from_millis(name), task).unwrap();
        }
        // This worker is stuck until all of its timers have fired, which it cannot do itself.
        let names: Vec<_> = (0..10).map_while(|_| is_fired.recv_timeout(PATIENCE).ok()).collect();
        verdict.send(names).unwrap();
    });
    handle.schedule_after(Duration::ZERO, stuck).unwrap();
    let names = is_decided.recv_timeout(2 * PATIENCE).unwrap();
    assert_eq!(names, (0..10).map(|name| (name, true)).collect::<Vec<_>>());
    assert!(driver_counts(&driver).stolen >= 10);
    Driver::<Task>::shutdown(&*driver);
}

fn driver_counts(driver: &PerWorker<Chunked<Task>>) -> mainspring::driver::Counts {
    Timers::<Task>::counts(driver)
}

#[test]
fn timers_of_a_worker_that_ended_move_to_another_and_keep_their_ids() {
    let clock = Manual::stepped();
    let (driver, handle) = tasks(2, clock.clone());
    let (fired, is_fired) = channel();
    let mut leaving = driver.worker().unwrap();
    // While it fires, a worker schedules into its own shard.
    let inner = handle.clone();
    let (ids, are_known) = channel();
    let task = Task::new(move |_| {
        for name in 0..4_u64 {
            let fired = fired.clone();
            let task = Task::new(move |_| fired.send(name).unwrap_or(()));
            ids.send(inner.schedule_at(Tick::new(10 + name), task).unwrap()).unwrap();
        }
    });
    handle.schedule_at(Tick::ZERO, task).unwrap();
    while leaving.fire_due(&mut RunTasks) {}
    let ids: Vec<_> = are_known.try_iter().collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(leaving.next_wakeup(), Some(Tick::new(10)));
    drop(leaving);

    assert!(handle.cancel(ids[1]).is_some(), "the ids of an orphaned shard are good");
    let mut heir = driver.worker().unwrap();
    clock.advance_to(Tick::new(20));
    while heir.fire_due(&mut RunTasks) {}
    assert_eq!(is_fired.try_iter().collect::<Vec<_>>(), [0, 2, 3]);
}

#[test]
fn a_shard_that_is_orphaned_while_others_sleep_is_adopted() {
    let clock = Manual::stepped();
    let (driver, handle) = tasks(2, clock.clone());
    let leaving = driver.worker().unwrap();
    let (fired, is_fired) = channel();
    // From a thread that is no worker, timers go round the shards: both shards get some.
    for name in 0..4_u64 {
        let fired = fired.clone();
        handle.schedule_at(Tick::new(10), Task::new(move |_| fired.send(name).unwrap_or(()))).unwrap();
    }
    driver.start(&RunTasks).unwrap();
    drop(leaving);
    clock.advance_to(Tick::new(20));
    let mut names: Vec<u64> = (0..4).map(|_| is_fired.recv_timeout(PATIENCE).unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, [0, 1, 2, 3]);
    Driver::<Task>::shutdown(&*driver);
}

#[test]
fn there_are_as_many_workers_as_asked_for_and_a_place_is_free_again() {
    let (driver, _) = tasks(2, Manual::stepped());
    let first = driver.worker().unwrap();
    let _second = driver.worker().unwrap();
    assert!(driver.worker().is_none());
    drop(first);
    assert!(driver.worker().is_some());
}

#[test]
fn a_timer_wakes_workers_that_sleep_without_limit() {
    let clock = Manual::stepped();
    let (driver, handle) = tasks(3, clock.clone());
    driver.start(&RunTasks).unwrap();
    while clock.wait_count() < 3 {
        thread::yield_now();
    }
    let (fired, is_fired) = channel();
    handle.schedule_at(Tick::new(7), Task::new(move |firing| fired.send(firing.now).unwrap_or(()))).unwrap();
    clock.advance_to(Tick::new(7));
    assert_eq!(is_fired.recv_timeout(PATIENCE), Ok(Tick::new(7)));
    Driver::<Task>::shutdown(&*driver);
}

fn sharded(shard_count: usize) -> (Arc<impl Driver<u64>>, Receiver<u64>, Manual, impl Fn() -> usize) {
    let clock = Manual::stepped();
    let (sender, receiver) = channel();
    let fire = move |fired: FiredTimer<u64>| sender.send(fired.payload).unwrap_or(());
    let driver = Arc::new(Sharded::new(shard_count, Chunked::new, Arc::new(clock.clone()), fire));
    let counted = Arc::clone(&driver);
    (driver, receiver, clock, move || counted.thread_count())
}

#[test]
fn a_shard_starts_its_thread_with_its_first_timer() {
    let (driver, fired, clock, thread_count) = sharded(64);
    assert_eq!(thread_count(), 0);
    driver.schedule(Tick::new(1), 1).unwrap();
    assert_eq!(thread_count(), 1);
    driver.schedule(Tick::new(1), 2).unwrap();
    assert_eq!(thread_count(), 1, "a thread's timers go to one shard");
    thread::scope(|scope| scope.spawn(|| driver.schedule(Tick::new(1), 3).unwrap()).join().unwrap());
    assert_eq!(thread_count(), 2, "another thread's go to another");
    clock.advance_to(Tick::new(1));
    let mut names: Vec<u64> = (0..3).map(|_| fired.recv_timeout(PATIENCE).unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, [1, 2, 3]);
    driver.shutdown();
    assert_eq!(thread_count(), 0);
}
