//! `mainspring serve --store`: one of several servers that share a database.
//!
//! ```text
//!  a worker, from the start to the end          runs what any planner assigns to it
//!  stand by ── a lease ──▶ the planner's loop ── the lease is lost ──▶ stand by
//! ```
//!
//! Cost: see the loop in [`server`](mainspring_server::server), and [`mainspring_cluster`]; a server that
//! does not plan asks the database for the lease when it may have run out.
//!
//! Does not share the data directory: each server has its own, for its socket and the output of its runs.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use mainspring_cluster::execution::{PLANNER_LEASE, PoolExecution};
use mainspring_cluster::planner_inbox::work;
use mainspring_cluster::release_watch::ReleaseWatch;
use mainspring_cluster::worker::{RunningWorker, WORKER_LEASE, WorkerConfig, labels_of};
use mainspring_job::{Lease, Owner, Store, StoreError, WorkerLabel};
use mainspring_postgres::{Identity, Inbox, Location, PostgresStore};

use super::listen::HttpListener;
use mainspring_cluster::request_proxy::{ProxyTarget, RequestProxy, StandbyState};
use mainspring_exec::notifier::pair;
use mainspring_host::regular::open_regular;
use mainspring_server::activation::ActivatedSockets;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::log::Style;
use mainspring_server::message::{PROGRAM, say};
use mainspring_server::server::execution::Execution;
use mainspring_server::server::listener::Listener;
use mainspring_server::server::program_calls::{Caller, calls};
use mainspring_server::server::{Host, Server, Serving, Stopping, Stores, standard_output, standby};
use mainspring_server::signals::Signals;
use mainspring_server::takeover::{host_name, shared_owner, take};
use mainspring_server::waiting::wait_for_any;

/// Where the database is, if one is shared, unless it is left out.
const VARIABLE: &str = "MAINSPRING_STORE";

/// The longest file with an address: some times what one takes with a dozen of hosts.
const MAX_ADDRESS_BYTES: u64 = 64 << 10;

/// Which database is shared; `None` for the store in the data directory. `is_other` says that another store
/// was asked for, so that the variable means nothing.
pub(super) fn location(
    argument: Option<String>,
    file: Option<&Path>,
    is_other: bool,
) -> Result<Option<Location>, Error> {
    let parsed = |origin: &str, text: &str| {
        Location::parse(text.trim()).map_err(|why| Error::Usage(format!("{origin}: {why}")))
    };
    if let Some(path) = file {
        let text = file_text(path).map_err(|source| Error::Data { path: path.to_owned(), source })?;
        let line = text.lines().next().unwrap_or_default();
        return parsed(&path.display().to_string(), line).map(Some);
    }
    if let Some(text) = argument {
        let location = parsed("--store", &text)?;
        if location.has_password() {
            let text = "others on this machine see the password of --store in the list of processes: --store-file hides it";
            say(&format!("{PROGRAM}: {text}\n"));
        }
        return Ok(Some(location));
    }
    match std::env::var(VARIABLE) {
        Ok(text) if !is_other && !text.is_empty() => parsed(VARIABLE, &text).map(Some),
        _ => Ok(None),
    }
}

/// The text of a file that says which database has the jobs: a user who could have chosen it has commands
/// run.
fn file_text(path: &Path) -> io::Result<String> {
    let opened = open_regular(path)?;
    opened.judge(None)?;
    let mut text = String::new();
    opened.file.take(MAX_ADDRESS_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// A server of the pool, as the database sees it.
struct Member<'m> {
    location: &'m Location,
    owner: Owner,
    identity: Identity,
    opened: Option<PostgresStore>,
    /// Whether it may be the planner.
    plans: bool,
    standing: Arc<StandbyState>,
}

impl<'m> Member<'m> {
    /// The first time people are told what is wrong with the address; later an outage passes.
    fn open(location: &'m Location, data: &DataDirectory) -> Result<Member<'m>, Error> {
        let (owner, machine) = shared_owner();
        let identity =
            Identity { address: data.directory().display().to_string(), machine, ..Identity::default() };
        let opened = first(location, &identity)?;
        let identity = opened.as_ref().map_or(identity, PostgresStore::identity);
        // What is written into a database that is too new may mean something else there.
        let asks = if opened.is_none() { ProxyTarget::Nobody } else { ProxyTarget::Owner };
        let standing = StandbyState::new(location, data, &owner.name, asks).map_err(Error::Store)?;
        Ok(Member { location, owner, identity, opened, plans: true, standing: Arc::new(standing) })
    }

    /// What it is as a worker.
    fn worker(
        &self,
        data: &DataDirectory,
        style: Style,
        given: Vec<WorkerLabel>,
    ) -> Result<WorkerConfig, Error> {
        let host = host_name();
        let log = standard_output().map_err(|source| Error::Setup { what: "the log", source })?;
        Ok(WorkerConfig {
            server: self.identity.server.clone(),
            name: self.owner.name.clone(),
            labels: labels_of(&host, given),
            host,
            address: data.directory().display().to_string(),
            outputs: data.output(),
            log,
            style,
            lasts: WORKER_LEASE,
        })
    }

    fn acquire(&mut self) -> Result<Lease, StoreError> {
        if !self.plans {
            return Err(StoreError::Held { by: "another server".to_owned(), left: Duration::from_secs(1) });
        }
        let anew = || {
            PostgresStore::open_with_lease(self.location, self.identity.clone(), PLANNER_LEASE)
                .map_err(passing)
        };
        let acquired = self.opened.take().map_or_else(anew, Ok).and_then(|mut store| {
            self.identity = store.identity();
            let lease = store.acquire(&self.owner);
            self.opened = Some(store);
            lease
        });
        if let Err(error) = &acquired {
            let asks = if matches!(error, StoreError::TooNew { .. }) {
                ProxyTarget::Nobody
            } else {
                ProxyTarget::Owner
            };
            self.standing.set(asks, standby::reason(error));
        }
        acquired
    }

    /// Answers what comes over these connections, as a server that stands by does.
    fn answer(&self, streams: &[UnixStream]) {
        for stream in streams.iter().filter_map(|stream| stream.try_clone().ok()) {
            RequestProxy::new(&self.standing).serve_listener(stream);
        }
    }
}

/// What a server does in its pool.
pub(super) struct PoolPart {
    /// What carries runs out here, if anything does.
    pub(super) execution: Option<Box<dyn Execution>>,
    /// What this server has beside that.
    pub(super) labels: Vec<WorkerLabel>,
    /// Whether it may be the planner.
    pub(super) plans: bool,
    pub(super) stopping: Stopping,
}

/// Works for its pool, and plans whenever it has the lease, until a signal asks to stop. `stand` begins to
/// listen while it plans nothing, and returns the ends of the connections of what listens.
pub(super) fn serve(
    location: &Location,
    data: &DataDirectory,
    style: Style,
    handed: &ActivatedSockets,
    part: PoolPart,
    stand: impl Fn(&mut HttpListener) -> Listener,
    serving: impl Fn(DataDirectory, &mut HttpListener, Box<dyn Execution>) -> Result<Serving, Error>,
) -> Result<Exit, Error> {
    let directory = take(data).map_err(Error::Directory)?;
    let PoolPart { execution, labels, plans, stopping } = part;
    let mut member = Member::open(location, data)?;
    member.plans = plans;
    let config = member.worker(data, style, labels)?;
    let worker = execution.map(|execution| RunningWorker::start(location, config, execution)).transpose()?;
    let mut http_listener = HttpListener::default();
    let ended = plan(&mut member, data, style, handed, &mut http_listener, stand, serving);
    http_listener.finish();
    let left = worker.map_or(Ok(()), |worker| leave(worker, stopping));
    drop(directory);
    ended.and(left).map(|()| Exit::Ok)
}

/// Plans whenever it has the lease, until a signal asks to stop.
fn plan(
    member: &mut Member<'_>,
    data: &DataDirectory,
    style: Style,
    handed: &ActivatedSockets,
    http_listener: &mut HttpListener,
    stand: impl Fn(&mut HttpListener) -> Listener,
    serving: impl Fn(DataDirectory, &mut HttpListener, Box<dyn Execution>) -> Result<Serving, Error>,
) -> Result<(), Error> {
    let location = member.location;
    loop {
        let setup = |source| Error::Setup { what: "a socket pair", source };
        let (notifier, notifications) = pair().map_err(setup)?;
        let watch = ReleaseWatch::start(location, move || notifier.notify())?;
        let standing = Arc::clone(&member.standing);
        let mut listening: Option<Vec<UnixStream>> = None;
        let acquire = || {
            let acquired = member.acquire();
            if acquired.is_err() && listening.is_none() {
                let streams = listening.insert(stand(http_listener).streams);
                member.answer(streams);
            }
            acquired
        };
        let acquired =
            standby::wait(data, style, handed.control()?, &notifications, acquire, |client, _| {
                RequestProxy::new(&standing).serve_client(client);
            })?;
        drop(watch);
        // The listener ends what it answers; the next one begins beside it.
        for stream in listening.into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let (Some((lease, asked, signals)), Some(mut store)) = (acquired, member.opened.take()) else {
            return Ok(());
        };
        standby::note(style, &format!("{location}: this server plans now, epoch {}", lease.epoch));
        let ended =
            PoolExecution::start(location, store.fence(lease).map_err(Error::Store)?).and_then(|execution| {
                let (inbox, reader) =
                    (store.inbox().map_err(Error::Store)?, store.reader().map_err(Error::Store)?);
                // Workers keep the outputs of what they run.
                let stores = Stores { store: Box::new(store), reader: Some(Box::new(reader)), asked };
                let serving = serving(data.clone(), http_listener, Box::new(execution))?;
                let (caller, calls) = calls().map_err(setup)?;
                // It ends when this is dropped.
                let inbox = begin_inbox(inbox, data, caller, style)?;
                let serving = Serving { host: Host::Process(Some(signals), Some(calls)), ..serving };
                let ended = Server::prepare(serving, stores, lease).and_then(Server::run);
                drop(inbox);
                ended
            });
        match ended {
            Err(Error::Store(error @ (StoreError::Fenced | StoreError::Busy | StoreError::Unknown))) => {
                standby::note(style, &format!("{location}: {error}"));
            }
            other => return other,
        }
    }
}

/// The thread that does what is in the inbox, until the sender is dropped.
fn begin_inbox(
    mut inbox: Inbox,
    data: &DataDirectory,
    caller: Caller,
    style: Style,
) -> Result<Sender<()>, Error> {
    let setup = |source| Error::Setup { what: "a thread for the inbox", source };
    let (ends, ended) = channel();
    let data = data.clone();
    let does = move || work(&mut inbox, &caller, &data, &ended, &|text| standby::note(style, text));
    thread::Builder::new().name("inbox".to_owned()).spawn(does).map_err(setup)?;
    Ok(ends)
}

/// Ends the worker of a server that is to end: what runs gets the time that it has. A second signal ends all.
fn leave(worker: RunningWorker, stopping: Stopping) -> Result<(), Error> {
    let setup = |what| move |source| Error::Setup { what, source };
    let mut signals = Signals::register().map_err(setup("signals"))?;
    // The first of them is why it ends.
    signals.stop_requests();
    worker.stop(stopping);
    loop {
        let ended = worker.ended();
        let readable: Vec<BorrowedFd<'_>> = signals.fds().into_iter().chain([ended.as_fd()]).collect();
        let ready = wait_for_any(&readable, &[], &[], None).map_err(setup("polling"))?;
        let is_over = ready.contains(&ended.as_fd().as_raw_fd());
        signals.clear_child();
        let _ = signals.is_reload_asked();
        if 0 < signals.stop_requests() {
            worker.stop(stopping);
        }
        if is_over {
            worker.join();
            return Ok(());
        }
    }
}

/// Whatever a database says while it comes back.
fn passing(error: StoreError) -> StoreError {
    match error {
        StoreError::Io(_) => StoreError::Busy,
        other => other,
    }
}

/// The store, unless this program is too old for it: the others serve, and this one waits until it is
/// replaced.
fn first(location: &Location, identity: &Identity) -> Result<Option<PostgresStore>, Error> {
    match PostgresStore::open_with_lease(location, identity.clone(), PLANNER_LEASE) {
        Err(StoreError::TooNew { .. }) => Ok(None),
        other => other.map(Some).map_err(Error::Store),
    }
}
