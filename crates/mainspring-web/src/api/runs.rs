//! The runs: a page of them, and one with its attempts.
//!
//! The store has them in the order of nominal times. The order of ends, and filters that the store does not
//! have, are made here out of the latest `MAX_SEEN` that match the filters of the store.
//!
//! Cost: a question of the loop for each thousand runs.
//!
//! Does not change anything: see [`act`](super::act).

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use mainspring_server::protocol::{FoundWire, Request, Response, RunWire};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::call::{Asked, Call, Reply, ok};
use crate::catalogue::{Known, between_ms, history, strange};
use crate::problem::{Code, Problem};
use crate::view::{civils, fields, output_path, run as run_document, zone_of};

/// The longest page.
const MAX_ROWS: usize = 1_000;

/// How many runs are looked at for an order or a filter that the store does not have.
const MAX_SEEN: usize = 2_000;

/// What chooses runs.
pub const FILTERS: [&str; 8] = ["q", "job", "state", "cause", "group", "line", "since", "until"];

const OPEN: [&str; 3] = ["scheduled", "queued", "running"];

fn is_open(run: &RunWire) -> bool {
    OPEN.contains(&run.state.as_str())
}

/// The jobs by their names.
async fn by_name(app: &App) -> Result<HashMap<String, Arc<Known>>, Problem> {
    let jobs = app.catalogue.jobs(&app.pool).await?;
    Ok(jobs.iter().map(|known| (known.wire.name.clone(), Arc::clone(known))).collect())
}

/// The runs that are asked for, and whether there may be more than were looked at.
///
/// # Errors
///
/// What the loop says.
pub async fn chosen(app: &App, asked: &Asked, limit: usize) -> Result<(Vec<RunWire>, bool), Problem> {
    let own = ["q", "cause", "group", "line", "since", "until"];
    let is_plain = own.iter().all(|name| asked.get(name).is_none()) && asked.get("order") == Some("nominal");
    let seen = if is_plain { limit } else { MAX_SEEN };
    let mut runs = history(&app.pool, asked.get("job"), asked.words("state"), seen).await?;
    let is_cut = seen <= runs.len();
    let jobs = by_name(app).await?;
    let last_of = |run: &RunWire| run.ended.clone().unwrap_or_else(|| run.due.clone());
    runs.retain(|run| {
        let group = || jobs.get(&run.job).and_then(|known| known.wire.group.clone());
        asked.get("cause").is_none_or(|cause| run.cause == cause)
            && asked.get("q").is_none_or(|part| run.job.contains(part))
            && asked.get("group").is_none_or(|wanted| group().as_deref() == Some(wanted))
            && asked.get("since").is_none_or(|since| *since <= *last_of(run))
            && asked.get("until").is_none_or(|until| *last_of(run) < *until)
            && asked.get("line").is_none_or(|line| {
                let last = run.started.as_ref().and_then(|_| crate::tail::last_line(&output_path(app, run)?));
                [last.as_deref(), run.outcome.as_deref(), Some(run.reason.as_str())].contains(&Some(line))
            })
    });
    Ok((runs, is_cut))
}

/// A page of runs.
///
/// # Errors
///
/// 400 for a parameter that is none, and what the loop says.
pub async fn list(call: Call) -> Reply {
    let asked = call.asked()?;
    let limit = asked.number("limit", 100, MAX_ROWS)?;
    let by_end = match asked.get("order") {
        None | Some("ended") => true,
        Some("nominal") => false,
        Some(_) => return Err(Problem::new(Code::Usage, "`order` is ended or nominal")),
    };
    for name in ["since", "until"] {
        let is_time = asked.get(name).is_none_or(|text| text.parse::<jiff::Timestamp>().is_ok());
        if !is_time {
            return Err(Problem::new(Code::Usage, format!("`{name}` must be a time in RFC 3339")));
        }
    }
    let app = &call.app;
    let (mut runs, is_cut) = chosen(app, &asked, MAX_SEEN).await?;
    if by_end {
        // What is open comes first, then what ended last.
        runs.sort_by_cached_key(|run| Reverse((is_open(run), run.ended.clone(), run.nominal.clone())));
    }
    let total = (!is_cut).then_some(runs.len());
    let start = asked.get("after").and_then(|after| runs.iter().position(|run| run.run == after));
    let start = start.map_or(0, |index| index + 1);
    let page = &runs[start..runs.len().min(start + limit)];
    let next = page.last().filter(|_| start + limit < runs.len()).map(|run| run.run.clone());
    let jobs = by_name(app).await?;
    let items: Vec<Value> = page
        .iter()
        .map(|run| {
            let known = jobs.get(&run.job);
            let usual = app.catalogue.recent_known(&run.job).and_then(|recent| recent.median_ms);
            Value::Object(run_document(app, run, zone_of(app, known.map(|known| &**known)), usual))
        })
        .collect();
    ok(&json!({ "items": items, "next": next, "total": total }))
}

/// The name of the run that the path says.
pub fn name(call: &Call) -> String {
    let series = match call.parameter("series") {
        "0" => String::new(),
        series => format!("#{series}"),
    };
    format!("{}@{}{series}", call.parameter("job"), call.parameter("nominal"))
}

/// The run that the path says, with its attempts.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn found(call: &Call) -> Result<FoundWire, Problem> {
    let answer = call.app.pool.look(Request::Find { run: name(call) }).await?;
    let Response::Found(found) = answer else { return Err(strange()) };
    Ok(*found)
}

/// One run.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn show(call: Call) -> Reply {
    call.asked()?;
    let app = &call.app;
    let FoundWire { run, planned, attempts } = found(&call).await?;
    let jobs = by_name(app).await?;
    let known = jobs.get(&run.job);
    let zone = zone_of(app, known.map(|known| &**known));
    let usual = match known {
        Some(known) => app.catalogue.recent(&app.pool, known).await?.median_ms,
        None => None,
    };
    let mut document = run_document(app, &run, zone, usual);
    document.insert("planned".to_owned(), json!(planned));
    document.insert(
        "civil".to_owned(),
        civils(&document, &["nominal", "due", "started", "ended", "last", "planned"], zone),
    );
    let attempt = |wire: &mainspring_server::protocol::AttemptWire| {
        let mut attempt = fields(wire);
        let duration = between_ms(Some(&wire.started), wire.ended.as_ref());
        attempt.insert("duration_ms".to_owned(), json!(duration));
        attempt.insert("civil".to_owned(), civils(&attempt, &["started", "ended"], zone));
        attempt
    };
    let attempts: Vec<Map<String, Value>> = attempts.iter().map(attempt).collect();
    let path = format!("api/v1/runs/{}/{}/{}", run.job, run.nominal, document["series"]);
    let bytes = output_path(app, &run).and_then(|path| std::fs::metadata(path).ok()).map(|found| found.len());
    let more = [
        ("attempts", json!(attempts)),
        ("waits", json!(waits(&run))),
        ("output_bytes", json!(bytes)),
        (
            "hrefs",
            json!({
                "self": path, "job": format!("api/v1/jobs/{}", run.job), "output": format!("{path}/output"),
                "events": format!("{path}/output/events")
            }),
        ),
    ];
    document.extend(more.map(|(name, value)| (name.to_owned(), value)));
    ok(&document)
}

/// Why a run that waits has not started.
fn waits(run: &RunWire) -> Vec<Value> {
    let is_waiting = run.state == "queued" || (run.state == "scheduled" && 1 < run.attempt);
    let reason = if run.reason.is_empty() { "It waits for a place." } else { run.reason.as_str() };
    let wait = json!({ "code": "waits", "text": reason, "from": run.due, "until": null });
    if is_waiting { vec![wait] } else { Vec::new() }
}
