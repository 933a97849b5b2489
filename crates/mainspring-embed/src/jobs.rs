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

use std::fs::File;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_file::crontab::Format;
use mainspring_file::loaded::Reader as FileReader;
use mainspring_host::accounts::Account;
use mainspring_host::accounts::users::Users;
use mainspring_job::{AuditQuery, Audited, Definitions, Once, OnceId, Query, Reader, Run, Shard};
use mainspring_server::error::Error as ServerError;
use mainspring_server::log::Style;
use mainspring_server::place::Place;
use mainspring_server::server::calls::{Caller, calls};
use mainspring_server::server::listener::Listener;
use mainspring_server::server::rate::Rates;
use mainspring_server::server::{Host, Keeping, Server, Serving, Stopping, Stores};
use mainspring_server::takeover::open_store;
use mainspring_store::Directory;

use crate::catalogue::Catalogue;
use crate::client::{Client, Followed, name_of};
use crate::error::Error;
use crate::future::Spawner;
use crate::handlers::Handlers;
use crate::registry::Registry;
use crate::simulation::{ManualClock, Simulation};

/// Jobs that run. They end when the last clone is dropped, or by [`shutdown`](Self::shutdown). All that a
/// [`Client`] can do, it does.
#[derive(Clone, Debug)]
pub struct Jobs {
    client: Client,
    running: Arc<Running>,
}

impl Deref for Jobs {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Where jobs are kept.
#[derive(Debug)]
pub(crate) enum Kept {
    In { place: Place, directory: Arc<Directory> },
    Simulated(ManualClock),
}

/// What jobs are started from.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) kept: Kept,
    pub(crate) registry: Registry,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) definitions: Definitions,
    pub(crate) thread_max: usize,
    /// What hands futures to a runtime, and how many at a time.
    pub(crate) futures: Option<(Spawner, usize)>,
    pub(crate) log: Option<File>,
}

#[derive(Debug)]
enum Running {
    Loop(Loop),
    Simulated(Arc<Simulation>),
}

struct Loop {
    caller: Caller,
    thread: Mutex<Option<JoinHandle<Result<(), ServerError>>>>,
    reader: Mutex<Option<Box<dyn Reader + Send>>>,
}

impl std::fmt::Debug for Loop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Loop")
    }
}

impl Jobs {
    pub(crate) fn start(parts: Parts) -> Result<Jobs, Error> {
        let Parts { kept, registry, catalogue, definitions, thread_max, futures, log } = parts;
        let (place, directory) = match kept {
            Kept::In { place, directory } => (place, directory),
            Kept::Simulated(clock) => {
                let simulation = Simulation::start(&clock, registry, catalogue, definitions)?;
                let client = simulation.client().clone();
                return Ok(Jobs { client, running: Arc::new(Running::Simulated(simulation)) });
            }
        };
        let setup = |what| move |source| Error::Open(ServerError::Setup { what, source });
        let (caller, calls) = calls().map_err(setup("a socket pair"))?;
        let client = Client::new(Followed::ByLoop(caller.clone()), catalogue);
        let handlers = Handlers::new(registry, thread_max, futures, client.clone());
        let execution = Box::new(handlers.map_err(setup("a socket pair"))?);
        let log_path = PathBuf::from("/dev/null");
        let log =
            log.map_or_else(|| File::options().write(true).open(log_path), Ok).map_err(setup("the log"))?;
        let serving = serving(place.clone(), execution, Host::Program { calls, jobs: definitions, log })?;
        let (store, lease) = open_store(&directory, &place).map_err(Error::Store)?;
        let reader = Mutex::new(Some(Box::new(store.reader()) as Box<dyn Reader + Send>));
        // The lock of a folder lasts: no lease ages.
        let asked = Duration::ZERO;
        let stores = Stores { reader: Some(Box::new(store.reader())), store: Box::new(store), asked };
        let server = Server::prepare(serving, stores, lease).map_err(Error::Open)?;
        let run = move || {
            let ended = server.run();
            // The lock of the folder goes last.
            drop(directory);
            ended
        };
        let thread = thread::Builder::new().name("mainspring".to_owned()).spawn(run);
        let thread = Mutex::new(Some(thread.map_err(setup("a thread"))?));
        Ok(Jobs { client, running: Arc::new(Running::Loop(Loop { caller, thread, reader })) })
    }

    /// The latest runs of a job, or of what was submitted under a name, at most so many, the latest first.
    ///
    /// # Errors
    /// When the store cannot be read, or the jobs are shut down.
    pub fn runs_of(&self, job: &str, most: usize) -> Result<Vec<Run>, Error> {
        let query = Query::new(most).of(name_of(job)?);
        self.read(|reader| reader.find(Shard::WHOLE, &query))
    }

    /// The latest runs of all jobs and submissions, at most so many.
    ///
    /// # Errors
    /// When the store cannot be read, or the jobs are shut down.
    pub fn runs(&self, most: usize) -> Result<Vec<Run>, Error> {
        self.read(|reader| reader.find(Shard::WHOLE, &Query::new(most)))
    }

    /// What was submitted and has not begun, at most so many, in the order of due times. What is due already
    /// waits for a moment at most, and for longer only if everything is paused.
    ///
    /// # Errors
    /// When the store cannot be read, or the jobs are shut down.
    pub fn waiting(&self, most: usize) -> Result<Vec<Once>, Error> {
        let first = OnceId::first_at(Timestamp::MIN);
        self.read(|reader| reader.load(Shard::WHOLE, first, Timestamp::MAX, most))
    }

    /// Who asked for what, the latest first, at most so much: people by the commands, and this program by
    /// [`run_now`](Client::run_now) and its like, as the actor `program`. Submissions are not among it.
    ///
    /// # Errors
    /// When the store cannot be read, or the jobs are shut down.
    pub fn audit(&self, most: usize) -> Result<Vec<Audited>, Error> {
        self.read(|reader| reader.audit(Shard::WHOLE, &AuditQuery::new(most)))
    }

    fn read<T>(
        &self,
        ask: impl FnOnce(&mut dyn Reader) -> Result<T, mainspring_job::StoreError>,
    ) -> Result<T, Error> {
        match &*self.running {
            Running::Simulated(simulation) => simulation.read(ask),
            Running::Loop(running) => {
                let mut reader = running.reader.lock().expect("nothing panics while it holds this lock");
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
            Running::Simulated(_) => Ok(()),
            Running::Loop(running) => running.end(patience),
        }
    }
}

impl Loop {
    fn end(&self, patience: Duration) -> Result<(), Error> {
        self.caller.stop(patience);
        let reader = self.reader.lock().expect("nothing panics while it holds this lock").take();
        drop(reader);
        let thread = self.thread.lock().expect("nothing panics while it holds this lock").take();
        match thread {
            // The last clone was dropped with a handler, by the loop: that ends in any case.
            Some(thread) if thread.thread().id() != thread::current().id() => {
                thread.join().expect("a panic of the loop is a fault of ours").map_err(Error::Open)
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Loop {
    /// Without patience: what runs is told to stop, and abandoned.
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.end(Duration::ZERO);
    }
}

/// What the loop serves in a program: no files, and clients of the socket that look and operate.
fn serving(place: Place, execution: Box<Handlers>, host: Host) -> Result<Serving, Error> {
    let ourselves = Account::ourselves();
    let setup = |source| Error::Open(ServerError::Setup { what: "our own account", source });
    let users = Users::new(ourselves.map_err(setup)?);
    let reader = FileReader { format: Format::User, zone: TimeZone::UTC, users, notify: Vec::new() };
    Ok(Serving {
        place,
        files: Vec::new(),
        reader,
        stopping: Stopping { drain: Duration::ZERO, grace: Duration::ZERO },
        rates: Rates::default(),
        keeping: Keeping::OnDisk,
        execution,
        host,
        listener: Listener::default(),
        log: Style::default(),
    })
}
