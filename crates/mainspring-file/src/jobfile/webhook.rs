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
use super::fields::{Faults, Fields, Name, Text, text_of};
use crate::problem::Fault;
use crate::url;
use mainspring_action::names::has_body;
use mainspring_action::template::Template;
use mainspring_action::webhook::{KEYS, WebhookBody};

pub(super) fn read(name: &Name<'_>, fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Option<WebhookBody> {
    let webhook = read_options(fields, faults);
    let names: Vec<&str> = webhook.secrets.iter().map(|secret| secret.name.as_str()).collect();
    if !fields.has("url") {
        let fault = Fault::new(name.span(), "a webhook needs a url");
        faults.push(fault.with_hint("for example: url = \"https://example.com/hooks/{job}\""));
    }
    let url = fields.text("url", faults)?;
    template(&url, &names, faults);
    // Variables stand for themselves here: what they become is known only when it is sent.
    let is_url = url::has_host(&url.value.replace(['{', '}'], "x"));
    if !is_url || !["http://", "https://"].iter().any(|scheme| url.value.starts_with(scheme)) {
        faults.push(Fault::new(url.span.clone(), "expected a URL that begins with http:// or https://"));
    }
    for (_, value) in fields.table("headers", faults).iter().flat_map(Fields::all) {
        if let Some(text) = text_of(value, faults) {
            template(&text, &names, faults);
        }
    }
    let method = webhook.method.as_deref().unwrap_or("POST");
    if let Some(body) = fields.text("body", faults) {
        template(&body, &names, faults);
        if !has_body(method) {
            faults.push(Fault::new(fields.name_span("body"), format!("a {method} request has no body")));
        }
    }
    Some(webhook)
}

/// What `[defaults.webhook]` may say as well.
pub(super) fn read_options(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> WebhookBody {
    let known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
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

fn template(text: &Text<'_>, secrets: &[&str], faults: &mut Faults<'_>) {
    if let Err(error) = Template::parse(text.value, secrets) {
        faults.push_inside(text, error.into());
    }
}
