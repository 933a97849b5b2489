//! A program that shares a database: it stands by, owns the jobs, and stands by again.
//!
//! ```text
//!  stand by ── a lease ──▶ the loop, and the thread of the inbox ── the lease is lost ──▶ stand by
//!      └─ asked when it may be free              └─ the jobs are shut down: the lease is released
//! ```
//!
//! Cost: two threads and three sessions; at a program that stands by two threads and a session more, and a
//! question to the database when the lease may have run out.
//!
//! Does not take signals.

use std::fmt;
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use mainspring_cluster::candidate::{Candidate, Plan};
use mainspring_cluster::standby_socket::StandbySocket;
use mainspring_cluster::worker::RunningWorker;
use mainspring_exec::clock::boot_time;
use mainspring_host::directory::Directory;
use mainspring_job::{Lease, StoreError, WorkerLabel};
use mainspring_postgres::{Inbox, Location, PostgresReader};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error as ServerError;
use mainspring_server::log::{Log, Style};
use mainspring_server::server::listener::Listener;
use mainspring_server::server::login_codes::random_text;
use mainspring_server::server::program_calls::{Caller, calls};
use mainspring_server::server::{Server, Stopping, standby};
use mainspring_server::takeover::take;

use crate::client::{Client, CommandTarget};
use crate::error::{Error, OpenError};
use crate::forward::forward;
use crate::member::Member;
use crate::parts::{Parts, ServedBeside, setup};
use crate::started_loop::{RunningLoop, StartedLoop};

/// Which database, and where this program keeps what is its own.
#[derive(Debug)]
pub(crate) struct SharedDatabase {
    location: Location,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) labels: Vec<WorkerLabel>,
    pub(crate) plans: bool,
}

/// The program, from its start to its end.
struct Tenure {
    /// What answers while another plans.
    standing: Option<StandbyState>,
    candidate: Candidate,
    folder: Folder,
    parts: Parts,
    member: Member,
    /// What carries runs out in this program, until the end.
    worker: Option<RunningWorker>,
    /// After how long the lease is asked for again.
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

/// Its socket, and the connections of its page.
struct StandbyState {
    _socket: Option<StandbySocket>,
    listener: Listener,
}

impl Drop for StandbyState {
    fn drop(&mut self) {
        // The page ends what it answers; the next begins beside it.
        for stream in &self.listener.streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// What is there while this program plans.
struct OwnerState {
    server: Server,
    caller: Caller,
    /// The thread of the inbox ends when it is dropped.
    _inbox: Sender<()>,
}

impl SharedDatabase {
    pub(crate) fn new(location: Location) -> SharedDatabase {
        SharedDatabase { location, folder: None, labels: Vec::new(), plans: true }
    }

    /// Connects, asks for the lease once, and begins.
    ///
    /// # Errors
    /// When the database does not answer or is not to be used, or the operating system refuses something.
    pub(crate) fn start(self, parts: Parts) -> Result<StartedLoop, Error> {
        let SharedDatabase { location, folder, labels, plans } = self;
        let address = folder.as_ref().map_or(String::new(), |folder| folder.display().to_string());
        let folder = make_folder(folder)?;
        let opened = Candidate::open(&location, address, &folder.data);
        let mut candidate = opened.map_err(|error| match error {
            ServerError::Store(error) => Error::Store(error),
            other => Error::open(other),
        })?;
        if let Some(too_new) = candidate.take_refusal() {
            return Err(Error::Store(too_new));
        }
        if !plans {
            candidate.never_plans();
        }
        let (sender, commands) = channel();
        let (inbox, actor) = (Inbox::of_asker(&location).map_err(Error::Store)?, candidate.name().to_owned());
        let notifier = inbox.notifier();
        let member = Member::new(candidate.server().to_owned(), sender, move || notifier.notify());
        let client = Client::new(member.clone(), Arc::clone(&parts.catalogue));
        let reader = Box::new(PostgresReader::new(&location).map_err(Error::Store)?);
        let mut tenure = Tenure {
            candidate,
            folder,
            parts,
            member,
            worker: None,
            standing: None,
            pause: standby::ASK_INTERVAL,
            has_started: false,
        };
        tenure.worker = Some(tenure.begin_work(labels, client.clone())?);
        let first = tenure.try_to_own(&mut String::new())?;
        if first.is_none() {
            tenure.stand_by();
        }
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
        let running = RunningLoop { thread, beside: None, finish_outbox: None };
        Ok(StartedLoop { client, reader, running })
    }
}

/// A folder of this program's own.
fn make_folder(given: Option<PathBuf>) -> Result<Folder, Error> {
    let is_temporary = given.is_none();
    let drawn = || random_text(16).map(|text| std::env::temp_dir().join(format!("mainspring-{text}")));
    let folder = given.map_or_else(drawn, Ok).map_err(setup("a temporary folder"))?;
    let data = DataDirectory::find(Some(&folder));
    data.make().map_err(Error::open)?;
    let directory = take(&data, |_| ()).map_err(|error| Error::open(ServerError::Directory(error)))?;
    Ok(Folder { data, is_temporary, _directory: directory })
}

impl Tenure {
    /// Starts what carries runs out here, for any planner.
    fn begin_work(&self, labels: Vec<WorkerLabel>, client: Client) -> Result<RunningWorker, Error> {
        let log = self.parts.log_file().map_err(setup("the log"))?;
        let handlers = self.parts.handlers(client)?;
        let outputs = self.folder.data.output();
        self.candidate.start_worker(labels, outputs, Log::new(log), handlers).map_err(Error::open)
    }

    /// What runs here is told to stop, and has the time that the program gives it.
    fn end_work(&mut self) {
        if let Some(worker) = self.worker.take() {
            worker.stop(Stopping { drain: Duration::ZERO, grace: self.member.patience() });
            worker.join();
        }
        // The page ends after what answers it.
        self.standing = None;
        self.parts.beside.take().into_iter().for_each(ServedBeside::finish);
    }

    /// Owns the jobs and stands by in turn, until the end is asked for.
    fn run(&mut self, first: Option<OwnerState>) -> Result<(), ServerError> {
        let (mut next, mut last_trouble, mut watch) = (first, String::new(), None);
        loop {
            if let Some(owned) = next.take() {
                drop(watch.take());
                match self.own(owned) {
                    Err(error) if passes(&error) => self.note_of_database(&error),
                    ended => {
                        self.member.stop(Duration::ZERO);
                        return ended;
                    }
                }
            }
            self.member.stands_by();
            self.stand_by();
            if watch.is_none() {
                let member = self.member.clone();
                watch = Some(self.candidate.watch_releases(move || member.notify_free())?);
            }
            if self.member.waits(self.pause) {
                return Ok(());
            }
            next = match self.try_to_own(&mut last_trouble) {
                Ok(owned) => owned,
                Err(Error::Open(OpenError(error))) if passes(&error) => None,
                Err(error) => {
                    self.note_of_database(&error);
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
        debug_assert!(self.standing.is_none(), "who plans does not answer for another");
        let OwnerState { server, caller, _inbox } = owned;
        self.member.owns(caller);
        server.run()
    }

    /// Answers at the socket and the page, if it does not yet.
    fn stand_by(&mut self) {
        if self.standing.is_some() {
            return;
        }
        let listener = self.begin_page().unwrap_or_default();
        let socket = StandbySocket::start(&self.folder.data, self.candidate.standing());
        let socket = socket.inspect_err(|error| self.note(&format!("there is no socket for now: {error}")));
        self.candidate.answer(&listener);
        self.standing = Some(StandbyState { _socket: socket.ok(), listener });
    }

    /// Asks for the lease. `None` while another has it, or the database does not answer; `said` is what the
    /// log has of that.
    fn try_to_own(&mut self, last_trouble: &mut String) -> Result<Option<OwnerState>, Error> {
        let asked_at = boot_time();
        let acquired = self.candidate.acquire();
        self.pause = acquired.as_ref().err().map_or(standby::ASK_INTERVAL, standby::pause_after);
        let why = match acquired {
            Ok(lease) => {
                last_trouble.clear();
                self.standing = None;
                return self.prepare(lease, asked_at).map(Some);
            }
            Err(error) if standby::passes(&error) => standby::reason(&error),
            // At the start people are told. Later it may pass.
            Err(error @ StoreError::Io(_)) if self.has_started => standby::reason(&error),
            Err(error) => return Err(Error::Store(error)),
        };
        if why != *last_trouble {
            self.note(&format!("standing by: {why}"));
            *last_trouble = why;
        }
        Ok(None)
    }

    fn prepare(&mut self, lease: Lease, asked_at: Duration) -> Result<OwnerState, Error> {
        self.note(&format!("{}: this program plans now, epoch {}", self.candidate.location(), lease.epoch));
        let (caller, calls) = calls().map_err(setup("a socket pair"))?;
        let log = self.parts.log_file().map_err(setup("the log"))?;
        let note = move |text: &str| standby::note_to(&log, Style::default(), text);
        let data = self.folder.data.clone();
        let plan = self.candidate.plan(lease, asked_at, &data, caller.clone(), note);
        let Plan { execution, stores, inbox } = plan.map_err(Error::open)?;
        let listener = match self.begin_page() {
            // At the start its address must be free. Later the jobs matter more.
            Err(error) if !self.has_started => return Err(error),
            begun => begun.unwrap_or_default(),
        };
        let server = self.parts.server(&data, Box::new(execution), calls, stores, lease, listener)?;
        Ok(OwnerState { server, caller, _inbox: inbox })
    }

    /// The page, if the program asks for one. What has taken its address is told of.
    fn begin_page(&mut self) -> Result<Listener, Error> {
        let begun = self.parts.begin_beside(&self.folder.data);
        begun.inspect_err(|error| self.note(&format!("there is no page for now: {error}")))
    }

    fn note_of_database(&self, error: &dyn fmt::Display) {
        self.note(&format!("{}: {error}", self.candidate.location()));
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
    matches!(error, ServerError::Store(StoreError::Fenced | StoreError::Busy(_) | StoreError::Unknown))
}
