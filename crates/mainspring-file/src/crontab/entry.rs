//! One entry of a crontab: its time, its user in a system crontab, and its command.
//!
//! ```text
//! user crontab     0 5 * * mon-fri        backup.sh --all%input
//! system crontab   0 5 * * mon-fri  root  backup.sh --all%input
//!                  └─ five fields ┘ user  └────── command ────┘
//!                  @daily                 one nickname in place of the five fields
//!                  @every 90s             or a period, which is the next word
//!                  @at 2030-01-31T08:00Z  or one moment, which is the next word
//! ```
//!
//! `H` and `~` in a field choose their values from what follows the time: the command, and the user before
//! it.
//!
//! The time part is always five fields: with a sixth for seconds, the beginning of the command would be
//! ambiguous. `mainspring-cron` interprets the fields; this file only cuts the line.
//!
//! Cost: one pass over the line.
//!
//! Does not know whether a user exists and does not choose a time zone.
//!
//! Source: crontab(5) of Debian's cron 3.0pl1; `@every` follows the Go package robfig/cron,
//! <https://pkg.go.dev/github.com/robfig/cron/v3#hdr-Intervals>.

use std::ops::Range;

use mainspring_cron::{Expression, ParseOptions};

use super::command::Command;
use super::format::Format;
use crate::problem::Fault;
use crate::spelling::suggestion;

/// The names that may stand in place of the five fields.
pub const NICKNAMES: &[&str] =
    &["@reboot", "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually", EVERY, AT];

const EVERY: &str = "@every";

const AT: &str = "@at";

const FIELD_COUNT: usize = 5;

pub(super) const BLANKS: [char; 2] = [' ', '\t'];

/// An entry as its own line says it, before zone, user and environment are settled.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When it is due.
    pub expression: Expression,
    /// The user column of a system crontab.
    pub user: Option<UserColumn>,
    /// What is run then.
    pub command: Command,
    /// Where the command begins in the text of the entry.
    pub command_start: usize,
    /// What `H` and `~` choose their values from.
    pub hash_text: String,
}

/// The user column, with its place for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserColumn {
    /// The name as it stands there.
    pub name: String,
    /// Its bytes in the text of the entry.
    pub span: Range<usize>,
}

impl Entry {
    /// Reads a line that has no leading blanks and is neither a comment nor a setting.
    ///
    /// # Errors
    ///
    /// The first fault in reading order.
    ///
    /// # Example
    ///
    /// ```
    /// use mainspring_file::crontab::{Format, entry::Entry};
    ///
    /// let entry = Entry::parse("17 * * * * root run-parts /etc/cron.hourly", Format::System)?;
    /// assert_eq!(entry.user.map(|user| user.name).as_deref(), Some("root"));
    /// assert_eq!(entry.command.shell_text, "run-parts /etc/cron.hourly");
    /// # Ok::<(), mainspring_file::problem::Fault>(())
    /// ```
    pub fn parse(text: &str, format: Format) -> Result<Entry, Fault> {
        let (expression, when_end) = if text.starts_with('@') { nickname(text)? } else { five_fields(text)? };
        let (user, user_end) = match format {
            Format::User => (None, when_end),
            Format::System => {
                let span = word(text, when_end).ok_or_else(|| {
                    Fault::new(text.len()..text.len(), "expected a user name and a command after the time")
                })?;
                (Some(UserColumn { name: text[span.clone()].to_owned(), span: span.clone() }), span.end)
            }
        };
        let command_start = skip_blanks(text, user_end);
        debug_assert!(when_end <= user_end, "the user stands behind the time");
        debug_assert!(user_end <= command_start);
        if format == Format::User && text[command_start..].starts_with('*') {
            let fault =
                Fault::new(command_start..command_start + 1, "expected a command, found a sixth time field");
            return Err(
                fault.with_hint("an entry has five time fields: minute, hour, day, month, day of week")
            );
        }
        let command = Command::parse(&text[command_start..]);
        if command.shell_text.trim_matches(BLANKS).is_empty() {
            let end = text.len().min(command_start + 1);
            let after = if user.is_some() { "user name" } else { "time" };
            return Err(Fault::new(command_start..end, format!("expected a command after the {after}")));
        }
        let hash_text = text[when_end..].trim_matches(BLANKS).to_owned();
        Ok(Entry { expression, user, command, command_start, hash_text })
    }
}

/// The expression that a nickname stands for, and where its text ends.
fn nickname(text: &str) -> Result<(Expression, usize), Fault> {
    let name = word(text, 0).expect("the text begins with @");
    if !NICKNAMES.contains(&&text[name.clone()]) {
        return Err(unknown_nickname(&text[name.clone()], name));
    }
    let argument = match &text[name.clone()] {
        EVERY => Some(("expected a period after @every", "for example: @every 90s, @every 5m, @every 1h30m")),
        AT => Some(("expected a time after @at", "for example: @at 2030-01-31T08:00:00Z")),
        _ => None,
    };
    let end = match argument {
        None => name.end,
        Some((expected, hint)) => {
            let missing = || Fault::new(text.len()..text.len(), expected).with_hint(hint);
            word(text, name.end).ok_or_else(missing)?.end
        }
    };
    Ok((Expression::parse(&text[..end])?, end))
}

fn unknown_nickname(name: &str, span: Range<usize>) -> Fault {
    let lower = name.to_ascii_lowercase();
    let fault = Fault::new(span, format!("unknown nickname `{name}`"));
    if NICKNAMES.contains(&lower.as_str()) {
        return fault.with_hint(format!("nicknames are written in small letters: {lower}"));
    }
    fault.with_hint(suggestion(&lower, NICKNAMES))
}

/// The expression of the first five words, and where they end.
fn five_fields(text: &str) -> Result<(Expression, usize), Fault> {
    let mut end = 0;
    for found in 0..FIELD_COUNT {
        let Some(field) = word(text, end) else {
            let end = text.len();
            let fault = Fault::new(
                end..end,
                format!("expected five time fields and a command, found {} only", words(found)),
            );
            return Err(fault.with_hint("an entry is: minute hour day-of-month month day-of-week command"));
        };
        end = field.end;
    }
    // What H and ~ choose their values from: it stays the same when lines above are added or removed.
    let options = ParseOptions::new().with_job_name(text[end..].trim_matches(BLANKS));
    let expression = Expression::parse_with(&text[..end], &options).map_err(|error| {
        let fault = Fault::from(error);
        if text.starts_with(|c: char| c.is_alphabetic()) && fault.hint.is_none() {
            return fault.with_hint(
                "a line is a comment (#), a setting (NAME = value), or five time fields and a command",
            );
        }
        fault
    })?;
    Ok((expression, end))
}

fn words(count: usize) -> String {
    if count == 1 { "one word".to_owned() } else { format!("{count} words") }
}

/// The bytes of the next word at or after `start`.
pub(super) fn word(text: &str, start: usize) -> Option<Range<usize>> {
    let start = skip_blanks(text, start);
    let end = text[start..].find(BLANKS).map_or(text.len(), |length| start + length);
    (start < end).then_some(start..end)
}

pub(super) fn skip_blanks(text: &str, start: usize) -> usize {
    text.len() - text[start..].trim_start_matches(BLANKS).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str, format: Format) -> Fault {
        Entry::parse(text, format).expect_err(text)
    }

    #[test]
    fn a_command_is_the_rest_of_the_line_with_its_inner_blanks() {
        let entry = Entry::parse("0\t5 * *  mon-fri \t echo  a ", Format::User).unwrap();
        assert_eq!(entry.command.shell_text, "echo  a ");
        assert_eq!(entry.user, None);
    }

    #[test]
    fn nicknames_stand_for_five_fields() {
        for name in ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"] {
            let entry = Entry::parse(&format!("{name}\ttrue"), Format::User).unwrap();
            assert!(matches!(entry.expression, Expression::Calendar(_)), "{name}");
            assert_eq!(entry.command.shell_text, "true");
        }
        let entry = Entry::parse("@reboot true", Format::User).unwrap();
        assert!(matches!(entry.expression, Expression::Reboot));
    }

    #[test]
    fn every_takes_its_period_as_the_next_word() {
        let entry = Entry::parse("@every 2s echo 5m", Format::User).unwrap();
        assert!(matches!(entry.expression, Expression::Every(_)));
        assert_eq!(entry.command.shell_text, "echo 5m");
        assert_eq!(fault("@every", Format::User).message, "expected a period after @every");
        assert_eq!(fault("@every true", Format::User).span, 7..11);
    }

    #[test]
    fn at_takes_its_time_as_the_next_word() {
        let entry = Entry::parse("@at 2030-01-31T08:00:00Z echo once", Format::User).unwrap();
        assert!(matches!(entry.expression, Expression::At(_)));
        assert_eq!(entry.command.shell_text, "echo once");
        assert_eq!(fault("@at", Format::User).message, "expected a time after @at");
        assert_eq!(fault("@at noon true", Format::User).span, 4..8);
    }

    #[test]
    fn a_chosen_minute_depends_on_the_command_and_not_on_the_blanks_before_it() {
        let minutes = |text: &str| match Entry::parse(text, Format::User).unwrap().expression {
            Expression::Calendar(pattern) => pattern.minutes(),
            _ => unreachable!("five fields are a pattern"),
        };
        assert_eq!(minutes("H 3 * * * backup"), minutes("H\t3 * * *   backup "));
        assert_ne!(minutes("H 3 * * * backup"), minutes("H 3 * * * report"));
        assert_eq!(minutes("H 3 * * * backup").count_ones(), 1);
    }

    #[test]
    fn the_user_column_stands_between_time_and_command() {
        let entry = Entry::parse("@daily  www-data  true", Format::System).unwrap();
        assert_eq!(entry.user, Some(UserColumn { name: "www-data".into(), span: 8..16 }));
        assert_eq!(fault("@daily root", Format::System).message, "expected a command after the user name");
        assert_eq!(fault("@daily", Format::System).span, 6..6);
    }

    #[test]
    fn a_missing_command_is_a_fault_at_the_end_of_the_line() {
        assert_eq!(fault("0 5 * * *", Format::User).span, 9..9);
        assert_eq!(fault("0 5 * * *  ", Format::User).span, 11..11);
        assert_eq!(fault("@daily", Format::User).message, "expected a command after the time");
        assert_eq!(fault("@daily %input", Format::User).span, 7..8);
    }

    #[test]
    fn too_few_fields_are_counted() {
        let fault = fault("1 2 3", Format::User);
        assert_eq!((fault.span, fault.message.contains("found 3 words only")), (5..5, true));
    }

    #[test]
    fn a_sixth_star_is_not_a_command() {
        assert_eq!(fault("0 */5 * * * * true", Format::User).span, 12..13);
    }

    #[test]
    fn a_bad_field_is_pointed_at() {
        assert_eq!(fault("0 24 * * * true", Format::User).span, 2..4);
    }

    #[test]
    fn an_unknown_nickname_gets_the_nearest_one_as_a_hint() {
        let hint = |text| fault(text, Format::User).hint.unwrap();
        assert_eq!(hint("@dialy true"), "did you mean `@daily`?");
        assert_eq!(hint("@Daily true"), "nicknames are written in small letters: @daily");
        assert!(hint("@quarterly true").starts_with("known are @reboot"));
        assert!(hint(&format!("@{} true", "x".repeat(5000))).starts_with("known are"));
        assert_eq!(fault("@dialy true", Format::User).span, 0..6);
    }
}
