//! What people do: run, pause, resume, backfill, cancel, retry, drop; one, or many at once after a preview.
//!
//! ```text
//! POST ─▶ request of protocol.rs, with who asks ─▶ the loop: on disk ─▶ answer, audit, a line of the log
//! ```
//!
//! Cost: one question of the loop each.
//!
//! Does not decide whether it can be done: the loop does.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::{StatusCode, Uri};
use jiff::Timestamp;
use mainspring_server::protocol::{PauseWire, Request, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::jobs::moment;
use super::{jobs, look, runs};
use crate::bulk::{Bulk, Deed};
use crate::call::{Call, Reply, json as answer, ok, parameters};
use crate::catalogue::strange;
use crate::problem::{Code, Problem};
use crate::view::detail;

/// How far from the server's clock a click may say that it was: browsers have clocks of their own.
const MAX_CLICK_SECONDS: i64 = 60;

/// The longest note.
const MAX_NOTE_CHARS: usize = 1_000;

/// How many times a preview of a backfill tells.
const MAX_TIMES: usize = 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunAsked {
    at: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Noted {
    note: Option<String>,
    until: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Backfill {
    from: String,
    to: String,
    #[serde(default)]
    preview: bool,
    expected: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Many {
    r#do: Deed,
    of: Of,
    ids: Option<Vec<String>>,
    filter: Option<HashMap<String, String>>,
    note: Option<String>,
    until: Option<String>,
    #[serde(default)]
    preview: bool,
    expected: Option<usize>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Of {
    Jobs,
    Runs,
}

impl Call {
    /// What somebody says about what they do.
    fn noted(&self) -> Result<Noted, Problem> {
        let noted: Noted = self.document()?;
        check_note(noted.note.as_deref(), noted.until.as_deref())?;
        Ok(noted)
    }

    /// Notes what somebody did.
    pub(super) fn log(
        &self,
        code: &'static str,
        text: &str,
        job: Option<&str>,
        run: Option<&str>,
        note: Option<&str>,
    ) {
        let actor = self.who.as_ref().map_or("", |who| who.name.as_str());
        self.app.audit.add(self.now, actor, code, text, job, run, note);
    }
}

fn check_note(note: Option<&str>, until: Option<&str>) -> Result<(), Problem> {
    if note.is_some_and(|note| MAX_NOTE_CHARS < note.chars().count()) {
        return Err(Problem::new(Code::Invalid, format!("`note` has at most {MAX_NOTE_CHARS} characters")));
    }
    match until {
        None => Ok(()),
        Some(_) => {
            let text = "`until` is not known yet: a pause lasts until somebody resumes it";
            Err(Problem::new(Code::Invalid, text))
        }
    }
}

/// Runs a job now.
///
/// # Errors
///
/// 404 if there is none, 422 for a click of another time, and what the loop says.
pub async fn run(call: Call) -> Reply {
    let asked: RunAsked = call.document()?;
    let job = call.parameter("job").to_owned();
    let at = asked.at.unwrap_or_else(|| call.now.wall.to_string());
    let clicked: Timestamp =
        at.parse().map_err(|_| Problem::new(Code::Invalid, "`at` must be a time in RFC 3339"))?;
    if MAX_CLICK_SECONDS < (clicked.as_second() - call.now.wall.as_second()).abs() {
        return Err(Problem::new(Code::Invalid, "`at` must be within a minute of now"));
    }
    if let Some(run) = call.app.clicked(&job, &at, call.now) {
        return ok(&json!({ "run": run, "href": href(&run) }));
    }
    let answered = call.app.change(call.who()?, Request::Run { job: job.clone(), wait: false }).await?;
    let Response::Planned { run } = answered else { return Err(strange()) };
    call.app.click(&job, &at, &run, call.now);
    call.log("run", &format!("ran {job}"), Some(&job), Some(&run), None);
    let mut response = answer(StatusCode::ACCEPTED, &json!({ "run": run, "href": href(&run) }))?;
    if let Ok(value) = href(&run).parse() {
        response.headers_mut().insert("location", value);
    }
    Ok(response)
}

/// The address of a run, below the base.
fn href(run: &str) -> String {
    let (job, rest) = run.rsplit_once('@').unwrap_or((run, ""));
    let (nominal, series) = rest.split_once('#').unwrap_or((rest, "0"));
    format!("api/v1/runs/{job}/{nominal}/{series}")
}

/// Lets a job rest.
///
/// # Errors
///
/// 404 if there is none, and what the loop says.
pub async fn pause(call: Call) -> Reply {
    let noted = call.noted()?;
    rest(call, "pause", noted.note).await
}

/// Lets a job go on.
///
/// # Errors
///
/// As [`pause`].
pub async fn resume(call: Call) -> Reply {
    let noted = call.noted()?;
    rest(call, "resume", noted.note).await
}

async fn rest(call: Call, code: &'static str, note: Option<String>) -> Reply {
    let job = call.parameter("job").to_owned();
    let request = match code {
        "pause" => Request::Pause(PauseWire {
            job: Some(job.clone()),
            note: note.clone().unwrap_or_default(),
            ..PauseWire::default()
        }),
        _ => Request::Resume { job: Some(job.clone()) },
    };
    call.app.change(call.who()?, request).await?;
    call.log(code, &format!("{code}d {job}"), Some(&job), None, note.as_deref());
    let known = call.app.catalogue.job(&call.app.pool, &job).await?;
    let recent = call.app.catalogue.recent(&call.app.pool, &known).await?;
    ok(&detail(&call.app, &known, &recent, call.now.wall))
}

/// Lets everything rest.
///
/// # Errors
///
/// What the loop says.
pub async fn pause_all(call: Call) -> Reply {
    let noted = call.noted()?;
    let pause = PauseWire { note: noted.note.clone().unwrap_or_default(), ..PauseWire::default() };
    call.app.change(call.who()?, Request::Pause(pause)).await?;
    call.log("pause", "paused everything", None, None, noted.note.as_deref());
    ok(&look::status_of(&call.app, call.who()?, call.now.wall).await?)
}

/// Lets everything go on.
///
/// # Errors
///
/// What the loop says.
pub async fn resume_all(call: Call) -> Reply {
    let noted = call.noted()?;
    call.app.change(call.who()?, Request::Resume { job: None }).await?;
    call.log("resume", "resumed everything", None, None, noted.note.as_deref());
    ok(&look::status_of(&call.app, call.who()?, call.now.wall).await?)
}

/// Runs a job for times that have passed.
///
/// # Errors
///
/// 404 if there is none, 409 if the count is another one, and what the loop says.
pub async fn backfill(call: Call) -> Reply {
    let asked: Backfill = call.document()?;
    let job = call.parameter("job").to_owned();
    let request = |preview| Request::Backfill {
        job: job.clone(),
        from: asked.from.clone(),
        to: asked.to.clone(),
        preview,
    };
    let Response::Preview { times } = call.app.pool.look(request(true)).await? else {
        return Err(strange());
    };
    let count = times.len();
    if asked.preview {
        let known = call.app.catalogue.job(&call.app.pool, &job).await?;
        let plan = known.plan.as_ref().ok_or_else(strange)?;
        let shown = times.iter().take(MAX_TIMES).filter_map(|at| Some(moment(at.parse().ok()?, plan)));
        return ok(&json!({ "count": count, "times": shown.collect::<Vec<_>>() }));
    }
    if asked.expected.is_some_and(|expected| expected != count) {
        return Err(Problem::new(Code::Changed, format!("it is {count} now")));
    }
    let answered = call.app.change(call.who()?, request(false)).await?;
    let Response::Backfilled { count, .. } = answered else { return Err(strange()) };
    call.log("backfill", &format!("asked for {count} runs of {job} again"), Some(&job), None, None);
    let id = call.app.bulk.finished(count);
    answer(StatusCode::ACCEPTED, &json!({ "count": count, "id": id, "href": format!("api/v1/actions/{id}") }))
}

async fn settle(call: Call, code: &'static str, request: fn(String) -> Request) -> Reply {
    let noted = call.noted()?;
    // A run that is not there is 404, and one in another state 409: the loop says the first of both.
    let found = runs::found(&call).await?;
    let is_open = found.run.ended.is_none();
    if (code == "cancel") != is_open || (code != "cancel" && found.run.state != "dead") {
        let text = format!("the run is {}", found.run.state.replace('_', " "));
        return Err(Problem::new(Code::Conflict, text));
    }
    let run = found.run.run;
    call.app.change(call.who()?, request(run.clone())).await?;
    call.log(code, &format!("{code} of {run}"), Some(&found.run.job), Some(&run), noted.note.as_deref());
    answer(StatusCode::ACCEPTED, &json!({ "run": run }))
}

/// Ends a run.
///
/// # Errors
///
/// 404, 409 if it is not open, and what the loop says.
pub async fn cancel(call: Call) -> Reply {
    settle(call, "cancel", |of| Request::Cancel { of }).await
}

/// Runs a dead letter again.
///
/// # Errors
///
/// 404, 409 if it is none, and what the loop says.
pub async fn retry(call: Call) -> Reply {
    settle(call, "retry", |run| Request::DeadRetry { run }).await
}

/// Lets go of a dead letter.
///
/// # Errors
///
/// As [`retry`].
pub async fn let_go(call: Call) -> Reply {
    settle(call, "drop", |run| Request::DeadDrop { run }).await
}

/// Does one thing to many.
///
/// # Errors
///
/// 409 if the count is another one, 422 for what cannot be done to them, and what the loop says.
pub async fn many(call: Call) -> Reply {
    let asked: Many = call.document()?;
    check_note(asked.note.as_deref(), asked.until.as_deref())?;
    if asked.r#do.is_for_jobs() != (asked.of == Of::Jobs) {
        return Err(Problem::new(Code::Invalid, "that cannot be done to them"));
    }
    let ids = match (asked.ids, asked.filter) {
        (Some(ids), None) => ids,
        (None, Some(filter)) => chosen(&call, asked.of, &filter).await?,
        _ => return Err(Problem::new(Code::Invalid, "expected `ids` or `filter`")),
    };
    Bulk::check(ids.len())?;
    if asked.preview {
        let examples: Vec<&String> = ids.iter().take(10).collect();
        return ok(&json!({ "count": ids.len(), "examples": examples }));
    }
    if asked.expected.is_some_and(|expected| expected != ids.len()) {
        return Err(Problem::new(Code::Changed, format!("it is {} now", ids.len())));
    }
    let count = ids.len();
    let name = asked.r#do.name();
    call.log(name, &format!("{name} of {count}"), None, None, asked.note.as_deref());
    let id = call.app.bulk.begin(count)?;
    let (app, who, deed) = (Arc::clone(&call.app), call.who()?.clone(), asked.r#do);
    // It goes on after the answer.
    tokio::spawn(async move {
        for name in ids {
            let failure = app.change(&who, deed.request(name.clone())).await.err();
            app.bulk.note(id, &name, failure);
        }
    });
    answer(
        StatusCode::ACCEPTED,
        &json!({ "id": id.to_string(), "count": count, "href": format!("api/v1/actions/{id}") }),
    )
}

/// All that a filter matches, not only what a page shows.
async fn chosen(call: &Call, of: Of, filter: &HashMap<String, String>) -> Result<Vec<String>, Problem> {
    let query: Vec<String> =
        filter.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    let uri: Uri = format!("/?{}", query.join("&"))
        .parse()
        .map_err(|_| Problem::new(Code::Invalid, "the filter cannot be read"))?;
    match of {
        Of::Jobs => {
            let asked = parameters(&uri, &jobs::FILTERS)?;
            let found = jobs::chosen(&call.app, &asked).await?;
            Ok(found.iter().map(|known| known.wire.name.clone()).collect())
        }
        Of::Runs => {
            let asked = parameters(&uri, &runs::FILTERS)?;
            let (found, is_cut) = runs::chosen(&call.app, &asked, Bulk::MAX).await?;
            if is_cut {
                let text = "more match than can be looked through at once: choose a job or a shorter time";
                return Err(Problem::new(Code::Invalid, text));
            }
            Ok(found.into_iter().map(|run| run.run).collect())
        }
    }
}

/// A text as a part of a query.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// How far such a deed is.
///
/// # Errors
///
/// 404 if it is not known any more.
pub async fn progress(call: Call) -> Reply {
    call.asked()?;
    let found: Option<Value> = call.app.bulk.state(call.parameter("id"));
    ok(&found.ok_or_else(|| Problem::new(Code::NotFound, "that is not known any more"))?)
}
