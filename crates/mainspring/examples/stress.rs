//! Eight threads schedule, cancel and reset under every driver; in the end every count agrees and nothing was early.
//! An argument says for how many seconds per driver: 1 without it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mainspring::clock::{Clock, Monotonic};
use mainspring::driver::{Driver, Fired, PerWorker, Sharded, Single};
use mainspring::{Engine, Handle};
use mainspring_queue::wheel::Bitmap;

/// Works until `end`; returns how many timers it cancelled.
fn disturb(handle: &Handle<u64>, end: mainspring_queue::Tick, seed: u64) -> u64 {
    let mut cancelled = 0;
    let mut step = seed;
    while handle.clock().now() < end {
        step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let id = handle.schedule_after(Duration::from_micros(step >> 50), step).expect("the engine runs");
        match step >> 62 {
            0 => cancelled += u64::from(handle.cancel(id).is_some()),
            1 => drop(handle.reset_after(id, Duration::from_millis(step >> 60))),
            _ => (),
        }
    }
    cancelled
}

fn run(name: &str, seconds: u64, driver: Arc<impl Driver<u64> + 'static>) {
    let engine = Engine::of(driver);
    let handle = engine.handle().clone();
    let end = handle.clock().after(Duration::from_secs(seconds));
    let cancelled: u64 = thread::scope(|scope| {
        let handle = &handle;
        let threads: Vec<_> = (1..=8).map(|seed| scope.spawn(move || disturb(handle, end, seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    });
    let unfired = engine.shutdown().len() as u64;
    let counts = handle.counts();
    println!("{name:<12} {counts:?}, {unfired} unfired");
    assert_eq!(counts.cancelled, cancelled);
    assert_eq!(counts.scheduled, counts.fired + counts.cancelled + unfired);
    assert_eq!(counts.panicked, 0, "nothing was early");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(1), |text| text.parse())?;
    let clock: Arc<dyn Clock> = Arc::new(Monotonic::new());
    let fire = |timer: Fired<u64>| assert!(timer.deadline <= timer.now, "early");
    let single = Arc::new(Single::new(Bitmap::new(), Arc::clone(&clock)));
    single.start(fire)?;
    run("single", seconds, single);
    run("sharded 64", seconds, Arc::new(Sharded::new(64, Bitmap::new, Arc::clone(&clock), fire)));
    let workers = Arc::new(PerWorker::new(2, Bitmap::new, clock));
    workers.start(&fire)?;
    run("per worker 2", seconds, workers);
    Ok(())
}
