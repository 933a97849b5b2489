//! One-shot jobs: those that wait, one that is asked for, a thousand at once, one that is withdrawn.
//!
//! `Idempotency-Key` is the key of `mainspring at --key`: the same again changes nothing, and is answered
//! with the first. What is done is the work of a job, for which the scope `operate` is enough, or work of
//! one's own, which can be any command.
//!
//! Cost: one question of the loop for each.
//!
//! Does not run jobs that are defined: see [`actions`](super::actions).

use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use jiff::SignedDuration;
use mainspring_action::body::{Body, ProcessBody, WebhookBody};
use mainspring_cron::TimeText;
use mainspring_file::jobfile::JobFile;
use mainspring_file::source::Source;
use mainspring_server::protocol::{OnceWire, Request, Response, SubmitWire, WorkWire};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::call::{Call, Reply, json as answer, nothing, ok};
use crate::catalogue::strange;
use crate::guard::check_scope;
use crate::problem::{Code, Problem};
use crate::scope::Scope;
use crate::view::{civils, fields};

/// The longest page.
const MAX_ROWS: usize = 1_000;

/// How many may be asked for at once: some seconds of the loop, between all others.
const MAX_BATCH: usize = 1_000;

/// The header with a key.
const KEY: &str = "idempotency-key";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnceAsked {
    at: Option<String>,
    r#in: Option<String>,
    job: Option<String>,
    work: Option<Work>,
    name: Option<String>,
    key: Option<String>,
    #[serde(default)]
    policies: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Work {
    process: Option<ProcessBody>,
    webhook: Option<WebhookBody>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    items: Vec<OnceAsked>,
}

fn document(call: &Call, wire: &OnceWire) -> Map<String, Value> {
    let mut document = fields(wire);
    // Cancelling takes a name as well as an id.
    document.insert("id".to_owned(), json!(wire.name));
    document.insert("civil".to_owned(), civils(&document, &["due", "submitted"], &call.app.zone));
    document
}

/// One-shot jobs that wait.
///
/// # Errors
///
/// 400 for a parameter that is none.
pub async fn list(call: Call) -> Reply {
    let asked = call.asked()?;
    let limit = asked.number("limit", 100, MAX_ROWS)?;
    let after = asked.get("after").map(str::to_owned);
    let found = call.app.pool.look(Request::Pending { after, limit }).await?;
    let Response::Pending { pending, after } = found else { return Err(strange()) };
    let total = after.is_none().then_some(pending.len()).filter(|_| asked.get("after").is_none());
    let items: Vec<_> = pending.iter().map(|wire| document(&call, wire)).collect();
    ok(&json!({ "items": items, "next": after, "total": total }))
}

/// One of them.
///
/// # Errors
///
/// 404 if none waits under that name, and what the loop says.
pub async fn show(call: Call) -> Reply {
    call.asked()?;
    let id = call.parameter("id").to_owned();
    match call.app.pool.look(Request::Show { job: id.clone() }).await? {
        Response::Once(wire) => ok(&document(&call, &wire)),
        _ => Err(Problem::new(Code::NotFound, format!("no one-shot job `{id}` waits"))),
    }
}

/// What is asked for, as the loop takes it. Work of one's own needs the scope `define`; that of a job is
/// defined already.
async fn submission(call: &Call, asked: OnceAsked, key: Option<String>) -> Result<SubmitWire, Problem> {
    let wrong = |text: &str| Problem::new(Code::Invalid, text);
    let due = match (asked.at, asked.r#in) {
        (Some(at), None) => TimeText::instant(&at)
            .map_err(|error| wrong(&format!("`at` must be a time in RFC 3339: {error}")))?,
        (None, Some(span)) => {
            let span: SignedDuration =
                span.parse().map_err(|_| wrong("`in` must be a duration such as 90s or 1h30m"))?;
            call.now.wall.checked_add(span).map_err(|_| wrong("`in` is too far away"))?
        }
        _ => return Err(wrong("expected `at` or `in`")),
    };
    let work = match (asked.job, asked.work) {
        (Some(job), None) if asked.policies.is_empty() => of_job(call, &job).await?,
        (Some(_), None) => return Err(wrong("`policies` are those of the job")),
        (None, Some(work)) => {
            check_scope(call.who()?, Scope::Define)?;
            own(work, asked.policies)?
        }
        _ => return Err(wrong("expected `job` or `work`")),
    };
    Ok(SubmitWire { due: due.to_string(), name: asked.name, key: asked.key.or(key), work })
}

/// Work that stands in the request.
fn own(work: Work, policies: String) -> Result<WorkWire, Problem> {
    let (process, webhook) = match (work.process, work.webhook) {
        (Some(process), None) => (process, None),
        (None, Some(webhook)) => (ProcessBody::default(), Some(webhook)),
        _ => return Err(Problem::new(Code::Invalid, "expected `work.process` or `work.webhook`")),
    };
    Ok(WorkWire { process, webhook, policies })
}

/// The work of a job, with its policies.
async fn of_job(call: &Call, name: &str) -> Result<WorkWire, Problem> {
    let known = call.app.catalogue.job(&call.app.pool, name).await?;
    let unreadable = || Problem::new(Code::Failed, format!("the definition of `{name}` cannot be read"));
    let read = JobFile::parse(&Source::new("definition", known.definition.as_str()), &call.app.zone);
    let job = read.jobs.into_iter().next().ok_or_else(unreadable)?.job;
    let policies = job.work.policies.to_string();
    match Body::decode(&job.work.action).map_err(|_| unreadable())? {
        Body::Process(process) => Ok(WorkWire { process, webhook: None, policies }),
        Body::Webhook(webhook) => {
            Ok(WorkWire { process: ProcessBody::default(), webhook: Some(webhook), policies })
        }
        Body::Mail(_) | Body::Handler(_) => {
            let text = format!("`{name}` starts no process and calls no webhook: run it instead");
            Err(Problem::new(Code::Invalid, text))
        }
    }
}

/// What came of one: its status, and its document.
async fn submit(call: &Call, submission: SubmitWire) -> Result<(StatusCode, Value), Problem> {
    let request = Request::Submit(Box::new(submission));
    match call.app.change(call.who()?, None, request).await? {
        Response::Submitted { name, due } => {
            let state = "pending";
            let document = json!({ "id": name, "name": name, "due": due, "is_new": true, "state": state });
            Ok((StatusCode::CREATED, document))
        }
        Response::Duplicate { name, due, state, .. } => {
            let document = json!({ "id": name, "name": name, "due": due, "is_new": false, "state": state });
            Ok((StatusCode::OK, document))
        }
        _ => Err(strange()),
    }
}

/// Does something once.
///
/// # Errors
///
/// 403 for work of one's own without the scope `define`, 409 for a name that is taken, 422 for what cannot be
/// understood, and what the loop says.
pub async fn create(call: Call) -> Reply {
    call.asked()?;
    let key = call.headers.get(KEY).map(|value| value.to_str().map(str::to_owned)).transpose();
    let key = key.map_err(|_| Problem::new(Code::Usage, "the key must be plain text"))?;
    let (status, document) = submit(&call, submission(&call, call.document()?, key).await?).await?;
    let mut response = answer(status, &document)?;
    let place = format!("api/v1/once/{}", document["id"].as_str().unwrap_or_default());
    response.headers_mut().extend(HeaderValue::from_str(&place).ok().map(|place| (LOCATION, place)));
    Ok(response)
}

/// Does many things once each. One that cannot be done leaves the others as they are.
///
/// # Errors
///
/// 422 for what cannot be understood; what is wrong with one of them stands in its answer.
pub async fn create_many(call: Call) -> Reply {
    call.asked()?;
    let Batch { items } = call.document()?;
    if MAX_BATCH < items.len() {
        return Err(Problem::new(Code::Invalid, format!("at most {MAX_BATCH} at once")));
    }
    let mut answers = Vec::with_capacity(items.len());
    for asked in items {
        let found = match submission(&call, asked, None).await {
            Ok(submission) => submit(&call, submission).await,
            Err(problem) => Err(problem),
        };
        answers.push(match found {
            Ok((status, mut document)) => {
                document["status"] = json!(status.as_u16());
                document
            }
            Err(problem) => json!({ "status": problem.code.status().as_u16(), "detail": problem.detail }),
        });
    }
    ok(&json!({ "items": answers }))
}

/// Withdraws one that waits.
///
/// # Errors
///
/// 404 if none waits under that name, and what the loop says.
pub async fn withdraw(call: Call) -> Reply {
    call.asked()?;
    let id = call.parameter("id").to_owned();
    let Response::Once(_) = call.app.pool.look(Request::Show { job: id.clone() }).await? else {
        return Err(Problem::new(Code::NotFound, format!("no one-shot job `{id}` waits")));
    };
    call.app.change(call.who()?, None, Request::Cancel { of: id.clone() }).await?;
    Ok(nothing())
}
