//! The name of a job: people type it, and it is the first half of every run's key.
//!
//! A name has 1 to 128 characters out of ASCII letters, digits and `.`, `_`, `+`, `-`, `:`, `@`, `~`; the
//! first is a letter or a digit. So it needs no quotes in a shell, is no option, and is safe as the name of a
//! file.
//!
//! Cost: one allocation when made; a clone counts a reference.

use std::borrow::Borrow;
use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The longest name, in characters: a line of a terminal has room for it, and a file system for a name made
/// from it.
pub const MAX_NAME_CHARS: usize = 128;

/// Names a job, or one group of jobs. Equal names are the same job; the order is that of their bytes.
///
/// # Example
/// ```
/// use mainspring_job::JobName;
///
/// let name: JobName = "nightly-backup".parse()?;
/// assert_eq!(name.as_str(), "nightly-backup");
/// assert!("rm -rf".parse::<JobName>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobName(Arc<str>);

impl JobName {
    /// Checks a text and makes it a name.
    ///
    /// # Errors
    /// When it is empty, too long, or holds a character that a name may not.
    pub fn new(text: &str) -> Result<JobName, NameError> {
        let Some(first) = text.chars().next() else { return Err(NameError::Empty) };
        if MAX_NAME_CHARS < text.chars().count() {
            return Err(NameError::TooLong);
        }
        if !first.is_ascii_alphanumeric() {
            return Err(NameError::Character(first));
        }
        match text.chars().find(|&c| !is_allowed(c)) {
            Some(wrong) => Err(NameError::Character(wrong)),
            None => Ok(JobName(text.into())),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-' | ':' | '@' | '~')
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for JobName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<JobName, NameError> {
        JobName::new(text)
    }
}

impl AsRef<str> for JobName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for JobName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Says why a text is no name.
///
/// # Example
/// ```
/// use mainspring_job::{JobName, NameError};
///
/// assert_eq!(JobName::new("two words"), Err(NameError::Character(' ')));
/// assert_eq!(JobName::new("").unwrap_err().to_string(), "a name must not be empty");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// There is nothing.
    Empty,
    /// It has more than [`MAX_NAME_CHARS`] characters.
    TooLong,
    /// This character may not stand where it does.
    Character(char),
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Empty => f.write_str("a name must not be empty"),
            NameError::TooLong => write!(f, "a name has at most {MAX_NAME_CHARS} characters"),
            NameError::Character(c) => write!(
                f,
                "`{}` may not stand there in a name: letters, digits and ._+-:@~ may, beginning with a letter or digit",
                c.escape_debug()
            ),
        }
    }
}

impl Error for NameError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words() {
        for good in ["a", "12:backup.sh", "user@host~1", "A_b+c-d"] {
            assert_eq!(JobName::new(good).unwrap().to_string(), good);
        }
        let long = "x".repeat(MAX_NAME_CHARS + 1);
        let cases = [
            ("", NameError::Empty),
            (long.as_str(), NameError::TooLong),
            ("-x", NameError::Character('-')),
            ("a b", NameError::Character(' ')),
            ("a/b", NameError::Character('/')),
            ("naïve", NameError::Character('ï')),
        ];
        for (bad, error) in cases {
            assert_eq!(JobName::new(bad), Err(error), "{bad}");
        }
    }
}
