//! The subject of a request, as a word and a name.
//!
//! Cost: none.
//!
//! Does not judge it.

use super::{HistoryWire, PauseWire, Request};

impl Request {
    /// The name of the command, and the job or run that it is about if it is about one.
    pub fn subject(&self) -> (&'static str, Option<&str>) {
        match self {
            Request::Status => ("status", None),
            Request::Health => ("health", None),
            Request::Recount => ("recount", None),
            Request::List(_) => ("list", None),
            Request::Pending { .. } => ("pending", None),
            Request::Show { job } => ("show", Some(job)),
            Request::History(HistoryWire { job, .. }) => ("history", job.as_deref()),
            Request::Logs { of, .. } => ("logs", Some(of)),
            Request::Run { job, .. } => ("run", Some(job)),
            Request::Wait { run } => ("wait", Some(run)),
            Request::Submit(submit) => ("submit", submit.name.as_deref()),
            Request::Every(every) => ("every", Some(&every.name)),
            Request::Define { .. } => ("define", None),
            Request::Remove { job, drop_history: false } => ("remove", Some(job)),
            Request::Remove { job, drop_history: true } => ("purge", Some(job)),
            Request::Pause(PauseWire { job, .. }) => ("pause", job.as_deref()),
            Request::Resume { job } => ("resume", job.as_deref()),
            Request::Cancel { of } => ("cancel", Some(of)),
            Request::Backfill { job, .. } => ("backfill", Some(job)),
            Request::Rewind { job, .. } => ("rewind", Some(job)),
            Request::DeadRetry { run } => ("dead_retry", Some(run)),
            Request::DeadDrop { run } => ("dead_drop", Some(run)),
            Request::Apply { .. } => ("apply", None),
            Request::Export { .. } => ("export", None),
            Request::Find { run } => ("find", Some(run)),
            Request::Audit(_) => ("audit", None),
            Request::Stats { job } => ("stats", Some(job)),
            Request::Metrics { .. } => ("metrics", None),
            Request::LoginCode => ("login_code", None),
            Request::Redeem { .. } => ("redeem", None),
            Request::Watch => ("watch", None),
        }
    }
}
