//! Slow repeated timers keep one worker busy and no more, on every front: four workers, on a clock moved by
//! hand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use jiff::tz::TimeZone;
use mainspring::Engine;
use mainspring::clock::wall::ManualWall;
use mainspring::clock::{Clock, Manual};
use mainspring::front::keyed_tasks::Repeat;
use mainspring::front::{Calendar, Channels, KeyedTasks, Task};
use mainspring::preset;
use mainspring_cron::{Expression, Schedule};
use mainspring_queue::Tick;

const PATIENCE: Duration = Duration::from_secs(60);
const WORKER_COUNT: usize = 4;
/// How long each period lasts, in ticks.
const PERIOD: Duration = Duration::from_millis(10);
/// So many ticks are enough for every worker to take whatever it would take.
const TICK_COUNT: u64 = 300;

/// Workers, and one closure that repeats, whose first run lasts until it is freed.
struct Desk {
    clock: Manual,
    engine: Engine<Task>,
    /// The deadlines of the runs that have begun.
    begun: Arc<Mutex<Vec<u64>>>,
    inside: Arc<AtomicUsize>,
    free: Sender<()>,
    is_free: Arc<Mutex<Receiver<()>>>,
}

impl Desk {
    fn new() -> Desk {
        let clock = Manual::stepped();
        let engine = preset::go_1_14(Arc::new(clock.clone()), WORKER_COUNT).unwrap();
        let (free, is_free) = channel();
        let is_free = Arc::new(Mutex::new(is_free));
        Desk { clock, engine, begun: Arc::default(), inside: Arc::default(), free, is_free }
    }

    /// The closure. A run notes its deadline; the first one waits.
    fn run(&self) -> impl FnMut(u64) + Send + 'static {
        let (begun, inside) = (Arc::clone(&self.begun), Arc::clone(&self.inside));
        let is_free = Arc::clone(&self.is_free);
        move |deadline| {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one run at a time");
            let is_first = {
                let mut begun = begun.lock().unwrap();
                begun.push(deadline);
                begun.len() == 1
            };
            if is_first {
                is_free.lock().unwrap().recv_timeout(PATIENCE).unwrap();
            }
            inside.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Moves time, tick by tick, until something is so.
    fn step_until(&self, is_so: impl Fn() -> bool) {
        for _ in 0..10_000_000 {
            if is_so() {
                return;
            }
            self.clock.advance(Duration::from_millis(1));
            thread::yield_now();
        }
        panic!("it never became so");
    }

    fn begun(&self) -> Vec<u64> {
        self.begun.lock().unwrap().clone()
    }

    /// Moves time to the first run, and waits until it has begun.
    fn begin(&self, tick: u64) {
        self.clock.advance_to(Tick::new(tick));
        while self.begun().is_empty() {
            thread::yield_now();
        }
    }

    /// Lets time pass, and finds all workers but one at leisure.
    fn expect_one_busy_worker(&self) {
        let end = Tick::new(TICK_COUNT);
        self.step_until(|| end <= self.clock.now());
        let fired = Arc::new(AtomicUsize::new(0));
        for _ in 0..WORKER_COUNT {
            let fired = Arc::clone(&fired);
            let count = move |_| _ = fired.fetch_add(1, Ordering::SeqCst);
            self.engine.callbacks().after(Duration::from_millis(1), count).unwrap();
        }
        self.step_until(|| fired.load(Ordering::SeqCst) == WORKER_COUNT);
        assert_eq!(self.begun().len(), 1);
    }

    /// Frees the first run, and lets time pass until so many have begun.
    fn free_until(&self, run_count: usize) -> Vec<u64> {
        self.free.send(()).unwrap();
        self.step_until(|| run_count <= self.begun().len());
        let begun = self.begun();
        assert!(begun.is_sorted_by(|earlier, later| earlier < later), "{begun:?}");
        begun
    }

    /// Frees the first run after the end of the repeats, and finds that none begins.
    fn expect_the_end(&self) {
        self.free.send(()).unwrap();
        self.step_until(|| self.inside.load(Ordering::SeqCst) == 0);
        let now = self.clock.now();
        self.step_until(|| now.after(TICK_COUNT) <= self.clock.now());
        assert_eq!(self.begun().len(), 1);
        assert_eq!(self.engine.handle().pending_count(), 0);
    }
}

#[test]
fn a_slow_periodic_callback_takes_one_worker_and_skips_what_it_missed() {
    let desk = Desk::new();
    let mut run = desk.run();
    let periodic = desk.engine.callbacks().every(PERIOD, move |firing| run(firing.deadline.get())).unwrap();
    desk.begin(10);
    desk.expect_one_busy_worker();
    let begun = desk.free_until(4);
    assert_eq!(begun[..2], [10, 20], "the one that was due during the run comes late");
    assert!(TICK_COUNT < begun[2], "the others are skipped: {begun:?}");
    assert!(periodic.cancel());
}

#[test]
fn no_run_begins_after_a_slow_periodic_callback_was_cancelled() {
    let desk = Desk::new();
    let mut run = desk.run();
    let periodic = desk.engine.callbacks().every(PERIOD, move |firing| run(firing.deadline.get())).unwrap();
    desk.begin(10);
    desk.expect_one_busy_worker();
    assert!(periodic.cancel());
    desk.expect_the_end();
}

#[test]
fn a_slow_keyed_task_takes_one_worker_and_skips_what_it_missed() {
    let desk = Desk::new();
    let tasks = KeyedTasks::new(desk.engine.handle().clone());
    let mut run = desk.run();
    tasks.schedule("slow", PERIOD, Repeat::Forever, move |firing| run(firing.deadline.get())).unwrap();
    desk.begin(10);
    desk.expect_one_busy_worker();
    let begun = desk.free_until(4);
    assert_eq!(begun[..2], [10, 20], "the one that was due during the run comes late");
    assert!(TICK_COUNT < begun[2], "the others are skipped: {begun:?}");
}

#[test]
fn no_run_begins_after_a_slow_keyed_task_was_removed() {
    let desk = Desk::new();
    let tasks = KeyedTasks::new(desk.engine.handle().clone());
    let mut run = desk.run();
    tasks.schedule("slow", PERIOD, Repeat::Forever, move |firing| run(firing.deadline.get())).unwrap();
    desk.begin(10);
    desk.expect_one_busy_worker();
    assert!(tasks.remove(&"slow"));
    desk.expect_the_end();
}

#[test]
fn a_slow_function_that_is_reset_meanwhile_takes_one_worker() {
    let desk = Desk::new();
    let channels = Channels::new(desk.engine.handle().clone());
    let mut run = desk.run();
    let timer = channels.after_func(PERIOD, move |firing| run(firing.deadline.get())).unwrap();
    desk.begin(10);
    assert_eq!(timer.reset(PERIOD), Ok(false));
    let reset = desk.clock.now().get();
    desk.expect_one_busy_worker();
    assert_eq!(desk.free_until(2), [10, reset + 10], "the call waited for the one before it");
    assert!(!timer.stop());
}

#[test]
fn a_call_that_waits_for_the_one_before_it_can_be_stopped() {
    let desk = Desk::new();
    let channels = Channels::new(desk.engine.handle().clone());
    let mut run = desk.run();
    let timer = channels.after_func(PERIOD, move |firing| run(firing.deadline.get())).unwrap();
    desk.begin(10);
    assert_eq!(timer.reset(PERIOD), Ok(false));
    desk.expect_one_busy_worker();
    assert!(timer.stop());
    desk.expect_the_end();
}

fn calendar(desk: &Desk) -> (Calendar, Schedule) {
    let noon = "2026-03-02T12:00:00Z".parse().unwrap();
    let wall = ManualWall::new(desk.clock.clone(), noon);
    let calendar = Calendar::with_wall(desk.engine.handle().clone(), Arc::new(wall));
    (calendar, Schedule::new(Expression::parse("@every 1s").unwrap(), TimeZone::UTC))
}

#[test]
fn a_slow_entry_of_a_calendar_takes_one_worker_and_counts_what_it_missed() {
    let desk = Desk::new();
    let (calendar, schedule) = calendar(&desk);
    let mut run = desk.run();
    let missed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&missed);
    let entry = calendar.schedule(schedule, move |occurrence| {
        counted.fetch_add(occurrence.missed_count as usize, Ordering::SeqCst);
        run(occurrence.nominal.timestamp().as_second() as u64);
    });
    desk.begin(1_000);
    desk.expect_one_busy_worker();
    let now = desk.clock.now();
    desk.step_until(|| now.after(5_000) <= desk.clock.now());
    desk.expect_one_busy_worker();
    let begun = desk.free_until(3);
    let distances: Vec<u64> = begun.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(5 <= distances[0], "{begun:?}");
    assert!(4 <= missed.load(Ordering::SeqCst), "{begun:?}");
    assert!(entry.unwrap().cancel());
}

#[test]
fn no_run_begins_after_a_slow_entry_of_a_calendar_was_cancelled() {
    let desk = Desk::new();
    let (calendar, schedule) = calendar(&desk);
    let mut run = desk.run();
    let entry = calendar.schedule(schedule, move |occurrence| {
        run(occurrence.nominal.timestamp().as_second() as u64);
    });
    desk.begin(1_000);
    desk.expect_one_busy_worker();
    let now = desk.clock.now();
    desk.step_until(|| now.after(5_000) <= desk.clock.now());
    assert!(entry.unwrap().cancel());
    desk.expect_the_end();
}
