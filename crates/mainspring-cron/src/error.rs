//! Errors and warnings about an expression, each with the characters it is about.
//!
//! ```text
//! 0 25 * * *
//!   ^^ 25 is outside of the hour field: expected 0 to 23 (did you mean `23`?)
//! ```
//!
//! Costs one allocation for the message and one for the hint.

use std::fmt;
use std::ops::Range;

/// Why a text is not an expression, and which of its characters are wrong.
///
/// `Display` writes the message alone: lower case, no full stop, with what was expected. The wording may
/// change from version to version. [`ParseError::pointed`] adds the text and a caret for a terminal.
///
/// # Example
/// ```
/// let text = "0 25 * * *";
/// let error = mainspring_cron::Expression::parse(text).unwrap_err();
/// assert_eq!(&text[error.span()], "25");
/// assert_eq!(error.to_string(), "25 is outside of the hour field: expected 0 to 23");
/// assert_eq!(error.hint(), Some("23"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    message: String,
    span: Range<usize>,
    hint: Option<String>,
}

impl ParseError {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> ParseError {
        debug_assert!(span.start <= span.end, "a span has its end behind its start");
        ParseError { message: message.into(), span, hint: None }
    }

    /// The same error about a text in front of which `length` bytes stand.
    pub(crate) fn moved_by(mut self, length: usize) -> ParseError {
        self.span = self.span.start + length..self.span.end + length;
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> ParseError {
        self.hint = Some(hint.into());
        self
    }

    /// The same error with the name that was probably meant, if there is one.
    pub(crate) fn with_nearest(self, name: Option<&str>) -> ParseError {
        ParseError { hint: name.map(str::to_owned), ..self }
    }

    /// The bytes of the text given to `parse` that are wrong. The range is empty where something is missing;
    /// it then lies where that was expected. It is always inside the text and on character boundaries.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The nearest valid form, if one is known: a replacement for the characters of [`ParseError::span`], or
    /// for the whole text if the span is empty.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Two lines for a terminal: the text, then carets under the span with the message and the hint.
    ///
    /// `text` is the one that was given to `parse`. Tabs and line ends in it become spaces, so that the caret
    /// stays in its column.
    ///
    /// # Example
    /// ```
    /// let error = mainspring_cron::Expression::parse("0 9 * * mom").unwrap_err();
    /// let lines = [
    ///     "0 9 * * mom",
    ///     "        ^^^ expected a day of the week (0 to 7, or sun to sat), found `mom` \
    ///      (did you mean `mon`?)",
    /// ];
    /// assert_eq!(error.pointed("0 9 * * mom"), lines.join("\n"));
    /// ```
    pub fn pointed(&self, text: &str) -> String {
        let flat: String = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
        let before = text.get(..self.span.start).map_or(0, |part| part.chars().count());
        let marked = text.get(self.span()).map_or(1, |part| part.chars().count().max(1));
        // Not a width of `format!`: that panics above 65,535.
        let (indent, carets) = (" ".repeat(before), "^".repeat(marked));
        let mut out = format!("{flat}\n{indent}{carets} {}", self.message);
        if let Some(hint) = &self.hint {
            out.push_str(&format!(" (did you mean `{hint}`?)"));
        }
        out
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}

/// What is valid but probably not meant, and where it stands.
///
/// # Example
/// ```
/// let pattern = mainspring_cron::Pattern::parse("*/7 * * * *").unwrap();
/// let warning = &pattern.warnings()[0];
/// assert_eq!(warning.span, 0..3);
/// assert!(warning.text.starts_with("a step of 7 does not divide the 60 values of the minute field"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The bytes of the text that the warning is about, on character boundaries.
    pub span: Range<usize>,
    /// One sentence: lower case, no full stop.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caret_stands_in_the_column_of_its_character_even_after_tabs_and_wide_bytes() {
        let error = ParseError::new(4..6, "no");
        assert_eq!(error.pointed("é\t ab"), "é  ab\n   ^^ no");
    }

    #[test]
    fn an_empty_span_still_gets_one_caret() {
        assert_eq!(ParseError::new(3..3, "more expected").pointed("abc"), "abc\n   ^ more expected");
    }
}
