//! Eight threads schedule, cancel and reset under every driver; in the end every count agrees and nothing was
//! early. An argument says for how many seconds per driver.

mod work;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mainspring::Engine;
use mainspring::clock::{Clock, Monotonic};
use mainspring::driver::poll::{AnySource, Ready, Serve};
use mainspring::driver::{Driver, Fire, FiredTimer, PerWorker, Poll, Sharded, Single, Striped};
use mainspring_queue::wheel::Chunked;

fn run(name: &str, seconds: u64, driver: Arc<impl Driver<u64> + 'static>) {
    let engine = Engine::from_driver(driver);
    let handle = engine.handle().clone();
    let end = handle.clock().after(Duration::from_secs(seconds));
    let cancelled: u64 = thread::scope(|scope| {
        let handle = &handle;
        let threads: Vec<_> =
            (1..=8).map(|seed| scope.spawn(move || work::disturb(handle, end, seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    });
    let unfired = engine.shutdown().len() as u64;
    let counts = handle.counts();
    println!("{name:<12} {counts:?}, {unfired} unfired");
    assert_eq!(counts.cancelled, cancelled);
    assert_eq!(counts.scheduled, counts.fired + counts.cancelled + unfired);
    assert_eq!(counts.panicked, 0, "nothing was early");
}

#[derive(Clone)]
struct Watch;

impl Fire<u64> for Watch {
    fn fire(&mut self, timer: FiredTimer<u64>) {
        assert!(timer.deadline <= timer.now, "early");
    }
}

impl Serve<u64, AnySource> for Watch {
    fn ready(&mut self, _: Ready<AnySource>) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(1), |text| text.parse())?;
    let clock: Arc<dyn Clock> = Arc::new(Monotonic::new());
    let single = Arc::new(Single::new(Chunked::new(), Arc::clone(&clock)));
    single.start(Watch)?;
    run("single", seconds, single);
    let striped = Arc::new(Striped::for_cores(Chunked::new, Arc::clone(&clock)));
    striped.start(Watch)?;
    run("striped", seconds, striped);
    run("sharded 64", seconds, Arc::new(Sharded::new(64, Chunked::new, Arc::clone(&clock), Watch)));
    let poll = Arc::new(Poll::new(Chunked::new(), Arc::clone(&clock))?);
    poll.start(Watch)?;
    run("poll", seconds, poll);
    let workers = Arc::new(PerWorker::new(2, Chunked::new, clock));
    workers.start(&Watch)?;
    run("per worker 2", seconds, workers);
    Ok(())
}
