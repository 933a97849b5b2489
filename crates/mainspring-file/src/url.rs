//! Checks a URL and the name of a header by the very types that webhooks are sent with.
//!
//! Cost: one pass.
//!
//! Does not resolve a host.

use http::{HeaderName, Uri};

/// Whether it is a URL, in one form or another.
pub(crate) fn is_url(text: &str) -> bool {
    text.parse::<Uri>().is_ok()
}

/// Whether it is a URL that names a host.
pub(crate) fn has_host(text: &str) -> bool {
    text.parse::<Uri>().is_ok_and(|uri| uri.host().is_some())
}

/// Whether it may be the name of a header.
pub(crate) fn is_header_name(text: &str) -> bool {
    HeaderName::from_bytes(text.as_bytes()).is_ok()
}
