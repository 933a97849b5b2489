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
use crate::expression::Expression;
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

impl Expression {
    /// Reads a text without white space around it, if it begins with `@`. `None`: it may be fields.
    pub(crate) fn of_nickname(text: Word<'_>) -> Result<Option<Expression>, ParseError> {
        if text.text.starts_with('@') {
            return read(text).map(Some);
        }
        let meant = names().find(|name| name[1..].eq_ignore_ascii_case(text.text));
        meant.map_or(Ok(None), |name| Err(text.expected("fields or a nickname").with_hint(name)))
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    PATTERNS.iter().map(|(name, _)| *name).chain(OTHERS)
}

fn read(text: Word<'_>) -> Result<Expression, ParseError> {
    let name = text.fields().next().unwrap_or(text);
    let (_, argument) = text.split_at(name.text.len());
    if let Some((_, fields)) = PATTERNS.iter().find(|(known, _)| name.is(known)) {
        no_argument(name, argument)?;
        return Ok(Expression::Calendar(Pattern::of_nickname(name, fields)));
    }
    if name.is("@reboot") {
        no_argument(name, argument)?;
        return Ok(Expression::Reboot);
    }
    if name.is("@every") {
        return Every::read(argument.trim()).map(Expression::Every);
    }
    if name.is("@at") {
        return at(argument.trim()).map(Expression::At);
    }
    let message = format!(
        "`{}` is not a nickname: expected @yearly, @monthly, @weekly, @daily, @hourly, @reboot, \
         @every or @at",
        name.text
    );
    Err(name.error(message).with_nearest(nearest(name.text)))
}

fn nearest(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let (edits, known) = names().map(|known| (distance(&lower, known), known)).min()?;
    (edits <= 2).then_some(known)
}

fn no_argument(name: Word<'_>, argument: Word<'_>) -> Result<(), ParseError> {
    if argument.is_empty() {
        return Ok(());
    }
    let message = format!("`{}` takes nothing after it", name.text);
    Err(argument.error(message))
}

fn at(argument: Word<'_>) -> Result<Timestamp, ParseError> {
    if argument.is_empty() {
        let expected = "expected a time with an offset, such as 2030-01-31T08:00:00Z";
        return Err(argument.error(expected).with_hint("@at 2030-01-31T08:00:00Z"));
    }
    TimeText::read_instant(argument)
}
