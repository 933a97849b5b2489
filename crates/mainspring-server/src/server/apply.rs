//! Files that clients apply: judged like the files that are served, and compared with the definitions in
//! force.
//!
//! Cost: one pass over each file, and one over the jobs, which have one budget together.
//!
//! Does not read a file: a client sends its text.

use std::collections::{BTreeMap, BTreeSet};

use mainspring_job::{Definitions, Job, JobName, Prune};

use super::Server;
use super::boot::definitions;
use super::next_step::{Next, NextResult, usage};
use crate::protocol::{AppliedWire, ErrorKind, ErrorWire, FileWire, MAX_APPLIED_FILES, Response};
use mainspring_file::budget::Budget;
use mainspring_file::claims::Claimant;
use mainspring_file::crontab::Format;
use mainspring_file::job_source::JobSource;
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::source::Source;

impl Server {
    pub(super) fn apply_files(&mut self, files: Vec<FileWire>, prune: bool, is_preview: bool) -> NextResult {
        if MAX_APPLIED_FILES < files.len() {
            return Err(usage(format!("at most {MAX_APPLIED_FILES} files are applied at once")));
        }
        let (mut claimants, mut budget) = (Vec::new(), Budget::default());
        for file in files {
            let format = if file.system { Format::System } else { Format::User };
            let job_source = self.job_source_of(&file.name);
            let source = Source::new(file.name, file.text);
            let mut loaded =
                LoadedFile::parse_within(&source, format, &self.files.reader().zone, &mut budget);
            loaded.notify_by_default(&self.files.reader().notify);
            if !loaded.is_good() {
                return Err(ErrorWire::new(ErrorKind::Invalid, loaded.problems_text()));
            }
            claimants.push(Claimant { job_source: job_source.source(), loaded });
        }
        self.files.shard_filter().prepare(&mut claimants);
        self.settle_names(&mut claimants);
        if let Some(file) = claimants.iter().find(|file| !file.loaded.is_good()) {
            return Err(ErrorWire::new(ErrorKind::Conflict, file.loaded.problems_text()));
        }
        let shard_filter = self.files.shard_filter();
        let set = |mut file: Claimant| {
            let elsewhere = shard_filter.part(&mut file.loaded);
            definitions(file.loaded, &JobSource::of(&file.job_source), !prune).with_elsewhere(elsewhere)
        };
        let sets: Vec<Definitions> = claimants.into_iter().map(set).collect();
        if !is_preview {
            return Ok(Next::Files(sets));
        }
        let mut applied = AppliedWire::default();
        for set in sets {
            // What is here until now is removed here, and added where it belongs.
            let is_here = |name: &&JobName| self.owner.planner().job(name).is_some();
            applied.removed.extend(set.elsewhere.iter().filter(is_here).map(JobName::to_string));
            applied.add(self.changes(&set));
        }
        Ok(Next::Answer(Response::Applied(applied)))
    }

    /// Refuses a job that belongs to several shards, and one that belongs to another: the caller looks again
    /// who owns that.
    pub(super) fn check_here(&self, job: &Job) -> Result<(), ErrorWire> {
        if let Some(text) = self.files.shard_filter().refusal(job) {
            return Err(ErrorWire::new(ErrorKind::Conflict, text));
        }
        if self.files.shard_filter().has(job) {
            return Ok(());
        }
        let text = format!("the job `{}` belongs to another shard: ask again", job.name);
        Err(ErrorWire::new(ErrorKind::Temporary, text))
    }

    /// What a set would change.
    pub(super) fn changes(&self, set: &Definitions) -> AppliedWire {
        let mut applied = AppliedWire::default();
        let known: BTreeMap<&JobName, &Job> =
            self.owner.planner().jobs().map(|(job, _)| (&job.name, job)).collect();
        for job in &set.jobs {
            let name = job.name.to_string();
            match known.get(&job.name) {
                None => applied.added.push(name),
                Some(known) if known.source != set.source => applied.refused.push(name),
                Some(known) if *known == job => applied.unchanged += 1,
                Some(_) => applied.changed.push(name),
            }
        }
        if set.prune == Prune::Remove {
            let kept: BTreeSet<&JobName> =
                set.jobs.iter().map(|job| &job.name).chain(&set.elsewhere).collect();
            let is_gone = |job: &&&Job| job.source == set.source && !kept.contains(&job.name);
            applied.removed.extend(known.values().filter(is_gone).map(|job| job.name.to_string()));
        }
        applied
    }
}
