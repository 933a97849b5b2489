//! One place that breaks a rule, as a line that editors can jump to.

use std::fmt;
use std::path::{Path, PathBuf};

/// One place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the workspace's root.
    pub path: PathBuf,
    /// The line, from 1; 0 where the finding is about the whole.
    pub line: usize,
    /// The rule and what breaks it, as a sentence.
    pub text: String,
}

impl Finding {
    /// Makes a finding.
    pub fn new(path: &Path, line: usize, text: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path.display(), self.line, self.text)
    }
}
