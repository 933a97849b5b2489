//! The end: everything that was asked for comes to its own end, and the history is read, with the server and
//! without.

use serde_json::Value;

use crate::clients::{Clients, Submission};
use crate::clock;
use crate::crash_server::{CrashServer, Running};
use crate::jobs::JOBS;

/// How long it may take until nothing is pending and nothing is open: far longer than any job here takes.
const MAX_SETTLE_MS: u64 = 120_000;

/// How often that is asked.
const INTERVAL_MS: u64 = 100;

/// Longer than any effect lasts, so that what killed servers left behind has ended.
const LEFT_BEHIND_MS: u64 = 1_500;

/// A line of `mainspring export --history`.
#[derive(Clone, Debug)]
pub(crate) struct Record(pub(crate) Value);

impl Record {
    pub(crate) fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    pub(crate) fn number(&self, field: &str) -> i64 {
        self.0[field].as_i64().unwrap_or_default()
    }

    pub(crate) fn time_ns(&self, field: &str) -> Option<i64> {
        let time: jiff::Timestamp = self.0[field].as_str()?.parse().ok()?;
        i64::try_from(time.as_nanosecond()).ok()
    }
}

/// Ends the scheduled jobs by their timetables, lets everything come to its end, and returns what was
/// submitted and what the history says.
pub(crate) fn settle(
    served: &CrashServer,
    clients: Clients,
) -> Result<(Vec<Submission>, Vec<Record>), String> {
    outlast(served)?;
    served.write_jobs(Some(clock::now_ns()))?;
    let mut running = served.start()?;
    answers(served, &mut running)?;
    resume(served)?;
    let submissions = clients.finish()?;
    let mut waited_ms = 0;
    while let Some(rest) = unsettled(served)? {
        if MAX_SETTLE_MS <= waited_ms {
            return Err(format!("after {MAX_SETTLE_MS} ms there are still {rest}"));
        }
        clock::sleep_ms(INTERVAL_MS);
        waited_ms += INTERVAL_MS;
    }
    clock::sleep_ms(LEFT_BEHIND_MS);
    let served_history = history(served)?;
    running.stop()?;
    let kept_history = history(served)?;
    if served_history != kept_history {
        return Err("without the server the history is another than with it".to_owned());
    }
    let records = kept_history.lines().map(|line| serde_json::from_str(line).map(Record));
    let records = records.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    Ok((submissions, records))
}

/// Jobs in which the server died too often rest until somebody resumes them. Whether it can be asked does not
/// matter.
pub(crate) fn resume(served: &CrashServer) -> Result<(), String> {
    JOBS.iter().try_for_each(|job| served.ask(&["resume", job.name]).map(|_| ()))
}

/// Lets a server run until every scheduled job has a record, as far as that comes. The rounds before may all
/// have been too short for a job's first occurrence, and the judge complains of a job without any.
fn outlast(served: &CrashServer) -> Result<(), String> {
    let mut running = served.start()?;
    answers(served, &mut running)?;
    resume(served)?;
    for _ in 0..MAX_SETTLE_MS / INTERVAL_MS {
        if JOBS
            .iter()
            .map(|job| has_record(served, job.name))
            .collect::<Result<Vec<_>, _>>()?
            .iter()
            .all(|has| *has)
        {
            break;
        }
        clock::sleep_ms(INTERVAL_MS);
    }
    running.kill()
}

fn has_record(served: &CrashServer, job: &str) -> Result<bool, String> {
    let output = served.ask(&["history", "-n", "1", "--json", job])?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    Ok(document["runs"]["runs"].as_array().is_some_and(|runs| !runs.is_empty()))
}

/// Waits until the server answers.
fn answers(served: &CrashServer, running: &mut Running) -> Result<(), String> {
    for _ in 0..MAX_SETTLE_MS / INTERVAL_MS {
        running.goes_on()?;
        if served.ask(&["status"])?.status.success() {
            return Ok(());
        }
        clock::sleep_ms(INTERVAL_MS);
    }
    Err(format!("the server does not answer after {MAX_SETTLE_MS} ms"))
}

/// What is not at its end yet.
fn unsettled(served: &CrashServer) -> Result<Option<String>, String> {
    let output = served.ask(&["status", "--json"])?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let (pending, open) = (&document["status"]["pending"], &document["status"]["open"]);
    let is_settled = pending == 0 && open == 0;
    Ok((!is_settled).then(|| format!("{pending} pending jobs and {open} open runs")))
}

fn history(served: &CrashServer) -> Result<String, String> {
    let output = served.ask(&["export", "--history"])?;
    if !output.status.success() {
        return Err(format!("export --history: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}
