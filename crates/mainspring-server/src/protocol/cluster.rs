//! The servers that share a database, and the database itself, as `status` and `doctor` tell of them.
//!
//! A shared store writes most of it as one JSON document, whose fields have these names; the server adds what
//! it alone knows.
//!
//! Cost: none.
//!
//! Does not judge: [`diagnosis`](crate::diagnosis) does.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_exec::span::Span;
use mainspring_file::plain;
use serde::{Deserialize, Serialize};

/// What the servers are like that share a store. Times are by the database's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Cluster"))]
#[serde(default)]
pub struct ClusterWire {
    /// Which server plans; empty if none does.
    pub planner: String,
    /// How long its lease lasts unless it is renewed; of the server that answers, by its own clock.
    pub lease_left_ms: u64,
    /// By how much the clock of the server that answers is ahead of the database's; less than 0: behind it.
    pub clock_ahead_ms: i64,
    /// Those that are there, with what each carries out.
    pub servers: Vec<MemberWire>,
    /// Those that were taken for lost in the last hour, and whose process is not back.
    pub lost: Vec<LostServerWire>,
    /// How often a server began to plan, by how the planner before had ended.
    pub takeovers: BTreeMap<String, u64>,
    /// How often a server was refused a write because another plans.
    pub fenced: u64,
    /// What waits in the inbox.
    pub inbox_waiting: u64,
    /// What was refused, and is kept there for people.
    pub inbox_refused: u64,
    /// How long the oldest of what waits has waited.
    pub inbox_oldest_ms: Option<u64>,
    /// The database.
    pub database: DatabaseWire,
}

impl ClusterWire {
    /// Reads the document of a store, which also says what its clock showed between the two times of this
    /// server's: how far that is from both is what the clocks are apart at the least.
    pub fn read(text: &str, before: Timestamp, after: Timestamp) -> Option<ClusterWire> {
        #[derive(Deserialize)]
        struct Shown {
            now_ms: i64,
        }
        let mut cluster: ClusterWire = serde_json::from_str(text).ok()?;
        if let Ok(Shown { now_ms }) = serde_json::from_str(text) {
            let ahead_ms = |of: Timestamp| of.as_millisecond() - now_ms;
            cluster.clock_ahead_ms = ahead_ms(before).max(0) + ahead_ms(after).min(0);
        }
        Some(cluster)
    }
}

/// A server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Member"))]
#[serde(default)]
pub struct MemberWire {
    /// The number of its life, as histories have it; 0 for one that carries nothing out.
    pub id: u64,
    /// Its process and its machine.
    pub name: String,
    /// Its data directory.
    pub address: String,
    /// Its version.
    pub version: String,
    /// Its machine.
    pub host: String,
    /// What it has, each with its level; 0 where levels mean nothing.
    pub labels: BTreeMap<String, u32>,
    /// How many runs it takes at once.
    pub capacity: u64,
    /// How many run at it.
    pub running: u64,
    /// Whether it is about to end, so that nothing starts there.
    pub is_leaving: bool,
    /// How long ago it was heard of; it says each two and a half seconds that it is there.
    pub silent_ms: u64,
    /// Whether it plans.
    pub is_planner: bool,
}

/// A server that was taken for lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LostServer"))]
#[serde(default)]
pub struct LostServerWire {
    /// The number of its life, as histories have it.
    pub id: u64,
    /// Its machine.
    pub host: String,
    /// How long ago it was taken for lost.
    pub since_ms: u64,
}

impl LostServerWire {
    /// The same for people.
    pub fn text(&self) -> String {
        let since = Span(Duration::from_secs(self.since_ms / 1_000));
        format!("#{} on {} (lost {since} ago)", self.id, plain::line(&self.host))
    }
}

impl MemberWire {
    /// Whether its lease lasts still.
    pub fn is_there(&self) -> bool {
        self.silent_ms < 15_000
    }

    /// Whether it carries anything out.
    pub fn is_worker(&self) -> bool {
        0 < self.capacity
    }
}

/// How a database is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Database"))]
#[serde(default)]
pub struct DatabaseWire {
    /// Its version.
    pub version: String,
    /// The servers' role, as it is written in SQL.
    pub role: String,
    /// Its setting of that name, for the servers' role.
    pub synchronous_commit: String,
    /// How many standbys of the database are connected.
    pub standbys: u64,
    /// How many of them a commit waits for.
    pub synchronous_standbys: u64,
    /// How many of them the role may not see the state of.
    pub unseen_standbys: u64,
    /// Whether its settings name standbys that a commit is to wait for.
    pub wants_synchronous: bool,
    /// How long the oldest transaction has run, as far as the role may see it.
    pub oldest_transaction_ms: u64,
    /// How many sessions of other roles it may not see the transactions of.
    pub unseen_sessions: u64,
    /// How many transactions have begun since the oldest that keeps old rows from being removed.
    pub oldest_xmin_age: u64,
    /// Rows of the servers' tables that autovacuum is still to remove.
    pub dead_rows: u64,
    /// Rows that are in use.
    pub live_rows: u64,
    /// Whether the role may make the tables of a later version.
    pub may_migrate: bool,
    /// Schemas that names could be looked for in, and the database, where others than the servers' role, the
    /// owner and superusers may create something.
    pub others_create_in: Vec<String>,
    /// Whether a pooler stands before it.
    pub is_pooled: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_plan_knows_how_far_its_clock_is_from_the_stores() {
        let at = |ms: i64| Timestamp::from_millisecond(ms).unwrap();
        let ahead_ms = |before, after| {
            let text = r#"{"planner": "", "now_ms": 5000}"#;
            ClusterWire::read(text, at(before), at(after)).unwrap().clock_ahead_ms
        };
        assert_eq!(ahead_ms(4_000, 6_000), 0, "a slow answer says nothing of the clocks");
        assert_eq!((ahead_ms(9_000, 9_100), ahead_ms(900, 1_000)), (4_000, -4_000));
    }
}
