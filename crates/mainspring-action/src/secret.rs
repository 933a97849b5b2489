//! A text that must not appear in a log, a history or an answer, and where a job has it from.
//!
//! Its `Debug` form is [`MASK`]; it has no `Display` form. The executor reads secrets from their files and
//! masks output.
//!
//! Cost: that of a string. The memory is not wiped when it is dropped.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// The fewest characters of a value that is masked in output.
pub const MASKED_CHARS_MIN: usize = 4;

const _: () = assert!(MASK.len() <= MASKED_CHARS_MIN, "a masked text is no longer than it was");

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

/// A secret: the variable, the file, and whether the variable gets the file's name instead of its content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "see the type")]
pub struct SecretBody {
    pub name: String,
    pub path: PathBuf,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_path: bool,
}
