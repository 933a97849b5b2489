//! The protocols between threads, run through every interleaving by loom.
//!
//! ```text
//! RUSTFLAGS="--cfg mainspring_loom" cargo test -p mainspring --features channel --test loom
//! ```
//!
//! A wake-up that is lost shows as a deadlock, which loom reports with the interleaving that leads there.
//! Models with workers are bounded to three preemptions, which their authors found to show nearly all faults.
#![cfg(mainspring_loom)]
#![allow(clippy::unwrap_used, reason = "these are tests, their helpers included")]

#[path = "loom/beside.rs"]
mod beside;

#[path = "loom/discard.rs"]
mod discard;

#[path = "loom/ends.rs"]
mod ends;

use std::sync::Arc;
use std::time::Duration;

use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Condvar, Mutex};
use loom::thread;
use mainspring::Handle;
use mainspring::clock::{Clock, Manual, Notifier, Parker};
use mainspring::driver::{Driver, FiredTimer, PerWorker, Sharded, Single, Striped, Timers};
use mainspring::front::keyed_tasks::Repeat;
use mainspring::front::{Callbacks, Channels, Firing, KeyedTasks, RunTasks, RunTasksOn, Task};
use mainspring_queue::{Naive, Tick};

/// How often a thread is taken off in the middle of something.
const PREEMPTION_MAX: usize = 3;

fn bounded(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTION_MAX);
    builder.max_branches = 20_000;
    builder.check(model);
}

#[test]
fn a_notification_is_never_lost() {
    loom::model(|| {
        let notifier = Notifier::new();
        let is_done = Arc::new(AtomicBool::new(false));
        let ringer = thread::spawn({
            let (notifier, is_done) = (notifier.clone(), Arc::clone(&is_done));
            move || {
                is_done.store(true, Ordering::SeqCst);
                notifier.notify();
            }
        });
        while !is_done.load(Ordering::SeqCst) {
            notifier.wait(None);
        }
        ringer.join().unwrap();
    });
}

/// A parker at which nothing arrives, as a poller without sockets is one.
#[derive(Debug, Default)]
struct IdleParker {
    is_unparked: Mutex<bool>,
    condition: Condvar,
}

impl Parker for IdleParker {
    fn wait(&self, _: Option<Duration>) -> bool {
        let mut is_unparked = self.is_unparked.lock().unwrap();
        while !*is_unparked {
            is_unparked = self.condition.wait(is_unparked).unwrap();
        }
        *is_unparked = false;
        false
    }

    fn unpark(&self) {
        *self.is_unparked.lock().unwrap() = true;
        self.condition.notify_one();
    }
}

#[test]
fn a_notification_is_not_lost_where_the_thread_waits_at_a_parker() {
    loom::model(|| {
        let notifier = Notifier::at(Arc::new(IdleParker::default()));
        let is_done = Arc::new(AtomicBool::new(false));
        let ringer = thread::spawn({
            let (notifier, is_done) = (notifier.clone(), Arc::clone(&is_done));
            move || {
                notifier.notify();
                is_done.store(true, Ordering::SeqCst);
                notifier.notify();
            }
        });
        while !is_done.load(Ordering::SeqCst) {
            notifier.wait(None);
        }
        ringer.join().unwrap();
    });
}

#[test]
fn time_that_moves_reaches_a_thread_that_waits_at_a_parker() {
    loom::model(|| {
        let clock = Manual::stepped();
        let mover = thread::spawn({
            let clock = clock.clone();
            move || clock.advance_to(Tick::new(10))
        });
        clock.wait(&Notifier::at(Arc::new(IdleParker::default())), Some(Tick::new(10)));
        assert_eq!(clock.now(), Tick::new(10));
        mover.join().unwrap();
    });
}

#[test]
fn a_single_driver_never_sleeps_past_a_timer_that_is_scheduled_meanwhile() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Arc::new(Manual::stepped())));
        let runner = thread::spawn({
            let driver = Arc::clone(&driver);
            // If the timer is missed the driver sleeps for ever, and loom says so.
            move || driver.run(&mut |_: FiredTimer<u32>| driver.stop())
        });
        driver.schedule(Tick::ZERO, 7).unwrap();
        runner.join().unwrap();
    });
}

#[test]
fn a_striped_driver_never_sleeps_past_a_timer_of_any_stripe() {
    bounded(|| {
        let driver = Arc::new(Striped::new(2, Naive::new, Arc::new(Manual::stepped())));
        let runner = thread::spawn({
            let driver = Arc::clone(&driver);
            move || {
                driver.run(&mut |_: FiredTimer<u32>| drop(Driver::<u32>::shutdown(&*driver)));
            }
        });
        driver.schedule(Tick::ZERO, 7).unwrap();
        runner.join().unwrap();
    });
}

#[test]
fn a_timer_is_fired_or_cancelled_and_never_both() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Arc::new(Manual::stepped())));
        let id = driver.schedule(Tick::ZERO, 7).unwrap();
        let runner = thread::spawn({
            let driver = Arc::clone(&driver);
            move || {
                let mut fired = Vec::new();
                driver.run_until_idle(&mut |timer: FiredTimer<u32>| fired.push(timer.payload));
                fired
            }
        });
        let mut left: Vec<u32> = driver.cancel(id).into_iter().collect();
        left.extend(runner.join().unwrap());
        assert_eq!(left, [7]);
    });
}

#[test]
fn a_timer_of_a_channel_is_stopped_or_fires_and_never_both_or_neither() {
    bounded(|| {
        let clock = Manual::stepped();
        let driver = Arc::new(Single::new(Naive::new(), Arc::new(clock.clone())));
        let timer =
            Channels::new(Handle::<Task>::new(driver.clone())).timer(Duration::from_millis(1)).unwrap();
        clock.advance_to(Tick::new(1));
        let runner = thread::spawn(move || driver.run_until_idle(&mut RunTasks));
        let is_stopped = timer.stop();
        runner.join().unwrap();
        assert_ne!(timer.receiver().try_recv().is_ok(), is_stopped);
    });
}

#[test]
fn a_function_is_called_once_unless_a_reset_says_that_it_prevented_that() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Arc::new(Manual::stepped())));
        let channels = Channels::new(Handle::<Task>::new(driver.clone()));
        let call_count = Arc::new(AtomicUsize::new(0));
        let timer = channels.after_func(Duration::ZERO, {
            let call_count = Arc::clone(&call_count);
            move |_| _ = call_count.fetch_add(1, Ordering::SeqCst)
        });
        let timer = timer.unwrap();
        let runner = thread::spawn({
            let driver = driver.clone();
            move || driver.run(&mut RunTasks)
        });
        let was_pending = timer.reset(Duration::from_secs(1)).unwrap();
        driver.stop();
        runner.join().unwrap();
        assert_eq!(call_count.load(Ordering::SeqCst), usize::from(!was_pending));
    });
}

/// Runs each task that fires on a thread of its own; these threads are to be joined.
#[derive(Clone, Default)]
struct OnThreads(Arc<std::sync::Mutex<Vec<thread::JoinHandle<()>>>>);

impl OnThreads {
    fn run(&self) -> RunTasksOn<impl FnMut(Box<dyn FnOnce() + Send>) + Send + use<>> {
        let threads = Arc::clone(&self.0);
        RunTasksOn::new(move |job| threads.lock().unwrap().push(thread::spawn(job)))
    }

    fn join(&self) {
        let threads = std::mem::take(&mut *self.0.lock().unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// Finds out whether something is run by two threads at once, and counts its runs.
#[derive(Clone, Default)]
struct Gate {
    is_inside: Arc<AtomicBool>,
    run_count: Arc<AtomicUsize>,
}

impl Gate {
    fn pass(&self) {
        assert!(!self.is_inside.swap(true, Ordering::SeqCst), "one run at a time");
        self.run_count.fetch_add(1, Ordering::SeqCst);
        self.is_inside.store(false, Ordering::SeqCst);
    }

    fn run_count(&self) -> usize {
        self.run_count.load(Ordering::SeqCst)
    }
}

/// A driver that the model's own thread runs, and what it fires on other threads.
struct Desk {
    driver: Arc<Single<Naive<Task>>>,
    clock: Manual,
    handle: Handle<Task>,
    threads: OnThreads,
    gate: Gate,
}

impl Desk {
    fn new() -> Desk {
        let clock = Manual::stepped();
        clock.advance_to(Tick::new(10));
        let driver = Arc::new(Single::new(Naive::new(), Arc::new(clock.clone())));
        let handle = Handle::new(driver.clone());
        Desk { driver, clock, handle, threads: OnThreads::default(), gate: Gate::default() }
    }

    fn pass(&self) -> impl FnMut(Firing) + Send + use<> {
        let gate = self.gate.clone();
        move |_| gate.pass()
    }

    /// Hands over all that is due.
    fn fire(&self) {
        self.driver.run_until(Tick::ZERO, &mut self.threads.run());
    }

    /// The same until nothing is due and nothing runs.
    fn settle(&self) {
        for _ in 0..3 {
            self.threads.join();
            self.fire();
        }
        self.threads.join();
    }
}

#[test]
fn a_cancelled_periodic_callback_does_not_go_on_after_the_run_that_has_begun() {
    bounded(|| {
        let desk = Desk::new();
        // Three runs, all of them due.
        let mut left = 3;
        let next = move |last: Tick| {
            left -= 1;
            (0 <= left).then_some(last)
        };
        let periodic = Callbacks::new(desk.handle.clone()).following(next, desk.pass()).unwrap();
        desk.fire();
        let has_ended = periodic.cancel();
        let run_count = desk.gate.run_count();
        desk.settle();
        assert!(desk.gate.run_count() <= run_count + 1, "one at most had begun");
        assert!(has_ended || desk.gate.run_count() == 3, "no run would have come");
        assert_eq!(desk.handle.pending_count(), 0);
    });
}

#[test]
fn a_removed_task_does_not_go_on_after_the_run_that_has_begun() {
    bounded(|| {
        let desk = Desk::new();
        let tasks = KeyedTasks::new(desk.handle.clone());
        tasks.schedule(1, Duration::from_millis(1), Repeat::Forever, desk.pass()).unwrap();
        desk.clock.advance_to(Tick::new(11));
        desk.fire();
        assert!(tasks.remove(&1));
        desk.settle();
        assert!(desk.gate.run_count() <= 1);
        assert_eq!((tasks.len(), desk.handle.pending_count()), (0, 0));
    });
}

#[test]
fn a_function_that_is_reset_during_its_call_is_called_again_after_it() {
    bounded(|| {
        let desk = Desk::new();
        let channels = Channels::new(desk.handle.clone());
        let timer = channels.after_func(Duration::ZERO, desk.pass()).unwrap();
        desk.fire();
        let was_pending = timer.reset(Duration::ZERO).unwrap();
        desk.fire();
        desk.settle();
        assert_eq!(desk.gate.run_count(), if was_pending { 1 } else { 2 });
        assert!(!timer.stop());
    });
}

#[test]
fn shutdown_and_schedule_meet_without_losing_a_payload() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Arc::new(Manual::stepped())));
        let scheduler = thread::spawn({
            let driver = Arc::clone(&driver);
            move || driver.schedule(Tick::new(5), 7).err().map(mainspring::driver::RefusedTimer::into_payload)
        });
        let unfired = Driver::<u32>::shutdown(&*driver).len();
        let refused = scheduler.join().unwrap();
        let late = Driver::<u32>::shutdown(&*driver).len();
        assert_eq!(unfired + late + usize::from(refused.is_some()), 1);
    });
}

#[test]
fn a_shard_starts_one_thread_for_two_that_need_it_and_shutdown_waits_for_it() {
    bounded(|| {
        let fired = Arc::new(Mutex::new(Vec::new()));
        let fire = {
            let fired = Arc::clone(&fired);
            move |timer: FiredTimer<u32>| fired.lock().unwrap().push(timer.payload)
        };
        let driver = Arc::new(Sharded::new(1, Naive::new, Arc::new(Manual::stepped()), fire));
        let other = thread::spawn({
            let driver = Arc::clone(&driver);
            move || driver.schedule(Tick::ZERO, 1).unwrap()
        });
        driver.schedule(Tick::ZERO, 2).unwrap();
        other.join().unwrap();
        assert_eq!(driver.thread_count(), 1);
        let unfired = driver.shutdown().len();
        assert_eq!(fired.lock().unwrap().len() + unfired, 2);
    });
}

#[test]
fn two_shutdowns_both_wait_for_what_is_firing() {
    bounded(|| {
        let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (begins, ends) = (Arc::clone(&begun), Arc::clone(&ended));
        let fire = move |_: FiredTimer<u32>| {
            begins.fetch_add(1, Ordering::SeqCst);
            ends.fetch_add(1, Ordering::SeqCst);
        };
        let driver = Arc::new(Sharded::new(1, Naive::new, Arc::new(Manual::stepped()), fire));
        driver.schedule(Tick::ZERO, 7).unwrap();
        let shut_down = move || {
            drop(Driver::<u32>::shutdown(&*driver));
            assert_eq!(begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst));
        };
        let other = thread::spawn(shut_down.clone());
        shut_down();
        other.join().unwrap();
    });
}

#[test]
fn a_callback_and_another_thread_may_shut_a_driver_down_at_once() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Arc::new(Manual::stepped())));
        let inner = Arc::downgrade(&driver);
        driver.schedule(Tick::ZERO, 7_u32).unwrap();
        driver
            .start(move |_: FiredTimer<u32>| {
                drop(inner.upgrade().map(|driver| Driver::<u32>::shutdown(&*driver)));
            })
            .unwrap();
        drop(Driver::<u32>::shutdown(&*driver));
    });
}

/// A driver with workers at tick 10, so that what is scheduled for tick 0 is overdue even for thieves.
fn workers(count: usize) -> (Arc<PerWorker<Naive<Task>>>, Handle<Task>) {
    let clock = Manual::stepped();
    clock.advance_to(Tick::new(10));
    let driver = Arc::new(PerWorker::new(count, Naive::new, Arc::new(clock)));
    let handle = Handle::new(driver.clone());
    (driver, handle)
}

#[test]
fn a_worker_never_sleeps_past_a_timer_that_another_thread_schedules() {
    bounded(|| {
        let (driver, handle) = workers(1);
        let mut worker = driver.worker().unwrap();
        let runner = thread::spawn(move || worker.run(&mut RunTasks));
        let stop = Arc::downgrade(&driver);
        let task = Task::new(move |_| drop(Driver::<Task>::shutdown(&*stop.upgrade().unwrap())));
        handle.schedule_at(Tick::ZERO, task).unwrap();
        runner.join().unwrap();
    });
}

#[test]
fn what_a_stuck_worker_scheduled_is_run_by_a_sleeper() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(1);
    builder.max_branches = 20_000;
    builder.check(|| {
        let (driver, handle) = workers(2);
        let freed = Notifier::new();
        let inner = handle.clone();
        let order = Arc::new(Mutex::new(Vec::new()));
        let (stuck_order, freeing_order) = (Arc::clone(&order), Arc::clone(&order));
        let stop = Arc::downgrade(&driver);
        let stuck = Task::new(move |_| {
            let notifier = freed.clone();
            let freeing = Task::new(move |_| {
                freeing_order.lock().unwrap().push("freed");
                notifier.notify();
            });
            inner.schedule_at(Tick::ZERO, freeing).unwrap();
            freed.wait(None);
            stuck_order.lock().unwrap().push("continues");
            drop(Driver::<Task>::shutdown(&*stop.upgrade().unwrap()));
        });
        handle.schedule_at(Tick::ZERO, stuck).unwrap();
        let runners: Vec<_> = (0..2)
            .map(|_| {
                let mut worker = driver.worker().unwrap();
                thread::spawn(move || worker.run(&mut RunTasks))
            })
            .collect();
        for runner in runners {
            runner.join().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["freed", "continues"]);
    });
}
