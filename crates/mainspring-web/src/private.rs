//! The private part of an address: it keeps the cookie of a session from other servers of the same host.
//!
//! ```text
//! http://127.0.0.1:7411/s-<digits>/api/v1/status   the page has chosen them, and keeps them for its origin
//! Set-Cookie: mainspring=..; Path=/s-<digits>/     the browser sends the cookie to addresses below alone
//! ```
//!
//! A browser sends a cookie to each port of its host, `HttpOnly` and `SameSite` or not. On a machine that
//! users share, what listens at another port may be another user's, who would have the session of each
//! browser that opens a page there. What the page keeps is for its origin, of which the port is a part. For
//! the same reason two servers on one machine have cookies that do not replace each other.
//!
//! Cost: some comparisons.
//!
//! Does not know the digits of anybody: the part is left out of each address that has one, whatever they are.
//! Behind a proxy with TLS there is no such part: no other user has its certificate, and a cookie with the
//! prefix `__Host-` is for the path `/`.
//!
//! Source: RFC 6265, section 8.5, Weak Confidentiality.

use axum::http::Uri;
use axum::http::uri::PathAndQuery;

/// What the part begins with, after its slash.
const BEGINNING: &str = "s-";

/// How many digits follow. The page writes 128 random bits as four numbers, which cannot be guessed.
const DIGITS: std::ops::RangeInclusive<usize> = 16..=40;

/// The private part of an address, with its last slash; empty for an address without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Private(String);

impl Private {
    /// Takes it out of an address below the base.
    pub fn split(uri: &Uri) -> (Private, Uri) {
        let none = || (Private::default(), uri.clone());
        let Some((part, rest)) = uri.path().strip_prefix('/').and_then(|path| path.split_once('/')) else {
            return none();
        };
        let is_private = part.strip_prefix(BEGINNING).is_some_and(|digits| {
            DIGITS.contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit())
        });
        if !is_private {
            return none();
        }
        with_path(uri, rest).map_or_else(none, |rest| (Private(format!("{part}/")), rest))
    }

    /// As it stands behind the base.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An address with another path, which is given without its first slash.
pub fn with_path(uri: &Uri, path: &str) -> Option<Uri> {
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(format!("/{path}{query}")).ok();
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_private_part_or_none() {
        let digits = "0123456789012345678901234567890123456789";
        let split = |path: &str| {
            let (private, rest) = Private::split(&path.parse().unwrap());
            (private.as_str().to_owned(), rest.to_string())
        };
        let part = format!("s-{digits}/");
        assert_eq!(split(&format!("/{part}api/v1/runs?q=a")), (part.clone(), "/api/v1/runs?q=a".to_owned()));
        assert_eq!(split(&format!("/{part}{part}livez")), (part.clone(), format!("/{part}livez")));
        assert_eq!(split(&format!("/{part}/livez")), (part, "//livez".to_owned()));
        for path in [
            "/",
            "/livez",
            "/s-/livez",
            "/s-012345678901234/livez",
            "/s-0123456789abcdef/livez",
            &format!("/s-{digits}"),
            &format!("/S-{digits}/livez"),
            &format!("//s-{digits}/livez"),
            &format!("/s-{digits}0/livez"),
            &format!("/s%2d{digits}/livez"),
            &format!("/x/s-{digits}/livez"),
        ] {
            assert_eq!(split(path), (String::new(), path.to_owned()));
        }
    }
}
