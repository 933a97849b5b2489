//! A word of a closed list, as documents have it: the state of a run, or its cause.
//!
//! ```text
//! "running" ◀─▶ Word::Known(RunState::Running)        "teleported" ◀─▶ Word::Other("teleported")
//! ```
//!
//! A server of a later version may send a word that its client does not know. The client shows it as it is,
//! and no state that it knows equals it.
//!
//! Cost: a comparison with each word of the list where one is read; memory for one that is not known.
//!
//! Does not know the words: the lists do, with the feature `serde` of their crate.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One word of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Word<T> {
    /// This version knows it.
    Known(T),
    /// Another version has sent it.
    Other(String),
}

impl<T: Copy> Word<T> {
    /// What it means, if this version knows it.
    pub fn known(&self) -> Option<T> {
        match self {
            Word::Known(value) => Some(*value),
            Word::Other(_) => None,
        }
    }
}

impl<T: PartialEq> PartialEq<T> for Word<T> {
    fn eq(&self, value: &T) -> bool {
        matches!(self, Word::Known(known) if known == value)
    }
}

impl<T: fmt::Display> fmt::Display for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Known(value) => value.fmt(f),
            Word::Other(word) => f.pad(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::{Cause, RunState};

    fn through<T: Serialize + for<'de> Deserialize<'de>>(text: &str) -> Word<T> {
        let document = format!("\"{text}\"");
        let word = serde_json::from_str(&document).unwrap();
        assert_eq!(serde_json::to_string(&word).unwrap(), document);
        word
    }

    #[test]
    fn each_word_is_read_back_and_one_of_another_version_is_kept() {
        assert!(RunState::ALL.into_iter().all(|state| through(state.name()) == state));
        assert!(Cause::ALL.into_iter().all(|cause| through(cause.name()) == cause));
        let strange: Word<RunState> = through("teleported");
        assert_eq!((strange.known(), strange.to_string().as_str()), (None, "teleported"));
        assert!(RunState::ALL.into_iter().all(|state| strange != state));
        assert!(serde_json::from_str::<Word<RunState>>("7").is_err());
    }
}
