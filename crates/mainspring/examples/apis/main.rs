//! Measures the cost of each API of the default engine, beside tokio's sleep in the same run: `cargo run
//! --release --example apis`.
//!
//! A thread holds a hundred thousand timers, and again and again cancels one of them and schedules another. A
//! row says how many million such pairs all threads make in a second of their own time, which other programs
//! take less from than from the wall's. The first argument says for how many seconds per row, others which
//! rows.

mod fire;
mod pairs;

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use mainspring::clock::{Clock, Monotonic};
use nix::time::{ClockId, clock_gettime};

/// How many timers each thread holds.
const TIMER_COUNT: usize = 100_000;

/// So many pairs are made between two looks at the clock.
const BATCH: usize = 10_000;

/// One thread's work: a pair of schedule and cancel in a place.
trait Pair {
    fn make(&mut self, place: usize, delay_ms: u64);
}

impl<F: FnMut(usize, u64)> Pair for F {
    fn make(&mut self, place: usize, delay_ms: u64) {
        self(place, delay_ms);
    }
}

/// A row of the table.
struct Row {
    name: &'static str,
    /// Makes one thread's work, on that thread.
    start: Box<dyn Fn() -> Box<dyn Pair> + Send + Sync>,
}

/// Numbers that look random: Marsaglia's xorshift.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn pair(&mut self) -> (usize, u64) {
        let number = self.next();
        ((number >> 32) as usize % TIMER_COUNT, 1_000 + number % 60_000)
    }
}

/// How long the calling thread has been running.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("Linux has that clock");
    Duration::from(time)
}

fn measure(row: &Row, thread_count: u64, duration: Duration) -> f64 {
    let clock = Monotonic::with_resolution(Duration::from_nanos(1));
    let barrier = Barrier::new(thread_count as usize);
    let work = |seed: u64| {
        let mut pair = (row.start)();
        let mut numbers = Numbers((seed * 0x9E37_79B9_7F4A_7C15) | 1);
        (0..TIMER_COUNT).for_each(|place| pair.make(place, numbers.pair().1));
        barrier.wait();
        let (start, end) = (thread_time(), clock.after(duration));
        let mut count = 0;
        while clock.now() < end {
            for _ in 0..BATCH {
                let (place, delay_ms) = numbers.pair();
                pair.make(place, delay_ms);
            }
            count += BATCH;
        }
        let rate = count as f64 / (thread_time() - start).as_nanos() as f64 * 1_000.0;
        barrier.wait();
        rate
    };
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (1..=thread_count).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: f64 = arguments.next().map_or(Ok(0.5), |text| text.parse())?;
    let wanted: Vec<String> = arguments.collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|it| name.contains(it.as_str()));
    println!("{:<28} {:>8} {:>8} {:>8}   million pairs a second", "", "1 thread", "2", "4");
    for row in pairs::rows()?.into_iter().filter(|row| is_wanted(row.name)) {
        let row = Arc::new(row);
        let rates = [1, 2, 4].map(|count| measure(&row, count, Duration::from_secs_f64(seconds)));
        println!("{:<28} {:>8.2} {:>8.2} {:>8.2}", row.name, rates[0], rates[1], rates[2]);
    }
    if is_wanted("fire") {
        fire::measure()?;
    }
    Ok(())
}
