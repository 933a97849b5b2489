//! A program that shares a database: it stands by, owns the jobs, and stands by again.
//!
//! ```text
//!  stand by ── a lease ──▶ the loop, and the thread of the inbox ── the lease is lost ──▶ stand by
//!      └─ asked when it may be free              └─ the jobs are shut down: the lease is released
//! ```
//!
//! Cost: two threads and three sessions; at a program that stands by one more of each, and a question to the
//! database when the lease may have run out.
//!
//! Does not take signals, and does not answer at its socket while it stands by.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use mainspring_cluster::execution::{PLANNER_LEASE, PoolExecution};
use mainspring_cluster::planner_inbox::work;
use mainspring_cluster::release_watch::ReleaseWatch;
use mainspring_cluster::worker::{RunningWorker, WORKER_LEASE, WorkerConfig, labels_of};
use mainspring_exec::clock::boot_time;
use mainspring_host::directory::Directory;
use mainspring_job::{Lease, Owner, Store, StoreError};
use mainspring_postgres::{Identity, Inbox, Location, PostgresStore};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error as ServerError;
use mainspring_server::log::Style;
use mainspring_server::server::listener::Listener;
use mainspring_server::server::program_calls::calls;
use mainspring_server::server::{Server, Stopping, Stores, standby};
use mainspring_server::takeover::{host_name, shared_owner, take};

use crate::client::{Client, CommandTarget};
use crate::error::{Error, OpenError};
use crate::forward::forward;
use crate::member::Member;
use crate::page::PageListener;
use crate::parts::{Parts, setup};
use crate::started_loop::StartedLoop;

/// Which database, and where this program keeps what is its own.
#[derive(Debug)]
pub(crate) struct SharedDatabase {
    location: Location,
    folder: Option<PathBuf>,
}

/// The program, from its start to its end.
struct Tenure {
    location: Location,
    folder: Folder,
    identity: Identity,
    owner: Owner,
    parts: Parts,
    client: Client,
    member: Member,
    /// The session that asks for the lease, while there is one.
    opened: Option<PostgresStore>,
    /// What carries runs out in this program, until the end.
    worker: Option<RunningWorker>,
    /// After how long it is asked for again.
    pause: Duration,
    /// Its caller has been told that the jobs have begun.
    has_started: bool,
}

/// Where the socket and what runs write are. The lock goes last.
struct Folder {
    data: DataDirectory,
    is_temporary: bool,
    _directory: Directory,
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_temporary {
            // What is left is of no use to anything.
            let _ = std::fs::remove_dir_all(self.data.directory());
        }
    }
}

/// What is there while this program owns the jobs.
struct OwnerState {
    server: Server,
    page_listener: PageListener,
    caller: mainspring_server::server::program_calls::Caller,
    /// The thread of the inbox ends when it is dropped.
    _inbox: Sender<()>,
}

impl SharedDatabase {
    pub(crate) fn new(location: Location) -> SharedDatabase {
        SharedDatabase { location, folder: None }
    }

    pub(crate) fn keep_in(&mut self, folder: PathBuf) {
        self.folder = Some(folder);
    }

    /// Connects, asks for the lease once, and begins.
    ///
    /// # Errors
    /// When the database does not answer or is not to be used, or the operating system refuses something.
    pub(crate) fn start(self, parts: Parts) -> Result<StartedLoop, Error> {
        let SharedDatabase { location, folder } = self;
        let (owner, machine) = shared_owner();
        let address = folder.as_ref().map_or(String::new(), |folder| folder.display().to_string());
        let identity = Identity { address, machine, ..Identity::default() };
        let store =
            PostgresStore::open_with_lease(&location, identity, PLANNER_LEASE).map_err(Error::Store)?;
        let identity = store.identity();
        let folder = make_folder(folder, &identity.server)?;
        let (sender, commands) = channel();
        let (inbox, actor) = (Inbox::of_asker(&location).map_err(Error::Store)?, owner.name.clone());
        let notifier = inbox.notifier();
        let member = Member::new(identity.server.clone(), sender, move || notifier.notify());
        let client = Client::new(CommandTarget::Member(member.clone()), Arc::clone(&parts.catalogue));
        let reader = Box::new(store.reader().map_err(Error::Store)?);
        let mut tenure = Tenure {
            location,
            folder,
            identity,
            owner,
            parts,
            client: client.clone(),
            member: member.clone(),
            opened: Some(store),
            worker: None,
            pause: standby::ASK_INTERVAL,
            has_started: false,
        };
        tenure.worker = Some(tenure.begin_work()?);
        let first = tenure.try_to_own(&mut String::new())?;
        tenure.has_started = true;
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let forwards = named("forward").spawn(move || forward(inbox, &actor, &commands));
        forwards.map_err(setup("a thread"))?;
        let run = move || {
            let ended = tenure.run(first);
            tenure.end_work();
            ended
        };
        let thread = named("mainspring").spawn(run).map_err(setup("a thread"))?;
        Ok(StartedLoop { client, thread, reader, page_listener: None, finish_outbox: None })
    }
}

/// A folder of this program's own.
fn make_folder(given: Option<PathBuf>, identity: &str) -> Result<Folder, Error> {
    let is_temporary = given.is_none();
    let folder = given.unwrap_or_else(|| std::env::temp_dir().join(format!("mainspring-{identity}")));
    let data = DataDirectory::find(Some(&folder));
    data.make().map_err(Error::open)?;
    let directory = take(&data).map_err(|error| Error::open(ServerError::Directory(error)))?;
    Ok(Folder { data, is_temporary, _directory: directory })
}

impl Tenure {
    /// Starts what carries runs out here, for any planner.
    fn begin_work(&self) -> Result<RunningWorker, Error> {
        let host = host_name();
        let config = WorkerConfig {
            server: self.identity.server.clone(),
            name: self.owner.name.clone(),
            labels: labels_of(&host, Vec::new()),
            host,
            address: self.identity.address.clone(),
            outputs: self.folder.data.output(),
            log: self.parts.log_file().map_err(setup("the log"))?,
            style: Style::default(),
            lasts: WORKER_LEASE,
        };
        let handlers = self.parts.handlers(self.client.clone())?;
        RunningWorker::start(&self.location, config, handlers).map_err(Error::open)
    }

    /// What runs here is told to stop, and has the time that the program gives it.
    fn end_work(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.stop(Stopping { drain: Duration::ZERO, grace: self.member.patience() });
            worker.join();
        }
    }

    /// Owns the jobs and stands by in turn, until the end is asked for.
    fn run(&mut self, first: Option<OwnerState>) -> Result<(), ServerError> {
        let (mut next, mut said, mut watch) = (first, String::new(), None);
        loop {
            if let Some(owned) = next.take() {
                drop(watch.take());
                match self.own(owned) {
                    Err(error) if passes(&error) => self.note(&format!("{}: {error}", self.location)),
                    ended => {
                        self.member.stop(Duration::ZERO);
                        return ended;
                    }
                }
            }
            self.member.stands_by();
            if watch.is_none() {
                let member = self.member.clone();
                watch = Some(ReleaseWatch::start(&self.location, move || member.notify_free())?);
            }
            if self.member.waits(self.pause) {
                return Ok(());
            }
            next = match self.try_to_own(&mut said) {
                Ok(owned) => owned,
                Err(Error::Open(OpenError(error))) if passes(&error) => None,
                Err(error) => {
                    self.note(&format!("{}: {error}", self.location));
                    self.member.stop(Duration::ZERO);
                    return Err(match error {
                        Error::Open(OpenError(error)) => error,
                        Error::Store(error) => ServerError::Store(error),
                        other => ServerError::Usage(other.to_string()),
                    });
                }
            };
        }
    }

    /// Runs the loop until the lease is lost or the end is asked for.
    fn own(&mut self, owned: OwnerState) -> Result<(), ServerError> {
        let OwnerState { server, page_listener, caller, _inbox } = owned;
        self.member.owns(caller);
        let ended = server.run();
        page_listener.finish();
        ended
    }

    /// Asks for the lease. `None` while another has it, or the database does not answer; `said` is what the
    /// log has of that.
    fn try_to_own(&mut self, said: &mut String) -> Result<Option<OwnerState>, Error> {
        let asked = boot_time();
        let acquired = self.acquire();
        self.pause = acquired.as_ref().err().map_or(standby::ASK_INTERVAL, standby::pause_after);
        let why = match acquired {
            Ok((store, lease)) => {
                said.clear();
                return self.prepare(store, lease, asked).map(Some);
            }
            Err(StoreError::Held { by, .. }) => format!("{by} owns the jobs"),
            // At the start people are told. Later it may pass.
            Err(error @ StoreError::Io(_)) if !self.has_started => return Err(Error::Store(error)),
            Err(
                error @ (StoreError::Busy
                | StoreError::Unknown
                | StoreError::Full(_)
                | StoreError::Io(_)
                // A later version of this program has made steps: it has the jobs, and this one is replaced.
                | StoreError::TooNew { .. }),
            ) => error.to_string(),
            Err(error) => return Err(Error::Store(error)),
        };
        if why != *said {
            self.note(&format!("standing by: {why}"));
            *said = why;
        }
        Ok(None)
    }

    fn acquire(&mut self) -> Result<(PostgresStore, Lease), StoreError> {
        let mut store = match self.opened.take() {
            Some(store) => store,
            None => PostgresStore::open_with_lease(&self.location, self.identity.clone(), PLANNER_LEASE)?,
        };
        match store.acquire(&self.owner) {
            Ok(lease) => Ok((store, lease)),
            Err(error) => {
                self.opened = Some(store);
                Err(error)
            }
        }
    }

    fn prepare(&self, mut store: PostgresStore, lease: Lease, asked: Duration) -> Result<OwnerState, Error> {
        self.note(&format!("{}: this program plans now, epoch {}", self.location, lease.epoch));
        let (caller, calls) = calls().map_err(setup("a socket pair"))?;
        let fence = store.fence(lease).map_err(Error::Store)?;
        let execution = PoolExecution::start(&self.location, fence).map_err(Error::open)?;
        let (mut inbox, own) = (store.inbox().map_err(Error::Store)?, caller.clone());
        let reader = Box::new(store.reader().map_err(Error::Store)?);
        let stores = Stores { store: Box::new(store), reader: Some(reader), asked };
        let data = &self.folder.data;
        let page = self.page(data)?;
        let (server, page_listener) =
            self.parts.server(data, Box::new(execution), calls, stores, lease, page)?;
        let (ends, ended) = channel();
        let thread = thread::Builder::new().name("inbox".to_owned());
        let log = self.parts.log_file().map_err(setup("the log"))?;
        let note = move |text: &str| standby::note_to(&log, Style::default(), text);
        let socket = data.clone();
        thread.spawn(move || work(&mut inbox, &own, &socket, &ended, &note)).map_err(setup("a thread"))?;
        Ok(OwnerState { server, page_listener, caller, _inbox: ends })
    }

    /// The page, if the program asks for one. At the start its address must be free. Later the jobs matter
    /// more: what has taken the address meanwhile is told of, and they go on without a page.
    fn page(&self, data: &DataDirectory) -> Result<(Listener, PageListener), Error> {
        match self.parts.page.begin(data) {
            Err(error) if self.has_started => {
                self.note(&format!("there is no page until the next takeover: {error}"));
                Ok(<(Listener, PageListener)>::default())
            }
            begun => begun,
        }
    }

    fn note(&self, text: &str) {
        // A log that cannot be written is no reason to stop.
        if let Ok(log) = self.parts.log_file() {
            standby::note_to(log, Style::default(), text);
        }
    }
}

/// Whether another try may go well: the lease was lost, or the database went away.
fn passes(error: &ServerError) -> bool {
    matches!(error, ServerError::Store(StoreError::Fenced | StoreError::Busy | StoreError::Unknown))
}
