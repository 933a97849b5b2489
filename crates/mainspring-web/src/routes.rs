//! All routes: which method and path, who may, in one sentence what it is, and what answers.
//!
//! The router, the check of scopes, the description for programs, the list of the manual and the test of
//! scopes are made of this table, so a route that does not say who may ask does not exist.
//!
//! Cost: none.
//!
//! Does not answer: see [`api`](crate::api).

use crate::api::{
    actions, define, events, explain, files, jobs, log, meta, once, overview, requests, runs, upcoming,
};
use crate::bulk::{ActionState, Deed};
use crate::route::Content::{Json, Media, Nothing};
use crate::route::{Access, Route};
use crate::schema::of;
use crate::scope::Scope;
use crate::view::{FileState, JobDetail, List, Run};

const ANYBODY: Access = Access::Anybody;
const METRICS: Access = Access::Needs(Scope::Metrics);
const LOOK: Access = Access::Needs(Scope::Look);
const OPERATE: Access = Access::Needs(Scope::Operate);
const DEFINE: Access = Access::Needs(Scope::Define);

/// All of them.
pub const ROUTES: &[Route] = &[
    Route::get(ANYBODY, "/", "the page", &meta::index).with_answers(&[(200, Media(&["text/html"]))]),
    Route::get(ANYBODY, "/assets/{hash}/{name}", "a file of the page", &meta::asset)
        .with_answers(&[(200, Media(&["*/*"]))]),
    Route::get(ANYBODY, "/livez", "whether the listener answers", &meta::livez)
        .with_answers(&[(200, Media(&["text/plain"]))]),
    Route::get(ANYBODY, "/readyz", "whether the server answers and records", &meta::readyz)
        .with_answers(&[(200, Media(&["text/plain"]))]),
    Route::get(METRICS, "/metrics", "the metrics, for Prometheus", &meta::metrics)
        .with_answers(&[(200, Media(&["application/openmetrics-text", "text/plain"]))]),
    Route::get(LOOK, "/api/v1/openapi.json", "this description", &meta::openapi)
        .with_answers(&[(200, Json(of::<meta::OpenApi>))]),
    Route::post(ANYBODY, "/api/v1/session", "signs in with a token or a code", &meta::sign_in)
        .with_body_read::<meta::SignInWire>(|body| meta::proof(body).map(drop))
        .with_answers(&[(204, Nothing)])
        .with_refusals(&[401]),
    Route::delete(METRICS, "/api/v1/session", "signs out", &meta::sign_out).with_answers(&[(204, Nothing)]),
    Route::get(LOOK, "/api/v1/status", "how the server is", &overview::status)
        .with_answers(&[(200, Json(of::<overview::Status>))]),
    Route::get(LOOK, "/api/v1/health", "what is in trouble, as doctor says it", &overview::health)
        .with_answers(&[(200, Json(of::<overview::Health>))]),
    Route::get(LOOK, "/api/v1/jobs", "the jobs, filtered and sorted", &jobs::list)
        .with_query(&["q", "state", "group", "label", "source", "sort", "after", "limit"])
        .with_answers(&[(200, Json(of::<jobs::JobList<'static>>))]),
    Route::post(DEFINE, "/api/v1/jobs", "makes a job", &define::create)
        .with_body_read::<define::DefineParams>(define::read_definition)
        .with_answers(&[(201, Json(of::<JobDetail<'static>>))])
        .with_refusals(&[409]),
    Route::get(LOOK, "/api/v1/jobs/{job}", "one job with its definition", &jobs::show)
        .with_answers(&[(200, Json(of::<JobDetail<'static>>))]),
    Route::put(
        DEFINE,
        "/api/v1/jobs/{job}",
        "makes a job, or replaces one that came by command",
        &define::replace,
    )
    .with_body_read::<define::DefineParams>(define::read_definition)
    .with_answers(&[(200, Json(of::<JobDetail<'static>>)), (201, Json(of::<JobDetail<'static>>))])
    .with_meanings(&[(200, "The job, which was replaced."), (201, "The job, which is new.")])
    .with_refusals(&[409, 412]),
    Route::delete(
        DEFINE,
        "/api/v1/jobs/{job}",
        "removes a job that came by command; `history=drop` drops its runs as well",
        &define::remove,
    )
    .with_query(&["history"])
    .with_answers(&[(204, Nothing)])
    .with_refusals(&[409, 412]),
    Route::get(LOOK, "/api/v1/jobs/{job}/next", "when it is due next", &jobs::next)
        .with_query(&["n", "from"])
        .with_answers(&[(200, Json(of::<jobs::Moments>))]),
    Route::get(LOOK, "/api/v1/jobs/{job}/stats", "how long it takes and how late it starts", &jobs::stats)
        .with_query(&["window"])
        .with_answers(&[(200, Json(of::<jobs::Stats<'static>>))]),
    Route::get(LOOK, "/api/v1/jobs/{job}/heatmap", "the worst of each day of a year", &jobs::heatmap)
        .with_query(&["year"])
        .with_answers(&[(200, Json(of::<jobs::Heatmap>))]),
    Route::post(OPERATE, "/api/v1/jobs/{job}/run", "runs it, now or at a time", &actions::run)
        .with_body::<actions::RunParams>()
        .with_answers(&[
            (200, Json(of::<actions::StartedRun<'static>>)),
            (202, Json(of::<actions::StartedRun<'static>>)),
        ])
        .with_meanings(&[
            (200, "The run that was asked for before, by this key."),
            (202, "The run, which is new."),
        ])
        .with_refusals(&[409]),
    Route::post(OPERATE, "/api/v1/jobs/{job}/pause", "pauses it", &actions::pause)
        .with_body::<actions::PauseParams>()
        .with_answers(&[(200, Json(of::<JobDetail<'static>>))])
        .with_refusals(&[409]),
    Route::post(OPERATE, "/api/v1/jobs/{job}/resume", "lets it go on", &actions::resume)
        .with_body::<actions::NoteBody>()
        .with_answers(&[(200, Json(of::<JobDetail<'static>>))])
        .with_refusals(&[409]),
    Route::post(
        OPERATE,
        "/api/v1/jobs/{job}/backfill",
        "runs it for times that have passed, or only tells them",
        &actions::backfill,
    )
    .with_body::<actions::Backfill>()
    .with_answers(&[(200, Json(of::<actions::BackfillPreview>)), (202, Json(of::<actions::AcceptedAction>))])
    .with_meanings(&[(200, "What it would run: a preview."), (202, "The action, which runs.")])
    .with_refusals(&[409]),
    Route::post(OPERATE, "/api/v1/pause", "pauses everything", &actions::pause)
        .with_body::<actions::PauseParams>()
        .with_answers(&[(200, Json(of::<overview::Status>))]),
    Route::post(OPERATE, "/api/v1/resume", "lets everything go on", &actions::resume)
        .with_body::<actions::NoteBody>()
        .with_answers(&[(200, Json(of::<overview::Status>))]),
    Route::post(OPERATE, "/api/v1/actions", "does one thing to many, after a preview", &actions::many)
        .with_body::<actions::BulkBody>()
        .with_answers(&[
            (200, Json(of::<actions::ActionPreview<'static>>)),
            (202, Json(of::<actions::AcceptedAction>)),
        ])
        .with_meanings(&[(200, "What it would be done to: a preview."), (202, "The action, which runs.")])
        .with_refusals(&[409]),
    Route::get(OPERATE, "/api/v1/actions/{id}", "how far that is", &actions::progress)
        .with_answers(&[(200, Json(of::<ActionState>))]),
    Route::get(LOOK, "/api/v1/runs", "the runs, those that ended last first", &runs::list)
        .with_query(&[
            "q", "job", "state", "cause", "group", "line", "since", "until", "order", "after", "limit",
        ])
        .with_answers(&[(200, Json(of::<List<Run>>))])
        .with_refusals(&[404]),
    Route::get(LOOK, "/api/v1/runs/{job}/{nominal}/{series}", "a run with its attempts", &runs::show)
        .with_answers(&[(200, Json(of::<runs::RunDetail>))]),
    Route::post(OPERATE, "/api/v1/runs/{job}/{nominal}/{series}/cancel", "ends it", &|call| {
        actions::settle(call, Deed::Cancel)
    })
    .with_body::<actions::NoteBody>()
    .with_answers(&[(202, Json(of::<actions::SettledRun>))])
    .with_refusals(&[409]),
    Route::post(
        OPERATE,
        "/api/v1/runs/{job}/{nominal}/{series}/retry",
        "runs a dead letter again",
        &|call| actions::settle(call, Deed::Retry),
    )
    .with_body::<actions::NoteBody>()
    .with_answers(&[(202, Json(of::<actions::SettledRun>))])
    .with_refusals(&[409]),
    Route::post(OPERATE, "/api/v1/runs/{job}/{nominal}/{series}/drop", "discards a dead letter", &|call| {
        actions::settle(call, Deed::Drop)
    })
    .with_body::<actions::NoteBody>()
    .with_answers(&[(202, Json(of::<actions::SettledRun>))])
    .with_refusals(&[409]),
    Route::get(
        LOOK,
        "/api/v1/runs/{job}/{nominal}/{series}/output",
        "what it wrote, or a range of it",
        &log::output,
    )
    .with_query(&["tail", "attempt"])
    .with_answers(&[(200, Media(&["text/plain"])), (206, Media(&["text/plain"]))])
    .with_meanings(&[
        (
            200,
            "The output as a whole, or that of `attempt`, or the last lines of that with `tail`: `X-Left-Out` has \
             how many bytes of the attempt are before. `X-Complete` is `false` while the run may write more.",
        ),
        (206, "The bytes of `Range`, or the last lines with `tail`: `Content-Range` has where they are."),
    ])
    .with_refusals(&[410, 416]),
    Route::get(
        LOOK,
        "/api/v1/runs/{job}/{nominal}/{series}/output/events",
        "what it writes, as it comes",
        &log::follow,
    )
    .with_query(&["after"])
    .with_answers(&[(200, Media(&["text/event-stream"]))])
    .with_refusals(&[410]),
    Route::get(LOOK, "/api/v1/once", "one-shot jobs that wait", &once::list)
        .with_query(&["after", "limit"])
        .with_answers(&[(200, Json(of::<List<once::Once>>))]),
    Route::post(
        OPERATE,
        "/api/v1/once",
        "does once what a job does; work of its own needs `define`",
        &once::create,
    )
    .with_body_read::<once::OnceParams>(once::read)
    .with_answers(&[(200, Json(of::<once::Submission>)), (201, Json(of::<once::Submission>))])
    .with_meanings(&[(200, "What was submitted before, by this key."), (201, "What waits now.")])
    .with_refusals(&[404, 409]),
    Route::post(
        OPERATE,
        "/api/v1/once/batch",
        "does many things once each, as the route before",
        &once::create_many,
    )
    .with_body::<once::Batch>()
    .with_answers(&[(200, Json(of::<once::OnceAnswers>))]),
    Route::get(LOOK, "/api/v1/once/{id}", "a one-shot job that waits", &once::show)
        .with_answers(&[(200, Json(of::<once::Once>))]),
    Route::delete(OPERATE, "/api/v1/once/{id}", "withdraws a one-shot job that waits", &once::withdraw)
        .with_answers(&[(204, Nothing)])
        .with_refusals(&[409]),
    Route::get(LOOK, "/api/v1/files", "the files of jobs and their problems", &files::list)
        .with_answers(&[(200, Json(of::<List<FileState>>))]),
    Route::get(LOOK, "/api/v1/export", "all jobs as a job file", &define::export)
        .with_answers(&[(200, Media(&["application/toml"]))]),
    Route::post(LOOK, "/api/v1/check", "what is wrong with files of jobs", &files::check)
        .with_body::<files::CheckBody>()
        .with_files()
        .with_answers(&[(200, Json(of::<files::CheckedFiles>))]),
    Route::post(
        DEFINE,
        "/api/v1/apply",
        "takes over files of jobs, or tells what that would change",
        &define::apply,
    )
    .with_body::<define::ApplyParams>()
    .with_files()
    .with_answers(&[(200, Json(of::<define::AppliedFiles>))])
    .with_refusals(&[409]),
    Route::post(LOOK, "/api/v1/explain", "what an expression means and when it is due", &explain::explain)
        .with_body::<explain::ExplainParams>()
        .with_answers(&[(200, Json(of::<explain::ExplainedExpression>))]),
    Route::get(LOOK, "/api/v1/upcoming", "what is due in a span of time", &upcoming::upcoming)
        .with_query(&["from", "to", "q", "group"])
        .with_answers(&[(200, Json(of::<upcoming::Upcoming<'static>>))]),
    Route::get(LOOK, "/api/v1/audit", "who asked for what, the newest first", &overview::audit)
        .with_query(&["q", "since", "actor", "job", "after", "limit"])
        .with_answers(&[(200, Json(of::<List<overview::AuditEntry>>))]),
    Route::get(LOOK, "/api/v1/events", "what happens; `reset` alone if another plans", &events::events)
        .with_query(&["after"])
        .with_answers(&[(200, Media(&["text/event-stream"]))]),
    Route::post(
        LOOK,
        "/api/v1/requests",
        "a request of the command line, which may need more",
        &requests::answer,
    )
    .with_body_read::<requests::RequestParams>(requests::read)
    .with_files()
    .with_answers(&[(200, Media(&["application/x-ndjson"]))])
    .with_meanings(&[(200, "Answers of the socket, one a line.")])
    .with_refusals(&[404, 409]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::requests::scope_of;
    use mainspring_server::protocol::Request;
    use std::collections::{BTreeMap, HashSet};

    #[test]
    fn every_route_says_what_it_is_and_stands_there_once() {
        let mut seen = HashSet::new();
        for route in ROUTES {
            assert!(seen.insert((route.method.clone(), route.path)), "{}", route.path);
            assert!(route.path.starts_with('/') && 5 < route.says.len(), "{}", route.path);
            let is_change = route.method != axum::http::Method::GET;
            let looks = ["check", "explain", "session", "requests"].map(|name| format!("/api/v1/{name}"));
            assert!(
                !is_change || looks.iter().any(|path| path == route.path) || OPERATE <= route.access,
                "{} changes something",
                route.path
            );
            let is_data = route.path.starts_with("/api/") && !route.path.ends_with("/session");
            assert!(!is_data || LOOK <= route.access, "{} tells something", route.path);
        }
    }

    #[test]
    fn no_list_is_taken_as_an_object_in_any_body() {
        let is_taken = |path: &str, text: &str| {
            let taking = ROUTES.iter().filter(|route| route.path == path).filter_map(|route| route.body);
            let read: Vec<bool> = taking.map(|body| (body.read)(text.as_bytes()).is_ok()).collect();
            assert!(!read.is_empty(), "{path} takes no body");
            read.contains(&true)
        };
        for route in ROUTES.iter().filter(|route| route.body.is_some()) {
            for count in 0..=16 {
                let nulls = format!("[{}]", vec!["null"; count].join(","));
                assert!(!is_taken(route.path, &nulls), "{} {nulls}", route.path);
            }
        }
        for (path, object, list) in [
            ("/api/v1/check", r#"{"files":[{"path":"a","text":""}]}"#, r#"{"files":[["a",""]]}"#),
            ("/api/v1/apply", r#"{"files":[{"path":"a","text":""}]}"#, r#"{"files":[["a",""]]}"#),
            ("/api/v1/once", r#"{"work":{"process":{}}}"#, r#"{"work":[{},null]}"#),
            (
                "/api/v1/once/batch",
                r#"{"items":[{"job":"a"}]}"#,
                r#"{"items":[[null,null,"a",null,null,null,""]]}"#,
            ),
            (
                "/api/v1/once/batch",
                r#"{"items":[{"work":{"process":{}}}]}"#,
                r#"{"items":[{"work":[{}, null]}]}"#,
            ),
            (
                "/api/v1/once/batch",
                r#"{"items":[{"work":{"process":{}}}]}"#,
                r#"{"items":[{"work":{"process":[]}}]}"#,
            ),
            ("/api/v1/requests", r#"{"command":"status"}"#, r#"["status"]"#),
        ] {
            assert!(is_taken(path, object), "{path} {object}");
            assert!(!is_taken(path, list), "{path} {list}");
        }
    }

    #[test]
    fn a_route_of_requests_needs_the_least_of_their_scopes_and_no_other_route_changes_something() {
        let mut least: BTreeMap<String, Scope> = BTreeMap::new();
        for line in include_str!("../../mainspring-server/src/protocol/requests.txt").lines() {
            let [_, routes, example] = line.split(" | ").collect::<Vec<_>>().try_into().unwrap();
            let request: Request = serde_json::from_str(example).unwrap();
            for route in routes.split(", ").filter(|route| *route != "-") {
                let scope = scope_of(&request).expect("a route is asked from another machine");
                let name = route.replacen(' ', " /api/v1/", 1);
                least.entry(name).and_modify(|least| *least = scope.min(*least)).or_insert(scope);
            }
        }
        for route in ROUTES {
            let name = format!("{} {}", route.method, route.path);
            let tells = route.access <= LOOK || name == "GET /api/v1/actions/{id}";
            match least.remove(&name) {
                Some(scope) => assert_eq!(route.access, Access::Needs(scope), "{name}"),
                None => assert!(tells, "{name} changes something, and no request has it in its line"),
            }
        }
        assert!(least.is_empty(), "a line has routes that do not exist: {least:?}");
    }
}
