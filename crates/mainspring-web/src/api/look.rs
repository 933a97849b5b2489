//! How the server is, what is in trouble, and what people asked.
//!
//! Cost: two or three questions of the loop.
//!
//! Does not judge: [`diagnosis`] does, for `doctor` too.

use jiff::Timestamp;
use mainspring_server::diagnosis;
use mainspring_server::finding::Level;
use mainspring_server::protocol::{JobState, Request, Response};
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

/// The status.
///
/// # Errors
///
/// What the loop says.
pub async fn status(call: Call) -> Reply {
    call.asked()?;
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
    call.asked()?;
    let app = &call.app;
    let Response::Status(status) = app.pool.look(Request::Status).await? else { return Err(strange()) };
    let Response::Health(health) = app.pool.look(Request::Health).await? else { return Err(strange()) };
    let findings = diagnosis::of_server(&status, &health, call.now.wall);
    let level = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
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
        "asked": "server", "level": level, "findings": findings, "limits": limits, "store": store
    }))
}

/// What people asked.
///
/// # Errors
///
/// 400 for a parameter that is none.
pub async fn audit(call: Call) -> Reply {
    let asked = call.asked()?;
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
