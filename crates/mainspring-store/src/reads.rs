//! The questions that both connections answer. Each question of [`Reader`] is one of [`read`], asked through
//! the type's own `ask`.
//!
//! ```text
//! SqliteStore   ─ ask: remembers that the disk failed ──┐
//! SqliteReader  ─ ask: opens its connection if need be ─┴─▶ read
//! ```
//!
//! Cost: none of its own.
//!
//! Does not know what a question means.

use jiff::Timestamp;
use mainspring_job::{
    Attempt, AuditQuery, AuditRow, Counts, JobName, JobRecord, Once, OnceId, PauseTerms, Query, Reader, Run,
    RunKey, StoreError,
};

use super::read::{self, AskedConnection};
use super::reader::SqliteReader;
use super::sqlite::SqliteStore;

// A blanket impl for all that can be asked would be one for types of other crates too, which the language
// refuses. Each row is a function of `read`.
macro_rules! reads {
    ($($reader:ty),+ => $rows:tt) => { $(reads!(@ $reader, $rows);)+ };
    (@ $reader:ty, { $(fn $name:ident($($argument:ident: $of:ty),*) -> $result:ty;)+ }) => {
        impl Reader for $reader {
            $(fn $name(&mut self, $($argument: $of),*) -> Result<$result, StoreError> {
                self.ask(|connection| read::$name(&mut AskedConnection(connection), $($argument),*))
            })+
        }
    };
}

reads! { SqliteReader, SqliteStore => {
    fn load(after: OnceId, up_to: Timestamp, limit: usize) -> Vec<Once>;
    fn load_ids(after: OnceId, up_to: Timestamp, limit: usize) -> Vec<OnceId>;
    fn has_pending_of(batch: &JobName) -> bool;
    fn jobs() -> (Vec<JobRecord>, Option<PauseTerms>);
    fn open_runs(after: Option<&RunKey>, limit: usize) -> Vec<Run>;
    fn find(query: &Query) -> Vec<Run>;
    fn last_ended(jobs: &[JobName]) -> Vec<Run>;
    fn run(key: &RunKey) -> Option<Run>;
    fn attempts(key: &RunKey) -> Vec<Attempt>;
    fn pending_named(name: &JobName) -> Option<Once>;
    fn keyed(key: &str) -> Option<(OnceId, JobName)>;
    fn counts() -> Counts;
    fn audit(query: &AuditQuery) -> Vec<AuditRow>;
    fn miscounts() -> Option<Vec<String>>;
}}
