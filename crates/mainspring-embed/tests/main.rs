//! Jobs inside a program: a folder, a simulated month, handlers that misbehave, a program that is killed.
//!
//! No test sleeps or measures: each waits for what it is about, with a bound that only a hang reaches.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod batch;
mod folder;
mod handlers;
#[cfg(all(feature = "tower-03", feature = "tracing"))]
mod layers;
mod limits;
mod month;
mod outbox;
#[cfg(all(feature = "page", unix))]
mod page;
#[cfg(all(feature = "page", unix))]
mod progress;
mod rules;
#[path = "../../mainspring-host/src/tests/scratch.rs"]
mod scratch;
mod typed;

use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use mainspring_embed::mainspring_job::Run as Record;
use mainspring_embed::{Jobs, RunState, SubmittedJob};

/// What only a hang reaches.
const LONG: Duration = Duration::from_secs(60);

/// A handler that has no error to tell.
type Done = Result<(), String>;

/// An empty folder for a test.
fn folder(name: &str) -> PathBuf {
    scratch::path(&format!("embed-{name}"))
}

/// Waits until the run of a submission is over, as its handler's test hears by a channel or not at all.
fn ended(jobs: &Jobs, submitted: &SubmittedJob) -> Record {
    wait_until(submitted.job(), jobs, |record| !record.state.is_open())
}

/// Waits until the latest run of a name is as it should be.
fn wait_until(job: &str, jobs: &Jobs, is_so: impl Fn(&Record) -> bool) -> Record {
    let (mut tries, wait) = (0, Duration::from_millis(2));
    let (_keep, never) = std::sync::mpsc::channel::<()>();
    loop {
        let found = jobs.runs_of(job, 1).unwrap().pop();
        if let Some(record) = found.filter(&is_so) {
            return record;
        }
        tries += 1;
        assert!(wait * tries < LONG, "{:?}", jobs.runs(10));
        let _ = never.recv_timeout(wait);
    }
}

fn heard<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(LONG).unwrap()
}

fn is_running(record: &Record) -> bool {
    record.state == RunState::Running
}
