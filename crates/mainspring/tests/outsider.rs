//! A program outside of the crate uses its public API: it writes a clock, a driver, a front and a receiver of
//! fired timers; hands every error on with `?`; and shares what is said to be shared.

use std::collections::BTreeMap;
use std::error::Error;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mainspring::clock::{Clock, Deadline, Manual, Monotonic, Notifier};
use mainspring::driver::{
    Counts, Driver, Fire, FiredTimer, FiringPanic, Part, Refusal, RefusedTimer, Report, Striped, TimerId,
    Timers, UnfiredTimer,
};
use mainspring::front::{ChannelTimer, Firings, Repeat, RunTasks, Ticker};
use mainspring::queue::wheel::Chunked;
use mainspring::queue::{self, ResetError};
use mainspring::{
    Calendar, Callbacks, Channels, DelayQueue, Engine, Firing, Futures, Handle, Interval, KeyedTasks,
    Mailboxes, Periodic, Simulation, Sleep, Task, Tick, Timeout, Timer,
};

/// A clock that a program moves by ticks of a second: `Manual` from outside.
#[derive(Clone, Default)]
struct Seconds {
    now: Arc<AtomicU64>,
    notifiers: Arc<Mutex<Vec<Notifier>>>,
}

impl Seconds {
    fn pass(&self, seconds: u64) {
        self.now.fetch_add(seconds, Ordering::SeqCst);
        self.notifiers.lock().unwrap().iter().for_each(Notifier::nudge);
    }
}

impl Clock for Seconds {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Tick {
        Tick::new(self.now.load(Ordering::SeqCst))
    }

    fn wait(&self, notifier: &Notifier, until: Option<Tick>) {
        let mut notifiers = self.notifiers.lock().unwrap();
        if !notifiers.iter().any(|other| other.is_same(notifier)) {
            notifiers.push(notifier.clone());
        }
        drop(notifiers);
        notifier.wait_unless(|| until.is_some_and(|until| until <= self.now()));
    }
}

#[test]
fn a_clock_from_outside_moves_the_timers_of_an_engine() {
    let clock = Seconds::default();
    let engine = Engine::with_clock(clock.clone()).unwrap();
    let (sender, firings) = std::sync::mpsc::channel();
    let tell = move |firing: Firing| sender.send(firing.deadline).unwrap();
    let timer = engine.callbacks().after(Duration::from_secs(60), tell).unwrap();
    clock.pass(59);
    assert!(timer.is_pending(), "its time has not come");
    clock.pass(1);
    assert_eq!(firings.recv().unwrap(), Tick::new(60));
    assert_eq!(clock.duration(90), Duration::from_secs(90));
    assert_eq!(clock.duration(u64::MAX), Duration::from_secs(u64::MAX));
}

#[test]
fn a_clock_may_be_given_as_it_is_or_shared() {
    let manual = Manual::stepped();
    let shared: Arc<Manual> = Arc::new(manual.clone());
    let of_any_type: Arc<dyn Clock> = Arc::new(manual.clone());
    let engines = [
        mainspring::preset::nginx(manual.clone()).unwrap(),
        mainspring::preset::nginx(Arc::clone(&shared)).unwrap(),
        mainspring::preset::nginx(Arc::clone(&of_any_type)).unwrap(),
    ];
    manual.advance(Duration::from_millis(7));
    assert!(engines.iter().all(|engine| engine.handle().clock().now() == Tick::new(7)));
    assert!(Arc::ptr_eq(engines[2].handle().clock(), &of_any_type), "it is not put into another `Arc`");
}

/// A driver of one list, which the test turns: all of it from public items.
struct ByHand<T> {
    clock: Arc<dyn Clock>,
    state: Arc<Mutex<State<T>>>,
}

struct State<T> {
    timers: BTreeMap<u32, (Tick, T)>,
    next: u32,
    counts: Counts,
    is_stopped: bool,
}

impl<T: Send> ByHand<T> {
    fn new(clock: impl Clock) -> ByHand<T> {
        let state = State { timers: BTreeMap::new(), next: 0, counts: Counts::default(), is_stopped: false };
        ByHand { clock: Arc::new(clock), state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap()
    }

    /// Fires what is due.
    fn turn(&self, fire: &mut impl Fire<T>) {
        let now = self.clock.now();
        let due = |state: &State<T>| {
            state.timers.iter().find(|(_, timer)| timer.0 <= now).map(|(&number, _)| number)
        };
        loop {
            let mut state = self.state();
            let Some(number) = due(&state) else { return };
            let (deadline, payload) = state.timers.remove(&number).unwrap();
            state.counts.fired += 1;
            drop(state);
            let fired = FiredTimer { id: id(number), deadline, now, payload };
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fire.fire(fired)));
            if let Err(panic) = outcome {
                fire.panicked(&FiringPanic::new(id(number), deadline, &*panic));
            }
        }
    }
}

fn id(number: u32) -> TimerId {
    TimerId::from_parts(0, queue::TimerId::from_parts(number, NonZeroU32::MIN))
}

impl<T: Send> Part<T> for ByHand<T> {
    fn shard(&self) -> u32 {
        0
    }

    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        let mut state = self.state();
        if state.is_stopped {
            return Err(RefusedTimer::new(Refusal::Stopped, payload));
        }
        let number = state.next;
        state.next += 1;
        state.counts.scheduled += 1;
        state.timers.insert(number, (deadline, payload));
        Ok(id(number))
    }

    fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        Part::schedule(self, deadline, payload)
    }

    fn cancel(&self, id: TimerId) -> Option<T> {
        let removed = self.state().timers.remove(&id.timer().index());
        self.state().counts.cancelled += u64::from(removed.is_some());
        removed.map(|(_, payload)| payload)
    }

    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        let mut state = self.state();
        let timer = state.timers.get_mut(&id.timer().index()).ok_or(ResetError::NotPending)?;
        timer.0 = deadline;
        Ok(())
    }

    fn update(&self, id: TimerId, change: &mut dyn FnMut(&mut T)) -> bool {
        let mut state = self.state();
        state.timers.get_mut(&id.timer().index()).map(|timer| change(&mut timer.1)).is_some()
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.state().timers.get(&id.timer().index()).map(|timer| timer.0)
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}

impl<T: Send> Timers<T> for ByHand<T> {
    fn schedule(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        Part::schedule(self, deadline, payload)
    }

    fn schedule_assured(&self, deadline: Tick, payload: T) -> Result<TimerId, RefusedTimer<T>> {
        Part::schedule(self, deadline, payload)
    }

    fn local(&self) -> Result<Arc<dyn Part<T>>, Refusal>
    where
        Self: 'static,
        T: 'static,
    {
        Ok(Arc::new(ByHand { clock: Arc::clone(&self.clock), state: Arc::clone(&self.state) }))
    }

    fn cancel(&self, id: TimerId) -> Option<T> {
        Part::cancel(self, id)
    }

    fn reset(&self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        Part::reset(self, id, deadline)
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        Part::deadline(self, id)
    }

    fn len(&self) -> usize {
        self.state().timers.len()
    }

    fn counts(&self) -> Counts {
        self.state().counts
    }

    fn report(&self) -> Report {
        let mut report = Report::default();
        report.counts = self.state().counts;
        report
    }

    fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
}

impl<T: Send> Driver<T> for ByHand<T> {
    fn shutdown(&self) -> Vec<UnfiredTimer<T>> {
        let mut state = self.state();
        state.is_stopped = true;
        let mut unfired: Vec<UnfiredTimer<T>> = std::mem::take(&mut state.timers)
            .into_iter()
            .map(|(number, (deadline, payload))| UnfiredTimer { id: id(number), deadline, payload })
            .collect();
        unfired.sort_by_key(|timer| timer.deadline);
        unfired
    }
}

#[test]
fn every_front_works_over_a_driver_from_outside() {
    let clock = Manual::stepped();
    let driver = Arc::new(ByHand::new(clock.clone()));
    let engine = Engine::from_driver(Arc::clone(&driver));
    let run_count = Arc::new(AtomicU64::new(0));
    let count = || {
        let counted = Arc::clone(&run_count);
        move |_: Firing| _ = counted.fetch_add(1, Ordering::SeqCst)
    };
    let second = Duration::from_secs(1);
    let timer = engine.callbacks().after(second, count()).unwrap();
    assert!(timer.reset(second * 2));
    let periodic = engine.callbacks().every(second, count()).unwrap();
    let tasks = engine.keyed();
    tasks.schedule("task", second, Repeat::Times(2), count()).unwrap();
    let delayed = engine.delay_queue();
    delayed.put("key", "value", second).unwrap();
    let channel = engine.channels().timer(second).unwrap();
    clock.advance(second);
    driver.turn(&mut RunTasks);
    assert_eq!(run_count.load(Ordering::SeqCst), 2, "the periodic one and the task");
    assert_eq!(delayed.try_recv(), Some(("key", "value")));
    assert!(channel.receiver().try_recv().is_ok());
    clock.advance(second);
    driver.turn(&mut RunTasks);
    assert_eq!(run_count.load(Ordering::SeqCst), 5, "and the timer");
    periodic.cancel();
    engine.callbacks().after(second, |_| panic!("on purpose")).unwrap();
    clock.advance(second);
    driver.turn(&mut PanicCounter(Arc::clone(&run_count)));
    assert_eq!(run_count.load(Ordering::SeqCst), 105, "the panic was told of");
    engine.callbacks().after(second, |_| ()).unwrap();
    assert_eq!(engine.shutdown().len(), 1);
    assert!(matches!(engine.callbacks().after(second, |_| ()), Err(Refusal::Stopped)));
}

/// Runs tasks, as `RunTasks` does, and counts a panic as a hundred.
struct PanicCounter(Arc<AtomicU64>);

impl Fire<Task> for PanicCounter {
    fn fire(&mut self, fired: FiredTimer<Task>) {
        let firing = Firing::from(&fired);
        fired.payload.run(firing);
    }

    fn panicked(&mut self, panic: &FiringPanic) {
        assert_eq!(panic.message, "on purpose");
        self.0.fetch_add(100, Ordering::SeqCst);
    }
}

type AnyError = Box<dyn Error + Send + Sync>;

/// Every call that can fail, handed on by `?` alone: what does not compile here does not compile in a
/// program.
#[expect(dead_code, reason = "it is there to be compiled")]
async fn every_error_is_handed_on() -> Result<(), AnyError> {
    let second = Duration::from_secs(1);
    let engine = Engine::new()?;
    let _: Engine = Engine::with_clock(Monotonic::new())?;
    let _: Engine<u64> = Engine::start(Chunked::new(), Monotonic::new(), |_: FiredTimer<u64>| ())?;
    let _: Engine = Striped::for_cores(Chunked::new, Monotonic::new()).into_engine(RunTasks)?;
    let _: Engine = Engine::start(Chunked::new(), Monotonic::new(), RunTasks)?;
    let _: Engine = mainspring::preset::timingwheel(Monotonic::new(), second, 20)?;
    let handle = engine.handle();
    let id = handle.schedule_after(second, Task::new(|_| ()))?;
    handle.schedule_at(Tick::ZERO, Task::new(|_| ()))?;
    handle.schedule_within(second, second, Task::new(|_| ()))?;
    handle.reset_after(id, second)?;
    handle.reset_at(id, Tick::MAX)?;
    mainspring::after(second, || ())?;
    mainspring::every(second, || ())?;
    let _: Interval = mainspring::interval(second)?;
    mainspring::timeout(second, async {}).await?;
    mainspring::global()?;
    mainspring::set_global(Engine::new()?).map_err(|_| "there is one")?;
    engine.callbacks().after(second, |_| ())?;
    engine.callbacks().at(Tick::ZERO, |_| ())?;
    engine.callbacks().every(second, |_| ())?;
    engine.callbacks().following(Some, |_| ())?;
    engine.futures().timeout(second, async {}).await?;
    engine.futures().timeout_at(an_instant(), async {}).await?;
    let _: Interval = engine.futures().interval_after(second)?;
    let _: Interval = engine.futures().interval_at(Tick::ZERO, second)?;
    let ticker = engine.channels().ticker(second)?;
    ticker.reset(second)?;
    let timer = engine.channels().timer(second)?;
    timer.reset(second)?;
    let _: ChannelTimer = engine.channels().after_func(second, |_| ())?;
    engine.channels().after(second)?.recv()?;
    engine.channels().tick(second)?.try_recv()?;
    engine.keyed().schedule(7, second, Repeat::Forever, |_| ())?;
    engine.delay_queue().put(7, "seven", second)?;
    let mailboxes = engine.mailboxes();
    let (service, mailbox) = mailboxes.register();
    mailboxes.timeout(second, service, 1)?;
    mailboxes.timeout_ticks(1, service, 1)?;
    mailbox.recv()?;
    let schedule = mainspring::cron::Schedule::parse("30 4 * * *", "UTC")?;
    engine.calendar()?.schedule(schedule, |_| ())?;
    Ok(())
}

#[test]
fn an_error_says_all_in_one_line_or_in_its_source_and_not_in_both() {
    let errors: [AnyError; 2] =
        [Box::new(Refusal::Stopped), Box::new(RefusedTimer::new(Refusal::Stopped, Task::new(|_| ())))];
    for error in errors {
        assert_eq!(error.to_string(), "the engine has been shut down, or was dropped");
        assert!(error.source().is_none(), "{error:?}");
    }
}

#[test]
fn what_is_shared_between_threads_may_be() {
    fn is_shared<T: Send + Sync + std::fmt::Debug>() {}
    is_shared::<Engine>();
    is_shared::<Handle>();
    is_shared::<Simulation>();
    is_shared::<Callbacks>();
    is_shared::<Timer>();
    is_shared::<Periodic>();
    is_shared::<Futures>();
    is_shared::<Sleep>();
    is_shared::<Interval>();
    is_shared::<Timeout<std::future::Ready<()>>>();
    is_shared::<KeyedTasks<String>>();
    is_shared::<DelayQueue<String, u64>>();
    is_shared::<Mailboxes>();
    is_shared::<Calendar>();
    is_shared::<Channels>();
    is_shared::<ChannelTimer>();
    is_shared::<Ticker>();
    is_shared::<Firings>();
    is_shared::<RefusedTimer<Task>>();
    is_shared::<Striped<Chunked<Task>>>();
}

#[expect(clippy::disallowed_methods, reason = "instants are what is tested")]
fn an_instant() -> std::time::Instant {
    std::time::Instant::now()
}

#[test]
fn an_instant_is_a_deadline_and_never_early() {
    let clock = Monotonic::new();
    let instant = an_instant() + Duration::from_secs(10);
    let tick = Deadline::from(instant).tick(&clock);
    assert!(clock.now().after(9_000) < tick && tick <= clock.after(Duration::from_secs(10)));
}
