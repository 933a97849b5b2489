//! Tracks the progress of writing rows of a list before a client has asked for them.
//!
//! ```text
//! jobs have changed ─▶ After(none) ─ some rows ─▶ After(job) ─ .. ─▶ Done
//!                                     └─ Asked(job): the store is asked for their last runs ─┘
//! ```
//!
//! It begins anew after jobs have changed. When the loop looks around it does so once after a list as well,
//! if last runs are not known any more: who has listed jobs may do so again.
//!
//! Cost: none.
//!
//! Does not write rows: the loop does, when it has nothing else to do.

use std::cell::{Cell, RefCell};

use mainspring_job::JobName;

#[derive(Clone, Debug, Default)]
enum Ahead {
    #[default]
    Done,
    /// All after this job are left, or all.
    After(Option<JobName>),
    /// The store is asked for last runs. Then all after this job are left, or none.
    Asked(Option<JobName>),
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct RowsAhead {
    ahead: RefCell<Ahead>,
    /// For how many jobs it began last.
    job_count: Cell<usize>,
    /// Whether since then somebody has listed jobs, and whether a last run is not known any more.
    is_listed: Cell<bool>,
    is_touched: Cell<bool>,
}

impl RowsAhead {
    /// So many jobs are there. It begins anew if that is worth it.
    pub(super) fn look(&self, job_count: usize) {
        let is_other = self.job_count.replace(job_count) != job_count;
        if is_other || (self.is_listed.get() && self.is_touched.get()) {
            self.begin();
        }
    }

    /// The rows of all jobs are to be written.
    pub(super) fn begin(&self) {
        self.is_listed.set(false);
        self.is_touched.set(false);
        self.ahead.replace(Ahead::After(None));
    }

    /// Somebody lists jobs.
    pub(super) fn list(&self) {
        self.is_listed.set(true);
    }

    /// A last run is not known any more.
    pub(super) fn touch(&self) {
        self.is_touched.set(true);
    }

    /// The job after which rows are written now, or all jobs; if any are. The caller says how far it came.
    pub(super) fn next(&self) -> Option<Option<JobName>> {
        match &*self.ahead.borrow() {
            Ahead::After(after) => Some(after.clone()),
            Ahead::Done | Ahead::Asked(_) => None,
        }
    }

    /// Rows are written up to a job, or all are. Says whether more can be.
    pub(super) fn come_to(&self, job: Option<JobName>) -> bool {
        let has_more = job.is_some();
        self.ahead.replace(if has_more { Ahead::After(job) } else { Ahead::Done });
        has_more
    }

    /// The same, when the store has answered.
    pub(super) fn wait_at(&self, job: Option<JobName>) {
        self.ahead.replace(Ahead::Asked(job));
    }

    /// The store has answered.
    pub(super) fn go_on(&self) {
        let told = match &*self.ahead.borrow() {
            Ahead::Asked(job) => Some(job.clone()),
            Ahead::Done | Ahead::After(_) => None,
        };
        told.into_iter().for_each(|job| _ = self.come_to(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_ahead_once_for_each_number_of_jobs() {
        let (rows, name) = (RowsAhead::default(), JobName::new("j").expect("a name"));
        assert_eq!(rows.next(), None, "there are no jobs");
        rows.look(2);
        assert_eq!(rows.next(), Some(None));
        assert!(rows.come_to(Some(name.clone())));
        rows.look(2);
        assert_eq!(rows.next(), Some(Some(name.clone())), "it goes on");
        rows.wait_at(Some(name.clone()));
        assert_eq!(rows.next(), None, "the store is asked");
        rows.go_on();
        assert_eq!(rows.next(), Some(Some(name.clone())));
        rows.wait_at(None);
        rows.go_on();
        rows.look(2);
        assert_eq!(rows.next(), None, "all are written, whatever changed in them");
        rows.look(3);
        assert_eq!(rows.next(), Some(None));
        rows.wait_at(Some(name));
        rows.begin();
        rows.go_on();
        assert_eq!(rows.next(), Some(None), "it has begun anew meanwhile");
    }

    #[test]
    fn rows_are_written_ahead_once_after_a_list_if_last_runs_have_changed() {
        let rows = RowsAhead::default();
        let begins = |is_listed: bool, is_touched: bool| {
            if is_listed {
                rows.list();
            }
            if is_touched {
                rows.touch();
            }
            rows.look(0);
            let begins = rows.next().is_some();
            rows.come_to(None);
            begins
        };
        assert!(!begins(false, true), "nobody has listed them");
        assert!(begins(true, false), "now somebody has");
        assert!(!begins(false, false));
        assert!(!begins(true, false), "nothing was touched since");
        assert!(begins(false, true));
    }
}
