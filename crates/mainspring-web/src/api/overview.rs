//! The state of the server, its troubles, and the audit of requests.
//!
//! Cost: two or three questions of the loop.
//!
//! Does not judge: [`diagnosis`] does, for `doctor` too.

use jiff::Timestamp;
use mainspring_job::RunKey;
use mainspring_server::diagnosis;
use mainspring_server::finding::Level;
use mainspring_server::protocol::{AuditAskWire, AuditWire, Request, Response};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::call::{Call, Reply, ok};
use crate::catalogue::strange;
use crate::event_stream::MAX_STREAMS;
use crate::pool::CONNECTIONS;
use crate::problem::{Code, Problem};
use crate::resources::store_sizes;
use crate::resources::zones_version;
use crate::sessions::Principal;
use crate::view::{add_actor, civils, fields, paused, zone_name};

/// The longest page of the audit, here and in the store.
const MAX_ENTRIES: usize = 1_000;

/// How many rows about a job are looked through for its last pause: what is paused was not asked for much
/// since.
const PAUSE_ENTRIES: usize = 100;

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
pub async fn status_of(app: &App, who: &Principal, now: Timestamp) -> Result<Map<String, Value>, Problem> {
    let Response::Status(wire) = app.pool.look(Request::Status).await? else { return Err(strange()) };
    let jobs = app.catalogue.jobs(&app.pool).await?;
    let next_job = jobs.iter().find(|known| wire.next.is_some() && known.wire.next == wire.next);
    let troubled = jobs.iter().filter(|known| known.wire.is_troubled()).count();
    let resting = jobs.iter().filter(|known| known.wire.state_code.is_paused()).count();
    let queued: usize = jobs.iter().map(|known| known.wire.queued).sum();
    let mut document = fields(&wire);
    document.insert("now".to_owned(), json!(now.to_string()));
    let civil =
        civils(&[("started", Some(wire.started)), ("next", wire.next), ("now", Some(now))], &app.zone);
    let pause = match wire.paused {
        false => Value::Null,
        true => {
            let mut pause =
                paused("asked", "somebody paused everything", wire.pause_terms.as_ref(), &app.zone);
            if let Some(audit) = last_pause(app, "").await? {
                add_actor(&mut pause, &audit, &app.zone);
            }
            pause
        }
    };
    let bad_files = wire.files.iter().filter(|file| !file.problems.is_empty()).count();
    let more = [
        ("state_code", json!(wire.state)),
        ("host", json!(host())),
        ("next_job", json!(next_job.map(|known| &known.wire.name))),
        ("zone", json!(zone_name(&app.zone))),
        ("tzdata", json!(zones_version().unwrap_or_else(|| "of the program or the system".to_owned()))),
        ("troubled", json!(troubled)),
        ("resting", json!(resting)),
        ("queued", json!(queued)),
        ("bad_files", json!(bad_files)),
        ("you", json!({ "name": who.identity.to_string(), "scope": who.scope })),
        ("pause", pause),
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
    let sizes = store_sizes(&app.data).into_iter().chain(health.free_bytes.map(|bytes| ("free", bytes)));
    let store: Vec<_> = sizes.map(|(part, bytes)| json!({ "part": part, "bytes": bytes })).collect();
    ok(&json!({
        "asked": "server", "level": level, "findings": findings, "limits": limits, "store": store
    }))
}

/// Who paused a job last, or everything where it is empty.
///
/// # Errors
///
/// What the loop says.
pub async fn last_pause(app: &App, target: &str) -> Result<Option<AuditWire>, Problem> {
    let asked =
        AuditAskWire { target: Some(target.to_owned()), limit: PAUSE_ENTRIES, ..AuditAskWire::default() };
    let Response::Audit { rows, .. } = app.pool.look(Request::Audit(asked)).await? else {
        return Err(strange());
    };
    Ok(rows.into_iter().find(|row| row.action == "pause"))
}

/// What people asked, the newest first. The store chooses by actor and time; words and jobs are chosen here.
///
/// # Errors
///
/// 400 for a parameter that is none, and what the loop says.
pub async fn audit(call: Call) -> Reply {
    let asked = call.asked()?;
    let limit = asked.number("limit", 100, MAX_ENTRIES)?;
    let wrong = |name: &str, what: &str| Problem::new(Code::Usage, format!("`{name}` must be {what}"));
    asked.time("since")?;
    let after = asked.get("after").map(str::parse::<u64>).transpose();
    let mut before = after.map_err(|_| wrong("after", "`next` of the page before"))?;
    let mut found: Vec<AuditWire> = Vec::new();
    loop {
        let page = AuditAskWire {
            actor: asked.get("actor").map(str::to_owned),
            since: asked.get("since").map(str::to_owned),
            target: None,
            before,
            limit: MAX_ENTRIES,
        };
        let Response::Audit { rows, before: next } = call.app.pool.look(Request::Audit(page)).await? else {
            return Err(strange());
        };
        found.extend(rows.into_iter().filter(|row| {
            asked.get("job").is_none_or(|job| about(&row.target).0.as_deref() == Some(job))
                && asked.get("q").is_none_or(|part| sentence(row).contains(part) || row.note.contains(part))
        }));
        before = next;
        if limit < found.len() || before.is_none() {
            break;
        }
    }
    let is_all = asked.get("after").is_none() && found.len() <= limit;
    let total = is_all.then_some(found.len());
    let next = found.get(limit).and_then(|_| found.get(limit - 1)).map(|row| row.number.to_string());
    found.truncate(limit);
    let items: Vec<_> = found.iter().map(|row| entry(row, &call.app)).collect();
    ok(&json!({ "items": items, "next": next, "total": total }))
}

/// What was asked, in words.
fn sentence(row: &AuditWire) -> String {
    let of = if row.target.is_empty() && matches!(row.action.as_str(), "pause" | "resume") {
        " everything".to_owned()
    } else if row.target.is_empty() {
        String::new()
    } else {
        format!(" {}", row.target)
    };
    format!("{}{of}", row.action.replace('_', " "))
}

/// The job that a target is or belongs to, and the run that it is.
fn about(target: &str) -> (Option<String>, Option<&str>) {
    match target.parse::<RunKey>() {
        Ok(run) => (Some(run.job.to_string()), Some(target)),
        Err(_) => (Some(target.to_owned()).filter(|job| !job.is_empty()), None),
    }
}

fn entry(row: &AuditWire, app: &App) -> Map<String, Value> {
    let mut document = fields(row);
    // No identity of HTTP is shown so: see `Identity`.
    let origin = if row.actor.starts_with("uid ") { "socket" } else { "HTTP" };
    let (job, run) = about(&row.target);
    let civil = civils(&[("at", Some(row.at))], &app.zone);
    let more = [
        ("text", json!(sentence(row))),
        ("origin", json!(origin)),
        ("job", json!(job)),
        ("run", json!(run)),
        ("civil", civil),
    ];
    document.extend(more.map(|(name, value)| (name.to_owned(), value)));
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_with_an_at_sign_is_a_run_only_with_a_time() {
        assert_eq!(about("user@host"), (Some("user@host".to_owned()), None));
        let run = "user@host@2026-11-21T03:00:00Z#2";
        assert_eq!(about(run), (Some("user@host".to_owned()), Some(run)));
        assert_eq!(about(""), (None, None));
    }
}
