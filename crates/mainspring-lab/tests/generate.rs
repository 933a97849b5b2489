//! Traces of typical programs, made up: what `advise` is tried on.
//!
//! | kind | timers | what happens to them |
//! |---|---|---|
//! | `requests` | a timeout of 30 s each | 99 % answered, so cancelled, within some ms |
//! | `keep-alive` | 2,000 connections | each message moves its timeout to now + 60 s; 1 in 100 goes silent |
//! | `cache` | entries live 1 s to 10 min | most expire, 1 in 10 is evicted before |
//! | `heartbeats` | 1,000 nodes, 1 s apart each | all fire and are scheduled again |
//! | `cron` | 200 jobs over 7 days | fire at whole minutes and are scheduled again |
//!
//! Cost: about a hundred thousand steps. They are the same each time: a seed is fixed.
//!
//! They are no substitute for a trace of the program that one cares about.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use mainspring::trace::{Operation, Step, Trace};
use mainspring_lab::random::Random;
use mainspring_queue::Tick;

/// A typical program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KindOfTrace {
    /// Timeouts of requests, nearly all answered.
    Requests,
    /// Connections whose timeouts are moved by each message.
    KeepAlive,
    /// Entries of a cache that expire.
    Cache,
    /// Nodes that must be heard of each second.
    Heartbeats,
    /// Some hundred jobs over a week.
    Cron,
}

const KINDS: [KindOfTrace; 5] = [
    KindOfTrace::Requests,
    KindOfTrace::KeepAlive,
    KindOfTrace::Cache,
    KindOfTrace::Heartbeats,
    KindOfTrace::Cron,
];

/// The numbers of every generator begin here.
const SEED: u64 = 1;

/// Makes a trace.
pub(crate) fn generate(kind: KindOfTrace) -> Trace {
    let mut script = Script::new();
    match kind {
        KindOfTrace::Requests => requests(&mut script),
        KindOfTrace::KeepAlive => keep_alive(&mut script),
        KindOfTrace::Cache => cache(&mut script),
        KindOfTrace::Heartbeats => repeating(&mut script, 1_000, 60_000, |_, now| now + 1_000),
        KindOfTrace::Cron => cron(&mut script),
    }
    Trace { tick: Duration::from_millis(1), dropped_count: 0, steps: script.steps }
}

/// Writes steps in order of time, and fires what is due on the way.
struct Script {
    random: Random,
    steps: Vec<Step>,
    now: u64,
    next_timer: u64,
    /// Pending timers; a heap that is corrected when an entry's time has come.
    deadlines: HashMap<u64, u64>,
    order: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Script {
    fn new() -> Script {
        Script {
            random: Random::new(SEED),
            steps: Vec::new(),
            now: 0,
            next_timer: 0,
            deadlines: HashMap::new(),
            order: BinaryHeap::new(),
        }
    }

    fn push(&mut self, timer: u64, operation: Operation) {
        debug_assert!(self.steps.last().is_none_or(|last| last.at <= Tick::new(self.now)));
        self.steps.push(Step { at: Tick::new(self.now), timer, operation });
    }

    fn schedule(&mut self, deadline: u64) -> u64 {
        debug_assert!(self.now <= deadline, "nothing is scheduled for what is over");
        self.next_timer += 1;
        let timer = self.next_timer;
        self.deadlines.insert(timer, deadline);
        self.order.push(Reverse((deadline, timer)));
        self.push(timer, Operation::Schedule(Tick::new(deadline)));
        timer
    }

    fn is_pending(&self, timer: u64) -> bool {
        self.deadlines.contains_key(&timer)
    }

    fn cancel(&mut self, timer: u64) {
        if self.deadlines.remove(&timer).is_some() {
            self.push(timer, Operation::Cancel);
        }
    }

    fn reset(&mut self, timer: u64, deadline: u64) {
        if let Some(current) = self.deadlines.get_mut(&timer) {
            *current = deadline;
            self.order.push(Reverse((deadline, timer)));
            self.push(timer, Operation::Reset(Tick::new(deadline)));
        }
    }

    /// Fires the next timer that is due by `until`, and stands at its deadline; else stands at `until`.
    fn fire_next(&mut self, until: u64) -> Option<u64> {
        while let Some(&Reverse((deadline, timer))) = self.order.peek() {
            if deadline > until {
                break;
            }
            self.order.pop();
            if self.deadlines.get(&timer) == Some(&deadline) {
                self.deadlines.remove(&timer);
                self.now = self.now.max(deadline);
                self.push(timer, Operation::Fire);
                return Some(timer);
            }
        }
        debug_assert!(self.now <= until, "time does not go back");
        self.now = until;
        None
    }

    fn fire_until(&mut self, until: u64) {
        while self.fire_next(until).is_some() {}
    }
}

fn requests(script: &mut Script) {
    /// Two a millisecond for 25 s.
    const REQUEST_COUNT: u64 = 50_000;
    let mut answers: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    for request in 0..REQUEST_COUNT {
        let now = request / 2;
        while let Some(&Reverse((at, timer))) = answers.peek() {
            if at > now {
                break;
            }
            answers.pop();
            script.fire_until(at);
            script.cancel(timer);
        }
        script.fire_until(now);
        let timer = script.schedule(now + 30_000);
        if script.random.below(100) > 0 {
            let service_time = 1 + script.random.below(20) * script.random.below(20);
            answers.push(Reverse((now + service_time, timer)));
        }
    }
}

fn keep_alive(script: &mut Script) {
    const CONNECTION_COUNT: u64 = 2_000;
    const MESSAGE_COUNT: u64 = 100_000;
    const TIMEOUT: u64 = 60_000;
    let mut timers: Vec<u64> = (0..CONNECTION_COUNT).map(|_| script.schedule(TIMEOUT)).collect();
    for message in 0..MESSAGE_COUNT {
        let now = message * 2;
        script.fire_until(now);
        // One in a hundred connections has gone silent and times out.
        let connection = script.random.below(CONNECTION_COUNT * 99 / 100) as usize;
        if script.is_pending(timers[connection]) {
            script.reset(timers[connection], now + TIMEOUT);
        } else {
            timers[connection] = script.schedule(now + TIMEOUT);
        }
    }
}

fn cache(script: &mut Script) {
    const ENTRY_COUNT: u64 = 50_000;
    let mut entries = Vec::new();
    for entry in 0..ENTRY_COUNT {
        let now = entry * 10;
        script.fire_until(now);
        let life_time = 1_000 + script.random.below(599_000);
        entries.push(script.schedule(now + life_time));
        if script.random.below(10) == 0 {
            let evicted = script.random.below(entries.len() as u64) as usize;
            let evicted = entries.swap_remove(evicted);
            script.cancel(evicted);
        }
    }
}

/// Timers that are scheduled again when they fire, until an end.
fn repeating(script: &mut Script, timer_count: u64, end: u64, next: impl Fn(u64, u64) -> u64) {
    let mut owner: HashMap<u64, u64> = HashMap::new();
    for number in 0..timer_count {
        let phase = script.random.below(1_000);
        let timer = script.schedule(next(number, phase));
        owner.insert(timer, number);
    }
    while let Some(timer) = script.fire_next(end) {
        debug_assert!(owner.contains_key(&timer), "each that fires is one of these");
        let number = owner.remove(&timer).unwrap_or_default();
        let deadline = next(number, script.now);
        let timer = script.schedule(deadline);
        owner.insert(timer, number);
    }
}

fn cron(script: &mut Script) {
    const MINUTE: u64 = 60_000;
    const WEEK: u64 = 7 * 24 * 60 * MINUTE;
    /// In minutes: each five, each hour, each day.
    const PERIODS: [u64; 4] = [5, 60, 60, 24 * 60];
    repeating(script, 200, WEEK, |number, now| {
        let period = PERIODS[number as usize % PERIODS.len()] * MINUTE;
        let phase = number * MINUTE % period;
        ((now + period - phase) / period) * period + phase
    });
}

#[test]
fn every_kind_is_a_trace_that_can_be_read_again() {
    for kind in KINDS {
        let trace = generate(kind);
        assert!(trace.steps.len() > 1_000, "{kind:?} has {} steps", trace.steps.len());
        assert_eq!(trace.to_string().parse::<Trace>().as_ref(), Ok(&trace), "{kind:?}");
    }
}
