//! Requests with many arguments, of which most are left out.
//!
//! Cost: none.
//!
//! Does not check them: the server does.

use serde::{Deserialize, Serialize};

/// In place of a cause: the runs of notifications.
pub const NOTIFY_CAUSE: &str = "notify";

/// In place of a cause: all runs, those of notifications too.
pub const ALL_CAUSES: &str = "all";

/// Which jobs, a page after a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListWire {
    /// The name of the last job of the page before.
    pub after: Option<String>,
    /// Only jobs with all of these labels, each `name=text`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// Which runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HistoryWire {
    /// Only runs of this job.
    pub job: Option<String>,
    /// Only runs in these states; all if it is empty.
    pub states: Vec<String>,
    /// At most so many.
    pub limit: usize,
    /// Where the page before ended.
    pub cursor: Option<String>,
    /// Only runs of jobs and one-shot jobs in this group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Only runs with this cause: `trigger`, `catch_up`, `boot`, `request`, `backfill`, `once`, `after`.
    /// `notify`: only runs of notifications, which else only `all`, their group and the state `dead` show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Only runs whose time, by the order, is this one or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only runs whose time, by the order, is before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// `nominal`, or `ended`: by when they ended, those that have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
}

/// What is paused, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PauseWire {
    /// `None`: everything.
    pub job: Option<String>,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// What is said about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}
