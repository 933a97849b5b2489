//! What an entry of a crontab is called, and what it gets if its crontab says nothing.
//!
//! In a simulation a job's name is its line number and the [word](crate::crontab::word) for its command, as in
//! `12:backup.sh`. What a durable job is called says [`names`](crate::crontab::names).
//!
//! Cost: none worth a word.
//!
//! Does not look anything up.
//!
//! Source: crontab(5) of Debian's cron 3.0pl1.

use crate::crontab::entry::UserColumn;
use crate::crontab::{PlacedEntry, word};
use crate::problem::Fault;

/// The name of an entry's job: see the head of this file.
pub fn job_name(placed: &PlacedEntry) -> String {
    let word = word::of_shell(&placed.entry.command.shell_text);
    format!("{}:{}", placed.line_number, word.as_deref().unwrap_or("command"))
}

/// The fault of a user column that names nobody.
pub fn unknown_user(user: &UserColumn) -> Fault {
    let fault = Fault::new(user.span.clone(), format!("there is no user `{}`", user.name));
    fault.with_hint("in a system crontab a user name stands between the time and the command")
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
            ("[ -x /a ] && /a", "a"),
            ("A=1", "command"),
        ];
        for (command, expected) in cases {
            let text = format!("\n@daily {command}\n");
            let crontab = Crontab::parse(&Source::new("test", text), Format::User);
            assert_eq!(job_name(&crontab.entries[0]), format!("2:{expected}"), "{command}");
        }
    }
}
