//! Bytes to lines of text.
//!
//! ```text
//! read "ab\ncd"  -> line "ab", kept "cd"
//! read "e\n"     -> line "cde"
//! end of file    -> the kept text, if any, is the last line
//! ```
//!
//! A line longer than [`MAX_OUTPUT_LINE_BYTES`] is handed out in pieces of at most that size, cut between
//! characters; all but the last say that the line continues. Bytes that are not UTF-8 become U+FFFD.
//!
//! Cost: each byte is looked at once for the line's end; at most one piece is kept.
//!
//! Does not know about pipes or secrets: it is given bytes, from which secrets were taken out.

use std::borrow::Cow;

/// The longest piece of output that becomes one line of the log.
pub const MAX_OUTPUT_LINE_BYTES: usize = 8 << 10;

/// Which of its two outputs a line was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output; for a webhook the response.
    Stdout,
    /// Standard error.
    Stderr,
    /// None: the line says something of the output.
    Note,
}

/// A line without its end, or a piece of one that is too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// Whether the line continues with the next piece of the same stream.
    pub goes_on: bool,
}

impl<'a> Piece<'a> {
    /// A line, or the last piece of one.
    pub fn line(text: impl Into<Cow<'a, str>>) -> Piece<'a> {
        Piece { text: text.into(), goes_on: false }
    }
}

/// What is given each line, in pieces if it is too long.
pub type EachLine<'a> = dyn FnMut(Piece<'_>) + 'a;

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The start of a line whose end has not been read, without `\n`.
    line: String,
    /// The start of a character whose end has not been read.
    begun: Vec<u8>,
}

impl LineSplitter {
    /// Takes the next bytes and gives each line that they complete to `each`.
    pub fn push(&mut self, bytes: &[u8], each: &mut EachLine<'_>) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            match part.strip_suffix(b"\n") {
                Some(text) => {
                    self.keep(text);
                    self.keep_begun();
                    self.cut_pieces(each);
                    each(Piece::line(self.line.as_str()));
                    self.line.clear();
                }
                None => {
                    self.keep(part);
                    self.cut_pieces(each);
                }
            }
        }
    }

    /// Gives the unterminated last line, if there is one, to `each`.
    pub fn finish(&mut self, each: &mut EachLine<'_>) {
        self.keep_begun();
        self.cut_pieces(each);
        if !self.line.is_empty() {
            each(Piece::line(self.line.as_str()));
            self.line.clear();
        }
    }

    /// Takes out the line whose end has not been read.
    pub fn take_begun(&mut self) -> Vec<u8> {
        let mut begun = std::mem::take(&mut self.line).into_bytes();
        begun.append(&mut self.begun);
        begun
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        let end = end_of_whole_characters(&self.begun);
        self.line.push_str(&String::from_utf8_lossy(&self.begun[..end]));
        self.begun.drain(..end);
        debug_assert!(self.begun.len() < 4, "what has begun is less than a character");
    }

    /// What has begun does not go on.
    fn keep_begun(&mut self) {
        self.line.push_str(&String::from_utf8_lossy(&self.begun));
        self.begun.clear();
    }

    /// Leaves at most the limit behind, so that a line of exactly the limit stays whole.
    fn cut_pieces(&mut self, each: &mut EachLine<'_>) {
        let mut start = 0;
        while MAX_OUTPUT_LINE_BYTES < self.line.len() - start {
            let end = self.line.floor_char_boundary(start + MAX_OUTPUT_LINE_BYTES);
            each(Piece { text: Cow::Borrowed(&self.line[start..end]), goes_on: true });
            start = end;
        }
        self.line.drain(..start);
        debug_assert!(self.line.len() <= MAX_OUTPUT_LINE_BYTES, "what is kept fits into a piece");
    }
}

/// Where a character begins at the end of some bytes that could go on; their length if there is none.
fn end_of_whole_characters(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    // An error at the very end that is no error yet: a first byte, and less than it announces.
    let announced = match last.first() {
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF4) => 4,
        _ => 0,
    };
    if last.len() < announced && bytes.ends_with(last) { bytes.len() - last.len() } else { bytes.len() }
}

const _: () = assert!(4 <= MAX_OUTPUT_LINE_BYTES, "a piece holds at least one character");

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut splitter = LineSplitter::default();
        for chunk in chunks {
            splitter.push(chunk, &mut |piece| lines.push(piece.text.into_owned()));
        }
        splitter.finish(&mut |piece| lines.push(piece.text.into_owned()));
        lines
    }

    #[test]
    fn lines_come_out_whole_however_the_bytes_arrive() {
        let text = "one\n\ntwo ä\nthree".as_bytes();
        for at in 0..=text.len() {
            assert_eq!(lines(&[&text[..at], &text[at..]]), ["one", "", "two ä", "three"], "cut at {at}");
        }
    }

    #[test]
    fn nothing_gives_no_line() {
        assert!(lines(&[b"", b""]).is_empty());
        assert_eq!(lines(&[b"\n"]), [""]);
    }

    #[test]
    fn a_line_at_the_limit_stays_whole_and_a_longer_one_is_cut() {
        let limit = MAX_OUTPUT_LINE_BYTES;
        let text = [vec![b'x'; limit], b"\n".to_vec(), vec![b'y'; limit + 1], b"\n".to_vec()].concat();
        let lengths: Vec<usize> = lines(&[&text]).iter().map(String::len).collect();
        assert_eq!(lengths, [limit, limit, 1]);
    }

    #[test]
    fn every_piece_but_the_last_says_that_its_line_goes_on() {
        let limit = MAX_OUTPUT_LINE_BYTES;
        let text = [vec![b'x'; 2 * limit + 1], b"\nshort\n".to_vec(), vec![b'y'; limit + 1]].concat();
        for step in [1, 1_000, text.len()] {
            let (mut marks, mut splitter) = (Vec::new(), LineSplitter::default());
            let mut each = |piece: Piece<'_>| marks.push((piece.text.len(), piece.goes_on));
            text.chunks(step).for_each(|bytes| splitter.push(bytes, &mut each));
            splitter.finish(&mut each);
            assert_eq!(marks[..4], [(limit, true), (limit, true), (1, false), (5, false)], "step {step}");
            assert_eq!(marks[4..], [(limit, true), (1, false)], "step {step}");
        }
    }

    #[test]
    fn pieces_are_cut_between_characters() {
        let text = format!("x{}", "€".repeat(MAX_OUTPUT_LINE_BYTES));
        let pieces = lines(&[text.as_bytes()]);
        assert!(pieces.iter().all(|piece| piece.len() <= MAX_OUTPUT_LINE_BYTES));
        assert_eq!(pieces.concat(), text);
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_shown_lossily() {
        assert_eq!(lines(&[b"caf\xE9!\n"]), ["caf\u{FFFD}!"]);
        assert_eq!(lines(&[b"\xE2\x82", b"\xAC \xE2", b"x\xF0\x9F"]), ["\u{20AC} \u{FFFD}x\u{FFFD}"]);
        let broken = vec![0x80; MAX_OUTPUT_LINE_BYTES + 1];
        assert_eq!(lines(&[&broken]).concat().chars().count(), broken.len());
    }
}
