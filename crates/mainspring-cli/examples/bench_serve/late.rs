//! Start latency of processes with 10,000 jobs a minute due, and of those that a sleeping thread spawns.
//!
//! A process notes how late it is itself, with the first thing that it does: the start record of a one-shot
//! job is on disk before its time, and says nothing about that.

use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::clock;
use crate::marks::{self, MARK, percentile};
use crate::server::{Connection, Server};

const COUNT: usize = 10_000;
const SPAN_MS: usize = 60_000;

/// From the first submission to the first due time.
const LEAD: SignedDuration = SignedDuration::from_secs(3);

pub(crate) fn measure(program: &Path) -> Result<(), String> {
    let server = Server::fresh(program, "late")?;
    let folder = std::env::temp_dir().join(format!("mainspring-late-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let file = folder.join("marks");
    let run = [&own.to_string_lossy(), MARK, &file.to_string_lossy()];
    let mut connection = server.connect()?;
    let first = clock::now().saturating_add(LEAD).map_err(|error| error.to_string())?;
    let due = |index: usize| {
        let offset = SignedDuration::from_millis(i64::try_from(index * SPAN_MS / COUNT).unwrap_or(0));
        first.saturating_add(offset).unwrap_or(first).to_string()
    };
    for start in (0..COUNT).step_by(1_000) {
        connection.submit_running(&run, 1_000, |index| due(start + index))?;
    }
    if first <= clock::now() {
        return Err("the submissions took longer than the lead".to_owned());
    }
    clock::sleep_ms(SPAN_MS as u64 + 4_000);
    let status = connection.status()?;
    if status["pending"] != 0 || status["open"] != 0 {
        return Err(format!("not all jobs have run: {status}"));
    }
    all_succeeded(&mut connection)?;
    print("a process of the server", &marks::read(&file, COUNT));
    server.stop()?;
    let over = Duration::from_millis(SPAN_MS as u64);
    print("one that a sleeping thread spawns", &marks::floor(&folder.join("floor"), COUNT, over));
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())
}

fn print(what: &str, late_us: &[i64]) {
    let [half, most, last] = [50, 99, 100].map(|percent| percentile(late_us, percent) as f64 / 1_000.0);
    println!(
        "| due to the first line of {what}, {COUNT} in a minute | p50 {half:.2} ms, p99 {most:.2} ms, most {last:.2} ms |"
    );
}

/// Each run must have succeeded, and none may have started before its time by its record.
fn all_succeeded(connection: &mut Connection) -> Result<(), String> {
    let mut count = 0;
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
            if started < due {
                return Err(format!("a run started early: {run}"));
            }
            count += 1;
        }
        cursor = answer["runs"]["cursor"].clone();
        if cursor.is_null() {
            return if count == COUNT { Ok(()) } else { Err(format!("{count} runs of {COUNT}")) };
        }
    }
}
