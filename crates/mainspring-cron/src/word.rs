//! A part of the text with its position, so that each error can point at its characters.
//!
//! Cutting a word allocates nothing and stays on character boundaries.

use std::fmt;
use std::ops::Range;

use crate::error::ParseError;

/// A piece of text and the byte at which it starts in the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) start: usize,
}

impl<'t> Word<'t> {
    pub(crate) fn whole(text: &'t str) -> Word<'t> {
        Word { text, start: 0 }
    }

    pub(crate) fn span(self) -> Range<usize> {
        self.start..self.end()
    }

    pub(crate) fn end(self) -> usize {
        self.start + self.text.len()
    }

    /// An error about this word.
    pub(crate) fn error(self, message: impl Into<String>) -> ParseError {
        ParseError::new(self.span(), message)
    }

    /// The error that something else was expected where this word stands.
    pub(crate) fn expected(self, other: impl fmt::Display) -> ParseError {
        match self.text {
            "" => self.error(format!("expected {other}, found nothing")),
            text => self.error(format!("expected {other}, found `{text}`")),
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// The pieces between runs of white space.
    pub(crate) fn fields(self) -> impl Iterator<Item = Word<'t>> {
        self.text.split_whitespace().map(move |piece| self.piece(piece))
    }

    /// The pieces between `separator`s; one more than there are separators, and some may be empty.
    pub(crate) fn split(self, separator: char) -> impl Iterator<Item = Word<'t>> {
        self.text.split(separator).map(move |piece| self.piece(piece))
    }

    /// The items of a list, each with its position. After 65,536 items the positions start again at 0, so
    /// that a list may have any length.
    pub(crate) fn items(self) -> impl Iterator<Item = (u16, Word<'t>)> {
        self.split(',').scan(0_u16, |next, item| {
            let position = *next;
            *next = next.wrapping_add(1);
            Some((position, item))
        })
    }

    /// What stands before and after a byte, which is the first of a character.
    pub(crate) fn split_at(self, byte: usize) -> (Word<'t>, Word<'t>) {
        let (before, after) = self.text.split_at(byte);
        (self.piece(before), self.piece(after))
    }

    /// What stands before and after the first `separator`.
    pub(crate) fn split_once(self, separator: &str) -> Option<(Word<'t>, Word<'t>)> {
        let (before, after) = self.text.split_once(separator)?;
        Some((self.piece(before), self.piece(after)))
    }

    /// The rest after one leading character of `letters`, in any case.
    pub(crate) fn after_prefix(self, letter: char) -> Option<Word<'t>> {
        let first = self.text.chars().next()?;
        first.eq_ignore_ascii_case(&letter).then(|| self.piece(&self.text[first.len_utf8()..]))
    }

    /// What stands before one trailing character, in any case.
    pub(crate) fn before_suffix(self, letter: char) -> Option<Word<'t>> {
        let last = self.text.chars().next_back()?;
        last.eq_ignore_ascii_case(&letter)
            .then(|| self.piece(&self.text[..self.text.len() - last.len_utf8()]))
    }

    pub(crate) fn is(self, text: &str) -> bool {
        self.text.eq_ignore_ascii_case(text)
    }

    pub(crate) fn trim(self) -> Word<'t> {
        self.piece(self.text.trim())
    }

    /// `piece` must be a part of this word's own text: its address says where it stands.
    fn piece(self, piece: &'t str) -> Word<'t> {
        let offset = piece.as_ptr() as usize - self.text.as_ptr() as usize;
        assert!(offset + piece.len() <= self.text.len(), "a piece lies inside of its word");
        Word { text: piece, start: self.start + offset }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_know_where_they_stand() {
        let word = Word::whole("  1-5,é/2\t* ");
        let fields: Vec<_> = word.fields().collect();
        assert_eq!(fields, [Word { text: "1-5,é/2", start: 2 }, Word { text: "*", start: 11 }]);
        let items: Vec<_> = fields[0].split(',').collect();
        assert_eq!(items[1], Word { text: "é/2", start: 6 });
        let (body, step) = items[1].split_once("/").unwrap();
        assert_eq!((body.span(), step.span()), (6..8, 9..10));
    }

    #[test]
    fn a_prefix_and_a_suffix_are_cut_in_any_case() {
        let word = Word { text: "lW", start: 3 };
        assert_eq!(word.after_prefix('L'), Some(Word { text: "W", start: 4 }));
        assert_eq!(word.before_suffix('w'), Some(Word { text: "l", start: 3 }));
        assert_eq!(word.after_prefix('W'), None);
    }
}
