//! Reads of the database by a server that does not plan.
//!
//! ```text
//!  what only looks ─▶ ReadOnlyBackend ── tables of the database ──▶ an answer, as of the planner
//! ```
//!
//! What planners have acknowledged is in the database, so that such an answer lacks nothing.
//!
//! Cost: a session, from the first question on; those who ask at the same time wait for each other.
//!
//! Does not know how the answers are found: see [`ReadOnlyBackend`].

use std::sync::{Mutex, PoisonError};

use mainspring_job::StoreError;
use mainspring_postgres::{Location, PostgresReader};

use super::streaming_requests;
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
}

impl Tables {
    /// Connects with the first question.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub(super) fn new(location: &Location, data: &DataDirectory) -> Result<Tables, StoreError> {
        let reader = Mutex::new(PostgresReader::new(location)?);
        Ok(Tables { data: data.clone(), began: Moment::now(), reader })
    }

    fn with_reader<T>(&self, ask: impl FnOnce(&mut PostgresReader) -> T) -> T {
        ask(&mut self.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The answer to a question that looks, as the planner would write it, of a server that does not plan for
    /// this reason. Of `logs` it is the end of the output.
    pub(super) fn reply(&self, request: &Request, why_not: &str) -> String {
        let json = |response: &Response| serde_json::to_string(response).unwrap_or_default();
        let reply = match request {
            Request::Logs { of, .. } => {
                self.backend(why_not, |backend| streaming_requests::logs_of(backend, of))
            }
            request => self.backend(why_not, |backend| backend.ask(request).map(|response| json(&response))),
        };
        reply.unwrap_or_else(|error| json(&Response::Error(error)))
    }

    /// What is found, or why not.
    fn backend<T>(
        &self,
        why_not: &str,
        ask: impl FnOnce(&mut ReadOnlyBackend<'_>) -> Result<T, Error>,
    ) -> Result<T, ErrorWire> {
        let (data, began, now) = (&self.data, self.began.wall, Moment::now().wall);
        let answer = self.with_reader(|reader| {
            ask(&mut ReadOnlyBackend { reader, is_shared: true, why_not, data, began, now })
        });
        answer.map_err(|error| match error {
            Error::Refused(error) => error,
            error => ErrorWire::new(ErrorKind::Temporary, format!("the jobs cannot be read: {error}")),
        })
    }
}
