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
//! written, or was written on a full disk. Where a run's output holds one whole line of a secret, `***`
//! stands in its place, as long as it has [`MASKED_CHARS_MIN`] characters: masking shorter ones would tear
//! the output to pieces.
//!
//! The file belongs to root, to the server's user or to the user of the run, and no other user decides which
//! file it is: a link of another user's is not followed. See [`walk`](mainspring_host::walk).
//!
//! Cost: one small read per secret and run; for its output see [`mask`](crate::mask).
//!
//! Does not hide a secret from who may read the environment of a process: that is its user, and root.
//!
//! Source: the masks follow what hosted builds do, <https://docs.github.com/actions/security-guides>.
//!
//! [`MASKED_CHARS_MIN`]: mainspring_action::secret::MASKED_CHARS_MIN

use std::io;
use std::path::{Path, PathBuf};

use mainspring_action::secret::Secret;
use mainspring_host::regular::{open_regular, read_whole};
use thiserror::Error;

/// The longest secret: a key or a certificate chain, no more.
pub const MAX_SECRET_BYTES: u64 = 64 << 10;

const _: () = assert!(MAX_SECRET_BYTES < 128 << 10, "it fits into a variable: `MAX_ARG_STRLEN` of Linux");

/// Reads a secret's file, without its final line end. `user` is the user of the run: it may have written the
/// file beside root and us.
///
/// # Errors
///
/// When it cannot be read, another user decides what is in it, it is no regular file, is empty, is longer
/// than [`MAX_SECRET_BYTES`], is no UTF-8 text, or holds a NUL byte.
pub fn read(path: &Path, user: Option<u32>) -> Result<Secret, SecretError> {
    let failed = |source| SecretError { path: path.to_owned(), source };
    let bytes = read_judged(path, user, MAX_SECRET_BYTES).map_err(failed)?;
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

/// All that is in a file, if root, we and this user alone could have chosen or written it.
pub(crate) fn read_judged(path: &Path, user: Option<u32>, bytes_max: u64) -> io::Result<Vec<u8>> {
    let opened = open_regular(path)?;
    opened.judge(user)?;
    read_whole(opened.file, bytes_max)
}

/// Why a secret is not to be had. The run does not start then.
#[derive(Debug, Error)]
#[error("cannot read the secret {path}: {source}")]
pub struct SecretError {
    /// Its file.
    pub path: PathBuf,
    /// The operating system's answer, or what is wrong with the content.
    pub source: io::Error,
}
