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

use super::outputs;
use super::read;
use super::reader::PostgresReader;
use super::store::PostgresStore;

// A blanket impl for all that has a connection would be one for types of other crates too, which the language
// refuses.
macro_rules! reads_by_asking {
    ($asked:ty) => {
        impl Reader for $asked {
            fn load(
                &mut self,
                after: OnceId,
                up_to: Timestamp,
                limit: usize,
            ) -> Result<Vec<Once>, StoreError> {
                read::load(&mut self.connection, after, up_to, limit)
            }

            fn load_ids(
                &mut self,
                after: OnceId,
                up_to: Timestamp,
                limit: usize,
            ) -> Result<Vec<OnceId>, StoreError> {
                read::load_ids(&mut self.connection, after, up_to, limit)
            }

            fn has_pending_of(&mut self, batch: &JobName) -> Result<bool, StoreError> {
                read::has_pending_of(&mut self.connection, batch)
            }

            fn jobs(&mut self) -> Result<(Vec<JobRecord>, Option<PauseTerms>), StoreError> {
                read::jobs(&mut self.connection)
            }

            fn shared_sources(&mut self) -> Result<Option<BTreeSet<String>>, StoreError> {
                read::sources(&mut self.connection).map(Some)
            }

            fn cluster(&mut self) -> Result<Option<String>, StoreError> {
                read::cluster(&mut self.connection)
            }

            fn hosts(
                &mut self,
                workers: &BTreeSet<WorkerId>,
            ) -> Result<Option<BTreeMap<WorkerId, String>>, StoreError> {
                read::hosts(&mut self.connection, workers).map(Some)
            }

            fn progress(&mut self) -> Result<Vec<String>, StoreError> {
                read::progress(&mut self.connection)
            }

            fn output(
                &mut self,
                key: &RunKey,
                after: u32,
                phase: RunPhase,
            ) -> Result<Vec<KeptOutput>, StoreError> {
                outputs::output(&mut self.connection, key, after, phase)
            }

            fn defined_from(
                &mut self,
                first: Bound<&JobName>,
                limit: usize,
            ) -> Result<Vec<JobRecord>, StoreError> {
                read::defined_from(&mut self.connection, first, limit)
            }

            fn pause(&mut self) -> Result<Option<PauseTerms>, StoreError> {
                read::pause(&mut self.connection)
            }

            fn running_of(&mut self, group: &JobName) -> Result<Vec<RunKey>, StoreError> {
                read::running_of(&mut self.connection, group)
            }

            fn planner_status(&mut self) -> Result<Option<String>, StoreError> {
                read::planner_status(&mut self.connection)
            }

            fn planner_lines(&mut self) -> Result<Option<String>, StoreError> {
                read::planner_lines(&mut self.connection)
            }

            fn open_runs(&mut self, after: Option<&RunKey>, limit: usize) -> Result<Vec<Run>, StoreError> {
                read::open_runs(&mut self.connection, after, limit)
            }

            fn find(&mut self, query: &Query) -> Result<Vec<Run>, StoreError> {
                read::find(&mut self.connection, query)
            }

            fn last_ended(&mut self, jobs: &[JobName]) -> Result<Vec<Run>, StoreError> {
                read::last_ended(&mut self.connection, jobs)
            }

            fn run(&mut self, key: &RunKey) -> Result<Option<Run>, StoreError> {
                read::run(&mut self.connection, key)
            }

            fn attempts(&mut self, key: &RunKey) -> Result<Vec<Attempt>, StoreError> {
                read::attempts(&mut self.connection, key)
            }

            fn pending_named(&mut self, name: &JobName) -> Result<Option<Once>, StoreError> {
                read::pending_named(&mut self.connection, name)
            }

            fn keyed(&mut self, key: &str) -> Result<Option<(OnceId, JobName)>, StoreError> {
                read::keyed(&mut self.connection, key)
            }

            fn counts(&mut self) -> Result<Counts, StoreError> {
                read::counts(&mut self.connection)
            }

            fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
                read::audit(&mut self.connection, query)
            }
        }
    };
}

reads_by_asking!(PostgresReader);
reads_by_asking!(PostgresStore);
