//! How late runs start with 10,000 jobs a minute due.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::clock;
use crate::server::{Connection, Server};

const COUNT: usize = 10_000;
const SPAN_MS: usize = 60_000;

/// From the first submission to the first due time.
const LEAD: SignedDuration = SignedDuration::from_secs(3);

pub(crate) fn measure(program: &Path) -> Result<(), String> {
    let server = Server::fresh(program, "late")?;
    let mut connection = server.connect()?;
    let first = clock::now().saturating_add(LEAD).map_err(|error| error.to_string())?;
    let due = |index: usize| {
        let offset = SignedDuration::from_millis(i64::try_from(index * SPAN_MS / COUNT).unwrap_or(0));
        first.saturating_add(offset).unwrap_or(first).to_string()
    };
    for start in (0..COUNT).step_by(1_000) {
        connection.submit(1_000, |index| due(start + index))?;
    }
    if first <= clock::now() {
        return Err("the submissions took longer than the lead".to_owned());
    }
    clock::sleep_ms(SPAN_MS as u64 + 4_000);
    let status = connection.status()?;
    if status["pending"] != 0 || status["open"] != 0 {
        return Err(format!("not all jobs have run: {status}"));
    }
    let mut late_us = lateness(&mut connection)?;
    late_us.sort_unstable();
    if late_us.len() != COUNT || late_us[0] < 0 {
        return Err(format!("{} runs, the earliest {} us after its time", late_us.len(), late_us[0]));
    }
    let at =
        |percent: usize| late_us[(late_us.len() * percent / 100).min(late_us.len() - 1)] as f64 / 1_000.0;
    println!(
        "| lateness of the start record, {COUNT} jobs in a minute | p50 {:.2} ms, p99 {:.2} ms, most {:.2} ms |",
        at(50),
        at(99),
        at(100)
    );
    server.stop()
}

/// Due to started, of every run, in microseconds. Each must have succeeded.
fn lateness(connection: &mut Connection) -> Result<Vec<i64>, String> {
    let mut late_us = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let request = serde_json::json!({
            "id": 1, "command": "history", "job": null, "states": [], "limit": 1_000, "cursor": cursor
        });
        connection.send(&format!("{request}\n"))?;
        let answer: Value = serde_json::from_str(&connection.answer()?).map_err(|error| error.to_string())?;
        let runs = answer["runs"]["runs"].as_array().ok_or_else(|| format!("no runs in {answer}"))?;
        for run in runs {
            let time = |field: &str| -> Option<Timestamp> { run[field].as_str()?.parse().ok() };
            let (Some(due), Some(started), "succeeded") =
                (time("nominal"), time("started"), run["state"].as_str().unwrap_or_default())
            else {
                return Err(format!("a run did not succeed: {run}"));
            };
            late_us.push(started.as_microsecond() - due.as_microsecond());
        }
        cursor = answer["runs"]["cursor"].clone();
        if cursor.is_null() {
            return Ok(late_us);
        }
    }
}
