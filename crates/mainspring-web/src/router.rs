//! From a request to an answer: the checks that all requests have in common, the route, and what stands in
//! every answer.
//!
//! ```text
//! host ─▶ path below the prefix and its private part ─▶ route ─▶ identity, scope, site, body ─▶ handler ─▶ tag, room, headers, count
//! ```
//!
//! Cost: see [`guard`](crate::guard).
//!
//! Does not read a body that is longer than it may be, or comes slower.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts, Path, Request};
use axum::http::{Response, Uri};
use axum::response::{IntoResponse, Redirect};
use axum::routing::{MethodFilter, MethodRouter};
use axum::{Extension, Router};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use mainspring_exec::clock::Moment;
use tokio::time::timeout;

use crate::app::App;
use crate::call::{Call, QueryParams, Reply, parameters};
use crate::connections::{ConnectionSlot, MAX_OF_IDENTITY};
use crate::guard::{
    PROBES, Proof, add_headers, check_host, check_media_type, check_scope, check_site, identify, is_safe,
};
use crate::memory_budget::MemoryBudget;
use crate::pool::asking_for;
use crate::private::{Private, with_path};
use crate::problem::{Code, Problem};
use crate::route::{Access, Route};
use crate::routes::ROUTES;
use crate::sending::{SendOptions, Whole, prepared};
use crate::sessions::{Identity, Principal};

/// How long a body may take to come.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// The router over all routes.
pub fn router(app: &Arc<App>) -> Router {
    let mut by_path: HashMap<&'static str, MethodRouter> = HashMap::new();
    for route in ROUTES {
        let method = MethodFilter::try_from(route.method.clone()).expect("each method is one of HTTP's own");
        let app = Arc::clone(app);
        let handler = move |request: Request| answer(Arc::clone(&app), route, request);
        let known = by_path.remove(route.path).unwrap_or_default();
        by_path.insert(route.path, known.on(method, handler));
    }
    let mut router = Router::new();
    for (path, methods) in by_path {
        router = router.route(path, methods.fallback(move || no_method(path)));
    }
    router.fallback(async || Problem::new(Code::NOT_FOUND, "there is nothing here").response())
}

async fn no_method(path: &'static str) -> Response<Body> {
    let routes = ROUTES.iter().filter(|route| route.path == path);
    let allowed: Vec<&str> = routes.map(|route| route.method.as_str()).collect();
    let allowed = allowed.join(", ");
    let problem = Problem::new(Code::METHOD, format!("only {allowed} can be asked here"));
    Problem { allow: Some(allowed), ..problem }.response()
}

/// Answers a request, whatever it is.
pub async fn serve(app: &App, router: Router, slot: ConnectionSlot, request: Request) -> Response<Body> {
    let mut response = match addressed(app, request) {
        Ok(mut request) => {
            request.extensions_mut().insert(slot);
            let Ok(response) = TowerToHyperService::new(router).call(request).await;
            response
        }
        Err(response) => *response,
    };
    add_headers(response.headers_mut());
    response
}

/// A request that is meant for us, with its address below the base, of which the private part is beside it;
/// else what is answered.
fn addressed(app: &App, mut request: Request) -> Result<Request, Box<Response<Body>>> {
    let below = without_prefix(request.uri(), app.settings.prefix());
    if !below.as_ref().is_ok_and(|uri| PROBES.contains(&uri.path())) {
        check_host(app, request.uri(), request.headers()).map_err(|problem| {
            app.meter.refuse(&problem);
            problem.response()
        })?;
    }
    let uri = below?;
    let bare = || (Private::default(), uri.clone());
    let (private, uri) = if app.settings.is_secure() { bare() } else { Private::split(&uri) };
    *request.uri_mut() = uri;
    request.extensions_mut().insert(private);
    Ok(request)
}

/// The address below the base; a redirection to the base where its last slash is missing.
fn without_prefix(uri: &Uri, base: &str) -> Result<Uri, Box<Response<Body>>> {
    let path = uri.path();
    let bare = base.trim_end_matches('/');
    if bare.is_empty() {
        return Ok(uri.clone());
    }
    if path == bare {
        return Err(Box::new(Redirect::permanent(base).into_response()));
    }
    // A proxy may have taken the base away already.
    let below = path.strip_prefix(base).and_then(|rest| with_path(uri, rest));
    Ok(below.unwrap_or_else(|| uri.clone()))
}

async fn answer(app: Arc<App>, route: &'static Route, request: Request) -> Response<Body> {
    let began = Moment::now();
    let wanted = SendOptions::new(&route.method, request.headers());
    let mut owner = None;
    let reply = checked(Arc::clone(&app), route, request, &mut owner).await;
    let refused = |problem: Problem| {
        app.meter.refuse(&problem);
        (Extension(Whole), problem.response()).into_response()
    };
    let response = reply.unwrap_or_else(refused);
    let sent = prepared(&app.budget, owner.as_ref(), &wanted, response).await;
    let response = sent.unwrap_or_else(refused);
    app.meter.count(route.path, route.method.as_str(), response.status(), Moment::now().since(began));
    response
}

/// The answer after all checks. `owner` is who has asked, as soon as that is known.
async fn checked(
    app: Arc<App>,
    route: &'static Route,
    request: Request,
    owner: &mut Option<Identity>,
) -> Reply {
    let now = Moment::now();
    let (mut parts, body) = request.into_parts();
    let changes_something = !is_safe(&parts.method);
    let mut who = None;
    let mut proof = None;
    if let Access::Needs(scope) = route.access {
        let slot: ConnectionSlot = parts.extensions.remove().expect("each request comes over a connection");
        let (found, how) = identify(&app, slot.address(), &parts.headers, now)?;
        check_scope(&app, &found, scope)?;
        if !slot.prove(&found.identity) {
            return Err(too_many_connections(&found));
        }
        if changes_something && how != Proof::Bearer {
            check_site(&app, &parts.headers, Some(&how))?;
        }
        *owner = Some(found.identity.clone());
        (who, proof) = (Some(found), Some(how));
    } else if changes_something {
        check_site(&app, &parts.headers, None)?;
    }
    // Before a handler does anything, so that none can forget it.
    let params = match route.path {
        // The page has parameters of its own.
        "/" => QueryParams::default(),
        _ => parameters(&parts.uri, route.query)?,
    };
    // A body that no route takes is not waited for.
    let body = match route.body {
        Some(_) => {
            let taken = MemoryBudget::take(&app.budget, owner.as_ref(), announced(&body, route)?)?;
            taken.hold(read_body(body, route.body_bytes_max).await?)
        }
        None => Bytes::new(),
    };
    if changes_something && !body.is_empty() {
        check_media_type(&parts.headers)?;
    }
    let names = Path::<HashMap<String, String>>::from_request_parts(&mut parts, &()).await;
    let names = names.map(|Path(found)| found).unwrap_or_default();
    let call = Call {
        private: parts.extensions.remove().unwrap_or_default(),
        params,
        app,
        who,
        proof,
        parameters: names,
        uri: parts.uri,
        headers: parts.headers,
        body,
        now,
    };
    asking_for(owner.clone(), route.answer.answer(call)).await
}

fn too_many_connections(who: &Principal) -> Problem {
    let name = &who.identity;
    let text = format!("{name} has {MAX_OF_IDENTITY} connections that are busy, and one may have no more");
    Problem::new(Code::TOO_MANY, text).again_after(1)
}

fn too_large(bytes_max: usize) -> Problem {
    Problem::new(Code::TOO_LARGE, format!("the body may have at most {bytes_max} bytes"))
}

/// How long the body may become: as long as its request says, or as its route takes.
fn announced(body: &Body, route: &Route) -> Result<usize, Problem> {
    let bytes_max = route.body_bytes_max;
    let hint = hyper::body::Body::size_hint(body).upper();
    let length = hint.map_or(bytes_max, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    if length <= bytes_max { Ok(length) } else { Err(too_large(bytes_max)) }
}

async fn read_body(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    let read = timeout(BODY_PATIENCE, to_bytes(body, bytes_max)).await;
    let slow = |_| Problem::new(Code::SLOW, "the body did not come in time");
    read.map_err(slow)?.map_err(|_| too_large(bytes_max))
}
