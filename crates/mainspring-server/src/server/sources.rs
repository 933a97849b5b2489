//! Files of jobs where several servers share the store: the store says what is in force.
//!
//! | a file that the owner was given | is applied |
//! |---|---|
//! | the store never had a definition of it | when the server becomes the owner |
//! | it changes while the server is the owner | then |
//! | `apply`, or SIGHUP | then |
//! | otherwise it says other things than the store | not: that is only shown |
//!
//! So while servers get a new file one after another, no takeover brings an old one back. A job whose file
//! the new owner was not given stays.
//!
//! Cost: one comparison of texts for each job of a file, when the server becomes the owner.
//!
//! Does not know which of two texts is newer.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_job::{Definitions, Job, JobName, JobRecord, Prune};

use super::Server;
use super::files::says;
use super::store_thread::Order;
use crate::message::counted;
use mainspring_exec::clock::Moment;
use mainspring_file::job_source::JobSource;
use mainspring_file::loaded_file::LoadedFile;

impl Server {
    /// Those of the files that come into force now: the store has none of their name. It is said where one of
    /// the others differs.
    pub(super) fn unknown_files(
        &mut self,
        taken: Vec<(usize, LoadedFile)>,
        sources: &BTreeSet<String>,
        records: &[JobRecord],
        now: Moment,
    ) -> Vec<(usize, LoadedFile)> {
        let mut unknown = Vec::new();
        for (index, loaded) in taken {
            let source = self.files.served[index].job_source.source();
            let texts: BTreeMap<&str, &str> = records
                .iter()
                .filter(|record| record.source.as_ref() == Some(&source))
                .map(|record| (record.mark.job.as_str(), record.text.as_str()))
                .collect();
            if texts.is_empty() && !sources.contains(&source) {
                if loaded.jobs.is_empty() {
                    self.owner.writer().order(Order::KeepSource(source));
                }
                unknown.push((index, loaded));
                continue;
            }
            let is_alike = says(&loaded, &texts);
            let file = &mut self.files.served[index];
            (file.job_count, file.read, file.is_unapplied) = (texts.len(), None, !is_alike);
            if !is_alike {
                let text = file.unapplied_text();
                self.note(now.wall, &text);
            }
        }
        self.say_not_given(records, now);
        unknown
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
