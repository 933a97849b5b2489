//! Files and definitions that clients send: judged like the files that are served, and compared with the
//! definitions in force.
//!
//! ```text
//! apply_files ─▶ parser, beside the loop ─▶ take_parsed ─▶ names settled ─▶ command, or a preview
//! ```
//!
//! Cost: one pass over the jobs.
//!
//! Does not parse a text: see [`client_text`](super::client_text).

use std::collections::{BTreeMap, BTreeSet};

use mainspring_job::{Command, Definitions, Job, JobName, Prune};

use super::Server;
use super::boot::definitions;
use super::client_text::{ClientText, ParsedText};
use super::next_step::{Next, NextResult, RequestId, usage};
use super::phase::Phase;
use crate::protocol::{AppliedWire, ErrorKind, ErrorWire, FileWire, MAX_APPLIED_FILES, Response};
use mainspring_file::claims::Claimant;
use mainspring_file::job_source::JobSource;

impl Server {
    /// Files that are to be applied, each with the source that its jobs get.
    ///
    /// # Errors
    ///
    /// When there are too many.
    pub(super) fn with_sources(&self, files: Vec<FileWire>) -> Result<Vec<(JobSource, FileWire)>, ErrorWire> {
        if MAX_APPLIED_FILES < files.len() {
            return Err(usage(format!("at most {MAX_APPLIED_FILES} files are applied at once")));
        }
        Ok(files.into_iter().map(|file| (self.job_source_of(&file.name), file)).collect())
    }

    /// Has a text parsed beside the loop. The client's next request is taken after the answer.
    pub(super) fn parse(&mut self, request_id: RequestId, text: ClientText) {
        // A client that has gone gets no answer, and changes nothing.
        if !self.clients.begin_question(request_id) {
            return;
        }
        if let Err(error) = self.parser.add(request_id, text) {
            self.clients.end_question(request_id);
            self.clients.answer(request_id, Response::Error(error));
        }
    }

    /// Takes in what texts say that were parsed.
    pub(super) fn take_parsed(&mut self) {
        self.parser.parsed.clear();
        while let Some((request_id, parsed)) = self.parser.parsed.next() {
            self.clients.end_question(request_id);
            let next = parsed.and_then(|parsed| self.put_into_force(request_id, parsed));
            self.go_on(request_id, next);
        }
    }

    fn put_into_force(&mut self, request_id: RequestId, parsed: ParsedText) -> NextResult {
        if self.phase != Phase::Running {
            return Err(ErrorWire::new(ErrorKind::Temporary, "the server is stopping"));
        }
        let (mut claimants, prune, is_preview) = match parsed {
            ParsedText::Files { claimants, prune, is_preview } => (claimants, prune, is_preview),
            ParsedText::Definition { job, groups, replace } => {
                // Its text alone says which job it is.
                if let Some(mut audit) = self.clients.take_audit(request_id) {
                    audit.target = job.name.to_string();
                    self.clients.begin_audit(request_id, Some(audit));
                }
                self.check_free(&job.name, replace.then_some(&JobSource::Command))?;
                let set = Definitions::new(JobSource::Command.source(), vec![*job]).with_groups(groups);
                return Ok(Next::Command(Command::Apply(set)));
            }
        };
        self.settle_names(&mut claimants);
        if let Some(file) = claimants.iter().find(|file| !file.loaded.is_good()) {
            return Err(ErrorWire::new(ErrorKind::Conflict, file.loaded.problems_text()));
        }
        let prune = if prune { Prune::Remove } else { Prune::Keep };
        let set = |file: Claimant| definitions(file.loaded, &JobSource::of(&file.job_source), prune);
        let sets: Vec<Definitions> = claimants.into_iter().map(set).collect();
        if !is_preview {
            return Ok(Next::Files(sets));
        }
        let mut applied = AppliedWire::default();
        sets.iter().for_each(|set| applied.add(self.changes(set)));
        Ok(Next::Answer(Response::Applied(applied)))
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
            let names: BTreeSet<&JobName> = set.jobs.iter().map(|job| &job.name).collect();
            let is_gone = |job: &&&Job| job.source == set.source && !names.contains(&job.name);
            applied.removed.extend(known.values().filter(is_gone).map(|job| job.name.to_string()));
        }
        applied
    }
}
