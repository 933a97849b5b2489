//! Checks that types are nouns, and that a comment names its subject.
//!
//! - No type is called by a participle alone, such as `Taken`. Before a noun it says more: `TakenChunk`.
//! - Nor by a pronoun or a preposition: see `NO_NOUNS`.
//! - The `PRONOUN` in a comment stands for a client, a thread or a user, which the comment can name. Those
//!   that are there are counted, and the count only falls: see `PRONOUN_COUNT`.
//!
//! Cost: that of reading. The names come from the walk of [`text`](super::text). It does not judge those of
//! functions and variables.

use std::path::Path;

use super::{Finding, Source};

/// Irregular participles. A regular one ends in `ed`, and not in `eed`.
const PARTICIPLES: [&str; 25] = [
    "Begun", "Broken", "Brought", "Caught", "Driven", "Found", "Given", "Gone", "Heard", "Held", "Hidden",
    "Kept", "Known", "Left", "Lent", "Lost", "Made", "Said", "Seen", "Sent", "Spent", "Taken", "Told",
    "Woken", "Written",
];

/// Kinds of a thing that their module names: `wheel::Chunked`, `driver::Striped`. `Shared` is what all clones
/// of a handle share. `Elapsed` is the error of a timeout, as tokio calls it.
const KINDS: [&str; 5] = ["Chunked", "Elapsed", "Sharded", "Shared", "Striped"];

/// Pronouns, prepositions and adverbs that have stood for a noun.
const NO_NOUNS: [&str; 16] = [
    "Alone",
    "Asker",
    "Asking",
    "Beside",
    "Few",
    "Many",
    "Of",
    "Others",
    "Otherwise",
    "Ours",
    "Usual",
    "What",
    "Who",
    "Whoever",
    "Whom",
    "Whose",
];

/// A pronoun in comments that a name replaces.
const PRONOUN: &str = "nobody";

/// How many comments have it. It only falls.
const PRONOUN_COUNT: usize = 3;

/// Checks the comments of all files.
pub fn check(sources: &[Source]) -> Option<Finding> {
    compared(sources.iter().map(|source| pronoun_count(&source.text)).sum(), PRONOUN_COUNT)
}

/// How many lines of comments have the pronoun.
fn pronoun_count(text: &str) -> usize {
    let says = |comment: &str| {
        comment.split(|c: char| !c.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case(PRONOUN))
    };
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix("//"))
        .filter(|comment| says(comment))
        .count()
}

/// A finding if the count is another than it was.
fn compared(count: usize, known: usize) -> Option<Finding> {
    let path = Path::new("xtask/src/tidy/words.rs");
    let text = match count.cmp(&known) {
        std::cmp::Ordering::Greater => {
            format!(
                "{count} comments say `{PRONOUN}`, where there were {known}: name the client, the thread or the user"
            )
        }
        std::cmp::Ordering::Less => format!("{count} comments say `{PRONOUN}`: PRONOUN_COUNT falls to that"),
        std::cmp::Ordering::Equal => return None,
    };
    Some(Finding::new(path, 0, text))
}

/// Why a type cannot have this name, if it cannot.
pub(super) fn fault(name: &str) -> Option<&'static str> {
    let is_one_word = !name.chars().skip(1).any(char::is_uppercase);
    let is_regular = is_one_word && name.ends_with("ed") && !name.ends_with("eed") && !KINDS.contains(&name);
    if PARTICIPLES.contains(&name) || is_regular {
        return Some("a type is a noun, and this is a participle");
    }
    NO_NOUNS.contains(&name).then_some("a type is a noun, and this names nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_no_participle_alone() {
        for name in ["Taken", "Renewed", "Held", "Told", "Kept"] {
            assert_eq!(fault(name), Some("a type is a noun, and this is a participle"), "{name}");
        }
        for name in ["TakenChunk", "Outcome", "Chunked", "Feed", "Thread", "OtherShards"] {
            assert_eq!(fault(name), None, "{name}");
        }
    }

    #[test]
    fn a_type_is_no_pronoun() {
        for name in ["Others", "What"] {
            assert_eq!(fault(name), Some("a type is a noun, and this names nothing"), "{name}");
        }
    }

    #[test]
    fn comments_with_the_pronoun_are_counted_and_no_more_come() {
        let text = format!(
            "//! A.\n/// For {PRONOUN} else.\n// {}, ever.\nfn {PRONOUN}() {{}}",
            PRONOUN.to_uppercase()
        );
        assert_eq!(pronoun_count(&text), 2, "the name of a function is no comment");
        assert_eq!(compared(2, 2), None);
        assert!(compared(3, 2).expect("there is one more").text.contains("where there were 2"));
        assert!(compared(1, 2).expect("there is one less").text.contains("falls to that"));
    }

    #[test]
    fn lists_are_sorted_and_each_word_is_a_fault() {
        assert!(PARTICIPLES.is_sorted() && KINDS.is_sorted() && NO_NOUNS.is_sorted());
        for word in PARTICIPLES.into_iter().chain(NO_NOUNS) {
            assert!(fault(word).is_some(), "{word}");
        }
        assert!(KINDS.iter().all(|word| fault(word).is_none()));
    }
}
