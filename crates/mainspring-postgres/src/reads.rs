//! The read methods of both connections of a server.
//!
//! ```text
//! PostgresStore   the loop's ─────────┐
//! PostgresReader  for people ─────────┴─▶ read
//! ```
//!
//! Cost: none of its own.
//!
//! Does not know what a question means.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use jiff::Timestamp;
use mainspring_job::{
    Attempt, AuditQuery, AuditRow, Counts, JobName, JobRecord, KeptOutput, Once, OnceId, PauseTerms, Query,
    Reader, Run, RunKey, RunPhase, StoreError, WorkerId,
};

use super::read;
use super::reader::PostgresReader;
use super::store::PostgresStore;

// A blanket impl for all that has a connection would be one for types of other crates too, which the language
// refuses. Each row is a function of `read`.
macro_rules! reads {
    ($($reader:ty),+ => $rows:tt) => { $(reads!(@ $reader, $rows);)+ };
    (@ $reader:ty, { $(fn $name:ident($($argument:ident: $of:ty),*) -> $result:ty;)+ }) => {
        impl Reader for $reader {
            $(fn $name(&mut self, $($argument: $of),*) -> Result<$result, StoreError> {
                read::$name(&mut self.connection, $($argument),*)
            })+
        }
    };
}

reads! { PostgresReader, PostgresStore => {
    fn load(after: OnceId, up_to: Timestamp, limit: usize) -> Vec<Once>;
    fn load_ids(after: OnceId, up_to: Timestamp, limit: usize) -> Vec<OnceId>;
    fn has_pending_of(batch: &JobName) -> bool;
    fn jobs() -> (Vec<JobRecord>, Option<PauseTerms>);
    fn shared_sources() -> Option<BTreeSet<String>>;
    fn cluster() -> Option<String>;
    fn hosts(workers: &BTreeSet<WorkerId>) -> Option<BTreeMap<WorkerId, String>>;
    fn progress() -> Vec<String>;
    fn output(key: &RunKey, after: u32, phase: RunPhase) -> Vec<KeptOutput>;
    fn defined_from(first: Bound<&JobName>, limit: usize) -> Vec<JobRecord>;
    fn pause() -> Option<PauseTerms>;
    fn running_of(group: &JobName) -> Vec<RunKey>;
    fn planner_status() -> Option<String>;
    fn planner_lines() -> Option<String>;
    fn open_runs(after: Option<&RunKey>, limit: usize) -> Vec<Run>;
    fn find(query: &Query) -> Vec<Run>;
    fn last_ended(jobs: &[JobName]) -> Vec<Run>;
    fn run(key: &RunKey) -> Option<Run>;
    fn attempts(key: &RunKey) -> Vec<Attempt>;
    fn pending_named(name: &JobName) -> Option<Once>;
    fn keyed(key: &str) -> Option<(OnceId, JobName)>;
    fn counts() -> Counts;
    fn audit(query: &AuditQuery) -> Vec<AuditRow>;
}}
