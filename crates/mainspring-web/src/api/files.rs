//! The files of jobs: those that are served, and what is wrong with one that somebody has.
//!
//! Cost: a file that is checked is read once, on a thread beside that of the listener.
//!
//! Does not apply anything: that would let a page run any command as the server's user.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_file::crontab::Format;
use mainspring_file::loaded::Loaded;
use mainspring_file::problem::{Problem as Found, Severity};
use mainspring_file::source::Source;
use mainspring_server::protocol::{MAX_APPLIED_FILES, Request, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::call::{Call, Reply, ok};
use crate::catalogue::strange;
use crate::problem::{Code, Problem};
use crate::view::file;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checked {
    files: Vec<Sent>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    path: String,
    text: String,
}

/// The files that are served.
///
/// # Errors
///
/// What the loop says.
pub async fn list(call: Call) -> Reply {
    call.asked()?;
    let Response::Status(status) = call.app.pool.look(Request::Status).await? else {
        return Err(strange());
    };
    let items: Vec<Map<String, Value>> = status.files.iter().map(|wire| file(wire, &call.app.zone)).collect();
    ok(&json!({ "total": items.len(), "items": items, "next": null }))
}

/// What is wrong with files of jobs.
///
/// # Errors
///
/// 422 for more files than are checked at once.
pub async fn check(call: Call) -> Reply {
    let asked: Checked = call.document()?;
    if MAX_APPLIED_FILES < asked.files.len() {
        return Err(Problem::new(Code::Invalid, format!("at most {MAX_APPLIED_FILES} files at once")));
    }
    let (zone, now) = (call.app.zone.clone(), call.now.wall);
    let check = move || asked.files.into_iter().map(|sent| checked(sent, &zone, now)).collect::<Vec<Value>>();
    let files = call.app.computations.run(&call.who()?.identity, check).await?;
    ok(&json!({ "files": files }))
}

/// One file: its problems, and the jobs that it defines.
fn checked(Sent { path, text }: Sent, zone: &TimeZone, now: Timestamp) -> Value {
    let source = Source::new(path.clone(), text);
    // A crontab becomes TOML here.
    let read = Loaded::parse(&source, Format::User, zone);
    let faults: Vec<Value> = read.problems.iter().map(fault).collect();
    let sentence = |job: &mainspring_job::Job| {
        let triggers = job.timetable.triggers().iter();
        let sentences = triggers.filter_map(|trigger| Some(trigger.schedule()?.explain(now).sentence));
        sentences.collect::<Vec<_>>().join(" ")
    };
    let document = |job: &mainspring_job::Job| json!({ "name": job.name.as_str(), "sentence": sentence(job), "definition": job.text });
    let jobs: Vec<Value> = read.jobs.iter().map(|placed| document(&placed.job)).collect();
    json!({ "path": path, "faults": faults, "jobs": jobs })
}

/// A problem with its place.
pub(super) fn fault(found: &Found) -> Value {
    let excerpt = String::from_utf8_lossy(&found.line);
    let column = found.column();
    let width = excerpt.get(found.fault.span.clone()).map_or(1, |marked| marked.chars().count().max(1));
    json!({
        "line": found.line_number, "column": column, "end_column": column + width, "field": null,
        "severity": if found.severity == Severity::Warning { "warning" } else { "problem" },
        "message": found.fault.message, "hint": found.fault.hint, "excerpt": excerpt
    })
}
