//! One header of a request or an answer.
//!
//! Cost: a look-up.
//!
//! Does not know what a header means.

use axum::http::header::AsHeaderName;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The only value of a header; `None` if there is none.
///
/// # Errors
///
/// Why it cannot be read. Two of them are the work of a client that adds its own to a proxy's.
pub fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Result<Option<&str>, &'static str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| "is no text"),
        _ => Err("stands there twice"),
    }
}

/// Sets a header. A value that none can have is left out.
pub fn set(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
