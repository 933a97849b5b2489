//! The text of `status` on the servers that share a database.
//!
//! Cost: some strings.
//!
//! Does not judge: `doctor` does.

use mainspring_file::plain;
use mainspring_server::protocol::{ClusterWire, MemberWire};

/// Who owns the jobs, and how that came.
pub(super) fn owner_text(cluster: &ClusterWire) -> String {
    let taken = cluster.takeovers.iter().map(|(kind, count)| format!("{count} {kind}"));
    let taken = taken.collect::<Vec<_>>().join(", ");
    format!("{}, lease for {} s; taken over: {taken}", cluster.owner, cluster.lease_left_ms / 1_000)
}

/// The servers that share the store.
pub(super) fn servers_text(cluster: &ClusterWire) -> String {
    let of =
        |server: &MemberWire| format!("{} ({} s ago)", plain::line(&server.name), server.silent_ms / 1_000);
    cluster.servers.iter().map(of).collect::<Vec<_>>().join(", ")
}
