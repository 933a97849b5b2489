//! Accepts any text as a URL or the name of a header, where no webhook is sent.
//!
//! A program with jobs of its own reads definitions that it or a server has kept, and these were checked
//! before.
//!
//! Cost: none.
//!
//! Does not check anything: see `url.rs`, which the feature `webhooks` has instead.

/// Whether it is a URL.
pub(crate) fn is_url(_text: &str) -> bool {
    true
}

/// Whether it is a URL that names a host.
pub(crate) fn has_host(_text: &str) -> bool {
    true
}

/// Whether it may be the name of a header.
pub(crate) fn is_header_name(_text: &str) -> bool {
    true
}
