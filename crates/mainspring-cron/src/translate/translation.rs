//! What a translation says, or why there is none.
//!
//! The text alone is not all of it: notes name what the target language does otherwise when the clock changes.
//!
//! Values only: the translating is done beside this file.

use std::fmt;

/// An expression in another language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The expression.
    pub text: String,
    /// What the text alone does not carry over.
    pub notes: Vec<String>,
}

/// Says why an expression cannot be written in a language exactly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untranslatable {
    reason: String,
}

impl Untranslatable {
    pub(crate) fn new(reason: impl Into<String>) -> Untranslatable {
        Untranslatable { reason: reason.into() }
    }
}

impl fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Untranslatable {}
