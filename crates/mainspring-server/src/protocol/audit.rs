//! The documents of the audit log, and of how a job's runs went.
//!
//! Cost: none.
//!
//! Does not ask the store: `queries` does.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Which rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditAskWire {
    /// Only of this actor. The field `actor` of a request is the caller.
    #[serde(rename = "by")]
    pub actor: Option<String>,
    /// Only about this job, run or one-shot job.
    pub target: Option<String>,
    /// Only at or after this time.
    pub since: Option<String>,
    /// Only rows with smaller numbers: the last of the page before.
    pub before: Option<u64>,
    /// At most so many.
    pub limit: usize,
}

/// What somebody asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the fields are those of `audit`")]
pub struct AuditWire {
    /// Counts up.
    pub number: u64,
    pub at: Timestamp,
    /// `uid 1000` over the socket; over HTTP `token NAME`, `proxy user NAME` or `local user`.
    pub actor: String,
    /// The command.
    pub action: String,
    /// A job, a run or a one-shot job; empty for everything.
    pub target: String,
    /// What was said about it; empty if nothing was.
    pub note: String,
}
