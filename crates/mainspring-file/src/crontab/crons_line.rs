//! A line as Debian's cron reads it, where this program's own parser finds a fault in it.
//!
//! ```text
//! 1.5 22-6 * * *  backup       a field ends where no more of it is a list: cron skips `.5`
//! 1   22-6 * * *  backup       a range may run backwards: it has no values, and the entry is never due
//! 61  *    * * *  backup       a value that is none: cron refuses the line, and with it the file
//! ```
//!
//! So a line may be wrong without keeping the others of its file out of force.
//!
//! Cost: one pass over the line.
//!
//! Does not know whether the user of a line exists.
//!
//! Source: what Debian's cron 3.0pl1-162 took and refused.

use super::command::Command;
use super::entry::{BLANKS, skip_blanks, word};
use super::format::Format;

/// The names that may stand in place of the five fields.
const NICKNAMES: &[&str] =
    &["@reboot", "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"];

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: [Field; 5] = [
    Field { first: 0, last: 59, names: &[] },
    Field { first: 0, last: 23, names: &[] },
    Field { first: 1, last: 31, names: &[] },
    Field { first: 1, last: 12, names: MONTHS },
    Field { first: 0, last: 7, names: DAYS },
];

/// A line that cron takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CronsLine {
    /// The text, with a blank for each byte that cron skips in a field.
    pub(super) text: String,
    /// Where the command begins.
    command_start: usize,
}

impl CronsLine {
    /// Reads a line that has no leading blanks and is no setting. `None`: cron refuses it.
    pub(super) fn read(text: &str, format: Format) -> Option<CronsLine> {
        let mut read = text.as_bytes().to_vec();
        let mut at = 0;
        if text.starts_with('@') {
            at = word(text, 0)?.end;
            NICKNAMES.iter().find(|name| **name == &text[..at])?;
        } else {
            for field in &FIELDS {
                let span = word(text, at)?;
                let taken = field.list_end(&text[span.clone()])?;
                read[span.start + taken..span.end].fill(b' ');
                at = span.end;
            }
        }
        if format == Format::System {
            at = word(text, at)?.end;
            // A blank at least stands behind the name.
            text[at..].starts_with(BLANKS).then_some(())?;
        }
        let text = String::from_utf8(read).expect("blanks are in place of whole characters");
        Some(CronsLine { command_start: skip_blanks(&text, at), text })
    }

    /// The text for the shell.
    pub(super) fn shell_text(&self) -> String {
        Command::parse(&self.text[self.command_start..]).shell_text
    }
}

/// A field: the least and the greatest value, and names of values.
struct Field {
    first: u32,
    last: u32,
    names: &'static [&'static str],
}

impl Field {
    /// Where cron stops in a word. `None`: it refuses it.
    fn list_end(&self, word: &str) -> Option<usize> {
        let mut end = self.range_end(word)?;
        while word[end..].starts_with(',') {
            end += 1 + self.range_end(&word[end + 1..])?;
        }
        Some(end)
    }

    fn range_end(&self, text: &str) -> Option<usize> {
        let mut end = if text.starts_with('*') { 1 } else { self.value_end(text)? };
        if !text.starts_with('*') {
            let Some(last) = text[end..].strip_prefix('-') else {
                return (!text[end..].starts_with('/')).then_some(end);
            };
            end += 1 + self.value_end(last)?;
        }
        let Some(step) = text[end..].strip_prefix('/') else { return Some(end) };
        let length = alphanumeric(step).len();
        (0 < step[..length].parse::<u32>().ok()?).then_some(end + 1 + length)
    }

    fn value_end(&self, text: &str) -> Option<usize> {
        let value = alphanumeric(text);
        let is_name = self.names.iter().any(|name| name.eq_ignore_ascii_case(value));
        let is_number = value.parse().is_ok_and(|number| (self.first..=self.last).contains(&number));
        (is_name || is_number).then_some(value.len())
    }
}

/// The letters and digits that a text begins with.
fn alphanumeric(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_where_debians_cron_took_it() {
        let read = |text: &str| CronsLine::read(text, Format::User).map(|line| line.text);
        let taken = [
            ("0 22-6 * * * x", "0 22-6 * * * x"),
            ("50-3 * * * 7-1 x", "50-3 * * * 7-1 x"),
            ("1.5 *-5 1-5-7 jan-3ä sat-SUN x", "1   *   1-5   jan-3   sat-SUN x"),
            ("*x **\t*/5-7 */99 * x", "*  * \t*/5   */99 * x"),
            ("0~59 1-5/2/3 * * *", "0    1-5/2   * * *"),
            ("@reboot", "@reboot"),
            ("@daily  %input", "@daily  %input"),
        ];
        for (text, expected) in taken {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
        let refused = [
            "61 * * * * x",
            "foo * * * * x",
            "1 2 3",
            "* * 0 * * x",
            "* * * * 8 x",
            "* 61-3 * * * x",
            "0-59, * * * * x",
            "0,,5 * * * * x",
            "0-59x * * * * x",
            "1-x * * * * x",
            "5/2 * * * * x",
            "*/0 * * * * x",
            "*/x * * * * x",
            "*/-1 * * * * x",
            "-1 * * * * x",
            "H * * * * x",
            "* * L * * x",
            "* * * januaryx * x",
            "* * * * ? x",
            "@dialy x",
            "@Daily x",
            "@every 5m x",
            "A B=c",
            "FOO",
            "FOO=",
        ];
        for text in refused {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_system_crontab_has_a_blank_behind_the_user() {
        let command = |text: &str| Some(CronsLine::read(text, Format::System)?.shell_text());
        assert_eq!(command("* * * * * root").as_deref(), None);
        assert_eq!(command("@reboot").as_deref(), None);
        assert_eq!(command("@reboot root ").as_deref(), Some(""));
        assert_eq!(command("* * * * 7-1 root date +\\%F%x").as_deref(), Some("date +%F"));
    }
}
