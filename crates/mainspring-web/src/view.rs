//! The documents of the API: those of the command line, and beside their fields what a page needs.
//!
//! ```text
//! the documents of --json ─▶ the same fields, and codes, civil times, lengths, the last line
//! ```
//!
//! So the API gives what the command line gives, by being made of it. Civil times are computed here and
//! nowhere else.
//!
//! Cost: a document; for a run that has started also a read of the end of its output.
//!
//! Does not ask: it is given what was found.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_job::{Cause, RunKey, RunState};
use mainspring_server::protocol::{AuditWire, FileStateWire, JobState, JobWire, PauseTermsWire, RunWire};
use mainspring_server::server::output::{is_removed, path};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::catalogue::{CachedJob, Recent, between_ms};
use crate::tail::last_line;

/// How many of the last runs a list shows of each job.
const SQUARES: usize = 20;

/// A document as a map of its fields.
pub fn fields(document: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(document) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// An instant as people of a zone read it.
pub fn civil(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).to_string()
}

/// An instant with its civil time, and what a change of the clock does to it.
pub fn instant(at: Timestamp, zone: &TimeZone) -> Value {
    let mut moment = json!({ "at": at.to_string(), "civil": civil(at, zone) });
    let local = zone.to_datetime(at);
    let ambiguous = zone.to_ambiguous_timestamp(local);
    if ambiguous.is_ambiguous() {
        let is_first = ambiguous.earlier().is_ok_and(|first| first == at);
        let (code, text) = match is_first {
            true => ("overlap_first", "the clock shows this time twice: this is the first"),
            false => ("overlap_second", "the clock shows this time twice: this is the second"),
        };
        moment["remark"] = json!({ "code": code, "text": text });
    } else if let Some(before) = zone.preceding(at + jiff::SignedDuration::from_nanos(1)).next()
        && before.timestamp() == at
        && zone.to_offset(at - jiff::SignedDuration::from_secs(1)) < before.offset()
    {
        let text = "the clock is set forward here: a time that it leaves out is taken now";
        moment["remark"] = json!({ "code": "gap", "text": text });
    }
    moment
}

/// The name of a zone.
pub fn zone_name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or("UTC")
}

/// The civil times of those fields that have one, by their names.
pub fn civils(times: &[(&str, Option<Timestamp>)], zone: &TimeZone) -> Value {
    let of = |(name, at): &(&str, Option<Timestamp>)| Some(((*name).to_owned(), civil((*at)?, zone).into()));
    Value::Object(times.iter().filter_map(of).collect())
}

/// The code of a state of a job, as documents have it.
pub fn state_code(state: JobState) -> &'static str {
    match state {
        JobState::Active => "active",
        JobState::Paused => "paused",
        JobState::PausedAfterFailures => "paused_failures",
        JobState::PausedAfterCrashes => "paused_crashes",
        JobState::Quarantined => "quarantined",
        JobState::Done => "done",
    }
}

/// The zone of a job.
pub fn zone_of<'h>(app: &'h App, known: Option<&'h CachedJob>) -> &'h TimeZone {
    known.and_then(|known| known.plan.as_ref()).map_or(&app.zone, |plan| &plan.zone)
}

/// A run.
pub fn run(app: &App, wire: &RunWire, zone: &TimeZone, usual_ms: Option<u64>) -> Map<String, Value> {
    let mut document = fields(wire);
    let lateness_ms = between_ms(Some(wire.due), wire.started);
    let duration_ms = between_ms(wire.started, wire.ended);
    let times = [
        ("nominal", Some(wire.nominal)),
        ("due", Some(wire.due)),
        ("started", wire.started),
        ("ended", wire.ended),
        ("last", wire.last),
    ];
    let line = wire.started.and_then(|_| last_line(&output_path(app, wire)));
    let more = [
        ("series", json!(wire.run.series)),
        ("zone", json!(zone_name(zone))),
        ("lateness_ms", json!(lateness_ms)),
        ("duration_ms", json!(duration_ms)),
        ("usual_ms", json!(usual_ms.filter(|_| wire.state == RunState::Running))),
        ("last_line", json!(line)),
        ("civil", civils(&times, zone)),
    ];
    document.extend(more.map(|(name, value)| (name.to_owned(), value)));
    document
}

/// The address of a run, below the base.
pub fn address_of(RunKey { job, nominal, series }: &RunKey) -> String {
    format!("api/v1/runs/{job}/{nominal}/{series}")
}

/// Where the output of a run is.
pub fn output_path(app: &App, wire: &RunWire) -> std::path::PathBuf {
    path(&app.output, &wire.run, wire.cause == Cause::Once)
}

/// Whether what a run wrote is not kept any more.
pub fn is_output_removed(app: &App, wire: &RunWire) -> bool {
    is_removed(&app.output, &wire.run, wire.cause == Cause::Once)
}

/// Why a person should look at a job.
fn troubles(wire: &JobWire) -> Vec<Value> {
    let (since, run) = wire.last.as_ref().map_or((None, None), |run| (run.ended, Some(&run.run)));
    let trouble = |code: &str, text: String, hint: &str| json!({ "code": code, "text": text, "hint": hint, "since": since, "run": run });
    let mut found = match wire.state_code {
        JobState::PausedAfterFailures => {
            let text = format!("It failed {} times in a row, and is paused.", wire.failures);
            vec![trouble("paused_failures", text, "Look at the log, mend it, and resume it.")]
        }
        JobState::PausedAfterCrashes => {
            let text = "The server died while it ran, and it is paused.".to_owned();
            vec![trouble("paused_crashes", text, "Mend it, and resume it.")]
        }
        _ if 0 < wire.failures => {
            let text = match wire.failures {
                1 => "Its last run failed.".to_owned(),
                count => format!("Its last {count} runs failed."),
            };
            vec![trouble("failing", text, "Look at the log.")]
        }
        _ => Vec::new(),
    };
    if let Some(since) = &wire.silent_since {
        let hint = "Look whether it runs: its timetable, its pause, the ends of its last runs.";
        let text = "No run has succeeded for longer than its silent_after says.";
        found.push(json!({ "code": "silent", "text": text, "hint": hint, "since": since, "run": null }));
    }
    if wire.is_mismatched() {
        let text = match &wire.armed {
            None => "Its timetable names a next time, and the server will not look at it.".to_owned(),
            Some(armed) => {
                format!("Its timetable names a next time, and the server looks at it only at {armed}.")
            }
        };
        let hint = "This is a fault of the server: restart it, and report it.";
        found.push(json!({ "code": "mismatched", "text": text, "hint": hint, "since": null, "run": null }));
    }
    found
}

fn pause(wire: &JobWire, zone: &TimeZone) -> Value {
    let (reason_code, reason) = match wire.state_code {
        JobState::Paused => ("asked", "somebody paused it"),
        JobState::PausedAfterFailures => ("failures", "it failed too often in a row"),
        JobState::PausedAfterCrashes => ("crashes", "the server died in it"),
        _ => return Value::Null,
    };
    paused(reason_code, reason, wire.pause_terms.as_ref(), zone)
}

/// A pause. When it began and who asked for it stands in the audit: see [`add_actor`].
pub fn paused(reason_code: &str, reason: &str, terms: Option<&PauseTermsWire>, zone: &TimeZone) -> Value {
    let until = terms.and_then(|terms| terms.until);
    let note = terms.map(|terms| terms.note.clone()).filter(|note| !note.is_empty());
    json!({
        "reason_code": reason_code, "reason": reason, "note": note, "since": null, "until": until, "by": null,
        "civil": civils(&[("until", until)], zone)
    })
}

/// Adds to a pause which somebody asked for who that was, and when.
pub fn add_actor(pause: &mut Value, audit: &AuditWire, zone: &TimeZone) {
    if pause.is_object() {
        (pause["since"], pause["by"]) = (json!(audit.at), json!(audit.actor));
        pause["civil"]["since"] = civil(audit.at, zone).into();
    }
}

/// A job, as a list has it.
pub fn job(app: &App, known: &CachedJob, recent: &Recent, now: Timestamp) -> Map<String, Value> {
    let wire = &known.wire;
    let zone = zone_of(app, Some(known));
    let mut document = fields(wire);
    let squares: Vec<Value> = recent.runs.iter().take(SQUARES).rev().map(square).collect();
    let last = wire.last.as_ref().map(|last| Value::Object(run(app, last, zone, recent.median_ms)));
    let civil = civils(&[("next", wire.next), ("armed", wire.armed)], zone);
    let sentences = known.plan.as_ref().map_or(&[][..], |plan| plan.sentences(now));
    let more = [
        ("sentences", json!(sentences)),
        ("zone", json!(zone_name(zone))),
        ("labels", json!(wire.labels)),
        ("last", json!(last)),
        ("median_ms", json!(recent.median_ms)),
        ("p95_ms", json!(recent.p95_ms)),
        ("recent", json!(squares)),
        ("pause", pause(wire, zone)),
        ("troubles", json!(troubles(wire))),
        ("civil", civil),
    ];
    document.extend(more.map(|(name, value)| (name.to_owned(), value)));
    document
}

fn square(run: &RunWire) -> Value {
    let duration_ms = between_ms(run.started, run.ended);
    json!({ "run": run.run, "state": run.state, "at": run.nominal, "duration_ms": duration_ms })
}

/// A job with its definition.
pub fn detail(app: &App, known: &CachedJob, recent: &Recent, now: Timestamp) -> Map<String, Value> {
    let mut document = job(app, known, recent, now);
    document.insert("definition".to_owned(), json!(known.definition));
    let words: Vec<Value> = known.wire.policies.split_whitespace().map(policy).collect();
    document.insert("policy_words".to_owned(), json!(words));
    document
}

fn policy(text: &str) -> Value {
    let code = text.split('=').next().unwrap_or_default();
    json!({ "code": code, "text": text })
}

/// A file of jobs, with its problems.
pub fn file(wire: &FileStateWire, zone: &TimeZone) -> Map<String, Value> {
    let mut document = fields(wire);
    let (code, state) = match (wire.problems.is_empty(), &wire.read) {
        (true, Some(_)) => ("applied", "in force"),
        (false, Some(_)) => ("problems", "it has problems; the set before is in force, or the rest of it"),
        (_, None) => ("unreadable", "nothing of it is in force"),
    };
    let faults: Vec<Value> = wire.problems.lines().filter_map(|line| fault(&wire.name, line)).collect();
    let civil = civils(&[("read", wire.read)], zone);
    let more =
        [("state_code", json!(code)), ("state", json!(state)), ("faults", json!(faults)), ("civil", civil)];
    document.extend(more.map(|(name, value)| (name.to_owned(), value)));
    document
}

/// A problem out of the text that `check` prints: `NAME:LINE:COLUMN: MESSAGE`.
fn fault(name: &str, line: &str) -> Option<Value> {
    let rest = line.strip_prefix(name)?.strip_prefix(':')?;
    let mut parts = rest.splitn(3, ':');
    let place = (
        parts.next()?.trim().parse::<u64>().ok(),
        parts.next().and_then(|text| text.trim().parse::<u64>().ok()),
    );
    let (line, column, message) = match place {
        (Some(line), Some(column)) => (Some(line), Some(column), parts.next().unwrap_or_default()),
        _ => (None, None, rest),
    };
    let (severity, message) = match message.trim().strip_prefix("warning: ") {
        Some(message) => ("warning", message),
        None => ("problem", message.trim()),
    };
    Some(json!({
        "line": line, "column": column, "end_column": null, "field": null, "severity": severity, "message": message,
        "hint": null, "excerpt": null
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_a_file_has_its_place() {
        let found = fault("/etc/jobs.toml", "/etc/jobs.toml:3:8: there is no zone `X`").unwrap();
        assert_eq!((&found["line"], &found["column"]), (&json!(3), &json!(8)));
        assert_eq!(found["message"], "there is no zone `X`");
        assert_eq!(fault("/etc/jobs.toml", "  3 | cron"), None);
        let whole = fault("a", "a: it is not there").unwrap();
        assert_eq!((&whole["line"], &whole["message"]), (&Value::Null, &json!("it is not there")));
    }

    #[test]
    fn civil_times_stand_under_the_names_of_their_instants() {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let found = civils(&[("next", "2026-10-25T00:30:00Z".parse().ok()), ("last", None)], &zone);
        assert_eq!(found, json!({ "next": "2026-10-25T02:30:00+02:00[Europe/Berlin]" }));
    }
}
