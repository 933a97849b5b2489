//! URLs as texts: their scheme, their host, a word before them, and what stands in one.
//!
//! Cost: one pass over the text.
//!
//! Does not judge whether a text is a URL as a whole: the readers of files do.

/// The host of a URL in small letters, an address of IPv6 without its brackets.
pub fn host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // What is before the last @ is a user's name and password.
    let host = authority.rsplit('@').next()?;
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next()?,
        None => host.split(':').next()?,
    };
    Some(host.to_ascii_lowercase())
}

/// Whether a text begins as a URL of HTTP does.
pub fn is_http(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

/// A URL of HTTP, and the word before it with a colon between, if there is one.
pub fn prefixed_url(text: &str) -> Option<(Option<&str>, &str)> {
    let prefixed = text.split_once(':').filter(|(_, url)| is_http(url));
    let (word, url) = prefixed.map_or((None, text), |(word, url)| (Some(word), url));
    is_http(url).then_some((word, url))
}

/// Whether a host is the known one or below it.
pub(crate) fn is_of(host: &str, known: &str) -> bool {
    host.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// A text as it stands in a part of a URL: RFC 3986, 2.3.
pub fn percent(text: &str) -> String {
    let is_free = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let piece = |byte: u8| if is_free(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(piece).collect()
}
