//! Ends of a timer, run through every interleaving: it fires, it is cancelled, its driver is shut down, and
//! somebody waits.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use mainspring::Handle;
use mainspring::clock::{Manual, Notifier};
use mainspring::driver::{Driver, FiredTimer, Single, Timers};
use mainspring::front::future::Sleep;
use mainspring::front::{Callbacks, Channels, Futures, RunTasks, Task, Threads};
use mainspring_queue::{Naive, Tick};

use super::bounded;

/// Notifies when it is woken, and counts.
#[derive(Default)]
struct WakeCounter {
    notifier: Notifier,
    count: AtomicUsize,
}

impl Wake for WakeCounter {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.notifier.notify();
    }
}

/// Polls a sleep until it is ready, sleeping in between.
fn wait_for(sleep: &mut Sleep, woken: &Arc<WakeCounter>) {
    let waker = Waker::from(Arc::clone(woken));
    while Pin::new(&mut *sleep).poll(&mut Context::from_waker(&waker)).is_pending() {
        woken.notifier.wait(None);
    }
}

#[test]
fn a_sleep_that_another_task_polls_is_ready_in_the_end() {
    bounded(|| {
        let clock = Manual::stepped();
        let driver = Arc::new(Single::new(Naive::new(), clock.clone()));
        let futures = Futures::new(Handle::<Task>::new(driver.clone()));
        let mut sleep = futures.sleep_until(Tick::new(1));
        let first = Waker::from(Arc::new(WakeCounter::default()));
        assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&first)).is_pending());
        let runner = thread::spawn(move || {
            clock.advance_to(Tick::new(1));
            driver.run_until_idle(&mut RunTasks);
        });
        // The timer fires before, between or after the looks of this poll, and wakes the one waker or the
        // other.
        wait_for(&mut sleep, &Arc::new(WakeCounter::default()));
        runner.join().unwrap();
    });
}

#[test]
fn a_sleep_that_is_dropped_leaves_no_waker_and_wakes_once_at_most() {
    bounded(|| {
        let clock = Manual::stepped();
        let driver = Arc::new(Single::new(Naive::new(), clock.clone()));
        let futures = Futures::new(Handle::<Task>::new(driver.clone()));
        let mut sleep = futures.sleep_until(Tick::new(1));
        let woken = Arc::new(WakeCounter::default());
        let waker = Waker::from(Arc::clone(&woken));
        assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending());
        clock.advance_to(Tick::new(1));
        let runner = thread::spawn(move || driver.run_until_idle(&mut RunTasks));
        drop(sleep);
        runner.join().unwrap();
        drop(waker);
        assert!(woken.count.load(Ordering::SeqCst) <= 1);
        assert_eq!(Arc::strong_count(&woken), 1);
    });
}

#[test]
fn a_sleep_is_told_of_a_shutdown() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Manual::stepped()));
        let futures = Futures::new(Handle::<Task>::new(driver.clone()));
        let ender = thread::spawn(move || drop(Driver::<Task>::shutdown(&*driver)));
        wait_for(&mut futures.sleep_until(Tick::new(1)), &Arc::new(WakeCounter::default()));
        ender.join().unwrap();
    });
}

#[test]
fn a_cancel_that_waits_returns_after_the_callback_or_prevents_it() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Manual::stepped()));
        let callbacks = Callbacks::new(Handle::<Task>::new(driver.clone()));
        let run_count = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&run_count);
        let timer =
            callbacks.after(Duration::ZERO, move |_| _ = count.fetch_add(1, Ordering::SeqCst)).unwrap();
        let runner = thread::spawn(move || driver.run_until_idle(&mut RunTasks));
        let is_cancelled = timer.cancel_and_wait();
        // Whether it runs or not is settled by now.
        assert_eq!(run_count.load(Ordering::SeqCst), usize::from(!is_cancelled));
        runner.join().unwrap();
        assert_eq!(run_count.load(Ordering::SeqCst), usize::from(!is_cancelled));
    });
}

#[test]
fn a_run_until_idle_ends_whenever_the_last_timer_is_cancelled() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Manual::stepped()));
        let id = driver.schedule(Tick::new(7), 7).unwrap();
        let runner = thread::spawn({
            let driver = Arc::clone(&driver);
            move || driver.run_until_idle(&mut |_: FiredTimer<u32>| unreachable!("no time passes"))
        });
        assert_eq!(driver.cancel(id), Some(7));
        runner.join().unwrap();
    });
}

#[test]
fn a_channel_is_disconnected_by_a_shutdown_or_its_timer_was_stopped() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Manual::stepped()));
        let timer = Channels::new(Handle::<Task>::new(driver.clone())).timer(Duration::from_secs(1)).unwrap();
        let ender = thread::spawn(move || drop(Driver::<Task>::shutdown(&*driver)));
        let is_stopped = timer.stop();
        ender.join().unwrap();
        let is_disconnected =
            timer.receiver().try_recv() == Err(crossbeam_channel::TryRecvError::Disconnected);
        assert_ne!(is_stopped, is_disconnected);
    });
}

#[test]
fn an_executor_runs_every_job_and_ends() {
    bounded(|| {
        let threads = Threads::at_most(1);
        let run_count = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let count = Arc::clone(&run_count);
            threads.execute(Box::new(move || _ = count.fetch_add(1, Ordering::SeqCst)));
        }
        drop(threads);
        // Loom fails where a thread is left waiting.
    });
}
