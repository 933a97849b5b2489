//! A file of variables as PAM gives them to a session: /etc/environment and /etc/default/locale.
//!
//! | line | is |
//! |---|---|
//! | `NAME=value`, `export NAME=value` | a variable; its name has letters, digits and `_` |
//! | `NAME="value"`, `NAME='value'` | the same: a quote at the start of the value goes, and then one at its end |
//! | `NAME=value # text` | `value `, up to the first `#` |
//! | a line that ends with `\` | continues in the next one |
//! | anything else, as `NAME = value` | passed over |
//!
//! It is opened as a secret's file is. A file that is not there has no variables, and one that cannot be read
//! fails the run.
//!
//! Cost: one small read for each start.
//!
//! Does not read /etc/security/pam_env.conf, and expands nothing.
//!
//! Source: pam_env(8) of Linux-PAM 1.5, as Debian's cron starts commands with it.

use std::io;
use std::path::Path;

use crate::env_file::{MAX_BYTES, is_name};
use crate::secret::{SecretError, read_judged};

/// Reads a file. `user` is the user of the run.
///
/// # Errors
///
/// When it is there and cannot be read, another user decides what is in it, or it is longer than
/// [`MAX_BYTES`].
pub(crate) fn read(path: &Path, user: Option<u32>) -> Result<Vec<(String, String)>, SecretError> {
    let failed = |source| SecretError { path: path.to_owned(), source };
    match read_judged(path, user, MAX_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => Ok(variables(&String::from_utf8_lossy(&read.map_err(failed)?))),
    }
}

fn variables(text: &str) -> Vec<(String, String)> {
    let joined = text.replace("\\\n", "");
    joined.lines().filter_map(variable).collect()
}

fn variable(line: &str) -> Option<(String, String)> {
    let line = line.trim_start_matches([' ', '\t']);
    let line = line.split('#').next().unwrap_or_default();
    let line = line.strip_prefix("export ").unwrap_or(line);
    let (name, value) = line.split_once('=')?;
    let value = match value.strip_prefix(['"', '\'']) {
        Some(rest) => rest.strip_suffix(['"', '\'']).unwrap_or(rest),
        None => value,
    };
    (is_name(name) && !value.contains('\0')).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line with what a command of Debian's cron 3.0pl1-162 found in its environment.
    const LINES: &[(&str, Option<(&str, &str)>)] = &[
        ("http_proxy=http://proxy:3128", Some(("http_proxy", "http://proxy:3128"))),
        ("export FROMENV=\"a b\"", Some(("FROMENV", "a b"))),
        ("QUOTE='x y'", Some(("QUOTE", "x y"))),
        ("HASH=a # b", Some(("HASH", "a "))),
        ("BACK=a\\\nb", Some(("BACK", "ab"))),
        ("REF=$HOME/x", Some(("REF", "$HOME/x"))),
        ("E1=", Some(("E1", ""))),
        ("E2=\"\"", Some(("E2", ""))),
        ("E3=\"a", Some(("E3", "a"))),
        ("E4=a\"", Some(("E4", "a\""))),
        ("E5=a b  ", Some(("E5", "a b  "))),
        ("E6=\"a\" b", Some(("E6", "a\" b"))),
        ("  E7=indent", Some(("E7", "indent"))),
        ("E9=a=b", Some(("E9", "a=b"))),
        ("E13=x\\\n  y", Some(("E13", "x  y"))),
        ("E14='m\"", Some(("E14", "m"))),
        ("E15=\ttab", Some(("E15", "\ttab"))),
        ("E-11=dash", None),
        ("export  E12=two", None),
        ("export\tE8=tab", None),
        ("lower = spaced", None),
        ("# c", None),
        ("no equals", None),
    ];

    #[test]
    fn lines_are_read_as_a_command_of_debians_cron_gets_them() {
        for (line, expected) in LINES {
            let expected: Vec<(String, String)> =
                expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(variables(&format!("{line}\n")), expected, "{line}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_has_no_variables() {
        assert_eq!(read(Path::new("/no/such/environment"), None).unwrap(), []);
    }
}
