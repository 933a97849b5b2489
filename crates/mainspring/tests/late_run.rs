//! A run that comes at another time than its timer: beyond the queue's horizon, put off when its timer had
//! left the queue, or still waiting for its executor. No front runs it early, twice, or not at all.

use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring::clock::wall::{ManualWall, WallClock};
use mainspring::clock::{Clock, Manual};
use mainspring::driver::Single;
use mainspring::front::{Calendar, Callbacks, DelayQueue, Futures, KeyedTasks, Repeat, RunTasks, RunTasksOn};
use mainspring::{Handle, Task};
use mainspring_cron::{Expression, Schedule};
use mainspring_queue::wheel::{Chunked, Hierarchical, Simple};
use mainspring_queue::{Tick, TimerQueue};

use crate::desk::ms;

type Job = Box<dyn FnOnce() + Send>;

/// A driver on the test's own thread, whose closures run where the test says.
struct Desk<Q> {
    driver: Arc<Single<Q>>,
    clock: Manual,
    handle: Handle<Task>,
    sender: Sender<(&'static str, u64)>,
    runs: Receiver<(&'static str, u64)>,
}

impl<Q: TimerQueue<Task> + Send + 'static> Desk<Q> {
    fn new(queue: Q) -> Desk<Q> {
        let clock = Manual::leaping();
        let driver = Arc::new(Single::new(queue, clock.clone()));
        let (sender, runs) = channel();
        Desk { handle: Handle::new(driver.clone()), driver, clock, sender, runs }
    }

    fn tell(&self, front: &'static str) -> impl Fn() + Send + 'static {
        let (sender, clock) = (self.sender.clone(), self.clock.clone());
        move || sender.send((front, clock.now().get())).unwrap()
    }

    fn pass_until(&self, tick: u64) {
        self.driver.run_until(Tick::new(tick), &mut RunTasks);
    }

    /// Fires what is due, and returns the closures instead of running them.
    fn waiting_until(&self, tick: u64) -> Vec<Job> {
        let jobs = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&jobs);
        let mut run = RunTasksOn::new(move |job| kept.lock().unwrap().push(job));
        self.driver.run_until(Tick::new(tick), &mut run);
        std::mem::take(&mut *jobs.lock().unwrap())
    }
}

/// Puts something off to 300 ms, and 300 ms further, from within a run at 5 ms.
fn put_off(desk: &Desk<impl TimerQueue<Task> + Send + 'static>) -> Vec<(&'static str, u64)> {
    let keyed = KeyedTasks::new(desk.handle.clone());
    let (own, tell) = (keyed.clone(), desk.tell("keyed"));
    let run = move |_| {
        tell();
        assert!(own.reset(&"task", ms(300)));
    };
    keyed.schedule("task", ms(5), Repeat::Times(3), run).unwrap();
    let tell = desk.tell("following");
    let next = |last: Tick| Some(if last == Tick::ZERO { Tick::new(5) } else { last.after(300) });
    Callbacks::new(desk.handle.clone()).following(next, move |_| tell()).unwrap();
    let mut sleep = pin!(Futures::new(desk.handle.clone()).sleep(ms(605)));
    let waker = std::task::Waker::noop();
    for tick in 1..=605 {
        let is_ready = sleep.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready();
        assert!(!is_ready, "the sleep is not over at {tick}");
        desk.pass_until(tick);
    }
    assert!(sleep.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_ready());
    let mut runs: Vec<_> = desk.runs.try_iter().collect();
    runs.sort_unstable();
    runs
}

#[test]
fn what_is_put_off_beyond_the_horizon_runs_when_it_is_due_and_not_at_the_horizon() {
    let expected = [5, 305, 605].map(|tick| ("following", tick)).into_iter();
    let expected: Vec<_> = expected.chain([5, 305, 605].map(|tick| ("keyed", tick))).collect();
    assert_eq!(put_off(&Desk::new(Chunked::new())), expected, "without a horizon");
    assert_eq!(put_off(&Desk::new(Simple::new(20))), expected);
    assert_eq!(put_off(&Desk::new(Hierarchical::new(&[4, 5]))), expected);
}

#[test]
fn a_task_whose_run_waits_for_its_executor_is_put_off() {
    let desk = Desk::new(Chunked::new());
    let keyed = KeyedTasks::new(desk.handle.clone());
    let tell = desk.tell("run");
    keyed.schedule("task", ms(10), Repeat::Times(2), move |_| tell()).unwrap();
    let waiting = desk.waiting_until(10);
    assert_eq!(waiting.len(), 1);
    assert!(keyed.reset(&"task", ms(30)), "its run has not begun");
    let found = keyed.find(&"task").unwrap();
    assert_eq!((found.deadline, found.repeat), (Tick::new(40), Repeat::Times(2)));
    waiting.into_iter().for_each(|job| job());
    desk.pass_until(100);
    assert_eq!(desk.runs.try_iter().collect::<Vec<_>>(), [("run", 40), ("run", 50)]);
    assert!(keyed.is_empty());
    keyed.schedule("last", ms(10), Repeat::Times(1), |_| ()).unwrap();
    let waiting = desk.waiting_until(110);
    desk.driver.stop();
    assert!(!keyed.reset(&"last", ms(10)), "the driver has ended");
    drop(waiting);
}

#[test]
fn an_item_that_waits_for_its_executor_is_put_off() {
    let desk = Desk::new(Chunked::new());
    let queue = DelayQueue::new(desk.handle.clone());
    queue.put("item", 7, ms(10)).unwrap();
    let waiting = desk.waiting_until(10);
    assert!(queue.reset(&"item", ms(30)), "it has not come out");
    waiting.into_iter().for_each(|job| job());
    assert_eq!(queue.try_recv(), None);
    desk.pass_until(39);
    assert_eq!(queue.try_recv(), None);
    desk.pass_until(40);
    assert_eq!(queue.try_recv(), Some(("item", 7)));
}

/// A calendar whose entry is due every minute, and whose first run waits for its executor.
#[expect(clippy::type_complexity, reason = "a test's parts")]
fn waiting_entry()
-> (Desk<Chunked<Task>>, Arc<ManualWall>, Calendar, mainspring::front::Entry, Receiver<u32>, Vec<Job>) {
    let desk = Desk::new(Chunked::new());
    let wall = Arc::new(ManualWall::new(desk.clock.clone(), Timestamp::UNIX_EPOCH));
    let calendar = Calendar::with_wall(desk.handle.clone(), Arc::clone(&wall));
    let (sender, missed_counts) = channel();
    let schedule = Schedule::new(Expression::parse("* * * * *").unwrap(), TimeZone::UTC);
    let run = move |occurrence: mainspring::front::Occurrence| sender.send(occurrence.missed_count).unwrap();
    let entry = calendar.schedule(schedule, run).unwrap();
    let waiting = desk.waiting_until(60_000);
    assert_eq!(waiting.len(), 1);
    (desk, wall, calendar, entry, missed_counts, waiting)
}

#[test]
fn an_entry_has_one_timer_however_often_the_clock_is_set_while_its_run_waits() {
    let (desk, wall, calendar, _entry, missed_counts, mut waiting) = waiting_entry();
    for _ in 0..20 {
        wall.set(wall.now() + Duration::from_secs(3));
        calendar.clock_changed();
        assert_eq!(desk.handle.pending_count(), 1);
        waiting.extend(desk.waiting_until(desk.clock.now().get()));
    }
    waiting.into_iter().for_each(|job| job());
    assert_eq!(desk.handle.pending_count(), 1, "all runs but one were of timers that have been replaced");
    assert_eq!(missed_counts.try_iter().collect::<Vec<_>>().len(), 1);
}

#[test]
fn a_run_that_waits_comes_though_its_entry_is_rewound() {
    let (desk, _wall, _calendar, entry, missed_counts, waiting) = waiting_entry();
    for _ in 0..20 {
        entry.rewind();
    }
    waiting.into_iter().for_each(|job| job());
    assert_eq!(missed_counts.try_iter().collect::<Vec<_>>(), [0], "it is not lost");
    assert_eq!(desk.handle.pending_count(), 1);
    desk.pass_until(120_000);
    assert_eq!(missed_counts.try_iter().collect::<Vec<_>>(), [0]);
}
