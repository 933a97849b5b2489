//! Messages of the program about its own work, on standard error.
//!
//! Beside a log of JSON each is a line of that log's form: a reader of both streams finds nothing else.
//!
//! The level of the log leaves none of them out: they are few, and say where the page is, who signed in, what
//! is wrong with a file and why a server does not start.
//!
//! Cost: one write; see `log::line_turn`.
//!
//! Does not fail: if standard error cannot be written, there is no other place for the message.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

use mainspring_exec::clock::Moment;
use mainspring_file::plain;

pub use crate::log::line::PROGRAM;
use crate::log::line::{Level, Line};
use crate::log::{forms, line_turn};

/// Whether the program has a log of JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// The messages of the program are lines of JSON from now on.
pub fn be_json() {
    IS_JSON.store(true, Ordering::Relaxed);
}

/// Writes a text of any length to standard error, in plain characters.
pub fn say(text: &str) {
    tell(Level::Warning, text.trim_end(), text);
}

/// Says something of the program itself, on a line.
pub fn note(text: &str) {
    tell(Level::Notice, text, &format!("{PROGRAM}: {text}\n"));
}

/// Shows an error and its causes on one line.
pub fn complain(error: &dyn Error) {
    let text = with_causes(error);
    tell(Level::Error, &text, &format!("{PROGRAM}: {}\n", plain::line(&text)));
}

/// The one way to standard error: a text for a line of JSON, or as it is shown to people.
fn tell(level: Level, text: &str, shown: &str) {
    let mut bytes = Vec::new();
    match IS_JSON.load(Ordering::Relaxed) {
        true => forms::object(&Line { level, ..Line::note(Moment::now().wall, text) }, &mut bytes),
        false => bytes.extend_from_slice(plain::text(shown).as_bytes()),
    }
    line_turn::say(&bytes);
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
        let source = std::io::Error::from(std::io::ErrorKind::NotFound);
        let error = mainspring_file::source::FileError::Read { name: "f".into(), source };
        assert_eq!(with_causes(&error), "cannot read f: entity not found");
    }
}
