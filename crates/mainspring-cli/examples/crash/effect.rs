//! The action of every job: it appends one line to a file.
//!
//! ```text
//! effect FILE WORD [SLEEP_MS [FAILURES]]      WORD RUN ATTEMPT NANOSECONDS
//! ```
//!
//! The line is one `write` of a file opened for appending, so it is there as a whole or not at all. Then the
//! job sleeps, and exits with 1 while its attempt is at most FAILURES.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::clock;

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) word: String,
    pub(crate) run: String,
    pub(crate) attempt: u32,
    pub(crate) at_ns: i64,
}

pub(crate) fn happen(arguments: &[String]) -> ExitCode {
    let [file, word, rest @ ..] = arguments else { return ExitCode::from(2) };
    let variable = |name| std::env::var(name).unwrap_or_default();
    let (run, attempt) = (variable("MAINSPRING_RUN"), variable("MAINSPRING_ATTEMPT"));
    let line = format!("{word} {run} {attempt} {}\n", clock::now_ns());
    let file = OpenOptions::new().append(true).create(true).open(file);
    if file.and_then(|mut file| file.write_all(line.as_bytes())).is_err() {
        return ExitCode::from(3);
    }
    let number = |index: usize| rest.get(index).and_then(|text| text.parse().ok()).unwrap_or(0_u64);
    clock::sleep_ms(number(0));
    ExitCode::from(u8::from(attempt.parse().unwrap_or(0) <= number(1)))
}

/// Reads all lines.
pub(crate) fn read(path: &Path) -> Result<Vec<Line>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let parsed =
        text.lines().map(|line| parse(line).ok_or_else(|| format!("`{line}` is no line of an effect")));
    parsed.collect()
}

fn parse(line: &str) -> Option<Line> {
    let mut parts = line.split(' ');
    let (word, run) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    Some(Line { word, run, attempt: parts.next()?.parse().ok()?, at_ns: parts.next()?.parse().ok()? })
}
