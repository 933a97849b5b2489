//! Requirements from the originals' own test suites and from their users, across all fronts.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use crossbeam_channel::TryRecvError;
use mainspring::clock::{Clock, Manual, Monotonic, Notifier};
use mainspring::driver::{Driver, PerWorker, Refusal, Single};
use mainspring::front::future::MissedTicks;
use mainspring::front::keyed_tasks::Repeat;
use mainspring::front::{Callbacks, Channels, Futures, KeyedTasks, RunTasks, Task, Threads};
use mainspring::{Handle, preset};
use mainspring_queue::wheel::Chunked;
use mainspring_queue::{Tick, heap};

use crate::desk::{Count, Desk, ms};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn an_interval_that_is_reset_ticks_a_period_later_and_not_a_tick_more() {
    let desk = Desk::new();
    let mut interval = desk.futures.interval_after(ms(300)).unwrap();
    desk.pass_until(401);
    interval.reset();
    desk.pass_until(700);
    assert!(desk.poll(pin!(interval.tick())).is_pending());
    desk.pass_until(701);
    assert_eq!(desk.poll(pin!(interval.tick())), Poll::Ready(Tick::new(701)));
    interval.reset_immediately();
    assert_eq!(desk.poll(pin!(interval.tick())), Poll::Ready(Tick::new(701)));
    interval.reset_after(ms(5));
    assert!(desk.poll(pin!(interval.tick())).is_pending());
    desk.pass_until(706);
    assert_eq!(desk.poll(pin!(interval.tick())), Poll::Ready(Tick::new(706)));
    interval.reset_at(Tick::new(710));
    desk.pass_until(710);
    assert_eq!(desk.poll(pin!(interval.tick())), Poll::Ready(Tick::new(710)));
    assert_eq!(interval.period(), ms(300));
}

#[test]
fn an_interval_that_delays_does_not_drift_by_what_nobody_notices() {
    let desk = Desk::new();
    let interval = desk.futures.interval_after(ms(10)).unwrap();
    let mut interval = interval.with_missed_ticks(MissedTicks::Delay);
    for due in [10, 20, 30] {
        desk.pass_until(due + 4);
        assert_eq!(desk.poll(pin!(interval.tick())), Poll::Ready(Tick::new(due)));
    }
    desk.pass_until(45);
    assert_eq!(desk.poll(pin!(interval.tick())), Poll::Ready(Tick::new(40)));
    desk.pass_until(54);
    assert!(desk.poll(pin!(interval.tick())).is_pending(), "five milliseconds late: the period begins again");
}

#[test]
fn the_next_tick_after_a_late_one_is_a_whole_period_away() {
    let clock = Manual::leaping();
    let desk = Desk::on(clock.clone());
    let interval = desk.futures.interval_after(ms(10)).unwrap();
    let mut interval = interval.with_missed_ticks(MissedTicks::Delay);
    desk.pass_until(25);
    clock.advance(Duration::from_micros(900));
    assert_eq!(desk.poll(pin!(interval.tick())), Poll::Ready(Tick::new(10)));
    desk.pass_until(35);
    assert!(desk.poll(pin!(interval.tick())).is_pending(), "35.0 is 9.1 ms after 25.9");
    desk.pass_until(36);
    assert!(desk.poll(pin!(interval.tick())).is_ready());
}

#[test]
fn a_sleep_is_told_of_the_end_of_its_engine() {
    let desk = Desk::new();
    let futures = &desk.futures;
    let mut sleep = pin!(futures.sleep(ms(1_000)));
    let mut timeout = pin!(futures.timeout(ms(1_000), std::future::pending::<()>()));
    assert!(desk.poll(sleep.as_mut()).is_pending());
    assert!(desk.poll(timeout.as_mut()).is_pending());
    let unfired = Driver::<Task>::shutdown(&*desk.driver);
    assert_eq!(unfired.len(), 2);
    drop(unfired);
    assert_eq!(desk.wake_count(), 2);
    assert!(desk.poll(sleep.as_mut()).is_ready());
    assert_eq!(sleep.refusal(), Some(Refusal::Stopped));
    assert!(desk.poll(timeout.as_mut()).is_ready());
}

#[test]
fn a_sleep_that_is_dropped_or_polled_by_another_task_wakes_nobody() {
    let desk = Desk::new();
    let futures = &desk.futures;
    let mut sleep = Box::pin(futures.sleep(ms(10)));
    assert!(desk.poll(sleep.as_mut()).is_pending());
    let other = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&other));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(desk.waker_count(), 1, "the first waker is gone");
    drop(waker);
    drop(sleep);
    assert_eq!((desk.wake_count(), other.get()), (0, 0));
    assert_eq!(Arc::strong_count(&other), 1);
}

#[test]
fn a_receiver_of_a_timer_is_told_of_the_end_of_its_engine() {
    let engine = preset::mainspring_on(Manual::stepped()).unwrap();
    let channels = Channels::new(engine.handle().clone());
    let timer = channels.timer(ms(1_000)).unwrap();
    let ticker = channels.ticker(ms(1_000)).unwrap();
    let after = channels.after(ms(1_000)).unwrap();
    let receiver = timer.receiver().clone();
    let waiter = thread::Builder::new().spawn(move || receiver.recv()).unwrap();
    drop(engine);
    assert!(waiter.join().unwrap().is_err(), "the channel is disconnected");
    assert_eq!(ticker.receiver().try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(after.try_recv(), Err(TryRecvError::Disconnected));
    assert!(!timer.stop(), "it is no longer pending");
    assert_eq!(timer.reset(ms(1)), Err(Refusal::Stopped));
    assert!(ticker.reset(ms(1)).is_err());
}

#[test]
fn a_run_until_idle_ends_when_another_thread_cancels_the_last_timer() {
    let clock = Manual::stepped();
    let desk = Desk::on(clock.clone());
    let id = desk.handle.schedule_after(Duration::from_secs(3_600), Task::new(|_| ())).unwrap();
    let runner = thread::Builder::new().spawn({
        let driver = Arc::clone(&desk.driver);
        move || driver.run_until_idle(&mut RunTasks)
    });
    while clock.wait_count() == 0 {
        thread::yield_now();
    }
    drop(desk.handle.cancel(id));
    runner.unwrap().join().unwrap();
    assert_eq!(desk.clock.now(), Tick::ZERO, "no time has passed");
}

#[test]
fn functions_on_an_executor_run_beside_each_other_and_may_wait_for_timers() {
    let threads = Threads::at_most(10);
    let clock = Monotonic::new;
    let engines = [
        preset::go_1_9_with(clock(), threads.run_tasks()).unwrap(),
        preset::go_1_10_with(clock(), threads.run_tasks()),
        preset::go_1_14_with(clock(), 2, &threads.run_tasks()).unwrap(),
        preset::timingwheel_with(clock(), ms(1), 20, threads.run_tasks()).unwrap(),
    ];
    for engine in engines {
        let channels = Channels::new(engine.handle().clone());
        let inside = Arc::new(AtomicUsize::new(0));
        let (sender, receiver) = channel();
        let timers: Vec<_> = (0..10)
            .map(|_| {
                let (inside, sender) = (Arc::clone(&inside), sender.clone());
                let (after_func, channels) = (channels.clone(), channels.clone());
                let function = move |_: mainspring::front::Firing| {
                    inside.fetch_add(1, Ordering::SeqCst);
                    // Continues when all ten are inside, which are looked for by another timer.
                    while inside.load(Ordering::SeqCst) < 10 {
                        channels.after(ms(1)).unwrap().recv_timeout(PATIENCE).unwrap();
                    }
                    sender.send(()).unwrap();
                };
                after_func.after_func(ms(1), function).unwrap()
            })
            .collect();
        for _ in &timers {
            receiver.recv_timeout(PATIENCE).expect("ten run at once");
        }
    }
    assert_eq!(threads.thread_count(), 10);
}

#[test]
fn an_executor_starts_no_more_threads_than_its_limit_and_loses_no_job() {
    let threads = Threads::at_most(3);
    let (sender, receiver) = channel();
    let notifiers: Vec<Notifier> = (0..3).map(|_| Notifier::new()).collect();
    for notifier in &notifiers {
        let (notifier, sender) = (notifier.clone(), sender.clone());
        threads.execute(Box::new(move || {
            notifier.wait(None);
            sender.send(0).unwrap();
        }));
    }
    for job in 1..=20 {
        let sender = sender.clone();
        threads.execute(Box::new(move || {
            sender.send(job).unwrap();
            panic!("a job that panics harms no other");
        }));
    }
    assert_eq!(threads.thread_count(), 3);
    drop(threads);
    notifiers.iter().for_each(Notifier::notify);
    drop(sender);
    let mut done: Vec<i32> = receiver.iter().collect();
    done.sort_unstable();
    assert_eq!(done[..3], [0, 0, 0]);
    assert_eq!(done[3..], (1..=20).collect::<Vec<_>>());
}

#[test]
fn a_zero_delay_is_over_at_once() {
    let engine = preset::mainspring().unwrap();
    let clock = engine.handle().clock();
    assert!(clock.after(Duration::ZERO) <= clock.now());
    let channels = Channels::new(engine.handle().clone());
    let timer = channels.timer(Duration::ZERO).unwrap();
    assert!(timer.receiver().try_recv().is_ok(), "it can be received without waiting, as since Go 1.23");
    timer.reset(Duration::ZERO).unwrap();
    assert!(timer.stop(), "nobody received it");
    assert!(timer.receiver().try_recv().is_err());
    let futures = Futures::new(engine.handle().clone());
    let mut sleep = pin!(futures.sleep(Duration::ZERO));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn what_is_scheduled_for_the_past_for_ever_keeps_no_other_timer_from_running() {
    struct Rescheduler {
        callbacks: Callbacks,
        is_over: Arc<AtomicBool>,
        clock: Manual,
    }
    fn again(own: &Arc<Rescheduler>) {
        let inner = Arc::clone(own);
        let run = move |_: mainspring::front::Firing| {
            inner.clock.advance(Duration::from_micros(100));
            if !inner.is_over.load(Ordering::SeqCst) {
                again(&inner);
            }
        };
        own.callbacks.at(Tick::ZERO, run).unwrap();
    }
    let clock = Manual::leaping();
    let driver = Arc::new(Single::new(heap::Quaternary::new(), clock.clone()));
    let callbacks = Callbacks::new(Handle::new(driver.clone()));
    let is_over = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_over);
    callbacks.after(ms(20), move |_| flag.store(true, Ordering::SeqCst)).unwrap();
    again(&Arc::new(Rescheduler { callbacks, is_over, clock }));
    driver.run_until_idle(&mut RunTasks);
}

#[test]
fn nothing_repeats_beyond_the_end_of_time() {
    let desk = Desk::new();
    let runs = Arc::new(AtomicUsize::new(0));
    let count = |runs: &Arc<AtomicUsize>| {
        let runs = Arc::clone(runs);
        move |_: mainspring::front::Firing| _ = runs.fetch_add(1, Ordering::SeqCst)
    };
    let callbacks = Callbacks::new(desk.handle.clone());
    let periodic = callbacks.every(ms(10), count(&runs)).unwrap();
    let tasks = KeyedTasks::new(desk.handle.clone());
    tasks.schedule("task", ms(10), Repeat::Forever, count(&runs)).unwrap();
    let ticker = Channels::new(desk.handle.clone()).ticker(ms(10)).unwrap();
    desk.clock.advance_to(Tick::MAX);
    desk.driver.run_until_idle(&mut RunTasks);
    assert_eq!(runs.load(Ordering::SeqCst), 2, "each has run, late");
    assert!(ticker.receiver().try_recv().is_ok());
    assert_eq!(desk.handle.pending_count(), 0);
    assert!(!periodic.cancel(), "no run would have come");
    assert_eq!(tasks.clear(), 0, "a task that never runs again is gone");
}

#[test]
fn a_rule_that_panics_loses_no_run_and_is_reported() {
    let desk = Desk::new();
    let runs = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&runs);
    let mut left = 2;
    let rule = move |last: Tick| {
        left -= 1;
        assert!(left > -1, "the rule panics");
        Some(last.after(10))
    };
    let callbacks = Callbacks::new(desk.handle.clone());
    let periodic =
        callbacks.following(rule, move |firing| noted.lock().unwrap().push(firing.deadline.get())).unwrap();
    desk.driver.run_until_idle(&mut RunTasks);
    assert_eq!(*runs.lock().unwrap(), [10, 20], "the run before the rule that panics takes place");
    assert_eq!(desk.handle.counts().panicked, 1);
    assert!(!periodic.cancel(), "no run would have come");
}

#[test]
fn what_a_workers_thread_schedules_between_its_turns_goes_to_its_own_shard() {
    let clock = Manual::stepped();
    let driver = Arc::new(PerWorker::new(3, Chunked::<Task>::new, clock));
    let handle: Handle<Task> = Handle::new(driver.clone());
    let mut worker = driver.worker().unwrap();
    let other = driver.worker().unwrap();
    let _last = driver.worker().unwrap();
    worker.fire_due(&mut RunTasks);
    let shards: Vec<String> = (0..6)
        .map(|_| handle.schedule_at(Tick::new(5), Task::new(|_| ())).unwrap().to_string())
        .map(|id| id.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(shards, ["0"; 6]);
    assert_eq!(worker.next_wakeup(), Some(Tick::new(5)));
    assert_eq!(other.next_wakeup(), None);
    drop(worker);
    let shards: std::collections::BTreeSet<String> = (0..6)
        .map(|_| handle.schedule_at(Tick::new(5), Task::new(|_| ())).unwrap().to_string())
        .map(|id| id.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(shards.len(), 3, "no worker of this thread's is left");
}

#[test]
fn presets_take_the_parameters_of_their_originals() {
    let clock = Manual::stepped();
    let netty = preset::netty_with(clock.clone(), ms(10), 64, usize::MAX).unwrap();
    let kafka = preset::kafka_with(clock.clone(), 10, 5).unwrap();
    let default = preset::mainspring_on(clock.clone()).unwrap();
    let (sender, receiver) = channel();
    for (name, engine) in [(0, &netty), (1, &kafka), (2, &default)] {
        let sender = sender.clone();
        engine.callbacks().after(ms(15), move |firing| sender.send((name, firing.now)).unwrap()).unwrap();
    }
    clock.advance_to(Tick::new(15));
    assert_eq!(
        receiver.recv_timeout(PATIENCE),
        Ok((2, Tick::new(15))),
        "a slot of the others lasts until 20"
    );
    clock.advance_to(Tick::new(20));
    let mut others: Vec<_> = (0..2).map(|_| receiver.recv_timeout(PATIENCE).unwrap()).collect();
    others.sort_unstable();
    assert_eq!(others, [(0, Tick::new(20)), (1, Tick::new(20))]);
}

#[test]
fn a_cancel_that_waits_returns_when_the_callback_has_ended() {
    let engine = preset::mainspring_on(Manual::stepped()).unwrap();
    let callbacks = engine.callbacks();
    let (begun, has_begun) = channel();
    let (free, is_free) = channel::<()>();
    let has_ended = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&has_ended);
    let timer = callbacks
        .after(Duration::ZERO, move |_| {
            begun.send(()).unwrap();
            is_free.recv_timeout(PATIENCE).unwrap();
            flag.store(true, Ordering::SeqCst);
        })
        .unwrap();
    has_begun.recv_timeout(PATIENCE).unwrap();
    assert!(timer.is_running());
    assert!(!timer.cancel(), "it runs");
    assert!(!has_ended.load(Ordering::SeqCst), "a cancel does not wait");
    let waiter = thread::Builder::new().spawn({
        let timer = timer.clone();
        move || timer.cancel_and_wait()
    });
    free.send(()).unwrap();
    assert!(!waiter.unwrap().join().unwrap());
    assert!(has_ended.load(Ordering::SeqCst));
    assert!(!timer.cancel_and_wait(), "it has ended: nothing to wait for");
    assert!(callbacks.after(Duration::from_secs(1), |_| ()).unwrap().cancel_and_wait());
}

#[test]
fn a_cancel_that_waits_for_a_periodic_callback_returns_when_its_run_has_ended() {
    let clock = Manual::stepped();
    let engine = preset::mainspring_on(clock.clone()).unwrap();
    let (begun, has_begun) = channel();
    let (free, is_free) = channel::<()>();
    let inside = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&inside);
    let periodic = engine.callbacks().every(ms(10), move |_| {
        own.fetch_add(1, Ordering::SeqCst);
        begun.send(()).unwrap();
        is_free.recv_timeout(PATIENCE).unwrap();
        own.fetch_sub(1, Ordering::SeqCst);
    });
    let periodic = periodic.unwrap();
    clock.advance_to(Tick::new(10));
    has_begun.recv_timeout(PATIENCE).unwrap();
    free.send(()).unwrap();
    assert!(periodic.cancel_and_wait());
    assert_eq!(inside.load(Ordering::SeqCst), 0);
    assert!(!periodic.cancel_and_wait());
}

#[test]
fn a_callback_that_cancels_itself_and_waits_does_not_wait_for_itself() {
    let engine = preset::mainspring_on(Manual::stepped()).unwrap();
    let own: Arc<Mutex<Option<mainspring::front::callback::Timer>>> = Arc::default();
    let (sender, receiver) = channel();
    let inner = Arc::clone(&own);
    let mut guard = own.lock().unwrap();
    let run = move |_: mainspring::front::Firing| {
        let timer = inner.lock().unwrap().clone().unwrap();
        sender.send((timer.is_running(), timer.cancel_and_wait())).unwrap();
    };
    *guard = Some(engine.callbacks().after(Duration::ZERO, run).unwrap());
    drop(guard);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok((true, false)));
}

#[test]
fn who_schedules_makes_way_while_firing_is_behind_and_no_longer() {
    let clock = Manual::stepped();
    let desk = Desk::on(clock.clone());
    let callbacks = Callbacks::new(desk.handle.clone());
    let elsewhere = |handle: &Handle<Task>| {
        let handle = handle.clone();
        let work = move || handle.schedule_at(Tick::MAX, Task::new(|_| ())).map(|_| ());
        thread::Builder::new().spawn(work).unwrap().join().unwrap().unwrap();
    };
    let counts = Arc::new(Mutex::new(Vec::new()));
    let (noted, handle, inner_clock) = (Arc::clone(&counts), desk.handle.clone(), clock.clone());
    let run = move |_: mainspring::front::Firing| {
        let mut noted = noted.lock().unwrap();
        noted.push(handle.counts().held_back);
        handle.schedule_at(Tick::MAX, Task::new(|_| ())).unwrap();
        noted.push(handle.counts().held_back);
        elsewhere(&handle);
        noted.push(handle.counts().held_back);
        inner_clock.advance(ms(101));
        elsewhere(&handle);
        noted.push(handle.counts().held_back);
    };
    callbacks.at(Tick::new(1), run).unwrap();
    clock.advance_to(Tick::new(100));
    desk.pass_until(100);
    assert_eq!(
        *counts.lock().unwrap(),
        [0, 0, 1, 1],
        "the thread that fires never pauses; another does; a callback that takes long holds up nobody for more than 100 ms"
    );
    elsewhere(&desk.handle);
    assert_eq!(desk.handle.counts().held_back, 1, "it has caught up");
}
