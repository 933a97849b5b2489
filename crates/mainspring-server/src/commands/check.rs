//! `mainspring check`: shows every problem of crontabs and job files, and every warning.
//!
//! Cost: one pass over each file, and one explanation per entry.
//!
//! Does not ask whether this user may run the entries of a system crontab; `run` does. That a user exists is checked,
//! because Debian's cron refuses an entry of an unknown user.
//!
//! Source: own.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_cron::Schedule;

use super::{counted, print, zone_or_system};
use crate::accounts::Account;
use crate::cli::CheckArgs;
use crate::clock::Moment;
use crate::crontab::{Crontab, Format, PlacedEntry};
use crate::error::Error;
use crate::exit::Exit;
use crate::job::unknown_user;
use crate::jobfile::{PlacedJob, is_job_file};
use crate::loaded::Loaded;
use crate::message;
use crate::plain;
use crate::problem::{Fault, MAX_SHOWN_PROBLEMS, Problem, render};
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
        let loaded = Loaded::parse(source, format, zone);
        let mut problems = loaded.problems;
        let (unknown_users, mut warnings) = match is_job_file(source) {
            true => {
                (Vec::new(), loaded.jobs.iter().flat_map(|job| job_warnings(source, job, from)).collect())
            }
            false => crontab_findings(&Crontab::parse(source, format), zone, from),
        };
        problems.extend(unknown_users);
        let problem_count = problems.len() + loaded.unkept_count;
        let warning_count = warnings.len();
        // No problem goes unseen for a warning.
        warnings.truncate(MAX_SHOWN_PROBLEMS.saturating_sub(problems.len()));
        let unkept_count = loaded.unkept_count + warning_count - warnings.len();
        problems.extend(warnings);
        problems.sort_by_key(|problem| problem.line_number);
        let job_count = loaded.jobs.len();
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
        format!("{}{}: {summary}\n", render(name, &self.problems, self.unkept_count), plain::line(name))
    }

    fn exit(&self, args: &CheckArgs) -> Exit {
        let is_doubtful = args.strict && 0 < self.warning_count;
        if 0 < self.problem_count || is_doubtful { Exit::Invalid } else { Exit::Ok }
    }
}

/// The entries of a crontab whose users are not there, and the warnings about all.
fn crontab_findings(crontab: &Crontab, zone: &TimeZone, from: Timestamp) -> (Vec<Problem>, Vec<Problem>) {
    let unknown_users = crontab.entries.iter().filter_map(unknown_user_problem).collect();
    let warnings = crontab.entries.iter().flat_map(|placed| entry_warnings(placed, zone, from)).collect();
    (unknown_users, warnings)
}

/// The warnings about the triggers of a job, under its name.
fn job_warnings(source: &Source, placed: &PlacedJob, from: Timestamp) -> Vec<Problem> {
    let line = source.lines().nth(placed.line_number - 1).expect("a job stands on a line of its file");
    let of_trigger = |trigger: &Schedule| {
        let text = trigger.expression().to_string();
        let faults = warnings(trigger, &text, from).into_iter();
        faults.map(move |fault| format!("{}: {}", text, fault.message)).collect::<Vec<_>>()
    };
    let messages = placed.job.timetable.triggers().iter().flat_map(of_trigger);
    messages.map(|message| Problem::warning(line, Fault::new(0..line.bytes.len(), message))).collect()
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
