//! How far the server is on the way to its end, and how patient it is.
//!
//! Cost: none.
//!
//! Does not end anything: see [`stop`](super::stop).

use std::time::Duration;

use crate::clock::Moment;

/// How patient a server is that is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopping {
    /// How long running jobs may end by themselves before they are asked to.
    pub drain: Duration,
    /// How long they have then.
    pub grace: Duration,
}

/// See the drawing at the head of [`stop`](super::stop).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    Gathering { since: Moment },
    Draining { since: Moment },
    Asked { since: Moment },
    Killed { since: Moment },
}
