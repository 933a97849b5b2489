//! The state of the server, its troubles, and the audit of requests.
//!
//! Cost: two or three questions of the loop.
//!
//! Does not judge: [`diagnosis`] does, for `doctor` too.

use jiff::Timestamp;
use mainspring_job::RunKey;
use mainspring_server::diagnosis;
use mainspring_server::finding::{Finding, Level};
use mainspring_server::protocol::{
    AuditAskWire, AuditWire, MAX_ROWS, Request, Response, StatusWire, zone_name,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::call::{Call, Reply, ok};
use crate::event_stream::MAX_STREAMS;
use crate::pool::CONNECTIONS;
use crate::problem::{Code, Problem, strange};
use crate::resources::store_sizes;
use crate::resources::zones_version;
use crate::scope::Scope;
use crate::sessions::Principal;
use crate::view::{Civils, List, Pause, PauseReason, civils};

/// The longest page of the audit, here and in the store.
const MAX_ENTRIES: usize = 1_000;

const _: () = assert!(MAX_ENTRIES <= MAX_ROWS, "one question of the loop has them");

/// How many rows about a job are looked through for its last pause: what is paused was not asked for much
/// since.
const PAUSE_ENTRIES: usize = 100;

const _: () = assert!(PAUSE_ENTRIES <= MAX_ENTRIES);

/// How the server is, as `status` has it and with what a page needs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Status {
    /// As the command line has it.
    #[serde(flatten)]
    wire: Box<StatusWire>,
    /// The same as `state`, for programs.
    #[schemars(extend("enum" = ["running", "stopping", "starting"]))]
    state_code: String,
    /// The name of the machine.
    host: String,
    /// The job that is next.
    next_job: Option<String>,
    /// The zone of the server.
    zone: String,
    /// The version of its zone data.
    tzdata: String,
    /// The server's clock.
    now: Timestamp,
    /// How many jobs are in trouble.
    troubled: usize,
    /// How many jobs are paused.
    resting: usize,
    /// How many runs wait for a place.
    queued: usize,
    /// How many files have a problem.
    bad_files: usize,
    /// The caller, and what that person may.
    you: You,
    /// A pause of everything, or null.
    pause: Option<Pause>,
    /// The hash in the addresses of the assets that this server gives.
    assets: String,
    /// In the zone of the server.
    civil: Civils,
}

/// The caller.
#[derive(Debug, Serialize, JsonSchema)]
struct You {
    name: String,
    scope: Scope,
}

/// The status.
///
/// # Errors
///
/// What the loop says.
pub async fn status(call: Call) -> Reply {
    ok(&status_of(&call.app, call.who()?, call.now.wall).await?)
}

/// The status for somebody.
///
/// # Errors
///
/// What the loop says.
pub async fn status_of(app: &App, who: &Principal, now: Timestamp) -> Result<Status, Problem> {
    let wire = app.pool.status().await?;
    let jobs = app.catalogue.jobs().await?;
    let next_job = jobs.iter().find(|known| wire.next.is_some() && known.wire.next == wire.next);
    let mut pause = None;
    if wire.paused {
        let reason = "by request";
        let mut found = Pause::new(PauseReason::Asked, reason, wire.pause_terms.as_ref(), &app.zone);
        if let Some(audit) = last_pause(app, "").await? {
            found.add_actor(audit, &app.zone);
        }
        pause = Some(found);
    }
    let times = [("started", Some(wire.started)), ("next", wire.next), ("now", Some(now))];
    Ok(Status {
        state_code: wire.state.clone(),
        host: mainspring_host::sys::host_name(),
        next_job: next_job.map(|known| known.wire.name.clone()),
        zone: zone_name(&app.zone).to_owned(),
        tzdata: zones_version().unwrap_or_else(|| "of the program or the system".to_owned()),
        troubled: jobs.iter().filter(|known| known.wire.is_troubled()).count(),
        resting: jobs.iter().filter(|known| known.wire.state_code.is_paused()).count(),
        queued: jobs.iter().map(|known| known.wire.queued).sum(),
        bad_files: wire.files.iter().filter(|file| !file.problems.is_empty()).count(),
        you: You { name: who.identity.to_string(), scope: who.scope },
        pause,
        assets: app.assets.hash.clone(),
        civil: civils(&app.zone, times),
        now,
        wire,
    })
}

/// The document of `doctor --json`, and what has a limit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Health {
    #[schemars(extend("const" = "server"))]
    #[serde(rename = "asked")]
    source: &'static str,
    level: Level,
    findings: Vec<Finding>,
    /// What has a limit, and how much of it is in use.
    limits: Vec<Limit>,
    /// Bytes of database, journal, output; and what is free.
    store: Vec<Part>,
}

/// What has a limit.
#[derive(Debug, Serialize, JsonSchema)]
struct Limit {
    code: &'static str,
    text: &'static str,
    used: u64,
    max: u64,
}

/// A part of what the store takes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Part {
    part: &'static str,
    bytes: u64,
}

/// What is in trouble.
///
/// # Errors
///
/// What the loop says.
pub async fn health(call: Call) -> Reply {
    let app = &call.app;
    let status = app.pool.status().await?;
    let Response::Health(health) = app.pool.look(Request::Health).await? else { return Err(strange()) };
    let findings = diagnosis::of_server(&status, &health, call.now.wall);
    let level = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    let streams = app.feed.stream_count() as u64;
    let limits = [
        ("running", "runs at once", status.running, health.running_max.unwrap_or(0)),
        ("streams", "streams", streams, MAX_STREAMS as u64),
        ("connections", "questions at once over HTTP", 0, CONNECTIONS as u64),
    ];
    let limits = limits.map(|(code, text, used, max)| Limit { code, text, used, max }).into();
    let sizes = store_sizes(&app.data).into_iter().chain(health.free_bytes.map(|bytes| ("free", bytes)));
    let store = sizes.map(|(part, bytes)| Part { part, bytes }).collect();
    ok(&Health { source: "server", level, findings, limits, store })
}

/// Who paused a job last, or everything where it is empty.
///
/// # Errors
///
/// What the loop says.
pub async fn last_pause(app: &App, target: &str) -> Result<Option<AuditWire>, Problem> {
    let query =
        AuditAskWire { target: Some(target.to_owned()), limit: PAUSE_ENTRIES, ..AuditAskWire::default() };
    let Response::Audit { rows, .. } = app.pool.look(Request::Audit(query)).await? else {
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
    let params = &call.params;
    let limit = params.number("limit", 100, MAX_ENTRIES)?;
    let wrong = |name: &str, what: &str| Problem::new(Code::USAGE, format!("`{name}` must be {what}"));
    params.time("since")?;
    let after = params.get("after").map(str::parse::<u64>).transpose();
    let mut before = after.map_err(|_| wrong("after", "`next` of the page before"))?;
    let mut found: Vec<AuditWire> = Vec::new();
    loop {
        let page = AuditAskWire {
            actor: params.get("actor").map(str::to_owned),
            since: params.get("since").map(str::to_owned),
            target: None,
            before,
            limit: MAX_ENTRIES,
        };
        let Response::Audit { rows, before: next } = call.app.pool.look(Request::Audit(page)).await? else {
            return Err(strange());
        };
        found.extend(rows.into_iter().filter(|row| {
            params.get("job").is_none_or(|job| about(&row.target).0.as_deref() == Some(job))
                && params.get("q").is_none_or(|part| sentence(row).contains(part) || row.note.contains(part))
        }));
        before = next;
        if limit < found.len() || before.is_none() {
            break;
        }
    }
    let is_all = params.get("after").is_none() && found.len() <= limit;
    let total = is_all.then_some(found.len());
    let next = found.get(limit).and_then(|_| found.get(limit - 1)).map(|row| row.number.to_string());
    found.truncate(limit);
    let items = found.into_iter().map(|row| AuditEntry::new(row, &call.app)).collect();
    ok(&List { items, next, total })
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

/// What somebody asked for, as `audit` has it and with what a page needs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditEntry {
    /// As the command line has it.
    #[serde(flatten)]
    wire: AuditWire,
    /// Where from.
    #[schemars(extend("enum" = ["socket", "HTTP"]))]
    origin: &'static str,
    /// The sentence for people.
    text: String,
    /// The job that it is about.
    job: Option<String>,
    /// The run that it is about.
    run: Option<String>,
    /// In the zone of the server.
    civil: Civils,
}

impl AuditEntry {
    fn new(wire: AuditWire, app: &App) -> AuditEntry {
        let (job, run) = about(&wire.target);
        AuditEntry {
            // No identity of HTTP is shown so: see `Identity`.
            origin: if wire.actor.starts_with("uid ") { "socket" } else { "HTTP" },
            text: sentence(&wire),
            job,
            run: run.map(str::to_owned),
            civil: civils(&app.zone, [("at", Some(wire.at))]),
            wire,
        }
    }
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
