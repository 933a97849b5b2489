//! Asking the server, and showing its answer.
//!
//! Cost: one connection.
//!
//! Does not decide anything: the server does.

use std::sync::Once;

use jiff::Timestamp;

use super::cluster_text::{planner_text, servers_text};
use super::duplicate_text::duplicate_text;
use super::job_text::{found_text, job_text, once_text, with_progress};
use super::value_text::{
    View, after, near, outcome_text, pairs, past, terms_text, took, when, when_past, why,
};
use super::{print, print_json, print_painted};
use crate::cli::serve::AskArgs;
use crate::client::{Address, Client};
use crate::table::{Column, table};
use mainspring_exec::clock::Moment;
use mainspring_file::plain;
use mainspring_host::directory::DirectoryError;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::{counted, note};
use mainspring_server::protocol::{
    AppliedWire, AuditWire, JobWire, LineWire, OnceWire, Request, Response, RunWire, StatusWire,
};
use mainspring_server::server::offline::OfflineStore;

/// Asks once, and shows the answer as the arguments say.
pub(super) fn ask(args: &AskArgs, request: Request) -> Result<Exit, Error> {
    let response = Client::connect(&args.server.address())?.ask(request)?;
    show(args, &response)
}

/// Who answers a request that only looks: the server, or the store itself if no server has it.
pub(super) enum QuerySource {
    Server(Client),
    OfflineStore(Box<OfflineStore>),
}

impl QuerySource {
    pub(super) fn open(address: &Address) -> Result<QuerySource, Error> {
        let place = match address {
            Address::Here(place) => place,
            Address::There(_) => return Client::connect(address).map(QuerySource::Server),
        };
        match Client::connect(address) {
            Ok(client) => Ok(QuerySource::Server(client)),
            Err(unreachable) => match OfflineStore::open(place, Moment::now().wall) {
                Ok(Some(alone)) => {
                    static SAID: Once = Once::new();
                    let place = plain::line(&place.directory().to_string_lossy()).into_owned();
                    let text = "this is what its store holds, and nothing starts";
                    SAID.call_once(|| note(&format!("no server runs for {place}: {text}")));
                    Ok(QuerySource::OfflineStore(Box::new(alone)))
                }
                Ok(None) | Err(Error::Directory(DirectoryError::Taken { .. })) => Err(unreachable),
                Err(error) => Err(error),
            },
        }
    }

    /// Releases a store, so that a reader of what is printed that takes its time keeps no server out. Returns
    /// a server, which may be asked again.
    pub(super) fn release(self) -> Option<QuerySource> {
        Some(self).filter(|source| matches!(source, QuerySource::Server(_)))
    }

    pub(super) fn ask(&mut self, request: Request) -> Result<Response, Error> {
        match self {
            QuerySource::Server(client) => client.ask(request),
            QuerySource::OfflineStore(alone) => alone.ask(&request),
        }
    }
}

/// Shows an answer.
pub(super) fn show(args: &AskArgs, response: &Response) -> Result<Exit, Error> {
    if args.json {
        print_json(response)?;
        return Ok(Exit::Ok);
    }
    let text = text(response, &View::of(args));
    match response {
        // The cells of a table are plain already, and have colours.
        Response::Runs { .. } | Response::Audit { .. } => print_painted(&text)?,
        _ => print(&text)?,
    }
    Ok(Exit::Ok)
}

/// An answer for people.
pub(super) fn text(response: &Response, view: &View) -> String {
    match response {
        // What `doctor` makes of health is its own.
        // No command shows the others.
        Response::Done(_)
        | Response::Health(_)
        | Response::Recounted(_)
        | Response::LoginCode(_)
        | Response::Metrics(_)
        | Response::Changes(_) => String::new(),
        Response::Error(error) => format!("{}\n", error.message),
        Response::Status(status) => status_text(status, view),
        Response::Jobs { jobs, .. } => jobs_text(jobs, &[], view),
        Response::Pending { pending, .. } => jobs_text(&[], pending, view),
        Response::Job(job) => job_text(job, view),
        Response::Once(once) => once_text(once, view),
        Response::Found(found) => found_text(found, view),
        Response::Runs { runs, cursor } => runs_text(runs, view) + &rest_text(cursor.as_ref(), runs.len()),
        Response::Audit { rows, before } => audit_text(rows, view) + &rest_text(before.as_ref(), rows.len()),
        Response::Line(line) => line_text(line),
        Response::Planned { run } => format!("{run}\n"),
        Response::Ended(run) => format!("{} {}\n", run.run, plain::line(&outcome_text(run))),
        Response::Submitted { name, due } => {
            format!("{} is due {}\n", plain::line(name), when(*due, view))
        }
        Response::Duplicate { name, due, state, why } => {
            let due = due.map(|due| when(due, view));
            duplicate_text(name.as_deref(), state.as_deref(), due, why.as_deref())
        }
        Response::Preview { times } => times_text(times, view),
        Response::Rewinding { times, count, planned } => {
            let times = times_text(times, view);
            let all = counted(*count, "time");
            let planned = when(*planned, view);
            format!("{times}these first, of {all} up to {planned}, as far as they have no record\n")
        }
        Response::Rewound { from } => {
            format!("planned from now on, and no longer from {} on\n", when(*from, view))
        }
        Response::Backfilled { count, series } => {
            format!("{} of backfill {series} are on disk\n", counted(*count, "run"))
        }
        Response::Applied(applied) => applied_text(applied),
        Response::Export { texts, .. } => texts.join("\n"),
    }
}

fn times_text(times: &[Timestamp], view: &View) -> String {
    times.iter().map(|time| format!("{}\n", view.absolute(*time))).collect()
}

/// A line of output, of standard error or about the output with a mark.
pub(super) fn line_text(line: &LineWire) -> String {
    let mark = match line.stream.as_str() {
        "stderr" => "! ",
        "note" => "~ ",
        _ => "",
    };
    format!("{mark}{}\n", line.text)
}

/// Jobs, and below them one-shot jobs that wait.
pub(super) fn jobs_text(jobs: &[JobWire], pending: &[OnceWire], view: &View) -> String {
    if jobs.is_empty() && pending.is_empty() {
        return "there are no jobs\n".to_owned();
    }
    let row = |job: &JobWire| {
        let last = job.last.as_ref().map_or_else(
            || "-".to_owned(),
            |run| format!("{} {}", run.state, past(run.ended.or(Some(run.due)), view.now)),
        );
        let server = job.last.as_ref().map(RunWire::server_text).unwrap_or_default();
        let next = after(job).unwrap_or_else(|| near(job.next, view.now));
        vec![job.name.clone(), with_progress(&job.state, job), next, last, server, job.action.clone()]
    };
    let once = |once: &OnceWire| {
        let due = near(Some(once.due), view.now);
        let (last, server) = ("-".to_owned(), String::new());
        vec![once.name.clone(), "pending".to_owned(), due, last, server, once.action.clone()]
    };
    let rows: Vec<Vec<String>> = jobs.iter().map(row).chain(pending.iter().map(once)).collect();
    let columns = [
        Column::whole("NAME"),
        Column::cut("STATE").of_states(),
        Column::whole("NEXT"),
        Column::spare("LAST").of_states(),
        Column::spare("SERVER").optional(),
        Column::cut("ACTION"),
    ];
    table(&columns, &rows, view.screen)
}

fn runs_text(runs: &[RunWire], view: &View) -> String {
    if runs.is_empty() {
        return "there are no runs\n".to_owned();
    }
    let row = |run: &RunWire| {
        let attempt = if run.attempt == 0 { "-".to_owned() } else { run.attempt.to_string() };
        let (name, state, started) =
            (run.run.to_string(), run.state.to_string(), past(run.started, view.now));
        let (server, action) = (run.server_text(), run.action.clone().unwrap_or_default());
        vec![name, state, started, took(run, None), attempt, why(run), server, action]
    };
    let rows: Vec<Vec<String>> = runs.iter().map(row).collect();
    let columns = [
        Column::whole("RUN"),
        Column::whole("STATE").of_states(),
        Column::spare("STARTED"),
        Column::spare("TOOK"),
        Column::spare("TRY"),
        Column::cut("WHY"),
        Column::spare("SERVER").optional(),
        Column::cut("ACTION").optional(),
    ];
    table(&columns, &rows, view.screen)
}

/// What stands below a list of so many rows that continues after this one.
fn rest_text<T>(last: Option<&T>, count: usize) -> String {
    last.map(|_| format!("there are more: -n {}\n", count.saturating_mul(10))).unwrap_or_default()
}

fn audit_text(rows: &[AuditWire], view: &View) -> String {
    if rows.is_empty() {
        return "nothing was asked\n".to_owned();
    }
    let row = |row: &AuditWire| {
        let of = if row.target.is_empty() { "-".to_owned() } else { row.target.clone() };
        vec![past(Some(row.at), view.now), row.actor.clone(), row.action.clone(), of, row.note.clone()]
    };
    let columns = [
        Column::whole("WHEN"),
        Column::whole("WHO"),
        Column::whole("WHAT"),
        Column::whole("OF"),
        Column::cut("NOTE"),
    ];
    table(&columns, &rows.iter().map(row).collect::<Vec<_>>(), view.screen)
}

fn status_text(status: &StatusWire, view: &View) -> String {
    let terms = status.pause_terms.as_ref().map(|terms| terms_text(terms, view));
    let terms = terms.filter(|terms| !terms.is_empty()).into_iter();
    let on = "`mainspring resume --all` ends that".to_owned();
    let paused = ["everything".to_owned()].into_iter().chain(terms).chain([on]).collect::<Vec<_>>();
    // Nothing is, while everything is paused.
    let next_due = match (status.paused, status.next) {
        (true, _) => String::new(),
        (false, next) => next.map_or_else(|| "nothing".to_owned(), |next| when(next, view)),
    };
    let quarantined = if status.quarantined == 0 { String::new() } else { status.quarantined.to_string() };
    let mut text = pairs(&[
        ("server", format!("mainspring {}, process {}, {}", status.version, status.pid, status.state)),
        (
            "data",
            if status.is_kept { status.data.clone() } else { format!("{}: nothing is kept", status.data) },
        ),
        ("started", when_past(status.started, view)),
        ("TROUBLE", status.troubles.join("; ")),
        ("paused", if status.paused { paused.join(", ") } else { String::new() }),
        ("planner", status.cluster.as_ref().map(planner_text).unwrap_or_default()),
        ("next due", next_due),
        ("jobs", status.jobs.to_string()),
        ("pending", status.pending.to_string()),
        ("open runs", format!("{}, {} of them running", status.open, status.running)),
        ("kept runs", status.runs.to_string()),
        ("dead letters", status.dead.to_string()),
        ("in quarantine", quarantined),
        ("changes", changes_text(status)),
    ]);
    text.extend(status.cluster.as_ref().map(servers_text));
    for file in &status.files {
        let read = file
            .read
            .map_or_else(|| "never read".to_owned(), |read| format!("read {}", when_past(read, view)));
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
    use crate::terminal::Screen;
    use jiff::tz::TimeZone;
    use mainspring_job::{Cause, Run, RunKey, RunState};
    use mainspring_server::protocol::ProgressWire;

    fn view() -> View {
        View {
            now: "2026-11-21T12:00:00Z".parse().unwrap(),
            zone: TimeZone::get("Europe/Berlin").unwrap(),
            screen: Screen::PLAIN,
        }
    }

    fn run(state: RunState) -> RunWire {
        let key: RunKey = "a@2026-11-21T09:00:00Z".parse().unwrap();
        let due = key.nominal;
        RunWire::from(&Run::new(key, Cause::Trigger, state, due, due))
    }

    #[test]
    fn times_are_those_of_the_zone() {
        let response =
            Response::Submitted { name: "tea".into(), due: "2026-11-21T16:30:00Z".parse().unwrap() };
        assert_eq!(text(&response, &view()), "tea is due in 4h 30m (2026-11-21T17:30:00+01:00)\n");
        let utc = View { zone: TimeZone::UTC, ..view() };
        assert_eq!(
            utc.absolute("2026-11-21T16:30:00.006860122Z".parse().unwrap()),
            "2026-11-21T16:30:00.006Z"
        );
        assert_eq!(text(&response, &utc), "tea is due in 4h 30m (2026-11-21T16:30:00Z)\n");
    }

    #[test]
    fn how_far_a_run_is_stands_beside_its_job_and_in_its_row() {
        let progress = Some(ProgressWire::new(42, 100));
        let (state, running) = ("active".to_owned(), 1);
        let job = JobWire { name: "copy".into(), state, running, progress, ..JobWire::default() };
        let going_on = RunWire { progress, ..run(RunState::Running) };
        for (response, part) in [
            (Response::Jobs { jobs: vec![job.clone()], after: None }, "copy  active, 42 of 100  "),
            (Response::Job(Box::new(job)), "1, 42 of 100\n"),
            (Response::Runs { runs: vec![going_on], cursor: None }, "42 of 100\n"),
        ] {
            let text = text(&response, &view());
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn jobs_are_a_table_with_relative_times() {
        let last = RunWire { ended: "2026-11-21T09:00:00Z".parse().ok(), ..run(RunState::Failed) };
        let job = JobWire {
            name: "backup".into(),
            state: "active".into(),
            next: "2026-11-21T14:10:00Z".parse().ok(),
            last: Some(last),
            action: "backup --all".into(),
            ..JobWire::default()
        };
        let text = text(&Response::Jobs { jobs: vec![job], after: None }, &view());
        assert_eq!(
            text,
            "NAME    STATE   NEXT       LAST           ACTION\n\
             backup  active  in 2h 10m  failed 3h ago  backup --all\n"
        );
    }

    #[test]
    fn what_has_ended_is_not_to_come_though_the_clock_was_set_back() {
        let ended = "2026-11-21T15:00:00Z".parse().ok();
        let over = RunWire { started: ended, ended, ..run(RunState::Failed) };
        let job = JobWire { last: Some(over.clone()), next: ended, ..JobWire::default() };
        for response in [
            Response::Jobs { jobs: vec![job.clone()], after: None },
            Response::Job(Box::new(job)),
            Response::Runs { runs: vec![over], cursor: None },
        ] {
            let text = text(&response, &view());
            assert!(text.contains(" by a clock that was ahead"), "{text}");
            let is_next = !matches!(response, Response::Runs { .. });
            assert_eq!(text.matches("in 3h").count(), usize::from(is_next), "{text}");
        }
    }

    #[test]
    fn runs_say_why() {
        let run = |state, outcome: Option<&str>, reason: &str, count| RunWire {
            outcome: outcome.map(str::to_owned),
            reason: reason.into(),
            count,
            ..run(state)
        };
        let runs = vec![
            run(RunState::Failed, Some("exit 3"), "", 1),
            run(RunState::Missed, None, "", 7),
            run(RunState::Cancelled, None, "somebody asked", 1),
            run(RunState::Succeeded, Some("succeeded"), "", 1),
            run(RunState::SkippedPaused, None, "the job is paused", 303),
            run(RunState::Dead, Some("exit 3"), "none of its 2 attempts succeeded", 1),
        ];
        let text = text(&Response::Runs { runs, cursor: None }, &view());
        let whys: Vec<&str> = text.lines().map(|line| line.rsplit("  ").next().unwrap()).collect();
        assert_eq!(
            whys,
            [
                "WHY",
                "exit 3",
                "7 occurrences",
                "somebody asked",
                "-",
                "303 occurrences, the job is paused",
                "exit 3, none of its 2 attempts succeeded"
            ]
        );
    }
}
