//! The text of a file, cut into numbered lines.
//!
//! ```text
//! bytes   "A=1\r\n0 5 * * * cmd\n..."
//!          └1┘     └────2─────┘          line ends (\n, \r\n) are not part of a line; the last line needs none
//! ```
//!
//! Lines are bytes: their reader decides whether they must be UTF-8, since a comment need not be. A byte
//! order mark at the start is dropped, because editors on Windows write it unseen.
//!
//! A file that changes while it is read is read again, and given up after [`MAX_READS`]: what was read may be
//! half of it.
//!
//! Cost: one read of the file; a line is a view into it, and found by its number or by an offset in O(log
//! lines).
//!
//! Does not watch the file for changes. [`trust`](crate::trust) judges which users may write it.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use thiserror::Error;

use crate::trust::Distrust;
use crate::watch::Stamp;
use mainspring_host::regular::{Ownership, open_regular};

/// The longest file that is read. At sixty bytes a line that is some 70,000 entries; what is longer is no
/// crontab.
pub const MAX_FILE_BYTES: u64 = 4 << 20;

/// How often a file is read that changes meanwhile. A file is read within a millisecond, so one that changes
/// three times in that is being written.
pub const MAX_READS: u32 = 3;

/// The name that stands for standard input on the command line.
pub const STANDARD_INPUT: &str = "-";

/// Names of what we have open already, such as a shell's `<(command)`: it may be a pipe, and no other user
/// chose it.
const DESCRIPTORS: [&str; 2] = ["/dev/fd/", "/proc/self/fd/"];

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A file's name and bytes.
#[derive(Clone, Debug, Default)]
pub struct Source {
    name: String,
    bytes: Vec<u8>,
    ownership: Option<Ownership>,
    stamp: Option<Stamp>,
    line_starts: OnceLock<Vec<usize>>,
}

impl Source {
    /// Reads the regular file called `name`, or standard input for `-`.
    ///
    /// # Errors
    ///
    /// [`FileError::Read`] with the operating system's answer or where it is no regular file, or
    /// [`FileError::TooLong`] beyond [`MAX_FILE_BYTES`], or [`FileError::Changing`].
    pub fn read(name: &str) -> Result<Source, FileError> {
        if name == STANDARD_INPUT {
            return Source::read_from("standard input", io::stdin());
        }
        let failed = |source| FileError::Read { name: name.to_owned(), source };
        if DESCRIPTORS.iter().any(|folder| name.starts_with(folder)) {
            return Source::read_from(name, File::open(name).map_err(failed)?);
        }
        for _ in 0..MAX_READS {
            let opened = open_regular(Path::new(name)).map_err(failed)?;
            let stamp = || Ok(Stamp::of(&opened.file.metadata().map_err(failed)?));
            let before = stamp()?;
            let source = Source::read_from(name, &opened.file)?;
            if stamp()? == before {
                return Ok(Source { ownership: Some(opened.ownership), stamp: Some(before), ..source });
            }
        }
        Err(FileError::Changing { name: name.to_owned() })
    }

    /// By what a change of the file since is noticed; `None` for what is no file.
    pub fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }

    /// Takes text that is already in memory under a name for messages.
    ///
    /// # Example
    ///
    /// ```
    /// use mainspring_file::source::Source;
    ///
    /// let source = Source::new("example", "A=1\r\n\n@daily true");
    /// let lines: Vec<&[u8]> = source.lines().map(|line| line.bytes).collect();
    /// assert_eq!(lines, [&b"A=1"[..], b"", b"@daily true"]);
    /// ```
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Source {
        Source { name: name.into(), bytes: bytes.into(), ..Source::default() }
    }

    /// The same file as far as it is known by name, owner and time of change.
    pub(crate) fn without_text(&self) -> Source {
        let Source { name, ownership, stamp, .. } = self;
        Source { name: name.clone(), ownership: ownership.clone(), stamp: *stamp, ..Source::default() }
    }

    /// The name and the text of [`new`](Self::new) again, of which bytes that are not UTF-8 become symbols.
    pub fn into_text(self) -> (String, String) {
        let text = String::from_utf8(self.bytes);
        (self.name, text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of the whole, without a byte order mark.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.bytes)
    }

    /// The line that holds the byte at `offset` of [`bytes`](Self::bytes), and where it starts there. An
    /// offset behind the end is in the last line.
    pub fn line_at(&self, offset: usize) -> (Line<'_>, usize) {
        let number = self.line_starts().partition_point(|start| *start <= offset).max(1);
        let span = self.line_span(number).unwrap_or_default();
        debug_assert!(span.start <= offset);
        (Line { number, bytes: &self.bytes()[span.clone()] }, span.start)
    }

    /// The line of a number, counted from 1.
    pub fn line(&self, number: usize) -> Option<Line<'_>> {
        self.line_span(number).map(|span| Line { number, bytes: &self.bytes()[span] })
    }

    /// Where the line of a number stands in [`bytes`](Self::bytes), without its end.
    pub fn line_span(&self, number: usize) -> Option<Range<usize>> {
        let starts = self.line_starts();
        let start = *starts.get(number.checked_sub(1)?)?;
        let end = starts.get(number).copied().unwrap_or(self.bytes().len());
        Some(start..start + without_end(&self.bytes()[start..end]).len())
    }

    /// Who owns the file and who may write it; `None` for what is no file.
    pub fn ownership(&self) -> Option<&Ownership> {
        self.ownership.as_ref()
    }

    /// The lines in order, numbered from 1. No line is made for the end of the file after a final line end.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let lines = self.bytes().split_inclusive(|&byte| byte == b'\n');
        lines.zip(1..).map(|(line, number)| Line { number, bytes: without_end(line) })
    }

    /// Where the lines start, found once.
    fn line_starts(&self) -> &[usize] {
        self.line_starts.get_or_init(|| {
            let bytes = self.bytes();
            let behind = (1..).zip(bytes).filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end);
            std::iter::once(0).chain(behind).filter(|start| *start < bytes.len()).collect()
        })
    }

    fn read_from(name: &str, reader: impl Read) -> Result<Source, FileError> {
        let mut bytes = Vec::new();
        // One byte more than the limit tells a file at the limit from one beyond it.
        reader
            .take(MAX_FILE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| FileError::Read { name: name.to_owned(), source })?;
        if MAX_FILE_BYTES < bytes.len() as u64 {
            return Err(FileError::TooLong { name: name.to_owned() });
        }
        Ok(Source::new(name, bytes))
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// One line of a [`Source`], without its line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Counted from 1.
    pub number: usize,
    /// The line as it stands in the file.
    pub bytes: &'a [u8],
}

/// Says why a file of jobs is not read, or not believed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It could not be read. Check its name and its permissions.
    #[error("cannot read {name}")]
    Read {
        /// The file's name as it was given.
        name: String,
        /// The operating system's answer.
        source: io::Error,
    },
    /// It is longer than [`MAX_FILE_BYTES`]. It is probably no file of jobs.
    #[error("{name} is longer than {MAX_FILE_BYTES} bytes, the limit for a file of jobs")]
    TooLong {
        /// The file's name as it was given.
        name: String,
    },
    /// It was changed each time while it was read. Try again when nothing writes it.
    #[error("{name} is being written: it changed while it was read")]
    Changing {
        /// The file's name as it was given.
        name: String,
    },
    /// Others than its owner could have written it, and its commands would run as another user.
    #[error("{name} is not safe to run: {why}")]
    Distrusted {
        /// The file's name as it was given.
        name: String,
        /// Who else could have written it.
        why: Distrust,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
        Source::new("test", bytes).lines().map(|line| (line.number, line.bytes.to_vec())).collect()
    }

    #[test]
    fn lines_are_numbered_from_one_and_lose_their_line_ends() {
        assert_eq!(lines(b"a\n\r\nb\r\n"), [(1, b"a".to_vec()), (2, vec![]), (3, b"b".to_vec())]);
    }

    #[test]
    fn the_last_line_counts_without_a_line_end() {
        assert_eq!(lines(b"a\nb"), lines(b"a\nb\n"));
    }

    #[test]
    fn an_empty_file_has_no_lines() {
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"\xEF\xBB\xBF"), []);
    }

    #[test]
    fn a_byte_order_mark_is_dropped_at_the_start_only() {
        assert_eq!(lines(b"\xEF\xBB\xBFa\n\xEF\xBB\xBFb"), lines("a\n\u{FEFF}b".as_bytes()));
    }

    #[test]
    fn an_offset_is_found_on_its_line() {
        let source = Source::new("test", "ab\r\n\ncd");
        let found = |offset| {
            let (line, start) = source.line_at(offset);
            (line.number, line.bytes, start)
        };
        assert_eq!(found(0), (1, &b"ab"[..], 0));
        assert_eq!(found(3), (1, &b"ab"[..], 0));
        assert_eq!(found(4), (2, &b""[..], 4));
        assert_eq!(found(6), (3, &b"cd"[..], 5));
        assert_eq!(found(99), (3, &b"cd"[..], 5));
        assert_eq!(Source::new("test", "").line_at(0).0.number, 1);
    }

    #[test]
    fn a_carriage_return_inside_a_line_stays() {
        assert_eq!(lines(b"a\rb\r\n"), [(1, b"a\rb".to_vec())]);
    }

    #[test]
    fn a_file_beyond_the_limit_is_refused() {
        let at_limit = io::repeat(b'x').take(MAX_FILE_BYTES);
        assert!(Source::read_from("test", at_limit).is_ok());
        let beyond = Source::read_from("test", io::repeat(b'x'));
        assert!(matches!(beyond, Err(FileError::TooLong { name }) if name == "test"));
    }

    #[test]
    fn a_directory_cannot_be_read() {
        assert!(matches!(Source::read("/"), Err(FileError::Read { name, .. }) if name == "/"));
    }
}
