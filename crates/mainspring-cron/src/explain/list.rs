//! Sets of numbers and lists of words in English.
//!
//! | set of minutes | is called |
//! |---|---|
//! | 0-59 | all |
//! | 0, 5, 10 .. 55 | every 5 |
//! | 0, 7, 14 .. 56 | every 7 from 0 |
//! | 9-17, 20 | 9 to 17 and 20 |
//!
//! Linear in the size of the set.

/// How a set lies in its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    All,
    One(u16),
    /// At least three values, a step apart, as far as the field goes. It is even if the step also holds from
    /// the last value of a field to the first of the next.
    Step {
        first: u16,
        step: u16,
        is_even: bool,
    },
    /// At least three values in a row.
    Range(u16, u16),
    List(Vec<u16>),
}

/// The set bits of a word, from the lowest.
pub(crate) fn members(bits: u64) -> Vec<u16> {
    (0..64).filter(|bit| bits & (1 << bit) != 0).collect()
}

/// The shape of a set that may hold `first..=last`. The set is not empty.
pub(crate) fn shape(values: &[u16], first: u16, last: u16) -> Shape {
    let count = last - first + 1;
    let (&low, &high) =
        (values.first().expect("a field has a value"), values.last().expect("a field has a value"));
    debug_assert!(first <= low && high <= last, "the values are those of the field");
    let step = values.get(1).map_or(1, |second| second - low);
    let is_regular = values.windows(2).all(|pair| pair[1] - pair[0] == step);
    match values.len() {
        1 => Shape::One(low),
        length if length == usize::from(count) => Shape::All,
        length if 3 <= length && step == 1 && is_regular => Shape::Range(low, high),
        length if 3 <= length && is_regular && last < high + step && low < first + step => {
            Shape::Step { first: low, step, is_even: count.is_multiple_of(step) }
        }
        _ => Shape::List(values.to_vec()),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn join(words: &[String]) -> String {
    join_by(words, "and")
}

/// `a`, `a or b`, `a, b or c`.
pub(crate) fn join_by(words: &[String], last_word: &str) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} {last_word} {last}", rest.join(", ")),
    }
}

/// Names every value, runs of three and more as `a to b`.
pub(crate) fn runs(values: &[u16], name: impl Fn(u16) -> String) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = values;
    while let Some(&first) = rest.first() {
        let length = rest.iter().zip(first..).take_while(|(value, expected)| **value == *expected).count();
        let (run, after) = rest.split_at(length);
        match run {
            [first, .., last] if 3 <= length => words.push(format!("{} to {}", name(*first), name(*last))),
            run => words.extend(run.iter().map(|&value| name(value))),
        }
        rest = after;
    }
    words
}

/// `0-4,10,20` for the table of fields.
pub(crate) fn compact(values: &[u16]) -> String {
    runs(values, |value| value.to_string()).join(",").replace(" to ", "-")
}

/// `1st`, `2nd`, `23rd`.
pub(crate) fn ordinal(number: u16) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_called_by_its_simplest_shape() {
        let minutes = |values: &[u16]| shape(values, 0, 59);
        assert_eq!(minutes(&[7]), Shape::One(7));
        assert_eq!(minutes(&[5, 20, 35, 50]), Shape::Step { first: 5, step: 15, is_even: true });
        assert_eq!(minutes(&[0, 25, 50]), Shape::Step { first: 0, step: 25, is_even: false });
        assert_eq!(minutes(&[0, 10, 20]), Shape::List(vec![0, 10, 20]));
        assert_eq!(minutes(&[30, 40, 50]), Shape::List(vec![30, 40, 50]));
        assert_eq!(minutes(&[3, 4, 5]), Shape::Range(3, 5));
        assert_eq!(shape(&(1..=12).collect::<Vec<_>>(), 1, 12), Shape::All);
    }

    #[test]
    fn lists_and_ordinals_read_as_english() {
        assert_eq!(join(&runs(&[1, 2, 4, 5, 6], ordinal)), "1st, 2nd and 4th to 6th");
        assert_eq!([11, 12, 13, 21, 22, 23].map(ordinal).join(" "), "11th 12th 13th 21st 22nd 23rd");
        assert_eq!(compact(&[0, 1, 2, 3, 10, 20]), "0-3,10,20");
    }
}
