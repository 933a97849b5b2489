//! The events of a history, in order: all that the checker reads.

use jiff::Timestamp;
use mainspring_job::{Answer, Cause, Command, Operation, Outcome, Reply, RunKey, Takeover, Ticket};

/// What the world saw.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A server begins, with these jobs defined.
    Began {
        at: Timestamp,
        takeover: Takeover,
    },
    /// The disk has accepted an operation, or refused it. The batch is named by epoch and number.
    Wrote {
        batch: (u64, u64),
        operation: Operation,
        answer: Answer,
    },
    Started {
        key: RunKey,
        attempt: u32,
        cause: Cause,
        due: Timestamp,
        at: Timestamp,
        high_water: Timestamp,
    },
    Killed {
        key: RunKey,
        attempt: u32,
    },
    Ended {
        key: RunKey,
        attempt: u32,
        outcome: Outcome,
    },
    /// A command was told; what it asks for may be in force from now on.
    Issued {
        at: Timestamp,
        ticket: Ticket,
        command: Command,
    },
    Acknowledged {
        ticket: Ticket,
        command: Command,
        reply: Reply,
    },
    /// Several facts are told before anything is written from here on.
    Gathers,
    /// All that was decided is on disk and done. `is_single`: since the last time one fact was told.
    Settled {
        at: Timestamp,
        is_single: bool,
    },
    /// The planner knows that the server ends, and all that it decided before is done.
    Stopped,
    /// The server is no more, and the machine continues.
    Crashed {
        at: Timestamp,
    },
    /// The machine is started again.
    Rebooted,
    /// The server has given the store up; what still ran was killed.
    Released,
    /// From here on no start kills the server.
    Mended,
    /// All that is due by now has been looked at.
    LookedLast {
        at: Timestamp,
    },
    /// The clock was set back.
    SetBack,
}
