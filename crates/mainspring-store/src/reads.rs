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

use super::read;
use super::reader::SqliteReader;
use super::sqlite::SqliteStore;

// A blanket impl for all that can be asked would be one for types of other crates too, which the language
// refuses.
macro_rules! reads_by_asking {
    ($connection:ty) => {
        impl Reader for $connection {
            fn load(
                &mut self,
                after: OnceId,
                up_to: Timestamp,
                limit: usize,
            ) -> Result<Vec<Once>, StoreError> {
                self.ask(|connection| read::load(connection, after, up_to, limit))
            }

            fn load_ids(
                &mut self,
                after: OnceId,
                up_to: Timestamp,
                limit: usize,
            ) -> Result<Vec<OnceId>, StoreError> {
                self.ask(|connection| read::load_ids(connection, after, up_to, limit))
            }

            fn has_pending_of(&mut self, batch: &JobName) -> Result<bool, StoreError> {
                self.ask(|connection| read::has_pending_of(connection, batch))
            }

            fn jobs(&mut self) -> Result<(Vec<JobRecord>, Option<PauseTerms>), StoreError> {
                self.ask(|connection| read::jobs(connection))
            }

            fn open_runs(&mut self, after: Option<&RunKey>, limit: usize) -> Result<Vec<Run>, StoreError> {
                self.ask(|connection| read::open_runs(connection, after, limit))
            }

            fn find(&mut self, query: &Query) -> Result<Vec<Run>, StoreError> {
                self.ask(|connection| read::find(connection, query))
            }

            fn last_ended(&mut self, jobs: &[JobName]) -> Result<Vec<Run>, StoreError> {
                self.ask(|connection| read::last_ended(connection, jobs))
            }

            fn run(&mut self, key: &RunKey) -> Result<Option<Run>, StoreError> {
                self.ask(|connection| read::run(connection, key))
            }

            fn attempts(&mut self, key: &RunKey) -> Result<Vec<Attempt>, StoreError> {
                self.ask(|connection| read::attempts(connection, key))
            }

            fn pending_named(&mut self, name: &JobName) -> Result<Option<Once>, StoreError> {
                self.ask(|connection| read::pending_named(connection, name))
            }

            fn keyed(&mut self, key: &str) -> Result<Option<(OnceId, JobName)>, StoreError> {
                self.ask(|connection| read::keyed(connection, key))
            }

            fn counts(&mut self) -> Result<Counts, StoreError> {
                self.ask(read::counts)
            }

            fn miscounts(&mut self) -> Result<Option<Vec<String>>, StoreError> {
                self.ask(read::miscounted).map(Some)
            }

            fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
                self.ask(|connection| read::audit(connection, query))
            }
        }
    };
}

reads_by_asking!(SqliteReader);
reads_by_asking!(SqliteStore);
