//! One session of the database, which is made anew when it has ended.
//!
//! ```text
//!  call ─▶ session, or a new one ─▶ statement with its values ─▶ rows
//!              └─ no answer within CALL_TIMEOUT: it is given up, and the next call begins with a new session
//! ```
//!
//! The runtime is this connection's own and has no threads: it runs while a call waits. Between calls nothing
//! is read, so that a session that ended meanwhile is noticed by the next call.
//!
//! Cost: a round trip for each call; three for a new session.
//!
//! Does not try again: what may be tried again is known to the caller.

use std::time::Duration;

use mainspring_job::StoreError;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, NoTls, Row};

use super::fault::{Reach, ends_session, lost, mapped};
use super::location::Location;
use super::value::Value;

/// How long an answer is waited for. Three tries fit into the time that an owner has without a renewal. What
/// the database was doing it goes on doing: the next try of a batch finds it done, or waits for its lock.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a step of the schema may take: it may build an index.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(600);

/// A session, and how to make another.
pub(super) struct Connection {
    location: Location,
    /// A pooler refuses what is asked of a session when it begins.
    is_pooled: bool,
    client: Option<Client>,
    runtime: Runtime,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("location", &self.location).finish_non_exhaustive()
    }
}

impl Connection {
    /// A connection that is made by its first call.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub(super) fn new(location: &Location) -> Result<Connection, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Connection {
            location: location.clone(),
            is_pooled: false,
            client: None,
            runtime: runtime.map_err(|error| StoreError::Io(error.into()))?,
        })
    }

    /// Connects now, so that people are told what is wrong with the address.
    ///
    /// # Errors
    /// What the database says, in words; `Busy` where that may pass.
    pub(super) fn open(&mut self) -> Result<(), StoreError> {
        let error = match self.connect() {
            Ok(()) => return Ok(()),
            Err(Some(error)) => error,
            Err(None) => return Err(StoreError::Io(format!("{} does not answer", self.location).into())),
        };
        match mapped("connect", &error, Reach::Unsent) {
            // Somebody looks on: what the network says is worth more than that it may pass.
            StoreError::Busy => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                let text = cause.unwrap_or_else(|| error.to_string());
                Err(StoreError::Io(format!("{}: {text}", self.location).into()))
            }
            other => Err(other),
        }
    }

    /// Does one statement.
    ///
    /// # Errors
    /// See [`fault`](super::fault); `Unknown` if it may have been done.
    pub(super) fn call(&mut self, what: &str, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            // Whatever a new session is refused for: while the owner has its lease, that may pass.
            self.connect().map_err(|_| StoreError::Busy)?;
        }
        let Some(client) = &self.client else { return Err(StoreError::Busy) };
        let bound: Vec<(&(dyn ToSql + Sync), Type)> = values.iter().map(Value::bound).collect();
        let answer =
            self.runtime.block_on(async { timeout(CALL_TIMEOUT, client.query_typed(sql, &bound)).await });
        match answer {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(error)) => {
                if ends_session(&error) {
                    self.client = None;
                }
                Err(mapped(what, &error, Reach::Sent))
            }
            Err(_) => {
                self.client = None;
                Err(lost(Reach::Sent))
            }
        }
    }

    /// Does several statements without values, in one transaction if they say so.
    ///
    /// # Errors
    /// The same.
    pub(super) fn script(&mut self, what: &str, sql: &str) -> Result<(), StoreError> {
        if self.client.as_ref().is_none_or(Client::is_closed) {
            self.open()?;
        }
        let Some(client) = &self.client else { return Err(StoreError::Busy) };
        let answer =
            self.runtime.block_on(async { timeout(SCRIPT_TIMEOUT, client.batch_execute(sql)).await });
        // A transaction that failed is open still: the session goes, and it with it.
        let failed = match answer {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => mapped(what, &error, Reach::Sent),
            Err(_) => lost(Reach::Sent),
        };
        self.client = None;
        Err(failed)
    }

    /// Makes a session. `Err(None)` if nothing answered in time.
    fn connect(&mut self) -> Result<(), Option<tokio_postgres::Error>> {
        let made = self.try_connect();
        let is_refused = |error: &tokio_postgres::Error| {
            // That of pgbouncer for a parameter that it does not pass on.
            error.as_db_error().is_some_and(|refused| refused.message().contains("startup parameter"))
        };
        match made {
            Err(Some(error)) if !self.is_pooled && is_refused(&error) => {
                self.is_pooled = true;
                self.try_connect()
            }
            other => other,
        }
    }

    fn try_connect(&mut self) -> Result<(), Option<tokio_postgres::Error>> {
        self.client = None;
        let config = self.location.config(self.is_pooled);
        let made = self.runtime.block_on(async {
            let (client, session) =
                timeout(CALL_TIMEOUT, config.connect(NoTls)).await.map_err(|_| None)??;
            // It ends with the client; what it fails with each call is told.
            tokio::spawn(async move { drop(session.await) });
            Ok::<Client, Option<tokio_postgres::Error>>(client)
        });
        self.client = Some(made?);
        Ok(())
    }
}
