//! A file of variables, as services have them.
//!
//! ```text
//! # a comment, or nothing
//! NAME=value                 export NAME=value
//! NAME="a value"             one pair of quotes goes; nothing is expanded, and no backslash is special
//! ```
//!
//! It is opened as a secret's file is: only root, the server's user and the user of the run may have written
//! it.
//!
//! Cost: one small read for each start.
//!
//! Does not mask what it reads: what is never to be shown is a secret.
//!
//! Source: EnvironmentFile= in systemd.exec(5), without its continued lines.

use std::io;
use std::path::Path;

use crate::secret::{SecretError, read_judged};

/// The longest file of variables, also of those for PAM: a few hundred of them.
pub(crate) const MAX_BYTES: u64 = 64 << 10;

const _: () = assert!(MAX_BYTES < 128 << 10, "a value fits into a variable: `MAX_ARG_STRLEN` of Linux");

/// Reads a file. `user` is the user of the run.
///
/// # Errors
///
/// When it cannot be read, another user decides what is in it, it is longer than [`MAX_BYTES`], or a line is
/// no variable.
pub(crate) fn read(path: &Path, user: Option<u32>) -> Result<Vec<(String, String)>, SecretError> {
    let failed = |source| SecretError { path: path.to_owned(), source };
    let bytes = read_judged(path, user, MAX_BYTES).map_err(failed)?;
    let text = io::read_to_string(bytes.as_slice()).map_err(failed)?;
    variables(&text).map_err(|message| failed(io::Error::other(message)))
}

fn variables(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let assignment = line.strip_prefix("export ").unwrap_or(line).trim_start();
        match assignment.split_once('=') {
            Some((name, value)) if is_name(name) && !value.contains('\0') => {
                found.push((name.to_owned(), unquoted(value.trim()).to_owned()));
            }
            _ => return Err(format!("line {} is no NAME=value", index + 1)),
        }
    }
    Ok(found)
}

/// Whether a variable may be called so.
pub(crate) fn is_name(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(is_fit) && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn unquoted(value: &str) -> &str {
    let quoted = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_variables_and_a_line_that_is_none_is_named() {
        let text = "# x\n\nA=1\nexport B = x\n";
        assert_eq!(variables(text).unwrap_err(), "line 4 is no NAME=value");
        let read = variables("A=1\n export B=\"two words\" \nC='$HOME'\nD=\nE=a=b\n;no\n").unwrap();
        let pairs: Vec<(&str, &str)> =
            read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("A", "1"), ("B", "two words"), ("C", "$HOME"), ("D", ""), ("E", "a=b")]);
        for bad in ["=1", "1A=2", "A-B=1", "word"] {
            assert!(variables(bad).is_err(), "{bad}");
        }
    }
}
