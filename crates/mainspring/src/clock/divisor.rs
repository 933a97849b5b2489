//! Division by a number that does not change, without a division.
//!
//! ```text
//!   reciprocal = floor(2^64 / d)      q = floor(n * reciprocal / 2^64)      n / d is q or q + 1: the rest says which
//! ```
//!
//! Each schedule turns nanoseconds into ticks. A division of 64 bits takes a processor 35 to 90 cycles
//! (Skylake and before; 14 to 18 since Ice Lake) and nothing overlaps with it, since a lock follows; two
//! multiplications take eight.
//!
//! Cost: two multiplications.
//!
//! Source: T. Granlund and P. Montgomery, "Division by Invariant Integers using Multiplication" (1994).

/// A number to divide by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    number: u64,
    /// The largest whole number that is not more than 2^64 / `number`; one less for 1, for which that has 65
    /// bits. So a product of it and n, divided by 2^64, is less than one below n / `number`.
    reciprocal: u64,
}

impl Divisor {
    /// Prepares to divide by a number that is not 0.
    pub(super) const fn new(number: u64) -> Divisor {
        assert!(number != 0, "nothing is divided by 0");
        let reciprocal = (1 << u64::BITS) / number as u128;
        let reciprocal = if reciprocal > u64::MAX as u128 { u64::MAX } else { reciprocal as u64 };
        Divisor { number, reciprocal }
    }

    /// The number.
    pub(super) const fn get(self) -> u64 {
        self.number
    }

    /// Quotient and rest.
    #[inline]
    pub(super) fn divide(self, n: u64) -> (u64, u64) {
        let estimate = ((u128::from(n) * u128::from(self.reciprocal)) >> u64::BITS) as u64;
        let rest = n - estimate * self.number;
        // No branch: whether it is one more cannot be foreseen.
        let is_more = self.number <= rest;
        (estimate + u64::from(is_more), rest - if is_more { self.number } else { 0 })
    }

    /// `n / self`, rounded down.
    #[inline]
    pub(super) fn floor(self, n: u64) -> u64 {
        self.divide(n).0
    }

    /// `n / self`, rounded up.
    #[inline]
    pub(super) fn ceil(self, n: u64) -> u64 {
        let (quotient, rest) = self.divide(n);
        quotient + u64::from(rest != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_divides_as_division_does() {
        let mut draw = 88_172_645_463_325_252_u64;
        let mut random = || {
            draw ^= draw << 13;
            draw ^= draw >> 7;
            draw ^= draw << 17;
            draw >> (draw % 64)
        };
        let edges = |n: u64| [n.saturating_sub(1), n, n.saturating_add(1)];
        let special = [1, 2, 3, 10, 1_000, 83_333, 1_000_000, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX];
        let drawn: Vec<u64> = (0..1_000).map(|_| random().max(1)).collect();
        for number in special.into_iter().chain(drawn) {
            let divisor = Divisor::new(number);
            let near = [0, 1, u64::MAX, u64::MAX / number * number, random(), random() / number * number];
            for n in near.into_iter().flat_map(edges) {
                assert_eq!(divisor.floor(n), n / number, "{n} / {number}");
                assert_eq!(divisor.ceil(n), n.div_ceil(number), "{n} / {number}, rounded up");
            }
        }
    }
}
