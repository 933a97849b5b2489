//! One-shot jobs: those that wait, one that is asked for, a thousand at once, one that is withdrawn.
//!
//! `Idempotency-Key` is the key of `mainspring at --key`: the same again changes nothing, and is answered
//! with the first. What is done is a run of a job, for which the scope `operate` is enough, or work of one's
//! own, which can be any command.
//!
//! Cost: one question of the loop for each.
//!
//! Does not run jobs that are defined: it asks [`actions`](super::actions) for that.

use std::fmt;

use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use mainspring_action::body::{ProcessBody, WebhookBody};
use mainspring_server::protocol::{OnceWire, Request, Response, SubmitWire, WorkWire};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::actions::{AskedRun, ask_for_run, moment_of};
use crate::call::{Call, Reply, json as answer, nothing, ok};
use crate::catalogue::strange;
use crate::guard::check_scope;
use crate::problem::{Code, Problem};
use crate::scope::Scope;
use crate::view::{address_of, civils, fields};

/// The longest page.
const MAX_ROWS: usize = 1_000;

/// How many may be asked for at once: some seconds of the loop, between all others.
const MAX_BATCH: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnceAsked {
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
pub(crate) struct Batch {
    #[serde(deserialize_with = "few")]
    items: Vec<OnceAsked>,
}

/// Those of a batch, of which no more are read than may be: two bytes of one become a kilobyte.
fn few<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<OnceAsked>, D::Error> {
    struct FewVisitor;
    impl<'de> Visitor<'de> for FewVisitor {
        type Value = Vec<OnceAsked>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Vec<OnceAsked>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = all.next_element()? {
                if items.len() == MAX_BATCH {
                    return Err(A::Error::custom(format!("at most {MAX_BATCH} at once")));
                }
                items.push(item);
            }
            Ok(items)
        }
    }
    from.deserialize_seq(FewVisitor)
}

fn document(call: &Call, wire: &OnceWire) -> Map<String, Value> {
    let mut document = fields(wire);
    // Cancelling takes a name as well as an id.
    document.insert("id".to_owned(), json!(wire.name));
    let times = [("due", Some(wire.due)), ("submitted", Some(wire.submitted))];
    document.insert("civil".to_owned(), civils(&times, &call.app.zone));
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

/// Does one thing that is asked for: a run of a job, which is all that its definition says, or work of one's
/// own, which needs the scope `define`. Tells its status, and its document.
async fn submit(call: &Call, asked: OnceAsked, key: Option<String>) -> Result<(StatusCode, Value), Problem> {
    let wrong = |text: &str| Problem::new(Code::Invalid, text);
    let due = moment_of(asked.at.as_deref(), asked.r#in.as_deref(), call.now.wall)?;
    let (due, key) = (due.ok_or_else(|| wrong("expected `at` or `in`"))?, asked.key.or(key));
    match (asked.job, asked.work) {
        (Some(job), None) if asked.policies.is_empty() && asked.name.is_none() => {
            let AskedRun { run, earlier } = ask_for_run(call, job, Some(due), key).await?;
            let run = run.to_string();
            Ok(match earlier {
                Some(state) => submitted(StatusCode::OK, Some(&run), None, state.as_deref()),
                None => {
                    let due = due.max(call.now.wall);
                    submitted(StatusCode::CREATED, Some(&run), Some(due), Some("scheduled"))
                }
            })
        }
        (Some(_), None) => Err(wrong("`policies` and `name` are those of the job")),
        (None, Some(work)) => {
            check_scope(call.who()?, Scope::Define)?;
            let work = own(work, asked.policies)?;
            let submission = SubmitWire { due: due.to_string(), name: asked.name, key, work };
            match call.app.change(call.who()?, None, Request::Submit(Box::new(submission))).await? {
                Response::Submitted { name, due } => {
                    Ok(submitted(StatusCode::CREATED, Some(&name), Some(due), Some("pending")))
                }
                Response::Duplicate { name, due, state, .. } => {
                    Ok(submitted(StatusCode::OK, name.as_deref(), due, state.as_deref()))
                }
                _ => Err(strange()),
            }
        }
        _ => Err(wrong("expected `job` or `work`")),
    }
}

/// The status and the document of one that is new, or that was there already.
fn submitted(
    status: StatusCode,
    id: Option<&str>,
    due: Option<Timestamp>,
    state: Option<&str>,
) -> (StatusCode, Value) {
    let is_new = status == StatusCode::CREATED;
    (status, json!({ "id": id, "name": id, "due": due, "is_new": is_new, "state": state }))
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

/// Does something once.
///
/// # Errors
///
/// 403 for work of one's own without the scope `define`, 409 for a name that is taken, 422 for what cannot be
/// understood, and what the loop says.
pub async fn create(call: Call) -> Reply {
    call.asked()?;
    let (status, document) = submit(&call, call.document().await?, call.idempotency_key()?).await?;
    let mut response = answer(status, &document)?;
    let id = document["id"].as_str().unwrap_or_default();
    let place = id.parse().map_or_else(|_| format!("api/v1/once/{id}"), |run| address_of(&run));
    let place = call.link(&place);
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
    let Batch { items } = call.document().await?;
    let mut answers = Vec::with_capacity(items.len());
    for asked in items {
        answers.push(match submit(&call, asked, None).await {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_of_a_batch_is_read_than_may_be() {
        let batch = |count: usize, end: &str| {
            let text = format!("{{\"items\":[{}{end}", vec!["{}"; count].join(","));
            serde_json::from_str::<Batch>(&text)
                .map(|batch| batch.items.len())
                .map_err(|error| error.to_string())
        };
        assert_eq!(batch(MAX_BATCH, "]}"), Ok(MAX_BATCH));
        let refused = batch(MAX_BATCH + 1, ",what is behind is not looked at").expect_err("it is too long");
        assert!(refused.contains("at most 1000 at once"), "{refused}");
    }
}
