//! What the world of a history saw, in order: what the checker reads beside the journal.

use jiff::Timestamp;
use mainspring_job::{Cause, Command, Reply, RunKey, Ticket};

/// What the world saw.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Started {
        key: RunKey,
        attempt: u32,
        cause: Cause,
        due: Timestamp,
        at: Timestamp,
        high_water: Timestamp,
    },
    Ended {
        key: RunKey,
        attempt: u32,
    },
    Acknowledged {
        ticket: Ticket,
        command: Command,
        reply: Reply,
    },
    /// A command was told; what it asks for may be in force from now on.
    Asked {
        ticket: Ticket,
        command: Command,
    },
    /// The planner knows that the server ends, and all that it decided before is done.
    Stopped,
    Crashed {
        at: Timestamp,
    },
    /// The server has given the store up; what still ran was killed.
    Released,
    /// From here on no start kills the server.
    Mended,
    /// The clock was set back.
    SetBack,
}
