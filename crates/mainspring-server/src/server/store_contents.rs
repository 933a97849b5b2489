//! Reads the contents of the store when a server starts.
//!
//! Cost: a page of open runs at a time.
//!
//! Does not read pending one-shot jobs: the planner asks for those that are near.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use mainspring_job::{
    Absence, Job, JobRecord, MAX_PAGE, PauseTerms, Query, Run, RunKey, RunState, Store, StoreError,
};

use mainspring_file::jobfile::JobFile;
use mainspring_file::source::Source;

/// What the store held at the start.
pub(super) struct StoreContents {
    /// The jobs, removed ones too.
    pub(super) records: Vec<JobRecord>,
    /// How long everything is paused, if it is.
    pub(super) paused: Option<PauseTerms>,
    /// Where definitions ever came from, if the store says which are in force.
    pub(super) sources: Option<BTreeSet<String>>,
    /// The open runs.
    pub(super) pages: Vec<Vec<Run>>,
    /// The latest dead letters.
    pub(super) dead: Vec<RunKey>,
}

impl StoreContents {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub(super) fn read(store: &mut dyn Store) -> Result<StoreContents, StoreError> {
        let (records, paused) = store.jobs()?;
        let sources = store.shared_sources()?;
        let mut query = Query::new(MAX_PAGE);
        query.states = vec![RunState::Dead];
        let dead: Vec<RunKey> = store.find(&query)?.into_iter().map(|run| run.key).collect();
        let mut pages: Vec<Vec<Run>> = Vec::new();
        loop {
            let last = pages.last().and_then(|page| page.last()).map(|run| run.key.clone());
            let page = store.open_runs(last.as_ref(), MAX_PAGE)?;
            if page.is_empty() {
                return Ok(StoreContents { records, paused, sources, pages, dead });
            }
            debug_assert!(last.is_none_or(|last| last < page[0].key), "each page is after the one before");
            pages.push(page);
        }
    }
}

/// The kept definition of a job, as a file of this one job. Its text is the kept one: written again, it might
/// say the same in another order, and would differ from its file. `None` for a job that was removed.
pub(super) fn kept_file(record: &JobRecord, zone: &TimeZone) -> Option<JobFile> {
    let source = Source::new(record.source.clone()?, record.text.clone());
    let mut file = JobFile::parse(&source, zone);
    file.jobs.iter_mut().for_each(|placed| placed.job.text.clone_from(&record.text));
    Some(file)
}

/// What a job was, by its kept definition, or by that which an absent one had.
pub(super) fn kept_job(record: &JobRecord, zone: &TimeZone) -> Option<Job> {
    let file = match &record.absence {
        Some(Absence { source, text, .. }) => {
            let mut was = JobRecord::new(record.mark.clone(), Some(source.clone()));
            was.text.clone_from(text);
            kept_file(&was, zone)
        }
        None => kept_file(record, zone),
    };
    let placed = file?.jobs.into_iter().next()?;
    Some(placed.job).filter(|job| job.name == record.mark.job)
}
