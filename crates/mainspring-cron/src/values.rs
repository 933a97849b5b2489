//! The set of values that a field allows: 256 bits, enough for every field.
//!
//! Years are counted from 1970, so that 1970 to 2199 fit. Constant time and no allocation for every
//! operation.

/// A set of small numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values([u64; 4]);

impl Values {
    pub(crate) fn insert(&mut self, value: u16) {
        self.0[usize::from(value / 64)] |= 1 << (value % 64);
    }

    pub(crate) fn extend(&mut self, other: Values) {
        self.0.iter_mut().zip(other.0).for_each(|(word, more)| *word |= more);
    }

    /// The values below 64 as one word.
    pub(crate) fn low(self) -> u64 {
        self.0[0]
    }

    /// A set of months as bits 1 to 12.
    pub(crate) fn months(self) -> u16 {
        u16::try_from(self.low()).expect("months are below 13")
    }

    /// A set of days of the month as bits 1 to 31.
    pub(crate) fn days(self) -> u32 {
        u32::try_from(self.low()).expect("days of the month are below 32")
    }

    /// A set of hours as bits 0 to 23.
    pub(crate) fn hours(self) -> u32 {
        u32::try_from(self.low()).expect("hours are below 24")
    }

    /// All values as four words, the lowest first.
    pub(crate) fn words(self) -> [u64; 4] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_land_in_the_word_that_holds_them() {
        let mut values = Values::default();
        [0, 63, 64, 229].into_iter().for_each(|value| values.insert(value));
        assert_eq!(values.low(), 1 | 1 << 63);
        assert_eq!(values.words(), [1 | 1 << 63, 1, 0, 1 << 37]);
    }
}
