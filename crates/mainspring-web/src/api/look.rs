//! How the server is, what is in trouble, and what people asked.
//!
//! Cost: two or three questions of the loop.
//!
//! Does not judge by itself: the level of a finding is that of what it was made of.

use jiff::Timestamp;
use mainspring_server::protocol::{HealthWire, JobState, NamesWire, Request, Response, StatusWire};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::call::{Call, Reply, ok};
use crate::catalogue::strange;
use crate::feed::MAX_STREAMS;
use crate::pool::CONNECTIONS;
use crate::problem::Problem;
use crate::sessions::Who;
use crate::view::{civil, civils, fields, paused, state_code, zone_name};

/// The longest page of the audit.
const MAX_ENTRIES: usize = 1_000;

/// Less free room than this is worth a word, and with less than that commits fail: as `doctor` has it.
const LITTLE_FREE_BYTES: u64 = 256 << 20;
const MIN_FREE_BYTES: u64 = 32 << 20;

/// The status.
///
/// # Errors
///
/// What the loop says.
pub async fn status(call: Call) -> Reply {
    call.asked(&[])?;
    ok(&status_of(&call.app, call.who()?, call.now.wall).await?)
}

/// The status for somebody.
///
/// # Errors
///
/// What the loop says.
pub async fn status_of(app: &App, who: &Who, now: Timestamp) -> Result<Map<String, Value>, Problem> {
    let Response::Status(wire) = app.pool.look(Request::Status).await? else { return Err(strange()) };
    let jobs = app.catalogue.jobs(&app.pool).await?;
    let next_job = jobs.iter().find(|known| wire.next.is_some() && known.wire.next == wire.next);
    let is_troubled = |state: JobState, failures: u32| {
        matches!(state, JobState::PausedAfterFailures | JobState::PausedAfterCrashes) || 0 < failures
    };
    let troubled =
        jobs.iter().filter(|known| is_troubled(known.wire.state_code, known.wire.failures)).count();
    let resting = jobs.iter().filter(|known| state_code(known.wire.state_code).starts_with("paused")).count();
    let queued: usize = jobs.iter().map(|known| known.wire.queued).sum();
    let mut document = fields(&wire);
    document.insert("now".to_owned(), json!(now.to_string()));
    let civil = civils(&document, &["started", "next", "now"], &app.zone);
    let bad_files = wire.files.iter().filter(|file| !file.problems.is_empty()).count();
    let more = [
        ("state_code", json!(wire.state)),
        ("host", json!(host())),
        ("next_job", json!(next_job.map(|known| &known.wire.name))),
        ("zone", json!(zone_name(&app.zone))),
        ("tzdata", json!("of the system, or the program's own")),
        ("troubled", json!(troubled)),
        ("resting", json!(resting)),
        ("queued", json!(queued)),
        ("bad_files", json!(bad_files)),
        ("you", json!({ "name": who.name, "scope": who.scope })),
        ("pause", if wire.paused { paused("asked", "somebody paused everything") } else { Value::Null }),
        ("assets", json!(app.assets.hash)),
        ("civil", civil),
    ];
    document.extend(more.map(|(name, value)| (name.to_owned(), value)));
    Ok(document)
}

/// The name of the machine, as the kernel has it.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// What is in trouble.
///
/// # Errors
///
/// What the loop says.
pub async fn health(call: Call) -> Reply {
    call.asked(&[])?;
    let app = &call.app;
    let Response::Status(status) = app.pool.look(Request::Status).await? else { return Err(strange()) };
    let Response::Health(health) = app.pool.look(Request::Health).await? else { return Err(strange()) };
    let findings = findings(&status, &health);
    let worst =
        ["bad", "warning"].into_iter().find(|level| findings.iter().any(|found| found["level"] == **level));
    let streams = app.feed.stream_count();
    let limits = json!([
        { "code": "running", "text": "runs at once", "used": status.running, "max": health.running_max.unwrap_or(0) },
        { "code": "streams", "text": "streams", "used": streams, "max": MAX_STREAMS },
        { "code": "connections", "text": "questions at once over HTTP", "used": 0, "max": CONNECTIONS },
    ]);
    let mut store = Vec::new();
    let size = |name: &str| std::fs::metadata(app.place.directory().join(name)).ok().map(|found| found.len());
    for (part, bytes) in [
        ("database", size("mainspring.db")),
        ("journal", size("mainspring.db-wal")),
        ("free", health.free_bytes),
    ] {
        store.extend(bytes.map(|bytes| json!({ "part": part, "bytes": bytes })));
    }
    ok(&json!({
        "asked": "server", "level": worst.unwrap_or("ok"), "findings": findings, "limits": limits, "store": store
    }))
}

fn finding(code: &str, subject: &str, level: &str, text: impl Into<String>, hint: &str) -> Value {
    let mut found = json!({ "code": code, "subject": subject, "level": level, "text": text.into() });
    if !hint.is_empty() {
        found["hint"] = json!(hint);
    }
    found
}

fn names(names: &NamesWire) -> String {
    let more = if (names.first.len() as u64) < names.count { ", .." } else { "" };
    format!("{}{more}", names.first.join(", "))
}

fn findings(status: &StatusWire, health: &HealthWire) -> Vec<Value> {
    let mut found = Vec::new();
    let is_running = status.state == "running";
    let level = if is_running { "ok" } else { "warning" };
    found.push(finding("server", "server", level, format!("Process {}, {}.", status.pid, status.state), ""));
    match &health.fault {
        Some(fault) => {
            found.push(finding(
                "store_fault",
                "store",
                "bad",
                fault.clone(),
                "Look at the log and at the disk.",
            ));
        }
        None => found.push(finding("store", "store", "ok", "It answers.", "")),
    }
    let room = "Make room on the disk of the data directory; all goes on by itself then.";
    found.extend(status.troubles.iter().map(|text| finding("trouble", "trouble", "bad", text.clone(), room)));
    if let Some(free) = health.free_bytes {
        let level = match free {
            ..MIN_FREE_BYTES => "bad",
            MIN_FREE_BYTES..LITTLE_FREE_BYTES => "warning",
            LITTLE_FREE_BYTES.. => "ok",
        };
        let hint = if level == "ok" { "" } else { room };
        found.push(finding("disk", "room", level, format!("{} MiB are free.", free >> 20), hint));
    }
    for file in status.files.iter().filter(|file| !file.problems.is_empty()) {
        let text = file.problems.lines().next().unwrap_or_default();
        let mut wrong = finding("file_problems", "file", "bad", text, "The set before is in force.");
        wrong["file"] = json!(file.name);
        found.push(wrong);
    }
    found.extend(of_jobs(health));
    if 0 < health.dead {
        let text = format!("Dead letters to be looked at: {}.", health.dead);
        found.push(finding("dead", "dead", "warning", text, "Retry them or drop them."));
    }
    if 0 < status.refused {
        let text = format!("Requests refused because clients asked too fast: {}.", status.refused);
        found.push(finding("rate", "rate", "warning", text, "See serve --max-changes."));
    }
    found
}

/// What there is to say of jobs that rest.
fn of_jobs(health: &HealthWire) -> Vec<Value> {
    let mut found = Vec::new();
    let of_jobs = [
        (
            "behind",
            "planned",
            "bad",
            &health.behind,
            "The clock was set back: they rest until it shows what is planned",
            "Set the clock right, or wait: nothing fires twice.",
        ),
        (
            "paused_failures",
            "paused",
            "warning",
            &health.failing,
            "Paused after too many failures",
            "Look at their logs, mend them, and resume them.",
        ),
        (
            "paused_crashes",
            "paused",
            "warning",
            &health.crash_loops,
            "Paused, because the server died in them",
            "Mend them, and resume them.",
        ),
        (
            "quarantine",
            "quarantine",
            "warning",
            &health.quarantined,
            "They ran when the server died, and start a few at a time",
            "Each is let out when it has ended or has run for ten seconds.",
        ),
    ];
    for (code, subject, level, jobs, text, hint) in of_jobs {
        if 0 < jobs.count {
            found.push(finding(code, subject, level, format!("{text}: {}.", names(jobs)), hint));
        }
    }
    found
}

/// What people asked.
///
/// # Errors
///
/// 400 for a parameter that is none.
pub async fn audit(call: Call) -> Reply {
    let asked = call.asked(&["q", "since", "actor", "job", "after", "limit"])?;
    let limit = asked.number("limit", 100, MAX_ENTRIES)?;
    let since: Option<Timestamp> = asked.get("since").and_then(|text| text.parse().ok());
    let is_wanted =
        |name: &str, value: Option<&str>| asked.get(name).is_none_or(|wanted| value == Some(wanted));
    let all = call.app.audit.all();
    let mut wanted: Vec<_> = all
        .iter()
        .filter(|entry| {
            is_wanted("actor", Some(&entry.actor))
                && is_wanted("job", entry.job.as_deref())
                && since.is_none_or(|since| since <= entry.at)
                && asked.get("q").is_none_or(|part| entry.text.contains(part))
        })
        .collect();
    let total = wanted.len();
    if let Some(after) = asked.get("after").and_then(|text| text.parse::<u64>().ok()) {
        wanted.retain(|entry| entry.id < after);
    }
    let next = wanted.get(limit).and_then(|_| wanted.get(limit - 1)).map(|entry| entry.id.to_string());
    let items: Vec<Value> = wanted
        .into_iter()
        .take(limit)
        .map(|entry| {
            json!({
                "id": entry.id, "at": entry.at.to_string(), "actor": entry.actor, "origin": "HTTP", "code": entry.code,
                "text": entry.text, "job": entry.job, "run": entry.run, "note": entry.note,
                "civil": { "at": civil(entry.at, &call.app.zone) }
            })
        })
        .collect();
    ok(&json!({ "items": items, "next": next, "total": total }))
}
