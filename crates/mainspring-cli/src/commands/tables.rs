//! Reads of the database by a server that stands by: what is told there alone, and what an owner that is
//! silent would answer.
//!
//! ```text
//!  runs, outputs, audit, ..  ─────────────▶ ReadOnlyBackend ── tables of the database ──▶ an answer, as of the owner
//!  any other that looks ── no answer ─────▶ the same
//!  one that changes     ── no answer ─────▶ what is wrong
//! ```
//!
//! What owners have acknowledged is in the database, so that such an answer lacks nothing. `status` has a
//! trouble that says where it is from.
//!
//! Cost: a session, from the first question on; those who ask at the same time wait for each other.
//!
//! Does not know how the answers are found: see [`ReadOnlyBackend`].

use std::sync::{Mutex, PoisonError};

use mainspring_job::StoreError;
use mainspring_postgres::{Location, PostgresReader};

use super::streaming_requests;
use super::unresponsive_owner::UnresponsiveOwner;
use mainspring_exec::clock::Moment;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::protocol::{ErrorKind, ErrorWire, Request, Response};
use mainspring_server::server::read_only_backend::ReadOnlyBackend;

/// What all threads of a server share that answer.
#[derive(Debug)]
pub(super) struct Tables {
    /// The directory of this server, where it keeps what runs write.
    pub(super) data: DataDirectory,
    began: Moment,
    reader: Mutex<PostgresReader>,
    owner: Mutex<UnresponsiveOwner>,
}

impl Tables {
    /// Connects with the first question.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub(super) fn new(location: &Location, data: &DataDirectory) -> Result<Tables, StoreError> {
        let reader = Mutex::new(PostgresReader::new(location)?);
        Ok(Tables { data: data.clone(), began: Moment::now(), reader, owner: Mutex::default() })
    }

    fn with_reader<T>(&self, ask: impl FnOnce(&mut PostgresReader) -> T) -> T {
        ask(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with_owner<T>(&self, ask: impl FnOnce(&mut UnresponsiveOwner) -> T) -> T {
        ask(&mut self.owner.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the owner did not take a question, and has not renewed its lease since.
    pub(super) fn is_silent(&self) -> bool {
        if self.with_owner(|owner| owner.is_none()) {
            return false;
        }
        let held = self.with_reader(PostgresReader::lease);
        held.is_ok_and(|held| self.with_owner(|owner| owner.is_silent(held, Moment::now())))
    }

    /// Keeps that the owner has not taken what it was asked.
    pub(super) fn add_silent(&self) {
        if let Ok(held) = self.with_reader(PostgresReader::lease) {
            self.with_owner(|owner| owner.add(held, Moment::now()));
        }
    }

    /// What the owner would answer to a question that looks, and that has one answer.
    pub(super) fn answer(&self, request: &Request) -> Response {
        self.backend(|backend| backend.ask(request)).unwrap_or_else(Response::Error)
    }

    /// The same as the owner would write it. Of `logs` it is the end of the output.
    pub(super) fn reply(&self, request: &Request) -> String {
        let said = |response: &Response| serde_json::to_string(response).unwrap_or_default();
        match request {
            Request::Logs { of, .. } => self
                .backend(|backend| streaming_requests::logs_of(backend, of))
                .unwrap_or_else(|error| said(&Response::Error(error))),
            request => said(&self.answer(request)),
        }
    }

    /// What is found, or why not.
    fn backend<T>(
        &self,
        ask: impl FnOnce(&mut ReadOnlyBackend<'_>) -> Result<T, Error>,
    ) -> Result<T, ErrorWire> {
        let (data, began, now) = (&self.data, self.began.wall, Moment::now().wall);
        let asked = self
            .with_reader(|reader| ask(&mut ReadOnlyBackend { reader, is_shared: true, data, began, now }));
        asked.map_err(|error| match error {
            Error::Refused(error) => error,
            error => ErrorWire::new(ErrorKind::Temporary, format!("nobody answers for the jobs: {error}")),
        })
    }
}
