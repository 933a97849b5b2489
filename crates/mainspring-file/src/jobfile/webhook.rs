//! The request that a job sends as a webhook.
//!
//! ```text
//! [jobs.ping.webhook]
//! url = "https://example.com/hooks/{job}"
//! headers = { Authorization = "Bearer {secret.TOKEN}" }
//! body = '{"job": "{job}", "due": "{nominal}"}'
//! success = ["200-299", 404]
//! secrets = { TOKEN = "/etc/secrets/token" }
//! signing_secret = "/etc/secrets/signing"
//! ```
//!
//! Cost: one pass.
//!
//! Does not resolve the host.

use super::body;
use std::ops::Range;

use super::fields::{Faults, Fields, Text, text_of};
use crate::problem::Fault;
use crate::url;
use mainspring_action::names::has_body;
use mainspring_action::template::Template;
use mainspring_action::url::is_http;
use mainspring_action::webhook::{KEYS, WebhookBody};

/// The request of the table at a place, which may have `more` keys. `words` may stand between its braces.
pub(super) fn read(
    span: Range<usize>,
    words: &[&'static str],
    more: &[&str],
    fields: &Fields<'_, '_>,
    faults: &mut Faults<'_>,
) -> Option<WebhookBody> {
    let webhook = read_keys(more, fields, faults);
    let names: Vec<&str> = webhook.secrets.iter().map(|secret| secret.name.as_str()).collect();
    if !fields.has("url") {
        let fault = Fault::new(span, "a webhook needs a url");
        faults.push(fault.with_hint("for example: url = \"https://example.com/hooks/{job}\""));
    }
    let url = fields.text("url", faults)?;
    template(&url, words, &names, faults);
    // Variables stand for themselves here: what they become is known only when it is sent.
    let is_url = url::has_host(&url.value.replace(['{', '}'], "x"));
    if !is_url || !is_http(url.value) {
        faults.push(Fault::new(url.span.clone(), "expected a URL that begins with http:// or https://"));
    }
    for (_, value) in fields.table("headers", faults).iter().flat_map(Fields::all) {
        if let Some(text) = text_of(value, faults) {
            template(&text, words, &names, faults);
        }
    }
    let method = webhook.method.as_deref().unwrap_or("POST");
    if let Some(body) = fields.text("body", faults) {
        template(&body, words, &names, faults);
        if !has_body(method) {
            faults.push(Fault::new(fields.name_span("body"), format!("a {method} request has no body")));
        }
    }
    Some(webhook)
}

/// The keys one by one, which `[defaults.webhook]` may have as well.
pub(super) fn read_keys(more: &[&str], fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> WebhookBody {
    let known: Vec<&str> = KEYS.iter().map(|key| key.name).chain(more.iter().copied()).collect();
    fields.check_known(&known, faults);
    let webhook: WebhookBody = body::read(KEYS, fields, faults);
    if let Some(secret) = webhook.secrets.iter().find(|secret| secret.is_path) {
        let message = format!(
            "the secret `{}` of a webhook is the content of a file: give its path alone",
            secret.name
        );
        faults.push(Fault::new(fields.name_span("secrets"), message));
    }
    webhook
}

fn template(text: &Text<'_>, words: &[&'static str], secrets: &[&str], faults: &mut Faults<'_>) {
    if let Err(error) = Template::parse_with(words, text.value, secrets) {
        faults.push_inside(text, error.into());
    }
}
