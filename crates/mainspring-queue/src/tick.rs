//! A point in time, counted in equal steps.
//!
//! A [`Tick`] is the number of steps since an origin that the owner of a queue chooses (usually the start of
//! a clock). How long a step is, its *resolution*, is the clock's affair: a queue only compares, adds and
//! subtracts. All 2^64 values are legal deadlines. Arithmetic saturates: a deadline past the end of time is
//! the end of time.
//!
//! Cost: 8 bytes, a register. It does not know seconds, zones or clocks.

use core::fmt;

/// An absolute point in time, in steps since the owner's origin.
///
/// The range is the whole of `u64`. At a resolution of a millisecond it lasts 584 million years.
///
/// ```
/// use mainspring_queue::Tick;
///
/// let start = Tick::new(100);
/// assert_eq!(start.after(20), Tick::new(120));
/// assert_eq!(start.after(u64::MAX), Tick::MAX);
/// assert_eq!(Tick::new(120).since(start), 20);
/// assert_eq!(start.since(Tick::new(120)), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(u64);

impl Tick {
    /// The origin: the earliest tick.
    pub const ZERO: Tick = Tick(0);

    /// The latest tick. A timer with this deadline fires only if time is advanced to the very end.
    pub const MAX: Tick = Tick(u64::MAX);

    /// Makes the tick that lies `steps` after the origin.
    pub const fn new(steps: u64) -> Tick {
        Tick(steps)
    }

    /// Returns the number of steps since the origin.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the tick `delay` steps later, or [`Tick::MAX`] where that lies beyond the end of time.
    #[must_use]
    pub const fn after(self, delay: u64) -> Tick {
        Tick(self.0.saturating_add(delay))
    }

    /// Returns how many steps lie between `earlier` and this tick; 0 if `earlier` is in fact later.
    pub const fn since(self, earlier: Tick) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the roundest tick from this one to `latest`: the multiple of the largest power of two. Timers
    /// that may fire anywhere in ranges which overlap tend to meet there, and share a wake-up. This tick, if
    /// `latest` is earlier.
    ///
    /// ```
    /// use mainspring_queue::Tick;
    ///
    /// assert_eq!(Tick::new(1_000).roundest_until(Tick::new(1_100)), Tick::new(1_024));
    /// assert_eq!(Tick::new(1_025).roundest_until(Tick::new(1_025)), Tick::new(1_025));
    /// ```
    #[must_use]
    pub const fn roundest_until(self, latest: Tick) -> Tick {
        if latest.0 <= self.0 || self.0 == 0 {
            return self;
        }
        // Above the highest bit in which the last excluded tick and the last allowed one differ they agree.
        let differing = (self.0 - 1) ^ latest.0;
        let mask = u64::MAX << (u64::BITS - 1 - differing.leading_zeros());
        Tick(latest.0 & mask)
    }

    /// Returns the first tick at or after this one that is a multiple of `step`; saturates at [`Tick::MAX`].
    ///
    /// # Panics
    /// If `step` is 0.
    pub(crate) const fn round_up(self, step: u64) -> Tick {
        assert!(step != 0);
        match self.0.checked_next_multiple_of(step) {
            Some(steps) => Tick(steps),
            None => Tick::MAX,
        }
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::Tick;

    #[test]
    fn the_roundest_tick_lies_in_the_range_and_none_there_is_rounder() {
        for earliest in 0..200_u64 {
            for latest in earliest..200 {
                let roundest = Tick::new(earliest).roundest_until(Tick::new(latest)).get();
                assert!((earliest..=latest).contains(&roundest), "{earliest}..={latest}: {roundest}");
                let zeros = |tick: u64| tick.trailing_zeros();
                assert!(
                    (earliest..=latest).all(|tick| zeros(tick) <= zeros(roundest)),
                    "{earliest}..={latest}"
                );
            }
        }
        assert_eq!(Tick::new(5).roundest_until(Tick::MAX), Tick::new(1 << 63));
        assert_eq!(Tick::new(9).roundest_until(Tick::new(3)), Tick::new(9));
    }

    #[test]
    fn rounding_up_keeps_multiples_and_saturates_at_the_end() {
        assert_eq!(Tick::new(0).round_up(10), Tick::new(0));
        assert_eq!(Tick::new(1).round_up(10), Tick::new(10));
        assert_eq!(Tick::new(10).round_up(10), Tick::new(10));
        assert_eq!(Tick::new(u64::MAX - 3).round_up(10), Tick::MAX);
        assert_eq!(Tick::MAX.round_up(1), Tick::MAX);
    }
}
