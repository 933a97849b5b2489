//! The log of `run`: one line per event or line of output.
//!
//! ```text
//! 2026-11-21T05:47:58.001Z 12:date#1   start  pid 4242, due 2026-11-21T05:47:58+00:00, 1 ms late
//! 2026-11-21T05:47:58.003Z 12:date#1   stdout Sat Nov 21 05:47:58 UTC 2026
//! 2026-11-21T05:47:58.003Z 12:date#1   stderr date: a warning
//! 2026-11-21T05:47:58.004Z 12:date#1   end    exit status 0 after 3 ms
//! └── when it was logged ┘ └job┘ └run  └kind┘ └── text, to the end of the line
//! ```
//!
//! The columns are separated by blanks and the first three contain none, so that a script can cut them. Control
//! characters in the text, but for the tab, are escaped as in `\u{1b}`: no output can forge a line or move the cursor.
//!
//! Cost: lines are gathered and written once per turn of the loop.
//!
//! Does not rotate files and does not send mail. When the log cannot be written (a full disk), lines are lost and
//! counted, and the count is logged as soon as writing works again; the runs go on.
//!
//! Source: the time format is RFC 3339, <https://www.rfc-editor.org/rfc/rfc3339>.

use std::fmt::{self, Write as _};
use std::io::{self, Write};

use jiff::{Timestamp, Zoned};

/// What a line is about. The names are padded to one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run started.
    Start,
    /// A line that a run wrote to its standard output.
    Stdout,
    /// A line that a run wrote to its standard error.
    Stderr,
    /// A run ended.
    End,
    /// A run was due and was not started.
    Refuse,
    /// The next occurrence of a job.
    Next,
    /// Anything else that the scheduler has to say.
    Note,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Start => "start ",
            Kind::Stdout => "stdout",
            Kind::Stderr => "stderr",
            Kind::End => "end   ",
            Kind::Refuse => "refuse",
            Kind::Next => "next  ",
            Kind::Note => "note  ",
        }
    }
}

/// Writes lines to one writer.
#[derive(Debug)]
pub struct Log<W> {
    writer: W,
    subject_width: usize,
    /// Whole lines that wait for the next flush.
    pending: String,
    lost_count: u64,
    broken: Option<io::Error>,
}

impl<W: Write> Log<W> {
    /// Makes a log whose second column is padded to `subject_width` characters.
    pub fn new(writer: W, subject_width: usize) -> Log<W> {
        Log { writer, subject_width, pending: String::new(), lost_count: 0, broken: None }
    }

    /// Adds one line. Nothing is written before [`flush`](Log::flush).
    pub fn line(&mut self, time: Timestamp, subject: &dyn fmt::Display, kind: Kind, text: &str) {
        let width = self.subject_width;
        let subject = subject.to_string();
        write!(self.pending, "{time:.3} {subject:<width$} {} ", kind.name())
            .expect("a String takes everything");
        for c in text.chars() {
            if c.is_control() && c != '\t' {
                self.pending.extend(c.escape_default());
            } else {
                self.pending.push(c);
            }
        }
        self.pending.push('\n');
    }

    /// Writes the gathered lines. A failure is kept and not returned: see [`closed`](Log::closed).
    pub fn flush(&mut self, time: Timestamp) {
        if self.pending.is_empty() || self.broken.is_some() {
            return self.pending.clear();
        }
        if 0 < self.lost_count {
            let text = format!("{} lines of the log could not be written before this one", self.lost_count);
            self.line(time, &crate::PROGRAM, Kind::Note, &text);
        }
        match self.writer.write_all(self.pending.as_bytes()).and_then(|()| self.writer.flush()) {
            Ok(()) => self.lost_count = 0,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.broken = Some(error),
            Err(_) => self.lost_count += self.pending.lines().count() as u64,
        }
        self.pending.clear();
    }

    /// Whether the reader of the log has gone for good. Then nobody can see what runs, and the loop ends.
    pub fn closed(&self) -> bool {
        self.broken.is_some()
    }

    /// The failure that closed the log.
    pub fn into_failure(self) -> Option<io::Error> {
        self.broken
    }
}

/// A time as the log and `next` show it: RFC 3339 with the offset of its zone, with a fraction only if it has one.
pub fn rfc3339(time: &Zoned) -> String {
    time.timestamp().display_with_offset(time.offset()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time() -> Timestamp {
        "2026-11-21T05:47:58.0019Z".parse().unwrap()
    }

    #[test]
    fn columns_are_padded_and_the_time_has_milliseconds() {
        let mut written = Vec::new();
        let mut log = Log::new(&mut written, 8);
        log.line(time(), &"3:date#1", Kind::Start, "pid 1");
        log.line(time(), &"x", Kind::End, "exit status 0");
        log.flush(time());
        let expected = "2026-11-21T05:47:58.001Z 3:date#1 start  pid 1\n\
                        2026-11-21T05:47:58.001Z x        end    exit status 0\n";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn output_cannot_forge_a_line_or_move_the_cursor() {
        let mut written = Vec::new();
        let mut log = Log::new(&mut written, 1);
        log.line(time(), &"x", Kind::Stdout, "a\tb\nc\rd\x1B[2J\u{9B}é");
        log.flush(time());
        let line = String::from_utf8(written).unwrap();
        assert!(line.ends_with("stdout a\tb\\nc\\rd\\u{1b}[2J\\u{9b}é\n"), "{line}");
    }

    /// Fails as often as it is told, then takes everything.
    struct Failing(Vec<io::ErrorKind>, Vec<u8>);

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.pop() {
                Some(kind) => Err(kind.into()),
                None => self.1.write(bytes),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lost_lines_are_counted_and_the_count_is_logged() {
        let mut writer = Failing(vec![io::ErrorKind::StorageFull; 2], Vec::new());
        let mut log = Log::new(&mut writer, 1);
        for text in ["a", "b", "c"] {
            log.line(time(), &"x", Kind::Stdout, text);
            log.flush(time());
        }
        assert!(!log.closed());
        let written = String::from_utf8(writer.1).unwrap();
        assert!(!written.contains("stdout a") && written.contains("stdout c"), "{written}");
        assert!(written.contains("lines of the log could not be written"), "{written}");
    }

    #[test]
    fn a_log_without_a_reader_is_closed() {
        let mut writer = Failing(vec![io::ErrorKind::BrokenPipe], Vec::new());
        let mut log = Log::new(&mut writer, 1);
        log.line(time(), &"x", Kind::Stdout, "a");
        log.flush(time());
        assert!(log.closed());
        assert_eq!(log.into_failure().unwrap().kind(), io::ErrorKind::BrokenPipe);
    }
}
