//! Go's semantics of timers on channels, each as the documentation of its package `time` has it since 1.23.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, TryRecvError, select};
use mainspring::clock::{Manual, Monotonic};
use mainspring::driver::{Refusal, Single};
use mainspring::front::Channels;
use mainspring::front::channel::Delay;
use mainspring::front::{Firing, RunTasks, RunTasksOn, Task};
use mainspring::preset;
use mainspring::{Engine, Handle};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Chunked;

/// A driver on the test's own thread, whose time is moved by hand.
struct Desk {
    driver: Arc<Single<Chunked<Task>>>,
    handle: Handle<Task>,
    channels: Channels,
}

impl Desk {
    fn new() -> Desk {
        let driver = Arc::new(Single::new(Chunked::new(), Arc::new(Manual::leaping())));
        let handle = Handle::new(driver.clone());
        let channels = Channels::new(handle.clone());
        Desk { driver, handle, channels }
    }

    /// Lets time pass until so many milliseconds after the start.
    fn pass_until(&self, milliseconds: u64) {
        self.driver.run_until(Tick::new(milliseconds), &mut RunTasks);
    }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn firing(deadline: u64, now: u64) -> Firing {
    Firing::new(Tick::new(deadline), Tick::new(now))
}

#[test]
fn a_timer_sends_once_when_its_time_has_come() {
    let desk = Desk::new();
    let timer = desk.channels.timer(ms(10)).unwrap();
    desk.pass_until(9);
    assert_eq!(timer.receiver().try_recv(), Err(TryRecvError::Empty));
    desk.pass_until(10);
    assert_eq!(timer.receiver().try_recv(), Ok(firing(10, 10)));
    desk.pass_until(100);
    assert_eq!(timer.receiver().try_recv(), Err(TryRecvError::Empty), "the channel is not closed");
}

#[test]
fn stop_tells_whether_the_timer_was_pending() {
    let desk = Desk::new();
    let timer = desk.channels.timer(ms(10)).unwrap();
    assert!(timer.stop());
    assert!(!timer.stop());
    desk.pass_until(20);
    assert_eq!(timer.receiver().try_recv(), Err(TryRecvError::Empty));
    let received = desk.channels.timer(ms(10)).unwrap();
    desk.pass_until(30);
    received.receiver().recv().unwrap();
    assert!(!received.stop());
}

#[test]
fn after_a_stop_no_stale_value_is_received() {
    let desk = Desk::new();
    let timer = desk.channels.timer(ms(10)).unwrap();
    desk.pass_until(15);
    assert!(timer.stop(), "a value that nobody received counts as pending");
    assert_eq!(timer.receiver().try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn after_a_reset_only_the_new_time_is_received() {
    let desk = Desk::new();
    let timer = desk.channels.timer(ms(10)).unwrap();
    assert_eq!(timer.reset(ms(20)), Ok(true));
    desk.pass_until(25);
    assert_eq!(timer.reset(ms(10)), Ok(true), "the value of tick 20 was not received, and is taken back");
    assert_eq!(timer.receiver().try_recv(), Err(TryRecvError::Empty));
    desk.pass_until(35);
    assert_eq!(timer.receiver().try_recv(), Ok(firing(35, 35)));
    assert_eq!(timer.reset(ms(5)), Ok(false));
    desk.pass_until(40);
    assert_eq!(timer.receiver().try_recv(), Ok(firing(40, 40)));
}

#[test]
fn a_ticker_drops_ticks_for_a_slow_receiver() {
    let desk = Desk::new();
    let ticker = desk.channels.ticker(ms(10)).unwrap();
    desk.pass_until(55);
    assert_eq!(ticker.receiver().try_iter().collect::<Vec<_>>(), [firing(10, 10)]);
    desk.pass_until(65);
    assert_eq!(ticker.receiver().try_iter().collect::<Vec<_>>(), [firing(60, 60)]);
}

#[test]
fn a_ticker_that_is_late_skips_to_the_next_multiple() {
    let clock = Manual::leaping();
    let driver = Arc::new(Single::new(Chunked::new(), Arc::new(clock.clone())));
    let channels = Channels::new(Handle::<Task>::new(driver.clone()));
    let ticker = channels.ticker(ms(10)).unwrap();
    clock.advance(ms(47));
    driver.run_until(Tick::new(47), &mut RunTasks);
    assert_eq!(ticker.receiver().recv(), Ok(firing(10, 47)));
    driver.run_until(Tick::new(50), &mut RunTasks);
    assert_eq!(ticker.receiver().recv(), Ok(firing(50, 50)), "10 + 10 * (1 + 37 / 10)");
}

#[test]
fn a_stopped_ticker_sends_no_more_and_a_reset_one_has_a_new_period() {
    let desk = Desk::new();
    let ticker = desk.channels.ticker(ms(10)).unwrap();
    desk.pass_until(12);
    ticker.stop();
    desk.pass_until(50);
    assert_eq!(ticker.receiver().try_recv(), Err(TryRecvError::Empty));
    ticker.reset(ms(7)).unwrap();
    desk.pass_until(60);
    assert_eq!(ticker.receiver().try_iter().collect::<Vec<_>>(), [firing(57, 57)]);
    desk.pass_until(64);
    assert_eq!(ticker.receiver().try_iter().collect::<Vec<_>>(), [firing(64, 64)]);
    assert_eq!(ticker.reset(Duration::ZERO), Err(Refusal::ZeroPeriod));
}

#[test]
fn a_period_of_zero_is_an_error_and_not_a_panic() {
    let desk = Desk::new();
    assert!(matches!(desk.channels.ticker(Duration::ZERO), Err(Refusal::ZeroPeriod)));
    assert!(matches!(desk.channels.tick(Duration::ZERO), Err(Refusal::ZeroPeriod)));
}

#[test]
fn a_negative_or_zero_delay_fires_at_once_and_an_endless_one_never() {
    let desk = Desk::new();
    let zero = desk.channels.after(Duration::ZERO).unwrap();
    let negative = desk.channels.after(Delay::from_nanos(-5_000_000_000)).unwrap();
    let endless = desk.channels.after(Duration::MAX).unwrap();
    desk.pass_until(0);
    assert_eq!(zero.try_recv(), Ok(firing(0, 0)));
    assert_eq!(negative.try_recv(), Ok(firing(0, 0)));
    desk.pass_until(1 << 50);
    assert_eq!(endless.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_million_timeouts_in_a_loop_leave_nothing_behind() {
    let desk = Desk::new();
    for _ in 0..1_000_000 {
        let timeout = desk.channels.after(Duration::from_secs(3_600)).unwrap();
        assert!(timeout.is_empty());
    }
    assert_eq!(desk.handle.pending_count(), 0);
    assert_eq!(desk.handle.counts().cancelled, 1_000_000);
}

#[test]
fn a_dropped_ticker_stops_and_its_readers_are_told() {
    let desk = Desk::new();
    let ticker = desk.channels.ticker(ms(10)).unwrap();
    let reader = ticker.receiver().clone();
    drop(ticker);
    assert_eq!(desk.handle.pending_count(), 0);
    assert_eq!(reader.recv(), Err(crossbeam_channel::RecvError));
}

#[test]
fn a_reader_blocked_on_a_stopped_timer_is_told_when_the_timer_is_dropped() {
    let desk = Desk::new();
    let timer = desk.channels.timer(ms(10)).unwrap();
    timer.stop();
    let reader = timer.receiver().clone();
    std::thread::scope(|scope| {
        let blocked = scope.spawn(move || reader.recv_timeout(Duration::from_secs(60)));
        drop(timer);
        assert_eq!(blocked.join().unwrap(), Err(RecvTimeoutError::Disconnected));
    });
}

#[test]
fn after_func_calls_and_calls_again_after_a_reset() {
    let desk = Desk::new();
    let (called, calls) = mpsc::channel();
    let timer =
        desk.channels.after_func(ms(10), move |firing| called.send(firing.now.get()).unwrap()).unwrap();
    assert!(timer.stop());
    assert_eq!(timer.reset(ms(20)), Ok(false));
    desk.pass_until(20);
    assert!(!timer.stop(), "it was called");
    assert_eq!(timer.reset(ms(5)), Ok(false));
    desk.pass_until(100);
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), [20, 25]);
    assert_eq!(timer.receiver().try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_function_may_reset_its_own_timer() {
    let desk = Desk::new();
    let own: Arc<std::sync::Mutex<Option<mainspring::front::channel::ChannelTimer>>> = Arc::default();
    let (called, calls) = mpsc::channel();
    let inner = Arc::clone(&own);
    let timer = desk.channels.after_func(ms(10), move |firing| {
        called.send(firing.now.get()).unwrap();
        if firing.now < Tick::new(40) {
            assert_eq!(inner.lock().unwrap().as_ref().unwrap().reset(ms(10)), Ok(false));
        }
    });
    *own.lock().unwrap() = Some(timer.unwrap());
    desk.pass_until(100);
    assert_eq!(calls.try_iter().collect::<Vec<_>>(), [10, 20, 30, 40]);
}

/// What fires is run when the test says so: an executor that takes its time.
#[test]
fn a_stop_that_prevents_a_call_under_way_says_so() {
    let (jobs, executor) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
    let run = RunTasksOn::new(move |job| jobs.send(job).unwrap_or(()));
    let engine = Engine::start(Chunked::new(), Arc::new(Monotonic::new()), run).unwrap();
    let channels = Channels::new(engine.handle().clone());
    let (called, calls) = mpsc::channel();
    let timer = channels.after_func(ms(1), move |_| called.send(()).unwrap()).unwrap();
    let job = executor.recv().unwrap();
    assert!(timer.stop(), "the call under way is prevented");
    assert!(!timer.stop());
    job();
    assert!(calls.try_recv().is_err());
    assert_eq!(timer.reset(ms(1)), Ok(false));
    let job = executor.recv().unwrap();
    assert_eq!(timer.reset(Duration::from_secs(3_600)), Ok(true), "the call under way is prevented");
    job();
    assert!(calls.try_recv().is_err());
}

#[test]
fn a_program_selects_over_timers_on_the_real_clock() {
    let engine = preset::mainspring().unwrap();
    let channels = Channels::new(engine.handle().clone());
    let slow = channels.timer(Duration::from_secs(3_600)).unwrap();
    let fast = channels.after(ms(2)).unwrap();
    select! {
        recv(slow.receiver()) -> _ => unreachable!("an hour has not passed"),
        recv(fast) -> firing => {
            let firing = firing.unwrap();
            assert!(firing.deadline <= firing.now);
        }
    }
}
