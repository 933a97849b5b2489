//! Actions: run, pause, resume, backfill, cancel, retry, drop; one, or many at once after a preview.
//!
//! ```text
//! POST ─▶ request of protocol.rs, with the caller ─▶ the loop: on disk ─▶ answer, audit, a line of the log
//! ```
//!
//! Cost: one question of the loop each.
//!
//! Does not decide whether it can be done: the loop does.

mod bodies;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use jiff::Timestamp;
use mainspring_job::{RunKey, RunState, read_duration};
use mainspring_server::protocol::{PauseWire, Request, Response};
use schemars::JsonSchema;
use serde::Serialize;

use super::define::job_answer;
use super::{jobs, overview, runs};
use crate::app::CLICK_LIFE;
use crate::bulk::{Bulk, Deed};
use crate::call::{Call, QueryParams, Reply, json as answer, ok, read_time};
use crate::problem::{Code, Problem, strange};
use crate::view::{Moment, address_of, is_open};

/// How far from the server's clock a click may say that it was: browsers have clocks of their own.
const MAX_CLICK_SECONDS: i64 = 60;

const _: () =
    assert!(MAX_CLICK_SECONDS < CLICK_LIFE.as_secs() as i64, "no click is forgotten while the same is taken");

/// How many runs are looked through for those that a filter matches: a second of reading.
const MAX_LOOKED_AT: usize = 100_000;

const _: () = assert!(Bulk::MAX <= MAX_LOOKED_AT, "as many as may be chosen are looked through");

/// How many times a preview of a backfill tells.
const MAX_TIMES: usize = 20;

pub(crate) use bodies::{Backfill, BulkBody, NoteBody, PauseParams, RunParams};
use bodies::{BulkKind, check_note, check_until};

/// A run that was started, and its address.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Started")]
pub struct StartedRun<'r> {
    #[schemars(with = "String")]
    run: &'r RunKey,
    href: &'r str,
}

/// What a backfill would run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BackfillPreview {
    count: usize,
    /// The first 20.
    times: Vec<Moment>,
}

/// An action that still runs, or is done.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Accepted")]
pub struct AcceptedAction {
    count: usize,
    /// The action whose progress can be asked for.
    id: String,
    href: String,
}

/// What an action would be done to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActionPreview<'i> {
    count: usize,
    /// 10 at most.
    examples: &'i [String],
}

/// A run that was dealt with.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Settled")]
pub struct SettledRun {
    run: String,
}

/// The header with a key.
const KEY: &str = "idempotency-key";

impl Call {
    /// The idempotency key in the header, if there is one.
    fn key_of_header(&self) -> Result<Option<String>, Problem> {
        let key = self.headers.get(KEY).map(|value| value.to_str().map(str::to_owned)).transpose();
        key.map_err(|_| Problem::new(Code::USAGE, "the key must be plain text"))
    }

    /// The idempotency key of a request that has this one in its body. Of two that differ neither is taken.
    pub(super) fn key(&self, of_body: Option<String>) -> Result<Option<String>, Problem> {
        match (self.key_of_header()?, of_body) {
            (Some(header), Some(body)) if header != body => {
                Err(Problem::new(Code::USAGE, "`key` and the header Idempotency-Key are two keys: send one"))
            }
            (of_header, of_body) => Ok(of_body.or(of_header)),
        }
    }

    /// Refuses an idempotency key, where the same again would be done again.
    pub(super) fn refuse_key(&self) -> Result<(), Problem> {
        let text = "Idempotency-Key is for one run or submission: an item of once/batch has its own `key`, and \
                    `expected` is for actions and backfills";
        self.key_of_header()?.map_or(Ok(()), |_| Err(Problem::new(Code::USAGE, text)))
    }

    /// What somebody says about what they do.
    async fn note(&self) -> Result<Option<String>, Problem> {
        let NoteBody { note } = self.document().await?;
        check_note(note.as_deref())?;
        Ok(note)
    }
}

/// Runs a job: now, or at a time that has not come.
///
/// # Errors
///
/// 404 if there is none, 409 for a key that is that of other work, 422 for a time that has passed by more
/// than a minute, and what the loop says.
pub async fn run(call: Call) -> Reply {
    let params: RunParams = call.document().await?;
    let job = call.parameter("job").to_owned();
    let due = moment_of(params.at.as_deref(), params.r#in.as_deref(), call.now.wall)?;
    check_due(due, call.now.wall)?;
    let key = call.key(params.key)?;
    let is_later = due.is_some_and(|due| call.now.wall < due);
    if is_later || key.is_some() {
        let RequestedRun { run, earlier, .. } = ask_for_run(&call, job, due, key).await?;
        return started(&call, if earlier.is_none() { StatusCode::ACCEPTED } else { StatusCode::OK }, &run);
    }
    let at = params.at.unwrap_or_else(|| call.now.wall.to_string());
    let (app, who, now) = (Arc::clone(&call.app), call.who()?.clone(), call.now);
    // To its end also if the client goes away: it asks again with the same click.
    let asking = tokio::spawn(async move {
        let _one = app.clicking.enter(Some(&who.identity)).await;
        if let Some(run) = app.clicked(&job, &at, now) {
            return Ok((StatusCode::OK, run));
        }
        let answered = app.change(&who, None, Deed::Run.request(job.clone(), None, None)).await?;
        let Response::Planned { run } = answered else { return Err(strange()) };
        app.click(&who.identity, (&job, &at), &run, now);
        Ok((StatusCode::ACCEPTED, run))
    });
    let broke_off = |_| Problem::new(Code::FAILED, "the request broke off");
    let (status, run) = asking.await.map_err(broke_off)??;
    started(&call, status, &run)
}

/// The answer that names a run.
fn started(call: &Call, status: StatusCode, run: &RunKey) -> Reply {
    let href = call.link(&address_of(run));
    Ok(([(LOCATION, &href)], answer(status, &StartedRun { run, href: &href })?).into_response())
}

/// The time that `at` or `in` says, if either does.
pub(super) fn moment_of(
    at: Option<&str>,
    span: Option<&str>,
    now: Timestamp,
) -> Result<Option<Timestamp>, Problem> {
    let wrong = |text: &str| Problem::new(Code::INVALID, text);
    Ok(match (at, span) {
        (Some(at), None) => Some(read_time("at", at).map_err(|why| wrong(&why))?),
        (None, Some(span)) => {
            let span = read_duration(span)
                .ok_or_else(|| wrong("`in` must be a duration such as 90s, 1h30m or 1d"))?;
            Some(now.checked_add(span).map_err(|_| wrong("`in` is too far away"))?)
        }
        (None, None) => None,
        (Some(_), Some(_)) => return Err(wrong("expected `at` or `in`")),
    })
}

/// Refuses a run at a time that has passed: it would run now.
pub(super) fn check_due(due: Option<Timestamp>, now: Timestamp) -> Result<(), Problem> {
    if due.is_some_and(|due| MAX_CLICK_SECONDS < now.as_second() - due.as_second()) {
        return Err(Problem::new(
            Code::INVALID,
            "the time has passed by more than a minute: leave it out to run now",
        ));
    }
    Ok(())
}

/// The run that was asked for, or that was there under the key.
pub(super) struct RequestedRun {
    pub(super) run: RunKey,
    /// When it is due, if it is not due at once.
    pub(super) due: Option<Timestamp>,
    /// The state of the one that was there already. `None`: it is new.
    pub(super) earlier: Option<Option<String>>,
}

/// Asks for a run of a job at a time, or under a key.
pub(super) async fn ask_for_run(
    call: &Call,
    job: String,
    due: Option<Timestamp>,
    key: Option<String>,
) -> Result<RequestedRun, Problem> {
    let request = Request::Run { job, wait: false, due: due.map(|due| due.to_string()), key };
    match call.app.change(call.who()?, None, request).await? {
        Response::Planned { run } => Ok(RequestedRun { run, due, earlier: None }),
        Response::Duplicate { name, due, state, .. } => match name.and_then(|name| name.parse().ok()) {
            Some(run) => Ok(RequestedRun { run, due, earlier: Some(state) }),
            None => Err(Problem::new(Code::CONFLICT, "the name or the key is that of other work")),
        },
        _ => Err(strange()),
    }
}

/// Pauses a job; everything, where the path names none.
///
/// # Errors
///
/// 404 if there is none, 422 for a note or an end that cannot be, and what the loop says.
pub async fn pause(call: Call) -> Reply {
    let PauseParams { note, until } = call.document().await?;
    check_note(note.as_deref())?;
    check_until(until.as_deref(), call.now.wall)?;
    let job = call.parameters.get("job").cloned();
    let pause = PauseWire { job, until, note: note.unwrap_or_default() };
    changed(&call, None, Request::Pause(pause)).await
}

/// Lets a job go on; everything, where the path names none.
///
/// # Errors
///
/// As [`pause`].
pub async fn resume(call: Call) -> Reply {
    let job = call.parameters.get("job").cloned();
    changed(&call, call.note().await?, Request::Resume { job }).await
}

/// Changes the job in the path, or everything, and answers how that is then.
async fn changed(call: &Call, comment: Option<String>, request: Request) -> Reply {
    call.app.change(call.who()?, comment, request).await?;
    match call.parameters.get("job") {
        Some(job) => job_answer(call, StatusCode::OK, job).await,
        None => ok(&overview::status_of(&call.app, call.who()?, call.now.wall).await?),
    }
}

/// Runs a job for times that have passed.
///
/// # Errors
///
/// 404 if there is none, 409 if the count is another one, and what the loop says.
pub async fn backfill(call: Call) -> Reply {
    call.refuse_key()?;
    let body: Backfill = call.document().await?;
    let job = call.parameter("job").to_owned();
    let request = |preview| Request::Backfill {
        job: job.clone(),
        from: body.from.clone(),
        to: body.to.clone(),
        preview,
    };
    let Response::Preview { times } = call.app.pool.look(request(true)).await? else {
        return Err(strange());
    };
    let count = times.len();
    if body.preview {
        let known = call.app.catalogue.job(&job).await?;
        let plan = known.plan.as_ref().ok_or_else(strange)?;
        let times = times.iter().take(MAX_TIMES).map(|at| Moment::new(*at, &plan.zone)).collect();
        return ok(&BackfillPreview { count, times });
    }
    check_count(body.expected, count)?;
    let answered = call.app.change(call.who()?, None, request(false)).await?;
    let Response::Backfilled { count, .. } = answered else { return Err(strange()) };
    accepted(&call, call.app.bulk.finished(&call.who()?.identity, count), count)
}

/// Refuses what would be done to more or fewer than the preview has told.
fn check_count(expected: Option<usize>, count: usize) -> Result<(), Problem> {
    if expected.is_some_and(|expected| expected != count) {
        return Err(Problem::new(Code::CHANGED, format!("it is {count} now")));
    }
    Ok(())
}

/// The answer that names an action.
fn accepted(call: &Call, id: u64, count: usize) -> Reply {
    let href = call.link(&format!("api/v1/actions/{id}"));
    answer(StatusCode::ACCEPTED, &AcceptedAction { count, id: id.to_string(), href })
}

/// Ends a run, runs a dead letter again, or discards one.
///
/// # Errors
///
/// 404, 409 if the run is not open, or no dead letter, and what the loop says.
pub async fn settle(call: Call, deed: Deed) -> Reply {
    let note = call.note().await?;
    // A run that is not there is 404, and one in another state 409: the loop says the first of both.
    let found = runs::found(&call).await?;
    let can_be_done = match deed {
        Deed::Cancel => is_open(&found.run),
        _ => found.run.state == RunState::Dead,
    };
    if !can_be_done {
        let text = format!("the run is {}", found.run.state.to_string().replace('_', " "));
        return Err(Problem::new(Code::CONFLICT, text));
    }
    let run = found.run.run.to_string();
    call.app.change(call.who()?, note, deed.request(run.clone(), None, None)).await?;
    answer(StatusCode::ACCEPTED, &SettledRun { run })
}

/// Does one thing to many.
///
/// # Errors
///
/// 409 if the count is another one, 422 for what cannot be done to them, and what the loop says.
pub async fn many(call: Call) -> Reply {
    call.refuse_key()?;
    let body: BulkBody = call.document().await?;
    check_note(body.note.as_deref())?;
    check_until(body.until.as_deref(), call.now.wall)?;
    if body.until.is_some() && body.r#do != Deed::Pause {
        return Err(Problem::new(Code::INVALID, "`until` is for a pause"));
    }
    if body.r#do.is_for_jobs() != (body.of == BulkKind::Jobs) {
        return Err(Problem::new(Code::INVALID, "that cannot be done to them"));
    }
    let mut ids = match (body.ids, body.filter) {
        (Some(ids), None) => ids,
        (None, Some(filter)) => chosen(&call, body.of, filter).await?,
        _ => return Err(Problem::new(Code::INVALID, "expected `ids` or `filter`")),
    };
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Bulk::check(ids.len())?;
    if body.preview {
        return ok(&ActionPreview { count: ids.len(), examples: &ids[..ids.len().min(10)] });
    }
    let count = ids.len();
    check_count(body.expected, count)?;
    let id = call.app.bulk.begin(&call.who()?.identity, count)?;
    let (app, who) = (Arc::clone(&call.app), call.who()?.clone());
    let (deed, note, until) = (body.r#do, body.note, body.until);
    // It continues after the answer.
    tokio::spawn(async move {
        for name in ids {
            let failure = app
                .change(&who, note.clone(), deed.request(name.clone(), until.clone(), note.clone()))
                .await
                .err();
            app.bulk.note(id, &name, failure);
        }
    });
    accepted(&call, id, count)
}

/// All that a filter matches, not only what a page shows.
async fn chosen(call: &Call, of: BulkKind, filter: HashMap<String, String>) -> Result<Vec<String>, Problem> {
    match of {
        BulkKind::Jobs => {
            let params = QueryParams::of(filter, &jobs::FILTERS)?;
            let found = jobs::chosen(&call.app, &params).await?;
            Ok(found.iter().map(|known| known.wire.name.clone()).collect())
        }
        BulkKind::Runs => {
            let params = QueryParams::of(filter, &runs::FILTERS)?;
            let found = runs::page(&call.app, &params, None, Bulk::MAX, MAX_LOOKED_AT).await?;
            if found.next.is_some() {
                let text = "more match than can be looked through at once: choose a job or a shorter time";
                return Err(Problem::new(Code::INVALID, text));
            }
            Ok(found.runs.iter().map(|run| run.run.to_string()).collect())
        }
    }
}

/// How far such a deed is.
///
/// # Errors
///
/// 404 if it is not known any more.
pub async fn progress(call: Call) -> Reply {
    let found = call.app.bulk.state(call.parameter("id"));
    ok(&found.ok_or_else(|| Problem::new(Code::NOT_FOUND, "that is not known any more"))?)
}
