//! Messages of the program about its own work, on standard error.
//!
//! Cost: one write.
//!
//! Does not fail: if standard error cannot be written, there is no other place for the message.

use std::error::Error;
use std::io::{self, Write};

use mainspring_file::plain;

/// The program's name, in messages and as a subject of the log.
pub const PROGRAM: &str = "mainspring";

/// Writes text to standard error, in plain characters.
pub fn say(text: &str) {
    let _ = io::stderr().write_all(plain::text(text).as_bytes());
}

/// Says something of the program itself, on a line.
pub fn note(text: &str) {
    say(&format!("{PROGRAM}: {text}\n"));
}

/// Shows an error and its causes on one line.
pub fn complain(error: &dyn Error) {
    say(&format!("{PROGRAM}: {}\n", plain::line(&with_causes(error))));
}

/// An error and its causes on one line.
pub fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// A count with its noun, as in "1 job" and "2 jobs".
pub fn counted(count: impl TryInto<usize>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(usize::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// The form of a verb that goes with so many.
pub fn agreeing(count: usize, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_with_its_causes() {
        let source = io::Error::from(io::ErrorKind::NotFound);
        let error = mainspring_file::source::FileError::Read { name: "f".into(), source };
        assert_eq!(with_causes(&error), "cannot read f: entity not found");
    }
}
