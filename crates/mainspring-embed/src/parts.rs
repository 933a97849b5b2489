//! The components from which each loop inside a program is built.
//!
//! Cost: a clone of the definitions for each loop.
//!
//! Does not start a thread, and opens no store.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use mainspring_file::loaded_file::Reader as FileReader;
use mainspring_host::accounts::Account;
use mainspring_host::accounts::users::Users;
use mainspring_job::{Definitions, Lease};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error as ServerError;
use mainspring_server::log::Style;
use mainspring_server::server::execution::Execution;
use mainspring_server::server::listener::Listener;
use mainspring_server::server::program_calls::Calls;
use mainspring_server::server::rate::Rates;
use mainspring_server::server::{Host, Keeping, Server, Serving, Stopping, Stores};

use crate::catalogue::Catalogue;
use crate::client::Client;
use crate::error::Error;
use crate::future::Spawner;
use crate::handlers::Handlers;
use crate::registry::Registry;

/// What takes all that is written, and keeps nothing.
const NOWHERE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// What a program has defined.
pub(crate) struct Parts {
    pub(crate) registry: Registry,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) definitions: Definitions,
    pub(crate) thread_max: usize,
    /// How many runs of functions wait here for a thread.
    pub(crate) ahead: usize,
    /// What hands futures to a runtime.
    pub(crate) spawner: Option<Spawner>,
    pub(crate) future_max: usize,
    pub(crate) log: Option<File>,
    pub(crate) beside: Option<Box<dyn ServedBeside>>,
}

/// What serves clients of its own beside the loop, and beside what stands by for it: the page, where the
/// program asks for it.
pub(crate) trait ServedBeside: Send {
    /// Serves from now on, until what is returned here is dropped.
    fn begin(&mut self, data: &DataDirectory) -> Result<Listener, Error>;

    /// Waits for the end, which comes soon after that of what answers.
    fn finish(self: Box<Self>);
}

impl Parts {
    /// Begins what is served beside the loop.
    ///
    /// # Errors
    /// When its address is wrong or taken, or the operating system refuses something.
    pub(crate) fn begin_beside(&mut self, data: &DataDirectory) -> Result<Listener, Error> {
        self.beside.as_mut().map_or_else(|| Ok(Listener::default()), |beside| beside.begin(data))
    }

    /// A loop over stores that it owns by a lease, beside what is served there already. It runs when the
    /// caller says so.
    ///
    /// # Errors
    /// When the store cannot be read, another source has a name, or the operating system refuses something.
    pub(crate) fn server(
        &self,
        data: &DataDirectory,
        execution: Box<dyn Execution>,
        calls: Calls,
        stores: Stores,
        lease: Lease,
        listener: Listener,
    ) -> Result<Server, Error> {
        let log = self.log_file().map_err(setup("the log"))?;
        let host = Host::Program { calls, jobs: self.definitions.clone(), log };
        let serving = serving(data.clone(), execution, host, listener)?;
        Server::prepare(serving, stores, lease).map_err(Error::open)
    }

    /// What calls the program's handlers, which may do all that this client can.
    ///
    /// # Errors
    /// When the operating system gives no socket pair.
    pub(crate) fn handlers(&self, client: Client) -> Result<Box<dyn Execution>, Error> {
        let futures = self.spawner.clone().map(|spawner| (spawner, self.future_max));
        let handlers = Handlers::new(self.registry.clone(), self.thread_max, self.ahead, futures, client);
        Ok(Box::new(handlers.map_err(setup("a socket pair"))?))
    }

    /// Where the log goes: nowhere, unless the program says where.
    pub(crate) fn log_file(&self) -> io::Result<File> {
        match &self.log {
            Some(log) => log.try_clone(),
            None => File::options().write(true).open(NOWHERE),
        }
    }
}

/// What the operating system refused.
pub(crate) fn setup(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::open(ServerError::setup(what)(source))
}

/// What the loop serves in a program: no files, and clients of the socket that look and operate.
fn serving(
    data: DataDirectory,
    execution: Box<dyn Execution>,
    host: Host,
    listener: Listener,
) -> Result<Serving, Error> {
    let users = Users::new(Account::ourselves().map_err(setup("our own account"))?);
    let reader = FileReader::new(users);
    Ok(Serving {
        data,
        files: Vec::new(),
        reader,
        stopping: Stopping { drain: Duration::ZERO, grace: Duration::ZERO },
        rates: Rates::default(),
        keeping: Keeping::OnDisk,
        execution,
        host,
        listener,
        control: None,
        log: Style::default(),
        pause: None,
        default_zone: None,
    })
}
