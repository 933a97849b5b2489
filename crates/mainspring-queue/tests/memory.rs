//! Memory of the chunked wheel: its hints stay in proportion to the most timers that it held at once,
//! whatever is asked of it and however time moves.

use mainspring_queue::wheel::Chunked;
use mainspring_queue::{Budget, PopResult, Tick, TimerId, TimerQueue};

use crate::replay;

/// xorshift64 with multiply-high bounding.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(bound)) >> 64) as u64
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// How far ahead deadlines are.
#[derive(Clone, Copy, Debug)]
enum Delay {
    /// Anywhere up to so many ticks.
    Below(u64),
    /// Always so many.
    Fixed(u64),
    /// Mostly the first, one in ten the second.
    NearOrFar(u64, u64),
    /// A power of two below that of so many bits.
    Powers(u64),
}

impl Delay {
    fn draw(self, random: &mut Random) -> u64 {
        match self {
            Delay::Below(bound) => random.below(bound),
            Delay::Fixed(delay) => delay,
            Delay::NearOrFar(near, far) => {
                let bound = if random.below(10) == 0 { far } else { near };
                random.below(bound)
            }
            Delay::Powers(bits) => 1 << random.below(bits),
        }
    }
}

/// How a timer gives way to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A timer is scheduled, and one chosen at random is cancelled.
    AnyCancelled,
    /// A timer is scheduled and cancelled at once, beside others that stay.
    NewestCancelled,
    /// A timer is scheduled, and the oldest is cancelled.
    OldestCancelled,
    /// A timer chosen at random is reset.
    Reset,
}

/// How due timers are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pops {
    /// All, with each tick.
    All,
    /// As far as a budget of so many goes.
    Within(usize),
    /// None until the end.
    None,
}

#[derive(Clone, Copy, Debug)]
struct Pattern {
    start: u64,
    timer_count: u64,
    delay: Delay,
    change: Change,
    /// So many changes, then time moves by so many ticks.
    changes_per_move: u64,
    move_by: u64,
    pops: Pops,
}

struct Crowd {
    wheel: Chunked<u64>,
    pattern: Pattern,
    random: Random,
    ids: Vec<TimerId>,
    oldest: usize,
}

impl Crowd {
    fn new(pattern: Pattern, seed: u64) -> Crowd {
        let mut wheel = Chunked::new();
        wheel.advance(Tick::new(pattern.start));
        let mut crowd = Crowd { wheel, pattern, random: Random::new(seed), ids: Vec::new(), oldest: 0 };
        for number in 0..pattern.timer_count {
            let id = crowd.schedule(number);
            crowd.ids.push(id);
        }
        crowd
    }

    fn deadline(&mut self) -> Tick {
        self.wheel.now().after(self.pattern.delay.draw(&mut self.random))
    }

    fn schedule(&mut self, number: u64) -> TimerId {
        let deadline = self.deadline();
        self.wheel.schedule(deadline, number).expect("there is room")
    }

    fn replace(&mut self, number: u64) {
        let id = self.schedule(number);
        let old = std::mem::replace(&mut self.ids[number as usize], id);
        assert_eq!(self.wheel.cancel(old), Some(number), "each is pending");
    }

    fn change(&mut self) {
        let timer_count = self.pattern.timer_count;
        match self.pattern.change {
            Change::AnyCancelled => {
                let number = self.random.below(timer_count);
                self.replace(number);
            }
            Change::OldestCancelled => {
                self.oldest = (self.oldest + 1) % timer_count as usize;
                self.replace(self.oldest as u64);
            }
            Change::NewestCancelled => {
                let id = self.schedule(u64::MAX);
                assert_eq!(self.wheel.cancel(id), Some(u64::MAX));
            }
            Change::Reset => {
                let number = self.random.below(timer_count) as usize;
                let deadline = self.deadline();
                self.wheel.reset(self.ids[number], deadline).expect("it is pending");
            }
        }
    }

    /// Moves time; what fires is scheduled again.
    fn move_time(&mut self) {
        let now = self.wheel.now().after(self.pattern.move_by);
        let mut budget = match self.pattern.pops {
            Pops::All => Budget::unlimited(),
            Pops::Within(timer_count) => Budget::new(timer_count),
            Pops::None => return self.wheel.advance_within(now, &mut Budget::new(1)),
        };
        self.wheel.advance_within(now, &mut budget);
        let most = self.pattern.timer_count;
        for _ in 0..most {
            let PopResult::Timer(timer) = self.wheel.pop_within(&mut budget) else { return };
            let id = self.schedule(timer.payload);
            self.ids[timer.payload as usize] = id;
        }
    }

    /// Makes so many changes, and returns the most hints there were in the first and in the second half.
    fn run(&mut self, change_count: u64) -> [usize; 2] {
        // One more while it is being replaced.
        let timer_count_max = self.pattern.timer_count as usize + 1;
        let mut most = [0; 2];
        for number in 0..change_count {
            self.change();
            if number % self.pattern.changes_per_move == 0 {
                self.move_time();
            }
            let (count, bound) = (self.wheel.hint_count(), self.wheel.hint_count_max(timer_count_max));
            assert!(count <= bound, "change {number}: {count} hints, not {bound}: {:?}", self.pattern);
            let half = (number * 2 / change_count) as usize;
            most[half] = most[half].max(count);
        }
        self.wheel.check();
        most
    }
}

const CHURN: Pattern = Pattern {
    start: 0,
    timer_count: 10_000,
    delay: Delay::Below(60_000),
    change: Change::AnyCancelled,
    changes_per_move: 1_000,
    move_by: 1,
    pops: Pops::All,
};

#[track_caller]
fn assert_flat(pattern: Pattern, change_count: u64) {
    let [first, second] = Crowd::new(pattern, 1).run(change_count);
    assert!(second <= first + first / 8, "{first} hints, then {second}: {pattern:?}");
}

#[test]
fn a_crowd_that_waits_in_the_next_minute_does_not_keep_the_dead() {
    assert_flat(Pattern { start: 20_000, ..CHURN }, 2_000_000);
}

#[test]
fn a_crowd_that_waits_in_the_next_four_hours_does_not_keep_the_dead() {
    let hours = Delay::Below(14_040_000);
    assert_flat(Pattern { start: 8_000_000, delay: hours, ..CHURN }, 2_000_000);
    let crowd = Pattern { start: 14_977_216, timer_count: 100_000, delay: Delay::Below(3_600_000), ..CHURN };
    assert_flat(crowd, 4_000_000);
    assert_flat(Pattern { change: Change::NewestCancelled, ..crowd }, 4_000_000);
}

#[test]
fn resets_to_and_fro_keep_no_old_hints_while_time_moves() {
    let resets = Pattern { change: Change::Reset, ..CHURN };
    assert_flat(Pattern { start: 20_000, ..resets }, 2_000_000);
    let (delay, changes_per_move) = (Delay::Below(9_000_000), 150);
    let waiting = Pattern { start: 66_000_000, timer_count: 1_000, delay, changes_per_move, ..resets };
    assert_flat(waiting, 1_000_000);
    assert_flat(Pattern { delay: Delay::NearOrFar(1_000, 10_000_000), ..resets }, 2_000_000);
}

/// A crowd that waits in the slot that comes next at a level, with so few changes between two ticks that time
/// takes the slot's chunks one by one: what hides the dead from a sweep that starts over.
fn waiting_pattern(random: &mut Random) -> Pattern {
    let slot_ticks = random.pick(&[1 << 16, 1 << 24]);
    let timer_count = 1 << (8 + random.below(5));
    Pattern {
        start: slot_ticks * 4 - slot_ticks / (2 + random.below(20)),
        timer_count,
        delay: Delay::Below(slot_ticks / 2 + random.below(slot_ticks)),
        change: random.pick(&[Change::AnyCancelled, Change::Reset]),
        changes_per_move: timer_count / (2 + random.below(30)),
        move_by: random.pick(&[1, 1, 2, 10]),
        pops: Pops::All,
    }
}

/// A pattern of any kind.
fn any_pattern(random: &mut Random) -> Pattern {
    if random.below(2) == 0 {
        return waiting_pattern(random);
    }
    let ticks = 1 << (1 + random.below(26));
    let near = 1 << (1 + random.below(10));
    let delays = [Delay::Below(ticks), Delay::Fixed(ticks), Delay::NearOrFar(near, ticks), Delay::Powers(40)];
    let boundary = 1_u64 << random.pick(&[8, 16, 24, 32]);
    let (before, budget) = (random.below(boundary), 1 << random.below(12));
    Pattern {
        start: random.pick(&[0, boundary - before, boundary]),
        timer_count: 1 << (4 + random.below(11)),
        delay: random.pick(&delays),
        change: random.pick(&[
            Change::AnyCancelled,
            Change::NewestCancelled,
            Change::OldestCancelled,
            Change::Reset,
        ]),
        changes_per_move: 1 << random.below(13),
        move_by: random.pick(&[0, 1, 1, 1, 7, 300, 70_000]),
        pops: random.pick(&[Pops::All, Pops::All, Pops::Within(budget), Pops::None]),
    }
}

#[test]
fn no_random_pattern_passes_the_bound() {
    replay::each_seed(0..40, |seed| {
        let pattern = any_pattern(&mut Random::new(seed + 7));
        Crowd::new(pattern, seed).run(300_000);
    });
}

#[test]
fn no_change_of_patterns_passes_the_bound() {
    replay::each_seed(0..10, |seed| {
        let mut random = Random::new(seed + 11);
        let mut crowd = Crowd::new(any_pattern(&mut random), seed);
        for _ in 0..10 {
            let timer_count = crowd.pattern.timer_count;
            crowd.pattern = Pattern { timer_count, ..any_pattern(&mut random) };
            crowd.run(30_000);
        }
    });
}
