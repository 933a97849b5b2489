//! Repeated timers keep their rate: the n-th firing is due at the first tick that begins no earlier than
//! `start + n * period`, for every front on every preset, however the period stands to the tick.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring::clock::wall::ManualWall;
use mainspring::clock::{Clock, Manual};
use mainspring::cron::{Every, Expression, Schedule};
use mainspring::front::{Calendar, Interval, KeyedTasks, MissedTicks, Repeat, Threads};
use mainspring::{Engine, Simulation, preset};
use mainspring_queue::Tick;

use crate::presets::{ENGINES, Start};

/// Longer than any step of these tests should take; when it is over they fail instead of hanging.
const PATIENCE: Duration = Duration::from_secs(20);

const TICK: Duration = Duration::from_millis(1);

/// Periods that are no whole number of ticks: 1.5 ms, a sixtieth of a second, 10.1 ms, 3.3 ms, one that is a
/// nanosecond longer than a tick, and two that are shorter.
const PERIODS: [Duration; 7] = [
    Duration::from_micros(1_500),
    Duration::from_nanos(16_666_667),
    Duration::from_micros(10_100),
    Duration::from_micros(3_300),
    Duration::from_nanos(1_000_001),
    Duration::from_micros(300),
    Duration::from_micros(999),
];

/// An engine that has been up for so long when its timers are made: part of a tick has passed.
const UPTIME: Duration = Duration::from_micros(5 * 3_600_000_000 + 400);

/// How long the timers are looked at, in ticks.
const SPAN: u64 = 2_000;

/// Which front and which period fired, and at which tick.
type PeriodFiring = (&'static str, Duration, Tick);

/// A task that an executor of nothing else polls on the thread that wakes it.
struct Poller {
    interval: Mutex<Interval>,
    tell: Box<dyn Fn() + Send + Sync>,
}

impl Wake for Poller {
    fn wake(self: Arc<Self>) {
        let waker = Arc::clone(&self).into();
        let mut interval = self.interval.lock().unwrap();
        while let Poll::Ready(_due) = interval.poll_tick(&mut Context::from_waker(&waker)) {
            (self.tell)();
        }
    }
}

/// What has been started, and must be held.
struct StartedTimers {
    _keyed: KeyedTasks<Duration>,
    pollers: Vec<Arc<Poller>>,
}

/// Starts each front with each period.
fn start(engine: &Engine, clock: &Manual, sender: &Sender<PeriodFiring>) -> StartedTimers {
    let keyed = engine.keyed();
    let mut pollers = Vec::new();
    for period in PERIODS {
        let tell = |front| {
            let (sender, clock) = (sender.clone(), clock.clone());
            // What comes after the test is not heard.
            move || sender.send((front, period, clock.now())).unwrap_or(())
        };
        let every = tell("callback");
        engine.callbacks().every(period, move |_| every()).unwrap();
        let task = tell("keyed");
        keyed.schedule(period, period, Repeat::Forever, move |_| task()).unwrap();
        for (front, missed) in [("skip", MissedTicks::Skip), ("burst", MissedTicks::Burst)] {
            let interval = engine.futures().interval_after(period).unwrap().with_missed_ticks(missed);
            let interval = Mutex::new(interval);
            let poller = Arc::new(Poller { interval, tell: Box::new(tell(front)) });
            Arc::clone(&poller).wake();
            pollers.push(poller);
        }
    }
    StartedTimers { _keyed: keyed, pollers }
}

/// How many firings are due by a tick, where a queue has slots of so many ticks.
fn due_count(period: Duration, tick: u64, slot_ticks: u64) -> u64 {
    let reached_ns = u128::from(tick / slot_ticks * slot_ticks) * TICK.as_nanos();
    u64::try_from(reached_ns.saturating_sub(UPTIME.as_nanos()) / period.as_nanos()).unwrap()
}

/// Moves time on tick by tick, and demands at each that what is due has fired then, and nothing else.
fn look_at(name: &str, slot_ticks: u64, clock: &Manual, told: &Receiver<PeriodFiring>) {
    let start = clock.now().get();
    let mut counts: BTreeMap<(&str, Duration), u64> = BTreeMap::new();
    for tick in start + 1..=start + SPAN {
        clock.advance_to(Tick::new(tick));
        let due: u64 = PERIODS.iter().map(|&period| due_count(period, tick, slot_ticks) * 4).sum();
        while counts.values().sum::<u64>() < due {
            let (front, period, now) = told.recv_timeout(PATIENCE).unwrap_or_else(|error| {
                panic!("{name}, {} ticks after the start: {error}: {counts:?}, {due} due", tick - start)
            });
            assert_eq!(now.get(), tick, "{name}, {front}, {period:?}");
            let count = counts.entry((front, period)).or_default();
            *count += 1;
            assert!(*count <= due_count(period, tick, slot_ticks), "{name}, {front}, {period:?}: early");
        }
    }
    assert!(told.try_recv().is_err(), "{name}: no more than is due");
    for ((front, period), count) in counts {
        assert_eq!(count, due_count(period, start + SPAN, slot_ticks), "{name}, {front}, {period:?}");
    }
}

#[test]
fn what_repeats_is_never_early_and_keeps_its_rate_on_every_preset() {
    let more: [(&str, Start); 4] = [
        ("mainspring", |clock| preset::mainspring_on(clock).unwrap()),
        ("simple_wheel, 20", |clock| preset::simple_wheel(clock, 20).unwrap()),
        ("kafka, 7", |clock| preset::kafka_with(clock, 7, 20).unwrap()),
        ("threads", |clock| preset::go_1_9_with(clock, Threads::at_most(2).run_tasks()).unwrap()),
    ];
    for (name, preset) in ENGINES.into_iter().chain(more) {
        let slot_ticks = match name {
            "netty" => 100,
            "kafka, 7" => 7,
            _ => 1,
        };
        let clock = Manual::stepped();
        clock.advance(UPTIME);
        let engine = preset(Arc::new(clock.clone()));
        let (sender, told) = channel();
        let started = start(&engine, &clock, &sender);
        look_at(name, slot_ticks, &clock, &told);
        drop(engine);
        drop(started.pollers);
    }
}

/// A simulation of an engine that has been up for a while, at a whole millisecond.
fn old_simulation() -> (Simulation, Tick) {
    let simulation = Simulation::new();
    let start = Tick::new(5 * 3_600_000);
    simulation.advance_to(start);
    (simulation, start)
}

#[test]
fn the_count_is_exact_after_ten_minutes() {
    const TEN_MINUTES: Duration = Duration::from_secs(600);
    for period in PERIODS {
        let (simulation, _) = old_simulation();
        let engine = simulation.engine();
        let counts = [(); 2].map(|()| Arc::<AtomicU64>::default());
        let [every, task] = counts.clone();
        engine.callbacks().every(period, move |_| _ = every.fetch_add(1, Ordering::Relaxed)).unwrap();
        let tasks = engine.keyed();
        let run = move |_| _ = task.fetch_add(1, Ordering::Relaxed);
        tasks.schedule("task", period, Repeat::Forever, run).unwrap();
        simulation.advance(TEN_MINUTES);
        let due = u64::try_from(TEN_MINUTES.as_nanos() / period.as_nanos()).unwrap();
        assert_eq!(counts.map(|count| count.load(Ordering::Relaxed)), [due; 2], "{period:?}");
    }
}

#[test]
fn a_ticker_sends_each_tick_to_who_receives_it_in_time() {
    for period in PERIODS.into_iter().filter(|&period| TICK <= period) {
        let (simulation, start) = old_simulation();
        let ticker = simulation.engine().channels().ticker(period).unwrap();
        let mut count = 0;
        for passed in 1..=SPAN {
            simulation.advance_to(start.after(passed));
            count += ticker.receiver().try_iter().count() as u64;
            assert_eq!(count, u64::try_from(u128::from(passed) * 1_000_000 / period.as_nanos()).unwrap());
        }
    }
}

#[test]
fn a_period_of_the_calendar_keeps_its_nanoseconds() {
    for period in PERIODS.into_iter().filter(|&period| TICK <= period) {
        let (simulation, start) = old_simulation();
        let wall = ManualWall::new(simulation.clock().clone(), Timestamp::UNIX_EPOCH);
        let calendar = Calendar::with_wall(simulation.engine().handle().clone(), wall);
        let every = Expression::Every(Every::new(period).unwrap());
        let (sender, runs) = channel();
        let schedule = Schedule::new(every, TimeZone::UTC);
        let run = move |run: mainspring::front::Occurrence| sender.send(run.nominal.timestamp()).unwrap();
        let entry = calendar.schedule(schedule, run).unwrap();
        // The wall clock began when it was made, at the epoch.
        simulation.advance_to(start.after(SPAN));
        let nominal: Vec<i128> = runs.try_iter().map(Timestamp::as_nanosecond).collect();
        let due = u128::from(SPAN) * 1_000_000 / period.as_nanos();
        assert_eq!(nominal.len() as u128, due, "{period:?}");
        let period_ns = i128::try_from(period.as_nanos()).unwrap();
        assert!(nominal.iter().zip(1..).all(|(&time, count)| time == count * period_ns), "{period:?}");
        entry.cancel();
    }
}
