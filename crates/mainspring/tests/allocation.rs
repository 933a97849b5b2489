//! Timers allocate nothing: each front's cycle, counted by an allocator on the thread that schedules and
//! fires.
//!
//! What is counted happens on the test's own thread: the driver runs there, on a clock that leaps. A cycle is
//! run some times before, so that tables have the size that they keep.
#![allow(clippy::unwrap_used, reason = "these are tests, their helpers included")]

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use allocation_counter::measure;
use mainspring::Handle;
use mainspring::clock::Manual;
use mainspring::driver::Single;
use mainspring::front::Sleep;
use mainspring::front::callback::Timer;
use mainspring::front::keyed_tasks::Repeat;
use mainspring::front::{Callbacks, Channels, Futures, KeyedTasks, RunTasks, Task};
use mainspring_queue::wheel::Chunked;

/// So many cycles go before, more than a step of the queue holds timers.
const WARM_UP_COUNT: usize = 2_000;

/// So many are counted.
const COUNT: usize = 1_000;

const MS: Duration = Duration::from_millis(1);

struct Desk {
    driver: Arc<Single<Chunked<Task>>>,
    handle: Handle<Task>,
    clock: Manual,
}

impl Desk {
    fn new() -> Desk {
        let clock = Manual::leaping();
        let driver = Arc::new(Single::new(Chunked::new(), clock.clone()));
        Desk { handle: Handle::new(driver.clone()), driver, clock }
    }

    /// Fires what is due within so many milliseconds.
    fn pass(&self, milliseconds: u64) {
        use mainspring::clock::Clock;
        self.driver.run_until(self.clock.now().after(milliseconds), &mut RunTasks);
    }
}

/// How many allocations so many cycles make once some have been made.
fn allocation_count(mut cycle: impl FnMut()) -> u64 {
    (0..WARM_UP_COUNT).for_each(|_| cycle());
    measure(|| (0..COUNT).for_each(|_| cycle())).count_total
}

fn poll(sleep: &mut Sleep, waker: &Waker) -> bool {
    Pin::new(sleep).poll(&mut Context::from_waker(waker)).is_ready()
}

#[test]
fn a_callback_of_up_to_forty_bytes_allocates_nothing_be_it_cancelled_reset_or_fired() {
    let desk = Desk::new();
    let callbacks = Callbacks::new(desk.handle.clone());
    let words = [1_usize, 2, 3, 4, 5];
    let callback = move |_: mainspring::front::Firing| _ = std::hint::black_box(words);
    assert_eq!(size_of_val(&callback), 40);
    let cancelled = allocation_count(|| {
        let timer = callbacks.after(MS * 100, callback).unwrap();
        assert!(timer.reset(MS * 200));
        assert!(timer.cancel());
    });
    let fired = allocation_count(|| {
        drop(callbacks.after(MS, callback).unwrap());
        desk.pass(1);
    });
    assert_eq!((cancelled, fired), (0, 0));
    let more = [0_usize; 6];
    let larger = allocation_count(|| {
        let timer = callbacks.after(MS, move |_| _ = std::hint::black_box(more)).unwrap();
        assert!(timer.cancel());
    });
    assert_eq!(larger, COUNT as u64, "the allocator counts: a larger one has a box");
}

#[test]
fn a_sleep_allocates_nothing_be_it_dropped_polled_by_others_reset_or_fired() {
    let desk = Desk::new();
    let futures = Futures::new(desk.handle.clone());
    let wakers = [Waker::noop().clone(), Waker::from(Arc::new(NoopWaker))];
    let dropped = allocation_count(|| {
        let mut sleep = futures.sleep(MS * 100);
        assert!(!poll(&mut sleep, &wakers[0]));
        assert!(!poll(&mut sleep, &wakers[1]), "another task polls it");
        sleep.reset(MS * 200);
        assert!(!poll(&mut sleep, &wakers[1]));
    });
    let fired = allocation_count(|| {
        let mut sleep = futures.sleep(MS);
        assert!(!poll(&mut sleep, &wakers[1]));
        desk.pass(1);
        assert!(poll(&mut sleep, &wakers[1]));
    });
    assert_eq!((dropped, fired), (0, 0));
}

struct NoopWaker;

impl std::task::Wake for NoopWaker {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn a_period_allocates_nothing_on_any_face() {
    let desk = Desk::new();
    let callbacks = Callbacks::new(desk.handle.clone());
    let periodic = callbacks.every(MS, |_| ()).unwrap();
    let of_callback = allocation_count(|| desk.pass(1));
    assert!(periodic.cancel());
    let ticker = Channels::new(desk.handle.clone()).ticker(MS).unwrap();
    let of_ticker = allocation_count(|| {
        desk.pass(1);
        ticker.receiver().try_recv().unwrap();
    });
    ticker.stop();
    let tasks = KeyedTasks::new(desk.handle.clone());
    tasks.schedule(7_u64, MS, Repeat::Forever, |_| ()).unwrap();
    let of_task = allocation_count(|| desk.pass(1));
    tasks.clear();
    let mut interval = Futures::new(desk.handle.clone()).interval_after(MS).unwrap();
    let waker = Waker::noop();
    let of_interval = allocation_count(|| {
        assert!(interval.poll_tick(&mut Context::from_waker(waker)).is_pending());
        desk.pass(1);
        assert!(interval.poll_tick(&mut Context::from_waker(waker)).is_ready());
    });
    assert_eq!((of_callback, of_ticker, of_task, of_interval), (0, 0, 0, 0));
}

#[test]
fn a_timer_of_a_channel_that_is_used_again_allocates_nothing() {
    let desk = Desk::new();
    let channels = Channels::new(desk.handle.clone());
    let timer = channels.timer(MS).unwrap();
    let stopped = allocation_count(|| {
        timer.reset(MS * 100).unwrap();
        assert!(timer.stop());
    });
    let fired = allocation_count(|| {
        timer.reset(MS).unwrap();
        desk.pass(1);
        timer.receiver().try_recv().unwrap();
    });
    assert_eq!((stopped, fired), (0, 0));
}

#[test]
fn a_crowd_that_has_gone_leaves_no_memory_behind() {
    /// A table of less than 2 MiB, which is the allocator's.
    const CROWD_COUNT: u64 = 30_000;
    let desk = Desk::new();
    let callbacks = Callbacks::new(desk.handle.clone());
    let ends: [fn(Timer); 2] = [|timer| assert!(timer.cancel()), drop];
    for end in ends {
        let info = measure(|| {
            let delays = (1..=CROWD_COUNT).map(Duration::from_millis);
            let timers: Vec<Timer> = delays.map(|delay| callbacks.after(delay, |_| ()).unwrap()).collect();
            timers.into_iter().for_each(end);
            desk.pass(CROWD_COUNT + 1);
        });
        assert!(1_000_000 < info.bytes_max, "{info:?}");
        assert!(info.bytes_current < 200_000, "{info:?}");
    }
}
