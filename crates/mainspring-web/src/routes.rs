//! All routes: which method and path, who may, in one sentence what it is, and what answers.
//!
//! The router, the check of scopes, the list of the manual and the test of scopes are made of this table, so
//! a route that does not say its scope does not exist.
//!
//! Cost: none.
//!
//! Does not answer: see [`api`](crate::api).

use axum::http::Method;

use crate::api::{act, events, files, jobs, log, look, meta, requests, runs, upcoming};
use crate::call::{Call, Replying};
use crate::scope::Scope;

/// A route.
#[derive(Clone, Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path below the base, with names in braces.
    pub path: &'static str,
    /// What one must be allowed at least; `None`: anybody may.
    pub scope: Option<Scope>,
    /// What it is.
    pub says: &'static str,
    /// What answers.
    pub answer: fn(Call) -> Replying,
}

const fn get(
    path: &'static str,
    scope: Option<Scope>,
    says: &'static str,
    answer: fn(Call) -> Replying,
) -> Route {
    Route { method: Method::GET, path, scope, says, answer }
}

const fn post(
    path: &'static str,
    scope: Option<Scope>,
    says: &'static str,
    answer: fn(Call) -> Replying,
) -> Route {
    Route { method: Method::POST, path, scope, says, answer }
}

const LOOK: Option<Scope> = Some(Scope::Look);
const OPERATE: Option<Scope> = Some(Scope::Operate);

/// All of them.
pub const ROUTES: &[Route] = &[
    get("/", None, "the page", |call| Box::pin(meta::index(call))),
    get("/assets/{hash}/{name}", None, "a file of the page", |call| Box::pin(meta::asset(call))),
    get("/livez", None, "whether the listener answers", |call| Box::pin(meta::livez(call))),
    get("/readyz", None, "whether the server answers and records", |call| Box::pin(meta::readyz(call))),
    get("/metrics", Some(Scope::Metrics), "the metrics, in OpenMetrics", |call| {
        Box::pin(meta::metrics(call))
    }),
    post("/api/v1/session", None, "signs in with a token or a code", |call| Box::pin(meta::sign_in(call))),
    Route {
        method: Method::DELETE,
        path: "/api/v1/session",
        scope: Some(Scope::Metrics),
        says: "signs out",
        answer: |call| Box::pin(meta::sign_out(call)),
    },
    get("/api/v1/status", LOOK, "how the server is", |call| Box::pin(look::status(call))),
    get("/api/v1/health", LOOK, "what is in trouble, as doctor says it", |call| Box::pin(look::health(call))),
    get("/api/v1/jobs", LOOK, "the jobs, filtered and sorted", |call| Box::pin(jobs::list(call))),
    get("/api/v1/jobs/{job}", LOOK, "one job with its definition", |call| Box::pin(jobs::show(call))),
    get("/api/v1/jobs/{job}/next", LOOK, "when it is due next", |call| Box::pin(jobs::next(call))),
    get("/api/v1/jobs/{job}/stats", LOOK, "how long it takes and how late it starts", |call| {
        Box::pin(jobs::stats(call))
    }),
    get("/api/v1/jobs/{job}/heatmap", LOOK, "the worst of each day of a year", |call| {
        Box::pin(jobs::heatmap(call))
    }),
    post("/api/v1/jobs/{job}/run", OPERATE, "runs it now; the same `at` twice is one run", |call| {
        Box::pin(act::run(call))
    }),
    post("/api/v1/jobs/{job}/pause", OPERATE, "lets it rest", |call| Box::pin(act::pause(call))),
    post("/api/v1/jobs/{job}/resume", OPERATE, "lets it go on", |call| Box::pin(act::resume(call))),
    post(
        "/api/v1/jobs/{job}/backfill",
        OPERATE,
        "runs it for times that have passed, or only tells them",
        |call| Box::pin(act::backfill(call)),
    ),
    post("/api/v1/pause", OPERATE, "lets everything rest", |call| Box::pin(act::pause_all(call))),
    post("/api/v1/resume", OPERATE, "lets everything go on", |call| Box::pin(act::resume_all(call))),
    post("/api/v1/actions", OPERATE, "does one thing to many, after a preview", |call| {
        Box::pin(act::many(call))
    }),
    get("/api/v1/actions/{id}", OPERATE, "how far that is", |call| Box::pin(act::progress(call))),
    get("/api/v1/runs", LOOK, "the runs, those that ended last first", |call| Box::pin(runs::list(call))),
    get("/api/v1/runs/{job}/{nominal}/{series}", LOOK, "a run with its attempts", |call| {
        Box::pin(runs::show(call))
    }),
    post("/api/v1/runs/{job}/{nominal}/{series}/cancel", OPERATE, "ends it", |call| {
        Box::pin(act::cancel(call))
    }),
    post("/api/v1/runs/{job}/{nominal}/{series}/retry", OPERATE, "runs a dead letter again", |call| {
        Box::pin(act::retry(call))
    }),
    post("/api/v1/runs/{job}/{nominal}/{series}/drop", OPERATE, "lets go of a dead letter", |call| {
        Box::pin(act::let_go(call))
    }),
    get("/api/v1/runs/{job}/{nominal}/{series}/output", LOOK, "what it wrote, or a range of it", |call| {
        Box::pin(log::output(call))
    }),
    get("/api/v1/runs/{job}/{nominal}/{series}/output/events", LOOK, "what it writes, as it comes", |call| {
        Box::pin(log::follow(call))
    }),
    get("/api/v1/once", LOOK, "one-shot jobs that wait", |call| Box::pin(runs::once(call))),
    get("/api/v1/files", LOOK, "the files of jobs and their problems", |call| Box::pin(files::list(call))),
    post("/api/v1/check", LOOK, "what is wrong with files of jobs", |call| Box::pin(files::check(call))),
    get("/api/v1/upcoming", LOOK, "what is due in a span of time", |call| Box::pin(upcoming::upcoming(call))),
    get("/api/v1/audit", LOOK, "what people asked over HTTP since the start", |call| {
        Box::pin(look::audit(call))
    }),
    post("/api/v1/requests", LOOK, "a request of the command line, which may need more", |call| {
        Box::pin(requests::answer(call))
    }),
    get("/api/v1/events", LOOK, "what happens, as it happens", |call| Box::pin(events::events(call))),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_route_says_what_it_is_and_stands_there_once() {
        let mut seen = HashSet::new();
        for route in ROUTES {
            assert!(seen.insert((route.method.clone(), route.path)), "{}", route.path);
            assert!(route.path.starts_with('/') && 5 < route.says.len(), "{}", route.path);
            let is_change = route.method != Method::GET;
            let looks = ["/api/v1/check", "/api/v1/session", "/api/v1/requests"].contains(&route.path);
            assert!(
                !is_change || looks || Some(Scope::Operate) <= route.scope,
                "{} changes something",
                route.path
            );
            let is_data = route.path.starts_with("/api/") && !route.path.ends_with("/session");
            assert!(!is_data || Some(Scope::Look) <= route.scope, "{} tells something", route.path);
        }
    }
}
