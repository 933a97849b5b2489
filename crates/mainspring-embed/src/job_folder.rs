//! The folder that a program has for its jobs, from its lock to the loop over it: the feature `sqlite`.
//!
//! ```text
//!  lock ─▶ outbox opened ─▶ store, lease ─▶ the loop, on its thread ─▶ the thread of the outbox
//! ```
//!
//! Cost: opening the store, and two threads.
//!
//! Does not define jobs: see [`builder`](crate::builder).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mainspring_host::directory::Directory;
use mainspring_job::Command;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error as ServerError;
use mainspring_server::folder_store::open_store;
use mainspring_server::server::Stores;
use mainspring_server::server::program_calls::{Caller, calls};
use mainspring_server::takeover::take;

use crate::client::{Client, CommandTarget, PendingReply};
use crate::error::Error;
use crate::outbox::OpenedOutbox;
use crate::outbox_signal::OutboxSignal;
use crate::parts::{Parts, setup};
use crate::started_loop::{FinishOutbox, RunningLoop, StartedLoop};

/// A folder that is this program's.
#[derive(Debug)]
pub(crate) struct JobFolder {
    data: DataDirectory,
    directory: Arc<Directory>,
    /// The program's own SQLite file, for submissions in its transactions.
    pub(crate) outbox: Option<PathBuf>,
}

/// The loop over a folder, as its clients know it.
struct FolderLoop {
    caller: Caller,
    outbox: Option<OutboxSignal>,
}

impl CommandTarget for FolderLoop {
    fn begin(&self, command: Command) -> Result<PendingReply, Error> {
        let promise = self.caller.command(command);
        Ok(Box::pin(async move { promise.await.map_err(Error::call) }))
    }

    fn stop(&self, patience: Duration) {
        self.caller.stop(patience);
    }

    fn outbox_folder(&self) -> Result<Option<&str>, &'static str> {
        let outbox = self.outbox.as_ref().map(OutboxSignal::folder);
        outbox.map(Some).ok_or("these jobs have no outbox: see Builder::outbox")
    }

    fn expect_submission(&self) {
        self.outbox.iter().for_each(OutboxSignal::expect_soon);
    }
}

impl JobFolder {
    /// Makes it if it is not there, and locks it.
    ///
    /// # Errors
    /// When another has it, or it cannot be used.
    pub(crate) fn take(path: &Path) -> Result<JobFolder, Error> {
        let data = DataDirectory::find(Some(path));
        data.make().map_err(Error::open)?;
        let directory = take(&data, |_| ()).map_err(|error| Error::open(ServerError::Directory(error)))?;
        Ok(JobFolder { data, directory: Arc::new(directory), outbox: None })
    }

    /// Takes the store over, and begins.
    ///
    /// # Errors
    /// When a file cannot be used, or the operating system refuses something.
    pub(crate) fn start(self, mut parts: Parts) -> Result<StartedLoop, Error> {
        let JobFolder { data, directory, outbox } = self;
        let (caller, calls) = calls().map_err(setup("a socket pair"))?;
        let outbox = outbox.map(|path| OpenedOutbox::open(&path, &data)).transpose()?;
        let signal = outbox.as_ref().map(|outbox| outbox.signal.clone());
        let target = FolderLoop { caller: caller.clone(), outbox: signal };
        let client = Client::new(target, Arc::clone(&parts.catalogue));
        let (store, lease) = open_store(&directory, &data).map_err(Error::Store)?;
        let reader = Box::new(store.reader());
        // The lock of a folder lasts: no lease ages.
        let asked_at = Duration::ZERO;
        let stores = Stores { reader: Some(Box::new(store.reader())), store: Box::new(store), asked_at };
        let (handlers, listener) = (parts.handlers(client.clone())?, parts.begin_beside(&data)?);
        let server = parts.server(&data, handlers, calls, stores, lease, listener)?;
        let run = move || {
            let ended = server.run();
            // The lock of the folder goes last.
            drop(directory);
            ended
        };
        let log = parts.log_file().map_err(setup("the log"))?;
        let outbox = outbox.map(|outbox| outbox.start(caller, log)).transpose()?;
        let thread = thread::Builder::new().name("mainspring".to_owned()).spawn(run);
        let thread = thread.map_err(setup("a thread"))?;
        let finish_outbox = outbox.map(|outbox| Box::new(move || outbox.finish()) as FinishOutbox);
        let running = RunningLoop { thread, beside: parts.beside, finish_outbox };
        Ok(StartedLoop { client, reader, running })
    }
}
