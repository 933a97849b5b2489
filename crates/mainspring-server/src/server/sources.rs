//! Files of jobs where several servers share the store: the store says what is in force.
//!
//! | a file that the owner was given | is applied |
//! |---|---|
//! | the store never had a definition of it | when the server becomes the owner |
//! | its text changes while the server is the owner | then |
//! | `apply`, or SIGHUP | then |
//! | otherwise it says other things than the store | not: that is only shown |
//!
//! So while servers get a new file one after another, no takeover brings an old one back, and neither does a
//! time or a mode that changes alone. A file that cannot be read when the server becomes the owner is judged
//! as then when it can. A job whose file the new owner was not given stays.
//!
//! Cost: one comparison of texts for each job of a file, when the server becomes the owner.
//!
//! Does not know which of two texts is newer.

use std::collections::BTreeMap;

use mainspring_job::{Definitions, Job, JobName, JobRecord, Prune};

use super::Server;
use super::files::says;
use super::store_thread::Order;
use crate::message::counted;
use mainspring_exec::clock::Moment;
use mainspring_file::job_source::JobSource;
use mainspring_file::loaded_file::LoadedFile;

/// What the store has of a file that was read.
struct StoredFile {
    job_count: usize,
    /// The file says the same.
    is_alike: bool,
}

impl StoredFile {
    fn of<'t>(loaded: &LoadedFile, texts: impl Iterator<Item = (&'t JobName, &'t String)>) -> StoredFile {
        let texts: BTreeMap<&str, &str> = texts.map(|(name, text)| (name.as_str(), text.as_str())).collect();
        StoredFile { job_count: texts.len(), is_alike: says(loaded, &texts) }
    }
}

impl Server {
    /// Those of the files that come into force when the server begins.
    pub(super) fn unknown_files(
        &mut self,
        mut taken: Vec<(usize, LoadedFile)>,
        records: &[JobRecord],
        now: Moment,
    ) -> Vec<(usize, LoadedFile)> {
        taken.retain(|(index, loaded)| {
            let source = self.files.served[*index].job_source.source();
            let of_file = records.iter().filter(|record| record.source.as_ref() == Some(&source));
            let stored = StoredFile::of(loaded, of_file.map(|record| (&record.mark.job, &record.text)));
            self.is_unknown(*index, loaded, &stored, now)
        });
        self.say_not_given(records, now);
        taken
    }

    /// Those of the files that come into force now that they were read again.
    pub(super) fn changed_files(
        &mut self,
        mut taken: Vec<(usize, LoadedFile)>,
        now: Moment,
    ) -> Vec<(usize, LoadedFile)> {
        taken.retain(|(index, loaded)| {
            let file = &self.files.served[*index];
            let source = file.job_source.source();
            let jobs = self.owner.planner().jobs().filter(|(job, _)| job.source == source);
            let stored = StoredFile::of(loaded, jobs.map(|(job, _)| (&job.name, &job.text)));
            file.has_changed || self.is_unknown(*index, loaded, &stored, now)
        });
        taken
    }

    /// Whether the store has none of a file's name. It is said where the file differs from what it has.
    fn is_unknown(&mut self, index: usize, loaded: &LoadedFile, stored: &StoredFile, now: Moment) -> bool {
        let file = &mut self.files.served[index];
        let source = file.job_source.source();
        let is_new = self.files.known_sources.insert(source.clone());
        if is_new && stored.job_count == 0 {
            if loaded.jobs.is_empty() {
                self.owner.writer().order(Order::KeepSource(source));
            }
            return true;
        }
        (file.job_count, file.is_unapplied) = (stored.job_count, !stored.is_alike);
        file.read = file.read.filter(|_| stored.is_alike);
        if !stored.is_alike {
            let text = file.unapplied_text();
            self.note(now.wall, &text);
        }
        false
    }

    /// Jobs stay whose file is not given here.
    fn say_not_given(&mut self, records: &[JobRecord], now: Moment) {
        let mut counts: BTreeMap<JobSource, usize> = BTreeMap::new();
        for source in records.iter().filter_map(|record| record.source.as_ref()) {
            let job_source = JobSource::of(source);
            if matches!(job_source, JobSource::Served(_)) && !self.files.are_given(&job_source) {
                *counts.entry(job_source).or_default() += 1;
            }
        }
        for (job_source, count) in counts {
            let count = counted(count, "job");
            self.note(now.wall, &format!("{job_source} is not given here: its {count} stay in force"));
        }
    }

    /// The source of a file that is applied: that of the served one if it is one, here or at another server.
    pub(super) fn job_source_of(&self, path: &str) -> JobSource {
        let found = self.files.job_source_of(path);
        let served = JobSource::served(path);
        let source = served.source();
        let is_elsewhere = || self.owner.planner().jobs().any(|(job, _)| job.source == source);
        let is_served = matches!(found, JobSource::Applied(_)) && self.files.is_shared && is_elsewhere();
        if is_served { served } else { found }
    }

    /// A set is applied: a file of its source still differs if it says other things than what is in force
    /// then, as with jobs that a set without `--prune` leaves.
    pub(super) fn is_applied(&mut self, set: &Definitions) {
        if !self.files.is_shared {
            return;
        }
        let Server { files, owner, .. } = self;
        let mut jobs: BTreeMap<&JobName, &Job> = BTreeMap::new();
        if set.prune == Prune::Keep {
            let stay = owner.planner().jobs().map(|(job, _)| job).filter(|job| job.source == set.source);
            jobs.extend(stay.map(|job| (&job.name, job)));
        }
        jobs.extend(set.jobs.iter().map(|job| (&job.name, job)));
        files.compare_with(&set.source, &jobs);
    }
}
