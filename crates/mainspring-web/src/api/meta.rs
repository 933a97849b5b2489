//! The page and its files, signing in and out, whether the server lives, and the metrics.
//!
//! Cost: an asset is sent from memory.
//!
//! Does not know jobs.

use std::borrow::Cow;

use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, SET_COOKIE};
use axum::response::IntoResponse;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::json;

use crate::app::SignIn;
use crate::call::{Call, Reply, document, nothing, shared, text};
use crate::guard::{Proof, page_policy};
use crate::metrics;
use crate::metrics_writer::TextFormat;
use crate::problem::{Code, Problem};
use crate::schema::one_field_of;
use crate::sessions::LIFE;

/// The page itself, whatever the query.
///
/// # Errors
///
/// None.
pub async fn index(call: Call) -> Reply {
    let assets = &call.app.assets;
    let policy = page_policy(&assets.style_hash);
    let headers = [(CACHE_CONTROL, "no-cache"), (CONTENT_SECURITY_POLICY, &policy)];
    Ok((headers, shared("text/html; charset=utf-8", assets.index.clone())).into_response())
}

/// A file of the page.
///
/// # Errors
///
/// 404 for another name, or the hash of another version.
pub async fn asset(call: Call) -> Reply {
    let assets = &call.app.assets;
    let found = assets.find(call.parameter("name")).filter(|_| call.parameter("hash") == assets.hash);
    let found = found.ok_or_else(|| Problem::new(Code::NOT_FOUND, "there is nothing here"))?;
    let forever = [(CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((forever, shared(found.media_type, found.bytes.clone())).into_response())
}

/// Whether the listener answers.
///
/// # Errors
///
/// None.
pub async fn livez(_: Call) -> Reply {
    Ok(text("text/plain; charset=utf-8", "ok\n"))
}

/// Whether the server answers, and nothing keeps it from recording.
///
/// # Errors
///
/// 503 with what is wrong. The client need not have signed in, so the troubles themselves are not told.
pub async fn readyz(call: Call) -> Reply {
    let status = call.app.pool.status().await?;
    let not_ready = |text: &str| Err(Problem::new(Code::TEMPORARY, text));
    if status.state != "running" {
        return not_ready("the server is stopping");
    }
    if !status.troubles.is_empty() {
        return not_ready("the server cannot do all that it should: its status says what");
    }
    Ok(text("text/plain; charset=utf-8", "ok\n"))
}

/// The description of the API.
///
/// # Errors
///
/// None.
pub async fn openapi(call: Call) -> Reply {
    let description = call.app.description.get().cloned().unwrap_or_default();
    Ok(shared("application/json", description))
}

/// The metrics, in the format that is asked for.
///
/// # Errors
///
/// What the loop says.
pub async fn metrics(call: Call) -> Reply {
    let accept: Vec<&str> =
        call.headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let format = TextFormat::of(&accept.join(","));
    Ok(text(format.media_type(), metrics::text(&call.app, format).await?))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignInWire {
    token: Option<String>,
    code: Option<String>,
}

/// One of the two, which no type says.
impl JsonSchema for SignInWire {
    fn schema_name() -> Cow<'static, str> {
        "SignIn".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let text = json!({ "type": "string" });
        json_schema!({ "oneOf": one_field_of([("token", text.clone()), ("code", text)]) })
    }
}

/// This document.
#[derive(JsonSchema)]
pub(crate) struct OpenApi {}

/// Reads with what somebody signs in.
///
/// # Errors
///
/// 422 for anything but a token or a code.
pub(crate) fn proof(body: &[u8]) -> Result<SignIn, Problem> {
    match document::<SignInWire>(body)? {
        SignInWire { token: Some(token), code: None } => Ok(SignIn::Token(token)),
        SignInWire { token: None, code: Some(code) } => Ok(SignIn::Code(code)),
        _ => Err(Problem::new(Code::INVALID, "expected a token or a code")),
    }
}

/// Signs in.
///
/// # Errors
///
/// 401, 422 or 429.
pub async fn sign_in(call: Call) -> Reply {
    let proof = call.read(proof).await?;
    let cookie = call.app.sign_in(proof, call.now).await?;
    Ok(with_cookie(&call, &cookie, LIFE.as_secs()))
}

/// Signs out.
///
/// # Errors
///
/// None.
pub async fn sign_out(call: Call) -> Reply {
    if let Some(Proof::Cookie(cookie)) = &call.proof {
        call.app.sign_out(cookie);
    }
    Ok(with_cookie(&call, "", 0))
}

fn with_cookie(call: &Call, cookie: &str, seconds: u64) -> axum::http::Response<axum::body::Body> {
    let settings = &call.app.settings;
    let (path, secure) = match settings.is_secure() {
        true => ("/".to_owned(), "; Secure"),
        false => (format!("{}{}", settings.prefix(), call.private.as_str()), ""),
    };
    let name = settings.cookie_name();
    let value = format!("{name}={cookie}; HttpOnly; SameSite=Strict; Path={path}; Max-Age={seconds}{secure}");
    ([(SET_COOKIE, value)], nothing()).into_response()
}
