//! What the owner is asked through the database: a table of requests, and one of replies.
//!
//! ```text
//!  SELECT mainspring.submit(..) ─┐                ┌─ done under its key, then removed; or its refusal is kept
//!  a command at another server  ─┴─▶ inbox ─▶ owner ┴─ removed, then done ─▶ reply ─▶ the command
//! ```
//!
//! What a transaction submitted is done at least once, and its key makes that once. What a person waits for
//! is done at most once: where no reply comes, the person is told that it is unknown.
//!
//! Cost: a round trip for each call; the question for requests reads an index that has only open ones.
//!
//! Does not read a request: the server does.

use mainspring_job::StoreError;
use tokio_postgres::Row;

use super::connection::Connection;
use super::escape::read;
use super::location::Location;
use super::value::Value;

/// The most requests that are taken at once.
const MAX_TAKEN: i64 = 64;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub id: i64,
    /// What is asked, as the socket's protocol writes it.
    pub request: String,
    /// The user of the database, or the server, that asks.
    pub actor: String,
    /// Whether a reply is waited for.
    pub waits: bool,
}

/// The table, over a session of its own.
#[derive(Debug)]
pub struct Inbox {
    connection: Connection,
}

impl Inbox {
    /// Connects with the first call.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn new(location: &Location) -> Result<Inbox, StoreError> {
        Ok(Inbox { connection: Connection::new(location)? })
    }

    /// The first requests that are to be done, in their order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn waiting(&mut self) -> Result<Vec<Entry>, StoreError> {
        let sql =
            "SELECT id, request, actor, waits FROM mainspring.inbox WHERE refusal = '' ORDER BY id LIMIT $1";
        let rows = self.connection.call("read the inbox", sql, &[Value::Int(MAX_TAKEN)])?;
        let entry = |row: &Row| Entry {
            id: row.get(0),
            request: read(row.get(1)).into_owned(),
            actor: read(row.get(2)).into_owned(),
            waits: row.get(3),
        };
        Ok(rows.iter().map(entry).collect())
    }

    /// Takes a request out. Says whether it was there: of two that take it, one has it.
    ///
    /// # Errors
    /// When the database does not answer; `Unknown` if it may be out.
    pub fn take(&mut self, id: i64) -> Result<bool, StoreError> {
        let sql = "DELETE FROM mainspring.inbox WHERE id = $1 RETURNING id";
        Ok(!self.connection.call("take out of the inbox", sql, &[Value::Int(id)])?.is_empty())
    }

    /// Keeps why a request cannot be done.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn refuse(&mut self, id: i64, why: &str) -> Result<(), StoreError> {
        let sql = "UPDATE mainspring.inbox SET refusal = $2 WHERE id = $1";
        self.connection.call("refuse", sql, &[Value::Int(id), Value::text(why)]).map(drop)
    }

    /// Leaves a reply for a server that waits, and drops those that none fetched within the hour.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn reply(&mut self, id: i64, response: &str) -> Result<(), StoreError> {
        let sql = "WITH old AS (DELETE FROM mainspring.reply WHERE at < clock_timestamp() - interval '1 h')
            INSERT INTO mainspring.reply (id, response) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        self.connection.call("reply", sql, &[Value::Int(id), Value::text(response)]).map(drop)
    }

    /// Asks the owner something, and returns the number of that.
    ///
    /// # Errors
    /// When the database does not answer; `Unknown` if the request may be there.
    pub fn ask(&mut self, request: &str, actor: &str) -> Result<i64, StoreError> {
        let sql = "INSERT INTO mainspring.inbox (request, actor, waits) VALUES ($1, $2, true) RETURNING id";
        let rows = self.connection.call("ask", sql, &[Value::text(request), Value::text(actor)])?;
        Ok(rows.first().ok_or(StoreError::Busy)?.get(0))
    }

    /// The reply, once.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn take_reply(&mut self, id: i64) -> Result<Option<String>, StoreError> {
        let sql = "DELETE FROM mainspring.reply WHERE id = $1 RETURNING response";
        let rows = self.connection.call("take a reply", sql, &[Value::Int(id)])?;
        Ok(rows.first().map(|row| read(row.get(0)).into_owned()))
    }
}
