//! The log of `serve`: one line per event or line of output.
//!
//! ```text
//! 2026-11-21T05:47:58.001Z 12:date#1   start  pid 4242, due 2026-11-21T05:47:58+00:00, 1 ms late
//! 2026-11-21T05:47:58.003Z 12:date#1   stdout Sat Nov 21 05:47:58 UTC 2026
//! 2026-11-21T05:47:58.003Z 12:date#1   stderr date: a warning
//! 2026-11-21T05:47:58.004Z 12:date#1   end    exit status 0 after 3 ms
//! └── when it was logged ┘ └job┘ └run  └kind┘ └── text, to the end of the line
//! ```
//!
//! The columns are separated by blanks, and the first three contain none, so that a script can cut them.
//! Characters of the text that are not [`plain`] are escaped, as in `\u{1b}`. So no output can forge a line,
//! move the cursor or change the order of a text.
//!
//! With `serve --log json` each line is a JSON object instead, with its whole text. `--log-level` leaves out
//! less severe lines.
//!
//! Cost: lines are gathered and written once per turn of the loop, in pieces that a pipe takes whole.
//!
//! Does not block. If the reader is slow, lines wait here. Beyond [`MAX_PENDING_BYTES`] lines of output are
//! left out of the log and counted; the files of output have them. Does not rotate files and does not send
//! mail. If the log cannot be written (a full disk), lines are lost and counted, and the count is logged when
//! writing works again; the runs go on.
//!
//! Source: the time format is RFC 3339, <https://www.rfc-editor.org/rfc/rfc3339>; that a pipe which polls as
//! writable takes PIPE_BUF bytes is in pipe(7).

use std::fmt;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};

use jiff::{Timestamp, Zoned};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Serialize;

use crate::message::PROGRAM;
use mainspring_file::plain;

/// How much may wait for a slow reader before lines of output are left out.
pub const MAX_PENDING_BYTES: usize = 1 << 20;

/// What a pipe that polls as writable takes without blocking: PIPE_BUF of Linux.
const PIECE_BYTES: usize = 4096;

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

    fn level(self) -> Level {
        match self {
            Kind::Stdout | Kind::Stderr => Level::Debug,
            Kind::Start | Kind::End | Kind::Next => Level::Info,
            Kind::Note => Level::Notice,
            Kind::Refuse => Level::Error,
        }
    }
}

/// How much a line matters, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What runs write.
    #[default]
    Debug,
    /// That a run starts or ends.
    Info,
    /// What the scheduler has to say.
    Notice,
    /// A run was due and was not started.
    Error,
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 4] = [Level::Debug, Level::Info, Level::Notice, Level::Error];

    /// The word in the log and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Notice => "notice",
            Level::Error => "error",
        }
    }
}

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Columns, for people.
    #[default]
    Text,
    /// A JSON object a line, for programs: `time`, `level`, `kind`, `subject` and `text`.
    Json,
}

/// What is written, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// How lines are written.
    pub format: Format,
    /// What matters less is left out.
    pub level: Level,
}

/// A line of a log for programs.
#[derive(Serialize)]
struct Object<'l> {
    time: String,
    level: &'static str,
    kind: &'static str,
    subject: &'l str,
    text: &'l str,
}

/// Writes lines to one writer, which is not made non-blocking: standard output may be shared with other
/// programs.
#[derive(Debug)]
pub struct Log<W> {
    writer: W,
    subject_width: usize,
    style: Style,
    /// What waits to be written; its first `written_bytes` are written already.
    pending: Vec<u8>,
    written_bytes: usize,
    /// Lines that could not be written and are not yet spoken of.
    lost_count: u64,
    /// Lost lines that a pending line speaks of.
    noted_count: u64,
    broken: Option<io::Error>,
}

impl<W: Write + AsFd> Log<W> {
    /// Makes a log whose second column is padded to `subject_width` characters.
    pub fn new(writer: W, subject_width: usize) -> Log<W> {
        Log {
            writer,
            subject_width,
            style: Style::default(),
            pending: Vec::new(),
            written_bytes: 0,
            lost_count: 0,
            noted_count: 0,
            broken: None,
        }
    }

    /// The same log in another style.
    #[must_use]
    pub fn in_style(self, style: Style) -> Log<W> {
        Log { style, ..self }
    }

    /// Adds one line. Nothing is written before [`flush`](Log::flush).
    pub fn line(&mut self, time: Timestamp, subject: &dyn fmt::Display, kind: Kind, text: &str) {
        if kind.level() < self.style.level {
            return;
        }
        if self.style.format == Format::Json {
            return self.object(time, &subject.to_string(), kind, text);
        }
        let width = self.subject_width;
        let subject = subject.to_string();
        let mut line = format!("{time:.3} {subject:<width$} {} ", kind.name());
        line.push_str(&plain::line(text));
        line.push('\n');
        self.pending.extend_from_slice(line.as_bytes());
    }

    fn object(&mut self, time: Timestamp, subject: &str, kind: Kind, text: &str) {
        let object = Object {
            time: format!("{time:.3}"),
            level: kind.level().name(),
            kind: kind.name().trim_end(),
            subject,
            text,
        };
        let line = serde_json::to_string(&object).expect("texts are a document");
        self.pending.extend_from_slice(line.as_bytes());
        self.pending.push(b'\n');
    }

    /// Writes as much as the reader takes at once. A failure is kept and not returned: see
    /// [`is_closed`](Log::is_closed).
    pub fn flush(&mut self, time: Timestamp) {
        if 0 < self.lost_count && self.has_pending() {
            let text = format!("{} lines of the log could not be written", self.lost_count);
            self.noted_count += std::mem::take(&mut self.lost_count);
            self.line(time, &PROGRAM, Kind::Note, &text);
        }
        while self.has_pending() && !self.is_closed() && self.is_writable() {
            match self.write_piece() {
                Ok(count) => self.written_bytes += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.fail(error),
            }
        }
        if !self.has_pending() || self.is_closed() {
            self.clear();
        } else if MAX_PENDING_BYTES <= self.written_bytes {
            self.pending.drain(..std::mem::take(&mut self.written_bytes));
        }
    }

    /// Counts a line that was not added because [`is_full`](Log::is_full), as one that could not be written.
    pub fn leave_out(&mut self) {
        self.lost_count += 1;
    }

    /// How much waits to be written.
    pub fn pending_bytes(&self) -> usize {
        self.pending.len() - self.written_bytes
    }

    /// Whether lines wait to be written.
    pub fn has_pending(&self) -> bool {
        0 < self.pending_bytes()
    }

    /// Whether so much waits that nothing should be added that can wait elsewhere.
    pub fn is_full(&self) -> bool {
        MAX_PENDING_BYTES <= self.pending_bytes()
    }

    /// Whether the reader of the log has gone for good.
    pub fn is_closed(&self) -> bool {
        self.broken.is_some()
    }

    /// What to poll for writing, if lines wait.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.has_pending().then(|| self.writer.as_fd())
    }

    /// The failure that closed the log.
    pub fn into_failure(self) -> Option<io::Error> {
        self.broken
    }

    fn is_writable(&self) -> bool {
        let mut fds = [PollFd::new(self.writer.as_fd(), PollFlags::POLLOUT)];
        // Also an error is something that the write itself has to find out.
        poll(&mut fds, PollTimeout::ZERO) != Ok(0)
    }

    fn write_piece(&mut self) -> io::Result<usize> {
        let rest = &self.pending[self.written_bytes..];
        let count = self.writer.write(&rest[..rest.len().min(PIECE_BYTES)])?;
        self.writer.flush()?;
        Ok(count)
    }

    fn fail(&mut self, error: io::Error) {
        let rest = &self.pending[self.written_bytes..];
        let line_count = rest.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.lost_count += self.noted_count + line_count;
        self.clear();
        if error.kind() == io::ErrorKind::BrokenPipe {
            self.broken = Some(error);
        }
    }

    fn clear(&mut self) {
        self.pending.clear();
        self.written_bytes = 0;
        self.noted_count = 0;
    }
}

/// A time as the log and `next` show it: RFC 3339 with the offset of its zone, with a fraction only if it has
/// one.
pub fn rfc3339(time: &Zoned) -> String {
    time.timestamp().display_with_offset(time.offset()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{PipeReader, PipeWriter, Read, pipe};

    fn time() -> Timestamp {
        "2026-11-21T05:47:58.0019Z".parse().unwrap()
    }

    fn piped(subject_width: usize) -> (Log<PipeWriter>, PipeReader) {
        let (reader, writer) = pipe().unwrap();
        (Log::new(writer, subject_width), reader)
    }

    fn written(log: Log<PipeWriter>, mut reader: PipeReader) -> String {
        drop(log);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn columns_are_padded_and_the_time_has_milliseconds() {
        let (mut log, reader) = piped(8);
        log.line(time(), &"3:date#1", Kind::Start, "pid 1");
        log.line(time(), &"x", Kind::End, "exit status 0");
        log.flush(time());
        let expected = "2026-11-21T05:47:58.001Z 3:date#1 start  pid 1\n\
                        2026-11-21T05:47:58.001Z x        end    exit status 0\n";
        assert_eq!(written(log, reader), expected);
    }

    #[test]
    fn output_cannot_forge_a_line_or_move_the_cursor() {
        let (mut log, reader) = piped(1);
        log.line(time(), &"x", Kind::Stdout, "a\tb\nc\rd\x1B[2J\u{9B}\u{202E}\u{2028}é");
        log.flush(time());
        let line = written(log, reader);
        assert!(line.ends_with("stdout a\tb\\nc\\rd\\u{1b}[2J\\u{9b}\\u{202e}\\u{2028}é\n"), "{line}");
    }

    #[test]
    fn a_slow_reader_blocks_nothing_and_loses_nothing() {
        let (mut log, mut reader) = piped(1);
        let mut line_count = 0;
        while !log.is_full() {
            log.line(time(), &"x", Kind::Stdout, "a line that nobody reads for now");
            line_count += 1;
            log.flush(time());
        }
        assert!(log.fd().is_some());
        let mut text = Vec::new();
        let mut buffer = [0; 1 << 16];
        while log.has_pending() {
            let count = reader.read(&mut buffer).unwrap();
            text.extend_from_slice(&buffer[..count]);
            log.flush(time());
        }
        text.extend_from_slice(written(log, reader).as_bytes());
        assert_eq!(String::from_utf8(text).unwrap().lines().count(), line_count);
    }

    /// A writer whose disk is full, until it is told otherwise.
    struct Disk(File, PipeWriter, bool);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.2 { self.0.write(bytes) } else { self.1.write(bytes) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl AsFd for Disk {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.1.as_fd()
        }
    }

    #[test]
    fn lost_lines_are_counted_and_the_count_is_logged() {
        let (mut reader, writer) = pipe().unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut log = Log::new(Disk(full, writer, true), 1);
        for text in ["a", "b"] {
            log.line(time(), &"x", Kind::Stdout, text);
            log.flush(time());
        }
        log.writer.2 = false;
        for text in ["c", "d"] {
            log.line(time(), &"x", Kind::Stdout, text);
            log.flush(time());
        }
        assert!(!log.is_closed());
        drop(log);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let texts: Vec<&str> = text.lines().map(|line| line.split_once(' ').unwrap().1).collect();
        assert!(texts[0].ends_with("stdout c") && texts[2].ends_with("stdout d"), "{texts:?}");
        assert!(texts[1].contains("lines of the log could not be written"), "{texts:?}");
        assert_eq!(texts.len(), 3);
    }

    #[test]
    fn a_log_without_a_reader_is_closed() {
        let (mut log, reader) = piped(1);
        drop(reader);
        log.line(time(), &"x", Kind::Stdout, "a");
        log.flush(time());
        assert!(log.is_closed() && !log.has_pending());
        assert_eq!(log.into_failure().unwrap().kind(), io::ErrorKind::BrokenPipe);
    }
}
