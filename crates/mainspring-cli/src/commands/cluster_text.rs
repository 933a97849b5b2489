//! The text of `status` on the servers that share a database.
//!
//! Cost: some strings.
//!
//! Does not judge: `doctor` does.

use mainspring_file::plain;
use mainspring_server::protocol::{ClusterWire, LostServerWire, MemberWire};

/// Which server plans, and how that came.
pub(super) fn planner_text(cluster: &ClusterWire) -> String {
    let taken = cluster.takeovers.iter().map(|(kind, count)| format!("{count} {kind}"));
    let taken = taken.collect::<Vec<_>>().join(", ");
    format!("{}; taken over: {taken}", plain::line(&cluster.planner))
}

/// The servers that share the store, a line each, how many of its places each has taken, and its labels.
pub(super) fn servers_text(cluster: &ClusterWire) -> String {
    let of = |server: &MemberWire| {
        let number = if server.is_worker() { format!("#{} ", server.id) } else { String::new() };
        let name = plain::line(&server.name);
        let places = match server.is_worker() {
            true => format!("{} of {} running", server.running, server.capacity),
            false => "carries nothing out".to_owned(),
        };
        let state = match (server.is_there(), server.is_leaving) {
            (false, _) => format!(", silent for {} s", server.silent_ms / 1_000),
            (true, true) => ", leaves".to_owned(),
            (true, false) => String::new(),
        };
        let labels = server.labels.keys().map(|label| plain::line(label).to_string()).collect::<Vec<_>>();
        let labels = if labels.is_empty() { String::new() } else { format!(": {}", labels.join(", ")) };
        format!("{number}{name} ({places}{state}){labels}")
    };
    let all = cluster.servers.iter().map(of).chain(cluster.lost.iter().map(LostServerWire::text));
    all.fold("\nservers\n".to_owned(), |text, server| text + "  " + &server + "\n")
}
