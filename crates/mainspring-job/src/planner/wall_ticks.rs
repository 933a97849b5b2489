//! Wall time as ticks of a [`mainspring_queue`](mainspring_queue) queue: wall time is set back, and ticks
//! never go back.
//!
//! ```text
//!  wall     10:00 ── 10:30 ┐           10:30 ── 11:00           the clock is set back by an hour at 10:30
//!                          └ 09:30 ── 10:30
//!  ticks    ───────────────●───────────●──────────▶            each step back is added to all that follows
//! ```
//!
//! A tick is a millisecond. `tick_of(due)` rounds up and `tell(now)` rounds down, so that what has expired is
//! due:
//!
//! 1. **Ticks never go back**, whatever the clock shows.
//! 2. **Never late.** A timer at `tick_of(due)` has expired whenever `tell` was told `due`, rounded up to a
//!    millisecond, or later, however often and in whichever direction the clock was set since `tick_of`.
//! 3. **Early by no more than the steps back** since `tick_of`: not at all, if the clock was not set back. So
//!    the owner compares the due time of what has expired with the clock, and puts what is early back at its
//!    tick of now. Each timer is put back once for each step back.
//! 4. **A step forward is an ordinary advance.**
//!
//! Cost: O(1), 16 bytes. All times that [`Timestamp`] has fit 29,000 times into the ticks of a queue: so
//! often could the clock be set from the last year of the calendar to the first before ticks end; everything
//! is looked at each time from then on.
//!
//! Does not find out that the clock was set: it takes what it is told.

use jiff::Timestamp;
use mainspring_queue::Tick;

/// A tick, in nanoseconds.
const TICK_NS: i32 = 1_000_000;

/// Ticks in a second.
const PER_SECOND: i64 = 1_000;

const _: () = assert!(TICK_NS as i64 * PER_SECOND == 1_000_000_000);

/// Translates the times of a wall clock to ticks. See the head of this file.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallTicks {
    /// What the clock showed last.
    latest: u64,
    /// By how much it was set back, all steps together.
    set_back: u64,
}

impl WallTicks {
    /// A clock that shows the first time there is.
    pub(super) const fn new() -> WallTicks {
        WallTicks { latest: 0, set_back: 0 }
    }

    /// Takes in what the clock shows, and tells the tick to advance a queue to. Never less than before.
    pub(super) fn tell(&mut self, now: Timestamp) -> Tick {
        let before = self.now();
        let now = rounded_down(now);
        self.set_back = self.set_back.saturating_add(self.latest.saturating_sub(now));
        self.latest = now;
        assert!(before <= self.now(), "ticks never go back");
        self.now()
    }

    /// The tick at which a time comes, if the clock is not set back before.
    pub(super) fn tick_of(&self, due: Timestamp) -> Tick {
        Tick::new(rounded_up(due)).after(self.set_back)
    }

    /// What the clock shows at a tick, if it is not set again; the first time there is for a tick before
    /// that.
    pub(super) fn time_of(&self, tick: Tick) -> Timestamp {
        let ticks = tick.get().saturating_sub(self.set_back);
        let since_first = i64::try_from(ticks).unwrap_or(i64::MAX);
        let first = Timestamp::MIN.as_second() * PER_SECOND;
        Timestamp::from_millisecond(first.saturating_add(since_first)).unwrap_or(Timestamp::MAX)
    }

    fn now(&self) -> Tick {
        Tick::new(self.latest).after(self.set_back)
    }
}

/// Whole ticks from the first second there is up to a time.
fn rounded_down(time: Timestamp) -> u64 {
    let seconds = time.as_second() - Timestamp::MIN.as_second();
    let rest = i64::from(time.subsec_nanosecond().div_euclid(TICK_NS));
    u64::try_from(seconds * PER_SECOND + rest).unwrap_or(0)
}

/// The same, and a tick more for a part of one.
fn rounded_up(time: Timestamp) -> u64 {
    let is_whole = time.subsec_nanosecond() % TICK_NS == 0;
    rounded_down(time) + u64::from(!is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay;
    use jiff::SignedDuration;

    fn at(time: &str) -> Timestamp {
        format!("2026-01-01T{time}Z").parse().unwrap()
    }

    #[test]
    fn a_part_of_a_tick_is_never_early() {
        let mut ticks = WallTicks::new();
        let due = ticks.tick_of(at("10:00:00.0000001"));
        assert!(ticks.tell(at("10:00:00")) < due);
        assert!(ticks.tell(at("10:00:00.0009999")) < due);
        assert_eq!(ticks.tell(at("10:00:00.001")), due);
        let before_1970: Timestamp = "1969-12-31T23:59:59.9995Z".parse().unwrap();
        let mut ticks = WallTicks::new();
        let due = ticks.tick_of(before_1970);
        assert!(ticks.tell("1969-12-31T23:59:59.9994Z".parse().unwrap()) < due);
        assert_eq!(ticks.tell(Timestamp::UNIX_EPOCH), due);
    }

    #[test]
    fn a_step_back_makes_what_was_placed_before_early_by_the_step() {
        let mut ticks = WallTicks::new();
        ticks.tell(at("10:30:00"));
        let before = ticks.tick_of(at("11:00:00"));
        let ticks_now = ticks.tell(at("09:30:00"));
        assert_eq!(ticks.time_of(ticks_now), at("09:30:00"));
        assert_eq!(ticks.time_of(before), at("10:00:00"), "early by the hour");
        let after = ticks.tick_of(at("11:00:00"));
        assert_eq!((after.since(before), ticks.time_of(after)), (3_600_000, at("11:00:00")));
    }

    #[test]
    fn the_first_and_the_last_time_have_ticks() {
        let mut ticks = WallTicks::new();
        for _ in 0..3 {
            let last = ticks.tick_of(Timestamp::MAX);
            assert!(last < Tick::MAX);
            ticks.tell(Timestamp::MIN);
            assert_eq!(ticks.time_of(Tick::ZERO), Timestamp::MIN);
            ticks.tell(Timestamp::MAX);
            assert_eq!(ticks.time_of(Tick::MAX), Timestamp::MAX);
        }
    }

    /// A generator of numbers, so that a failing case is the same again: xorshift64 of G. Marsaglia.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: i64) -> i64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            i64::try_from(self.0 >> 1).unwrap() % limit
        }
    }

    /// Sentences 1 to 3 of the head, for clocks that are set in both directions by anything from nanoseconds
    /// to years.
    #[test]
    fn whatever_the_clock_does_ticks_grow_and_nothing_is_late_or_earlier_than_the_steps_back() {
        const YEAR_NS: i64 = 365 * 86_400 * 1_000_000_000;
        replay::each_seed(1..301, |seed| {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut ticks = WallTicks::new();
            let mut now = at("10:00:00");
            let mut last = ticks.tell(now);
            let mut set_back = SignedDuration::ZERO;
            let mut placed: Vec<(Timestamp, Tick, SignedDuration)> = Vec::new();
            for _ in 0..100 {
                let reach = [1_000, 1_000_000, 5_000_000_000, YEAR_NS][random.below(4) as usize];
                let step = SignedDuration::from_nanos(random.below(2 * reach) - reach);
                let due = now + SignedDuration::from_nanos(random.below(2 * reach) - reach);
                placed.push((due, ticks.tick_of(due), set_back));
                now += step;
                set_back += (-step).max(SignedDuration::ZERO);
                let ticks_now = ticks.tell(now);
                assert!(last <= ticks_now, "seed {seed}: ticks went back");
                last = ticks_now;
                for (due, tick, set_back_then) in &placed {
                    let late_by = now.duration_since(*due);
                    if SignedDuration::from_millis(1) <= late_by {
                        assert!(*tick <= ticks_now, "seed {seed}: {due} is late at {now}");
                    }
                    // A step is rounded to ticks, and may be one more.
                    let slack = SignedDuration::from_millis(1) * 100;
                    if *tick <= ticks_now {
                        let steps_back = set_back - *set_back_then;
                        let is_exact = steps_back.is_zero();
                        let limit = if is_exact { SignedDuration::ZERO } else { steps_back + slack };
                        assert!(-late_by <= limit, "seed {seed}: {due} is early at {now}");
                    }
                }
            }
        });
    }
}
