//! Looking at a data directory without a server.
//!
//! ```text
//! lock ─▶ store ─▶ ReadOnlyBackend: the same queries, and the same answers, as with a server
//! ```
//!
//! The directory is locked while it is read, so that it does not change meanwhile; several commands may read
//! it at a time. It may have been prepared by another user, so nothing in it is made, followed or written.
//!
//! Cost: opening the store.
//!
//! Does not write. It knows a job's next time only from the definition.

use std::io;
use std::sync::Arc;

use jiff::Timestamp;

use super::read_only_backend::{ReadOnlyBackend, no_server};
use crate::data_directory::DataDirectory;
use crate::error::Error;
use crate::protocol::{Backend, Request, Response};
use mainspring_host::directory::Directory;
use mainspring_store::SqliteStore;

/// The store of a data directory, for looking.
pub struct OfflineStore {
    store: SqliteStore,
    data: DataDirectory,
    now: Timestamp,
}

impl OfflineStore {
    /// Opens the store as it stands at `now`. `None` if there is none.
    ///
    /// # Errors
    ///
    /// When a server has it, or it cannot be read, or others decide what is in it.
    pub fn open(data: &DataDirectory, now: Timestamp) -> Result<Option<OfflineStore>, Error> {
        match data.store().try_exists() {
            Ok(true) => {}
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Error::Data { path: data.store(), source });
            }
            Ok(false) | Err(_) => return Ok(None),
        }
        let directory = Arc::new(Directory::look(data.directory()).map_err(Error::Directory)?);
        let store = SqliteStore::look(&directory)?;
        Ok(Some(OfflineStore { store, data: data.clone(), now }))
    }

    /// Answers a request that only looks.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, there is nothing of that name, or only a server can answer.
    pub fn ask(&mut self, request: &Request) -> Result<Response, Error> {
        if request.row().backend != Backend::Folder {
            return Err(no_server().into());
        }
        self.backend().ask(request)
    }

    /// What answers from the store. That of a folder keeps no copies of outputs, so nothing is made of one.
    pub fn backend(&mut self) -> ReadOnlyBackend<'_> {
        let OfflineStore { store, data, now } = self;
        ReadOnlyBackend { reader: store, is_shared: false, why_not: "", data, began: *now, now: *now }
    }

    /// Reads the whole store, and says what is wrong with it.
    ///
    /// # Errors
    ///
    /// When it cannot be read at all.
    pub fn integrity(&mut self) -> Result<Vec<String>, Error> {
        Ok(self.store.integrity()?)
    }
}
