//! The last answers of a server, and the rows that the board shows of them.
//!
//! Cost: the documents of the jobs.
//!
//! Does not ask.

use std::cmp::Reverse;

use jiff::Timestamp;
use mainspring_server::protocol::{JobWire, LineWire, RunWire, StatusWire};

/// The answers of a server.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// How it is; `None` until it has answered.
    pub status: Option<StatusWire>,
    /// All jobs.
    pub jobs: Vec<JobWire>,
    /// The runs of the view.
    pub runs: Vec<RunWire>,
    /// The last lines of the run that is looked at.
    pub lines: Vec<LineWire>,
    /// Whether there are more runs or lines than those.
    pub is_cut: bool,
    /// Why it does not answer; `None` while it does.
    pub trouble: Option<String>,
}

/// In which order jobs are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// What somebody should look at first, then what runs, then what is due.
    #[default]
    Trouble,
    /// What is due next first.
    Next,
    /// By name.
    Name,
}

impl Order {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Trouble => "trouble first",
            Order::Next => "next first",
            Order::Name => "by name",
        }
    }

    /// The one after it.
    #[must_use]
    pub const fn following(self) -> Order {
        match self {
            Order::Trouble => Order::Next,
            Order::Next => Order::Name,
            Order::Name => Order::Trouble,
        }
    }
}

impl Snapshot {
    /// The jobs whose names have a part, in an order.
    pub fn jobs(&self, part: &str, order: Order) -> Vec<&JobWire> {
        let mut jobs: Vec<&JobWire> = self.jobs.iter().filter(|job| job.name.contains(part)).collect();
        let next = |job: &JobWire| job.next.unwrap_or(Timestamp::MAX);
        match order {
            Order::Name => {}
            Order::Next => jobs.sort_by_cached_key(|job| next(job)),
            Order::Trouble => {
                jobs.sort_by_cached_key(|job| (!job.is_troubled(), Reverse(job.running), next(job)));
            }
        }
        jobs
    }

    /// The runs of jobs whose names have a part.
    pub fn runs(&self, part: &str) -> Vec<&RunWire> {
        self.runs.iter().filter(|run| run.job.as_str().contains(part)).collect()
    }

    /// How many jobs somebody should look at.
    pub fn troubled(&self) -> usize {
        self.jobs.iter().filter(|job| job.is_troubled()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_comes_first_and_what_runs_before_what_is_due() {
        let job = |name: &str, failures, running, next: &str| JobWire {
            name: name.into(),
            failures,
            running,
            next: next.parse().ok(),
            armed: next.parse().ok(),
            ..JobWire::default()
        };
        let snapshot = Snapshot {
            jobs: vec![
                job("a", 0, 0, "2026-11-22T12:00:00Z"),
                job("b", 0, 0, "2026-11-22T11:00:00.5Z"),
                job("c", 0, 1, "2026-11-22T13:00:00Z"),
                job("d", 2, 0, "2026-11-22T14:00:00Z"),
            ],
            ..Snapshot::default()
        };
        let names = |order| snapshot.jobs("", order).iter().map(|job| job.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names(Order::Trouble), ["d", "c", "b", "a"]);
        assert_eq!(names(Order::Next), ["b", "a", "c", "d"]);
        assert_eq!(names(Order::Name), ["a", "b", "c", "d"]);
        assert_eq!((snapshot.troubled(), snapshot.jobs("c", Order::Name).len()), (1, 1));
        let mut late = snapshot;
        late.jobs[0].armed = None;
        assert_eq!(late.troubled(), 2, "a job that the server will not look at is in trouble");
    }
}
