//! Reads the contents of the store when a server starts.
//!
//! Cost: a page of open runs at a time.
//!
//! Does not read pending one-shot jobs: the planner asks for those that are near.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_job::{Absence, Job, JobName, JobRecord, MAX_PAGE, PauseTerms, Run, Store, StoreError};

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
    /// When runs of those jobs last succeeded whose silence is told.
    pub(super) successes: Vec<(JobName, Timestamp)>,
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
        let mut pages: Vec<Vec<Run>> = Vec::new();
        loop {
            let last = pages.last().and_then(|page| page.last()).map(|run| run.key.clone());
            let page = store.open_runs(last.as_ref(), MAX_PAGE)?;
            if page.is_empty() {
                let successes = StoreContents::last_successes(&records);
                return Ok(StoreContents { records, paused, sources, pages, successes });
            }
            debug_assert!(last.is_none_or(|last| last < page[0].key), "each page is after the one before");
            pages.push(page);
        }
    }

    /// When the jobs last succeeded whose definition says that their silence is told. The record knows it of
    /// runs that are not kept any more, too.
    pub(super) fn last_successes(records: &[JobRecord]) -> Vec<(JobName, Timestamp)> {
        let reporting = records.iter().filter(|record| record.text.contains("silent_after"));
        reporting.filter_map(|record| Some((record.mark.job.clone(), record.last_success?))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_job::Mark;

    #[test]
    fn a_success_whose_run_is_not_kept_any_more_is_known() {
        let (job, at) = (JobName::new("backup").unwrap(), Timestamp::UNIX_EPOCH);
        let mark = Mark::new(job.clone(), at, String::new());
        let mut record = JobRecord::new(mark, Some("jobs.toml".to_owned()));
        (record.text, record.last_success) = ("silent_after = \"2d\"".to_owned(), Some(at));
        assert_eq!(StoreContents::last_successes(&[record]), [(job, at)]);
    }
}
