//! The listener of the server, as the loop sees it: connections that were made with it, and requests that
//! only it may make.
//!
//! ```text
//! thread of the listener ── socket pairs ──▶ peers: read, answered and held back as connections of clients are
//!                                             └─ Redeem, Watch, and an actor that is believed
//! ```
//!
//! Its connections do not count among the limits of clients, are never closed for others, and have a rate of
//! their own. So a crowd of browsers cannot lock out clients of the socket.
//!
//! Cost: a socket pair for each connection.
//!
//! Does not know HTTP.

use super::changes::Changes;
use super::login_codes::LoginCodes;
use super::meters::Meters;
use mainspring_host::net::LocalStream;

/// A listener that serves with the server, as it is handed over.
#[derive(Debug, Default)]
pub struct Listener {
    /// The loop's ends of its connections.
    pub streams: Vec<LocalStream>,
    /// Where people find it, each with a final slash. Empty: there is none.
    pub addresses: Vec<String>,
}

/// What the loop keeps of the listener.
#[derive(Debug, Default)]
pub(super) struct ListenerState {
    pub(super) codes: LoginCodes,
    pub(super) changes: Changes,
    pub(super) meters: Meters,
}

impl ListenerState {
    /// Counts if a listener serves, with these connections.
    pub(super) fn new(addresses: Vec<String>, streams: &[LocalStream]) -> ListenerState {
        let changes = Changes::default();
        let meters = if streams.is_empty() { Meters::default() } else { Meters::counting() };
        ListenerState { codes: LoginCodes::new(addresses), changes, meters }
    }
}
