//! Bodies of actions, and the rules for what is in them.
//!
//! Cost: none.
//!
//! Does not act: see [`actions`](super).

use std::collections::HashMap;

use jiff::Timestamp;
use mainspring_cron::TimeText;
use mainspring_job::MAX_NOTE_BYTES;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::bulk::{Bulk, Deed};
use crate::problem::{Code, Problem};

/// When a job is to run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunParams {
    /// When it is due. Within the minute that has passed: now, and the same twice is one run.
    #[schemars(with = "Option<Timestamp>")]
    pub(super) at: Option<String>,
    /// After how long it is due, such as 90s or 1h30m, instead of `at`.
    pub(super) r#in: Option<String>,
    /// The same again for the same job is answered with the first run, as with the header Idempotency-Key.
    pub(super) key: Option<String>,
}

/// What is said about an action: see [`check_note`].
#[derive(JsonSchema)]
#[schemars(inline, extend("maxLength" = MAX_NOTE_BYTES, "pattern" = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"))]
pub(super) struct Note(#[expect(dead_code, reason = "it is a shape")] String);

/// What is said about it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Noted")]
pub(crate) struct NoteBody {
    /// What is said about it, for the audit: at most 1,024 bytes.
    #[schemars(with = "Option<Note>")]
    pub(super) note: Option<String>,
}

/// Times to run again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BackfillParams")]
pub(crate) struct Backfill {
    #[schemars(with = "Timestamp")]
    pub(super) from: String,
    #[schemars(with = "Timestamp")]
    pub(super) to: String,
    /// Only tells what would be done.
    #[serde(default)]
    pub(super) preview: bool,
    /// The count of the preview; another one now is 409 `changed`.
    pub(super) expected: Option<usize>,
}

/// What is done to many jobs or runs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ActionParams")]
pub(crate) struct BulkBody {
    pub(super) r#do: Deed,
    pub(super) of: BulkKind,
    #[schemars(extend("maxItems" = Bulk::MAX))]
    pub(super) ids: Option<Vec<String>>,
    /// The parameters of GET jobs or GET runs that choose.
    pub(super) filter: Option<HashMap<String, String>>,
    /// What is said about it, for the audit: at most 1,024 bytes.
    #[schemars(with = "Option<Note>")]
    pub(super) note: Option<String>,
    /// Until when, for a pause.
    #[schemars(with = "Option<Timestamp>")]
    pub(super) until: Option<String>,
    /// Only tells what would be done.
    #[serde(default)]
    pub(super) preview: bool,
    /// The count of the preview; another one now is 409 `changed`.
    pub(super) expected: Option<usize>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum BulkKind {
    Jobs,
    Runs,
}

/// How long a pause lasts, and why there is one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseParams {
    /// Why, for others: at most 1,024 bytes.
    #[schemars(with = "Option<Note>")]
    pub(super) note: Option<String>,
    /// When it ends by itself, after now.
    #[schemars(with = "Option<Timestamp>")]
    pub(super) until: Option<String>,
}

/// The rule of the server, which says it with the field here.
pub(super) fn check_note(note: Option<&str>) -> Result<(), Problem> {
    let is_good = |note: &str| note.len() <= MAX_NOTE_BYTES && !note.chars().any(char::is_control);
    if note.is_none_or(is_good) {
        return Ok(());
    }
    let text = format!("`note` has at most {MAX_NOTE_BYTES} bytes, and no control characters");
    Err(Problem::new(Code::INVALID, text))
}

pub(super) fn check_until(until: Option<&str>, now: Timestamp) -> Result<(), Problem> {
    let is_good = |until: &str| TimeText::instant(until).is_ok_and(|until| now < until);
    if until.is_none_or(is_good) {
        return Ok(());
    }
    Err(Problem::new(Code::INVALID, "`until` must be a time in RFC 3339 after now"))
}
