//! Hears that a shard was released, so that a server that stands by need not ask in vain.
//!
//! ```text
//!  release ─▶ NOTIFY mainspring_free ─▶ each standby asks at once, and one of them has the shard
//! ```
//!
//! Cost: a session that is silent.
//!
//! Does not hear that a lease ran out, and nothing through a pooler in transaction mode: a standby asks now
//! and then all the same.

use std::time::Duration;

use mainspring_job::StoreError;

use super::connection::Connection;
use super::location::Location;

/// The channel.
pub(super) const FREE: &str = "mainspring_free";

/// The session.
#[derive(Debug)]
pub struct Releases {
    connection: Connection,
}

impl Releases {
    /// Connects with the first wait.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn new(location: &Location) -> Result<Releases, StoreError> {
        Ok(Releases { connection: Connection::listening(location, FREE)? })
    }

    /// Waits until a shard was released, at most so long. Returns whether one may have been.
    pub fn wait(&mut self, longest: Duration) -> bool {
        self.connection.wait(longest)
    }
}
