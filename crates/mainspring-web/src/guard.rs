//! Authorizes requests: all that is checked before a request is routed, and the one check of its route.
//!
//! | check | asks | else |
//! |---|---|---|
//! | host | is it an address, `localhost` or our name? A page whose name was made to point here has that name; a probe tells it nothing | 421 |
//! | identity | a user whom the proxy names, a token, or a session that has not ended | 401 |
//! | scope | that of the route, at least | 403 |
//! | site | what changes something without a token comes from our own page | 403 |
//! | body | is JSON, and not too long | 415, 413 |
//!
//! A token in a header needs no check of the site: no browser sends it by itself. A same-origin GET has no
//! Origin, so that only the host tells a page of ours from one whose name was made to point here.
//!
//! Cost: some comparisons; a hash for a token or a cookie.
//!
//! Does not answer across origins: there is no CORS header at all.
//!
//! Source: RFC 9110, section 7.4; Fetch Metadata Request Headers, W3C.

use std::net::IpAddr;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, Uri};
use mainspring_exec::clock::Moment;

use crate::app::App;
use crate::header::only;
use crate::problem::{Code, Problem};
use crate::scope::Scope;
use crate::sessions::Principal;

/// The policy of the page: it loads its own files, asks its own server, is in no frame, and makes no HTML of
/// text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// The policy of the page with a style sheet in it, of which this is the SHA-256.
pub fn page_policy(style_hash: &str) -> String {
    POLICY.replace("style-src 'self'", &format!("style-src 'sha256-{style_hash}'"))
}

/// What stands in every answer, unless the answer has its own.
const HEADERS: [(&str, &str); 7] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    ("cache-control", "no-store"),
];

/// Adds what stands in every answer.
pub fn add_headers(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        if !headers.contains_key(name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

/// What balancers ask, some of them without a host. The answers have nothing in them that is not for anybody.
pub const PROBES: [&str; 2] = ["/livez", "/readyz"];

/// Whether a request is meant for us: its host, and the one in its address if it has one.
///
/// # Errors
///
/// 421 for every other host.
pub fn check_host(app: &App, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let wrong = |host: &str| {
        let text = format!("this server is not `{}`: serve --public-url names other hosts", printable(host));
        Problem::new(Code::MISDIRECTED, text)
    };
    let none = || Problem::new(Code::MISDIRECTED, "the request names no host");
    let host = only(headers, HOST).map_err(|_| wrong(".."))?.ok_or_else(none)?;
    let is_ours = app.settings.has_host(host);
    let is_same = uri.authority().is_none_or(|authority| authority.as_str() == host);
    if is_ours && is_same { Ok(()) } else { Err(wrong(host)) }
}

/// What others wrote, as it may stand in an answer.
fn printable(text: &str) -> String {
    text.chars().take(100).map(|c| if c.is_ascii_graphic() { c } else { '.' }).collect()
}

/// How somebody has shown who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// A token in a header of the request.
    Bearer,
    /// A cookie, which a browser sends whichever page made it ask.
    Cookie(String),
    /// The proxy says so, whichever page made the browser ask.
    Proxy,
}

/// The caller, and how that is known.
///
/// # Errors
///
/// 401 if no user is known by what the request has.
pub fn identify(
    app: &App,
    from: Option<IpAddr>,
    headers: &HeaderMap,
    now: Moment,
) -> Result<(Principal, Proof), Problem> {
    let unknown = |text: &str| Problem::new(Code::UNAUTHENTICATED, text);
    // Before the token, because proxies hand on those of their own.
    if let Some(who) = app.settings.user_of_proxy(from, headers).map_err(|why| unknown(&why))? {
        return Ok((app.allowed(who), Proof::Proxy));
    }
    if let Some(value) = only(headers, AUTHORIZATION).map_err(|_| unknown("there are two tokens"))? {
        let (kind, token) = value.split_once(' ').unwrap_or((value, ""));
        if !kind.eq_ignore_ascii_case("bearer") {
            return Err(unknown("only tokens are known: Authorization: Bearer TOKEN"));
        }
        let who = app.who_has(token.trim()).map_err(|why| unknown(&why))?;
        return who.map(|who| (who, Proof::Bearer)).ok_or_else(|| unknown("the token is not known"));
    }
    let cookie = cookie(app, headers)
        .ok_or_else(|| unknown("sign in: with mainspring open, or with a token of mainspring token add"))?;
    let who = app.who_is(&cookie, now).ok_or_else(|| unknown("the session has ended: sign in again"))?;
    Ok((who, Proof::Cookie(cookie)))
}

/// Whether a caller who was known at the beginning still is: a token is removed, and a session ends.
pub fn is_signed_in(app: &App, who: &Principal, proof: &Proof) -> bool {
    match proof {
        Proof::Cookie(cookie) => app.who_is(cookie, Moment::now()).is_some(),
        Proof::Bearer | Proof::Proxy => app.has(&who.identity),
    }
}

/// The session's cookie.
pub fn cookie(app: &App, headers: &HeaderMap) -> Option<String> {
    let name = app.settings.cookie_name();
    let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = values.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// Whether somebody's scope is enough.
///
/// # Errors
///
/// 403 where it is not, with the option if that of no client is.
pub fn check_scope(app: &App, who: &Principal, needed: Scope) -> Result<(), Problem> {
    if needed <= who.scope {
        return Ok(());
    }
    let text = match app.settings.most() {
        (most, why) if most < needed => {
            format!("this needs the scope {needed}, which no client has here: the server runs {why}")
        }
        _ => format!("this needs the scope {needed}, and {} has {}", who.identity, who.scope),
    };
    Err(Problem::new(Code::DENIED, text))
}

/// Whether a method only looks.
pub fn is_safe(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// Whether a request that a browser may have been made to send comes from our own page.
///
/// # Errors
///
/// 403 where it comes from elsewhere, or nothing says where from.
pub fn check_site(app: &App, headers: &HeaderMap, proof: Option<&Proof>) -> Result<(), Problem> {
    let denied = |text: &str| Err(Problem::new(Code::DENIED, text));
    let twice = Problem::new(Code::DENIED, "the request says twice where it comes from");
    let site = only(headers, "sec-fetch-site").map_err(|_| twice.clone())?;
    let origin = only(headers, ORIGIN).map_err(|_| twice)?;
    let is_own = |origin| app.settings.is_own_origin(origin, only(headers, HOST).ok().flatten());
    match (site, origin) {
        (Some("same-origin"), _) => Ok(()),
        (None, Some(origin)) if is_own(origin) => Ok(()),
        (None, None) if proof == Some(&Proof::Proxy) => denied(
            "nothing says where the request comes from: a program that the proxy has signed in sends \
             Sec-Fetch-Site: same-origin",
        ),
        (None, None) => denied("nothing says where the request comes from: send a token instead of a cookie"),
        _ => denied("the request comes from another site"),
    }
}

/// Whether a body is what it may be.
///
/// # Errors
///
/// 415 for anything but JSON.
pub fn check_media_type(headers: &HeaderMap) -> Result<(), Problem> {
    let wrong = || Problem::new(Code::MEDIA_TYPE, "the body must be application/json");
    let found = only(headers, CONTENT_TYPE).map_err(|_| wrong())?.ok_or_else(wrong)?;
    let kind = found.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") { Ok(()) } else { Err(wrong()) }
}
