//! Requests to the planner through the database: a row each, which is the place of its reply too.
//!
//! ```text
//!  SELECT mainspring.submit(..) ─┐
//!  a submission elsewhere       ─┤                ┌─ done and removed in one commit; or its refusal is kept
//!  a command at another server  ─┴─▶ inbox ─▶ owner ┴─ removed, then done ─▶ reply ─▶ the command
//! ```
//!
//! What is left without anybody who waits is done once: the commit that has the job takes it out, by its key.
//! What a person waits for is done at most once: where no reply comes, the person is told that it is unknown.
//!
//! Cost: a round trip for each call; the question for requests reads an index that has only open ones.
//!
//! Does not read a request: the server does.

use std::time::Duration;

use mainspring_job::{MAX_BATCH_OPERATIONS, StoreError};
use tokio_postgres::Row;

use super::connection::{Connection, WaitNotifier};
use super::escape::{escape, read};
use super::fault::without_row;
use super::location::Location;
use super::value::Value;

/// The channel on which a server tells that it has asked something.
const REQUEST_CHANNEL: &str = "mainspring_asked";

/// The channel on which the owner tells that it has replied.
const REPLY_CHANNEL: &str = "mainspring_replied";

/// The most requests that are taken at once: as many as a batch of the store.
const MAX_TAKEN: i64 = 1_024;

const _: () = assert!(MAX_TAKEN as usize == MAX_BATCH_OPERATIONS);

/// The most text of requests that is taken at once, unless one is longer: it is in memory meanwhile.
const MAX_TAKEN_BYTES: i64 = 16 << 20;

/// How often the owner looks for requests of which it is not told, where there was one lately, and else: the
/// delay of such a request, against the cost of an idle database. Each renewal of its lease looks as well, so
/// that an idle planner, which renews it each second, asks nothing beside that.
const BUSY_INTERVAL: Duration = Duration::from_millis(250);
const IDLE_INTERVAL: Duration = Duration::from_millis(1_200);

/// How many looks after the last such request are lately: a minute.
const BUSY_LOOKS: u32 = 240;

const _: () = assert!(BUSY_INTERVAL.as_millis() < IDLE_INTERVAL.as_millis());
const _: () = assert!(BUSY_LOOKS as u128 * BUSY_INTERVAL.as_millis() == 60_000, "a minute");

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
    /// How many looks there were since a request came of which it was not told.
    idle_looks: u32,
}

impl Inbox {
    /// That of the owner, which waits for requests. Connects with the first call.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn of_owner(location: &Location) -> Result<Inbox, StoreError> {
        Ok(Inbox { connection: Connection::listening(location, REQUEST_CHANNEL)?, idle_looks: BUSY_LOOKS })
    }

    /// That of another server, which waits for replies. Connects with the first call.
    ///
    /// # Errors
    /// The same.
    pub fn of_asker(location: &Location) -> Result<Inbox, StoreError> {
        Ok(Inbox { connection: Connection::listening(location, REPLY_CHANNEL)?, idle_looks: BUSY_LOOKS })
    }

    /// What ends [`wait`](Inbox::wait) from another thread.
    pub fn notifier(&self) -> WaitNotifier {
        self.connection.notifier()
    }

    /// Waits for requests: for a notification, or until it is time to look. What a transaction submits is not
    /// told of, as to tell it would make the commits of all wait for each other. Behind a pooler nothing is.
    pub fn wait_for_requests(&mut self) {
        let is_idle = BUSY_LOOKS <= self.idle_looks && !self.connection.is_pooled();
        self.connection.wait(if is_idle { IDLE_INTERVAL } else { BUSY_INTERVAL });
    }

    /// Waits for a notification, at most so long. Returns whether there may be
    /// something new.
    pub fn wait(&mut self, longest: Duration) -> bool {
        self.connection.wait(longest)
    }

    /// The first requests that the owner is to do, in their order.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn waiting(&mut self) -> Result<Vec<Entry>, StoreError> {
        // The first is read however long it is.
        let sql = "SELECT i.id, i.request, i.actor, i.waits FROM (
                SELECT f.*, sum(octet_length(f.request)) OVER (ORDER BY f.id) - octet_length(f.request) AS before FROM (
                    SELECT * FROM mainspring.inbox WHERE refusal = '' AND NOT is_taken ORDER BY id LIMIT $1) AS f) AS i
            WHERE i.before <= $2 ORDER BY i.id";
        let values = [Value::Int(MAX_TAKEN), Value::Int(MAX_TAKEN_BYTES)];
        let rows = self.connection.call("read the inbox", sql, &values)?;
        let entry = |row: &Row| Entry {
            id: row.get(0),
            request: read(row.get(1)).into_owned(),
            actor: read(row.get(2)).into_owned(),
            waits: row.get(3),
        };
        let entries: Vec<Entry> = rows.iter().map(entry).collect();
        debug_assert!(entries.len() <= MAX_TAKEN as usize);
        debug_assert!(entries.is_sorted_by_key(|entry| entry.id), "they are done in their order");
        let has_untold = entries.iter().any(|entry| !entry.waits);
        self.idle_looks = if has_untold { 0 } else { self.idle_looks.saturating_add(1) };
        Ok(entries)
    }

    /// Takes a request out. Says whether it was there: of two that take it, one has it.
    ///
    /// # Errors
    /// When the database does not answer; `Unknown` if it may be out.
    pub fn take(&mut self, id: i64) -> Result<bool, StoreError> {
        // Where somebody waits for it, the row is the place of the reply.
        let sql = "WITH gone AS (DELETE FROM mainspring.inbox WHERE id = $1 AND NOT waits RETURNING id),
            taken AS (UPDATE mainspring.inbox SET is_taken = true WHERE id = $1 AND waits AND NOT is_taken RETURNING id)
            SELECT id FROM gone UNION ALL SELECT id FROM taken";
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

    /// Asks the owner something, and returns the number of that.
    ///
    /// # Errors
    /// When the database does not answer; `Unknown` if the request may be there.
    pub fn ask(&mut self, request: &str, actor: &str) -> Result<i64, StoreError> {
        let sql = "WITH asked AS (
                INSERT INTO mainspring.inbox (request, actor, waits) VALUES ($1, $2, true) RETURNING id)
            SELECT id, pg_notify($3, '')::text FROM asked";
        let values = [Value::text(request), Value::text(actor), Value::text(REQUEST_CHANNEL)];
        let rows = self.connection.call("ask", sql, &values)?;
        Ok(rows.first().ok_or_else(without_row)?.get(0))
    }

    /// Leaves replies, and takes the requests out that are there still: at once, or not at all. Replies that
    /// none fetched within the hour go.
    ///
    /// # Errors
    /// When the database does not answer.
    pub fn reply_all(&mut self, replies: &[(i64, String)]) -> Result<(), StoreError> {
        if replies.is_empty() {
            return Ok(());
        }
        // A reply that a database forgets is one that did not come.
        let sql = "WITH old AS (DELETE FROM mainspring.inbox WHERE is_taken AND at < clock_timestamp() - interval '1 h'),
            answered AS (UPDATE mainspring.inbox AS i SET is_taken = true, response = a.response
                FROM unnest($1, $2) AS a (id, response) WHERE i.id = a.id)
            SELECT pg_notify($3, '')::text, set_config('synchronous_commit', 'off', true)";
        let ids = replies.iter().map(|(id, _)| *id).collect();
        let responses = replies.iter().map(|(_, response)| escape(response).into_owned()).collect();
        let values = [Value::Ints(ids), Value::Texts(responses), Value::text(REPLY_CHANNEL)];
        self.connection.call("reply", sql, &values).map(drop)
    }

    /// Asks the owner several things, all or none of them, and returns their numbers in the same order. They
    /// are not on disk: a database that crashes may forget them, and then none is done.
    ///
    /// # Errors
    /// When the database does not answer; `Unknown` if the requests may be there.
    pub fn ask_all(&mut self, requests: &[&str], actor: &str) -> Result<Vec<i64>, StoreError> {
        let sql = "WITH asked AS (
                INSERT INTO mainspring.inbox (request, actor, waits)
                SELECT request, $2, true FROM unnest($1::text[]) WITH ORDINALITY AS r (request, place)
                ORDER BY place RETURNING id),
            told AS (SELECT pg_notify($3, ''), set_config('synchronous_commit', 'off', true))
            SELECT id FROM asked, told";
        let texts = requests.iter().map(|request| escape(request).into_owned()).collect();
        let values = [Value::Texts(texts), Value::text(actor), Value::text(REQUEST_CHANNEL)];
        let rows = self.connection.call("ask", sql, &values)?;
        // Numbers are drawn in the order of the rows.
        let mut ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        ids.sort_unstable();
        debug_assert_eq!(ids.len(), requests.len(), "each has a number");
        Ok(ids)
    }

    /// Leaves submissions for the owner, all or none of them, with the key or the made name of each. They are
    /// on disk when this returns. The owner is [told](Inbox::tell) by a transaction of its own: commits that
    /// tell wait for each other, disk included.
    ///
    /// # Errors
    /// When the database does not answer; `Unknown` if they may be there.
    pub fn leave_all(&mut self, submissions: &[(&str, String)], actor: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO mainspring.inbox (request, actor, waits, key)
            SELECT request, $3, false, key FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS r (request, key, place)
            ORDER BY place";
        let texts = |of: fn(&(&str, String)) -> String| Value::Texts(submissions.iter().map(of).collect());
        let (requests, keys) =
            (texts(|left| escape(left.0).into_owned()), texts(|left| escape(&left.1).into_owned()));
        let values = [requests, keys, Value::text(actor)];
        self.connection.call("leave in the inbox", sql, &values).map(drop)
    }

    /// Tells the owner that there is something for it.
    ///
    /// # Errors
    /// When the database does not answer: the owner looks by itself then.
    pub fn tell(&mut self) -> Result<(), StoreError> {
        let sql = "SELECT pg_notify($1, '')::text, set_config('synchronous_commit', 'off', true)";
        self.connection.call("tell", sql, &[Value::text(REQUEST_CHANNEL)]).map(drop)
    }

    /// The replies that there are to some requests, each once.
    ///
    /// # Errors
    /// When the database does not answer; `Unknown` if they may be taken.
    pub fn take_replies(&mut self, ids: &[i64]) -> Result<Vec<(i64, String)>, StoreError> {
        let sql = "WITH taken AS (
                DELETE FROM mainspring.inbox WHERE id = ANY ($1) AND response IS NOT NULL RETURNING id, response)
            SELECT id, response, set_config('synchronous_commit', 'off', true) FROM taken";
        let rows = self.connection.call("take replies", sql, &[Value::Ints(ids.to_vec())])?;
        Ok(rows.iter().map(|row| (row.get(0), read(row.get(1)).into_owned())).collect())
    }
}
