//! The known word that was probably meant.
//!
//! Cost: the product of the lengths of two words per known word; a word that is far too long costs nothing.
//!
//! Does not know keyboards or languages.

/// How many letters may be wrong in a word that is still recognised.
const MAX_DISTANCE: usize = 2;

/// How much of a word tells which is meant, where its end is another.
const STEM_BYTES: usize = 4;

/// How many letters of that end may be wrong: `files` is not `file_bytes`.
const MAX_END: usize = 3;

const _: () = assert!(MAX_DISTANCE < STEM_BYTES, "a word keeps something of what is known");

/// What to say to somebody who wrote `found` where one of `known` was expected; there is at least one.
pub fn suggestion(found: &str, known: &[&str]) -> String {
    debug_assert!(!known.is_empty(), "something could have been meant");
    match nearest(found, known) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known are {}", known.join(", ")),
    }
}

/// The known word that was probably meant.
pub fn nearest<'k>(found: &str, known: &[&'k str]) -> Option<&'k str> {
    let nearest = known.iter().copied().min_by_key(|known| distance(found, known))?;
    // Of a word of two letters any other is two letters away.
    let is_near = distance(found, nearest) <= MAX_DISTANCE.min(nearest.len() / 2);
    is_near.then_some(nearest).or_else(|| of_one_stem(found, known))
}

/// The one known word that begins as this one does, as `retry` begins as `retries`. Of several none is meant.
fn of_one_stem<'k>(found: &str, known: &[&'k str]) -> Option<&'k str> {
    let stem = found.get(..STEM_BYTES)?;
    let mut all =
        known.iter().copied().filter(|known| known.starts_with(stem) && distance(found, known) <= MAX_END);
    all.next().filter(|_| all.next().is_none())
}

/// The number of single-character insertions, deletions and replacements from one word to the other. Words
/// longer than any known one are as far away as they are long, so that hostile input costs nothing.
fn distance(found: &str, known: &str) -> usize {
    if 2 * known.len() < found.len() {
        return found.len();
    }
    strsim::levenshtein(found, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_nearly_right_gets_the_right_one() {
        let known = ["timeout", "overlap", "at"];
        assert_eq!(suggestion("timout", &known), "did you mean `timeout`?");
        assert_eq!(suggestion("timeouts_s", &known), "did you mean `timeout`?");
        assert_eq!(nearest("retries", &["retention", "retry"]), Some("retry"));
        assert_eq!(nearest("files", &["file_bytes", "open_files"]), None);
        assert_eq!(nearest("rety", &["cron"]), None);
        assert_eq!(suggestion("xx", &known), "known are timeout, overlap, at");
        assert_eq!(suggestion(&"x".repeat(10_000), &known), "known are timeout, overlap, at");
    }
}
