//! Findings about servers that share a database, and about the database.
//!
//! | finding | is trouble when |
//! |---|---|
//! | planner | no server plans |
//! | workers | none carries anything out, or all are full or leave; there is one server alone; versions differ |
//! | lost servers | one was taken for lost in the last hour |
//! | inbox | a request waits for long, or was refused |
//! | database clock | that of the server is another |
//! | database | it may lose what is acknowledged, keeps old rows, or its role may not migrate it |
//! | names | another role may create something where names are looked for |
//!
//! What the role may not see is told as such, and never as what is not there.
//!
//! Cost: some strings.
//!
//! Does not ask the database: [`ClusterWire`] has the answers.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::finding::Finding;
use crate::message::counted;
use crate::protocol::{ClusterWire, DatabaseWire, LostServerWire, MemberWire};
use mainspring_exec::span::Span;

/// The planner looks each second at least.
const LONG_WAIT_MS: u64 = 5_000;

/// As the log says: see `MAX_APART` of the server's loop.
pub(crate) const MAX_AHEAD_MS: u64 = 1_000;

/// A transaction of ours takes a few milliseconds. While one runs for so long, no old row is removed.
const LONG_TRANSACTION_MS: u64 = 600_000;

/// So many transactions are some minutes of a busy server.
const OLD_XMIN_AGE: u64 = 1_000_000;

/// Below so many dead rows autovacuum has no reason to come.
const FEW_DEAD_ROWS: u64 = 100_000;

pub(super) fn findings(cluster: &ClusterWire) -> Vec<Finding> {
    let mut findings = vec![planner(cluster)];
    findings.push(workers(&cluster.servers));
    findings.extend(lost(&cluster.lost));
    findings.extend(versions(&cluster.servers));
    findings.push(inbox(cluster));
    findings.push(clock(cluster.clock_ahead_ms));
    findings.extend(database(&cluster.database));
    findings
}

fn span(ms: u64) -> Span {
    Span(Duration::from_millis(ms))
}

fn planner(cluster: &ClusterWire) -> Finding {
    let taken: Vec<String> =
        cluster.takeovers.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let text = format!(
        "{}, whose lease lasts {}; taken over: {}; refused as an old planner: {}",
        cluster.planner,
        span(cluster.lease_left_ms),
        taken.join(", "),
        cluster.fenced
    );
    if cluster.planner.is_empty() || cluster.lease_left_ms == 0 {
        let hint =
            "what runs continues; another server plans within four seconds: see its log, and the database's";
        return Finding::bad("planner", text, hint).coded("lease");
    }
    Finding::ok("planner", text)
}

fn workers(servers: &[MemberWire]) -> Finding {
    let there: Vec<&MemberWire> = servers.iter().filter(|server| server.is_there()).collect();
    let silent = servers.len() - there.len();
    let more = if silent == 0 { String::new() } else { format!("; {silent} silent") };
    let of = |server: &&MemberWire| format!("{}: {} of {}", server.name, server.running, server.capacity);
    let shown: Vec<String> = there.iter().filter(|server| server.is_worker()).map(of).collect();
    let text = format!("{}{more}", shown.join(", "));
    let takes = |server: &&&MemberWire| server.is_worker() && !server.is_leaving;
    if there.iter().filter(takes).count() == 0 {
        let hint = "nothing starts: start a server without --no-work on the same database";
        return Finding::bad("workers", text, hint).coded("no_worker");
    }
    if there.iter().filter(takes).all(|server| server.capacity <= server.running) {
        let hint = "what is due waits: start another server, or give one more room with --max-running";
        return Finding::warning("workers", text, hint).coded("full");
    }
    if there.len() < 2 {
        let hint = "no other would take over: start a second server on the same database";
        return Finding::warning("workers", text, hint).coded("no_standby");
    }
    Finding::ok("workers", text)
}

fn lost(servers: &[LostServerWire]) -> Option<Finding> {
    let text = servers.iter().map(LostServerWire::text).collect::<Vec<_>>().join(", ");
    let hint = "what ran there was tried again elsewhere, as its policy says: start that server again, or see its log";
    (!servers.is_empty()).then(|| Finding::warning("lost servers", text, hint).coded("lost_server"))
}

fn versions(servers: &[MemberWire]) -> Option<Finding> {
    // Of a planner that carries nothing out the database has none.
    let there = servers.iter().filter(|server| server.is_there() && !server.version.is_empty());
    let versions: BTreeSet<&str> = there.map(|server| server.version.as_str()).collect();
    let text = versions.iter().copied().collect::<Vec<_>>().join(", ");
    let hint = "two versions next to each other work together; end the upgrade";
    (1 < versions.len()).then(|| Finding::warning("versions", text, hint))
}

fn inbox(cluster: &ClusterWire) -> Finding {
    let oldest_ms = cluster.inbox_oldest_ms.unwrap_or_default();
    let text = format!(
        "{} waiting, the oldest for {}; {} refused",
        cluster.inbox_waiting,
        span(oldest_ms),
        cluster.inbox_refused
    );
    if LONG_WAIT_MS < oldest_ms {
        return Finding::bad("inbox", text, "the planner does not take requests: see its log").coded("inbox");
    }
    if 0 < cluster.inbox_refused {
        let hint = "SELECT id, actor, refusal FROM mainspring.inbox WHERE refusal <> '' says why; DELETE them afterwards";
        return Finding::warning("inbox", text, hint);
    }
    Finding::ok("inbox", text)
}

fn clock(ahead_ms: i64) -> Finding {
    let apart = span(ahead_ms.unsigned_abs());
    let word = if ahead_ms < 0 { "behind" } else { "ahead of" };
    let text = format!("the server's clock is {apart} {word} the database's");
    if MAX_AHEAD_MS < ahead_ms.unsigned_abs() {
        let hint = "jobs are due by the database's clock; set the clock of the server right (NTP)";
        return Finding::warning("database clock", text, hint).coded("clock");
    }
    Finding::ok("database clock", text)
}

fn database(of: &DatabaseWire) -> Vec<Finding> {
    let mut findings = vec![durability(of), vacuum(of)];
    if !of.may_migrate {
        let text = "the role may not make tables in the schema mainspring";
        let hint = "before an upgrade another role makes them: see docs/cluster.md";
        findings.push(Finding::warning("rights", text.to_owned(), hint));
    }
    if !of.others_create_in.is_empty() {
        let text = format!("roles other than the servers' may create in {}", of.others_create_in.join(", "));
        let hint = "a function of theirs could be called in place of the database's: REVOKE CREATE ON .. FROM PUBLIC, or from the role";
        findings.push(Finding::warning("names", text, hint));
    }
    findings
}

fn durability(of: &DatabaseWire) -> Finding {
    // Where the settings name none, each standby is asynchronous, whatever is seen of it.
    let is_unseen = of.wants_synchronous && of.synchronous_standbys == 0 && 0 < of.unseen_standbys;
    let standbys = match (of.standbys, of.synchronous_standbys) {
        (0, _) => "no standby".to_owned(),
        (count, _) if is_unseen => format!("{}, whose state cannot be seen", counted(count, "standby")),
        (count, synchronous) => format!("{}, {synchronous} of them synchronous", counted(count, "standby")),
    };
    let pooled = if of.is_pooled { ", behind a pooler" } else { "" };
    let text = format!(
        "PostgreSQL {}, synchronous_commit {}, {standbys}{pooled}",
        of.version, of.synchronous_commit
    );
    if of.synchronous_commit == "off" {
        let hint = "ALTER ROLE .. SET synchronous_commit = on: it may forget what it has acknowledged";
        Finding::bad("database", text, hint).coded("synchronous_commit")
    } else if is_unseen {
        let hint = format!("GRANT pg_read_all_stats TO {} shows whether one of them is synchronous", of.role);
        Finding::warning("database", text, hint).coded("unseen_standby")
    } else if of.wants_synchronous && of.synchronous_standbys == 0 {
        let hint = "each commit waits for a synchronous standby, and none is connected";
        Finding::bad("database", text, hint).coded("synchronous_standby")
    } else if 0 < of.standbys && of.synchronous_standbys == 0 {
        let hint = "after a failover to a standby that lags, what was acknowledged last is lost: synchronous_standby_names";
        Finding::warning("database", text, hint).coded("asynchronous_standby")
    } else {
        Finding::ok("database", text)
    }
}

fn vacuum(of: &DatabaseWire) -> Finding {
    let unseen = match of.unseen_sessions {
        0 => String::new(),
        count => format!("; without pg_read_all_stats {} cannot be seen", counted(count, "session")),
    };
    let text = format!(
        "{} dead beside {} live rows; the oldest transaction has run for {}, and {} have begun since the oldest snapshot{unseen}",
        of.dead_rows,
        of.live_rows,
        span(of.oldest_transaction_ms),
        of.oldest_xmin_age
    );
    let holds = LONG_TRANSACTION_MS < of.oldest_transaction_ms || OLD_XMIN_AGE < of.oldest_xmin_age;
    if holds {
        let hint = "a session or a replication slot keeps old rows from being removed: pg_stat_activity, pg_replication_slots";
        Finding::warning("vacuum", text, hint).coded("old_snapshot")
    } else if FEW_DEAD_ROWS < of.dead_rows && of.live_rows < of.dead_rows {
        Finding::warning(
            "vacuum",
            text,
            "autovacuum does not keep up: VACUUM the tables of the schema mainspring",
        )
    } else {
        Finding::ok("vacuum", text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Level;

    fn good() -> ClusterWire {
        let member = |name: &str, is_planner| MemberWire {
            name: name.to_owned(),
            version: "1".to_owned(),
            is_planner,
            capacity: 4,
            ..MemberWire::default()
        };
        ClusterWire {
            planner: "one".to_owned(),
            lease_left_ms: 14_000,
            servers: vec![
                member("one", true),
                member("two", false),
                MemberWire { name: "three".to_owned(), ..MemberWire::default() },
            ],
            database: DatabaseWire {
                synchronous_commit: "on".to_owned(),
                may_migrate: true,
                ..DatabaseWire::default()
            },
            ..ClusterWire::default()
        }
    }

    #[test]
    fn a_good_cluster_has_no_trouble_and_each_trouble_is_said() {
        let trouble = |cluster: &ClusterWire| -> Vec<String> {
            let found = findings(cluster).into_iter().filter(|finding| finding.level != Level::Ok);
            found.map(|finding| finding.subject.to_owned()).collect()
        };
        assert_eq!(trouble(&good()), [""; 0]);
        type Plant = fn(&mut ClusterWire);
        let cases: [(&str, Plant); 16] = [
            ("planner", |cluster| cluster.lease_left_ms = 0),
            ("workers", |cluster| cluster.servers.truncate(1)),
            ("workers", |cluster| cluster.servers.iter_mut().for_each(|server| server.running = 4)),
            ("workers", |cluster| cluster.servers.iter_mut().for_each(|server| server.is_leaving = true)),
            ("lost servers", |cluster| cluster.lost.push(LostServerWire::default())),
            ("versions", |cluster| "2".clone_into(&mut cluster.servers[1].version)),
            ("inbox", |cluster| cluster.inbox_oldest_ms = Some(6_000)),
            ("inbox", |cluster| cluster.inbox_refused = 1),
            ("database clock", |cluster| cluster.clock_ahead_ms = -1_500),
            ("database", |cluster| "off".clone_into(&mut cluster.database.synchronous_commit)),
            ("database", |cluster| cluster.database.wants_synchronous = true),
            ("database", |cluster| cluster.database.standbys = 1),
            ("vacuum", |cluster| cluster.database.oldest_xmin_age = 2_000_000),
            ("vacuum", |cluster| cluster.database.dead_rows = 200_000),
            ("rights", |cluster| cluster.database.may_migrate = false),
            ("names", |cluster| cluster.database.others_create_in.push("the schema public".to_owned())),
        ];
        for (about, plant) in cases {
            let mut cluster = good();
            plant(&mut cluster);
            assert_eq!(trouble(&cluster), [about]);
        }
    }

    #[test]
    fn what_the_role_may_not_see_is_not_told_as_what_is_not_there() {
        let mut of = DatabaseWire {
            role: "\"main spring\"".to_owned(),
            standbys: 1,
            unseen_standbys: 1,
            wants_synchronous: true,
            ..good().database
        };
        let found = durability(&of);
        assert_eq!((found.level, found.code), (Level::Warning, "unseen_standby"));
        assert!(found.text.ends_with("1 standby, whose state cannot be seen"), "{}", found.text);
        let hint = found.hint.unwrap();
        assert!(hint.starts_with("GRANT pg_read_all_stats TO \"main spring\" "), "{hint}");
        // It sees one of its own, which is enough.
        (of.standbys, of.synchronous_standbys) = (2, 1);
        assert_eq!(durability(&of).level, Level::Ok);
        // No setting asks for one: then there is none.
        (of.synchronous_standbys, of.wants_synchronous) = (0, false);
        assert_eq!(durability(&of).code, "asynchronous_standby");
        (of.unseen_standbys, of.wants_synchronous) = (0, true);
        assert_eq!(durability(&of).code, "synchronous_standby");
        of.unseen_sessions = 2;
        let text = vacuum(&of).text;
        assert!(text.ends_with("; without pg_read_all_stats 2 sessions cannot be seen"), "{text}");
    }
}
