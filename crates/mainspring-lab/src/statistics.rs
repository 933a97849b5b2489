//! Median and range of rounds.
//!
//! Cost: a sort of some numbers. It does not assume any distribution: noise on a shared machine has none.

/// What rounds gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The middle one; of an even number the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many.
    pub count: usize,
}

impl Summary {
    /// Sums up; `None` if there is nothing.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Summary> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Summary { median, min, max, count: values.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_middles() {
        let cases: [(&[f64], f64); 4] =
            [(&[3.0], 3.0), (&[9.0, 1.0, 2.0], 2.0), (&[4.0, 1.0], 2.5), (&[5.0, 5.0, 1.0, 100.0], 5.0)];
        for (values, median) in cases {
            let summary = Summary::of(values.iter().copied()).expect("there are values");
            assert_eq!(summary.median, median, "{values:?}");
            assert_eq!(summary.count, values.len());
        }
    }

    #[test]
    fn the_range_is_the_least_and_the_largest() {
        let summary = Summary::of([3.0, 1.0, 2.0]).expect("there are values");
        assert_eq!((summary.min, summary.max), (1.0, 3.0));
        assert_eq!(Summary::of([]), None);
    }
}
