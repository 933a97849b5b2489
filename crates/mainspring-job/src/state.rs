//! The states of a run, closed, and which may follow which.
//!
//! ```text
//!                          ┌───────────────────────── retry ────────────────────────┐
//!                          ▼                                                        │
//!   (due) ───────────▶ scheduled ──────▶ queued ◀─────▶ running ─┬─▶ failed ────────┤
//!     │                    │  └───────────── ▲ ───────▶    │     ├─▶ timed_out ─────┼──▶ dead ──┐
//!     │                    │                 │             │     └─▶ abandoned ─────┘      │    │ retried
//!     │                    ├─▶ cancelled ◀───┴─────────────┤                               │    │ by hand:
//!     ├─▶ missed ◀─────────┤                               └─▶ succeeded        dropped:   ▼    ▼
//!     ├─▶ skipped_overlap ◀┤ (and from queued)                                 cancelled ◀─┘  scheduled
//!     └─▶ skipped_paused  ◀┘     running ──▶ scheduled: its handler put it off
//! ```
//!
//! | state | means | final |
//! |---|---|---|
//! | `scheduled` | recorded, and its time has not come: jitter, the spread of a catch-up run, the back-off before a retry, or its handler put it off | |
//! | `queued` | its time has come and it waits for a place: its own job's, its group's, or the server's | |
//! | `running` | its start is on disk; the executor has it, or gives it back before it begins | |
//! | `succeeded`, `failed`, `timed_out` | how the last attempt ended | yes, unless retried |
//! | `abandoned` | it ran when the server ended, so how it ended is unknown | yes, unless retried |
//! | `cancelled` | a person, or the overlap rule `kill-old`, stopped it | yes |
//! | `skipped_overlap` | an earlier run blocked it | yes |
//! | `skipped_paused` | its job was paused | yes |
//! | `missed` | no server planned it at its time, and the misfire policy did not catch it up | yes |
//! | `dead` | its attempts are used up on outcomes that its retry policy names; it waits for a person to look | until one does |
//!
//! The test below walks the whole table, 12 by 12.

use std::fmt;

/// Says how far a run is.
///
/// # Example
/// ```
/// use mainspring_job::RunState;
///
/// assert!(RunState::Failed.may_become(RunState::Scheduled), "it is tried again");
/// assert!(!RunState::Succeeded.may_become(RunState::Scheduled));
/// assert_eq!(RunState::from_name("timed_out"), Some(RunState::TimedOut));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "the states are closed: see the table")]
pub enum RunState {
    /// Its time has not come.
    Scheduled,
    /// It waits for a place.
    Queued,
    /// Its start is recorded.
    Running,
    /// It did what it should.
    Succeeded,
    /// It did not.
    Failed,
    /// It took too long and was killed.
    TimedOut,
    /// It was stopped, or withdrawn before it started.
    Cancelled,
    /// An earlier run was in the way.
    SkippedOverlap,
    /// Its job was paused.
    SkippedPaused,
    /// Its time passed while no server looked.
    Missed,
    /// The server ended while it ran.
    Abandoned,
    /// Its retries are used up.
    Dead,
}

use RunState::{
    Abandoned, Cancelled, Dead, Failed, Missed, Queued, Running, Scheduled, SkippedOverlap, SkippedPaused,
    Succeeded, TimedOut,
};

impl RunState {
    /// All states, in the order of the table above.
    pub const ALL: [RunState; 12] = [
        Scheduled,
        Queued,
        Running,
        Succeeded,
        Failed,
        TimedOut,
        Cancelled,
        SkippedOverlap,
        SkippedPaused,
        Missed,
        Abandoned,
        Dead,
    ];

    /// The word in records and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Scheduled => "scheduled",
            Queued => "queued",
            Running => "running",
            Succeeded => "succeeded",
            Failed => "failed",
            TimedOut => "timed_out",
            Cancelled => "cancelled",
            SkippedOverlap => "skipped_overlap",
            SkippedPaused => "skipped_paused",
            Missed => "missed",
            Abandoned => "abandoned",
            Dead => "dead",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<RunState> {
        RunState::ALL.into_iter().find(|state| state.name() == name)
    }

    /// The states that may follow.
    pub const fn successors(self) -> &'static [RunState] {
        match self {
            Scheduled => &[Queued, Running, Cancelled, SkippedOverlap, SkippedPaused, Missed],
            Queued => &[Running, Cancelled, SkippedOverlap, SkippedPaused, Missed],
            Running => &[Scheduled, Queued, Succeeded, Failed, TimedOut, Cancelled, Abandoned],
            Failed | TimedOut | Abandoned => &[Scheduled, Dead],
            Dead => &[Scheduled, Cancelled],
            Succeeded | Cancelled | SkippedOverlap | SkippedPaused | Missed => &[],
        }
    }

    /// Whether a run in this state may go over to `next`. A state does not follow itself.
    pub fn may_become(self, next: RunState) -> bool {
        self.successors().contains(&next)
    }

    /// Whether the end of an attempt leads to this state. What is given back or put off has not ended.
    pub fn is_end_of_attempt(self) -> bool {
        Running.may_become(self) && !self.is_open()
    }

    /// Which attempts of a run do not count any more when it goes from this state to `next`.
    pub fn forgives(self, next: RunState) -> Forgiveness {
        match (self, next) {
            (Dead, Scheduled) => Forgiveness::All,
            (Running, Scheduled | Queued) => Forgiveness::Last,
            _ => Forgiveness::None,
        }
    }

    /// Whether a new record may begin in this state.
    pub const fn may_begin(self) -> bool {
        matches!(self, Scheduled | Queued | Running | SkippedOverlap | SkippedPaused | Missed | Cancelled)
    }

    /// Whether the planner still has something to do with it: scheduled, queued or running.
    pub const fn is_open(self) -> bool {
        matches!(self, Scheduled | Queued | Running)
    }

    /// Whether it is an end that counts as a failure: failed, timed out, abandoned, dead.
    pub const fn is_failure(self) -> bool {
        matches!(self, Failed | TimedOut | Abandoned | Dead)
    }
}

/// Says which attempts of a run do not count against its retries any more.
///
/// # Example
/// ```
/// use mainspring_job::{Forgiveness, RunState};
///
/// let given_back = RunState::Running.forgives(RunState::Queued);
/// assert_eq!((given_back, given_back.of(3, 1)), (Forgiveness::Last, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "of what was attempted nothing, the last or all is forgiven")]
pub enum Forgiveness {
    /// All count that did.
    None,
    /// The last does not: it was given back before it began, or put off by its handler.
    Last,
    /// None does: it was a dead letter, and a person has it tried again.
    All,
}

impl Forgiveness {
    /// The number in statements of stores.
    pub const fn code(self) -> i64 {
        match self {
            Forgiveness::None => 0,
            Forgiveness::Last => 1,
            Forgiveness::All => 2,
        }
    }

    /// How many of so many attempts do not count, of which so many did not before.
    pub const fn of(self, attempt: u32, forgiven: u32) -> u32 {
        match self {
            Forgiveness::None => forgiven,
            Forgiveness::Last => forgiven + 1,
            Forgiveness::All => attempt,
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row for each state, one column for each successor, in the order of `ALL`.
    const TABLE: [&str; 12] = [
        ".qr...copm..", // scheduled
        "..r...copm..", // queued
        "sq.sftc...a.", // running
        "............", // succeeded
        "s..........d", // failed
        "s..........d", // timed_out
        "............", // cancelled
        "............", // skipped_overlap
        "............", // skipped_paused
        "............", // missed
        "s..........d", // abandoned
        "s.....c.....", // dead
    ];

    #[test]
    fn every_pair_of_states_is_as_the_table_says() {
        for (row, from) in TABLE.iter().zip(RunState::ALL) {
            for (cell, to) in row.chars().zip(RunState::ALL) {
                assert_eq!(from.may_become(to), cell != '.', "{from} -> {to}");
            }
        }
    }

    #[test]
    fn every_state_can_be_reached_and_named() {
        for state in RunState::ALL {
            assert_eq!(RunState::from_name(state.name()), Some(state));
            let is_followed = RunState::ALL.into_iter().any(|from| from.may_become(state));
            assert!(is_followed || state.may_begin(), "{state}");
        }
    }

    #[test]
    fn what_is_open_can_end_and_what_succeeded_cannot_change() {
        assert!(
            RunState::ALL.iter().filter(|state| state.is_open()).all(|state| state.may_become(Cancelled))
        );
        assert!(Succeeded.successors().is_empty());
    }
}
