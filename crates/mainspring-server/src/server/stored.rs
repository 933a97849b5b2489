//! What the store holds when a server starts.
//!
//! Cost: a page of open runs at a time; one question for each job whose silence is told.
//!
//! Does not read pending one-shot jobs: the planner asks for those that are near.

use std::collections::BTreeSet;

use jiff::Timestamp;
use mainspring_job::{
    JobName, JobRecord, MAX_PAGE, PauseTerms, Query, Run, RunState, Shard, Store, StoreError,
};

/// What the store held at the start.
pub(super) struct Stored {
    /// The jobs, removed ones too.
    pub(super) records: Vec<JobRecord>,
    /// How long everything is paused, if it is.
    pub(super) paused: Option<PauseTerms>,
    /// Where definitions ever came from, if the store says which are in force.
    pub(super) sources: Option<BTreeSet<String>>,
    /// The open runs.
    pub(super) pages: Vec<Vec<Run>>,
    /// When runs of those jobs last succeeded whose silence is told.
    pub(super) heard: Vec<(JobName, Timestamp)>,
}

impl Stored {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(super) fn read(store: &mut dyn Store, shard: Shard) -> Result<Stored, StoreError> {
        let (records, paused) = store.jobs(shard)?;
        let sources = store.shared_sources()?;
        let mut pages: Vec<Vec<Run>> = Vec::new();
        loop {
            let last = pages.last().and_then(|page| page.last()).map(|run| run.key.clone());
            let page = store.open_runs(shard, last.as_ref(), MAX_PAGE)?;
            if page.is_empty() {
                let heard = Stored::heard(store, shard, &records)?;
                return Ok(Stored { records, paused, sources, pages, heard });
            }
            pages.push(page);
        }
    }

    /// Asks the store for each job whose definition says that its silence is told.
    fn heard(
        store: &mut dyn Store,
        shard: Shard,
        records: &[JobRecord],
    ) -> Result<Vec<(JobName, Timestamp)>, StoreError> {
        let mut found = Vec::new();
        for record in records.iter().filter(|record| record.text.contains("silent_after")) {
            let mut query = Query::new(1).of(record.mark.job.clone());
            query.states = vec![RunState::Succeeded];
            let last = store.find(shard, &query)?.first().and_then(|run| run.ended);
            found.extend(last.map(|at| (record.mark.job.clone(), at)));
        }
        Ok(found)
    }
}
