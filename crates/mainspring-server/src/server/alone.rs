//! Looking at a data directory without a server.
//!
//! ```text
//! lock ─▶ store ─▶ records ─▶ the same queries, and the same answers, as with a server
//! ```
//!
//! The directory is locked while it is read, so that it does not change meanwhile; several commands may read
//! it at a time. It may have been prepared by another user, so nothing in it is made, followed or written.
//!
//! Cost: opening the store.
//!
//! Does not write. It knows a job's next time only from the definition.

use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_job::{Job, JobName, JobRecord, Reader, Shard};

use super::asking::{Next, not_found, run_key, usage};
use super::feed::Feed;
use super::output::Outputs;
use super::room::free_bytes;
use super::work_texts::WorkText;
use super::{describe, health, queries};
use crate::data_directory::DataDirectory;
use crate::error::Error;
use crate::protocol::{ErrorKind, ErrorWire, HealthWire, JobWire, ListWire, Request, Response};
use mainspring_file::jobfile::{JobFile, Selector};
use mainspring_file::source::Source;
use mainspring_store::{Directory, SqliteStore};

/// The store of a data directory, for looking.
pub struct Alone {
    store: SqliteStore,
    outputs: Outputs,
    now: Timestamp,
    is_all_paused: bool,
}

impl Alone {
    /// Opens the store as it stands at `now`. `None` if there is none.
    ///
    /// # Errors
    ///
    /// When a server has it, or it cannot be read, or others decide what is in it.
    pub fn open(data: &DataDirectory, now: Timestamp) -> Result<Option<Alone>, Error> {
        match data.store().try_exists() {
            Ok(true) => {}
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Error::Data { path: data.store(), source });
            }
            Ok(false) | Err(_) => return Ok(None),
        }
        let directory = Arc::new(Directory::look(data.directory()).map_err(Error::Directory)?);
        let store = SqliteStore::look(&directory).map_err(Error::Store)?;
        Ok(Some(Alone { store, outputs: Outputs::new(data.output()), now, is_all_paused: false }))
    }

    /// Answers a request that only looks.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, there is nothing of that name, or only a server can answer.
    pub fn ask(&mut self, request: &Request) -> Result<Response, Error> {
        let asking = match request {
            Request::List(ListWire { labels, .. }) => {
                let selector = Selector::parse(labels).map_err(|error| refused(usage(error)))?;
                let records = self.records()?;
                let chosen = records.iter().filter(|(job, _)| selector.holds(&job.labels));
                let jobs = chosen.map(|(job, record)| self.job(job, record)).collect();
                queries::list(&mut self.store, jobs, None)
            }
            Request::Pending { after, limit } => queries::pending_start(after.as_deref())
                .and_then(|after| queries::pending(&mut self.store, Shard::WHOLE, after, *limit)),
            Request::Show { job } => {
                let wanted = name(job)?;
                let found = self.records()?.into_iter().find(|(job, _)| job.name == wanted);
                let known = found.map(|(job, record)| {
                    let definition = record.text.clone();
                    JobWire { definition, ..self.job(&job, &record) }
                });
                queries::show(&mut self.store, &wanted, known)
            }
            Request::History(asked) => {
                let records = self.records()?;
                let is_known =
                    |wanted: &String| records.iter().any(|(known, _)| known.name.as_str() == wanted);
                let is_job = asked.job.as_ref().is_none_or(is_known);
                let is_member = |job: &Job| {
                    let group = job.work.group.as_ref().map(JobName::as_str);
                    group.is_some() && group == asked.group.as_deref()
                };
                let members = records.iter().filter(|(job, _)| is_member(job));
                let members = members.map(|(job, _)| job.name.clone()).collect();
                queries::history_query(asked, members)
                    .and_then(|query| queries::history(&mut self.store, &query, is_job))
            }
            Request::Audit(asked) => {
                queries::audit_query(asked).and_then(|query| queries::audit(&mut self.store, &query))
            }
            Request::Export { .. } => {
                let texts = self.records()?.into_iter().map(|(_, record)| record.text).collect();
                Ok(Next::Answer(Response::Export { texts, after: None }))
            }
            _ => Err(no_server()),
        };
        match asking.map_err(refused)? {
            Next::Answer(response) => Ok(response),
            _ => Err(refused(no_server())),
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
        // The store of a folder keeps no copies of outputs, so nothing is made of one.
        let copies = Path::new("");
        let asking = match run_key(of) {
            Some(key) => queries::logs_of_run(&mut self.store, key, copies),
            None => {
                let job = name(of)?;
                let is_job = self.records()?.iter().any(|(known, _)| known.name == job);
                queries::logs_of_job(&mut self.store, job, is_job, copies)
            }
        };
        let Next::Feed { key, is_once, .. } = asking.map_err(refused)? else {
            return Err(refused(no_server()));
        };
        let path = self.outputs.path(&key, is_once);
        let mut feed = Feed::new(0, key, None, false, &path);
        while let Some(line) = feed.next_line() {
            each(&line)?;
        }
        Ok(())
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
    pub fn health(&mut self, data: &DataDirectory) -> Result<HealthWire, Error> {
        let (records, rest) = self.store.jobs(Shard::WHOLE).map_err(Error::Store)?;
        let is_all_paused = rest.is_some();
        let marks = records.iter().filter(|record| record.source.is_some()).map(|record| &record.mark);
        let counts = self.store.counts(Shard::WHOLE).map_err(Error::Store)?;
        let free_bytes = free_bytes(data.directory());
        let of_marks = health::of_marks(marks, self.now);
        Ok(HealthWire { is_all_paused, dead: counts.dead, free_bytes, ..of_marks })
    }

    /// The jobs that were not removed, each with its record.
    fn records(&mut self) -> Result<Vec<(Job, JobRecord)>, Error> {
        let (records, rest) = self.store.jobs(Shard::WHOLE).map_err(Error::Store)?;
        self.is_all_paused = rest.is_some();
        let defined = records.into_iter().filter_map(|record| {
            let source = Source::new(record.source.clone()?, record.text.clone());
            let placed = JobFile::parse(&source, &TimeZone::UTC).jobs.into_iter().next()?;
            Some((placed.job, record))
        });
        Ok(defined.collect())
    }

    /// What is known of a job without a look at its runs: none is open.
    fn job(&self, job: &Job, record: &JobRecord) -> JobWire {
        let mut wire = describe::job(job, &record.mark, None, &WorkText::of(&job.work), self.now);
        if self.is_all_paused {
            describe::pause_with_all(&mut wire);
        }
        wire
    }
}

fn no_server() -> ErrorWire {
    ErrorWire::new(ErrorKind::Temporary, "no server is running")
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
