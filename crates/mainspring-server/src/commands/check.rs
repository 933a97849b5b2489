//! `mainspring check`: shows every problem of crontabs.
//!
//! Cost: one pass over each file.
//!
//! Does not ask whether this user may run the entries of a system crontab; `run` does. That a user exists is checked,
//! because Debian's cron refuses an entry of an unknown user.
//!
//! Source: own.

use std::io::{self, Write};

use super::{counted, printed};
use crate::accounts::Account;
use crate::cli::CheckArgs;
use crate::crontab::{Crontab, Format, PlacedEntry};
use crate::error::Error;
use crate::exit::Exit;
use crate::job::unknown_user;
use crate::message;
use crate::problem::{Problem, render};
use crate::source::Source;

/// Checks all files, also after one that cannot be read; the worst exit code wins.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Error> {
    let format = Format::from(args.format);
    let mut exit = Exit::Ok;
    for file in &args.files {
        let checked = match Source::read(file) {
            Ok(source) => report(&source, format)?,
            Err(error) => {
                message::complain(&error);
                Exit::Failed
            }
        };
        // A file that was not read may hide any problem, so it counts for more than a problem that was found.
        exit = match (exit, checked) {
            (Exit::Failed, _) | (_, Exit::Failed) => Exit::Failed,
            (one, other) => one.max(other),
        };
    }
    Ok(exit)
}

fn report(source: &Source, format: Format) -> Result<Exit, Error> {
    let crontab = Crontab::parse(source, format);
    let mut problems = crontab.problems;
    problems.extend(crontab.entries.iter().filter_map(unknown_user_problem));
    problems.sort_by_key(|problem| problem.line_number);
    let name = source.name();
    let (text, exit) = if problems.is_empty() {
        (format!("{name}: {}, no problems\n", counted(crontab.entries.len(), "job")), Exit::Ok)
    } else {
        let count = counted(problems.len() + crontab.unkept_count, "problem");
        (format!("{}{name}: {count}\n", render(name, &problems, crontab.unkept_count)), Exit::Invalid)
    };
    printed(io::stdout().write_all(text.as_bytes()))?;
    Ok(exit)
}

fn unknown_user_problem(placed: &PlacedEntry) -> Option<Problem> {
    let user = placed.entry.user.as_ref()?;
    // A user database that does not answer is no problem of the file.
    let exists = Account::exists(&user.name).unwrap_or(true);
    (!exists).then(|| placed.problem(unknown_user(user)))
}
