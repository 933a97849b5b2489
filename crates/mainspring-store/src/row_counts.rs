//! The changes of a batch to the numbers of rows. The store keeps these numbers, so that it does not count
//! rows.
//!
//! ```text
//!  operations ─▶ RowCounts { jobs +1, pending -1, open +1, .. } ─▶ the row `head`, in the same transaction
//! ```
//!
//! Cost: some additions for an operation; the row `head` is written with each batch in any case.
//!
//! Does not read rows: each operation knows the rows that it has found.

use mainspring_job::RunState;

/// The differences that a batch makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowCounts {
    /// Jobs with a definition.
    pub(super) jobs: i64,
    /// Pending one-shot jobs.
    pub(super) pending: i64,
    /// Runs that are scheduled, queued or running.
    pub(super) open: i64,
    /// Runs in all states.
    pub(super) runs: i64,
    /// Dead letters.
    pub(super) dead: i64,
}

impl RowCounts {
    /// A run is there that was not.
    pub(super) fn add_run(&mut self, state: RunState) {
        self.runs += 1;
        self.count(state, 1);
    }

    /// A run is not there any more.
    pub(super) fn drop_run(&mut self, state: RunState) {
        self.runs -= 1;
        self.count(state, -1);
    }

    /// A run is in another state.
    pub(super) fn move_run(&mut self, from: RunState, to: RunState) {
        self.count(from, -1);
        self.count(to, 1);
    }

    /// So many runs more are in a state.
    fn count(&mut self, state: RunState, more: i64) {
        self.open += i64::from(state.is_open()) * more;
        self.dead += i64::from(state == RunState::Dead) * more;
    }
}
