//! Measures the cost of firing: a million timers that are due at once.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use mainspring::Handle;
use mainspring::clock::Manual;
use mainspring::driver::{Fire, FiredTimer, Single};
use mainspring::front::{Callbacks, Futures, RunTasks, Task};
use mainspring_queue::wheel::Chunked;

use crate::thread_time;
use mainspring_queue::{Tick, TimerQueue};

const TIMER_COUNT: u32 = 1_000_000;

fn stopwatch(name: &str, run: impl FnOnce()) {
    let start = thread_time();
    run();
    println!(
        "{name:<36} {:>6.1} ns each",
        (thread_time() - start).as_nanos() as f64 / f64::from(TIMER_COUNT)
    );
}

/// A driver at tick 0 whose timers are all due at tick 1,000.
fn driver<T: Send>() -> (Arc<Single<Chunked<T>>>, Manual) {
    let clock = Manual::stepped();
    (Arc::new(Single::new(Chunked::new(), Arc::new(clock.clone()))), clock)
}

fn fire_all<T: Send>(name: &str, driver: &Single<Chunked<T>>, clock: &Manual, fire: &mut impl Fire<T>) {
    clock.advance_to(Tick::new(1_000));
    stopwatch(name, || driver.run_until(Tick::new(1_000), fire));
}

pub(crate) fn measure() -> Result<(), Box<dyn std::error::Error>> {
    let mut queue = Chunked::new();
    (0..TIMER_COUNT).for_each(|number| _ = queue.schedule(Tick::new(1_000), u64::from(number)));
    queue.advance(Tick::new(1_000));
    stopwatch("fire: queue alone", || while queue.pop_expired().is_some() {});

    let (single, clock) = driver();
    let handle = Handle::<u64>::new(single.clone());
    for number in 0..TIMER_COUNT {
        handle.schedule_at(Tick::new(1_000), u64::from(number)).map_err(|refused| refused.reason)?;
    }
    fire_all("fire: handle", &single, &clock, &mut |_: FiredTimer<u64>| ());

    let (single, clock) = driver();
    let callbacks = Callbacks::new(Handle::<Task>::new(single.clone()));
    for _ in 0..TIMER_COUNT {
        callbacks.at(Tick::new(1_000), |_| ())?;
    }
    fire_all("fire: callbacks", &single, &clock, &mut RunTasks);

    let (single, clock) = driver();
    let futures = Futures::new(Handle::<Task>::new(single.clone()));
    let mut sleeps: Vec<_> = (0..TIMER_COUNT).map(|_| futures.sleep_until(Tick::new(1_000))).collect();
    for sleep in &mut sleeps {
        assert!(Pin::new(sleep).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    fire_all("fire: futures", &single, &clock, &mut RunTasks);
    Ok(())
}
