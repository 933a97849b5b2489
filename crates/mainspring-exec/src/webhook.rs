//! The specification of a webhook, and one delivery of it.
//!
//! ```text
//! POST https://example.com/hooks/{job}         url, headers and body are templates
//! Idempotency-Key: backup/2026-01-01T03:00:00Z the same for all attempts of one run
//! Mainspring-Signature: t=..,v1=..             with a signing secret: see signature
//! ```
//!
//! An answer whose status is in the success rule (200 to 299 unless the job says otherwise) is a success. No
//! redirect is followed: a 3xx is an answer like any other. Each delivery has a connection of its own,
//! because a kept one may be dead, and then no client can say whether a request arrived. Certificates are
//! checked against Mozilla's roots, or against `ca_file` alone. `HTTPS_PROXY` and `NO_PROXY` of the server's
//! environment are honoured.
//!
//! Cost: a connection, with TLS some tens of kilobytes and a handshake, per delivery; memory for the answer
//! up to its cap.
//!
//! Does not retry: the planner does.
//!
//! Source: Idempotency-Key is draft-ietf-httpapi-idempotency-key-header. That a pooled connection can be
//! stale, with the outcome unknown: <https://github.com/algesten/ureq/issues/772>.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ureq::http::{Method, Request, Uri};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Error};

use crate::end::Outcome;
use crate::mask::Masks;
use crate::secret;
use crate::signature::{SIGNATURE_HEADER, signature};
use mainspring_action::names::{MIN_KEY_BYTES, has_body};
use mainspring_action::secret::SecretBody;
use mainspring_action::template::{Template, Values};
use mainspring_host::regular::open_regular;

/// The largest file of certificates that is read: a whole bundle of roots has 220 KiB.
pub const MAX_CA_BYTES: u64 = 1 << 20;

/// The name that rustls has for a receiver whose own certificate is one for signing others.
const CA_AS_RECEIVER: &str = "CaUsedAsEndEntity";

const USER_AGENT: &str = concat!("mainspring/", env!("CARGO_PKG_VERSION"));

/// A webhook to be.
#[derive(Clone, Debug)]
pub struct WebhookSpec {
    /// GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
    pub method: Method,
    /// Where to.
    pub url: Template,
    /// Names and values, in order.
    pub headers: Vec<(String, Template)>,
    /// Empty for methods that have none.
    pub body: Template,
    /// The whole delivery, from the look-up of the name to the end of the answer.
    pub timeout: Duration,
    /// Which statuses are a success: inclusive ranges.
    pub success: Vec<(u16, u16)>,
    /// Secrets that the templates name.
    pub secrets: Vec<SecretBody>,
    /// The file of the secret that signs, if the webhook is signed.
    pub signing: Option<PathBuf>,
    /// The file of the certificates that vouch for the receiver, in place of Mozilla's.
    pub ca_file: Option<PathBuf>,
    /// How much of the answer is kept.
    pub answer_bytes_max: u64,
}

/// The statuses that are a success where the job does not say.
pub const DEFAULT_SUCCESS: (u16, u16) = (200, 299);

impl WebhookSpec {
    /// Whether an answer of this status is a success.
    pub fn is_success(&self, status: u16) -> bool {
        self.success.iter().any(|&(first, last)| (first..=last).contains(&status))
    }
}

/// What came of a delivery.
#[derive(Debug)]
pub struct DeliveryResult {
    /// The status, or why there is none.
    pub outcome: Outcome,
    /// Whether the success rule takes it.
    pub is_success: bool,
    /// Whether it took longer than it may.
    pub is_timeout: bool,
    /// The body of the answer without secrets, up to the cap.
    pub answer: Vec<u8>,
    /// How much of the answer was not kept, as far as is known.
    pub dropped_bytes: u64,
    /// Before when the receiver does not want to be asked again.
    pub retry_after: Option<RetryAfter>,
}

/// What an answer says in its header Retry-After: RFC 9110, 10.2.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// So many seconds after the answer.
    Seconds(u32),
    /// At this time.
    At(Timestamp),
}

/// The longest that a receiver may put a retry off: a header is no way to stop a job for good.
pub const MAX_RETRY_AFTER: SignedDuration = SignedDuration::from_hours(24);

impl RetryAfter {
    /// The header's text. `None` if it is neither a number nor a date of HTTP.
    pub fn parse(text: &str) -> Option<RetryAfter> {
        let text = text.trim();
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number that is too long for the type is beyond the limit as well.
            return Some(RetryAfter::Seconds(text.parse().unwrap_or(u32::MAX)));
        }
        jiff::fmt::rfc2822::parse(text).map(|date| RetryAfter::At(date.timestamp())).ok()
    }

    /// The time that is meant in an answer that came at `now`, at most [`MAX_RETRY_AFTER`] later.
    pub fn resolve(self, now: Timestamp) -> Timestamp {
        let latest = now.saturating_add(MAX_RETRY_AFTER).unwrap_or(now);
        let meant = match self {
            RetryAfter::Seconds(count) => {
                now.saturating_add(SignedDuration::from_secs(count.into())).unwrap_or(latest)
            }
            RetryAfter::At(time) => time,
        };
        meant.min(latest)
    }
}

impl DeliveryResult {
    /// The end of a delivery whose thread panicked.
    pub(crate) fn panicked() -> DeliveryResult {
        DeliveryResult::failed("the delivery panicked", &Masks::default())
    }

    fn failed(reason: &str, masks: &Masks) -> DeliveryResult {
        let reason = String::from_utf8_lossy(&masks.apply(reason.as_bytes())).into_owned();
        let (outcome, answer) = (Outcome::NoAnswer(reason), Vec::new());
        let (is_success, is_timeout, dropped_bytes, retry_after) = (false, false, 0, None);
        DeliveryResult { outcome, is_success, is_timeout, answer, dropped_bytes, retry_after }
    }
}

/// Sends a webhook and waits for its answer. `unix_s` is the time that is signed.
pub fn deliver(spec: &WebhookSpec, mut values: Values, unix_s: i64) -> DeliveryResult {
    let mut masks = Masks::default();
    for variable in &spec.secrets {
        debug_assert!(!variable.is_path, "a template holds contents");
        match secret::read(&variable.path, None) {
            Ok(secret) => {
                masks.add(&secret);
                values.secrets.insert(variable.name.clone(), secret);
            }
            Err(error) => return DeliveryResult::failed(&error.to_string(), &masks),
        }
    }
    let prepared = request(spec, &values, unix_s).and_then(|request| Ok((request, agent(spec)?)));
    match prepared {
        Ok((request, agent)) => send(spec, &agent, request, &masks),
        Err(reason) => DeliveryResult::failed(&reason, &masks),
    }
}

/// What a body is that no header names: an object or a list is meant as JSON, and all else is text.
fn content_type(body: &str) -> &'static str {
    match body.trim_start().starts_with(['{', '[']) {
        true => "application/json",
        false => "text/plain; charset=utf-8",
    }
}

fn request(spec: &WebhookSpec, values: &Values, unix_s: i64) -> Result<Request<String>, String> {
    let body = spec.body.fill(values);
    let uri: Uri = spec.url.fill_url(values).parse().map_err(|error| format!("the URL is none: {error}"))?;
    let mut request = Request::builder().method(spec.method.clone()).uri(uri);
    let filled: Vec<(&str, String)> =
        spec.headers.iter().map(|(name, value)| (name.as_str(), value.fill(values))).collect();
    let content_type = (!body.is_empty()).then(|| ("content-type", content_type(&body)));
    let usual = [("user-agent", USER_AGENT), ("idempotency-key", values.key.as_str())];
    for (name, value) in usual.into_iter().chain(content_type) {
        if !filled.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
            request = request.header(name, value);
        }
    }
    for (name, value) in &filled {
        request = request.header(*name, value);
    }
    if let Some(path) = &spec.signing {
        let secret = secret::read(path, None).map_err(|error| error.to_string())?;
        if secret.reveal().len() < MIN_KEY_BYTES {
            let path = path.display();
            return Err(format!(
                "the signing secret {path} has less than {MIN_KEY_BYTES} bytes, and could be guessed"
            ));
        }
        request = request.header(SIGNATURE_HEADER, signature(&secret, unix_s, &body));
    }
    request.body(body).map_err(|error| format!("the request cannot be made: {error}"))
}

fn agent(spec: &WebhookSpec) -> Result<Agent, String> {
    let mut config = Agent::config_builder()
        .timeout_global(Some(spec.timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(0);
    if let Some(path) = &spec.ca_file {
        config = config.tls_config(trusting(path)?);
    }
    Ok(config.build().new_agent())
}

/// TLS that trusts the certificates of this file, and no others.
///
/// # Errors
/// Why the file cannot be used.
pub fn trusting(path: &Path) -> Result<TlsConfig, String> {
    let failed = |reason: String| format!("cannot read the certificates {}: {reason}", path.display());
    let pem = certificates(path).map_err(|error| failed(error.to_string()))?;
    if MAX_CA_BYTES < pem.len() as u64 {
        return Err(failed(format!("the file is longer than {MAX_CA_BYTES} bytes")));
    }
    let items: Vec<_> =
        parse_pem(&pem).collect::<Result<_, _>>().map_err(|error| failed(error.to_string()))?;
    let certificates: Vec<_> = items
        .into_iter()
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(failed("it holds no certificate".into()));
    }
    Ok(TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(certificates))).build())
}

/// The bytes of a file of certificates, up to one more than are taken.
fn certificates(path: &Path) -> io::Result<Vec<u8>> {
    let opened = open_regular(path)?;
    opened.judge(None)?;
    let mut pem = Vec::new();
    opened.file.take(MAX_CA_BYTES + 1).read_to_end(&mut pem)?;
    Ok(pem)
}

fn send(spec: &WebhookSpec, agent: &Agent, request: Request<String>, masks: &Masks) -> DeliveryResult {
    let result =
        if has_body(spec.method.as_str()) { agent.run(request) } else { agent.run(request.map(|_| ())) };
    let mut response = match result {
        Ok(response) => response,
        Err(error) => {
            let is_timeout = matches!(error, Error::Timeout(_));
            return DeliveryResult { is_timeout, ..DeliveryResult::failed(&reason(&error), masks) };
        }
    };
    let status = response.status().as_u16();
    let retry_after = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(RetryAfter::parse);
    let mut answer = Vec::new();
    // A secret that the cap would go through is read to its end, and one byte more tells an answer at the cap
    // from one beyond it. The rest of a longer one is left unread.
    let most_bytes = spec.answer_bytes_max.saturating_add(masks.longest_bytes() as u64 + 1);
    let read = response.body_mut().as_reader().take(most_bytes).read_to_end(&mut answer);
    let length = response.body().content_length().unwrap_or(0).max(answer.len() as u64);
    let unread = length - answer.len() as u64;
    let mut answer = masks.apply(&answer).into_owned();
    let length = answer.len().min(usize::try_from(spec.answer_bytes_max).unwrap_or(usize::MAX));
    let cut = answer.split_off(length);
    // An answer that breaks off after its status is an answer: the receiver has said what it thinks of the
    // request.
    let dropped_bytes = if read.is_ok() { unread + cut.len() as u64 } else { 0 };
    let is_success = spec.is_success(status);
    let outcome = Outcome::Status(status);
    DeliveryResult { outcome, is_success, is_timeout: false, answer, dropped_bytes, retry_after }
}

/// An error in words of this program.
fn reason(error: &Error) -> String {
    match error {
        Error::Timeout(_) => "the timeout is over".to_owned(),
        Error::HostNotFound => "the host is not known".to_owned(),
        Error::Io(error) => certificate_reason(error.to_string()),
        error => certificate_reason(error.to_string()),
    }
}

/// What rustls says of a certificate, in words where it only has a name for it.
fn certificate_reason(text: String) -> String {
    match text.contains(CA_AS_RECEIVER) {
        true => {
            "the certificate of the receiver is that of a CA: give it one that this CA has signed".to_owned()
        }
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_json_is_called_so() {
        assert_eq!(content_type(" {\"a\": 1}"), "application/json");
        assert_eq!(content_type("[1]"), "application/json");
        assert_eq!(content_type("it is 17:30"), "text/plain; charset=utf-8");
    }
}
