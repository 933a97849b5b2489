//! The phases of a server between its start and its end, and how long each may take.
//!
//! Cost: none.
//!
//! Does not move from one phase to the next: see [`stop`](super::stop), which has the drawing.

use std::time::Duration;

use mainspring_exec::clock::Moment;

/// How long requests to stop count as one. `timeout` and a terminal's process group deliver the same one
/// twice.
pub(super) const GATHER: Duration = Duration::from_millis(20);

/// How long to wait for processes after SIGKILL. Only one that hangs in the kernel needs longer.
pub(super) const KILL_WAIT: Duration = Duration::from_secs(1);

const _: () = assert!(GATHER.as_millis() < KILL_WAIT.as_millis());

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
    Terminating { since: Moment },
    Killed { since: Moment },
}

impl Phase {
    /// How long it lasts, and since when it does; `None` before an end is asked for.
    pub(super) fn length(self, stopping: Stopping) -> Option<(Duration, Moment)> {
        match self {
            Phase::Running => None,
            Phase::Gathering { since } => Some((GATHER, since)),
            Phase::Draining { since } => Some((stopping.drain, since)),
            Phase::Terminating { since } => Some((stopping.grace, since)),
            Phase::Killed { since } => Some((KILL_WAIT, since)),
        }
    }
}
