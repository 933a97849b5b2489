//! From a request to an answer: the checks that all requests have in common, the route, and what stands in
//! every answer.
//!
//! ```text
//! host ─▶ path below the prefix ─▶ route ─▶ identity, scope, site, body ─▶ handler ─▶ headers, count
//! ```
//!
//! Cost: see [`gate`](crate::guard).
//!
//! Does not read a body that is longer than it may be, or comes slower.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts, Path, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Method, Response, StatusCode, Uri};
use axum::routing::{MethodFilter, MethodRouter, on};
use mainspring_exec::clock::Moment;
use tokio::time::timeout;

use crate::app::App;
use crate::call::{Call, Reply};
use crate::connections::{MAX_OF_IDENTITY, Place};
use crate::guard::{
    Proof, add_headers, check_host, check_media_type, check_scope, check_site, identify, is_safe,
};
use crate::pool::asking_for;
use crate::problem::{Code, Problem};
use crate::route::{Access, Route};
use crate::routes::ROUTES;
use crate::sessions::Who;
use crate::tokens::hash;

/// How long a body may take to come.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// How many characters of a hash tell one answer from the next.
const TAG_CHARS: usize = 32;

/// The connection that a request came over.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Our port; `None` for a socket in a folder.
    pub port: Option<u16>,
    /// From where it was made; `None` as before.
    pub from: Option<IpAddr>,
    /// Its place among the connections.
    pub place: Place,
}

/// The router over all routes.
pub fn router(app: &Arc<App>) -> Router {
    let mut by_path: HashMap<&'static str, MethodRouter> = HashMap::new();
    for route in ROUTES {
        let method = match route.method {
            Method::POST => MethodFilter::POST,
            Method::PUT => MethodFilter::PUT,
            Method::DELETE => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        let app = Arc::clone(app);
        let handler = move |request: Request| answer(Arc::clone(&app), route, request);
        let known = by_path.remove(route.path).unwrap_or_default();
        by_path.insert(route.path, known.merge(on(method, handler)));
    }
    let mut router = Router::new();
    for (path, methods) in by_path {
        router = router.route(path, methods.fallback(move || no_method(path)));
    }
    router.fallback(async || Problem::new(Code::NotFound, "there is nothing here").response())
}

async fn no_method(path: &'static str) -> Response<Body> {
    let routes = ROUTES.iter().filter(|route| route.path == path);
    let allowed: Vec<&str> = routes.map(|route| route.method.as_str()).collect();
    let mut problem = Problem::new(Code::Method, format!("only {} can be asked here", allowed.join(", ")));
    problem.allow = Some(allowed.join(", "));
    problem.response()
}

/// Answers a request, whatever it is.
///
/// # Errors
///
/// None.
pub async fn serve(
    app: Arc<App>,
    router: Router,
    peer: Peer,
    request: Request,
) -> Result<Response<Body>, Infallible> {
    let (mut parts, body) = request.into_parts();
    let mut response = match check_host(&app, peer.port, &parts.uri, &parts.headers) {
        Err(problem) => {
            app.meter.refuse(&problem);
            problem.response()
        }
        Ok(()) => match without_prefix(&parts.uri, app.settings.prefix()) {
            Err(response) => *response,
            Ok(uri) => {
                parts.uri = uri;
                parts.extensions.insert(peer);
                let mut router = router;
                let request = Request::from_parts(parts, body);
                tower_call(&mut router, request).await
            }
        },
    };
    add_headers(response.headers_mut());
    Ok(response)
}

async fn tower_call(router: &mut Router, request: Request) -> Response<Body> {
    use hyper::service::Service;
    let service = hyper_util::service::TowerToHyperService::new(router.clone());
    match service.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// The address below the base; a redirection to the base where its last slash is missing.
fn without_prefix(uri: &Uri, base: &str) -> Result<Uri, Box<Response<Body>>> {
    let path = uri.path();
    let bare = base.trim_end_matches('/');
    if bare.is_empty() {
        return Ok(uri.clone());
    }
    if path == bare {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
        if let Ok(value) = base.parse() {
            response.headers_mut().insert("location", value);
        }
        return Err(Box::new(response));
    }
    // A proxy may have taken the base away already.
    let Some(rest) = path.strip_prefix(base) else { return Ok(uri.clone()) };
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(format!("/{rest}{query}")).ok();
    Ok(Uri::from_parts(parts).unwrap_or_else(|_| uri.clone()))
}

async fn answer(app: Arc<App>, route: &'static Route, request: Request) -> Response<Body> {
    let began = Moment::now();
    let wanted = request.headers().get(IF_NONE_MATCH).cloned();
    let reply = checked(Arc::clone(&app), route, request).await;
    let response = match reply {
        Ok(response) if route.method == Method::GET => tagged(response, wanted.as_ref()).await,
        Ok(response) => response,
        Err(problem) => {
            app.meter.refuse(&problem);
            problem.response()
        }
    };
    let (status, took) = (response.status().as_u16(), Moment::now().since(began));
    app.meter.count(route.path, route.method.as_str(), status, took);
    response
}

/// The same with a tag of what is in it; without its body where the client has that already.
async fn tagged(response: Response<Body>, wanted: Option<&HeaderValue>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let is_document =
        parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes() == b"application/json");
    if parts.status != StatusCode::OK || !is_document {
        return Response::from_parts(parts, body);
    }
    // A document is in memory as a whole.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    if !parts.headers.contains_key(ETAG) {
        let tag = format!("\"{}\"", &hash(&bytes)[..TAG_CHARS]);
        parts.headers.extend(HeaderValue::from_str(&tag).ok().map(|tag| (ETAG, tag)));
        let has = |wanted: &str, tag: &str| wanted.split(',').any(|known| known.trim() == tag);
        if wanted.and_then(|wanted| wanted.to_str().ok()).is_some_and(|wanted| has(wanted, &tag)) {
            parts.status = StatusCode::NOT_MODIFIED;
            parts.headers.remove(CONTENT_TYPE);
            return Response::from_parts(parts, Body::empty());
        }
    }
    Response::from_parts(parts, Body::from(bytes))
}

async fn checked(app: Arc<App>, route: &'static Route, request: Request) -> Reply {
    let now = Moment::now();
    let (mut parts, body) = request.into_parts();
    let changes_something = !is_safe(&parts.method);
    let mut who = None;
    let mut proof = None;
    if let Access::Needs(scope) = route.access {
        let peer = parts.extensions.get::<Peer>().cloned();
        let (found, how) = identify(&app, peer.as_ref().and_then(|peer| peer.from), &parts.headers, now)?;
        check_scope(&found, scope)?;
        if peer.is_some_and(|peer| !peer.place.prove(&found.identity)) {
            return Err(too_many_connections(&found));
        }
        if changes_something && how != Proof::Bearer {
            check_site(&app, &parts.headers)?;
        }
        (who, proof) = (Some(found), Some(how));
    } else if changes_something {
        check_site(&app, &parts.headers)?;
    }
    // A body that no route takes is not waited for.
    let body = match route.body {
        Some(_) => read_body(&parts.headers, body, route.body_bytes_max).await?,
        None => Bytes::new(),
    };
    if changes_something && !body.is_empty() {
        check_media_type(&parts.headers)?;
    }
    let parameters = Path::<HashMap<String, String>>::from_request_parts(&mut parts, &()).await;
    let parameters = parameters.map(|Path(found)| found).unwrap_or_default();
    let call = Call {
        query: route.query,
        app,
        who,
        proof,
        parameters,
        uri: parts.uri,
        headers: parts.headers,
        body,
        now,
    };
    let owner = call.who.as_ref().map(|who| who.identity.clone());
    asking_for(owner, (route.answer)(call)).await
}

fn too_many_connections(who: &Who) -> Problem {
    let name = &who.identity;
    let text = format!("{name} has {MAX_OF_IDENTITY} connections that are busy, and one may have no more");
    Problem { retry_after: Some(1), ..Problem::new(Code::TooMany, text) }
}

async fn read_body(headers: &axum::http::HeaderMap, body: Body, max_bytes: usize) -> Result<Bytes, Problem> {
    let too_large = || Problem::new(Code::TooLarge, format!("the body may have at most {max_bytes} bytes"));
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| (max_bytes as u64) < length) {
        return Err(too_large());
    }
    let read = timeout(BODY_PATIENCE, to_bytes(body, max_bytes)).await;
    let slow = |_| Problem::new(Code::Slow, "the body did not come in time");
    read.map_err(slow)?.map_err(|_| too_large())
}
