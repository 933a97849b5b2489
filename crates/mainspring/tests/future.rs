//! The future front, under a bare executor, and under tokio and smol.

use std::future::{pending, poll_fn, ready};
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures_core::Stream;
use mainspring::clock::Clock;
use mainspring::driver::{Counts, Part, Refusal, RefusedTimer, Report, Single, TimerId, Timers};
use mainspring::front::Futures;
use mainspring::front::future::{Interval, MissedTicks};
use mainspring::front::{RunTasks, Task};
use mainspring::{Handle, preset};
use mainspring_queue::wheel::Chunked;
use mainspring_queue::{ResetError, Tick};

use crate::desk::{Count, Desk, ms};

#[test]
fn a_sleep_is_ready_at_its_deadline_and_wakes_once() {
    let desk = Desk::new();
    let mut sleep = pin!(desk.futures.sleep(ms(10)));
    assert_eq!(desk.handle.pending_count(), 0, "the timer is registered by the first poll");
    assert!(desk.poll(sleep.as_mut()).is_pending());
    desk.pass_until(9);
    assert!(desk.poll(sleep.as_mut()).is_pending());
    assert_eq!((desk.wake_count(), sleep.is_elapsed()), (0, false));
    desk.pass_until(10);
    assert_eq!((desk.wake_count(), sleep.is_elapsed()), (1, true));
    assert!(desk.poll(sleep.as_mut()).is_ready());
}

#[test]
fn a_deadline_that_has_passed_is_ready_without_a_timer() {
    let desk = Desk::new();
    desk.clock.advance(ms(5));
    assert!(desk.poll(pin!(desk.futures.sleep(Duration::ZERO))).is_ready());
    assert!(desk.poll(pin!(desk.futures.sleep_until(Tick::new(3)))).is_ready());
    assert_eq!(desk.handle.counts().scheduled, 0);
}

#[test]
fn dropping_a_sleep_cancels_its_timer() {
    let desk = Desk::new();
    {
        let mut sleep = pin!(desk.futures.sleep(ms(10)));
        assert!(desk.poll(sleep.as_mut()).is_pending());
        assert_eq!(desk.handle.pending_count(), 1);
    }
    assert_eq!((desk.handle.pending_count(), desk.handle.counts().cancelled), (0, 1));
    desk.pass_until(20);
    assert_eq!(desk.wake_count(), 0);
}

#[test]
fn a_sleep_wakes_the_task_that_polled_it_last() {
    let desk = Desk::new();
    let mut sleep = pin!(desk.futures.sleep(ms(10)));
    let other = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&other));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(desk.poll(sleep.as_mut()).is_pending());
    desk.pass_until(10);
    assert_eq!((other.get(), desk.wake_count()), (0, 1));
}

#[test]
fn a_reset_sleep_is_ready_at_its_new_deadline() {
    let desk = Desk::new();
    let mut sleep = pin!(desk.futures.sleep(ms(10)));
    assert!(desk.poll(sleep.as_mut()).is_pending());
    sleep.reset_at(Tick::new(30));
    desk.pass_until(20);
    assert_eq!(desk.wake_count(), 0);
    sleep.reset_at(Tick::new(25));
    assert_eq!(sleep.deadline(), Tick::new(25));
    assert!(desk.poll(sleep.as_mut()).is_pending());
    desk.pass_until(25);
    assert!(desk.poll(sleep.as_mut()).is_ready());
    sleep.reset_at(Tick::new(40));
    assert!(desk.poll(sleep.as_mut()).is_pending(), "a sleep that was ready can be used again");
    desk.pass_until(40);
    assert!(desk.poll(sleep.as_mut()).is_ready());
    assert_eq!(desk.wake_count(), 2);
}

#[test]
fn a_timeout_gives_the_output_or_says_that_time_is_up() {
    let desk = Desk::new();
    assert_eq!(desk.poll(pin!(desk.futures.timeout(ms(10), ready(7)))), Poll::Ready(Ok(7)));
    let mut late = pin!(desk.futures.timeout(ms(10), pending::<()>()));
    assert!(desk.poll(late.as_mut()).is_pending());
    desk.pass_until(10);
    let Poll::Ready(Err(elapsed)) = desk.poll(late.as_mut()) else { panic!("its time is up") };
    assert_eq!(io::Error::from(elapsed).kind(), io::ErrorKind::TimedOut);
    let at_once = desk.futures.timeout_at(Tick::ZERO, ready(8));
    assert_eq!(desk.poll(pin!(at_once)), Poll::Ready(Ok(8)), "what is ready when time is up counts as ready");
}

/// The ticks of an interval of 10 ms that is busy from its second tick, at 20, until 44.
fn ticks(missed: MissedTicks) -> Vec<(u64, u64)> {
    let desk = Desk::new();
    let mut interval = desk.futures.interval_after(ms(10)).unwrap().with_missed_ticks(missed);
    let mut ticks = Vec::new();
    while ticks.len() < 6 {
        match desk.poll(pin!(interval.tick())) {
            Poll::Ready(due) => {
                ticks.push((due.get(), Clock::now(&desk.clock).get()));
                if ticks.len() == 2 {
                    desk.clock.advance(ms(24));
                }
            }
            Poll::Pending => desk.driver.run_until_idle(&mut RunTasks),
        }
    }
    ticks
}

#[test]
fn missed_ticks_are_skipped_unless_one_asks_otherwise() {
    let skipped = [(10, 10), (20, 20), (30, 44), (50, 50), (60, 60), (70, 70)];
    assert_eq!(ticks(MissedTicks::default()), skipped);
    assert_eq!(ticks(MissedTicks::Skip), skipped);
    assert_eq!(ticks(MissedTicks::Burst), [(10, 10), (20, 20), (30, 44), (40, 44), (50, 50), (60, 60)]);
    assert_eq!(ticks(MissedTicks::Delay), [(10, 10), (20, 20), (30, 44), (54, 54), (64, 64), (74, 74)]);
}

#[test]
fn an_interval_begins_where_its_constructor_says() {
    let desk = Desk::new();
    let mut at = desk.futures.interval_at(Tick::ZERO, ms(10)).unwrap();
    assert_eq!(desk.poll(pin!(at.tick())), Poll::Ready(Tick::ZERO));
    assert!(desk.poll(pin!(at.tick())).is_pending());
    let mut after = desk.futures.interval_after(ms(10)).unwrap();
    assert!(desk.poll(pin!(after.tick())).is_pending());
    desk.pass_until(5);
    after.reset();
    desk.pass_until(14);
    assert!(desk.poll(pin!(after.tick())).is_pending());
    desk.pass_until(15);
    assert_eq!(desk.poll(pin!(after.tick())), Poll::Ready(Tick::new(15)));
    assert!(matches!(desk.futures.interval_after(Duration::ZERO), Err(Refusal::ZeroPeriod)));
}

#[test]
fn an_interval_that_skips_loses_no_tick_while_it_is_polled_less_than_five_milliseconds_late() {
    let desk = Desk::new();
    let mut interval = desk.futures.interval_after(ms(2)).unwrap();
    let mut due = Vec::new();
    for tick in [2, 6, 10, 14, 30] {
        desk.pass_until(tick);
        while let Poll::Ready(tick) = desk.poll(pin!(interval.tick())) {
            due.push(tick.get());
        }
    }
    assert_eq!(due, [2, 4, 6, 8, 10, 12, 14, 16, 30], "at 30, 16 is late and all before 30 have been missed");
}

#[test]
fn no_tick_comes_after_the_engines_end_and_a_loop_of_them_waits() {
    let desk = Desk::new();
    let mut interval = desk.futures.interval(ms(10)).unwrap().with_missed_ticks(MissedTicks::Burst);
    assert_eq!(desk.poll(pin!(interval.tick())), Poll::Ready(Tick::ZERO));
    assert!(desk.poll(pin!(interval.tick())).is_pending());
    desk.pass_until(10);
    desk.driver.stop();
    assert_eq!(desk.poll(pin!(interval.tick())), Poll::Ready(Tick::new(10)), "it was due before the end");
    assert!((0..3).all(|_| desk.poll(pin!(interval.tick())).is_pending()));
    let interval: &mut Interval = &mut interval;
    let next = desk.poll(pin!(poll_fn(|context| Pin::new(&mut *interval).poll_next(context))));
    assert_eq!(next, Poll::Ready(None), "the stream ends");
}

#[test]
fn an_interval_is_a_stream() {
    let desk = Desk::new();
    let mut interval = desk.futures.interval_after(ms(10)).unwrap();
    let mut next = |desk: &Desk| {
        let interval: &mut Interval = &mut interval;
        desk.poll(pin!(poll_fn(|context| Pin::new(&mut *interval).poll_next(context))))
    };
    assert!(next(&desk).is_pending());
    desk.pass_until(10);
    assert_eq!(next(&desk), Poll::Ready(Some(Tick::new(10))));
}

/// Sleeps, times out and ticks on the real clock; nothing is early.
async fn everything(futures: Futures, handle: Handle<Task>) {
    let clock = Arc::clone(handle.clock());
    let earliest = clock.after(ms(3));
    futures.sleep(ms(3)).await;
    assert!(earliest <= clock.now());
    assert!(futures.timeout(ms(2), pending::<()>()).await.is_err());
    let mut interval = futures.interval_after(ms(1)).unwrap();
    for _ in 0..3 {
        let due = interval.tick().await;
        assert!(due <= clock.now());
    }
}

#[test]
fn the_same_futures_run_under_tokio_and_under_smol() {
    let engine = preset::mainspring().unwrap();
    let work = || everything(Futures::new(engine.handle().clone()), engine.handle().clone());
    let current_thread = tokio::runtime::Builder::new_current_thread().build().unwrap();
    current_thread.block_on(work());
    let workers = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let tasks: Vec<_> = (0..20).map(|_| workers.spawn(work())).collect();
    workers.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    smol::block_on(work());
}

#[test]
fn a_waker_is_woken_with_no_lock_held() {
    /// Uses the front while it is woken.
    struct Busy(Futures, Mutex<Vec<usize>>, Handle<Task>);

    impl Wake for Busy {
        fn wake(self: Arc<Self>) {
            let waker = Waker::from(Arc::new(Count::default()));
            let mut sleep = pin!(self.0.sleep(ms(5)));
            assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            self.1.lock().unwrap().push(self.2.pending_count());
        }
    }

    let desk = Desk::new();
    let busy = Arc::new(Busy(desk.futures.clone(), Mutex::default(), desk.handle.clone()));
    let waker = Waker::from(Arc::clone(&busy));
    let mut sleep = pin!(desk.futures.sleep(ms(10)));
    assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    desk.pass_until(10);
    assert_eq!(*busy.1.lock().unwrap(), [1]);
}

/// A driver that has no thread for a caller that asks, for a while.
struct Reluctant {
    driver: Arc<Single<Chunked<Task>>>,
    has_thread: AtomicBool,
}

impl Timers<Task> for Reluctant {
    fn schedule(&self, deadline: Tick, payload: Task) -> Result<TimerId, RefusedTimer<Task>> {
        self.driver.schedule(deadline, payload)
    }

    fn schedule_assured(&self, deadline: Tick, payload: Task) -> Result<TimerId, RefusedTimer<Task>> {
        self.driver.schedule_assured(deadline, payload)
    }

    fn local(&self) -> Result<Arc<dyn Part<Task>>, Refusal> {
        if self.has_thread.load(Ordering::SeqCst) {
            Timers::<Task>::local(&*self.driver)
        } else {
            Err(Refusal::NoThread)
        }
    }

    fn cancel(&self, id: TimerId) -> Option<Task> {
        self.driver.cancel(id)
    }

    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        Timers::<Task>::reset(&*self.driver, id, deadline)
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        Timers::<Task>::deadline(&*self.driver, id)
    }

    fn len(&self) -> usize {
        Timers::<Task>::len(&*self.driver)
    }

    fn counts(&self) -> Counts {
        Timers::<Task>::counts(&*self.driver)
    }

    fn report(&self) -> Report {
        Timers::<Task>::report(&*self.driver)
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        Timers::<Task>::clock(&*self.driver)
    }
}

#[test]
fn a_sleep_whose_driver_has_no_thread_is_ready_and_says_so_and_asks_again_when_it_is_reset() {
    let desk = Desk::new();
    let driver = Arc::new(Reluctant { driver: desk.driver.clone(), has_thread: AtomicBool::new(false) });
    let mut sleep = Futures::new(Handle::new(driver.clone())).sleep(ms(10));
    assert_eq!((sleep.refusal(), sleep.is_elapsed()), (None, false));
    for _ in 0..2 {
        assert_eq!(desk.poll(Pin::new(&mut sleep)), Poll::Ready(()));
        assert_eq!(sleep.refusal(), Some(Refusal::NoThread));
    }
    sleep.reset(ms(20));
    assert_eq!((sleep.refusal(), sleep.deadline()), (None, Tick::new(20)));
    driver.has_thread.store(true, Ordering::SeqCst);
    assert_eq!(desk.poll(Pin::new(&mut sleep)), Poll::Pending);
    assert_eq!(desk.handle.pending_count(), 1);
    desk.pass_until(20);
    assert_eq!((desk.wake_count(), desk.poll(Pin::new(&mut sleep))), (1, Poll::Ready(())));
    assert_eq!(sleep.refusal(), None);
}
