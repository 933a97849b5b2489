//! Times the answers to read requests on 10,000 jobs and their runs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::clock;
use crate::server::{Connection, Server};

/// As many jobs as a file may have.
pub(crate) const JOBS: usize = 10_000;

/// Open runs of each: one runs, and all others wait for it.
const RUNS_EACH: usize = 10;

/// How many lists of all jobs are measured; the middle one and the longest are told.
const LISTS: usize = 11;

/// How many requests of a kind are measured; the middle one is told.
const TIMES: usize = 101;

/// How many requests are on their way at once.
const BATCH: usize = 1_000;

pub(crate) fn measure(program: &std::path::Path) -> Result<(), String> {
    let server = Server::fresh(program, "look")?;
    let mut connection = server.connect()?;
    apply(&mut connection)?;
    let names: Vec<String> = (0..JOBS * RUNS_EACH).map(|index| format!("j{:05}", index % JOBS)).collect();
    for names in names.chunks(BATCH) {
        let requests: String = names
            .iter()
            .map(|name| json!({"id": 1, "command": "run", "job": name, "wait": false}).to_string() + "\n")
            .collect();
        connection.send(&requests)?;
        for _ in names {
            let line = connection.answer()?;
            if !line.contains("\"planned\"") {
                return Err(format!("a run was not planned: {line}"));
            }
        }
    }
    let open = connection.status()?["open"].as_u64();
    if open != Some((JOBS * RUNS_EACH) as u64) {
        return Err(format!("{open:?} runs are open"));
    }
    let status = middle(|| ask(&mut connection, &json!({"id": 1, "command": "status"})))?;
    let show = middle(|| ask(&mut connection, &json!({"id": 1, "command": "show", "job": "j05000"})))?;
    let history = json!({"id": 1, "command": "history", "job": "j05000", "states": [], "limit": 20});
    let history = middle(|| ask(&mut connection, &history))?;
    let lists = (0..LISTS).map(|_| list(&mut connection)).collect::<Result<Vec<_>, _>>()?;
    let pages = lists[0].0;
    let mut lists: Vec<Duration> = lists.into_iter().map(|(_, took)| took).collect();
    lists.sort_unstable();
    let (middle_list, longest_list) = (lists[LISTS / 2], lists[LISTS - 1]);
    let of = format!("{JOBS} jobs, {} open runs", JOBS * RUNS_EACH);
    println!("| `status`, {of} | {:.2} ms |", ms(status));
    println!("| `show` of one job, {of} | {:.2} ms |", ms(show));
    println!("| `history` of one job, 20 rows, {of} | {:.2} ms |", ms(history));
    println!("| `list`, all {pages} pages, {of} | {:.1} ms |", ms(middle_list));
    println!("| the same, the longest of {LISTS} | {:.1} ms |", ms(longest_list));
    println!("| `list`, a page of 250 jobs, {of} | {:.2} ms |", ms(middle_list) / pages as f64);
    server.stop()
}

/// Defines the jobs, which share one place.
pub(crate) fn apply(connection: &mut Connection) -> Result<(), String> {
    let job = |index: usize| {
        format!(
            "[jobs.j{index:05}]\nevery = '1000h'\ncwd = '/'\nrun = ['sleep', '100000']\ngroup = 'one'\noverlap = 'queue-all'\n"
        )
    };
    let text: String =
        std::iter::once("[groups.one]\nlimit = 1\n".to_owned()).chain((0..JOBS).map(job)).collect();
    let files = json!([{"name": "jobs.toml", "text": text, "system": false}]);
    let request = json!({"id": 1, "command": "apply", "files": files, "prune": false, "preview": false});
    let (line, _) = ask(connection, &request)?;
    if line.contains("\"applied\"") { Ok(()) } else { Err(format!("the jobs were not applied: {line:.300}")) }
}

fn ask(connection: &mut Connection, request: &Value) -> Result<(String, Duration), String> {
    let text = format!("{request}\n");
    let (answer, took) = clock::timed(|| {
        connection.send(&text)?;
        connection.answer()
    });
    let answer = answer?;
    if answer.contains("\"error\"") { Err(answer) } else { Ok((answer, took)) }
}

fn middle(mut ask: impl FnMut() -> Result<(String, Duration), String>) -> Result<Duration, String> {
    let mut times: Vec<Duration> =
        (0..TIMES).map(|_| ask().map(|(_, took)| took)).collect::<Result<_, _>>()?;
    times.sort_unstable();
    Ok(times[TIMES / 2])
}

/// All pages of a list: how many, and how long the server took for them together.
fn list(connection: &mut Connection) -> Result<(usize, Duration), String> {
    let (mut pages, mut whole, mut count, mut after) = (0, Duration::ZERO, 0, Value::Null);
    loop {
        let (answer, took) = ask(connection, &json!({"id": 1, "command": "list", "after": after}))?;
        let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        let jobs = &answer["jobs"];
        count += jobs["jobs"].as_array().map_or(0, Vec::len);
        (pages, whole, after) = (pages + 1, whole + took, jobs["after"].clone());
        if after.is_null() {
            break;
        }
    }
    if count == JOBS { Ok((pages, whole)) } else { Err(format!("{count} jobs are listed")) }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
