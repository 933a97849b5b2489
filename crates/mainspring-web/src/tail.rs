//! The end of a file of output, and parts of it.
//!
//! Cost: one read of at most `TAIL_BYTES` for the last line.
//!
//! Does not read a file as a whole into memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use axum::body::Body;
use futures_util::stream;

/// How much of the end is read for the last line: more than a list shows of it.
const TAIL_BYTES: u64 = 4 << 10;

/// How many characters of the last line are shown.
const MAX_LINE_CHARS: usize = 200;

/// How much of a line is read for the number of its attempt: the instant, the number and a space.
const HEAD_BYTES: u64 = 64;

const _: () =
    assert!(HEAD_BYTES + 4 * MAX_LINE_CHARS as u64 <= TAIL_BYTES, "a line that is shown whole is read whole");

/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// The last line that a run wrote, as it was written, without when and which attempt.
pub fn last_line(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    let from = length.saturating_sub(TAIL_BYTES);
    let bytes = read_at(&file, from, length - from).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // Without a line break at its end the line is still being written; the one before it is shown.
    let whole = &text[..text.rfind('\n')?];
    let line = whole.rsplit('\n').next()?;
    let is_cut = whole.len() == line.len() && 0 < from;
    let message = if is_cut { line } else { line.splitn(4, ' ').nth(3).unwrap_or_default() };
    let mut shown: String = message.chars().take(MAX_LINE_CHARS).collect();
    if shown.len() < message.len() {
        shown.push_str(" ..");
    }
    Some(shown)
}

/// So many bytes of a file from an offset on, or what there is of them.
///
/// # Errors
///
/// When it cannot be read.
pub fn read_at(mut file: &File, from: u64, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Where the last so many lines of a file begin, of at most `max_bytes` of them.
///
/// # Errors
///
/// When it cannot be read.
pub fn start_of_lines(file: &File, length: u64, lines: usize, max_bytes: u64) -> io::Result<u64> {
    debug_assert!(0 < lines, "the last line is asked for at least");
    let from = length.saturating_sub(max_bytes);
    let bytes = read_at(file, from, length - from)?;
    let breaks = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index);
    // The last break ends the last line.
    let ends_line = bytes.last() == Some(&b'\n');
    let start = breaks.skip(usize::from(ends_line)).nth(lines.saturating_sub(1));
    let first =
        if from == 0 { 0 } else { bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1) };
    let start = from + start.map_or(first, |at| at + 1) as u64;
    assert!(start <= length, "callers count the bytes behind it");
    Ok(start)
}

/// From where to where the lines of an attempt stand: lines are `INSTANT ATTEMPT STREAM TEXT`, and those of
/// an attempt follow each other. Reads the file once.
///
/// # Errors
///
/// When it cannot be read.
pub fn lines_of_attempt(file: &File, attempt: u32) -> io::Result<(u64, u64)> {
    let mut reader = BufReader::new(file);
    let (mut at, mut found) = (0, None);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A line may be as long as the file: only its beginning is kept.
        let mut count = reader.by_ref().take(HEAD_BYTES).read_until(b'\n', &mut line)?;
        if !line.ends_with(b"\n") {
            count += reader.skip_until(b'\n')?;
        }
        let count = count as u64;
        let number =
            line.split(|byte| *byte == b' ').nth(1).and_then(|word| str::from_utf8(word).ok()?.parse().ok());
        match (number == Some(attempt) && 0 < count, found) {
            (true, None) => found = Some(at),
            (false, Some(start)) => return Ok((start, at)),
            (false, None) if count == 0 => return Ok((at, at)),
            _ => {}
        }
        at += count;
    }
}

/// The bytes of a file from an offset to another as a body: read piece by piece as it is sent.
pub fn body_of(file: File, from: u64, to: u64) -> Body {
    let piece = move |at: u64| {
        let count = (to - at).min(CHUNK_BYTES as u64);
        let bytes = read_at(&file, at, count)?;
        if (bytes.len() as u64) < count {
            return Err(io::Error::other("the file is shorter than it was"));
        }
        Ok(bytes)
    };
    Body::from_stream(stream::iter((from..to).step_by(CHUNK_BYTES).map(piece)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    fn file(name: &str, text: &[u8]) -> std::path::PathBuf {
        let path = scratch::path(&format!("tail-{name}"));
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn the_last_whole_line_is_shown_as_it_was_written() {
        let stamp = "2026-11-21T03:00:01.250Z 1 stdout";
        let path = file("last", format!("{stamp} one\n{stamp} \u{1b}[31mtwo  x\n{stamp} thr").as_bytes());
        assert_eq!(last_line(&path).as_deref(), Some("\u{1b}[31mtwo  x"));
        let long = format!("{stamp} {}\n", "x".repeat(100_000));
        assert_eq!(last_line(&file("long", long.as_bytes())).unwrap().len(), MAX_LINE_CHARS + " ..".len());
        assert_eq!(last_line(&file("none", b"")), None);
        assert_eq!(last_line(Path::new("/nonexistent")), None);
    }

    #[test]
    fn the_lines_of_an_attempt_stand_together() {
        let stamp = "2026-11-21T03:00:01.250Z";
        let lines = [
            format!("{stamp} 1 stdout 2 a\n"),
            format!("{stamp} 1 stderr {}\n", "b".repeat(100_000)),
            format!("{stamp} 2 stdout c\n"),
        ];
        let path = file("attempts", lines.concat().as_bytes());
        let of = |attempt| lines_of_attempt(&File::open(&path).unwrap(), attempt).unwrap();
        let first = (lines[0].len() + lines[1].len()) as u64;
        let all = lines.concat().len() as u64;
        assert_eq!((of(1), of(2), of(3)), ((0, first), (first, all), (all, all)));
    }

    #[test]
    fn the_last_lines_begin_after_a_break() {
        let path = file("lines", b"1\n22\n333\n");
        let open = File::open(&path).unwrap();
        let start = |lines, max| start_of_lines(&open, 9, lines, max).unwrap();
        assert_eq!((start(1, 100), start(2, 100), start(3, 100), start(9, 100)), (5, 2, 0, 0));
        assert_eq!(start(9, 6), 5, "the line that was cut is left out");
        let open_end = file("open", b"1\n22\n333");
        let open = File::open(&open_end).unwrap();
        assert_eq!(start_of_lines(&open, 8, 1, 100).unwrap(), 5);
    }
}
