//! Secrets of a run: given to it, and masked in all that is shown.
//!
//! ```text
//! [jobs.x.secrets]
//! TOKEN    = "/etc/secrets/token"              the file's content becomes the value
//! KEY_FILE = { path = "/etc/secrets/key" }     the file's name becomes the value; its content is what is masked
//! ```
//!
//! A secret is read from its file for each run, so that a changed one needs no reload, and it is forgotten
//! with the run. One final line end is dropped; an empty file is an error, because it is one that is being
//! written, or was written on a full disk. Where a run's output holds a secret's value, or one whole line of
//! it, `***` stands in its place, as long as it has [`MASKED_CHARS_MIN`] characters: masking shorter ones
//! would tear the output to pieces.
//!
//! The file belongs to root, to the server's user or to the user of the run, and nobody else decides which
//! file it is: a link of another user's is not followed. See [`walk`](mainspring_host::walk).
//!
//! Cost: one small read per secret and run; one search per secret and line of output.
//!
//! Does not hide a secret from who may read the environment of a process: that is its user, and root.
//!
//! Source: the masks follow what hosted builds do, <https://docs.github.com/actions/security-guides>.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use mainspring_action::secret::{MASK, Secret};
use mainspring_host::regular::open_regular;

/// The longest secret: a key or a certificate chain, no more. The kernel takes 128 KiB for one variable.
pub const MAX_SECRET_BYTES: u64 = 64 << 10;

/// The fewest characters of a value that is masked in output.
pub const MASKED_CHARS_MIN: usize = 4;

/// Reads a secret's file, without its final line end. `user` is the user of the run: it may have written the
/// file beside root and us.
///
/// # Errors
///
/// When it cannot be read, another user decides what is in it, it is no regular file, is empty, is longer
/// than [`MAX_SECRET_BYTES`], is no UTF-8 text, or holds a NUL byte.
pub fn read(path: &Path, user: Option<u32>) -> Result<Secret, SecretError> {
    let failed = |source| SecretError { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let opened = open_regular(path).map_err(failed)?;
    opened.judge(user).map_err(failed)?;
    opened.file.take(MAX_SECRET_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if MAX_SECRET_BYTES < bytes.len() as u64 {
        return Err(failed(io::Error::other(format!("it is longer than {MAX_SECRET_BYTES} bytes"))));
    }
    if bytes.contains(&0) {
        return Err(failed(io::Error::other("it holds a NUL byte")));
    }
    let text = String::from_utf8(bytes).map_err(|_| failed(io::Error::other("it is not UTF-8 text")))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(failed(io::Error::other("it is empty")));
    }
    Ok(Secret::new(text))
}

/// Why a secret is not to be had. The run does not start then.
#[derive(Debug)]
pub struct SecretError {
    /// Its file.
    pub path: PathBuf,
    /// The operating system's answer, or what is wrong with the content.
    pub source: io::Error,
}

impl SecretError {
    /// What the operating system said.
    pub(crate) fn cause(&self) -> &io::Error {
        &self.source
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read the secret {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for SecretError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A variable of a run's environment that comes from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretVariable {
    /// The variable.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What of the file becomes the value.
    pub form: SecretForm,
}

/// What the run is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretForm {
    /// The file's content.
    Content,
    /// The file's name.
    Path,
}

impl SecretVariable {
    /// The content of the file, read now for a run of `user`, if that is another one than we are.
    ///
    /// # Errors
    ///
    /// See [`read`].
    pub fn content(&self, user: Option<u32>) -> Result<Secret, SecretError> {
        read(&self.path, user)
    }

    /// What the run is given of a content.
    pub fn value<'s>(&'s self, content: &'s Secret) -> &'s OsStr {
        match self.form {
            SecretForm::Content => OsStr::new(content.reveal()),
            SecretForm::Path => self.path.as_os_str(),
        }
    }
}

/// Takes the secrets of one run out of its output.
#[derive(Clone, Default)]
pub struct Masks {
    texts: Vec<String>,
}

impl Masks {
    /// Remembers a secret: the whole of it, and each of its lines.
    pub fn add(&mut self, secret: &Secret) {
        let whole = std::iter::once(secret.reveal());
        for text in whole.chain(secret.reveal().lines()).map(str::trim) {
            if MASKED_CHARS_MIN <= text.chars().count() && !self.texts.iter().any(|known| known == text) {
                self.texts.push(text.to_owned());
            }
        }
        // A longer one first, so that no part of it is left beside the mask of a shorter one.
        self.texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    }

    /// The length of the longest text that is taken out.
    pub fn longest_bytes(&self) -> usize {
        self.texts.first().map_or(0, String::len)
    }

    /// The text without secrets.
    pub fn apply<'a>(&self, text: &'a str) -> std::borrow::Cow<'a, str> {
        let mut masked = std::borrow::Cow::Borrowed(text);
        for secret in &self.texts {
            if masked.contains(secret.as_str()) {
                masked = masked.replace(secret.as_str(), MASK).into();
            }
        }
        masked
    }
}

impl fmt::Debug for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Masks({})", self.texts.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        let secret = Secret::new("hunter22");
        let mut masks = Masks::default();
        masks.add(&secret);
        assert!(!format!("{secret:?} {masks:?}").contains("hunter22"));
        assert_eq!(masks.apply("password=hunter22!"), "password=***!");
    }

    #[test]
    fn each_line_of_a_secret_is_masked_and_short_texts_are_not() {
        let mut masks = Masks::default();
        masks.add(&Secret::new("-----BEGIN-----\nabcdefgh\nxy"));
        assert_eq!(masks.apply("got abcdefgh xy"), "got *** xy");
        assert_eq!(masks.apply("nothing"), "nothing");
    }

    #[test]
    fn the_longer_of_two_secrets_is_masked_as_a_whole() {
        let mut masks = Masks::default();
        masks.add(&Secret::new("abcd"));
        masks.add(&Secret::new("abcd-efgh"));
        assert_eq!(masks.apply("abcd-efgh abcd"), "*** ***");
    }
}
