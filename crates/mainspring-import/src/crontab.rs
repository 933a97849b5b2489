//! Crontabs: each entry is a job, read by the code that serves crontabs.
//!
//! Cost: one pass over the file.
//!
//! Does not decide which lines are faulty: `mainspring_file::crontab` does.
//!
//! Source: crontab(5) of Debian's cron 3.0pl1, and
//! [that of cronie](https://man7.org/linux/man-pages/man5/crontab.5.html) for `RANDOM_DELAY` and `MAILFROM`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use mainspring_action::body::Body;
use mainspring_cron::Expression;
use mainspring_file::budget::Budget;
use mainspring_file::crontab::habits::Habits;
use mainspring_file::crontab::{Crontab, Format, PlacedEntry, definition, names};
use mainspring_file::hook;
use mainspring_file::jobfile::{MAX_JOBS, PlacedJob};
use mainspring_file::source::Source;

use crate::draft::Draft;
use crate::facts::{JobFacts, When};
use crate::finding::{Findings, Place, PlacedText};
use crate::key::{Key, is, lost, near, read_key, unneeded};

/// What is found in settings.
type Settings = Draft<()>;

/// Settings of a crontab.
const SETTING_KEYS: &[Key<(), PlacedText>] = &[
    is("SHELL", "interpreter", unchanged, ""),
    is("HOME", "cwd, env", unchanged, ""),
    is("MAILTO", "mail_output", mail_to, "addresses; without it no mail is sent"),
    is("SENDMAIL", "sendmail", unchanged, "a setting of Mainspring"),
    is("CRON_TZ", "zone", unchanged, ""),
    near(
        "RANDOM_DELAY",
        "jitter",
        random_delay,
        "each time has its own delay here, and not each start of the daemon",
    ),
    is(
        "MAILFROM CONTENT_TYPE CONTENT_TRANSFER_ENCODING",
        "mail_headers",
        unchanged,
        "`From: ..`, `Content-Type: ..`, `Content-Transfer-Encoding: ..`",
    ),
    lost(
        "START_HOURS_RANGE DELAY PERSISTENT",
        "it is of another cron, and only a variable here",
        "jitter and misfire say it for a job",
    ),
    unneeded("LOGNAME", "it is the name of the user, whatever is said"),
    is("*", "env", unchanged, "any other setting is a variable"),
];

/// What an entry has, beside its settings.
#[expect(
    dead_code,
    reason = "the rows are for the reference: the fields of an entry have no names in the file"
)]
const ENTRY_KEYS: &[Key<(), PlacedText>] = &[
    is(
        "time",
        "cron, every, at",
        unchanged,
        "five fields, or a nickname; the rule of cron when the clock changes",
    ),
    is("@reboot", "at_boot", unchanged, "once for each start of the machine"),
    is("user", "user", unchanged, "in a system crontab"),
    is("command", "shell", unchanged, ""),
    is("%", "stdin", unchanged, "what stands behind it in a command"),
];

/// What is read with the entries.
fn unchanged(_: &mut Settings, _: &PlacedText) {}

fn mail_to(settings: &mut Settings, setting: &PlacedText) {
    if let Err(message) = hook::addresses_of(&setting.text)
        && !setting.text.is_empty()
    {
        let message = format!("{message}: the output of the entries below is not mailed");
        let todo = "addresses with commas between: MAILTO=a@b.example,c";
        settings.findings.warn(&setting.place, message, todo);
    }
}

fn random_delay(settings: &mut Settings, setting: &PlacedText) {
    if delay_of(&setting.text).is_none() {
        settings.findings.problem(&setting.place, format!("expected minutes, found `{}`", setting.text));
    }
}

/// The delay of so many minutes.
fn delay_of(minutes: &str) -> Option<Duration> {
    let minutes: u64 = minutes.parse().ok()?;
    Some(Duration::from_secs(minutes.saturating_mul(60)).min(mainspring_job::MAX_JITTER))
}

/// The jobs of a file.
pub(crate) fn read(source: &Source, file: usize, format: Format, findings: &mut Findings) -> Vec<JobFacts> {
    // Lines are judged one by one: a comment need not be UTF-8.
    if let Some(problem) = mainspring_file::problem::Problem::of_length(source) {
        findings.problem(&Place { file, span: 0..0 }, problem.fault.message);
        return Vec::new();
    }
    let crontab = Crontab::parse(source, format);
    if let Some(entry) = crontab.entries.get(MAX_JOBS) {
        let place = line_place(file, source, entry.line_number);
        findings.problem(&place, format!("a job file has at most {MAX_JOBS} jobs, and this is one more"));
        return Vec::new();
    }
    let (mut jobs, faulty) =
        definition::jobs(&crontab, source.name(), &TimeZone::UTC, &Habits::default(), &mut Budget::default());
    for problem in crontab.problems.iter().chain(&faulty) {
        findings.fault(&line_place(file, source, problem.line_number), problem.fault.clone());
    }
    names::choose(&mut jobs, source.name(), &mut Default::default());
    check_settings(source, file, findings);
    let mut entries =
        crontab.entries.iter().map(|entry| (entry.line_number, entry)).collect::<BTreeMap<_, _>>();
    let mut facts = Vec::new();
    for placed in &jobs {
        let Some(entry) = entries.remove(&placed.line_number) else { continue };
        let place = line_place(file, source, placed.line_number);
        let mut job = facts_of(placed, entry, place, findings);
        if job.policies.jitter.is_zero() {
            let delay = entry.environment.value("RANDOM_DELAY").and_then(delay_of);
            job.policies.jitter = delay.unwrap_or_default();
        }
        facts.push(job);
    }
    debug_assert_eq!(facts.len(), jobs.len(), "each job is that of an entry");
    facts
}

fn facts_of(placed: &PlacedJob, entry: &PlacedEntry, place: Place, findings: &mut Findings) -> JobFacts {
    let mut job = JobFacts::new(placed.job.name.as_str(), place);
    let text = entry.entry.expression.to_string();
    job.due(match &entry.entry.expression {
        Expression::Every(every) => When::every(every),
        Expression::At(moment) => When::At(moment.to_string()),
        Expression::Reboot => When::Boot,
        _ => When::Cron(text.split_whitespace().collect::<Vec<_>>().join(" ")),
    });
    if text.contains(['H', '~']) {
        job.hash = Some(entry.entry.hash_text.clone());
    }
    job.zone = entry.zone.as_ref().and_then(TimeZone::iana_name).map(str::to_owned);
    if let Ok(Body::Process(body)) = Body::decode(&placed.job.work.action) {
        job.body = body;
        if job.body.interpreter.as_deref() == Some(mainspring_action::names::DEFAULT_SHELL) {
            job.body.interpreter = None;
        }
        // `interpreter` says it, and the process has it as a variable in any case.
        // The zone of the job is its key, and a process has it as a variable too.
        let says_zone = entry.environment.value("TZ").is_some();
        let is_own = |name: &str| OWN_SETTINGS.contains(&name) || name == "TZ" && !says_zone;
        job.body.env.retain(|(name, _)| !is_own(name));
    }
    job.policies = placed.job.work.policies.clone();
    (job.max_runs, job.priority) = (placed.job.max_runs, placed.job.work.priority);
    job.mail_output.clone_from(&placed.hook.mail_output);
    let is_given = |name: &str| entry.environment.value(name).is_some_and(|value| !value.is_empty());
    let is_set = |header: &&String| {
        MAIL_SETTINGS.iter().any(|(name, begin)| header.starts_with(begin) && is_given(name))
    };
    job.mail_headers = placed.hook.mail_headers.iter().filter(is_set).cloned().collect();
    if placed.hook.sendmail.as_os_str() != hook::SENDMAIL {
        job.sendmail = Some(placed.hook.sendmail.to_string_lossy().into_owned());
    }
    if let Some(group) = &placed.job.work.group {
        let message = format!("the group `{group}` is left out: a job file defines its groups itself");
        findings.warn(&job.place, message, format!("[groups.{group}] with a limit, and group = \"{group}\""));
    }
    job
}

/// Settings that are keys of a job, and no variables.
const OWN_SETTINGS: [&str; 5] = ["MAILTO", "SENDMAIL", "CRON_TZ", "RANDOM_DELAY", "MAILFROM"];

/// Settings of mails, and how the header begins that is made of each.
const MAIL_SETTINGS: [(&str, &str); 3] = [
    ("MAILFROM", "From: "),
    ("CONTENT_TYPE", "Content-Type: "),
    ("CONTENT_TRANSFER_ENCODING", "Content-Transfer-Encoding: "),
];

/// Tells what is to be told of settings.
fn check_settings(source: &Source, file: usize, findings: &mut Findings) {
    let mut read = Settings::default();
    for line in source.lines() {
        let Ok(text) = std::str::from_utf8(line.bytes) else { continue };
        let text = text.trim_start();
        if text.starts_with('#') {
            continue;
        }
        let Ok(setting) = mainspring_file::crontab::environment::Setting::parse(text) else { continue };
        let value = PlacedText { text: setting.value, place: line_place(file, source, line.number) };
        read_key(SETTING_KEYS, &setting.name, &value.place, &mut read, &value);
    }
    findings.append(read.findings);
}

fn line_place(file: usize, source: &Source, number: usize) -> Place {
    Place { file, span: source.line_span(number.max(1)).unwrap_or_default() }
}
