//! `mainspring check`: shows every problem of crontabs and job files, and every warning.
//!
//! Cost: one pass over each file, and one explanation per entry.
//!
//! Does not ask whether this user may run the entries of a system crontab; `run` does. That a user exists is checked,
//! because Debian's cron refuses an entry of an unknown user.

use std::collections::BTreeSet;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_cron::Schedule;
use mainspring_job::Trigger;

use super::{print, zone_or_system};
use crate::cli::CheckArgs;
use mainspring_action::body::Body;
use mainspring_exec::clock::Moment;
use mainspring_file::claims::{Claimant, InForce, settle};
use mainspring_file::crontab::{Crontab, Format, PlacedEntry};
use mainspring_file::jobfile::{PlacedJob, is_job_file};
use mainspring_file::loaded::Loaded;
use mainspring_file::plain;
use mainspring_file::problem::{Fault, MAX_SHOWN_PROBLEMS, Problem, render};
use mainspring_file::source::Source;
use mainspring_file::warning::{exposures, warnings};
use mainspring_host::accounts::Account;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::{self, counted};

/// Checks all files, also after one that cannot be read; the worst exit code wins.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Error> {
    let zone = zone_or_system(args.zone.clone());
    let from = args.from.unwrap_or_else(|| Moment::now().wall);
    let format = Format::from(args.format);
    let mut exit = Exit::Ok;
    let mut files = Vec::new();
    for name in &args.files {
        match Source::read(name) {
            Ok(source) => files.push(claimant(&source, format, &zone)),
            Err(error) => {
                message::complain(&error);
                exit = Exit::Failed;
            }
        }
    }
    // Of one file that is given twice the second is like the first.
    let mut seen = BTreeSet::new();
    let (mut firsts, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file: &Claimant| seen.insert(file.origin.clone()));
    settle_all(&mut firsts);
    for file in firsts.into_iter().chain(others) {
        let findings = Findings::of(file.loaded, format, &zone, from);
        print(&findings.text())?;
        exit = exit.and(findings.exit(args));
    }
    Ok(exit)
}

/// Finds the names that two files say, also in files that have problems already.
fn settle_all(files: &mut [Claimant]) {
    let found = |file: &mut Claimant| {
        (std::mem::take(&mut file.loaded.problems), std::mem::take(&mut file.loaded.unkept_count))
    };
    let before: Vec<_> = files.iter_mut().map(found).collect();
    settle(files, &InForce::nothing());
    for (file, (problems, unkept_count)) in files.iter_mut().zip(before) {
        file.loaded.problems.extend(problems);
        file.loaded.unkept_count = unkept_count;
    }
}

fn claimant(source: &Source, format: Format, zone: &TimeZone) -> Claimant {
    let path =
        std::path::absolute(source.name()).map_or_else(|_| source.name().into(), PathBuf::into_os_string);
    let origin = path.to_string_lossy().into_owned();
    Claimant { origin, loaded: Loaded::parse(source, format, zone) }
}

/// What was found in one file.
struct Findings {
    name: String,
    job_count: usize,
    problem_count: usize,
    warning_count: usize,
    /// Problems and warnings in the order of the lines; together with `unkept_count` all of them.
    problems: Vec<Problem>,
    unkept_count: usize,
}

impl Findings {
    fn of(loaded: Loaded, format: Format, zone: &TimeZone, from: Timestamp) -> Findings {
        let Loaded { source, jobs, mut problems, unkept_count, .. } = loaded;
        let (unknown_users, mut warnings) = match is_job_file(&source) {
            true => (Vec::new(), jobs.iter().flat_map(|job| job_warnings(&source, job, from)).collect()),
            false => crontab_findings(&Crontab::parse(&source, format), zone, from),
        };
        problems.extend(unknown_users);
        let problem_count = problems.len() + unkept_count;
        let warning_count = warnings.len();
        // No problem goes unseen for a warning.
        warnings.truncate(MAX_SHOWN_PROBLEMS.saturating_sub(problems.len()));
        let unkept_count = unkept_count + warning_count - warnings.len();
        problems.extend(warnings);
        problems.sort_by_key(|problem| problem.line_number);
        let name = source.name().to_owned();
        Findings { name, job_count: jobs.len(), problem_count, warning_count, problems, unkept_count }
    }

    fn text(&self) -> String {
        let name = &self.name;
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

/// The warnings about the triggers and the action of a job, under its name.
fn job_warnings(source: &Source, placed: &PlacedJob, from: Timestamp) -> Vec<Problem> {
    let line = source.lines().nth(placed.line_number - 1).expect("a job stands on a line of its file");
    let of_trigger = |trigger: &Schedule| {
        let text = trigger.expression().to_string();
        let faults = warnings(trigger, &text, from).into_iter();
        faults.map(move |fault| format!("{}: {}", text, fault.message)).collect::<Vec<_>>()
    };
    let of_triggers =
        placed.job.timetable.triggers().iter().filter_map(Trigger::schedule).flat_map(of_trigger);
    let of_action = Body::decode(&placed.job.work.action).map(|body| exposures(&body)).unwrap_or_default();
    let messages = of_triggers.chain(of_action);
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
    (!exists).then(|| {
        let fault = Fault::new(user.span.clone(), format!("there is no user `{}`", user.name));
        placed.problem(
            fault.with_hint("in a system crontab a user name stands between the time and the command"),
        )
    })
}
