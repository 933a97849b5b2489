//! A webhook as a job has it: the request that is sent, with its templates as text.
//!
//! [`KEYS`] has a row for each key, in the order in which a job's table is written.
//!
//! Cost: one small JSON document for each definition and each start, in the order of the fields.
//!
//! Does not look anything up, and does not know what an address may be.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::key::Form::{Bytes, Headers, Method, Path, Secrets, Statuses, Template, Url};
use crate::key::{Key, check, field, key};
use crate::names::{MAX_OUTPUT_BYTES, has_body};
use crate::secret::SecretBody;
use crate::template;
use crate::url::is_http;

/// The keys of a webhook.
pub const KEYS: &[Key<WebhookBody>] = &[
    key("url", Url(field!(url)), "", "where it goes"),
    key("method", Method(field!(method)), "`POST`", "the method"),
    key("headers", Headers(field!(headers)), "none", "further headers"),
    key("body", Template(field!(body)), "empty", "what is sent, with POST, PUT and PATCH"),
    key("success", Statuses(field!(success)), "`200-299`", "answers that are a success"),
    key("secrets", Secrets(field!(secrets)), "none", "for `{secret.NAME}`"),
    key(
        "signing_secret",
        Path(field!(signing_secret)),
        "none",
        "the key that signs requests, of 16 bytes at least",
    ),
    key(
        "ca_file",
        Path(field!(ca_file)),
        "public authorities",
        "certificates of the authorities that are trusted",
    ),
    key(
        "output_bytes",
        Bytes(field!(output_bytes), MAX_OUTPUT_BYTES),
        "64 KiB",
        "how much of the answer is kept",
    ),
];

/// A webhook, with its templates as text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(missing_docs, reason = "the fields are the keys of the job file")]
pub struct WebhookBody {
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub success: Vec<(u16, u16)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_secret: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
}

impl WebhookBody {
    /// Checks that a reader of files could have read it.
    ///
    /// # Errors
    /// The first mistake: lower case, no full stop.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !is_http(&self.url) {
            return Err(format!("`{}` is no URL that begins with http:// or https://", self.url));
        }
        check(KEYS, self)?;
        let method = self.method.as_deref().unwrap_or("POST");
        if !self.body.is_empty() && !has_body(method) {
            return Err(format!("body: a {method} request has no body"));
        }
        let secrets: Vec<&str> = self.secrets.iter().map(|secret| secret.name.as_str()).collect();
        let values = self.headers.iter().map(|(_, value)| ("headers", value));
        for (key, text) in [("url", &self.url), ("body", &self.body)].into_iter().chain(values) {
            template::Template::parse(text, &secrets).map_err(|error| format!("{key}: {}", error.message))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_a_field_of_its_name_and_each_field_a_key() {
        crate::key::tests::assert_complete(KEYS);
    }
}
