//! A server's part at the lease of its pool: it asks for it, and says meanwhile why it stands by.
//!
//! ```text
//!  open ─▶ acquire ─┬─ another plans, or no answer ─▶ the reason, for those who ask this server
//!                   └─ the lease ─▶ plan: PoolExecution, the stores, the thread "inbox"
//! ```
//!
//! It is the same for the program `mainspring` and for a program with jobs of its own.
//!
//! Cost: a session of the database, and those of what it begins.
//!
//! Does not run the planner's loop, and does not wait: its caller does.

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use mainspring_job::{Lease, Owner, Store, StoreError, WorkerLabel};
use mainspring_postgres::{Identity, Location, Member, MemberState, PostgresStore};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::log::Log;
use mainspring_server::server::execution::Execution;
use mainspring_server::server::listener::Listener;
use mainspring_server::server::program_calls::Caller;
use mainspring_server::server::{Stores, standby};
use mainspring_server::takeover::{host_name, shared_owner};

use super::execution::{PLANNER_LEASE, PoolExecution};
use super::lease_cache::LeaseCache;
use super::planner_inbox::work;
use super::release_watch::ReleaseWatch;
use super::request_proxy::{ProxyTarget, RequestProxy, StandbyState};
use super::worker::{RunningWorker, labels_of};

/// Why a server stands by that has never asked for the lease.
const NEVER_PLANS: &str = "it was started never to plan";

/// See the head of this file.
#[derive(Debug)]
pub struct Candidate {
    location: Location,
    owner: Owner,
    identity: Identity,
    /// The session that asks for the lease, while there is one.
    opened: Option<PostgresStore>,
    plans: bool,
    /// The database is too new for this program.
    refusal: Option<StoreError>,
    standing: Arc<StandbyState>,
    lease_cache: Arc<LeaseCache>,
}

/// What a planner's loop is given.
pub struct Plan {
    /// Assigns what starts to the workers.
    pub execution: PoolExecution,
    /// The database.
    pub stores: Stores,
    /// The thread of the inbox ends when it is dropped.
    pub inbox: Sender<()>,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("execution", &self.execution).finish_non_exhaustive()
    }
}

impl Candidate {
    /// Connects. `address` says where people find this server, and `data` is where it keeps what runs write.
    /// A database that is too new for this program is no error: the others serve, and
    /// [`acquire`](Self::acquire) says so until this program is replaced.
    ///
    /// # Errors
    /// When the database does not answer or is not to be used, or the operating system refuses something.
    pub fn open(location: &Location, address: String, data: &DataDirectory) -> Result<Candidate, Error> {
        let (owner, machine) = shared_owner();
        let identity = Identity { address, machine, ..Identity::default() };
        let opened = PostgresStore::open_with_lease(location, identity.clone(), PLANNER_LEASE);
        let (opened, refusal) = match opened {
            Err(error @ StoreError::TooNew { .. }) => (None, Some(error)),
            other => (Some(other.map_err(Error::Store)?), None),
        };
        let identity = opened.as_ref().map_or(identity, PostgresStore::identity);
        // What is written into a database that is too new may mean something else there.
        let asks = if opened.is_none() { ProxyTarget::Nobody } else { ProxyTarget::Owner };
        let standing = StandbyState::new(location, data, &owner.name, asks).map_err(Error::Store)?;
        let (location, standing) = (location.clone(), Arc::new(standing));
        let lease_cache = Arc::default();
        Ok(Candidate { location, owner, identity, opened, plans: true, refusal, standing, lease_cache })
    }

    /// Why this program is too old for the database, if it was when this was opened. For those who do not
    /// wait until they are replaced.
    pub fn take_refusal(&mut self) -> Option<StoreError> {
        self.refusal.take()
    }

    /// Never asks for the lease.
    pub fn never_plans(&mut self) {
        self.plans = false;
    }

    /// Which database it is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// What this server is called.
    pub fn name(&self) -> &str {
        &self.owner.name
    }

    /// Names this process, and no other.
    pub fn server(&self) -> &str {
        &self.identity.server
    }

    /// Starts this server's worker, with these labels beside those that each has. What its runs write is kept
    /// in `outputs`.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start_worker(
        &self,
        given: Vec<WorkerLabel>,
        outputs: PathBuf,
        log: Log<File>,
        execution: Box<dyn Execution>,
    ) -> Result<RunningWorker, Error> {
        let host = host_name();
        let state = MemberState {
            labels: execution.labels().into_iter().chain(labels_of(&host, given)).collect(),
            capacity: execution.capacity(),
            ahead: execution.ahead(),
            ..MemberState::default()
        };
        let Identity { server, address, .. } = self.identity.clone();
        let name = self.owner.name.clone();
        let log = log.of_worker(&name);
        let member =
            Member { server, name, host, address, version: env!("CARGO_PKG_VERSION").to_owned(), state };
        let lease_cache = Arc::clone(&self.lease_cache);
        RunningWorker::start(&self.location, member, outputs, log, lease_cache, execution)
    }

    /// Has `released` called whenever the lease may be free.
    ///
    /// # Errors
    /// When the operating system gives no event queue or thread.
    pub fn watch_releases(&self, released: impl Fn() + Send + 'static) -> Result<ReleaseWatch, Error> {
        let cache = Arc::clone(&self.lease_cache);
        ReleaseWatch::start(&self.location, move || {
            cache.forget();
            released();
        })
    }

    /// Asks for the lease, unless this server's worker has read that another's lasts.
    ///
    /// # Errors
    /// `Held` while another plans, or this server never does; or what the database says, which may be over
    /// when it is asked again.
    pub fn acquire(&mut self) -> Result<Lease, StoreError> {
        if !self.plans {
            self.standing.set(ProxyTarget::Owner, NEVER_PLANS.to_owned());
            return Err(StoreError::Held { by: "another server".to_owned(), left: Duration::from_secs(1) });
        }
        let opened_again = || {
            let opened = PostgresStore::open_with_lease(&self.location, self.identity.clone(), PLANNER_LEASE);
            // Whatever a database says while it comes back.
            opened.map_err(|error| {
                if let StoreError::Io(why) = error { StoreError::Busy(why.to_string()) } else { error }
            })
        };
        let acquired = self.lease_cache.refusal().map_or(Ok(()), Err);
        let acquired =
            acquired.and_then(|()| self.opened.take().map_or_else(opened_again, Ok)).and_then(|mut store| {
                self.identity = store.identity();
                let lease = store.acquire(&self.owner);
                self.opened = Some(store);
                lease
            });
        if let Err(error) = &acquired {
            let is_too_new = matches!(error, StoreError::TooNew { .. });
            let asks = if is_too_new { ProxyTarget::Nobody } else { ProxyTarget::Owner };
            self.standing.set(asks, standby::reason(error));
        }
        acquired
    }

    /// Begins what a planner needs beside its loop, which `caller` leads to. The lease was asked for at this
    /// boot time. `note` is told what people are to know of the inbox.
    ///
    /// # Errors
    /// When the database does not answer, or the operating system gives no thread.
    pub fn plan(
        &mut self,
        lease: Lease,
        asked_at: Duration,
        data: &DataDirectory,
        caller: Caller,
        note: impl Fn(&str) + Send + 'static,
    ) -> Result<Plan, Error> {
        let setup = Error::setup("a thread for the inbox");
        let mut store = self
            .opened
            .take()
            .ok_or_else(|| Error::Store(StoreError::Busy("its session is gone".to_owned())))?;
        let fence = store.fence(lease).map_err(Error::Store)?;
        let execution = PoolExecution::start(&self.location, fence)?;
        let mut inbox = store.inbox().map_err(Error::Store)?;
        let reader = store.reader().map_err(Error::Store)?;
        // Workers keep the outputs of what they run.
        let stores = Stores { store: Box::new(store), reader: Some(Box::new(reader)), asked_at };
        let (ends, ended) = channel();
        let data = data.clone();
        let does = move || work(&mut inbox, &caller, &data, &ended, &note);
        thread::Builder::new().name("inbox".to_owned()).spawn(does).map_err(setup)?;
        Ok(Plan { execution, stores, inbox: ends })
    }

    /// What a [`RequestProxy`] needs to answer those who ask this server while it does not plan.
    pub fn standing(&self) -> Arc<StandbyState> {
        Arc::clone(&self.standing)
    }

    /// Answers what comes over the connections of a listener, for as long as they are open.
    pub fn answer(&self, listener: &Listener) {
        self.standing.listens_at(listener.addresses.clone());
        for stream in listener.streams.iter().filter_map(|stream| stream.try_clone().ok()) {
            RequestProxy::new(&self.standing).serve_listener(stream);
        }
    }
}
