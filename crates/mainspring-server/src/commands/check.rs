//! `mainspring check`: shows every problem of crontabs, and every warning.
//!
//! Cost: one pass over each file, and one explanation per entry.
//!
//! Does not ask whether this user may run the entries of a system crontab; `run` does. That a user exists is checked,
//! because Debian's cron refuses an entry of an unknown user.
//!
//! Source: own.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{counted, print, zone_or_system};
use crate::accounts::Account;
use crate::cli::CheckArgs;
use crate::clock::Moment;
use crate::crontab::{Crontab, Format, PlacedEntry};
use crate::error::Error;
use crate::exit::Exit;
use crate::job::unknown_user;
use crate::message;
use crate::problem::{MAX_SHOWN_PROBLEMS, Problem, render};
use crate::source::Source;
use crate::warning::warnings;

/// Checks all files, also after one that cannot be read; the worst exit code wins.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Error> {
    let zone = zone_or_system(args.zone.clone());
    let from = args.from.unwrap_or_else(|| Moment::now().wall);
    let mut exit = Exit::Ok;
    for file in &args.files {
        let checked = match Source::read(file) {
            Ok(source) => {
                let findings = Findings::of(&source, Format::from(args.format), &zone, from);
                print(&findings.text(source.name()))?;
                findings.exit(args)
            }
            Err(error) => {
                message::complain(&error);
                Exit::Failed
            }
        };
        exit = exit.and(checked);
    }
    Ok(exit)
}

/// What was found in one file.
struct Findings {
    job_count: usize,
    problem_count: usize,
    warning_count: usize,
    /// Problems and warnings in the order of the lines; together with `unkept_count` all of them.
    problems: Vec<Problem>,
    unkept_count: usize,
}

impl Findings {
    fn of(source: &Source, format: Format, zone: &TimeZone, from: Timestamp) -> Findings {
        let crontab = Crontab::parse(source, format);
        let mut problems = crontab.problems;
        problems.extend(crontab.entries.iter().filter_map(unknown_user_problem));
        let problem_count = problems.len() + crontab.unkept_count;
        let mut warnings: Vec<Problem> =
            crontab.entries.iter().flat_map(|placed| entry_warnings(placed, zone, from)).collect();
        let warning_count = warnings.len();
        // No problem goes unseen for a warning.
        warnings.truncate(MAX_SHOWN_PROBLEMS.saturating_sub(problems.len()));
        let unkept_count = crontab.unkept_count + warning_count - warnings.len();
        problems.extend(warnings);
        problems.sort_by_key(|problem| problem.line_number);
        let job_count = crontab.entries.len();
        Findings { job_count, problem_count, warning_count, problems, unkept_count }
    }

    fn text(&self, name: &str) -> String {
        let mut summary = match self.problem_count {
            0 => format!("{}, no problems", counted(self.job_count, "job")),
            count => counted(count, "problem"),
        };
        if 0 < self.warning_count {
            summary.push_str(&format!(", {}", counted(self.warning_count, "warning")));
        }
        format!("{}{name}: {summary}\n", render(name, &self.problems, self.unkept_count))
    }

    fn exit(&self, args: &CheckArgs) -> Exit {
        let is_doubtful = args.strict && 0 < self.warning_count;
        if 0 < self.problem_count || is_doubtful { Exit::Invalid } else { Exit::Ok }
    }
}

/// The warnings about an entry, as seen from a moment.
fn entry_warnings(placed: &PlacedEntry, zone: &TimeZone, from: Timestamp) -> Vec<Problem> {
    let text = &placed.line[placed.indent..];
    let faults = warnings(&placed.schedule(zone), text, from);
    faults.into_iter().map(|fault| placed.warning(fault)).collect()
}

fn unknown_user_problem(placed: &PlacedEntry) -> Option<Problem> {
    let user = placed.entry.user.as_ref()?;
    // A user database that does not answer is no problem of the file.
    let exists = Account::exists(&user.name).unwrap_or(true);
    (!exists).then(|| placed.problem(unknown_user(user)))
}
