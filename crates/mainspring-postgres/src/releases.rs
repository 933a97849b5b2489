//! Hears that the planner's lease was released, so that a server that stands by need not ask in vain.
//!
//! ```text
//!  release ─▶ NOTIFY mainspring_free ─▶ each standby asks at once, and one of them has it
//! ```
//!
//! Cost: a session that is silent.
//!
//! Does not hear that a lease ran out, and nothing through a pooler in transaction mode: a standby asks now
//! and then all the same.

use std::time::Duration;

use mainspring_job::StoreError;

use super::connection::{Connection, WaitNotifier};
use super::location::Location;

/// The channel.
const FREE: &str = "mainspring_free";

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

    /// What ends [`wait`](Releases::wait) from another thread.
    pub fn notifier(&self) -> WaitNotifier {
        self.connection.notifier()
    }

    /// Waits until the lease was released, at most so long. Returns whether it may have been.
    pub fn wait(&mut self, longest: Duration) -> bool {
        self.connection.wait(longest)
    }
}
