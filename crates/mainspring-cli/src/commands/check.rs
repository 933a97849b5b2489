//! `mainspring check`: shows every problem of crontabs and job files, and every warning.
//!
//! Cost: one pass over each file, and one explanation per entry.
//!
//! Does not judge by this machine unless `--here` is given: a user that is not there is a warning, because
//! the file may be for another machine. With `--here` it is a problem, because cron refuses an entry of an
//! unknown user. Does not ask whether this user may run the entries of a system crontab; `run` does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_cron::Schedule;
use mainspring_job::{Next, Timetable, Trigger};

use super::named_files::named_files;
use super::{print, print_json, zone_or_system};
use crate::cli::CheckArgs;
use crate::wire::{CheckDocument, CheckFinding, CheckedFile};
use mainspring_action::body::{Body, ProcessBody};
use mainspring_exec::clock::Moment;
use mainspring_file::budget::Budget;
use mainspring_file::claims::{Claimant, InForce, settle, unknown};
use mainspring_file::cron_places::{Kind, Place};
use mainspring_file::crontab::habits::Habits;
use mainspring_file::crontab::{Crontab, Format, PlacedEntry};
use mainspring_file::folder::NameRule;
use mainspring_file::jobfile::{PlacedJob, is_job_file};
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::plain;
use mainspring_file::presence::{missing, missing_for};
use mainspring_file::problem::{Fault, MAX_SHOWN_PROBLEMS, Problem, Severity, render};
use mainspring_file::source::Source;
use mainspring_file::warning::{of_action, of_command, warnings};
use mainspring_host::accounts::Account;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::{self, counted};

/// How often a time that is not excluded is looked for: each search passes a thousand stretches of excluded
/// time, and a stretch is a minute at least. All years of a yearly job are passed, or a month of minutes.
const MAX_SEARCHES: usize = 50;

/// What cron's folder of system crontabs is called, on this machine and in a copy of another.
const CRON_FOLDER: &str = "cron.d";

/// Checks all files, also after one that cannot be read; the worst exit code wins.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Error> {
    let zone = zone_or_system(args.zone.clone());
    let from = args.from.unwrap_or_else(|| Moment::now().wall);
    let look = Look { format: Format::from(args.format), zone, from, is_here: args.here };
    let mut exit = Exit::Ok;
    let mut files = Vec::new();
    for name in &named_files(&args.files) {
        match Source::read(name) {
            Ok(source) => {
                let file = claimant(&source, &look);
                if let Some(refused) = args.here.then(|| file.loaded.judge().err()).flatten() {
                    message::complain(&refused);
                    exit = exit.and(Exit::Denied);
                }
                files.push(file);
            }
            Err(error) => {
                message::complain(&error);
                exit = Exit::Failed;
            }
        }
    }
    // Of one file that is given twice the second is like the first.
    let mut seen = BTreeSet::new();
    let (mut firsts, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file: &Claimant| seen.insert(file.job_source.clone()));
    settle_all(&mut firsts);
    let unknown = unknown(&firsts, |_| false);
    debug_assert!(unknown.iter().all(|(index, _)| *index < firsts.len()), "they are of these files");
    let mut documents = Vec::new();
    for (index, file) in firsts.into_iter().chain(others).enumerate() {
        let of_file = unknown.iter().filter(|(of, _)| *of == index).map(|(_, warning)| warning.clone());
        let findings = Findings::of(file.loaded, of_file.collect(), &look);
        exit = exit.and(findings.exit(args));
        match args.json {
            true => documents.push(findings.document()),
            false => print(&findings.text())?,
        }
    }
    if args.json {
        print_json(&CheckDocument { files: documents })?;
    }
    Ok(exit)
}

/// What is wrong and doubtful in the crontab of a user, as text, and whether it may come into force.
pub(super) fn crontab_findings(source: &Source, user: &str) -> (String, bool) {
    let look =
        Look { format: Format::User, zone: zone_or_system(None), from: Moment::now().wall, is_here: false };
    let habits = Habits { user: Some(user.to_owned()), ..Habits::default() };
    let kind = Kind { format: Format::User, habits, place: Some(Place::Spool) };
    let mut loaded = LoadedFile::parse_within(source, &kind, &look.zone, &mut Budget::default());
    let is_good = loaded.is_good();
    let entries = Crontab::parse(source, Format::User).entries;
    let doubts = entries.iter().flat_map(|placed| entry_warnings(placed, Format::User, &look));
    let mut problems = std::mem::take(&mut loaded.problems);
    problems.extend(std::mem::take(&mut loaded.remarks));
    problems.extend(doubts);
    problems.sort_by_key(|problem| problem.line_number);
    (render(source.name(), &problems, loaded.unkept_count), is_good)
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

fn claimant(source: &Source, look: &Look) -> Claimant {
    let path =
        std::path::absolute(source.name()).map_or_else(|_| source.name().into(), PathBuf::into_os_string);
    let job_source = path.to_string_lossy().into_owned();
    Claimant { job_source, loaded: LoadedFile::parse(source, look.format(source), &look.zone) }
}

/// How files are looked at.
struct Look {
    format: Format,
    zone: TimeZone,
    from: Timestamp,
    is_here: bool,
}

impl Look {
    /// Whether a crontab has a column of users.
    fn format(&self, source: &Source) -> Format {
        self.format.of(Path::new(source.name()))
    }
}

/// What was found in one file.
struct Findings {
    name: String,
    job_count: usize,
    problem_count: usize,
    warning_count: usize,
    /// Problems, warnings and notes in the order of the lines; together with `unkept_count` all of them.
    problems: Vec<Problem>,
    unkept_count: usize,
}

impl Findings {
    fn of(mut loaded: LoadedFile, unknown: Vec<Problem>, look: &Look) -> Findings {
        let (unknown_users, mut warnings): (Vec<Problem>, Vec<Problem>) = match is_job_file(&loaded.source) {
            true => (
                unknown_users(&loaded.source, &loaded.jobs),
                loaded.jobs.iter().flat_map(|job| job_warnings(&loaded.source, job, look.from)).collect(),
            ),
            false => {
                let format = look.format(&loaded.source);
                let crontab = Crontab::parse(&loaded.source, format);
                let of_entries =
                    crontab.entries.iter().flat_map(|placed| entry_warnings(placed, format, look));
                let warnings = skipped_by_cron(&loaded.source).into_iter().chain(of_entries).collect();
                (crontab.entries.iter().filter_map(unknown_user_problem).collect(), warnings)
            }
        };
        warnings.append(&mut loaded.remarks);
        if look.is_here {
            warnings.extend(mail_warnings(&loaded.source, &loaded.jobs));
            warnings.extend(loaded.jobs.iter().flat_map(|job| absences(&loaded.source, job)));
        }
        warnings.extend(unknown);
        let LoadedFile { source, jobs, mut problems, unkept_count, .. } = loaded;
        if look.is_here {
            problems.extend(unknown_users);
        } else {
            warnings.extend(unknown_users.into_iter().map(Problem::into_warning));
        }
        let problem_count = problems.len() + unkept_count;
        let found_count = warnings.len();
        let is_remark = |found: &&Problem| found.severity == Severity::Remark;
        let warning_count = found_count - warnings.iter().filter(is_remark).count();
        // No problem goes unseen for a warning.
        warnings.truncate(MAX_SHOWN_PROBLEMS.saturating_sub(problems.len()));
        let unkept_count = unkept_count + found_count - warnings.len();
        problems.extend(warnings);
        let all_count = problem_count + found_count;
        debug_assert_eq!(problems.len() + unkept_count, all_count, "each is told or counted");
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

    fn document(&self) -> CheckedFile {
        CheckedFile {
            file: self.name.clone(),
            jobs: self.job_count,
            problems: self.problem_count,
            warnings: self.warning_count,
            findings: self.problems.iter().map(CheckFinding::from).collect(),
            left_out: self.unkept_count,
        }
    }

    fn exit(&self, args: &CheckArgs) -> Exit {
        let is_doubtful = args.strict && 0 < self.warning_count;
        if 0 < self.problem_count || is_doubtful { Exit::Invalid } else { Exit::Ok }
    }
}

/// That cron does not read a file of its folder, for its name.
fn skipped_by_cron(source: &Source) -> Option<Problem> {
    let path = std::path::absolute(source.name()).ok()?;
    let is_skipped = path.parent()?.file_name()? == CRON_FOLDER && !NameRule::Cron.takes(&path);
    let line = source.line(1).filter(|_| is_skipped)?;
    let why = format!("cron skips this file for its name: {}", NameRule::Cron.why_left_out(&path));
    Some(Problem::warning(line, Fault::new(0..line.bytes.len(), why)))
}

/// Jobs that send mails where nothing takes them.
fn mail_warnings(source: &Source, jobs: &[PlacedJob]) -> Vec<Problem> {
    let mut warned = BTreeSet::new();
    let lacks = |placed: &&PlacedJob| placed.hook.sends_mail() && !placed.hook.has_mailer();
    let warn = |placed: &PlacedJob| {
        // Once for each program that is not there: one setting of a crontab holds for all below it.
        if !warned.insert(placed.hook.sendmail.clone()) {
            return None;
        }
        let line = source.line(placed.line_number).expect("a job stands on a line of its file");
        let program = placed.hook.sendmail.display();
        let fault = Fault::new(0..line.bytes.len(), format!("no mail is sent: there is no {program} here"));
        Some(Problem::warning(line, fault.with_hint("what a job writes is kept: mainspring logs JOB")))
    };
    jobs.iter().filter(lacks).filter_map(warn).collect()
}

/// The warnings about the triggers and the action of a job, under its name.
fn job_warnings(source: &Source, placed: &PlacedJob, from: Timestamp) -> Vec<Problem> {
    let of_trigger = |trigger: &Schedule| {
        let text = trigger.expression().to_string();
        let faults = warnings(trigger, &text, from).into_iter();
        faults.map(move |fault| format!("{}: {}", text, fault.message)).collect::<Vec<_>>()
    };
    let of_triggers =
        placed.job.timetable.triggers().iter().filter_map(Trigger::schedule).flat_map(of_trigger);
    // Each trigger that is past is told above.
    let is_over = placed.job.timetable.end().is_some_and(|end| end <= from);
    let over = is_over.then(|| "its `end` is past: it never runs".to_owned());
    let excluded = nothing_left(&placed.job.timetable, from);
    let of_body = Body::decode(&placed.job.work.action).map(|body| of_action(&body)).unwrap_or_default();
    on_line(source, placed, of_triggers.chain(over).chain(excluded).chain(of_body))
}

/// Of a job whose every time is excluded, as far as is looked.
fn nothing_left(timetable: &Timetable, from: Timestamp) -> Option<String> {
    let mut after = from;
    for _ in 0..MAX_SEARCHES {
        match timetable.next_after(after) {
            Next::At(_) => return None,
            Next::NotBefore(moment) => {
                debug_assert!(after < moment, "the search gets further");
                after = moment;
            }
            Next::Never => {
                // Without exclusions it may be past, which is told in other words.
                let all = timetable.clone().without(Vec::new()).ok()?;
                let has_times = matches!(all.next_after(from), Next::At(_));
                return has_times
                    .then(|| "all of its times are excluded: none of them ever runs it".to_owned());
            }
        }
    }
    Some(format!("all of its times up to {after:.0} are excluded"))
}

/// What a job needs of this machine, and is not there.
fn absences(source: &Source, placed: &PlacedJob) -> Vec<Problem> {
    let of_job = Body::decode(&placed.job.work.action).map(|body| missing(&body)).unwrap_or_default();
    on_line(source, placed, of_job.into_iter().chain(missing_for(&placed.hook)))
}

/// Warnings on the line of a job.
fn on_line(source: &Source, placed: &PlacedJob, messages: impl Iterator<Item = String>) -> Vec<Problem> {
    let line = source.line(placed.line_number).expect("a job stands on a line of its file");
    messages.map(|message| Problem::warning(line, Fault::new(0..line.bytes.len(), message))).collect()
}

/// The warnings about an entry, as seen from a moment.
fn entry_warnings(placed: &PlacedEntry, format: Format, look: &Look) -> Vec<Problem> {
    let text = &placed.line[placed.indent..];
    let of_schedule = warnings(&placed.schedule(&look.zone), text, look.from);
    let shell = placed.environment.value("SHELL");
    let of_command = of_command(text, placed.entry.command_start, format, shell);
    of_schedule.into_iter().chain(of_command).map(|fault| placed.problem(fault).into_warning()).collect()
}

/// The problems of jobs whose users are not there. Each user is looked up once.
fn unknown_users(source: &Source, jobs: &[PlacedJob]) -> Vec<Problem> {
    let mut users = BTreeMap::new();
    let unknown = |placed: &PlacedJob| {
        let Ok(Body::Process(ProcessBody { user: Some(user), .. })) = Body::decode(&placed.job.work.action)
        else {
            return None;
        };
        let name = user.split(':').next().unwrap_or_default().to_owned();
        // A user database that does not answer is no problem of the file.
        let exists = *users.entry(name.clone()).or_insert_with(|| Account::exists(&name).unwrap_or(true));
        let line = source.line(placed.line_number).expect("a job stands on a line of its file");
        let fault = || Fault::new(0..line.bytes.len(), format!("there is no user `{name}`"));
        (!exists).then(|| Problem::new(line, fault()))
    };
    jobs.iter().filter_map(unknown).collect()
}

fn unknown_user_problem(placed: &PlacedEntry) -> Option<Problem> {
    let user = placed.entry.user.as_ref()?;
    let exists = Account::exists(&user.name).unwrap_or(true);
    (!exists).then(|| {
        let fault = Fault::new(user.span.clone(), format!("there is no user `{}`", user.name));
        placed.problem(
            fault.with_hint("in a system crontab a user name stands between the time and the command"),
        )
    })
}
