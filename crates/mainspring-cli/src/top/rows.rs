//! The tables of the board: a line for each job and run.
//!
//! Cost: some strings for each row that is shown.
//!
//! Does not choose rows.

use jiff::Timestamp;
use mainspring_file::plain;
use mainspring_server::protocol::{JobWire, LineWire, RunWire};

use crate::commands::value_text::{near, past, took, why};
use crate::table::Column;
use crate::terminal::columns;

/// What each key does, a line each.
pub(super) const HELP: [&str; 14] = [
    "1 2 3 4   jobs, running, history, dead letters; Tab moves to the next",
    "j k       the row below and above; arrows, Page Up and Down, Home and End too",
    "Enter, l  what the run wrote, of a job the last one",
    "r         run the job now",
    "p         pause the job, or let it go on",
    "c         cancel the run",
    "t         run the dead letter again",
    "/         only names with these letters; Esc takes that away",
    "s         another order of jobs: trouble first, next first, by name",
    "Space     hold still, and go on",
    "Ctrl-L    draw everything again",
    "Ctrl-Z    stop, until `fg`",
    "q         back, and at last the end",
    "",
];

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
            |run| format!("{} {}", run.state, past(run.ended.or(run.started), now)),
        ),
        last.map_or_else(|| "-".to_owned(), |run| took(run, Some(now))),
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
    let (started, took) = (past(run.started, now), took(run, Some(now)));
    vec![run.run.to_string(), run.state.to_string(), started, took, why(run), run.server_text()]
}

pub(super) fn log_lines(lines: &[LineWire]) -> Vec<String> {
    let line = |line: &LineWire| {
        let mark = if line.stream == "stdout" { "  " } else { "! " };
        format!("{mark}{}", plain::line(&line.text))
    };
    lines.iter().map(line).collect()
}

/// The beginning of a text that fits.
pub(super) fn cut(text: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += columns(c.encode_utf8(&mut [0; 4]));
        used <= width
    };
    text.chars().take_while(fits).collect()
}
