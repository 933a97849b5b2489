//! Texts that PostgreSQL cannot hold, and back: it has no character NUL.
//!
//! ```text
//!  NUL ─▶ U+F8FF 0        U+F8FF ─▶ U+F8FF 1        all else stays
//! ```
//!
//! Without this a client that submits a body with a NUL would have the database refuse a whole batch.
//!
//! Cost: a look at each text; a copy for those that have one of the two.
//!
//! Does not know where the texts stand.

use std::borrow::Cow;

/// A character of the private use area, which texts of people hardly have.
const MARK: char = '\u{f8ff}';

/// What it begins with in UTF-8.
const MARK_BYTE: u8 = 0xef;

const _: () = assert!(MARK.encode_utf8(&mut [0; 4]).as_bytes()[0] == MARK_BYTE);

/// The text as it is kept.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    // Without a branch for each byte, as most texts have neither.
    let found = text.bytes().fold(0, |found, byte| found | u8::from(byte == 0) | u8::from(byte == MARK_BYTE));
    if found == 0 || !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    let escaped = text.replace(MARK, "\u{f8ff}1").replace('\0', "\u{f8ff}0");
    debug_assert!(!escaped.contains('\0'), "PostgreSQL has no text with it");
    debug_assert_eq!(read(&escaped), text);
    Cow::Owned(escaped)
}

/// What was kept, as it was.
pub(super) fn read(text: &str) -> Cow<'_, str> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\u{f8ff}0", "\0").replace("\u{f8ff}1", "\u{f8ff}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_read_as_it_was() {
        for text in ["", "plain", "a\0b", "\0\0", "\u{f8ff}", "\u{f8ff}0\0\u{f8ff}1", "é\u{10ffff}"] {
            let escaped = escape(text).into_owned();
            assert!(!escaped.contains('\0'), "{text:?}");
            assert_eq!(read(&escaped), text);
        }
    }
}
