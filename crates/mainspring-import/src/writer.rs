//! A job file out of facts.
//!
//! ```text
//! # Made by `mainspring import` from backup.timer, backup.service.
//!
//! # Nightly backup                       a comment of the source
//! [jobs.backup]
//! oncalendar = "*-*-* 02:00:00"
//! run = ["/usr/local/bin/backup"]
//!
//! # Not in force: it is suspended.       a job that must not run as it is
//! # [jobs.report]
//! # ..
//! ```
//!
//! Each table is read by the parser of job files before it is taken: one that it refuses becomes a comment,
//! with a warning. So `check` finds no problem in what is written.
//!
//! Cost: one pass over each table, written and read.
//!
//! Does not look at this machine.

use std::collections::{BTreeMap, BTreeSet};

use jiff::ToSpan;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use mainspring_action::body::Body;
use mainspring_file::crontab::names::numbered;
use mainspring_file::crontab::word;
use mainspring_file::jobfile::written::Table;
use mainspring_file::jobfile::{JobFile, MAX_JOBS};
use mainspring_file::plain;
use mainspring_file::source::Source;
use mainspring_job::JobName;

use crate::facts::{Call, JobFacts, When};
use crate::finding::Findings;
use crate::shell;

/// The longest name that is made: there is room for a number behind it.
const MAX_NAME_CHARS: usize = 100;

const _: () = assert!(
    MAX_NAME_CHARS + "-1000000".len() <= mainspring_job::MAX_NAME_CHARS,
    "there is room for a number behind it",
);
const _: () = assert!(2 * MAX_JOBS <= 1_000_000, "each name may clash with one made of another");
const _: () = assert!(word::MAX_WORD_CHARS <= MAX_NAME_CHARS, "a word of a command is a name too");

/// The longest comment that is made of a text of the source.
const MAX_COMMENT_CHARS: usize = 200;

/// A job file, and what is in it.
#[derive(Debug, Default)]
pub(crate) struct JobFileText {
    pub(crate) text: String,
    /// How many jobs are in force.
    pub(crate) job_count: usize,
    /// How many are comments.
    pub(crate) off_count: usize,
}

/// Writes jobs. `run` is a line for those that say no command: see [`filled_in`].
pub(crate) fn write(
    jobs: Vec<JobFacts>,
    names: &[&str],
    run: Option<&str>,
    findings: &mut Findings,
) -> JobFileText {
    let from = names.iter().map(|name| plain::line(name)).collect::<Vec<_>>().join(", ");
    let mut written = JobFileText {
        text: format!("# Made by `mainspring import` from {from}.\n"),
        ..JobFileText::default()
    };
    let mut chosen = Names::default();
    if let Some(job) = jobs.get(MAX_JOBS) {
        let message = format!("a job file has at most {MAX_JOBS} jobs: import fewer files at once");
        findings.problem(&job.place, message);
        return written;
    }
    let count = jobs.len();
    for mut job in jobs {
        match (job.has_command(), run) {
            (false, Some(run)) => job.body.shell = Some(filled_in(run, &job)),
            (false, None) => {
                let call = Some(call_of(&job)).filter(|call| !call.is_empty());
                let call = call.unwrap_or_else(|| job.name.clone());
                job.body.shell =
                    Some(format!("echo the command is not known: {} >&2; exit 1", shell::quoted(&call)));
                if job.off.is_none() {
                    let why = job.no_command.take();
                    let message =
                        why.unwrap_or_else(|| format!("the table does not say how `{call}` is run"));
                    let message = format!("{message}: the job is written as a comment");
                    findings.warn(&job.place, message, "import with --run LINE, or write run = [..]");
                }
                job.switch_off("its command is not known here");
            }
            (true, _) => {}
        }
        let name = chosen.choose(&job);
        let table = table(&name, &job);
        if job.off.is_none() {
            job.off = refusal(&name, &table).inspect(|why| {
                let message = format!("the job `{name}` is written as a comment: {why}");
                findings.warn(&job.place, message, "correct it there, or in the job file");
            });
        }
        written.text.push('\n');
        for comment in &job.comments {
            written.text.push_str(&commented(&cut(&plain::line(comment))));
        }
        match &job.off {
            None => {
                written.job_count += 1;
                written.text.push_str(&table);
            }
            Some(why) => {
                written.off_count += 1;
                written.text.push_str(&commented(&format!("Not in force: {}.", plain::line(why))));
                written.text.push_str(&commented(&table));
            }
        }
    }
    assert_eq!(written.job_count + written.off_count, count, "each job is in the file");
    debug_assert!(counted(&written.text).is_none_or(|count| count == written.job_count));
    written
}

/// How many jobs the parser of job files finds, if it finds no problem: a limit of all together may be one.
fn counted(text: &str) -> Option<usize> {
    let file = JobFile::parse(&Source::new("import", text), &TimeZone::UTC);
    file.problems.is_empty().then_some(file.jobs.len())
}

/// What a job calls, as words of a shell.
fn call_of(job: &JobFacts) -> String {
    job.call.as_ref().map_or_else(|| shell::quoted(&job.name), Call::of_shell)
}

/// A line for a shell, with `{name}`, `{call}` and, of a container, `{image}` replaced.
fn filled_in(run: &str, job: &JobFacts) -> String {
    // In one pass, so that what is put in is not looked at again.
    let mut pieces = run.split('{');
    let mut line = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match (piece.split_once('}'), &job.image) {
            (Some(("name", rest)), _) => line += &(shell::quoted(&job.name) + rest),
            (Some(("call", rest)), _) => line += &(call_of(job) + rest),
            (Some(("image", rest)), Some(image)) => line += &(shell::quoted(image) + rest),
            _ => line.extend(["{", piece]),
        }
    }
    line
}

/// Each line of a text as a comment.
fn commented(text: &str) -> String {
    debug_assert!(!text.contains('\r'), "a comment of TOML has none");
    text.lines().map(|line| format!("# {line}\n")).collect()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_COMMENT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What the parser of job files says against a table.
fn refusal(name: &JobName, table: &str) -> Option<String> {
    let file = JobFile::parse(&Source::new("table", table), &TimeZone::UTC);
    let is_own = || file.jobs.iter().map(|placed| &placed.job.name).eq([name]);
    debug_assert!(!file.problems.is_empty() || is_own(), "a table is the job that was written");
    file.problems.first().map(|problem| problem.fault.message.clone())
}

fn table(name: &JobName, job: &JobFacts) -> String {
    let mut table = Table::new(name.as_str());
    let texts =
        |pick: fn(&When) -> Option<&String>| job.when.iter().filter_map(pick).cloned().collect::<Vec<_>>();
    table.texts("cron", &texts(|when| if let When::Cron(text) = when { Some(text) } else { None }));
    table.texts(
        "oncalendar",
        &texts(|when| if let When::OnCalendar(text) = when { Some(text) } else { None }),
    );
    table.texts("every", &texts(|when| if let When::Every(text) = when { Some(text) } else { None }));
    table.texts("at", &texts(|when| if let When::At(text) = when { Some(text) } else { None }));
    if job.when.contains(&When::Boot) {
        table.raw("at_boot", "true");
    }
    if job.when.contains(&When::ServerStart) {
        table.raw("at_server_start", "true");
    }
    let mut text =
        |key: &str, value: Option<&str>| value.into_iter().for_each(|value| table.text(key, value));
    text("zone", job.zone.as_deref());
    text("dst", job.dst);
    text("dialect", job.is_quartz.then_some("quartz"));
    text("day_rule", job.day_rule);
    text("hash", job.hash.as_deref());
    text("start", job.start.as_deref());
    text("end", job.last.as_deref().map(just_after).as_deref());
    table.body(&Body::Process(job.body.clone()));
    table.policies(&job.policies);
    job.max_runs.iter().for_each(|count| table.raw("max_runs", &count.to_string()));
    if job.priority != 0 {
        table.raw("priority", &job.priority.to_string());
    }
    if !job.mail_output.is_empty() {
        table.text("mail_output", &job.mail_output.join(", "));
        table.texts("mail_headers", &job.mail_headers);
        job.sendmail.iter().for_each(|program| table.text("sendmail", program));
    }
    table.finish()
}

/// The first time after one: `end` is the first time at which nothing is due, and the others name the last at
/// which something is, in microseconds at most.
fn just_after(last: &str) -> String {
    let date_bytes = "2026-12-31".len();
    let behind = last.get(date_bytes..).and_then(|time| time.find(['Z', 'z', '+', '-', '[']));
    let (civil, zone) = last.split_at(behind.map_or(last.len(), |at| date_bytes + at));
    // What is no time is told where the table is read.
    let after =
        civil.parse::<DateTime>().map(|time| format!("{}{zone}", time.saturating_add(1.microsecond())));
    after.unwrap_or_else(|_| last.to_owned())
}

/// The names that are taken, and the numbers behind names that were wanted twice.
#[derive(Default)]
struct Names {
    taken: BTreeSet<JobName>,
    numbers: BTreeMap<String, usize>,
}

impl Names {
    fn choose(&mut self, job: &JobFacts) -> JobName {
        let of_command = || match &job.body.shell {
            Some(text) => word::of_shell(text),
            None => word::of_words(&job.body.run),
        };
        let wanted = cleaned(&job.name).or_else(of_command).unwrap_or_else(|| "job".to_owned());
        let name = numbered(&wanted, "", &self.taken, &mut self.numbers);
        let is_new = self.taken.insert(name.clone());
        debug_assert!(is_new, "no other job has it");
        name
    }
}

/// What is left of a text as a name.
fn cleaned(text: &str) -> Option<String> {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "._+-:@~".contains(c);
    let name: String = text.chars().map(|c| if is_kept(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric()).trim_end_matches('-');
    let name: String = name.chars().take(MAX_NAME_CHARS).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Place;

    #[test]
    fn names_are_cleaned_and_none_is_given_twice() {
        let mut names = Names::default();
        let mut choose =
            |name: &str| names.choose(&JobFacts::new(name, Place::default())).as_str().to_owned();
        assert_eq!(choose("Nightly report (EU)"), "Nightly-report--EU");
        assert_eq!(choose("a"), "a");
        assert_eq!(choose("a"), "a-2");
        assert_eq!(choose("a-2"), "a-2-2");
        assert_eq!(choose("日本"), "job");
        assert_eq!(choose(&"x".repeat(300)).len(), MAX_NAME_CHARS);
    }

    #[test]
    fn a_table_that_the_parser_refuses_becomes_a_comment() {
        let mut job = JobFacts::new("bad", Place::default());
        job.when.push(When::Cron("61 * * * *".to_owned()));
        job.body.run = vec!["true".to_owned()];
        let mut findings = Findings::default();
        let written = write(vec![job], &["a\nb"], None, &mut findings);
        assert_eq!((written.job_count, written.off_count), (0, 1));
        assert!(
            written.text.lines().all(|line| line.is_empty() || line.starts_with("# ")),
            "{}",
            written.text
        );
    }

    #[test]
    fn what_is_put_into_a_line_is_one_word_and_is_not_looked_at_again() {
        let mut job = JobFacts::new("{call} x", Place::default());
        job.call = Some(Call::Text("it's".to_owned()));
        assert_eq!(
            filled_in("a {name} {call} ${X} {image} {", &job),
            r"a '{call} x' 'it'\''s' ${X} {image} {"
        );
        job.image = Some("busybox".to_owned());
        job.call = Some(Call::Arguments(vec!["b c".to_owned(), "d".to_owned()]));
        assert_eq!(filled_in("run {image} {call}", &job), "run busybox 'b c' d");
    }
}
