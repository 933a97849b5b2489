//! Words with an `@`: short forms of a pattern, and expressions that are not patterns.
//!
//! | nickname | is |
//! |---|---|
//! | `@yearly`, `@annually` | `0 0 1 1 *` |
//! | `@monthly` | `0 0 1 * *` |
//! | `@weekly` | `0 0 * * 0` |
//! | `@daily`, `@midnight` | `0 0 * * *` |
//! | `@hourly` | `0 * * * *` |
//! | `@reboot` | when the machine starts |
//! | `@every 90s` | a fixed period |
//! | `@at 2030-01-01T00:00:00Z` | once |
//!
//! Source: [crontab(5)](https://manpages.debian.org/bookworm/cron/crontab.5.en.html) for all but the last
//! two.

use jiff::Timestamp;

use crate::error::ParseError;
use crate::every::Every;
use crate::item::distance;
use crate::pattern::Pattern;
use crate::time_text::TimeText;
use crate::word::Word;

const PATTERNS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];
const OTHERS: [&str; 3] = ["@reboot", "@every", "@at"];

/// What a word with an `@` stands for.
pub(crate) enum Nickname {
    /// A pattern of fields.
    Pattern(Pattern),
    /// A start of the machine.
    Reboot,
    /// A fixed period.
    Every(Every),
    /// One moment.
    At(Timestamp),
}

/// Reads a text that begins with `@`, without white space around it.
pub(crate) fn parse(text: Word<'_>) -> Result<Nickname, ParseError> {
    let name = text.fields().next().unwrap_or(text);
    let argument = Word { text: &text.text[name.text.len()..], start: name.end() };
    if let Some((_, fields)) = PATTERNS.iter().find(|(known, _)| name.is(known)) {
        no_argument(name, argument)?;
        return Ok(Nickname::Pattern(Pattern::of_nickname(name, fields)));
    }
    if name.is("@reboot") {
        no_argument(name, argument)?;
        return Ok(Nickname::Reboot);
    }
    if name.is("@every") {
        return Every::read(argument.trim()).map(Nickname::Every);
    }
    if name.is("@at") {
        return at(argument.trim()).map(Nickname::At);
    }
    let message = format!(
        "`{}` is not a nickname: expected @yearly, @monthly, @weekly, @daily, @hourly, @reboot, \
         @every or @at",
        name.text
    );
    let error = ParseError::new(name.span(), message);
    Err(match nearest(name.text) {
        Some(known) => error.with_hint(known),
        None => error,
    })
}

/// The nickname that a word without its `@` was meant to be.
pub(crate) fn without_at(word: &str) -> Option<&'static str> {
    let names = PATTERNS.iter().map(|(name, _)| *name).chain(OTHERS);
    names.into_iter().find(|name| name[1..].eq_ignore_ascii_case(word))
}

fn nearest(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let names = PATTERNS.iter().map(|(known, _)| *known).chain(OTHERS);
    names
        .map(|known| (distance(&lower, known), known))
        .min()
        .filter(|(edits, _)| *edits <= 2)
        .map(|(_, known)| known)
}

fn no_argument(name: Word<'_>, argument: Word<'_>) -> Result<(), ParseError> {
    if argument.is_empty() {
        return Ok(());
    }
    let message = format!("`{}` takes nothing after it", name.text);
    Err(ParseError::new(argument.span(), message))
}

fn at(argument: Word<'_>) -> Result<Timestamp, ParseError> {
    if argument.is_empty() {
        let expected = "expected a time with an offset, such as 2030-01-31T08:00:00Z";
        return Err(ParseError::new(argument.span(), expected).with_hint("@at 2030-01-31T08:00:00Z"));
    }
    TimeText::read_instant(argument)
}
