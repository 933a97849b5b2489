//! What an entry of a crontab is called, and what it gets if its crontab says nothing.
//!
//! A job's name is its line number and the first word of its command that is not an assignment, without directories:
//!
//! | line | name |
//! |---|---|
//! | `12: 0 5 * * *  LANG=C /usr/local/bin/backup.sh --all` | `12:backup.sh` |
//! | `13: @daily     [ -x /usr/sbin/x ] && /usr/sbin/x` | `13:command` |
//!
//! The line number makes it unique in the file; the word makes it readable. It holds letters, digits, and `._+-` only. A
//! durable job is called by the word alone: see [`definition`](crate::crontab::definition).
//!
//! Cost: none worth a word.
//!
//! Does not look anything up.
//!
//! Source: crontab(5) of Debian's cron 3.0pl1.

use crate::crontab::PlacedEntry;
use crate::crontab::entry::UserColumn;
use crate::problem::Fault;

/// The longest word that becomes part of a name.
pub const MAX_NAME_WORD_CHARS: usize = 24;

/// The name of an entry's job: see the head of this file.
pub fn job_name(placed: &PlacedEntry) -> String {
    format!("{}:{}", placed.line_number, name_word(&placed.entry.command.shell_text))
}

/// The fault of a user column that names nobody.
pub fn unknown_user(user: &UserColumn) -> Fault {
    let fault = Fault::new(user.span.clone(), format!("there is no user `{}`", user.name));
    fault.with_hint("in a system crontab a user name stands between the time and the command")
}

/// The first word of a command that is not an assignment, without directories.
pub(crate) fn name_word(shell_text: &str) -> String {
    let is_assignment = |word: &str| word.split('/').next().is_some_and(|start| start.contains('='));
    let word = shell_text.split_whitespace().find(|word| !is_assignment(word)).unwrap_or_default();
    let last = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let kept: String = last.chars().filter(is_kept).take(MAX_NAME_WORD_CHARS).collect();
    if kept.is_empty() { "command".to_owned() } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crontab::{Crontab, Format};
    use crate::source::Source;

    #[test]
    fn a_name_is_the_line_and_the_first_word_of_the_command() {
        let cases = [
            ("LANG=C /usr/local/bin/backup.sh --all", "backup.sh"),
            ("echo hello", "echo"),
            ("[ -x /a ] && /a", "command"),
            ("(cd /; ls)", "cd"),
            ("./a=b", "ab"),
            ("A=1", "command"),
            ("\"/opt/my app/run\"", "my"),
            ("/opt/bin/", "bin"),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaa"),
        ];
        for (command, expected) in cases {
            let text = format!("\n@daily {command}\n");
            let crontab = Crontab::parse(&Source::new("test", text), Format::User);
            assert_eq!(job_name(&crontab.entries[0]), format!("2:{expected}"), "{command}");
        }
    }
}
