//! The known word that was probably meant.
//!
//! Cost: the product of the lengths of two words per known word; a word that is far too long costs nothing.
//!
//! Does not know keyboards or languages.
//!
//! Source: V. I. Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals"
//! (1966).

/// How many letters may be wrong in a word that is still recognised.
const MAX_DISTANCE: usize = 2;

/// What to say to somebody who wrote `found` where one of `known` was expected; there is at least one.
pub fn suggestion(found: &str, known: &[&str]) -> String {
    match nearest(found, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known are {}", known.join(", ")),
    }
}

/// The known word that was probably meant.
pub fn nearest<'k>(found: &str, known: &[&'k str]) -> Option<&'k str> {
    let nearest = known.iter().copied().min_by_key(|known| distance(found, known))?;
    // Of a word of two letters any other is two letters away.
    (distance(found, nearest) <= MAX_DISTANCE.min(nearest.len() / 2)).then_some(nearest)
}

/// The number of single-character insertions, deletions and replacements from one word to the other. Words
/// longer than any known one are as far away as they are long, so that hostile input costs nothing.
fn distance(found: &str, known: &str) -> usize {
    if 2 * known.len() < found.len() {
        return found.len();
    }
    let mut row: Vec<usize> = (0..=known.len()).collect();
    for (i, a) in found.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in known.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[known.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_nearly_right_gets_the_right_one() {
        let known = ["timeout", "overlap", "at"];
        assert_eq!(suggestion("timout", &known), "did you mean `timeout`?");
        assert_eq!(suggestion("xx", &known), "known are timeout, overlap, at");
        assert_eq!(suggestion(&"x".repeat(10_000), &known), "known are timeout, overlap, at");
    }
}
