//! The end of a driver that several threads bring about at once, its own among them.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use mainspring::clock::{Manual, Monotonic};
use mainspring::driver::poll::{AnySource, Interest, Ready, Serve};
use mainspring::driver::{Driver, Fire, FiredTimer, PerWorker, Poll, Sharded, Single, Striped, Timers};
use mainspring::front::{Callbacks, RunTasks, Task, Threads};
use mainspring::{Engine, Handle, preset};
use mainspring_queue::{RedBlackTree, Tick};

/// Longer than any of these tests should take; when it is over they fail instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs tasks in a loop without sockets.
struct WithoutSockets;

impl Fire<Task> for WithoutSockets {
    fn fire(&mut self, fired: FiredTimer<Task>) {
        RunTasks.fire(fired);
    }
}

impl Serve<Task, AnySource> for WithoutSockets {
    fn ready(&mut self, _: Ready<AnySource>) {
        unreachable!("there are no sources");
    }
}

type Start = fn() -> Arc<dyn Driver<Task>>;

const DRIVERS: [(&str, Start); 5] = [
    ("single", || {
        let driver = Arc::new(Single::new(RedBlackTree::new(), Arc::new(Manual::stepped())));
        driver.start(RunTasks).unwrap();
        driver
    }),
    ("striped", || {
        let driver = Arc::new(Striped::new(2, RedBlackTree::new, Arc::new(Manual::stepped())));
        driver.start(RunTasks).unwrap();
        driver
    }),
    ("sharded", || Arc::new(Sharded::new(2, RedBlackTree::new, Arc::new(Manual::stepped()), RunTasks))),
    ("per worker", || {
        let driver = Arc::new(PerWorker::new(2, RedBlackTree::new, Arc::new(Manual::stepped())));
        driver.start(&RunTasks).unwrap();
        driver
    }),
    ("poll", || {
        let driver = Arc::new(Poll::<_>::new(RedBlackTree::new(), Arc::new(Manual::stepped())).unwrap());
        driver.start(WithoutSockets).unwrap();
        driver
    }),
];

/// Runs a trial with every driver, and fails if one hangs.
fn with_each(trial: fn(Arc<dyn Driver<Task>>)) {
    for (name, start) in DRIVERS {
        let (done, is_done) = channel();
        thread::Builder::new()
            .spawn(move || {
                trial(start());
                done.send(()).unwrap();
            })
            .unwrap();
        is_done.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

fn handle(driver: &Arc<dyn Driver<Task>>) -> Handle<Task> {
    Handle::new(driver.clone())
}

/// Waits until another thread's shutdown has begun.
fn wait_for_stop(handle: &Handle<Task>) {
    while let Ok(timer) = handle.schedule_at(Tick::MAX, Task::new(|_| ())) {
        drop(handle.cancel(timer));
        thread::yield_now();
    }
}

#[test]
fn a_callback_may_shut_down_a_driver_that_another_thread_is_shutting_down() {
    with_each(|driver| {
        let (entered, is_entered) = channel();
        let inner = Arc::downgrade(&driver);
        let shut_down = move |_| {
            let driver = inner.upgrade().unwrap();
            entered.send(()).unwrap();
            wait_for_stop(&handle(&driver));
            drop(driver.shutdown());
        };
        Callbacks::new(handle(&driver)).at(Tick::ZERO, shut_down).unwrap();
        is_entered.recv_timeout(PATIENCE).unwrap();
        drop(driver.shutdown());
    });
}

#[test]
fn two_callbacks_may_shut_down_their_driver_at_once() {
    let driver = Arc::new(PerWorker::new(2, RedBlackTree::new, Arc::new(Monotonic::new())));
    driver.start(&RunTasks).unwrap();
    let both = Arc::new(Barrier::new(2));
    let (ended, has_ended) = channel();
    for _ in 0..2 {
        let (inner, both, ended) = (Arc::downgrade(&driver), Arc::clone(&both), ended.clone());
        let shut_down = move |_| {
            both.wait();
            drop(inner.upgrade().map(|driver| Driver::<Task>::shutdown(&*driver)));
            ended.send(()).unwrap();
        };
        Callbacks::new(Handle::new(driver.clone())).at(Tick::ZERO, shut_down).unwrap();
    }
    (0..2).for_each(|_| has_ended.recv_timeout(PATIENCE).unwrap());
}

#[test]
fn every_shutdown_waits_for_what_is_firing() {
    with_each(|driver| {
        let (entered, is_entered) = channel();
        let (free, is_free) = channel::<()>();
        let has_ended = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&has_ended);
        let fire = move |_| {
            entered.send(()).unwrap();
            is_free.recv_timeout(PATIENCE).unwrap();
            ends.store(true, Ordering::SeqCst);
        };
        Callbacks::new(handle(&driver)).at(Tick::ZERO, fire).unwrap();
        is_entered.recv_timeout(PATIENCE).unwrap();
        thread::scope(|scope| {
            let shut_down = || {
                drop(driver.shutdown());
                assert!(has_ended.load(Ordering::SeqCst), "the callback has returned");
            };
            let first = scope.spawn(shut_down);
            wait_for_stop(&handle(&driver));
            let second = scope.spawn(shut_down);
            // The second has the time to return at once, if it does.
            (0..1_000).for_each(|_| thread::yield_now());
            free.send(()).unwrap();
            first.join().unwrap();
            second.join().unwrap();
        });
    });
}

/// A source whose drop panics.
struct Fragile(UnixStream);

impl AsFd for Fragile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        panic!("this drop panics");
    }
}

#[test]
fn a_source_that_panics_when_dropped_keeps_no_timer_from_being_handed_back() {
    let clock = Arc::new(Manual::stepped());
    let driver: Poll<RedBlackTree<u32>, Fragile> = Poll::new(RedBlackTree::new(), clock).unwrap();
    let (source, _peer) = UnixStream::pair().unwrap();
    driver.sources().register(Fragile(source), Interest::Readable).unwrap();
    driver.schedule(Tick::new(5), 7).unwrap();
    assert_eq!(driver.shutdown().len(), 1);
}

#[test]
fn an_engines_end_waits_for_callbacks_that_it_has_handed_to_threads() {
    let threads = Threads::at_most(1);
    let engine = Arc::new(preset::go_1_9_with(Manual::stepped(), threads.run_tasks()).unwrap());
    let (begun, has_begun) = channel();
    let (free, is_free) = channel::<()>();
    let ended = Arc::new(AtomicU32::new(0));
    let first = Arc::clone(&ended);
    let run = move |_: mainspring::Firing| {
        begun.send(()).unwrap();
        is_free.recv().unwrap();
        first.fetch_add(1, Ordering::SeqCst);
    };
    engine.callbacks().after(Duration::ZERO, run).unwrap();
    has_begun.recv().unwrap();
    let second = Arc::clone(&ended);
    engine.callbacks().after(Duration::ZERO, move |_| _ = second.fetch_add(1, Ordering::SeqCst)).unwrap();
    while threads.waiting_count() == 0 {
        thread::yield_now();
    }
    let (own, seen) = (Arc::clone(&engine), Arc::clone(&ended));
    let end = thread::Builder::new().spawn(move || {
        own.shutdown();
        seen.load(Ordering::SeqCst)
    });
    while engine.callbacks().after(Duration::MAX, |_| ()).is_ok() {
        thread::yield_now();
    }
    free.send(()).unwrap();
    assert_eq!(end.unwrap().join().unwrap(), 2, "the one that ran, and the one that waited for its thread");
}

#[test]
fn a_callback_on_a_thread_of_an_executor_may_end_its_own_engine() {
    let threads = Threads::at_most(2);
    let engine = Arc::new(preset::go_1_9_with(Manual::stepped(), threads.run_tasks()).unwrap());
    let (sender, unfired) = channel();
    let own = Arc::clone(&engine);
    engine.callbacks().after(Duration::ZERO, move |_| sender.send(own.shutdown().len()).unwrap()).unwrap();
    assert_eq!(unfired.recv(), Ok(0));
    engine.shutdown();
}

#[test]
fn threads_are_joined_when_all_has_ended_and_say_what_is_left_before() {
    let threads = Threads::at_most(1);
    assert_eq!(threads.join(Duration::MAX), 0, "nothing runs");
    let (free, is_free) = channel::<()>();
    threads.execute(Box::new(move || is_free.recv().unwrap()));
    threads.execute(Box::new(|| panic!("on purpose")));
    assert_eq!(threads.join(Duration::ZERO), 2);
    assert_eq!(threads.join(Duration::from_millis(1)), 2, "one runs, one waits");
    free.send(()).unwrap();
    assert_eq!(threads.join(Duration::MAX), 0);
    threads.execute(Box::new(|| ()));
    assert_eq!(threads.join(Duration::MAX), 0, "it continues");
}

#[test]
fn engines_end_in_the_destructors_of_a_threads_variables() {
    thread_local! {
        static FIRST: Engine = Engine::new().unwrap();
        static LAST: Engine = Engine::new().unwrap();
    }
    let thread = thread::Builder::new().spawn(|| {
        FIRST.with(|engine| assert_eq!(engine.handle().pending_count(), 0));
        LAST.with(|engine| assert_eq!(engine.handle().pending_count(), 0));
    });
    thread.unwrap().join().unwrap();
}
