//! Reads of the database by a server of a pool: the owner of each shard, the silent owners, and answers in
//! place of these.
//!
//! ```text
//!  a question that looks ── no answer ──▶ ReadOnlyBackend ── tables of the database ──▶ an answer, as of the owner
//!  any other             ── no answer ──▶ what is wrong
//! ```
//!
//! What owners have acknowledged is in the database, so that such an answer lacks nothing. `status` has a
//! trouble that says where it is from.
//!
//! Cost: two sessions, each from its first question on; those who ask at the same time wait for each other.
//!
//! Does not know how the answers are found: see [`ReadOnlyBackend`].

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use mainspring_job::{Shard, StoreError};
use mainspring_postgres::{Location, PostgresReader, Shards};

use super::reply_wait::Lack;
use super::streaming_requests;
use super::unresponsive_owners::UnresponsiveOwners;
use mainspring_exec::clock::Moment;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::protocol::{ErrorKind, ErrorWire, Request, Response};
use mainspring_server::server::ShardFilter;
use mainspring_server::server::read_only_backend::ReadOnlyBackend;

/// What all threads of a server share that answer.
#[derive(Debug)]
pub(super) struct Tables {
    /// The directory of this server, where it keeps what runs write.
    pub(super) data: DataDirectory,
    began: Moment,
    /// For questions where a job is, and who owns it.
    shards: Mutex<Shards>,
    /// For questions about shards for which no server answers.
    reader: Mutex<PostgresReader>,
    silent: Mutex<UnresponsiveOwners>,
}

impl Tables {
    /// Connects with the first questions.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub(super) fn new(location: &Location, data: &DataDirectory) -> Result<Tables, StoreError> {
        Ok(Tables {
            data: data.clone(),
            began: Moment::now(),
            shards: Mutex::new(Shards::new(location)?),
            reader: Mutex::new(PostgresReader::new(location)?),
            silent: Mutex::default(),
        })
    }

    /// Asks where something is, or who owns it.
    pub(super) fn find<T>(
        &self,
        ask: impl FnOnce(&mut Shards) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        ask(&mut self.shards.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The shards whose owners did not take a question, and have not renewed their leases since.
    pub(super) fn silent(&self) -> BTreeSet<Shard> {
        let lock = || self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        if lock().is_empty() {
            return BTreeSet::new();
        }
        let held = self.find(Shards::held).unwrap_or_default();
        lock().still_silent(&held, Moment::now())
    }

    /// Keeps which owners have not taken what they were asked.
    pub(super) fn add_silent<T>(&self, replies: &[(Shard, Result<T, Lack>)]) {
        let untaken = replies.iter().filter(|(_, reply)| matches!(reply, Err(Lack::Untaken)));
        let untaken: BTreeSet<Shard> = untaken.map(|(shard, _)| *shard).collect();
        if untaken.is_empty() {
            return;
        }
        let held = self.find(Shards::held).unwrap_or_default();
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().filter(|held| untaken.contains(&held.shard)).for_each(|held| {
            silent.add(held, Moment::now());
        });
    }

    /// What the owner of a shard would answer to a question that looks, and that has one answer.
    pub(super) fn answer(&self, shard_filter: ShardFilter, request: &Request) -> Response {
        self.backend(shard_filter, |backend| backend.ask(request)).unwrap_or_else(Response::Error)
    }

    /// The same as the owner would write it. Of `logs` it is the end of the output.
    pub(super) fn reply(&self, shard_filter: ShardFilter, request: &Request) -> String {
        let said = |response: &Response| serde_json::to_string(response).unwrap_or_default();
        match request {
            Request::Logs { of, .. } => self
                .backend(shard_filter, |backend| streaming_requests::logs_of(backend, of))
                .unwrap_or_else(|error| said(&Response::Error(error))),
            request => said(&self.answer(shard_filter, request)),
        }
    }

    /// What is found, or why not.
    fn backend<T>(
        &self,
        shard_filter: ShardFilter,
        ask: impl FnOnce(&mut ReadOnlyBackend<'_>) -> Result<T, Error>,
    ) -> Result<T, ErrorWire> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let (began, now) = (self.began.wall, Moment::now().wall);
        let mut backend = ReadOnlyBackend {
            reader: &mut *reader,
            shard_filter,
            is_shared: true,
            data: &self.data,
            began,
            now,
        };
        ask(&mut backend).map_err(|error| match error {
            Error::Refused(error) => error,
            error => {
                let of = if shard_filter == ShardFilter::WHOLE {
                    "the jobs".to_owned()
                } else {
                    format!("shard {}", shard_filter.shard.0)
                };
                ErrorWire::new(ErrorKind::Temporary, format!("nobody answers for {of}: {error}"))
            }
        })
    }
}
