//! Bytes from a pipe to lines of text.
//!
//! ```text
//! read "ab\ncd"  -> line "ab", kept "cd"
//! read "e\n"     -> line "cde"
//! end of file    -> the kept bytes, if any, are the last line
//! ```
//!
//! A line longer than [`MAX_OUTPUT_LINE_BYTES`] is handed out in pieces of at most that size, cut between characters.
//! Bytes that are not UTF-8 become U+FFFD.
//!
//! Cost: each byte is looked at once; at most one piece is kept.
//!
//! Does not know about pipes: it is given bytes.
//!
//! Source: own.

use std::borrow::Cow;

/// The longest piece of output that becomes one line of the log.
pub const MAX_OUTPUT_LINE_BYTES: usize = 8 << 10;

/// What is given each line.
pub type EachLine<'a> = dyn FnMut(Cow<'_, str>) + 'a;

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// The start of a line whose end has not been read: shorter than the limit, without `\n`.
    kept: Vec<u8>,
}

impl LineSplitter {
    /// Takes the next bytes and gives each line that they complete to `each`.
    pub fn push(&mut self, bytes: &[u8], each: &mut EachLine<'_>) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ended) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            self.kept.extend_from_slice(text);
            self.cut_pieces(each);
            if ended {
                each(String::from_utf8_lossy(&self.kept));
                self.kept.clear();
            }
        }
    }

    /// Gives the unterminated last line, if there is one, to `each`.
    pub fn finish(&mut self, each: &mut EachLine<'_>) {
        if !self.kept.is_empty() {
            each(String::from_utf8_lossy(&self.kept));
            self.kept.clear();
        }
    }

    /// Leaves at most the limit behind, so that a line of exactly the limit stays whole.
    fn cut_pieces(&mut self, each: &mut EachLine<'_>) {
        while MAX_OUTPUT_LINE_BYTES < self.kept.len() {
            let end = character_boundary(&self.kept, MAX_OUTPUT_LINE_BYTES);
            each(String::from_utf8_lossy(&self.kept[..end]));
            self.kept.drain(..end);
        }
    }
}

/// The last place at or before `limit` where no character is cut. Bytes that are not UTF-8 are cut anywhere.
fn character_boundary(bytes: &[u8], limit: usize) -> usize {
    let is_continuation = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    // A character has at most three continuation bytes.
    (limit - 3..=limit).rev().find(|&at| !is_continuation(bytes[at])).unwrap_or(limit)
}

const _: () = assert!(4 <= MAX_OUTPUT_LINE_BYTES, "a piece holds at least one character");

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut splitter = LineSplitter::default();
        for chunk in chunks {
            splitter.push(chunk, &mut |line| lines.push(line.into_owned()));
        }
        splitter.finish(&mut |line| lines.push(line.into_owned()));
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
    fn pieces_are_cut_between_characters() {
        let text = format!("x{}", "€".repeat(MAX_OUTPUT_LINE_BYTES));
        let pieces = lines(&[text.as_bytes()]);
        assert!(pieces.iter().all(|piece| piece.len() <= MAX_OUTPUT_LINE_BYTES));
        assert_eq!(pieces.concat(), text);
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_shown_lossily() {
        assert_eq!(lines(&[b"caf\xE9!\n"]), ["caf\u{FFFD}!"]);
        let broken = vec![0x80; MAX_OUTPUT_LINE_BYTES + 1];
        assert_eq!(lines(&[&broken]).concat().chars().count(), broken.len());
    }
}
