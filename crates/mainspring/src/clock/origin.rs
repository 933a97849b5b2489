//! The instant at which a clock began to count, and the time since then.
//!
//! ```text
//!   elapsed_ns         CLOCK_MONOTONIC: exact, and slow because it reads the processor's counter in order
//!   elapsed_ns_min     CLOCK_MONOTONIC_COARSE: what the kernel noted at its last tick, at most 10 ms ago; never more than the above
//! ```
//!
//! On Linux it asks the kernel itself: `Instant` is the same clock, and turns its answer into a duration that
//! no clock needs, which takes as long again as the question to the kernel (29 to 43 ns beside 27 on a Xeon
//! at 2.5 GHz; the coarse clock: 11).
//!
//! Cost: one clock read.
//!
//! It counts nanoseconds and does not know ticks.
//!
//! Source: clock_gettime(2).

pub(super) use self::system::Origin;

#[cfg(target_os = "linux")]
mod system {
    use libc::{CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE};

    use crate::clock::sys::clock_ns;

    /// When a clock began to count.
    #[derive(Clone, Debug)]
    pub(in crate::clock) struct Origin {
        /// Since the machine started: 584 years fit.
        monotonic_ns: u64,
    }

    impl Origin {
        /// Begins now.
        pub(in crate::clock) fn now() -> Origin {
            Origin { monotonic_ns: clock_ns(CLOCK_MONOTONIC) }
        }

        /// How long ago it was.
        #[inline]
        pub(in crate::clock) fn elapsed_ns(&self) -> u64 {
            clock_ns(CLOCK_MONOTONIC).saturating_sub(self.monotonic_ns)
        }

        /// So long ago it was at least, and at most a tick of the kernel more.
        #[inline]
        pub(in crate::clock) fn elapsed_ns_min(&self) -> u64 {
            clock_ns(CLOCK_MONOTONIC_COARSE).saturating_sub(self.monotonic_ns)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    #![expect(clippy::disallowed_methods, reason = "this is the clock that others must ask")]

    use std::time::Instant;

    /// When a clock began to count.
    #[derive(Clone, Debug)]
    pub(in crate::clock) struct Origin(Instant);

    impl Origin {
        /// Begins now.
        pub(in crate::clock) fn now() -> Origin {
            Origin(Instant::now())
        }

        /// How long ago it was; 584 years fit.
        pub(in crate::clock) fn elapsed_ns(&self) -> u64 {
            u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
        }

        /// There is no cheaper clock.
        pub(in crate::clock) fn elapsed_ns_min(&self) -> u64 {
            self.elapsed_ns()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheap_answer_is_never_more_than_the_exact_one() {
        let origin = Origin::now();
        let mut last = 0;
        for _ in 0..10_000 {
            let min = origin.elapsed_ns_min();
            let exact = origin.elapsed_ns();
            assert!(last <= exact, "time does not go back");
            assert!(min <= exact, "{min} is more than {exact}");
            last = exact;
        }
    }
}
