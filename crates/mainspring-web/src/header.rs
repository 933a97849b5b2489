//! One header of a request.
//!
//! Cost: a look-up.
//!
//! Does not know what a header means.

use axum::http::HeaderMap;
use axum::http::header::AsHeaderName;

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
