//! The phases of a server between its start and its end, and how long each may take.
//!
//! Cost: none.
//!
//! Does not move from one phase to the next: see [`stop`](super::stop), which has the drawing.

use std::time::Duration;

use mainspring_exec::clock::Moment;

/// How patient a server is that is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopping {
    /// How long running jobs may end by themselves before they are asked to.
    pub drain: Duration,
    /// How long they have then.
    pub grace: Duration,
}

/// See the drawing at the head of `stop.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    Gathering { since: Moment },
    Draining { since: Moment },
    Asked { since: Moment },
    Killed { since: Moment },
}
