//! From what a job says of a webhook to what is sent: templates and the method, read.
//!
//! Cost: one pass over each template, per start.
//!
//! Does not read secrets: the start does, so that their values are held for as short as possible.

use mainspring_job::Policies;
use ureq::http::Method;

use crate::specs::SpecError;
use crate::webhook::{DEFAULT_SUCCESS, WebhookSpec};
use mainspring_action::body::WebhookBody;
use mainspring_action::names::{DEFAULT_ANSWER_BYTES, DEFAULT_TIMEOUT, MAX_TIMEOUT};
use mainspring_action::template::Template;

/// The webhook as the executor sends it.
///
/// # Errors
///
/// When a template or the method cannot be read.
pub fn webhook(body: &WebhookBody, policies: &Policies) -> Result<WebhookSpec, SpecError> {
    let names: Vec<&str> = body.secrets.iter().map(|secret| secret.name.as_str()).collect();
    let template =
        |text: &str| Template::parse(text, &names).map_err(|error| SpecError::Unknown(error.message));
    let headers = body.headers.iter().map(|(name, value)| Ok((name.clone(), template(value)?)));
    let unreadable = |_| SpecError::Unknown("there is no such method".to_owned());
    Ok(WebhookSpec {
        headers: headers.collect::<Result<_, _>>()?,
        url: template(&body.url)?,
        method: body.method.as_deref().map_or(Ok(Method::POST), str::parse).map_err(unreadable)?,
        body: template(&body.body)?,
        timeout: policies.timeout.after.unwrap_or(DEFAULT_TIMEOUT).min(MAX_TIMEOUT),
        success: if body.success.is_empty() { vec![DEFAULT_SUCCESS] } else { body.success.clone() },
        secrets: body.secrets.clone(),
        signing: body.signing_secret.clone(),
        ca_file: body.ca_file.clone(),
        answer_bytes_max: body.output_bytes.unwrap_or(DEFAULT_ANSWER_BYTES),
    })
}
