//! Asking the server, and showing its answer.
//!
//! Cost: one connection.
//!
//! Does not decide anything: the server does.

use jiff::Timestamp;

use super::{print, print_json};
use crate::cli::serve::AskArgs;
use crate::client::Client;
use crate::relative::relative;
use crate::table::{table, width};
use mainspring_exec::clock::Moment;
use mainspring_file::plain;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::counted;
use mainspring_server::place::Place;
use mainspring_server::protocol::{
    AppliedWire, JobWire, LineWire, OnceWire, Request, Response, RunWire, StatusWire,
};
use mainspring_server::server::alone::Alone;
use mainspring_store::DirectoryError;

/// Asks once, and shows the answer as the arguments say.
pub(super) fn ask(args: &AskArgs, request: Request) -> Result<Exit, Error> {
    let response = Client::connect(&args.place.place())?.ask(request)?;
    show(args, &response)
}

/// Who answers a request that only looks: the server, or the store itself if no server has it.
pub(super) enum Looking {
    Server(Client),
    Alone(Box<Alone>),
}

impl Looking {
    pub(super) fn open(place: &Place) -> Result<Looking, Error> {
        match Client::connect(place) {
            Ok(client) => Ok(Looking::Server(client)),
            Err(unreachable) => match Alone::open(place, Moment::now().wall) {
                Ok(Some(alone)) => Ok(Looking::Alone(Box::new(alone))),
                Ok(None) | Err(Error::Directory(DirectoryError::Taken { .. })) => Err(unreachable),
                Err(error) => Err(error),
            },
        }
    }

    pub(super) fn ask(&mut self, request: Request) -> Result<Response, Error> {
        match self {
            Looking::Server(client) => client.ask(request),
            Looking::Alone(alone) => alone.ask(&request),
        }
    }
}

/// Shows an answer.
pub(super) fn show(args: &AskArgs, response: &Response) -> Result<Exit, Error> {
    if args.json {
        print_json(response)?;
    } else {
        print(&text(response, Moment::now().wall))?;
    }
    Ok(Exit::Ok)
}

/// An answer for people, as seen from `now`.
pub(super) fn text(response: &Response, now: Timestamp) -> String {
    match response {
        // What `doctor` makes of health is its own.
        // No command shows the other three.
        Response::Done(_)
        | Response::Health(_)
        | Response::Found(_)
        | Response::Door(_)
        | Response::Changes(_) => String::new(),
        Response::Error(error) => format!("{}\n", error.message),
        Response::Status(status) => status_text(status, now),
        Response::Jobs { jobs, .. } => jobs_text(jobs, now),
        Response::Job(job) => job_text(job, now),
        Response::Once(once) => once_text(once, now),
        Response::Runs { runs, .. } => runs_text(runs, now),
        Response::Line(line) => line_text(line),
        Response::Planned { run } => format!("{}\n", plain::line(run)),
        Response::Ended(run) => {
            format!("{} {}\n", plain::line(&run.run), plain::line(&outcome_text(run)))
        }
        Response::Submitted { name, due } => {
            format!("{} is due {}\n", plain::line(name), plain::line(&when(due, now)))
        }
        Response::Duplicate { name } => {
            let name = name.as_deref().unwrap_or("a job with that key");
            format!("{} is there already: nothing changed\n", plain::line(name))
        }
        Response::Preview { times } => times.iter().map(|time| format!("{}\n", plain::line(time))).collect(),
        Response::Backfilled { count, series } => {
            format!("{} of backfill {series} are on disk\n", counted(*count, "run"))
        }
        Response::Applied(applied) => applied_text(applied),
        Response::Export { texts, .. } => texts.join("\n"),
    }
}

/// A line of output, of standard error with a mark.
pub(super) fn line_text(line: &LineWire) -> String {
    let mark = if line.stream == "stderr" { "! " } else { "" };
    format!("{mark}{}\n", line.text)
}

/// A time with how far it is from now.
fn when(text: &str, now: Timestamp) -> String {
    text.parse().map_or_else(|_| text.to_owned(), |time| format!("{} ({text})", relative(time, now)))
}

fn near(text: Option<&String>, now: Timestamp) -> String {
    let time = text.and_then(|text| text.parse().ok());
    time.map_or_else(|| "-".to_owned(), |time| relative(time, now))
}

fn jobs_text(jobs: &[JobWire], now: Timestamp) -> String {
    if jobs.is_empty() {
        return "there are no jobs\n".to_owned();
    }
    let row = |job: &JobWire| {
        let last = job.last.as_ref().map_or_else(
            || "-".to_owned(),
            |run| format!("{} {}", run.state, near(run.ended.as_ref().or(Some(&run.due)), now)),
        );
        vec![job.name.clone(), job.state.clone(), near(job.next.as_ref(), now), last, job.action.clone()]
    };
    let rows: Vec<Vec<String>> = jobs.iter().map(row).collect();
    table(&["NAME", "STATE", "NEXT", "LAST", "ACTION"], &rows, width())
}

fn runs_text(runs: &[RunWire], now: Timestamp) -> String {
    if runs.is_empty() {
        return "there are no runs\n".to_owned();
    }
    let row = |run: &RunWire| {
        let reason = match (&run.outcome, run.count) {
            _ if !run.reason.is_empty() => run.reason.clone(),
            (_, 2..) => format!("{} occurrences", run.count),
            (Some(outcome), _) if *outcome != run.state => outcome.clone(),
            _ => String::new(),
        };
        let attempt = if run.attempt == 0 { "-".to_owned() } else { run.attempt.to_string() };
        vec![run.run.clone(), run.state.clone(), near(run.started.as_ref(), now), took(run), attempt, reason]
    };
    let rows: Vec<Vec<String>> = runs.iter().map(row).collect();
    table(&["RUN", "STATE", "STARTED", "TOOK", "TRY", "WHY"], &rows, width())
}

fn took(run: &RunWire) -> String {
    let time = |text: &Option<String>| text.as_ref()?.parse::<Timestamp>().ok();
    let took = time(&run.started).zip(time(&run.ended));
    took.map_or_else(
        || "-".to_owned(),
        |(started, ended)| {
            let ms = ended.as_millisecond() - started.as_millisecond();
            crate::relative::span(u64::try_from(ms).unwrap_or(0))
        },
    )
}

fn outcome_text(run: &RunWire) -> String {
    match &run.outcome {
        Some(outcome) if *outcome != run.state => format!("{}: {outcome}", run.state),
        _ if run.reason.is_empty() => run.state.clone(),
        _ => format!("{}: {}", run.state, run.reason),
    }
}

/// Names and values, one pair a line.
fn pairs(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let shown = pairs.iter().filter(|(_, value)| !value.is_empty());
    shown.map(|(name, value)| format!("{name:<width$}  {}\n", plain::line(value))).collect()
}

fn job_text(job: &JobWire, now: Timestamp) -> String {
    let last = job.last.as_ref().map_or_else(String::new, |run| {
        format!("{} {}", outcome_text(run), near(run.ended.as_ref().or(Some(&run.due)), now))
    });
    let text = pairs(&[
        ("name", job.name.clone()),
        ("state", job.state.clone()),
        ("next", job.next.as_ref().map_or_else(String::new, |next| when(next, now))),
        ("last", last),
        ("running", job.running.to_string()),
        ("queued", job.queued.to_string()),
        ("runs", job.runs.to_string()),
        ("failures in a row", job.failures.to_string()),
        ("group", job.group.clone().unwrap_or_default()),
        ("policies", job.policies.clone()),
        ("from", job.source.clone()),
    ]);
    format!("{text}\n{}", job.definition)
}

fn once_text(once: &OnceWire, now: Timestamp) -> String {
    pairs(&[
        ("name", once.name.clone()),
        ("state", "pending".to_owned()),
        ("due", when(&once.due, now)),
        ("submitted", when(&once.submitted, now)),
        ("key", once.key.clone().unwrap_or_default()),
        ("policies", once.policies.clone()),
        ("action", once.action.clone()),
    ])
}

fn status_text(status: &StatusWire, now: Timestamp) -> String {
    let mut text = pairs(&[
        ("server", format!("mainspring {}, process {}, {}", status.version, status.pid, status.state)),
        (
            "data",
            if status.is_kept { status.data.clone() } else { format!("{}: nothing is kept", status.data) },
        ),
        ("started", when(&status.started, now)),
        ("TROUBLE", status.troubles.join("; ")),
        ("paused", if status.paused { "everything".to_owned() } else { String::new() }),
        ("next due", status.next.as_ref().map_or_else(|| "nothing".to_owned(), |next| when(next, now))),
        ("jobs", status.jobs.to_string()),
        ("pending", status.pending.to_string()),
        ("open runs", format!("{}, {} of them running", status.open, status.running)),
        ("kept runs", status.runs.to_string()),
        ("dead letters", status.dead.to_string()),
        (
            "in quarantine",
            if status.quarantined == 0 { String::new() } else { status.quarantined.to_string() },
        ),
        ("changes", changes_text(status)),
    ]);
    for file in &status.files {
        let read = file
            .read
            .as_ref()
            .map_or_else(|| "never read".to_owned(), |read| format!("read {}", when(read, now)));
        let word = if file.problems.is_empty() { "good" } else { "HAS PROBLEMS" };
        text.push_str(&format!(
            "\n{}: {word}, {}, {read}\n{}",
            plain::line(&file.name),
            counted(file.jobs, "job"),
            file.problems
        ));
    }
    text
}

/// How fast clients may change things, and whether any was too fast.
fn changes_text(status: &StatusWire) -> String {
    let at_most = |rate: u32| if rate == 0 { "any number".to_owned() } else { rate.to_string() };
    let (total, connection) = (at_most(status.changes_max), at_most(status.connection_changes_max));
    format!("{total} a second at most, {connection} over a connection; {} refused", status.refused)
}

fn applied_text(applied: &AppliedWire) -> String {
    let mut text = applied.problems.clone();
    let lists = [
        ("+", "added", &applied.added),
        ("~", "changed", &applied.changed),
        ("-", "removed", &applied.removed),
        ("!", "refused: the name is taken", &applied.refused),
    ];
    for (mark, word, names) in lists {
        text.extend(names.iter().map(|name| format!("{mark} {}  ({word})\n", plain::line(name))));
    }
    text.push_str(&format!("{} unchanged\n", counted(applied.unchanged, "job")));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    #[test]
    fn jobs_are_a_table_with_relative_times() {
        let last = RunWire {
            state: "failed".into(),
            ended: Some("2026-11-21T09:00:00Z".into()),
            ..RunWire::default()
        };
        let job = JobWire {
            name: "backup".into(),
            state: "active".into(),
            next: Some("2026-11-21T14:10:00Z".into()),
            last: Some(last),
            action: "backup --all".into(),
            ..JobWire::default()
        };
        let text = text(&Response::Jobs { jobs: vec![job], after: None }, now());
        assert_eq!(
            text,
            "NAME    STATE   NEXT       LAST           ACTION\n\
             backup  active  in 2h 10m  failed 3h ago  backup --all\n"
        );
    }

    #[test]
    fn runs_say_why() {
        let run = |state: &str, outcome: Option<&str>, reason: &str, count| RunWire {
            run: "a@2026-11-21T09:00:00Z".into(),
            state: state.into(),
            outcome: outcome.map(str::to_owned),
            reason: reason.into(),
            count,
            ..RunWire::default()
        };
        let runs = vec![
            run("failed", Some("exit 3"), "", 1),
            run("missed", None, "", 7),
            run("cancelled", None, "somebody asked", 1),
            run("succeeded", Some("succeeded"), "", 1),
        ];
        let text = text(&Response::Runs { runs, cursor: None }, now());
        let whys: Vec<&str> = text.lines().map(|line| line.rsplit("  ").next().unwrap()).collect();
        assert_eq!(whys, ["WHY", "exit 3", "7 occurrences", "somebody asked", "-"]);
    }
}
