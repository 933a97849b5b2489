//! Text of others in a form that is safe to show: it moves no cursor, sets no title, and is displayed in the
//! order in which it is read.
//!
//! ```text
//! file, server, job ─▶ "nightly\u{1b}]0;owned\u{7}"       a terminal would obey
//!                  ─▶ nightly\u{1b}]0;owned\u{7}          what is shown, as characters
//! ```
//!
//! | characters | why they are not plain |
//! |---|---|
//! | C0 but the tab, DEL, C1 | a terminal obeys them |
//! | U+2028, U+2029 | some readers begin a new line |
//! | U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069 | text is shown in another order ("trojan source") |
//! | U+FFF9 to U+FFFB, U+E0000 to U+E007F | text is hidden |
//!
//! These characters are shown as in Rust's strings. Texts for people go through [`text`], one-line parts of
//! them through [`line`](fn@line), and documents through [`json`]. Only the output of jobs and exported
//! definitions are printed as they are, and only if they do not go to a terminal.
//!
//! Cost: one pass, and a copy if a character is shown in another way.
//!
//! Does not know how wide a character is.
//!
//! Source: ECMA-48; Unicode Standard Annex 9, <https://www.unicode.org/reports/tr9/>; "Trojan Source",
//! <https://trojansource.codes/>.

use std::borrow::Cow;

/// Whether a character may be shown as it is. The tab may, though it is a control character.
pub fn is_plain(c: char) -> bool {
    let is_odd = matches!(
        c,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}' | '\u{2029}' | '\u{202A}'..='\u{202E}'
            | '\u{2066}'..='\u{2069}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}'
    );
    c == '\t' || !(c.is_control() || is_odd)
}

/// A text on one line.
///
/// # Example
///
/// ```
/// use mainspring_file::plain::{line, text};
///
/// assert_eq!(line("a\tb\nc\u{1b}[2J\u{202e}é"), "a\tb\\nc\\u{1b}[2J\\u{202e}é");
/// assert_eq!(text("a\nb\r"), "a\nb\\r");
/// ```
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, is_plain, |c, shown| shown.extend(c.escape_default()))
}

/// A text of several lines.
pub fn text(text: &str) -> Cow<'_, str> {
    shown(text, |c| c == '\n' || is_plain(c), |c, shown| shown.extend(c.escape_default()))
}

/// A JSON document, which has such characters in its strings alone: it means the same as before.
///
/// # Example
///
/// ```
/// use mainspring_file::plain::json;
///
/// assert_eq!(json("[\"a\u{7f}\u{202e}\u{E0041}\"]\n"), "[\"a\\u007f\\u202e\\udb40\\udc41\"]\n");
/// ```
pub fn json(document: &str) -> Cow<'_, str> {
    let escape = |c: char, shown: &mut String| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
    };
    shown(document, |c| c == '\n' || is_plain(c), escape)
}

fn shown(text: &str, is_kept: fn(char) -> bool, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_kept(c) {
            shown.push(c);
        } else {
            escape(c, &mut shown);
        }
    }
    debug_assert!(shown.chars().all(is_kept), "what stands for a character is plain");
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_plain() {
        let odd = (0..=0x9F).filter_map(char::from_u32).filter(|c| c.is_control() && *c != '\t');
        for c in odd.chain("\u{202E}\u{2066}\u{200F}\u{2028}\u{61C}\u{FFF9}\u{E0041}".chars()) {
            let text = format!("a{c}b");
            assert!(line(&text).chars().all(is_plain), "{c:?}");
            assert!(line(&text).starts_with("a\\"), "{c:?}");
        }
        for text in ["", "plain", "日本 é \u{200D} \u{301}", "a\tb"] {
            assert!(matches!(line(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn a_document_means_the_same() {
        let value = serde_json::json!({"a\u{85}": "b\u{2028}\n\u{E0001}\u{7f}"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let plain = json(&text);
        assert!(plain.lines().flat_map(str::chars).all(is_plain), "{plain}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), value);
    }
}
