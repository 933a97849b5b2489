//! Refusals by a full queue, a short one or none at all, as waiting and repeated timers meet them.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use jiff::tz::TimeZone;
use mainspring::clock::wall::ManualWall;
use mainspring::clock::{Clock, Manual, Monotonic};
use mainspring::driver::{Driver, Fire, FiredTimer, Refusal, Single};
use mainspring::front::keyed_tasks::Repeat;
use mainspring::front::{Calendar, Callbacks, Channels, Futures, KeyedTasks, RunTasks, Task};
use mainspring::{Engine, Handle, preset};
use mainspring_cron::{Expression, Schedule};
use mainspring_queue::wheel::{Chunked, Simple};
use mainspring_queue::{LimitedQueue, Reason, Tick, TimerQueue};

type Runs = Arc<Mutex<Vec<u64>>>;

/// A driver on the test's own thread, whose waits move time.
struct Desk<Q> {
    driver: Arc<Single<Q>>,
    clock: Manual,
    handle: Handle<Task>,
}

impl<Q: TimerQueue<Task> + Send + 'static> Desk<Q> {
    fn new(queue: Q) -> Desk<Q> {
        let clock = Manual::leaping();
        let driver = Arc::new(Single::new(queue, Arc::new(clock.clone())));
        let handle = Handle::new(driver.clone());
        Desk { driver, clock, handle }
    }

    fn pass_until(&self, tick: u64) {
        self.run_until(tick, &mut RunTasks);
    }

    fn run_until(&self, tick: u64, fire: &mut impl Fire<Task>) {
        self.driver.run_until(Tick::new(tick), fire);
    }

    /// Takes the one place of a queue that is limited to one.
    fn occupy(&self) {
        self.handle.schedule_at(Tick::new(1_000_000), Task::new(|_| ())).unwrap();
    }

    fn is_full(&self) -> bool {
        let refused = self.handle.schedule_at(Tick::new(1_000_000), Task::new(|_| ()));
        refused.is_err_and(|refused| refused.reason == Refusal::Rejected(Reason::Full))
    }
}

fn limited() -> Desk<LimitedQueue<Chunked<Task>>> {
    Desk::new(LimitedQueue::new(Chunked::new(), 1))
}

/// A queue that takes no delay over 60 ticks.
fn short() -> Desk<Simple<Task>> {
    Desk::new(Simple::new(60))
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Sleeps for 250 ticks, and tells at which tick the task was woken and ready.
fn sleep_under<Q: TimerQueue<Task> + Send + 'static>(desk: &Desk<Q>) -> Option<u64> {
    let futures = Futures::new(desk.handle.clone());
    let clock = desk.clock.clone();
    let executor = smol::LocalExecutor::new();
    let task = executor.spawn(async move {
        futures.sleep(ms(250)).await;
        clock.now().get()
    });
    for tick in 0..=300 {
        while executor.try_tick() {}
        desk.pass_until(tick);
    }
    task.is_finished().then(|| smol::block_on(executor.run(task)))
}

#[test]
fn a_sleep_in_a_full_queue_is_ready_in_time() {
    let desk = limited();
    desk.occupy();
    assert_eq!(sleep_under(&desk), Some(250));
    assert!(desk.is_full(), "the limit holds for others");
}

#[test]
fn a_sleep_beyond_the_horizon_is_ready_in_time() {
    assert_eq!(sleep_under(&short()), Some(250));
}

#[test]
fn a_timeout_under_netty_s_limit_ends_in_time() {
    let clock = Arc::new(Monotonic::new());
    let engine = preset::netty(clock.clone(), 1).unwrap();
    engine.callbacks().after(Duration::from_secs(3_600), |_| ()).unwrap();
    let earliest = clock.after(ms(200));
    let futures = Futures::new(engine.handle().clone());
    let outcome = smol::block_on(futures.timeout(ms(200), std::future::pending::<()>()));
    assert!(outcome.is_err());
    assert!(earliest <= clock.now());
}

#[test]
fn a_sleep_whose_driver_was_shut_down_ends_and_says_why() {
    let desk = limited();
    let futures = Futures::new(desk.handle.clone());
    let mut sleep = futures.sleep(ms(20));
    drop(Driver::<Task>::shutdown(&*desk.driver));
    assert!(poll(Pin::new(&mut sleep)).is_ready());
    assert!(!sleep.is_elapsed());
    assert_eq!(sleep.refusal(), Some(Refusal::Stopped));
    let mut timeout = pin!(futures.timeout(ms(20), std::future::pending::<()>()));
    assert!(matches!(poll(timeout.as_mut()), Poll::Ready(Err(_))));
}

#[test]
fn a_loop_of_sleeps_after_the_end_of_its_engine_takes_no_processor() {
    const COUNT: u32 = 20;
    let desk = limited();
    let futures = Futures::new(desk.handle.clone());
    let mut reset = futures.sleep(ms(20));
    assert!(poll(Pin::new(&mut reset)).is_pending());
    drop(Driver::<Task>::shutdown(&*desk.driver));
    let clock = Monotonic::new();
    let earliest = clock.after(ms(u64::from(3 * COUNT / 2)));
    assert!(poll(Pin::new(&mut reset)).is_ready());
    for _ in 0..COUNT {
        assert!(poll(pin!(futures.sleep(ms(20)))).is_ready());
        reset.reset(ms(20));
        assert!(poll(Pin::new(&mut reset)).is_ready());
        assert!(poll(pin!(futures.timeout(ms(20), std::future::pending::<()>()))).is_ready());
    }
    assert!(earliest <= clock.now(), "each is as long as a millisecond, or nearly");
}

/// A closure that notes when it runs, and the first time takes the one place of the queue.
fn note_and_occupy(desk: &Desk<LimitedQueue<Chunked<Task>>>) -> (Runs, impl FnMut(u64) + Send + 'static) {
    let runs = Runs::default();
    let (noted, handle) = (Arc::clone(&runs), desk.handle.clone());
    let run = move |tick| {
        let mut runs = noted.lock().unwrap();
        runs.push(tick);
        if runs.len() == 1 {
            handle.schedule_at(Tick::new(1_000_000), Task::new(|_| ())).unwrap();
        }
    };
    (runs, run)
}

#[test]
fn a_periodic_callback_goes_on_though_its_place_was_taken() {
    let desk = limited();
    let (runs, mut run) = note_and_occupy(&desk);
    let callbacks = Callbacks::new(desk.handle.clone());
    let periodic = callbacks.every(ms(10), move |firing| run(firing.now.get())).unwrap();
    desk.pass_until(35);
    assert!(desk.is_full());
    assert_eq!(*runs.lock().unwrap(), [10, 20, 30]);
    assert!(periodic.cancel());
}

#[test]
fn a_keyed_task_goes_on_though_its_place_was_taken() {
    let desk = limited();
    let (runs, mut run) = note_and_occupy(&desk);
    let tasks = KeyedTasks::new(desk.handle.clone());
    tasks.schedule("task", ms(10), Repeat::Times(4), move |firing| run(firing.now.get())).unwrap();
    desk.pass_until(35);
    assert_eq!(*runs.lock().unwrap(), [10, 20, 30]);
    assert_eq!(tasks.find(&"task").map(|task| task.deadline), Some(Tick::new(40)));
    desk.pass_until(45);
    assert!(tasks.is_empty());
}

#[test]
fn an_entry_of_a_calendar_goes_on_though_its_place_was_taken() {
    let desk = limited();
    let (runs, mut run) = note_and_occupy(&desk);
    let noon = "2026-03-02T12:00:00Z".parse().unwrap();
    let wall = ManualWall::new(desk.clock.clone(), noon);
    let calendar = Calendar::with_wall(desk.handle.clone(), Arc::new(wall));
    let schedule = Schedule::new(Expression::parse("* * * * *").unwrap(), TimeZone::UTC);
    let _entry = calendar.schedule(schedule, move |it| run(it.nominal.minute() as u64)).unwrap();
    desk.pass_until(200_000);
    assert_eq!(*runs.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn a_ticker_goes_on_though_its_place_was_taken() {
    let desk = limited();
    let ticker = Channels::new(desk.handle.clone()).ticker(ms(10)).unwrap();
    let mut held = Vec::new();
    desk.run_until(10, &mut |fired: FiredTimer<Task>| held.push(fired));
    // The tick is on its way; meanwhile another timer takes its place.
    desk.occupy();
    held.into_iter().for_each(|fired| RunTasks.fire(fired));
    assert!(ticker.receiver().try_recv().is_ok());
    desk.pass_until(20);
    assert!(ticker.receiver().try_recv().is_ok());
}

#[test]
fn a_function_that_waits_for_its_last_call_is_called_though_its_place_was_taken() {
    let desk = limited();
    let channels = Channels::new(desk.handle.clone());
    let runs = Runs::default();
    let own: Arc<Mutex<Option<mainspring::front::channel::ChannelTimer>>> = Arc::default();
    let (noted, inner, handle) = (Arc::clone(&runs), Arc::clone(&own), desk.handle.clone());
    let driver = Arc::clone(&desk.driver);
    let timer = channels.after_func(ms(10), move |firing| {
        noted.lock().unwrap().push(firing.now.get());
        if noted.lock().unwrap().len() == 1 {
            inner.lock().unwrap().as_ref().unwrap().reset(Duration::ZERO).unwrap();
            // It comes due before this call ends, and then the place is taken.
            driver.run_until(firing.now, &mut RunTasks);
            handle.schedule_at(Tick::new(1_000_000), Task::new(|_| ())).unwrap();
        }
    });
    *own.lock().unwrap() = Some(timer.unwrap());
    desk.pass_until(20);
    assert_eq!(*runs.lock().unwrap(), [10, 10]);
}

#[test]
fn a_rule_may_name_a_tick_beyond_the_horizon() {
    let desk = short();
    let runs = Runs::default();
    let noted = Arc::clone(&runs);
    let next = |last: Tick| Some(last.after(if last == Tick::ZERO { 50 } else { 150 }));
    let run = move |firing: mainspring::front::Firing| {
        assert!(firing.deadline <= firing.now);
        noted.lock().unwrap().push(firing.deadline.get());
    };
    let _periodic = Callbacks::new(desk.handle.clone()).following(next, run).unwrap();
    desk.pass_until(500);
    assert_eq!(*runs.lock().unwrap(), [50, 200, 350, 500]);
}

#[test]
fn the_horizon_is_counted_from_now_and_not_from_the_last_timer() {
    let desk = short();
    let callbacks = Callbacks::new(desk.handle.clone());
    // Nothing was pending, so nothing has moved the queue's time.
    desk.clock.advance(ms(1_000));
    let timer = callbacks.after(ms(60), |_| ()).unwrap();
    desk.clock.advance(ms(30));
    assert!(timer.reset(ms(60)));
    assert_eq!(timer.deadline(), Some(Tick::new(1_090)));
    assert!(!timer.reset(ms(61)));
    assert_eq!(callbacks.after(ms(61), |_| ()).unwrap_err(), Refusal::Rejected(Reason::BeyondHorizon));
}

#[test]
fn what_repeats_ends_with_its_driver() {
    let engine: Engine<Task> = preset::go_1_9(Arc::new(Manual::stepped())).unwrap();
    let periodic = engine.callbacks().every(ms(10), |_| ()).unwrap();
    engine.shutdown();
    assert!(periodic.cancel());
}
