//! The soak: hundreds of millions of timers through the default queue, whose memory must stay flat.
//!
//! ```text
//!   each pattern:  pair, pair, pair .. tick, fire .. pair ..      a sample of memory every 200th part
//!                  |---------- three quarters ----------|- last -|   the last must be no higher than those before
//! ```
//!
//! A pair is a schedule and a cancel, or a reset; what fires is scheduled again, so that as many timers live
//! as the pattern says. Memory is what the kernel says is resident, and what the queue itself counts
//! ([`Chunked::hint_count`](mainspring_queue::wheel::Chunked::hint_count)), which has a bound.
//!
//! Cost: ten to twenty seconds per pattern with 1e8 pairs.
//!
//! It does not measure speed: the time per pair is shown to say how long a longer soak would take.

use mainspring_queue::{Tick, TimerId, TimerQueue};

use crate::case::Failure;
use crate::random::Random;
use crate::stopwatch::Stopwatch;
use crate::subjects::queues::DefaultQueue;
use crate::workload::memory::resident_bytes;

/// How far ahead a deadline is.
#[derive(Clone, Copy, Debug)]
pub enum Delay {
    /// Anywhere from 1 to so many ticks.
    Within(u64),
    /// Always so many; 0 is due at once.
    Fixed(u64),
    /// One in ten within the second, the others within the first.
    NearOrFar(u64, u64),
    /// Each timer in a slot of its own: its number times so many.
    Spaced(u64),
}

/// Which timer gives way to the new one.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// One chosen at random is cancelled.
    Any,
    /// The oldest is cancelled.
    Oldest,
    /// The new one itself, at once.
    Newest,
    /// None: one chosen at random is reset.
    Reset,
}

/// What is done over and over.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Its name in the table.
    pub name: &'static str,
    /// How many timers live.
    pub timer_count: u64,
    /// Where deadlines lie.
    pub delay: Delay,
    /// What gives way.
    pub change: Change,
    /// How many pairs are made between two ticks.
    pub pairs_per_tick: u64,
    /// Where time starts.
    pub start: u64,
}

const fn churn(name: &'static str, timer_count: u64, delay: Delay, start: u64) -> Pattern {
    Pattern { name, timer_count, delay, change: Change::Any, pairs_per_tick: 1_000, start }
}

/// The patterns. The first three hide the dead behind the living in the slot that comes next, for a minute
/// and for hours: what a sweep that starts over does not find.
pub const PATTERNS: [Pattern; 12] = [
    churn("a minute ahead", 10_000, Delay::Within(60_000), 0),
    churn("hours ahead", 10_000, Delay::Within(14_040_000), 8_000_000),
    churn("an hour ahead", 100_000, Delay::Within(3_600_000), 14_977_216),
    churn("near and far", 10_000, Delay::NearOrFar(1_000, 1_000_000_000), 0),
    churn("own slots", 1_000, Delay::Spaced(300), 0),
    churn("one timer", 1, Delay::Within(60_000), 0),
    Pattern { change: Change::Newest, ..churn("no delay", 1_000, Delay::Fixed(0), 0) },
    Pattern { change: Change::Newest, ..churn("one tick", 1_000, Delay::Fixed(60_000), 0) },
    Pattern { change: Change::Oldest, ..churn("first in, first out", 10_000, Delay::Fixed(30_000), 0) },
    Pattern { change: Change::Reset, ..churn("resets to and fro", 10_000, Delay::Within(60_000), 20_000) },
    Pattern {
        change: Change::Reset,
        pairs_per_tick: 150,
        ..churn("resets, hours ahead", 1_000, Delay::Within(9_000_000), 66_000_000)
    },
    Pattern { pairs_per_tick: 1, ..churn("a pair a tick", 10_000, Delay::Within(60_000), 0) },
];

const _: () = {
    let mut index = 0;
    while index < PATTERNS.len() {
        assert!(0 < PATTERNS[index].timer_count, "one of them gives way");
        assert!(0 < PATTERNS[index].pairs_per_tick);
        index += 1;
    }
};

/// The largest that memory was, before the last quarter and in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peaks {
    /// Until then.
    pub before: u64,
    /// From then on.
    pub last: u64,
}

impl Peaks {
    fn note(&mut self, value: u64, sample: u64) {
        debug_assert!(sample < SAMPLE_COUNT, "a sample is before the end");
        let peak = if sample < SAMPLE_COUNT * 3 / 4 { &mut self.before } else { &mut self.last };
        *peak = value.max(*peak);
    }

    /// Whether it did not grow at the end by more than a part of ten, and `slack`.
    fn is_flat(self, slack: u64) -> bool {
        self.last <= self.before + self.before / 10 + slack
    }
}

/// What a pattern did to memory.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Resident memory of the process, in bytes.
    pub resident: Peaks,
    /// The queue's own count.
    pub hints: Peaks,
    /// The bound of that count.
    pub hint_count_max: u64,
    /// Nanoseconds per pair.
    pub pair_ns: f64,
}

/// Resident memory may differ by so much without meaning anything: a huge page.
const RESIDENT_SLACK: u64 = 2 << 20;

/// So many hints more are nothing: 32 KiB.
const HINT_SLACK: u64 = 4_096;

impl Outcome {
    /// Whether memory stayed flat and within its bound.
    pub fn is_flat(&self) -> bool {
        self.is_queue_flat() && self.resident.is_flat(RESIDENT_SLACK)
    }

    /// Whether the queue's own count did. What else the process does has no part in it.
    pub fn is_queue_flat(&self) -> bool {
        let is_bounded = self.hints.before.max(self.hints.last) <= self.hint_count_max;
        is_bounded && self.hints.is_flat(HINT_SLACK)
    }
}

/// How often memory is looked at.
const SAMPLE_COUNT: u64 = 200;

const _: () = assert!(SAMPLE_COUNT.is_multiple_of(4), "the last quarter begins at a sample");

/// Makes so many pairs of a pattern.
///
/// # Errors
/// The kernel does not tell how much memory is resident, or the queue's answers were wrong.
pub fn soak(pattern: &Pattern, pair_count: u64) -> Result<Outcome, Failure> {
    let mut crowd = Crowd::new(pattern);
    let stopwatch = Stopwatch::start();
    let (mut resident, mut hints) = (Peaks::default(), Peaks::default());
    for sample in 0..SAMPLE_COUNT {
        for pair in pair_count * sample / SAMPLE_COUNT..pair_count * (sample + 1) / SAMPLE_COUNT {
            crowd.change(pair)?;
            if (pair + 1) % pattern.pairs_per_tick == 0 {
                hints.note(crowd.queue.hint_count() as u64, sample);
                crowd.tick();
            }
        }
        hints.note(crowd.queue.hint_count() as u64, sample);
        resident.note(resident_bytes()?, sample);
    }
    let pair_ns = stopwatch.ns_per(pair_count);
    crowd.queue.check();
    debug_assert_eq!(crowd.queue.len() as u64, pattern.timer_count, "one goes for each that comes");
    // One more lives while it takes another's place.
    let hint_count_max = crowd.queue.hint_count_max(pattern.timer_count as usize + 1) as u64;
    Ok(Outcome { resident, hints, hint_count_max, pair_ns })
}

struct Crowd<'p> {
    pattern: &'p Pattern,
    queue: DefaultQueue,
    random: Random,
    ids: Vec<TimerId>,
}

impl<'p> Crowd<'p> {
    fn new(pattern: &'p Pattern) -> Crowd<'p> {
        let mut queue = DefaultQueue::new();
        queue.advance(Tick::new(pattern.start));
        let mut crowd = Crowd { pattern, queue, random: Random::new(0), ids: Vec::new() };
        crowd.ids = (0..pattern.timer_count).map(|number| crowd.schedule(number)).collect();
        crowd
    }

    fn deadline(&mut self, number: u64) -> Tick {
        let delay = match self.pattern.delay {
            Delay::Within(ticks) => 1 + self.random.below(ticks),
            Delay::Fixed(ticks) => ticks,
            Delay::NearOrFar(near, far) => {
                let ticks = if self.random.below(10) == 0 { far } else { near };
                1 + self.random.below(ticks)
            }
            Delay::Spaced(ticks) => (1 + number) * ticks,
        };
        self.queue.now().after(delay)
    }

    fn schedule(&mut self, number: u64) -> TimerId {
        let deadline = self.deadline(number);
        self.queue.schedule(deadline, number).expect("the default queue takes every deadline")
    }

    fn replace(&mut self, number: u64) -> Option<u64> {
        let id = self.schedule(number);
        let old = std::mem::replace(&mut self.ids[number as usize], id);
        self.queue.cancel(old)
    }

    fn change(&mut self, pair: u64) -> Result<(), Failure> {
        let timer_count = self.pattern.timer_count;
        let is_done = match self.pattern.change {
            Change::Any => {
                let number = self.random.below(timer_count);
                self.replace(number) == Some(number)
            }
            Change::Oldest => self.replace(pair % timer_count) == Some(pair % timer_count),
            Change::Newest => {
                let id = self.schedule(timer_count);
                self.queue.cancel(id) == Some(timer_count)
            }
            Change::Reset => {
                let number = self.random.below(timer_count);
                let deadline = self.deadline(number);
                self.queue.reset(self.ids[number as usize], deadline).is_ok()
            }
        };
        if is_done { Ok(()) } else { Err(Failure::Wrong(format!("pair {pair} found no timer to change"))) }
    }

    /// Moves time by a tick. What fires is scheduled again, once.
    fn tick(&mut self) {
        let now = self.queue.now().after(1);
        self.queue.advance(now);
        for _ in 0..self.pattern.timer_count {
            let Some(timer) = self.queue.pop_expired() else { return };
            self.ids[timer.payload as usize] = self.schedule(timer.payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_stays_flat_for_a_while() {
        for pattern in &PATTERNS {
            let outcome = soak(pattern, 1_000_000).expect(pattern.name);
            // Other tests run in this process: what is resident is theirs too.
            assert!(outcome.is_queue_flat(), "{}: {outcome:?}", pattern.name);
        }
    }

    #[test]
    fn what_grows_is_not_flat() {
        let peaks = |before, last| Peaks { before, last };
        assert!(peaks(1_000, 1_100).is_flat(0));
        assert!(!peaks(1_000, 1_101).is_flat(0));
        let outcome = Outcome {
            resident: peaks(1 << 30, 1 << 30),
            hints: peaks(900, 1_001),
            hint_count_max: 1_000,
            pair_ns: 1.0,
        };
        assert!(!outcome.is_flat(), "more than the bound is too much, however flat");
    }
}
