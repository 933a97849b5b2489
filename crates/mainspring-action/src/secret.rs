//! A text that must not appear in a log, a history or an answer.
//!
//! Its `Debug` form is [`MASK`]; it has no `Display` form. The executor reads secrets from their files and
//! masks output.
//!
//! Cost: that of a string. The memory is not wiped when it is dropped.

use std::fmt;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// A text that is shown by nothing but [`reveal`](Self::reveal).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, for the process or the request that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
