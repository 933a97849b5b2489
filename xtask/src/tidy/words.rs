//! Checks that types are nouns, and that values are called by what they are.
//!
//! - No type is called by a participle alone, such as `Taken`. Before a noun it says more: `TakenChunk`.
//! - Nor by a pronoun or a preposition: see `NO_NOUNS`.
//! - No function, field or variable of the sources is called by how it came: see `VERBS`.
//!
//! Cost: that of reading. The names come from the walk of [`text`](super::text).

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

/// Participles that have stood for a request, a line, a setting, an output.
const VERBS: [&str; 5] = ["asked", "heard", "kept", "said", "told"];

/// Why a value cannot have this name, if it cannot.
pub(super) fn fault_of_value(name: &str) -> Option<&'static str> {
    VERBS.contains(&name).then_some("a name says what it holds")
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
    fn lists_are_sorted_and_each_word_is_a_fault() {
        assert!(PARTICIPLES.is_sorted() && KINDS.is_sorted() && NO_NOUNS.is_sorted());
        for word in PARTICIPLES.into_iter().chain(NO_NOUNS) {
            assert!(fault(word).is_some(), "{word}");
        }
        assert!(KINDS.iter().all(|word| fault(word).is_none()));
    }
}
