//! Jobs that run: the loop on a thread of its own, or a simulation.
//!
//! ```text
//! program's threads ─ Client ─▶ loop's thread ─▶ store's thread ─▶ disk
//!                                   └─▶ pool, spawner: handlers
//! ```
//!
//! Cost: three threads that sleep while nothing is due or asked, and those of the pool.
//!
//! Does not handle signals: the program calls [`shutdown`](Jobs::shutdown) when it likes.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_action::body::Body;
use mainspring_job::{
    AuditQuery, AuditRow, Cursor, JobName, MAX_PAGE, Once, OnceId, Query, Reader, Run, StoreError,
};

use crate::client::{Client, CommandTarget, name_of};
use crate::error::Error;
use crate::job_folder::JobFolder;
use crate::parts::{Parts, ServedBeside};
use crate::shared_database::SharedDatabase;
use crate::simulation::{ManualClock, Simulation};
use crate::started_loop::{RunningLoop, StartedLoop};

/// Jobs that run. They end when the last clone is dropped, or by [`shutdown`](Self::shutdown). All that a
/// [`Client`] can do, it does.
#[derive(Clone)]
pub struct Jobs {
    client: Client,
    running: Arc<Running>,
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}

impl Deref for Jobs {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Where jobs are kept.
#[derive(Debug)]
pub(crate) enum JobStorage {
    #[cfg_attr(not(feature = "sqlite"), expect(dead_code, reason = "it is made with the feature alone"))]
    Folder(JobFolder),
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "it is made with the feature alone"))]
    Shared(Box<SharedDatabase>),
    Simulated(ManualClock),
}

enum Running {
    Loop(Box<Loop>),
    Simulated(Arc<Simulation>),
}

struct Loop {
    target: Arc<dyn CommandTarget>,
    reader: Mutex<Option<Box<dyn Reader + Send>>>,
    /// Until its end is asked for.
    running: Mutex<Option<RunningLoop>>,
}

/// What waits and could not be read: see [`Jobs::check_payloads`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreadablePayload {
    /// The name of its run in the history.
    pub name: JobName,
    /// When it is due.
    pub due: Timestamp,
    /// The handler that would get it.
    pub handler: String,
    /// What its parser says.
    pub reason: String,
}

impl Jobs {
    pub(crate) fn start(storage: JobStorage, parts: Parts) -> Result<Jobs, Error> {
        let StartedLoop { client, reader, running } = match storage {
            JobStorage::Folder(folder) => folder.start(parts)?,
            JobStorage::Shared(database) => database.start(parts)?,
            JobStorage::Simulated(clock) => {
                let simulation = Simulation::start(&clock, parts)?;
                let client = simulation.client.clone();
                return Ok(Jobs { client, running: Arc::new(Running::Simulated(simulation)) });
            }
        };
        let running = Loop {
            target: Arc::clone(&client.target),
            reader: Mutex::new(Some(reader)),
            running: Mutex::new(Some(running)),
        };
        Ok(Jobs { client, running: Arc::new(Running::Loop(Box::new(running))) })
    }

    /// The latest runs of a job, or of what was submitted under a name, at most so many, the latest first.
    ///
    /// # Errors
    /// When the store cannot be read, or the jobs are shut down.
    pub fn runs_of(&self, job: &str, most: usize) -> Result<Vec<Run>, Error> {
        self.read_runs(most, Query::new(MAX_PAGE).of(name_of(job)?))
    }

    /// The latest runs of all jobs and submissions, at most so many.
    ///
    /// # Errors
    /// When the store cannot be read, or the jobs are shut down.
    pub fn runs(&self, most: usize) -> Result<Vec<Run>, Error> {
        self.read_runs(most, Query::new(MAX_PAGE))
    }

    /// What was submitted and has not begun, at most so many, in the order of due times. What is due already
    /// waits for a moment at most, and for longer only if everything is paused.
    ///
    /// # Errors
    /// When the store cannot be read, or the jobs are shut down.
    pub fn waiting(&self, most: usize) -> Result<Vec<Once>, Error> {
        let first = OnceId::first_at(Timestamp::MIN);
        self.read(|reader| {
            pages(most, |limit, last: Option<&Once>| {
                reader.load(last.map_or(first, |last| last.id), Timestamp::MAX, limit)
            })
        })
    }

    /// What waits, submitted or tried again, whose payload the handlers of this program could not read: for a
    /// test before a deploy, on a copy of the data. A handler that is not here, and a payload of a newer
    /// version, wait for a program that has them. All that waits is in memory meanwhile.
    ///
    /// # Errors
    /// When the store cannot be read, or the jobs are shut down.
    pub fn check_payloads(&self) -> Result<Vec<UnreadablePayload>, Error> {
        let waiting = self.waiting(usize::MAX)?;
        let open = self.read(|reader| {
            pages(usize::MAX, |limit, last: Option<&Run>| reader.open_runs(last.map(|run| &run.key), limit))
        })?;
        let waiting = waiting.iter().map(|once| (&once.name, once.id.due, &once.work));
        let open = open.iter().filter_map(|run| Some((&run.key.job, run.due, run.work.as_ref()?)));
        let unreadable = waiting.chain(open).filter_map(|(name, due, work)| {
            let Ok(Body::Handler(body)) = Body::decode(&work.action) else { return None };
            let entry = self.client.catalogue.get(&body.name)?;
            let is_known = body.version <= entry.version;
            let reason = entry.reads.check(&body).err().filter(|_| is_known)?.to_string();
            Some(UnreadablePayload { name: name.clone(), due, handler: body.name, reason })
        });
        Ok(unreadable.collect())
    }

    /// Who asked for what, the latest first, at most so much: people by the commands, and this program by
    /// [`run_now`](Client::run_now) and its like, as the actor `program`. Submissions are not among it.
    ///
    /// # Errors
    /// When the store cannot be read, or the jobs are shut down.
    pub fn audit(&self, most: usize) -> Result<Vec<AuditRow>, Error> {
        self.read(|reader| {
            pages(most, |limit, last: Option<&AuditRow>| {
                let mut query = AuditQuery::new(limit);
                query.before = last.map(|last| last.number);
                reader.audit(&query)
            })
        })
    }

    fn read_runs(&self, most: usize, mut query: Query) -> Result<Vec<Run>, Error> {
        self.read(|reader| {
            pages(most, |limit, last| {
                (query.limit, query.cursor) = (limit, last.map(Cursor::of));
                reader.find(&query)
            })
        })
    }

    fn read<T>(&self, ask: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> Result<T, Error> {
        match &*self.running {
            Running::Simulated(simulation) => simulation.read(ask),
            Running::Loop(running) => {
                let mut reader = lock(&running.reader);
                let reader = reader.as_mut().ok_or(Error::Stopped)?;
                ask(&mut **reader).map_err(Error::Store)
            }
        }
    }

    /// Ends the jobs: nothing starts any more, what runs is told to stop at once and has so long, and what
    /// has not ended then is recorded as abandoned. What waits is there at the next start. A second call does
    /// nothing.
    ///
    /// # Errors
    /// When the store failed while the jobs ran, or the end could not be recorded.
    pub fn shutdown(&self, patience: Duration) -> Result<(), Error> {
        match &*self.running {
            Running::Simulated(simulation) => {
                simulation.end();
                Ok(())
            }
            Running::Loop(running) => running.end(patience),
        }
    }
}

impl Loop {
    fn end(&self, patience: Duration) -> Result<(), Error> {
        let running = lock(&self.running).take();
        // The last clone may be dropped with a handler, by the loop itself: that ends in any case.
        let is_other = |running: &RunningLoop| running.thread.thread().id() != thread::current().id();
        let mut running = running.filter(is_other);
        if let Some(finish) = running.as_mut().and_then(|running| running.finish_outbox.take()) {
            // What it has begun to submit is acknowledged and deleted before the loop ends.
            finish();
        }
        self.target.stop(patience);
        let reader = lock(&self.reader).take();
        drop(reader);
        let Some(RunningLoop { thread, beside, .. }) = running else { return Ok(()) };
        let ended = thread.join().expect("a panic of the loop is a fault of ours");
        beside.into_iter().for_each(ServedBeside::finish);
        ended.map_err(Error::open)
    }
}

impl Drop for Loop {
    /// Without patience: what runs is told to stop, and abandoned.
    fn drop(&mut self) {
        // There is no caller left to tell.
        let _ = self.end(Duration::ZERO);
    }
}

/// A panic in a reader is its caller's: the jobs can be read and ended after it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// So many rows as are asked for: a store gives no more than [`MAX_PAGE`] at once.
fn pages<T>(
    most: usize,
    mut page: impl FnMut(usize, Option<&T>) -> Result<Vec<T>, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut found: Vec<T> = Vec::new();
    loop {
        let limit = (most - found.len()).min(MAX_PAGE);
        let rows = if 0 < limit { page(limit, found.last())? } else { Vec::new() };
        debug_assert!(rows.len() <= limit, "a store gives no more than is asked for");
        let is_last = rows.len() < MAX_PAGE;
        found.extend(rows);
        if is_last {
            return Ok(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_are_read_as_are_asked_for_and_there() {
        let rows: Vec<usize> = (0..2 * MAX_PAGE + 7).collect();
        for most in [0, 1, MAX_PAGE, MAX_PAGE + 1, rows.len(), usize::MAX] {
            let found = pages(most, |limit, last: Option<&usize>| {
                let from = last.map_or(0, |last| last + 1);
                Ok(rows[from..rows.len().min(from + limit.min(MAX_PAGE))].to_vec())
            });
            assert_eq!(found.unwrap(), rows[..most.min(rows.len())]);
        }
    }
}
