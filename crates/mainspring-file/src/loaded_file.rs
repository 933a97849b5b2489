//! A file of jobs, of either kind, read and judged.
//!
//! ```text
//! file ─▶ Source ─▶ a job file, by its name or first line ─▶ JobFile ─┐
//!                └─▶ a crontab ─▶ Crontab ─▶ definition ──────────────┴─▶ LoadedFile { jobs, groups, problems }
//! ```
//!
//! Cost: one pass over the file, and a look-up per user that it names.
//!
//! Does not watch the file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use mainspring_job::{Group, JobName};

use crate::budget::Budget;
use crate::cron_places::{CronPlaces, Kind, Place};
use crate::crontab::{Crontab, Format, Rules, definition};
use crate::hook::Target;
use crate::jobfile::{JobFile, PlacedJob, is_job_file};
use crate::problem::{Fault, Problem, Severity, render};
use crate::source::{FileError, Line, Source};
use crate::trust::{self, Distrust};
use mainspring_action::body::{Body, ProcessBody};
use mainspring_host::accounts::users::Users;
use mainspring_host::accounts::{ROOT, Refusal, own_uid};

/// The jobs of one file, and what is wrong with the others.
#[derive(Clone, Debug, Default)]
pub struct LoadedFile {
    /// The file as it was read.
    pub source: Source,
    /// Those that can be understood.
    pub jobs: Vec<PlacedJob>,
    /// Those that the file defines.
    pub groups: Vec<Group>,
    /// In the order of the file.
    pub problems: Vec<Problem>,
    /// How many further problems there were.
    pub unkept_count: usize,
    /// What is worth knowing of it and is no problem.
    pub remarks: Vec<Problem>,
    /// The names of entries that are comments now: no other entry gets them.
    pub switched_off: Vec<JobName>,
    /// The commands of lines that are left out: see [`Rules`].
    pub left_out: BTreeSet<String>,
}

/// How files are read.
#[derive(Clone, Debug)]
pub struct Reader {
    /// Which kind of crontab it is, if it is one.
    pub format: Format,
    /// For jobs that name no zone.
    pub zone: TimeZone,
    /// Those that jobs may name, and who runs the jobs that name none.
    pub users: Users,
    /// Who is told of jobs that say nothing of that.
    pub notify: Vec<Target>,
    /// The address of the page, for links to runs.
    pub page: Option<String>,
    /// Where cron's own places are, if its files are read by its rules.
    pub cron: Option<CronPlaces>,
}

impl Reader {
    /// One of users' files in UTC, with nothing by default.
    pub fn new(users: Users) -> Reader {
        let (format, zone, notify) = (Format::User, TimeZone::UTC, Vec::new());
        Reader { format, zone, users, notify, page: None, cron: None }
    }

    /// Reads the file called `name`, judges who may have written it, and looks up the users that it names.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is refused. Problems within it are no errors.
    pub fn load(&self, name: &str) -> Result<LoadedFile, FileError> {
        self.load_beside(name, 0)
    }

    /// The same for a file of a folder whose other files take so much of the folder's budget.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_beside(&self, name: &str, others_bytes: usize) -> Result<LoadedFile, FileError> {
        let source = Source::read(name)?;
        let path = Path::new(name);
        let kind = self.cron.as_ref().and_then(|cron| cron.kind(path));
        let kind = kind.unwrap_or_else(|| self.format.of(path).into());
        let mut loaded = LoadedFile::parse_beside(&source, &kind, &self.zone, others_bytes);
        loaded.judge_place(&kind, &self.users)?;
        loaded.check_users(&self.users);
        loaded.complete_hooks(self);
        Ok(loaded)
    }
}

impl LoadedFile {
    /// A problem of a whole line of it.
    pub(crate) fn problem_on(&self, number: usize, message: String, hint: &str) -> Problem {
        let line = self.source.line(number).expect("what is defined stands on a line of its file");
        let whole = line.bytes.trim_ascii_end().len();
        Problem::new(line, Fault::new(0..whole, message).with_hint(hint))
    }

    /// Reads what is in memory already.
    pub fn parse(source: &Source, format: Format, zone: &TimeZone) -> LoadedFile {
        LoadedFile::parse_within(source, &format.into(), zone, &mut Budget::default())
    }

    /// The same for a file of a folder whose other files take so much of the folder's budget.
    pub fn parse_beside(source: &Source, kind: &Kind, zone: &TimeZone, others_bytes: usize) -> LoadedFile {
        // Of a file that is refused nothing is kept, so that any number of them takes no room.
        let refused =
            |problems| LoadedFile { source: source.without_text(), problems, ..LoadedFile::default() };
        match Budget::beside(others_bytes, source.bytes().len()) {
            Ok(mut budget) => {
                let loaded = LoadedFile::parse_within(source, kind, zone, &mut budget);
                if budget.is_of_full_folder() { refused(loaded.problems) } else { loaded }
            }
            Err(fault) => refused(vec![Problem::new(Line { number: 1, bytes: b"" }, fault)]),
        }
    }

    /// The same for one of several files of which all jobs together have a budget. In one of cron's places a
    /// file is no job file.
    pub fn parse_within(source: &Source, kind: &Kind, zone: &TimeZone, budget: &mut Budget) -> LoadedFile {
        if let Some(problem) = Problem::of_length(source) {
            return LoadedFile { source: source.clone(), problems: vec![problem], ..LoadedFile::default() };
        }
        if kind.place.is_none() && is_job_file(source) {
            let JobFile { jobs, groups, problems, unkept_count } =
                JobFile::parse_within(source, zone, budget);
            let source = source.clone();
            return LoadedFile { source, jobs, groups, problems, unkept_count, ..LoadedFile::default() };
        }
        let rules = if kind.habits.are_crons { Rules::Crons } else { Rules::Own };
        let crontab = Crontab::parse_by(rules, source, kind.format);
        let (jobs, faulty) = definition::jobs(&crontab, source.name(), zone, &kind.habits, budget);
        let mut problems = crontab.problems;
        problems.extend(faulty);
        problems.sort_by_key(|problem| problem.line_number);
        LoadedFile {
            source: source.clone(),
            jobs,
            groups: kind.habits.group().into_iter().collect(),
            problems,
            unkept_count: crontab.unkept_count,
            remarks: crontab.remarks,
            switched_off: crontab.switched_off.into_iter().map(|name| kind.habits.named(name)).collect(),
            left_out: crontab.left_out,
        }
    }

    /// Has the reader's targets told of jobs whose file does not say who is, with links to its page.
    pub fn complete_hooks(&mut self, reader: &Reader) {
        for placed in &mut self.jobs {
            let hook = &mut placed.hook;
            let takes_targets = hook.targets.is_none() && !reader.notify.is_empty();
            if takes_targets {
                hook.targets = Some(reader.notify.clone());
            }
            let takes_page = reader.page.is_some() && hook.is_needed();
            if takes_page {
                hook.page.clone_from(&reader.page);
            }
            if takes_targets || takes_page {
                *placed = placed.clone().hooked();
            }
        }
    }

    /// Judges who may have written the file, if its commands would run as root or as users that it names.
    ///
    /// # Errors
    ///
    /// When it is refused.
    pub fn judge(&self) -> Result<(), FileError> {
        let us = own_uid();
        let names_users = self.jobs.iter().any(|placed| user_of(placed).is_some());
        match self.source.ownership().filter(|_| us == ROOT || names_users) {
            Some(file) => trust::judge(file, us).map_err(|why| self.distrusted(why)),
            None => Ok(()),
        }
    }

    /// Judges the file by the rules of its place.
    fn judge_place(&self, kind: &Kind, users: &Users) -> Result<(), FileError> {
        let path = Path::new(self.source.name());
        let judged = match (kind.place, self.source.ownership()) {
            (Some(Place::System), Some(file)) => {
                self.judge()?;
                trust::judge_system(file, path)
            }
            (Some(Place::Spool), Some(file)) => {
                let user = kind.habits.user.as_deref().unwrap_or_default();
                // Of a user who is not there nothing runs, which is told of each entry.
                let Ok(account) = users.account(user) else { return Ok(()) };
                trust::judge_spool(file, account.uid(), path)
            }
            _ => return self.judge(),
        };
        judged.map_err(|why| self.distrusted(why))
    }

    fn distrusted(&self, why: Distrust) -> FileError {
        FileError::Distrusted { name: self.source.name().to_owned(), why }
    }

    /// Whether the file may come into force: all of it was understood that an entry depends on.
    pub fn is_good(&self) -> bool {
        self.problems.iter().all(|problem| problem.severity != Severity::Problem) && self.unkept_count == 0
    }

    /// Roughly how many bytes its text and its jobs take: what is counted of a folder's budget.
    pub fn weight(&self) -> usize {
        self.source.bytes().len() + self.jobs.iter().map(PlacedJob::weight).sum::<usize>()
    }

    /// Whether a job does not say its name and has not got one yet.
    pub fn lacks_names(&self) -> bool {
        self.jobs.iter().any(|placed| !placed.is_named)
    }

    /// The problems as text, nothing if there are none.
    pub fn problems_text(&self) -> String {
        render(self.source.name(), &self.problems, self.unkept_count)
    }

    /// The programs that take the mails of its jobs.
    pub fn mailers(&self) -> BTreeSet<PathBuf> {
        let hooks = self.jobs.iter().map(|placed| &placed.hook).filter(|hook| hook.sends_mail());
        hooks.map(|hook| hook.sendmail.clone()).collect()
    }

    /// The users of jobs that start elsewhere because there is no home, with the home and where they start.
    pub fn homeless(&self, users: &Users) -> BTreeSet<(String, PathBuf, PathBuf)> {
        let of = |placed: &PlacedJob| {
            let Ok(Body::Process(ProcessBody { user, cwd, cwd_else: Some(other), .. })) =
                Body::decode(&placed.job.work.action)
            else {
                return None;
            };
            let account = match &user {
                Some(user) => users.account(user).ok()?,
                None => users.ourselves().clone(),
            };
            let home = cwd.unwrap_or(account.home);
            (!home.is_dir()).then_some((account.name, home, other))
        };
        self.jobs.iter().filter_map(of).collect()
    }

    /// Takes out the jobs whose users cannot be become, each of them a problem.
    fn check_users(&mut self, users: &Users) {
        let mut problems = Vec::new();
        self.jobs.retain(|placed| {
            let Some(user) = user_of(placed) else { return true };
            match users.account(&user) {
                Ok(_) => true,
                Err(refusal) => {
                    problems.push(user_problem(&self.source, placed.line_number, &user, &refusal));
                    false
                }
            }
        });
        self.problems.extend(problems);
        self.problems.sort_by_key(|problem| problem.line_number);
    }
}

fn user_of(placed: &PlacedJob) -> Option<String> {
    match Body::decode(&placed.job.work.action) {
        Ok(Body::Process(ProcessBody { user, .. })) => user,
        _ => None,
    }
}

/// The problem of a job that starts on a line; the caret stands under the user if that line names it.
fn user_problem(source: &Source, line_number: usize, user: &str, refusal: &Refusal) -> Problem {
    let line = source.line(line_number).expect("a job stands on a line of its file");
    let text = String::from_utf8_lossy(line.bytes);
    let at = text.find(&format!(" {user} ")).map_or(0..line.bytes.len(), |at| at + 1..at + 1 + user.len());
    let span = if at.end <= line.bytes.len() { at } else { 0..line.bytes.len() };
    Problem::new(line, Fault::new(span, format!("cannot run as user `{user}`: {refusal}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MAX_FILE_BYTES;
    use mainspring_host::accounts::Account;

    fn parsed(name: &str, text: &str) -> LoadedFile {
        LoadedFile::parse(&Source::new(name, text), Format::System, &TimeZone::UTC)
    }

    #[test]
    fn both_kinds_of_file_are_read() {
        let of = |loaded: LoadedFile| (loaded.jobs.len(), loaded.problems.len());
        assert_eq!(of(parsed("a.toml", "[jobs.x]\nevery = '1m'\nshell = 'true'\n")), (1, 0));
        assert_eq!(of(parsed("crontab", "@daily root true\n61 * * * * root true\n")), (1, 1));
    }

    #[test]
    fn a_text_that_is_longer_than_a_file_may_be_is_not_read() {
        let text = |bytes: u64| format!("#{}\n", "x".repeat(usize::try_from(bytes).unwrap() - 2));
        for name in ["a.toml", "crontab"] {
            assert!(parsed(name, &text(MAX_FILE_BYTES)).is_good(), "{name}");
            let long = parsed(name, &text(MAX_FILE_BYTES + 1));
            assert!(!long.is_good() && long.problems[0].fault.message.contains("longer than"), "{name}");
        }
    }

    #[test]
    fn users_that_are_not_there_are_problems() {
        let ourselves = Account { name: "somebody".into(), home: "/".into(), identity: None };
        let source = Source::new("crontab", "@daily no-such-user true\n@daily somebody true\n");
        let mut loaded = LoadedFile::parse(&source, Format::System, &TimeZone::UTC);
        loaded.check_users(&Users::new(ourselves));
        assert_eq!((loaded.jobs.len(), loaded.problems[0].fault.span.clone()), (1, 7..19));
    }
}
