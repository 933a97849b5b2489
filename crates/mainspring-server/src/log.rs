//! The log of `serve`: one line per event or line of output.
//!
//! ```text
//! 2026-11-21T05:47:58.001Z 12:date@2026-11-21T05:47:58Z   start  pid 4242, due 2026-11-21T05:47:58Z, ..
//! 2026-11-21T05:47:58.003Z 12:date@2026-11-21T05:47:58Z   stdout Sat Nov 21 05:47:58 UTC 2026
//! 2026-11-21T05:47:58.003Z 12:date@2026-11-21T05:47:58Z   stderr date: a warning
//! 2026-11-21T05:47:58.004Z 12:date@2026-11-21T05:47:58Z   end    exit status 0 after 3 ms
//! └── when it was logged ┘ └ run; `/2`: second attempt┘   └kind┘ └── text, to the end of the line ──
//! ```
//!
//! The columns are separated by blanks, and the first three contain none, so that a script can cut them.
//! Characters of the text that are not [`plain`](mainspring_file::plain) are escaped, as in `\u{1b}`. So no
//! output can forge a line, move the cursor or change the order of a text.
//!
//! With `serve --log json` each line is a JSON object with the fields of [`fields`], and its whole text. A
//! stream that journald reads is not written to: the fields go to journald itself ([`journal`]), and what
//! that does not take goes to the stream, as columns after the level (`<4>`). `--log-level` leaves out less
//! severe lines.
//!
//! Cost: lines are gathered and written once per turn of the loop, in pieces that a pipe takes whole. Only
//! datagrams of journald are sent one by one. No other line of this process comes into a long one:
//! `line_turn`.
//!
//! Does not block. If the reader is slow, lines wait here. Beyond [`MAX_PENDING_BYTES`] lines of output are
//! left out of the log and counted; the files of output have them. Does not rotate files and does not send
//! mail. If the log cannot be written (a full disk), lines are lost and counted, and the count is logged when
//! writing works again; the runs go on.
//!
//! Source: the time format is RFC 3339, <https://www.rfc-editor.org/rfc/rfc3339>; that a pipe which polls as
//! writable takes PIPE_BUF bytes is in pipe(7); `<4>` is in sd-daemon(3).

pub mod fields;
pub mod forms;
#[cfg_attr(windows, path = "log/no_journal.rs")]
pub mod journal;
pub mod line;
pub(crate) mod line_turn;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use jiff::{Timestamp, Zoned};

use journal::Journal;
pub use line::{Answer, Kind, Level, Line, Subject};
use line_turn::LineTurn;
use mainspring_exec::output::MAX_OUTPUT_LINE_BYTES;
use mainspring_host::net::{BorrowedFd, PollFd, PollFlags, PollSource, poll};

/// How much may wait for a slow reader before lines of output are left out.
pub const MAX_PENDING_BYTES: usize = 1 << 20;

/// What a pipe that polls as writable takes without blocking: PIPE_BUF of Linux.
const PIECE_BYTES: usize = 4096;

const _: () = assert!(4 * MAX_OUTPUT_LINE_BYTES <= MAX_PENDING_BYTES, "the log has room for lines");

/// How lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Columns, for people.
    #[default]
    Text,
    /// A JSON object a line, for programs.
    Json,
    /// Datagrams of journald, which reads the stream as well.
    Journal,
}

/// What is written, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// How lines are written.
    pub format: Format,
    /// What matters less is left out.
    pub level: Level,
}

/// Writes lines to one writer, which is not made non-blocking: standard output may be shared with other
/// programs.
#[derive(Debug)]
pub struct Log<W> {
    writer: W,
    style: Style,
    journal: Option<Journal>,
    /// A line that is tried at the journal.
    datagram: Vec<u8>,
    /// The worker of a pool whose log it is.
    worker: Option<String>,
    turn: LineTurn,
    /// What waits to be written; its first `written_bytes` are written already.
    pending: Vec<u8>,
    written_bytes: usize,
    /// Lines that could not be written and are not yet spoken of.
    lost_count: u64,
    /// Lost lines that a pending line speaks of.
    noted_count: u64,
    broken: Option<io::Error>,
}

impl<W: Write + PollSource> Log<W> {
    /// Makes a log of columns.
    pub fn new(writer: W) -> Log<W> {
        Log {
            writer,
            style: Style::default(),
            journal: None,
            datagram: Vec::new(),
            worker: None,
            turn: LineTurn::new(),
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
        let log = Log { style, ..self };
        if style.format == Format::Journal { log.with_journal(Path::new(journal::SOCKET)) } else { log }
    }

    /// Without a socket all lines go to the stream.
    fn with_journal(self, path: &Path) -> Log<W> {
        Log { journal: Journal::at(path).ok(), ..self }
    }

    /// The same log of a worker of a pool.
    #[must_use]
    pub fn of_worker(self, name: &str) -> Log<W> {
        Log { worker: Some(name.to_owned()), ..self }
    }

    /// Adds one line. Nothing is written to the stream before [`flush`](Log::flush).
    pub fn line(&mut self, line: Line<'_>) {
        if line.level < self.style.level {
            return;
        }
        let line = Line { worker: self.worker.as_deref(), ..line };
        match self.style.format {
            Format::Text => forms::columns(&line, &mut self.pending),
            Format::Json => forms::object(&line, &mut self.pending),
            Format::Journal => {
                // What waits for the stream came before: the order stays.
                let journal = self.journal.as_ref().filter(|_| self.pending.is_empty());
                self.datagram.clear();
                forms::datagram(&line, &mut self.datagram);
                if !journal.is_some_and(|journal| journal.takes(&self.datagram)) {
                    self.pending.extend_from_slice(format!("<{}>", line.level.priority()).as_bytes());
                    forms::columns(&line, &mut self.pending);
                }
            }
        }
    }

    /// Writes as much as the reader takes at once. A failure is kept and not returned: see
    /// [`is_closed`](Log::is_closed).
    pub fn flush(&mut self, time: Timestamp) {
        if 0 < self.lost_count && self.has_pending() {
            let text = format!("{} lines of the log could not be written", self.lost_count);
            self.noted_count += std::mem::take(&mut self.lost_count);
            self.line(Line { level: Level::Warning, ..Line::note(time, text) });
        }
        let Some(turns) = self.turn.begin() else { return };
        while self.has_pending() && !self.is_closed() && self.is_writable() {
            match self.write_piece() {
                Ok(count) => self.written_bytes += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.fail(error),
            }
        }
        self.turn.end(turns, self.pending[..self.written_bytes].last().copied());
        if !self.has_pending() || self.is_closed() {
            self.clear();
        } else if MAX_PENDING_BYTES <= self.written_bytes {
            // The last byte says whether a line has begun.
            self.pending.drain(..self.written_bytes - 1);
            self.written_bytes = 1;
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

    /// What to poll for writing, if lines wait and their turn has come. The end of another log's turn is
    /// found with the next flush.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.writer.polled().filter(|_| self.has_pending() && self.turn.begin().is_some())
    }

    /// The failure that closed the log.
    pub fn into_failure(self) -> Option<io::Error> {
        self.broken
    }

    fn is_writable(&self) -> bool {
        let Some(fd) = self.writer.polled() else { return true };
        // Also an error is something that the write itself has to find out.
        poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::OUT)], Some(Duration::ZERO)).ok() != Some(0)
    }

    fn write_piece(&mut self) -> io::Result<usize> {
        let rest = &self.pending[self.written_bytes..];
        let piece = &rest[..rest.len().min(PIECE_BYTES)];
        // A piece is whole lines, where they are short enough.
        let end = piece.iter().rposition(|byte| *byte == b'\n').map_or(piece.len(), |last| last + 1);
        let count = self.writer.write(&piece[..end])?;
        self.writer.flush()?;
        Ok(count)
    }

    fn fail(&mut self, error: io::Error) {
        let rest = &self.pending[self.written_bytes..];
        debug_assert!(rest.ends_with(b"\n"), "what waits are whole lines, or they could not be counted");
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
    use mainspring_host::net::AsFd;
    use std::fs::File;
    use std::io::{PipeReader, PipeWriter, Read, pipe};
    use std::os::unix::net::UnixDatagram;
    use std::sync::Mutex;

    use line_turn::Turns;

    fn time() -> Timestamp {
        "2026-11-21T05:47:58.0019Z".parse().unwrap()
    }

    fn piped() -> (Log<PipeWriter>, PipeReader) {
        let (reader, writer) = pipe().unwrap();
        (Log::new(writer), reader)
    }

    fn written(log: Log<PipeWriter>, mut reader: PipeReader) -> String {
        drop(log);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    }

    fn output(text: &str) -> Line<'_> {
        Line::new(time(), Subject::Server, Kind::Stdout, text)
    }

    #[test]
    fn columns_are_padded_and_the_time_has_milliseconds() {
        let (mut log, reader) = piped();
        let job = "3:date".parse().unwrap();
        log.line(Line::new(time(), Subject::Job(&job), Kind::Start, "pid 1"));
        log.line(Line::new(time(), Subject::Server, Kind::End, "exit status 0"));
        log.flush(time());
        let expected = "2026-11-21T05:47:58.001Z 3:date                           start  pid 1\n\
                        2026-11-21T05:47:58.001Z mainspring                       end    exit status 0\n";
        assert_eq!(written(log, reader), expected);
    }

    #[test]
    fn output_cannot_forge_a_line_or_move_the_cursor() {
        let (mut log, reader) = piped();
        log.line(output("a\tb\nc\rd\x1B[2J\u{9B}\u{202E}\u{2028}é"));
        log.flush(time());
        let line = written(log, reader);
        assert!(line.ends_with("stdout a\tb\\nc\\rd\\u{1b}[2J\\u{9b}\\u{202e}\\u{2028}é\n"), "{line}");
    }

    #[test]
    fn a_slow_reader_blocks_nothing_and_loses_nothing() {
        let (mut log, mut reader) = piped();
        let mut line_count = 0;
        while !log.is_full() {
            log.line(output("a line that nobody reads for now"));
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

    #[test]
    fn no_line_comes_into_the_middle_of_another_that_is_longer_than_a_pipe_takes() {
        static TURNS: Mutex<Turns> = Turns::new();
        let (mut log, mut reader) = piped();
        let mut other = Log::new(log.writer.try_clone().unwrap());
        (log.turn, other.turn) = (LineTurn::at(&TURNS), LineTurn::at(&TURNS));
        // The rest of it is a line like those of the log.
        let long = "2026-11-21T05:47:58.001Z mainspring note forged ".repeat(2 << 14);
        log.line(output(&long));
        other.line(output("another"));
        let mut text = Vec::new();
        let mut buffer = [0; 1 << 14];
        while log.has_pending() {
            log.flush(time());
            let count = reader.read(&mut buffer).unwrap();
            text.extend_from_slice(&buffer[..count]);
            other.flush(time());
            assert_eq!(other.fd().is_some(), other.has_pending() && !log.has_pending());
        }
        other.flush(time());
        drop(other);
        text.extend_from_slice(written(log, reader).as_bytes());
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(matches!(lines[..], [one, two] if one.ends_with(&long) && two.ends_with("stdout another")));
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
        let mut log = Log::new(Disk(full, writer, true));
        for text in ["a", "b"] {
            log.line(output(text));
            log.flush(time());
        }
        log.writer.2 = false;
        for text in ["c", "d"] {
            log.line(output(text));
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

    /// A socket where journald's would be, and a log to it.
    fn journalled(name: &str) -> (UnixDatagram, Log<PipeWriter>, PipeReader) {
        let path = crate::scratch::path(&format!("journal-{name}"));
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        let (log, reader) = piped();
        let style = Style { format: Format::Journal, level: Level::Info };
        (socket, log.in_style(style).with_journal(&path), reader)
    }

    fn received(socket: &UnixDatagram) -> Option<String> {
        let mut buffer = [0; 1 << 12];
        let count = socket.recv(&mut buffer).ok()?;
        Some(String::from_utf8(buffer[..count].to_vec()).unwrap())
    }

    #[test]
    fn the_journal_has_the_fields_and_the_stream_nothing() {
        let (socket, log, reader) = journalled("fields");
        let mut log = log.of_worker("one");
        log.line(output("left out"));
        log.line(Line { level: Level::Error, ..Line::note(time(), "a fault\nof two lines") });
        let expected = "SYSLOG_IDENTIFIER=mainspring\nPRIORITY=3\nMAINSPRING_KIND=note\nMAINSPRING_WORKER=one\n\
                        MESSAGE\n\u{14}\0\0\0\0\0\0\0a fault\nof two lines\n";
        assert_eq!(received(&socket).as_deref(), Some(expected));
        assert_eq!(received(&socket), None);
        log.flush(time());
        assert_eq!(written(log, reader), "");
    }

    #[test]
    fn what_the_journal_does_not_take_goes_to_the_stream_in_its_order() {
        let (socket, mut log, mut reader) = journalled("full");
        let mut sent_count = 0;
        while !log.has_pending() {
            log.line(Line::note(time(), format!("note {sent_count}")));
            sent_count += 1;
        }
        let datagrams: Vec<String> = std::iter::from_fn(|| received(&socket)).collect();
        assert!(!datagrams.is_empty());
        assert_eq!(datagrams.len(), sent_count - 1, "a full socket takes nothing");
        log.line(Line::note(time(), "there is room, and this is later"));
        assert_eq!(received(&socket), None);
        log.flush(time());
        log.line(Line::note(time(), "in the journal again"));
        assert!(received(&socket).unwrap().ends_with("MESSAGE=in the journal again\n"));
        drop(socket);
        log.line(Line { level: Level::Warning, ..Line::note(time(), "nobody listens") });
        log.flush(time());
        drop(log);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let texts: Vec<&str> = text.lines().map(|line| line.split_once("note   ").unwrap().1).collect();
        let last = format!("note {}", sent_count - 1);
        assert_eq!(texts, [last.as_str(), "there is room, and this is later", "nobody listens"]);
        assert!(text.starts_with("<5>2026") && text.contains("\n<4>2026"), "{text}");
    }

    #[test]
    fn a_log_without_a_reader_is_closed() {
        let (mut log, reader) = piped();
        drop(reader);
        log.line(output("a"));
        log.flush(time());
        assert!(log.is_closed() && !log.has_pending());
        assert_eq!(log.into_failure().unwrap().kind(), io::ErrorKind::BrokenPipe);
    }
}
