//! The random numbers of every workload: xorshift64, bounded by a multiplication.
//!
//! ```text
//!   state ^= state << 13;  state ^= state >> 7;  state ^= state << 17
//!   below(n) = high half of state * n
//! ```
//!
//! Cost: two draws are about 4 ns, and part of every figure. Multiplying instead of dividing keeps it so.
//!
//! It does not look random to a statistician, and need not: it must be cheap, the same on every machine, and
//! spread.
//!
//! Source: Marsaglia, "Xorshift RNGs"; Lemire, "Fast Random Integer Generation in an Interval".

/// A generator with 64 bits of state, never zero.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Starts from a seed. Seeds that differ by little start far apart.
    pub fn new(seed: u64) -> Random {
        // One step of a Weyl sequence: xorshift's own state must not be zero, and neighbours must not be
        // neighbours.
        let state = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Random { state }
    }

    /// Draws 64 bits.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    /// Draws a number less than `bound`; 0 where that is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut random = Random::new(0);
        let mut is_seen = [false; 7];
        for _ in 0..1_000 {
            is_seen[random.below(7) as usize] = true;
        }
        assert_eq!(is_seen, [true; 7]);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn one_seed_is_one_sequence() {
        let mut sequences = [Random::new(3), Random::new(3), Random::new(4)];
        let [first, second, other] = sequences.each_mut().map(Random::draw);
        assert_eq!(first, second);
        assert_ne!(first, other);
    }
}
