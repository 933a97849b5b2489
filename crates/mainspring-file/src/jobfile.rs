//! The job file: jobs with every policy, in TOML.
//!
//! ```text
//! [defaults]                       any key of a job but its triggers and its action
//! zone = "Europe/Berlin"
//!
//! [groups.database]                at most so many runs of its jobs at once, or starts in a time
//! limit = 2
//! rate = "10/1s"
//!
//! [jobs.backup]                    when, what, and by which rules
//! cron = "30 2 * * *"
//! run = ["/usr/local/bin/backup", "--all"]
//! retry = { max = 3, backoff = "10s" }
//! group = "database"
//! ```
//!
//! | part | keys |
//! |---|---|
//! | when | `cron`, `oncalendar`, `every`, `at` (one or a list of each), `at_boot`, `at_server_start`, `after`; `zone`, `dst`, `dialect`, `day_rule`, `hash`; `exclude`, `exclude_dates`, `start`, `end`, `max_runs` |
//! | who is told | the rows of [`HOOK_KEYS`] |
//! | rules | the rows of [`Policies::KEYS`](mainspring_job::Policies::KEYS), `group`, `priority` |
//! | a process | the rows of [`KEYS`](mainspring_action::process::KEYS) |
//! | a function of a program | the table `handler`: `name`, `version`, `payload` |
//! | a webhook | the table `webhook`: the rows of [`KEYS`](mainspring_action::webhook::KEYS) |
//!
//! A text that cannot be understood is a problem with its line, column and characters, and so is an unknown
//! key. The job with the problem is left out, and the others are read. A syntax error leaves out the job
//! whose table it is in; of a file beyond a mebibyte the first one leaves out all. A mistake in `[defaults]`
//! leaves out all jobs, because each would differ from what its author meant.
//!
//! Cost: one pass; memory in proportion to the file.
//!
//! Does not look up users and reads no secret: the executor does when a run starts.
//!
//! Source: TOML 1.0, <https://toml.io/en/v1.0.0>.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use jiff::tz::TimeZone;
use mainspring_action::body::Body;
use mainspring_cron::Schedule;
use mainspring_job::{After, Exclusion, Group, Hooks, Job, JobName};
use toml::de::{DeTable, DeValue};

use crate::budget::{Budget, MAX_MADE_BYTES};
use crate::hook::JobHook;
use crate::problem::{Fault, Problem, text_of};
use crate::source::{Line, MAX_FILE_BYTES, Source};

mod body;
mod definition;
mod document;
mod fields;
mod handler;
mod labels;
mod notify;
mod policies;
mod timetable;
mod webhook;
pub mod written;

use definition::GroupTable;
use fields::{Faults, Fields, table_of};

pub use labels::{Selector, check_labels};
pub use notify::{HookKey, KEYS as HOOK_KEYS};

/// The most jobs of one file: what fits into [`MAX_FILE_BYTES`] with a line or two each.
pub const MAX_JOBS: usize = 10_000;

const _: () = assert!(6 * 1_024 * MAX_JOBS <= MAX_MADE_BYTES, "the most jobs have room, as `budget` says");
const _: () = assert!(10 * MAX_JOBS <= document::MAX_NESTS);

/// How many bytes of lines the problems of a file hold: each holds its line, which may be the whole file.
const MAX_KEPT_LINE_BYTES: usize = MAX_FILE_BYTES as usize;

/// How the parser's message begins of a name that is there already.
const DUPLICATE: &str = "duplicate key";

/// The tables of a file.
const TABLES: &[&str] = &["defaults", "groups", "jobs"];

/// The good jobs of a file, and the problems of the others.
#[derive(Clone, Debug, Default)]
pub struct JobFile {
    /// In the order of their names.
    pub jobs: Vec<PlacedJob>,
    /// In the order of their names.
    pub groups: Vec<Group>,
    /// In the order of the file: at most [`MAX_KEPT_PROBLEMS`](crate::crontab::MAX_KEPT_PROBLEMS), and of
    /// long lines fewer.
    pub problems: Vec<Problem>,
    /// How many further problems there were.
    pub unkept_count: usize,
}

/// A job and where it stands.
#[derive(Clone, Debug)]
pub struct PlacedJob {
    /// The line of its name, counted from 1.
    pub line_number: usize,
    /// Whether its file says its name. Else it is found: see [`names`](crate::crontab::names).
    pub is_named: bool,
    /// Where it names the jobs that it follows.
    pub follows: Vec<Follows>,
    /// Who is told of it, as its file says.
    pub hook: JobHook,
    /// The job.
    pub job: Job,
}

impl PlacedJob {
    /// The same with its hook in its job, if it ever does anything.
    #[must_use]
    pub fn hooked(mut self) -> PlacedJob {
        if self.hook.is_needed() {
            let body = Body::decode(&self.job.work.action);
            self.hook.summary = body.map(|body| body.summary()).unwrap_or_default();
            self.job.hooks = Some(Hooks::new(self.hook.clone()));
        }
        self
    }

    /// Roughly how many bytes a job takes: what is counted of it.
    pub fn weight(&self) -> usize {
        let PlacedJob { job, hook, follows, .. } = self;
        let exclusion = |exclusion: &Exclusion| match exclusion {
            Exclusion::Times(_) => size_of::<Exclusion>() + size_of::<Schedule>(),
            _ => size_of::<Exclusion>(),
        };
        let labels: usize = job.labels.iter().map(|(name, text)| name.len() + text.len()).sum();
        size_of::<PlacedJob>()
            + job.source.len()
            + job.text.len()
            + job.work.action.body().len()
            + labels
            + job.timetable.exclusions().iter().map(exclusion).sum::<usize>()
            + size_of_val(job.timetable.triggers())
            + size_of_val(follows.as_slice())
            // The file's own, and the job's.
            + 2 * hook.weight()
    }
}

/// A place at which a job names another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follows {
    /// The name.
    pub job: JobName,
    /// Its line, counted from 1.
    pub line_number: usize,
    /// Its bytes in the line, with their quotes.
    pub span: Range<usize>,
}

impl Follows {
    /// Something that is wrong with the name, on its line.
    pub fn problem(&self, source: &Source, message: impl Into<String>) -> Problem {
        let line = source.line(self.line_number).expect("a name stands on a line of its file");
        Problem::new(line, Fault::new(self.span.clone(), message))
    }
}

impl JobFile {
    /// Reads a file. Never fails: what cannot be read is among the problems. `zone` is for jobs that name
    /// none.
    ///
    /// # Example
    ///
    /// ```
    /// use jiff::tz::TimeZone;
    /// use mainspring_file::jobfile::JobFile;
    /// use mainspring_file::source::Source;
    ///
    /// let text = "[jobs.good]\nevery = '1m'\nshell = 'date'\n\n[jobs.bad]\nevry = '1m'\nshell = 'date'\n";
    /// let file = JobFile::parse(&Source::new("example", text), &TimeZone::UTC);
    /// assert_eq!(file.jobs[0].job.name.as_str(), "good");
    /// assert_eq!(file.problems[0].fault.hint.as_deref(), Some("did you mean `every`?"));
    /// ```
    pub fn parse(source: &Source, zone: &TimeZone) -> JobFile {
        JobFile::parse_within(source, zone, &mut Budget::default())
    }

    /// The same for one of several files of which all jobs together have a budget.
    pub fn parse_within(source: &Source, zone: &TimeZone, budget: &mut Budget) -> JobFile {
        if let Some(problem) = Problem::of_length(source) {
            return JobFile { problems: vec![problem], ..JobFile::default() };
        }
        let reading = |text| Reading { source, text, zone, budget, faults: Faults::new(text) }.read();
        let read = text_of(source.bytes()).and_then(reading);
        read.unwrap_or_else(|fault| JobFile {
            problems: vec![Problem::at(source, fault)],
            ..JobFile::default()
        })
    }
}

/// Whether a file is a job file by its name, or, for standard input, by its first line that says something.
pub fn is_job_file(source: &Source) -> bool {
    let name = source.name();
    if name.ends_with(".toml") {
        return true;
    }
    let is_telling = |line: &Line<'_>| !matches!(line.bytes.trim_ascii_start().first(), None | Some(b'#'));
    let first = source.lines().find(is_telling);
    first
        .is_some_and(|line| TABLES.iter().any(|table| line.bytes.starts_with(format!("[{table}").as_bytes())))
}

/// The lines on which a job file defines its groups. A group without a header of its own has none.
pub fn lines_of_groups(source: &Source) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for line in source.lines() {
        let section = std::str::from_utf8(line.bytes).ok().and_then(section_of);
        if let Some(group) = section.as_deref().and_then(|section| section.strip_prefix("groups.")) {
            lines.entry(group.to_owned()).or_insert(line.number);
        }
    }
    lines
}

/// A file on its way.
struct Reading<'s> {
    source: &'s Source,
    text: &'s str,
    zone: &'s TimeZone,
    budget: &'s mut Budget,
    faults: Faults<'s>,
}

impl<'s> Reading<'s> {
    /// The jobs and problems, or a fault because of which nothing is read.
    fn read(mut self) -> Result<JobFile, Fault> {
        let (document, errors) = document::parse(self.text)?;
        let document = document.get_ref();
        let mut broken = BTreeSet::new();
        let sections = Sections::of(if errors.is_empty() { "" } else { self.text });
        let mut reported = HashSet::new();
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            let (section, first) = sections.at(span.start);
            match first.filter(|_| error.message().starts_with(DUPLICATE)) {
                // The parser puts its keys into the first table, and complains of each that is there.
                Some(_) if reported.contains(section) => {}
                Some(first) => {
                    let line = self.source.line_at(first).0.number;
                    let message = format!("the table [{section}] is there already: line {line}");
                    self.faults.push(Fault::new(span, message));
                    reported.insert(section);
                }
                None => self.faults.push(Fault::new(span, syntax_message(error.message()))),
            }
            broken.insert(section);
        }
        Fields::of(document).check_known(TABLES, &mut self.faults);
        let groups = self.groups(document);
        let before_count = self.faults.count();
        let defaults = self.defaults(document);
        let all_are_broken =
            before_count < self.faults.count() || broken.iter().any(|section| !section.starts_with("jobs."));
        let is_left_out = |name: &JobName| {
            let of_job = format!("jobs.{name}");
            let within = format!("{of_job}.");
            let next = broken.range::<&str, _>(within.as_str()..).next();
            all_are_broken
                || broken.contains(of_job.as_str())
                || next.is_some_and(|section| section.starts_with(&within))
        };
        let jobs = self.jobs(document, defaults, &groups, is_left_out);
        debug_assert!(jobs.is_sorted_by(|one, next| one.job.name < next.job.name), "by name, and each once");
        let (faults, unkept_count) = self.faults.into_sorted();
        let fault_count = faults.len();
        let problems = problems(self.source, faults);
        let unkept_count = unkept_count + fault_count - problems.len();
        let groups = groups.into_iter().map(|table| table.group).collect();
        Ok(JobFile { jobs, groups, problems, unkept_count })
    }

    fn groups(&mut self, document: &DeTable<'s>) -> Vec<GroupTable> {
        let mut groups = Vec::new();
        let Some(tables) = Fields::of(document).table("groups", &mut self.faults) else { return groups };
        for (name, value) in tables.own() {
            let Some(table) = table_of(name, value, &mut self.faults) else { continue };
            groups.extend(definition::group_table(name, &Fields::of(table), &mut self.faults));
        }
        groups.sort_by(|one: &GroupTable, other| one.name().cmp(other.name()));
        groups
    }

    /// The table of defaults, checked as if it were a job's.
    fn defaults<'d>(&mut self, document: &'d DeTable<'s>) -> Option<&'d DeTable<'s>> {
        let value = document.get("defaults")?;
        let DeValue::Table(table) = value.get_ref() else {
            self.faults.push(Fault::new(value.span(), "expected a table of defaults"));
            return None;
        };
        definition::check_defaults(&Fields::of(table), self.zone, &mut self.faults);
        Some(table)
    }

    fn jobs(
        &mut self,
        document: &DeTable<'s>,
        defaults: Option<&DeTable<'s>>,
        groups: &[GroupTable],
        is_left_out: impl Fn(&JobName) -> bool,
    ) -> Vec<PlacedJob> {
        let mut jobs = Vec::new();
        let defaults_bytes = defaults.map_or(0, written_bytes);
        let Some(tables) = Fields::of(document).table("jobs", &mut self.faults) else { return jobs };
        for (index, (name, value)) in tables.own().enumerate() {
            if index == MAX_JOBS {
                self.faults.push(Fault::new(name.span(), format!("a file has at most {MAX_JOBS} jobs")));
                break;
            }
            let Some(table) = table_of(name, value, &mut self.faults) else { continue };
            let fields = Fields::of(table).over(defaults);
            let context = definition::Context { source: self.source.name(), zone: self.zone, groups };
            let taken = match definition::job(name, &fields, &context, &mut self.faults) {
                Some((job, hook)) => {
                    let line_number = self.source.line_at(name.span().start).0.number;
                    let follows = timetable::follows(&fields, &mut self.faults);
                    let follows =
                        follows.into_iter().map(|(after, span)| self.follows(after, span)).collect();
                    let made = PlacedJob { line_number, is_named: true, follows, hook, job }.hooked();
                    let taken = self.budget.take_bytes(made.weight());
                    if taken.is_ok() && !is_left_out(&made.job.name) {
                        jobs.push(made);
                    }
                    taken
                }
                // The defaults were read for it as for any other.
                None => self.budget.take_bytes(defaults_bytes),
            };
            if let Err(fault) = taken {
                self.faults.push(Fault { span: name.span(), ..fault });
                break;
            }
        }
        jobs
    }

    fn follows(&self, after: After, span: Range<usize>) -> Follows {
        let Problem { line_number, fault, .. } = Problem::at(self.source, Fault::new(span, ""));
        Follows { job: after.job, line_number, span: fault.span }
    }
}

/// How many bytes of the file say what is in a table.
fn written_bytes(table: &DeTable<'_>) -> usize {
    let bytes = |(name, value): (&fields::Name<'_>, &toml::Spanned<DeValue<'_>>)| {
        let inner = value.get_ref().as_table();
        name.span().len() + inner.map_or_else(|| value.span().len(), written_bytes)
    };
    table.iter().map(bytes).sum()
}

/// Faults on their lines, as many as fit into [`MAX_KEPT_LINE_BYTES`], and one at least.
fn problems(source: &Source, faults: Vec<Fault>) -> Vec<Problem> {
    let mut kept_bytes = 0;
    let mut problems = Vec::new();
    for fault in faults {
        let problem = Problem::at(source, fault);
        kept_bytes += problem.line.len();
        if MAX_KEPT_LINE_BYTES < kept_bytes && !problems.is_empty() {
            break;
        }
        problems.push(problem);
    }
    problems
}

/// The headers of a text in its order: where the line of each starts, its name, and where the first header of
/// its table starts, if that is another.
struct Sections(Vec<(usize, String, Option<usize>)>);

impl Sections {
    fn of(text: &str) -> Sections {
        let mut start = 0;
        let mut found = Vec::new();
        let mut firsts = HashMap::new();
        for line in text.split_inclusive('\n') {
            if let Some(section) = section_of(line) {
                // Those of a list may be many.
                let is_table = !line.trim_start().starts_with("[[");
                let first = is_table.then(|| *firsts.entry(section.clone()).or_insert(start));
                found.push((start, section, first.filter(|first| *first < start)));
            }
            start += line.len();
        }
        Sections(found)
    }

    /// The section that an offset stands in, which is empty before the first, and its first header.
    fn at(&self, offset: usize) -> (&str, Option<usize>) {
        let after = self.0.partition_point(|(start, ..)| *start <= offset);
        let section = after.checked_sub(1).map(|index| &self.0[index]);
        section.map_or(("", None), |(_, name, first)| (name, *first))
    }
}

/// What a line is the header of, without its brackets and quotes. `None` if it is none.
fn section_of(line: &str) -> Option<String> {
    let header = line.trim().strip_prefix('[')?.trim_start_matches('[');
    let inside = header.split([']', '#']).next().unwrap_or_default();
    Some(inside.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect())
}

/// The parser's message in one line.
fn syntax_message(message: &str) -> String {
    message.lines().next().unwrap_or("this is not TOML").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
