//! The driver with one thread.

use std::collections::HashSet;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mainspring::clock::{Clock, Manual, Monotonic};
use mainspring::driver::{Fire, FiredTimer, FiringPanic, Refusal, Single, Timers};
use mainspring::{Engine, Handle, TimerId};
use mainspring_queue::wheel::{Cascading, Chunked, Overflow, Rounds};
use mainspring_queue::{RedBlackTree, SkipList, Tick, TimerQueue, heap};

const DAY: Duration = Duration::from_secs(86_400);

/// Runs timers with these deadlines, in ticks, through a driver on a leaping clock; returns what fired when,
/// and how often the driver waited.
fn simulate<Q>(queue: Q, deadlines: &[u64]) -> (Vec<(u64, u64)>, u64)
where
    Q: TimerQueue<u64> + Send,
{
    let clock = Manual::leaping();
    let driver = Single::new(queue, Arc::new(clock.clone()));
    for &deadline in deadlines {
        driver.schedule(Tick::new(deadline), deadline).expect("the driver runs");
    }
    let mut fired = Vec::new();
    driver.run_until_idle(&mut |timer: FiredTimer<u64>| fired.push((timer.payload, timer.now.get())));
    assert_eq!(driver.counts().fired, deadlines.len() as u64);
    (fired, clock.wait_count())
}

#[test]
fn thirty_days_pass_in_three_wakeups() {
    let days = [1, 7, 30].map(|day| u64::try_from(DAY.as_millis()).expect("days are few") * day);
    let (fired, wait_count) = simulate(Chunked::new(), &days);
    assert_eq!(fired, days.map(|day| (day, day)));
    assert_eq!(wait_count, 3);
    let (_, wait_count) = simulate(heap::Quaternary::new(), &days);
    assert_eq!(wait_count, 3);
}

#[test]
fn every_timer_fires_at_its_tick_whatever_the_queue() {
    let deadlines: Vec<u64> = (0..500).map(|number| number * number * 37 % 100_003).collect();
    let mut expected: Vec<(u64, u64)> = deadlines.iter().map(|&deadline| (deadline, deadline)).collect();
    expected.sort_unstable();
    let sorted = |(mut fired, _): (Vec<(u64, u64)>, u64)| {
        fired.sort_unstable();
        fired
    };
    assert_eq!(sorted(simulate(Chunked::new(), &deadlines)), expected);
    assert_eq!(sorted(simulate(Cascading::new(), &deadlines)), expected);
    assert_eq!(sorted(simulate(Overflow::new(20, 1), &deadlines)), expected);
    assert_eq!(sorted(simulate(RedBlackTree::new(), &deadlines)), expected);
    assert_eq!(sorted(simulate(heap::Lazy::new(), &deadlines)), expected);
    for (deadline, now) in simulate(Rounds::new(512, 100), &deadlines).0 {
        assert_eq!(now, deadline.next_multiple_of(100), "a coarse wheel fires when its slot is over");
    }
}

/// An engine on a stepped clock whose fired payloads arrive in a channel.
fn start(clock: &Manual) -> (Engine<u64>, mpsc::Receiver<(u64, Tick)>) {
    let (sender, receiver) = mpsc::channel();
    let fire = move |fired: FiredTimer<u64>| sender.send((fired.payload, fired.now)).unwrap_or(());
    let engine = Engine::start(Chunked::new(), Arc::new(clock.clone()), fire).expect("a thread starts");
    (engine, receiver)
}

/// Waits until the driver has gone to sleep `count` times.
fn await_sleep(clock: &Manual, count: u64) {
    while clock.wait_count() < count {
        thread::yield_now();
    }
}

#[test]
fn an_earlier_timer_wakes_the_sleeping_driver_and_a_later_one_does_not() {
    let clock = Manual::stepped();
    let (engine, fired) = start(&clock);
    let handle = engine.handle();
    await_sleep(&clock, 1);
    handle.schedule_at(Tick::new(1_000), 1).expect("the engine runs");
    await_sleep(&clock, 2);
    for later in 1_001..1_100 {
        handle.schedule_at(Tick::new(later), later).expect("the engine runs");
    }
    assert_eq!(engine.counts().wakeups, 1, "the first timer woke it, and no later one");
    handle.schedule_at(Tick::new(10), 2).expect("the engine runs");
    await_sleep(&clock, 3);
    clock.advance_to(Tick::new(10));
    assert_eq!(fired.recv(), Ok((2, Tick::new(10))));
    await_sleep(&clock, 4);
    assert_eq!(engine.counts().wakeups, 3);
    assert_eq!(engine.shutdown().len(), 100);
}

#[test]
fn a_timer_that_is_reset_earlier_wakes_the_sleeping_driver() {
    let clock = Manual::stepped();
    let (engine, fired) = start(&clock);
    let id = engine.handle().schedule_at(Tick::new(1_000), 1).expect("the engine runs");
    engine.handle().reset_at(id, Tick::new(5)).expect("the timer is pending");
    clock.advance_to(Tick::new(5));
    assert_eq!(fired.recv(), Ok((1, Tick::new(5))));
}

#[test]
fn a_cancelled_timer_gives_its_payload_back_and_does_not_fire() {
    let clock = Manual::stepped();
    let (engine, fired) = start(&clock);
    let id = engine.handle().schedule_after(Duration::from_millis(5), 1).expect("the engine runs");
    engine.handle().schedule_after(Duration::from_millis(6), 2).expect("the engine runs");
    assert_eq!(engine.handle().cancel(id), Some(1));
    assert_eq!(engine.handle().cancel(id), None);
    clock.advance(Duration::from_millis(10));
    assert_eq!(fired.recv(), Ok((2, Tick::new(10))));
}

#[test]
fn shutdown_is_prompt_and_hands_back_what_did_not_fire() {
    let (engine, _fired) = start(&Manual::stepped());
    let handle = engine.handle().clone();
    for deadline in [30, 10, 20, u64::MAX] {
        handle.schedule_at(Tick::new(deadline), deadline).expect("the engine runs");
    }
    let unfired: Vec<u64> = engine.shutdown().into_iter().map(|timer| timer.payload).collect();
    assert_eq!(unfired, [10, 20, 30, u64::MAX]);
    let refused = handle.schedule_at(Tick::new(1), 7).expect_err("the engine has been shut down");
    assert_eq!((refused.reason, refused.into_payload()), (Refusal::Stopped, 7));
}

#[test]
fn a_dropped_engine_drops_what_is_pending() {
    let payload = Arc::new(());
    let engine = Engine::start(Chunked::new(), Arc::new(Manual::stepped()), |_: FiredTimer<Arc<()>>| ())
        .expect("a thread starts");
    let handle = engine.handle().clone();
    handle.schedule_at(Tick::new(10), Arc::clone(&payload)).expect("the engine runs");
    drop(engine);
    assert_eq!(Arc::strong_count(&payload), 1, "though a handle is left");
    assert_eq!(handle.pending_count(), 0);
}

/// Panics for odd payloads and remembers what was reported.
struct Fragile {
    fired: Vec<u64>,
    panicked: Arc<Mutex<Vec<FiringPanic>>>,
}

impl Fire<u64> for Fragile {
    fn fire(&mut self, fired: FiredTimer<u64>) {
        self.fired.push(fired.payload);
        assert!(fired.payload.is_multiple_of(2), "payload {} is odd", fired.payload);
    }

    fn panicked(&mut self, panic: &FiringPanic) {
        self.panicked.lock().unwrap().push(panic.clone());
    }
}

#[test]
fn a_firing_that_panics_is_reported_and_harms_no_other() {
    let driver = Single::new(Chunked::new(), Arc::new(Manual::leaping()));
    for payload in 1..=6 {
        driver.schedule(Tick::new(payload), payload).expect("the driver runs");
    }
    let panicked = Arc::default();
    let mut fragile = Fragile { fired: Vec::new(), panicked: Arc::clone(&panicked) };
    driver.run_until_idle(&mut fragile);
    assert_eq!(fragile.fired, [1, 2, 3, 4, 5, 6]);
    let messages: Vec<String> = panicked.lock().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(messages.len(), 3);
    assert!(messages[1].ends_with("due at tick 3, panicked: payload 3 is odd"), "{}", messages[1]);
    assert_eq!((driver.counts().fired, driver.counts().panicked), (6, 3));
}

#[test]
fn what_fires_may_use_the_driver() {
    let driver = Arc::new(Single::new(Chunked::new(), Arc::new(Manual::leaping())));
    let handle = Handle::new(driver.clone());
    let rival = handle.schedule_at(Tick::new(7), 0).expect("the driver runs");
    handle.schedule_at(Tick::new(5), 3).expect("the driver runs");
    let mut fired = Vec::new();
    driver.run_until_idle(&mut |timer: FiredTimer<u64>| {
        fired.push((timer.payload, timer.now.get()));
        handle.cancel(rival);
        if timer.payload > 0 {
            handle.schedule_at(timer.now.after(0), timer.payload - 1).expect("the driver runs");
        }
    });
    assert_eq!(fired, [(3, 5), (2, 5), (1, 5), (0, 5)]);
}

#[test]
fn a_timer_that_always_reschedules_itself_for_now_does_not_stop_the_others() {
    let driver = Arc::new(Single::new(Chunked::new(), Arc::new(Manual::leaping())));
    let handle = Handle::new(driver.clone());
    handle.schedule_at(Tick::new(1), 1).expect("the driver runs");
    handle.schedule_at(Tick::new(1), 2).expect("the driver runs");
    let mut restless_count = 0;
    driver.run_until_idle(&mut |timer: FiredTimer<u64>| match timer.payload {
        1 => {
            restless_count += 1;
            handle.schedule_at(timer.now, 1).expect("the driver runs");
        }
        _ => driver.stop(),
    });
    assert!(restless_count <= 2);
}

#[test]
fn every_timer_of_many_threads_is_counted_once() {
    const THREADS: u64 = 8;
    const STEPS: u64 = 5_000;
    let fired = Arc::new(Mutex::new(HashSet::new()));
    let clock = Arc::new(Monotonic::new());
    let fire = {
        let (fired, clock) = (Arc::clone(&fired), Arc::clone(&clock));
        move |timer: FiredTimer<u64>| {
            assert!(timer.deadline <= timer.now, "never early");
            assert!(timer.now <= clock.now(), "never early");
            assert!(fired.lock().unwrap().insert(timer.payload), "never twice");
        }
    };
    let engine = Engine::start(Chunked::new(), clock, fire).expect("a thread starts");
    let cancelled: u64 = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn({
                    let handle = engine.handle().clone();
                    move || {
                        let mut cancelled = 0;
                        for step in 0..STEPS {
                            let delay = Duration::from_micros(step * 7919 % 20_000);
                            let id =
                                handle.schedule_after(delay, thread * STEPS + step).expect("the engine runs");
                            match step % 3 {
                                0 => cancelled += u64::from(handle.cancel(id).is_some()),
                                1 => drop(handle.reset_after(id, Duration::from_millis(step % 5))),
                                _ => (),
                            }
                        }
                        cancelled
                    }
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    });
    let counts_before = engine.counts();
    let handle = engine.handle().clone();
    let unfired = engine.shutdown().len() as u64;
    let counts = handle.counts();
    assert_eq!(counts.scheduled, THREADS * STEPS);
    assert_eq!(counts.cancelled, cancelled);
    assert_eq!(counts.fired + counts.cancelled + unfired, counts.scheduled);
    assert_eq!(fired.lock().unwrap().len() as u64, counts.fired);
    assert_eq!(counts.panicked, 0, "nothing was early or doubled");
    assert!(counts_before.fired <= counts.fired);
}

#[test]
fn timers_with_a_tolerance_share_wakeups() {
    let clock = Manual::leaping();
    let driver = Arc::new(Single::new(Chunked::new(), Arc::new(clock.clone())));
    let handle = Handle::new(driver.clone());
    for delay in 1_000..1_100_u64 {
        handle.schedule_within(Duration::from_millis(delay), Duration::from_millis(128), delay).unwrap();
    }
    let mut fired = 0;
    driver.run_until_idle(&mut |timer: FiredTimer<u64>| {
        assert!(timer.payload <= timer.now.get(), "not before its delay");
        assert!(timer.now.get() <= timer.payload + 128, "within its tolerance");
        fired += 1;
    });
    assert_eq!(fired, 100);
    assert_eq!(clock.wait_count(), 2, "at 1,024 and at 1,152");
}

#[test]
fn the_earliest_waiter_of_a_stepped_clock_decides_where_time_goes() {
    let clock = Manual::stepped();
    let (engine, fired) = start(&clock);
    // The driver sleeps without limit, then until 500, then until 300: only then is 300 what is next.
    await_sleep(&clock, 1);
    engine.handle().schedule_at(Tick::new(500), 5).unwrap();
    await_sleep(&clock, 2);
    engine.handle().schedule_at(Tick::new(300), 3).unwrap();
    await_sleep(&clock, 3);
    for (name, sleep_count) in [(3, 4), (5, 5)] {
        let reached = std::iter::repeat_with(|| clock.advance_to_next()).find_map(|reached| reached);
        assert_eq!(reached, Some(Tick::new(name * 100)));
        assert_eq!(fired.recv(), Ok((name, Tick::new(name * 100))));
        await_sleep(&clock, sleep_count);
    }
    assert_eq!(clock.advance_to_next(), None);
}

#[test]
fn long_uptimes_are_walked_past_every_boundary_with_a_timer_beyond_every_level() {
    for (bits, step) in [(30, 1 << 24), (36, 1 << 30), (36, (1 << 30) - 7)] {
        let start = (1_u64 << bits) - 3 * step / 2;
        let deadlines: Vec<u64> = (0..4).map(|number| start + number * step).chain([u64::MAX - 1]).collect();
        for queue_fired in [simulate(Chunked::new(), &deadlines).0, simulate(Cascading::new(), &deadlines).0]
        {
            assert_eq!(
                queue_fired,
                deadlines.iter().map(|&deadline| (deadline, deadline)).collect::<Vec<_>>()
            );
        }
    }
}

type BoxedQueue = Box<dyn TimerQueue<u64> + Send>;
type Make = fn() -> BoxedQueue;
type End = fn(&Single<BoxedQueue>, TimerId);

/// How often a driver wakes in a minute in which nothing is due: 200 timers were scheduled for that minute
/// and then ended or moved, and one waits for the next hour.
fn wakeup_count(queue: BoxedQueue, end: End) -> u64 {
    let driver = Single::new(queue, Manual::leaping());
    driver.schedule(Tick::new(3_600_000), 0).unwrap();
    let ids: Vec<TimerId> =
        (1..=200).map(|number| driver.schedule(Tick::new(number * 290), number).unwrap()).collect();
    ids.into_iter().for_each(|id| end(&driver, id));
    driver.run_until(Tick::new(60_000), &mut |_: FiredTimer<u64>| unreachable!("nothing is due"));
    driver.counts().wakeups
}

#[test]
fn what_was_cancelled_or_moved_does_not_wake_a_driver_one_by_one() {
    let queues: [(&str, Make); 5] = [
        ("chunked", || Box::new(Chunked::new())),
        ("lazy", || Box::new(heap::Lazy::new())),
        ("quaternary", || Box::new(heap::Quaternary::new())),
        ("red-black tree", || Box::new(RedBlackTree::new())),
        ("skip list", || Box::new(SkipList::new())),
    ];
    let ends: [(&str, End); 2] = [
        ("cancelled", |driver, id| assert!(driver.cancel(id).is_some())),
        ("moved", |driver, id| driver.reset(id, Tick::new(3_600_000)).unwrap()),
    ];
    for (name, queue) in queues {
        for (what, end) in ends {
            let count = wakeup_count(queue(), end);
            // The end of the minute is one.
            assert!(count <= 2, "{name}, {what}: woken {count} times");
        }
    }
}

#[test]
fn who_schedules_pauses_no_longer_than_a_tenth_of_a_second_in_all_while_the_clock_stands() {
    const CALL_COUNT: u64 = 400;
    let clock = Manual::stepped();
    let driver = Arc::new(Single::new(Chunked::new(), clock.clone()));
    clock.advance_to(Tick::new(100));
    driver.schedule(Tick::new(1), ()).unwrap();
    let calls = Arc::clone(&driver);
    let mut fire = move |_: FiredTimer<()>| {
        let calls = Arc::clone(&calls);
        let work = move || (0..CALL_COUNT).for_each(|_| assert!(calls.schedule(Tick::MAX, ()).is_ok()));
        thread::Builder::new().spawn(work).unwrap().join().unwrap();
    };
    driver.run_until(Tick::new(100), &mut fire);
    let held_back = Timers::<()>::counts(&*driver).held_back;
    assert!((1..=100).contains(&held_back), "{held_back} of {CALL_COUNT} calls made way");
}
