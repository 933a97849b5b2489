//! The files of jobs: those that are served, and what is wrong with one that somebody has.
//!
//! Cost: a file that is checked is read once, on a thread beside that of the listener.
//!
//! Does not apply anything: that would let a page run any command as the server's user.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_file::budget::MAX_MADE_BYTES;
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
/// 422 for more files than are checked at once, and where the answer would be longer than what the jobs of
/// one file may take.
pub async fn check(call: Call) -> Reply {
    let asked: Checked = call.document()?;
    if MAX_APPLIED_FILES < asked.files.len() {
        return Err(Problem::new(Code::Invalid, format!("at most {MAX_APPLIED_FILES} files at once")));
    }
    let (zone, now) = (call.app.zone.clone(), call.now.wall);
    let check = move || all_checked(asked.files, &zone, now);
    let files = call.app.computations.run(&call.who()?.identity, check).await??;
    ok(&json!({ "files": files }))
}

/// All files. What is answered of them together is bounded as the jobs of one file are.
fn all_checked(files: Vec<Sent>, zone: &TimeZone, now: Timestamp) -> Result<Vec<Value>, Problem> {
    let mut left = MAX_MADE_BYTES;
    let within = |sent| {
        let (answer, answer_bytes) = checked(sent, zone, now);
        left = left.checked_sub(answer_bytes).ok_or_else(|| {
            let most = MAX_MADE_BYTES >> 20;
            Problem::new(
                Code::Invalid,
                format!("the answer is more than {most} MiB: check fewer files at once"),
            )
        })?;
        Ok(answer)
    };
    files.into_iter().map(within).collect()
}

/// What a job or a problem takes in an answer beside its text: a map, its message or its sentence.
const BESIDE_TEXT_BYTES: usize = 1 << 10;

/// One file: its problems, and the jobs that it defines. With it roughly how many bytes they take.
fn checked(Sent { path, text }: Sent, zone: &TimeZone, now: Timestamp) -> (Value, usize) {
    let source = Source::new(path.clone(), text);
    // A crontab becomes TOML here.
    let read = Loaded::parse(&source, Format::User, zone);
    let answer_bytes = read.problems.iter().map(|problem| problem.line.len()).sum::<usize>()
        + read.jobs.iter().map(|placed| placed.job.text.len()).sum::<usize>()
        + BESIDE_TEXT_BYTES * (read.problems.len() + read.jobs.len());
    let faults: Vec<Value> = read.problems.iter().map(fault).collect();
    let sentence = |job: &mainspring_job::Job| {
        let triggers = job.timetable.triggers().iter();
        let sentences = triggers.filter_map(|trigger| Some(trigger.schedule()?.explain(now).sentence));
        sentences.collect::<Vec<_>>().join(" ")
    };
    let document = |job: &mainspring_job::Job| json!({ "name": job.name.as_str(), "sentence": sentence(job), "definition": job.text });
    let jobs: Vec<Value> = read.jobs.iter().map(|placed| document(&placed.job)).collect();
    (json!({ "path": path, "faults": faults, "jobs": jobs }), answer_bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_about_many_files_is_bounded_as_that_about_one_is() {
        let defaults = format!("[defaults]\nstdin = '{}'\n", "x".repeat(50_000));
        let jobs = (0..200).map(|index| format!("[jobs.j{index}]\nevery = '1m'\nshell = 'a'\n"));
        let text = defaults + &jobs.collect::<String>();
        let check = |count: usize| {
            let sent = |index| Sent { path: format!("{index}.toml"), text: text.clone() };
            all_checked((0..count).map(sent).collect(), &TimeZone::UTC, Timestamp::UNIX_EPOCH)
        };
        assert_eq!(check(2).map(|files| files.len()), Ok(2));
        assert_eq!(check(8).map_err(|problem| problem.code), Err(Code::Invalid));
    }
}
