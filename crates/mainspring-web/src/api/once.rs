//! One-shot jobs: those that wait, one that is asked for, a thousand at once, one that is withdrawn.
//!
//! `Idempotency-Key` is the key of `mainspring at --key`: the same again changes nothing, and is answered
//! with the first. What is done is a run of a job, for which the scope `operate` is enough, or work of one's
//! own, which can be any command.
//!
//! Cost: one question of the loop for each.
//!
//! Does not run jobs that are defined: it asks [`actions`](super::actions) for that.

use std::borrow::Cow;
use std::fmt;

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use jiff::Timestamp;
use mainspring_action::body::{ProcessBody, WebhookBody};
use mainspring_job::RunKey;
use mainspring_server::protocol::{MAX_VALUES, OnceWire, Request, Response, SubmitWire, WorkWire};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::actions::{RequestedRun, ask_for_run, check_due, moment_of};
use crate::call::{Call, Reply, document, json as answer, nothing, ok};
use crate::guard::check_scope;
use crate::object::{Object, optional};
use crate::problem::{Code, Problem, strange};
use crate::schema::{one_field_of, reference};
use crate::scope::Scope;
use crate::view::{Civils, List, address_of, civils};

/// The longest page.
const MAX_ROWS: usize = 1_000;

/// How many may be asked for at once: some seconds of the loop, between all others.
const MAX_BATCH: usize = 1_000;
const _: () = assert!(200 * MAX_BATCH <= MAX_VALUES, "jobs with a hundred variables each can be read");

/// Something to do once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnceParams {
    /// When it is due. A run of a job is due now if neither this nor `in` says it.
    #[schemars(with = "Option<Timestamp>")]
    at: Option<String>,
    /// From now on: 90s, 1h30m.
    r#in: Option<String>,
    /// The job of which this is a run, by all its rules, instead of `work`; without `name` and `policies`.
    job: Option<String>,
    /// What is done.
    #[serde(default, deserialize_with = "optional")]
    work: Option<Work>,
    /// Its name.
    name: Option<String>,
    /// As the header Idempotency-Key: the same again changes nothing.
    key: Option<String>,
    /// As in a note of a crontab: `retry=3 timeout=1h`.
    #[serde(default)]
    policies: String,
}

/// What is done: a process or a webhook, with the keys of the job file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Work {
    #[serde(default, deserialize_with = "optional")]
    process: Option<ProcessBody>,
    #[serde(default, deserialize_with = "optional")]
    webhook: Option<WebhookBody>,
}

/// The shapes of both are made of the tables of their keys.
impl JsonSchema for Work {
    fn schema_name() -> Cow<'static, str> {
        "Work".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What is done: a process or a webhook, with the keys of the job file.",
            "oneOf": one_field_of([("process", reference("Process")), ("webhook", reference("Webhook"))])
        })
    }
}

/// Many things to do once each.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OnceBatch")]
pub(crate) struct Batch {
    #[serde(deserialize_with = "few")]
    #[schemars(extend("maxItems" = MAX_BATCH))]
    items: Vec<OnceParams>,
}

/// Those of a batch, of which no more are read than may be: two bytes of one become a kilobyte.
fn few<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<OnceParams>, D::Error> {
    struct FewVisitor;
    impl<'de> Visitor<'de> for FewVisitor {
        type Value = Vec<OnceParams>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Vec<OnceParams>, A::Error> {
            let mut items = Vec::new();
            while let Some(Object(item)) = all.next_element()? {
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

/// A one-shot job that waits, as `show` has it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Once {
    /// As the command line has it.
    #[serde(flatten)]
    wire: OnceWire,
    /// Its address; cancelling takes a name as well.
    id: String,
    /// In the zone of the server.
    civil: Civils,
}

impl Once {
    fn new(call: &Call, wire: OnceWire) -> Once {
        let times = [("due", Some(wire.due)), ("submitted", Some(wire.submitted))];
        Once { id: wire.name.clone(), civil: civils(&call.app.zone, times), wire }
    }
}

/// One-shot jobs that wait.
///
/// # Errors
///
/// 400 for a parameter that is none.
pub async fn list(call: Call) -> Reply {
    let params = &call.params;
    let limit = params.number("limit", 100, MAX_ROWS)?;
    let after = params.get("after").map(str::to_owned);
    let found = call.app.pool.look(Request::Pending { after, limit }).await?;
    let Response::Pending { pending, after } = found else { return Err(strange()) };
    let total = after.is_none().then_some(pending.len()).filter(|_| params.get("after").is_none());
    let items = pending.into_iter().map(|wire| Once::new(&call, wire)).collect();
    ok(&List { items, next: after, total })
}

/// One of them.
///
/// # Errors
///
/// 404 if none waits under that name, and what the loop says.
pub async fn show(call: Call) -> Reply {
    let id = call.parameter("id").to_owned();
    match call.app.pool.look(Request::Show { job: id.clone() }).await? {
        Response::Once(wire) => ok(&Once::new(&call, wire)),
        _ => Err(Problem::new(Code::NOT_FOUND, format!("no one-shot job `{id}` waits"))),
    }
}

/// Does one thing that is asked for: a run of a job, which is all that its definition says, or work of one's
/// own, which needs the scope `define`.
async fn submit(call: &Call, params: OnceParams) -> Result<Submission, Problem> {
    let wrong = |text: &str| Problem::new(Code::INVALID, text);
    let submitted = |is_new, id: Option<String>, due, state| {
        let name = id.clone();
        Submission { id, name, run: None, due, is_new, state }
    };
    let due = moment_of(params.at.as_deref(), params.r#in.as_deref(), call.now.wall)?;
    let key = call.key(params.key)?;
    match (params.job, params.work) {
        (Some(job), None) if params.policies.is_empty() && params.name.is_none() => {
            check_due(due, call.now.wall)?;
            let RequestedRun { run, due, earlier } = ask_for_run(call, job, due, key).await?;
            let due = due_of(call, &run, &earlier).await.or(due).or(Some(run.nominal));
            let is_new = earlier.is_none();
            let state = earlier.unwrap_or_else(|| Some("scheduled".to_owned()));
            let run = Some(run.to_string());
            Ok(Submission { run: run.clone(), ..submitted(is_new, run, due, state) })
        }
        (Some(_), None) => Err(wrong("`policies` and `name` are those of the job")),
        (None, Some(work)) => {
            check_scope(&call.app, call.who()?, Scope::Define)?;
            let work = own(work, params.policies)?;
            let due = due.ok_or_else(|| wrong("expected `at` or `in`"))?;
            let submission =
                SubmitWire { due: due.to_string(), name: params.name, key, work, ..SubmitWire::default() };
            match call.app.change(call.who()?, None, Request::Submit(Box::new(submission))).await? {
                Response::Submitted { name, due } => {
                    Ok(submitted(true, Some(name), Some(due), Some("pending".to_owned())))
                }
                Response::Duplicate { name, due, state, .. } => Ok(submitted(false, name, due, state)),
                _ => Err(strange()),
            }
        }
        _ => Err(no_work()),
    }
}

/// When a run is due that was there already: the name of one that waits has the time of its request.
async fn due_of(call: &Call, run: &RunKey, earlier: &Option<Option<String>>) -> Option<Timestamp> {
    earlier.as_ref()?;
    match call.app.pool.look(Request::Find { run: run.to_string() }).await {
        Ok(Response::Found(found)) => Some(found.run.due),
        _ => None,
    }
}

fn no_work() -> Problem {
    Problem::new(Code::INVALID, "expected `job` or `work`")
}

/// Reads a submission as far as it says what is done.
///
/// # Errors
///
/// 422 for what is none.
pub(crate) fn read(body: &[u8]) -> Result<(), Problem> {
    let OnceParams { job, work, .. } = document(body)?;
    if job.is_some() == work.is_some() { Err(no_work()) } else { Ok(()) }
}

/// What became of a submission.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Submitted")]
pub struct Submission {
    /// Its address below `once`; of a run of a job the same as `run`.
    id: Option<String>,
    name: Option<String>,
    /// The run of a job, which is among `runs` and never below `once`; null for work of one's own.
    run: Option<String>,
    due: Option<Timestamp>,
    /// Whether it was not there already.
    is_new: bool,
    /// `pending`, or the state of its run where it was there already.
    state: Option<String>,
}

impl Submission {
    fn status(&self) -> StatusCode {
        if self.is_new { StatusCode::CREATED } else { StatusCode::OK }
    }
}

/// What became of many.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OnceAnswers {
    items: Vec<OnceAnswer>,
}

/// What became of one of them: its document, or what is wrong with it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
enum OnceAnswer {
    Submitted {
        status: u16,
        #[serde(flatten)]
        submitted: Submission,
    },
    Refused {
        status: u16,
        detail: String,
    },
}

impl OnceAnswer {
    fn new(answer: Result<Submission, Problem>) -> OnceAnswer {
        match answer {
            Ok(submitted) => OnceAnswer::Submitted { status: submitted.status().as_u16(), submitted },
            Err(Problem { code, detail, .. }) => {
                OnceAnswer::Refused { status: code.status().as_u16(), detail }
            }
        }
    }
}

/// Work that stands in the request.
fn own(work: Work, policies: String) -> Result<WorkWire, Problem> {
    let (process, webhook) = match (work.process, work.webhook) {
        (Some(process), None) => (process, None),
        (None, Some(webhook)) => (ProcessBody::default(), Some(webhook)),
        _ => return Err(Problem::new(Code::INVALID, "expected `work.process` or `work.webhook`")),
    };
    Ok(WorkWire { process, webhook, handler: None, policies })
}

/// Does something once.
///
/// # Errors
///
/// 403 for work of one's own without the scope `define`, 409 for a name that is taken, 422 for what cannot be
/// understood, and what the loop says.
pub async fn create(call: Call) -> Reply {
    let document = submit(&call, call.document().await?).await?;
    let id = document.id.as_deref().unwrap_or_default();
    let place = id.parse().map_or_else(|_| format!("api/v1/once/{id}"), |run| address_of(&run));
    Ok(([(LOCATION, call.link(&place))], answer(document.status(), &document)?).into_response())
}

/// Does many things once each. One that cannot be done leaves the others as they are.
///
/// # Errors
///
/// 422 for what cannot be understood; what is wrong with one of them stands in its answer.
pub async fn create_many(call: Call) -> Reply {
    call.refuse_key()?;
    let Batch { items: all } = call.document().await?;
    let mut items = Vec::with_capacity(all.len());
    for params in all {
        items.push(OnceAnswer::new(submit(&call, params).await));
    }
    ok(&OnceAnswers { items })
}

/// Withdraws one that waits.
///
/// # Errors
///
/// 404 if none waits under that name, and what the loop says.
pub async fn withdraw(call: Call) -> Reply {
    let id = call.parameter("id").to_owned();
    let Response::Once(_) = call.app.pool.look(Request::Show { job: id.clone() }).await? else {
        return Err(Problem::new(Code::NOT_FOUND, format!("no one-shot job `{id}` waits")));
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
