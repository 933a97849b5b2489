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

use toml::Spanned;
use toml::de::DeValue;

use super::body::{MAX_OUTPUT, absolute, secrets};
use super::fields::{Faults, Fields, Name, Text, integer_of, text_of};
use crate::problem::Fault;
use crate::url;
use mainspring_action::body::WebhookBody;
use mainspring_action::names::{MAX_HEADERS, METHODS, has_body};
use mainspring_action::template::Template;

const KEYS: &[&str] =
    &["url", "method", "headers", "body", "success", "secrets", "signing_secret", "ca_file", "output_bytes"];

pub(super) fn read(name: &Name<'_>, fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Option<WebhookBody> {
    let mut webhook = read_options(fields, faults);
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
        webhook.body = body.value.to_owned();
    }
    webhook.url = url.value.to_owned();
    Some(webhook)
}

/// What `[defaults.webhook]` may say as well.
pub(super) fn read_options(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> WebhookBody {
    fields.check_known(KEYS, faults);
    let secrets = secrets("secrets", fields, faults);
    if let Some(secret) = secrets.iter().find(|secret| secret.is_path) {
        let message = format!(
            "the secret `{}` of a webhook is the content of a file: give its path alone",
            secret.name
        );
        faults.push(Fault::new(fields.name_span("secrets"), message));
    }
    let path = |name: &str, faults: &mut Faults<'_>| absolute(fields.get(name)?, faults);
    WebhookBody {
        method: method(fields, faults),
        headers: headers(fields, faults),
        success: fields.values("success").into_iter().filter_map(|value| statuses(value, faults)).collect(),
        secrets,
        signing_secret: path("signing_secret", faults),
        ca_file: path("ca_file", faults),
        output_bytes: fields.integer("output_bytes", 0, MAX_OUTPUT, faults).map(i64::unsigned_abs),
        ..WebhookBody::default()
    }
}

fn template(text: &Text<'_>, secrets: &[&str], faults: &mut Faults<'_>) {
    if let Err(error) = Template::parse(text.value, secrets) {
        faults.push_inside(text, error.into());
    }
}

fn method(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Option<String> {
    let text = fields.text("method", faults)?;
    let upper = text.value.to_ascii_uppercase();
    if !METHODS.contains(&upper.as_str()) {
        faults.push(Fault::new(text.span, format!("expected one of {}", METHODS.join(", "))));
        return None;
    }
    Some(upper)
}

fn headers(fields: &Fields<'_, '_>, faults: &mut Faults<'_>) -> Vec<(String, String)> {
    let Some(table) = fields.table("headers", faults) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in table.all() {
        if !url::is_header_name(name.get_ref()) {
            faults.push(Fault::new(name.span(), format!("`{}` is no name of a header", name.get_ref())));
        }
        if found.len() == MAX_HEADERS {
            faults.push(Fault::new(name.span(), format!("a webhook has at most {MAX_HEADERS} headers")));
            break;
        }
        let Some(text) = text_of(value, faults) else { continue };
        if text.value.contains(['\r', '\n']) {
            faults.push(Fault::new(text.span.clone(), "a header is one line"));
        }
        found.push((name.get_ref().to_string(), text.value.to_owned()));
    }
    found
}

/// `204`, or `"200-299"`.
fn statuses(value: &Spanned<DeValue<'_>>, faults: &mut Faults<'_>) -> Option<(u16, u16)> {
    let status = |text: &str| text.trim().parse::<u16>().ok().filter(|status| (100..600).contains(status));
    let range = match value.get_ref() {
        DeValue::Integer(_) => {
            let one = u16::try_from(integer_of(value, 100, 599, faults)?).expect("the range was checked");
            return Some((one, one));
        }
        DeValue::String(text) => {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            status(first).zip(status(last)).filter(|(first, last)| first <= last)
        }
        _ => None,
    };
    if range.is_none() {
        faults
            .push(Fault::new(value.span(), "expected a status such as 204, or a range such as \"200-299\""));
    }
    range
}
