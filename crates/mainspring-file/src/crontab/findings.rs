//! Findings in a crontab beside its entries, line by line.
//!
//! Cost: one copy of each line that is told of, up to [`MAX_KEPT_PROBLEMS`] of each kind.
//!
//! Does not sort: the lines come in order.

use mainspring_job::JobName;

use crate::problem::{MAX_SHOWN_PROBLEMS, Problem};

/// The most problems that are kept: a file with more is no crontab, and could otherwise fill the memory.
pub const MAX_KEPT_PROBLEMS: usize = 10_000;

const _: () = assert!(MAX_SHOWN_PROBLEMS <= MAX_KEPT_PROBLEMS, "what is shown is kept");

/// Problems and remarks of the lines so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    pub(super) problems: Vec<Problem>,
    /// How many further problems there were.
    pub(super) unkept_count: usize,
    pub(super) remarks: Vec<Problem>,
    pub(super) switched_off: Vec<JobName>,
}

impl Findings {
    pub(super) fn tell(&mut self, problem: Problem) {
        if self.problems.len() < MAX_KEPT_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.unkept_count += 1;
        }
    }

    pub(super) fn remark(&mut self, remark: Problem) {
        if self.remarks.len() < MAX_KEPT_PROBLEMS {
            self.remarks.push(remark);
        }
    }
}
