//! The tables of the board: a line for each job and run.
//!
//! Cost: some strings for each row that is shown.
//!
//! Does not choose rows.

use jiff::Timestamp;
use mainspring_file::plain;
use mainspring_server::protocol::{JobWire, LineWire, RunWire};
use mainspring_server::relative::{length, relative};

use crate::table::Column;

fn near(time: Option<Timestamp>, now: Timestamp) -> String {
    time.map_or_else(|| "-".to_owned(), |time| relative(time, now))
}

/// How long a run has taken, or takes so far.
fn took(run: &RunWire, now: Timestamp) -> String {
    let Some(started) = run.started else { return "-".to_owned() };
    let ms = run.ended.unwrap_or(now).as_millisecond() - started.as_millisecond();
    length(u64::try_from(ms).unwrap_or(0))
}

pub(super) fn job_columns() -> Vec<Column> {
    vec![
        Column::whole("NAME"),
        Column::whole("STATE").of_states(),
        Column::whole("NEXT"),
        Column::spare("LAST").of_states(),
        Column::spare("TOOK"),
        Column::spare("SERVER").optional(),
        Column::cut("ACTION"),
    ]
}

pub(super) fn job_row(job: &JobWire, now: Timestamp) -> Vec<String> {
    let last = job.last.as_ref();
    let state = match (job.running, job.queued) {
        (0, 0) => job.state.clone(),
        (0, queued) => format!("queued {queued}"),
        (1, _) => {
            job.progress.map_or_else(|| "running".to_owned(), |progress| format!("running, {progress}"))
        }
        (running, _) => format!("running {running}"),
    };
    vec![
        job.name.clone(),
        state,
        near(job.next, now),
        last.map_or_else(
            || "-".to_owned(),
            |run| format!("{} {}", run.state, near(run.ended.or(run.started), now)),
        ),
        last.map_or_else(|| "-".to_owned(), |run| took(run, now)),
        last.map(RunWire::server_text).unwrap_or_default(),
        job.action.clone(),
    ]
}

pub(super) fn run_columns() -> Vec<Column> {
    vec![
        Column::whole("RUN"),
        Column::whole("STATE").of_states(),
        Column::spare("STARTED"),
        Column::spare("TOOK"),
        Column::cut("WHY"),
        Column::spare("SERVER").optional(),
    ]
}

pub(super) fn run_row(run: &RunWire, now: Timestamp) -> Vec<String> {
    let why =
        if run.reason.is_empty() { run.outcome.clone().unwrap_or_default() } else { run.reason.clone() };
    let why = run.progress.map_or(why, |progress| progress.to_string());
    let (started, took) = (near(run.started, now), took(run, now));
    vec![run.run.to_string(), run.state.to_string(), started, took, why, run.server_text()]
}

pub(super) fn log_lines(lines: &[LineWire]) -> Vec<String> {
    let line = |line: &LineWire| {
        let mark = if line.stream == "stdout" { "  " } else { "! " };
        format!("{mark}{}", plain::line(&line.text))
    };
    lines.iter().map(line).collect()
}
