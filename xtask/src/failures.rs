//! The part of a test run's output that says which tests failed, and why.
//!
//! The gate repeats it at its end. A log that keeps only its last lines then still says what failed.
//!
//! Rust's test runner prints a section for each binary in which a test failed. It begins with the line
//! `failures:` and ends with the line `test result:`; what the failed tests printed is in it.
//!
//! Cost: one look at each line. It holds at most two screens of lines.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};

/// How many lines are kept: about two screens. The last ones are kept, because the names of the failed tests
/// end a section.
const LINES: usize = 120;

/// The sections that were read. The default has none.
#[derive(Debug, Default)]
pub struct Failures {
    lines: VecDeque<String>,
    /// How many earlier lines were dropped.
    dropped: usize,
}

impl Failures {
    /// Copies `input` to `out` as it comes, and keeps the sections in it.
    ///
    /// # Errors
    /// `input` could not be read to its end, or `out` not written.
    pub fn read(input: impl Read, out: &mut impl Write) -> io::Result<Self> {
        let (mut input, mut failures, mut is_inside) = (BufReader::new(input), Self::default(), false);
        let mut bytes = Vec::new();
        while input.read_until(b'\n', &mut bytes)? > 0 {
            out.write_all(&bytes)?;
            let line = String::from_utf8_lossy(&bytes);
            let line = line.trim_end();
            is_inside |= line == "failures:";
            if is_inside {
                failures.push(line.to_owned());
            }
            is_inside &= !line.starts_with("test result:");
            bytes.clear();
        }
        out.flush()?;
        Ok(failures)
    }

    /// Puts the sections of `later` behind these.
    pub fn add(&mut self, later: Self) {
        self.dropped += later.dropped;
        later.lines.into_iter().for_each(|line| self.push(line));
    }

    /// What is to be printed; a first line says how much is left out.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let cut =
            (self.dropped > 0).then(|| format!("({} lines of failures stand above only)", self.dropped));
        cut.into_iter().chain(self.lines.iter().cloned())
    }

    fn push(&mut self, line: String) {
        self.lines.push_back(line);
        if self.lines.len() > LINES {
            self.lines.pop_front();
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<String> {
        let mut out = Vec::new();
        let failures = Failures::read(text.as_bytes(), &mut out).expect("a slice can be read");
        assert_eq!(out, text.as_bytes(), "all of it is passed on");
        failures.lines().collect()
    }

    #[test]
    fn a_section_is_kept_and_nothing_around_it() {
        let text = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\nwhy\n\nfailures:\n    b\n\n\
                    test result: FAILED. 1 passed\n     Running more\ntest c ... ok\n";
        let failures = read(text);
        assert_eq!(failures.first().map(String::as_str), Some("failures:"));
        assert!(failures.contains(&"why".to_owned()));
        assert_eq!(failures.last().map(String::as_str), Some("test result: FAILED. 1 passed"));
        assert_eq!(read("test a ... ok\ntest result: ok. 1 passed\n"), [""; 0]);
    }

    #[test]
    fn the_last_lines_are_kept_and_the_rest_is_counted() {
        let many: String = (0..LINES + 5).map(|number| format!("{number}\n")).collect();
        let failures = read(&format!("failures:\n{many}"));
        assert_eq!(failures.len(), LINES + 1);
        assert_eq!(failures[0], "(6 lines of failures stand above only)");
        assert_eq!(failures[LINES], (LINES + 4).to_string());
    }
}
