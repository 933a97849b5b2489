//! Looking at a data directory that no server has.
//!
//! ```text
//! lock ─▶ store ─▶ records, runs ─▶ the same documents as from a server
//! ```
//!
//! The directory is locked while it is looked at, so that nothing changes meanwhile; several may look at a time. It may have been
//! prepared by somebody else: nothing in it is made, followed or written.
//!
//! Cost: opening the store.
//!
//! Does not write, and knows no next time better than the definition says.
//!
//! Source: own.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_job::{Cause, Job, JobName, JobRecord, MAX_PAGE, Query, Run, RunState, Shard, Store};

use super::ask::{not_found, run_key};
use super::feed::Feed;
use super::look::MAX_UNSTARTED;
use super::output::Outputs;
use super::room::free_bytes;
use super::{describe, health};
use crate::error::Error;
use crate::place::Place;
use crate::protocol::{ErrorKind, ErrorWire, HealthWire, JobWire, Request, Response};
use mainspring_file::jobfile::JobFile;
use mainspring_file::source::Source;
use mainspring_store::{Directory, SqliteStore};

/// The store of a data directory, for looking.
pub struct Alone {
    store: SqliteStore,
    outputs: Outputs,
    now: Timestamp,
}

impl Alone {
    /// Opens the store as it stands at `now`. `None` if there is none.
    ///
    /// # Errors
    ///
    /// When a server has it, or it cannot be read, or others decide what is in it.
    pub fn open(place: &Place, now: Timestamp) -> Result<Option<Alone>, Error> {
        if !place.store().exists() {
            return Ok(None);
        }
        let directory = Arc::new(Directory::look(place.directory()).map_err(Error::Directory)?);
        let store = SqliteStore::look(&directory).map_err(Error::Store)?;
        Ok(Some(Alone { store, outputs: Outputs::new(place.output()), now }))
    }

    /// Answers a request that only looks.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, there is nothing of that name, or only a server can answer.
    pub fn ask(&mut self, request: &Request) -> Result<Response, Error> {
        match request {
            Request::List { .. } => {
                let records = self.records()?;
                let jobs =
                    records.iter().map(|(job, record)| self.job(job, record)).collect::<Result<_, _>>()?;
                Ok(Response::Jobs { jobs, after: None })
            }
            Request::Show { job } => self.show(job),
            Request::History { job, states, limit, cursor } => {
                let query = Query {
                    job: job.as_deref().map(name).transpose()?,
                    states: states.iter().filter_map(|name| RunState::from_name(name)).collect(),
                    cursor: cursor.as_deref().and_then(run_key),
                    limit: (*limit).min(MAX_PAGE),
                };
                let runs = self.store.find(Shard::WHOLE, &query).map_err(Error::Store)?;
                let cursor = runs.last().filter(|_| runs.len() == query.limit).map(|run| run.key.to_string());
                Ok(Response::Runs { runs: runs.iter().map(describe::run).collect(), cursor })
            }
            Request::Export { .. } => {
                let texts = self.records()?.into_iter().map(|(_, record)| record.text).collect();
                Ok(Response::Export { texts, after: None })
            }
            _ => Err(Error::Refused(ErrorWire::new(ErrorKind::Temporary, "no server is running"))),
        }
    }

    /// What a job's latest run, or a certain run, wrote, as far as it is kept: each line to `each`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, there is nothing of that name, or `each` fails.
    pub fn logs(
        &mut self,
        of: &str,
        each: &mut dyn FnMut(&Response) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(run) = self.logged(of)? else { return Ok(()) };
        let path = self.outputs.path(&run.key, run.cause == Cause::Once);
        let mut feed = Feed::new(0, run.key, None, false, &path);
        while let Some(line) = feed.next_line() {
            each(&line)?;
        }
        Ok(())
    }

    /// The run that is meant; `None` for a job that has not run.
    fn logged(&mut self, of: &str) -> Result<Option<Run>, Error> {
        if let Some(key) = run_key(of) {
            let run = self.store.run(Shard::WHOLE, &key).map_err(Error::Store)?;
            return run.map(Some).ok_or_else(|| refused(not_found(&format!("run `{of}`"))));
        }
        let job = name(of)?;
        let query = Query { job: Some(job.clone()), limit: MAX_UNSTARTED, ..Query::default() };
        let runs = self.store.find(Shard::WHOLE, &query).map_err(Error::Store)?;
        let is_known = !runs.is_empty() || self.records()?.iter().any(|(known, _)| known.name == job);
        let started = runs.into_iter().find(|run| run.started.is_some());
        if is_known { Ok(started) } else { Err(missing(of)) }
    }

    /// Reads the whole store, and says what is wrong with it.
    ///
    /// # Errors
    ///
    /// When it cannot be read at all.
    pub fn integrity(&mut self) -> Result<Vec<String>, Error> {
        self.store.integrity().map_err(Error::Store)
    }

    /// How the store is, for `doctor`.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn health(&mut self, place: &Place) -> Result<HealthWire, Error> {
        let (records, is_all_paused) = self.store.jobs(Shard::WHOLE).map_err(Error::Store)?;
        let marks = records.iter().filter(|record| record.source.is_some()).map(|record| &record.mark);
        let counts = self.store.counts(Shard::WHOLE).map_err(Error::Store)?;
        let free_bytes = free_bytes(place.directory());
        let of_marks = health::of_marks(marks, self.now);
        Ok(HealthWire { is_all_paused, dead: counts.dead, free_bytes, ..of_marks })
    }

    fn show(&mut self, text: &str) -> Result<Response, Error> {
        let wanted = name(text)?;
        let found = self.records()?.into_iter().find(|(job, _)| job.name == wanted);
        if let Some((job, record)) = found {
            let wire = JobWire { definition: record.text.clone(), ..self.job(&job, &record)? };
            return Ok(Response::Job(Box::new(wire)));
        }
        let once = self.store.pending_named(Shard::WHOLE, &wanted).map_err(Error::Store)?;
        once.map(|once| Response::Once(describe::once(&once))).ok_or_else(|| missing(text))
    }

    /// The jobs that were not removed, each with its record.
    fn records(&mut self) -> Result<Vec<(Job, JobRecord)>, Error> {
        let (records, _) = self.store.jobs(Shard::WHOLE).map_err(Error::Store)?;
        let defined = records.into_iter().filter_map(|record| {
            let source = Source::new(record.source.clone()?, record.text.clone());
            let placed = JobFile::parse(&source, &TimeZone::UTC).jobs.into_iter().next()?;
            Some((placed.job, record))
        });
        Ok(defined.collect())
    }

    fn job(&mut self, job: &Job, record: &JobRecord) -> Result<JobWire, Error> {
        let last =
            self.store.last_ended(Shard::WHOLE, std::slice::from_ref(&job.name)).map_err(Error::Store)?;
        Ok(JobWire { last: last.first().map(describe::run), ..describe::job(job, &record.mark, self.now) })
    }
}

fn name(text: &str) -> Result<JobName, Error> {
    JobName::new(text).map_err(|_| missing(text))
}

fn missing(text: &str) -> Error {
    refused(not_found(&format!("job `{text}`")))
}

fn refused(error: ErrorWire) -> Error {
    Error::Refused(error)
}
