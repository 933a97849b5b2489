//! The store in a PostgreSQL database: what several servers share.
//!
//! | call | one statement | says |
//! |---|---|---|
//! | `acquire` | `acquire_1` | the lease, or who holds the shard and for how long |
//! | `commit` | `commit_3` | checks epoch and token, does the batch, keeps number and answers, renews the lease |
//! | | and a row of `entry` | what of a large batch can wait: `settle_1` writes it into the tables, `settle_2` into archive blocks too |
//! | `renew` | `renew_1` | the same without a batch |
//! | `release` | `release_1` | the shard is free at once |
//!
//! A commit whose answer was lost is `Unknown`, and is sent again under its number: either the row of the
//! shard has that number, and the answers are beside it, or nothing was done.
//!
//! Cost: a round trip for each call. A commit holds the row of its shard while it is done, which is what an
//! owner that wants to take the shard waits for.
//!
//! Does not judge leases: the database does, by its own clock. How long an owner may rest on its lease it
//! counts itself, from before it asked.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{Batch, Commit, Lease, Owner, Renewal, Store, StoreError, Takeover};
use tokio_postgres::Row;

use super::column_batch::ColumnBatch;
use super::connection::Connection;
use super::location::{Location, OF_OWNER};
use super::reader::PostgresReader;
use super::releases::FREE;
use super::schema;
use super::shard::Shard;
use super::value::Value;
use super::write_buffer::{BufferEntry, Flush, LARGE, Plan, WriteBuffer};

/// How long a lease lasts without a renewal: a restart of the database and some lost packets fit into it, and
/// a takeover is not later than that and two seconds.
pub const LEASE: Duration = Duration::from_secs(15);

/// The most takeovers: the epoch is in the upper bits of the number of a one-shot job, of which 40 count the
/// jobs.
const MAX_EPOCH: i64 = 1 << 23;

/// How many parameters `commit_3` has. PostgreSQL takes a hundred.
const COMMIT_PLACES: usize = 87;

static COMMIT: LazyLock<String> = LazyLock::new(|| {
    format!("SELECT status, answers, now, is_done FROM mainspring.commit_3({})", places(1, COMMIT_PLACES))
});

/// Which server it is that opens the store.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Where people find it, for those who ask another.
    pub address: String,
    /// Names the machine: two servers with different ones do not share a kernel.
    pub machine: String,
    /// Names the process; empty: the database draws a number.
    pub server: String,
}

/// Keeps jobs and runs in a database.
#[derive(Debug)]
pub struct PostgresStore {
    pub(super) connection: Connection,
    location: Location,
    identity: Identity,
    lasts: Duration,
    /// Over how many shards the jobs are spread, as far as this program knows.
    shards: u16,
    /// What the owner is called that it last acquired for.
    name: String,
    /// The other half of each fence.
    tokens: HashMap<(Shard, u64), String>,
    /// What is in the write buffer.
    buffers: HashMap<(Shard, u64), WriteBuffer>,
    /// From how many operations on a batch goes there.
    buffer_from: usize,
}

/// What became of a batch.
enum CommitStatus {
    Done(Row),
    /// Done by a call before, whose answer was lost.
    WasDone(Row),
    /// Nothing: the write buffer was flushed by somebody else.
    Flushed,
}

impl PostgresStore {
    /// Connects, makes or migrates the tables if need be, and refuses a database that may forget what it has
    /// acknowledged.
    ///
    /// # Errors
    /// When it does not answer, the role may not, or it is of a newer version.
    pub fn open(location: &Location, identity: Identity) -> Result<PostgresStore, StoreError> {
        PostgresStore::open_with_lease(location, identity, LEASE)
    }

    /// The same with leases of another length.
    ///
    /// # Errors
    /// The same.
    pub fn open_with_lease(
        location: &Location,
        identity: Identity,
        lasts: Duration,
    ) -> Result<PostgresStore, StoreError> {
        let mut connection = Connection::new(location, OF_OWNER)?;
        connection.open()?;
        schema::prepare(&mut connection)?;
        let sql = "SELECT current_setting('synchronous_commit'), gen_random_uuid()::text";
        let rows = connection.call("look at the settings", sql, &[])?;
        let answered = rows.first().ok_or(StoreError::Busy)?;
        if text(answered, 0)? == "off" {
            let text = "synchronous_commit is off, so the database may forget what it has acknowledged: \
                        ALTER ROLE .. SET synchronous_commit = on";
            return Err(StoreError::Io(text.into()));
        }
        let mut identity = identity;
        if identity.server.is_empty() {
            identity.server = text(answered, 1)?;
        }
        Ok(PostgresStore {
            connection,
            location: location.clone(),
            identity,
            lasts,
            shards: 1,
            name: String::new(),
            tokens: HashMap::new(),
            buffers: HashMap::new(),
            buffer_from: location.buffer_from().unwrap_or(LARGE),
        })
    }

    /// The same where the jobs are spread over so many shards, as [`Shards::count`](super::Shards::count)
    /// says. Without this it is one. A shard is not given to a server that expects another number.
    #[must_use]
    pub fn among(self, shards: u16) -> PostgresStore {
        PostgresStore { shards, ..self }
    }

    /// A second session, for another thread.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn reader(&self) -> Result<PostgresReader, StoreError> {
        PostgresReader::new(&self.location)
    }

    /// Which server it was opened for: the same process that opens it again gives this.
    pub fn identity(&self) -> Identity {
        self.identity.clone()
    }

    /// The time of the database.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn now(&mut self) -> Result<Timestamp, StoreError> {
        let rows = self.connection.call("read the time", "SELECT mainspring.now_ns()", &[])?;
        Ok(mainspring_rows::time(number(rows.first().ok_or(StoreError::Busy)?, 0)?))
    }

    fn lease_ms(&self) -> Value {
        Value::Int(i64::try_from(self.lasts.as_millis()).unwrap_or(i64::MAX))
    }

    /// The first three places of each statement of an owner. `Fenced` if it never was one here.
    pub(super) fn fence(&self, lease: Lease) -> Result<[Value; 3], StoreError> {
        let token = self.tokens.get(&(Shard::WHOLE, lease.epoch)).ok_or(StoreError::Fenced)?;
        let epoch = Value::Int(mainspring_rows::number(lease.epoch));
        Ok([Value::Int(i64::from(Shard::WHOLE.0)), epoch, Value::text(token)])
    }

    /// Why no shard is given: there is another number of them now.
    fn other_shards(&mut self) -> Result<StoreError, StoreError> {
        let rows = self.connection.call("count the shards", "SELECT shards FROM mainspring.meta", &[])?;
        let found = number(rows.first().ok_or(StoreError::Busy)?, 0)?;
        if found == i64::from(self.shards) {
            return Ok(StoreError::Busy);
        }
        let text =
            format!("the jobs are spread over {found} shards, and this program expects {}", self.shards);
        Ok(StoreError::Io(text.into()))
    }

    /// Does one of our functions, whose first column is a status. Without a row it was not called: the caller
    /// is fenced out.
    pub(super) fn ask(&mut self, what: &str, sql: &str, values: &[Value]) -> Result<Row, StoreError> {
        let rows = self.connection.call(what, sql, values)?;
        if let Some(answered) = rows.into_iter().next()
            && text(&answered, 0)? != "fenced"
        {
            return Ok(answered);
        }
        // It is counted if the database answers: nothing rests on it.
        let _ = self.connection.call("count", "SELECT mainspring.count_1('fenced')::text", &[]);
        Err(StoreError::Fenced)
    }
}

impl PostgresStore {
    fn commit_columns(
        &mut self,
        lease: Lease,
        batch: &Batch,
        unfit: &HashSet<i64>,
        entry: Option<&mut BufferEntry>,
    ) -> Result<CommitStatus, StoreError> {
        let [shard, epoch, token] = self.fence(lease)?;
        let mut values = vec![shard, epoch, token, self.lease_ms()];
        values.push(Value::Int(mainspring_rows::number(batch.number)));
        values.push(Value::Int(i64::try_from(batch.operations.len()).unwrap_or(i64::MAX)));
        let is_kept = entry.as_ref().map(|entry| entry.is_kept.as_slice()).unwrap_or_default();
        ColumnBatch::of(batch, is_kept, unfit).bind(&mut values);
        values.push(Value::Int(i64::from(entry.is_some())));
        let buffer = self.buffers.entry((Shard::WHOLE, lease.epoch)).or_default();
        values.push(Value::MaybeInt(buffer.times()));
        let first = values.len();
        let mut none = BufferEntry::default();
        let entry = entry.unwrap_or_else(|| none.bind(Vec::new()));
        values.append(&mut entry.values);
        let status = self.commit_status(&values);
        entry.values = values.split_off(first);
        status
    }

    fn commit_status(&mut self, values: &[Value]) -> Result<CommitStatus, StoreError> {
        let answered = self.ask("commit", &COMMIT, values)?;
        let is_done = answered.try_get::<_, Option<bool>>(3).ok().flatten().unwrap_or_default();
        Ok(match text(&answered, 0)?.as_str() {
            "settled" => CommitStatus::Flushed,
            _ if is_done => CommitStatus::WasDone(answered),
            _ => CommitStatus::Done(answered),
        })
    }

    /// What of a batch goes into the write buffer. Flushes that before, where it has to be.
    fn entry(&mut self, lease: Lease, batch: &Batch) -> Result<Option<Box<BufferEntry>>, StoreError> {
        let is_large = self.buffer_from <= batch.operations.len();
        let buffer = self.buffers.entry((Shard::WHOLE, lease.epoch)).or_default();
        if !is_large {
            if !buffer.is_empty() {
                self.flush(lease, &[])?;
            }
            return Ok(None);
        }
        if buffer.is_full() {
            let keep = buffer.under_way();
            self.flush(lease, &keep)?;
        }
        let buffer = self.buffers.entry((Shard::WHOLE, lease.epoch)).or_default();
        Ok(match buffer.plan(lease.epoch, batch) {
            Plan::Keep(entry) => Some(entry),
            Plan::Direct => None,
            Plan::Flush => {
                self.flush(lease, &[])?;
                None
            }
        })
    }

    /// Writes what is in the write buffer into the tables, but for jobs that are to stay there.
    fn flush(&mut self, lease: Lease, keep: &[i64]) -> Result<(), StoreError> {
        let of = (Shard::WHOLE, lease.epoch);
        let numbers = Value::Ints(keep.to_vec());
        let from = self.buffer_from.min(LARGE);
        let buffer = self.buffers.entry(of).or_default();
        let times = Value::MaybeInt(buffer.times());
        let flush = buffer.flush(keep, from);
        let [shard, epoch, token] = self.fence(lease)?;
        let mut values = vec![shard, epoch, token, times];
        let version = if let Some(Flush { has_rest, last, values: more }) = flush {
            values.extend([
                Value::Int(mainspring_rows::number(last)),
                numbers,
                Value::Int(i64::from(has_rest)),
            ]);
            values.extend(more);
            2
        } else {
            values.push(numbers);
            1
        };
        let sql = format!(
            "SELECT status, times, kept FROM mainspring.settle_{version}({})",
            places(1, values.len())
        );
        let answered = self.ask("settle the journal", &sql, &values)?;
        let (times, is_kept) = (number(&answered, 1)?, answered.try_get(2).unwrap_or_default());
        let buffer = self.buffers.entry(of).or_default();
        buffer.flushed(Some(times), if is_kept { keep } else { &[] });
        Ok(())
    }

    /// The same where it may wait: the next batch does it otherwise.
    fn flush_in_passing(&mut self, lease: Lease) {
        if self.buffers.get(&(Shard::WHOLE, lease.epoch)).is_some_and(|buffer| !buffer.is_empty()) {
            let _ = self.flush(lease, &[]);
        }
    }
}

/// `$first, ..` up to `$last`.
fn places(first: usize, last: usize) -> String {
    (first..=last).map(|place| format!("${place}")).collect::<Vec<String>>().join(", ")
}

fn text(row: &Row, index: usize) -> Result<String, StoreError> {
    let found = row.try_get::<_, Option<String>>(index);
    Ok(found.map_err(|_| mainspring_rows::unreadable("text", &index.to_string()))?.unwrap_or_default())
}

fn number(row: &Row, index: usize) -> Result<i64, StoreError> {
    let found = row.try_get::<_, Option<i64>>(index);
    Ok(found.map_err(|_| mainspring_rows::unreadable("number", &index.to_string()))?.unwrap_or_default())
}

impl Store for PostgresStore {
    fn acquire(&mut self, owner: &Owner) -> Result<Lease, StoreError> {
        let shard = Shard::WHOLE;
        // A program that is older than the schema's floor must not write, nor one that would place jobs
        // otherwise: the function takes the shard from the row that says so, so that it is not called without
        // one.
        let sql = "WITH served AS MATERIALIZED (
                SELECT $1 AS shard, s.until FROM mainspring.meta AS m LEFT JOIN mainspring.shard AS s ON s.shard = $1
                WHERE m.floor <= $9 AND m.shards = $10)
            SELECT a.status, a.epoch, a.token, a.takeover, a.held_by, a.left_ms, a.now,
                mainspring.seen_1($5, $3, $4, $8)::text, CASE WHEN isfinite(served.until) THEN
                    ceil(extract(epoch FROM clock_timestamp() - served.until) * 1000)::int8 + $2 END
            FROM served, LATERAL mainspring.acquire_1(served.shard, $2, $3, $4, $5, $6, $7) AS a";
        let values = [
            Value::Int(i64::from(shard.0)),
            self.lease_ms(),
            Value::text(if owner.name.is_empty() { "a server" } else { &owner.name }),
            Value::text(&self.identity.address),
            Value::text(&self.identity.server),
            Value::text(&self.identity.machine),
            Value::text(&owner.machine_start),
            Value::text(env!("CARGO_PKG_VERSION")),
            Value::Int(i64::from(schema::VERSION)),
            Value::Int(i64::from(self.shards)),
        ];
        self.name.clone_from(&owner.name);
        let rows = match self.connection.call("acquire", sql, &values) {
            // It may be ours now: asked again, the database knows this process by its identity.
            Err(StoreError::Unknown) => return Err(StoreError::Busy),
            other => other?,
        };
        let Some(answered) = rows.into_iter().next() else {
            schema::version(&mut self.connection)?;
            return Err(self.other_shards()?);
        };
        if text(&answered, 0)? == "held" {
            let left = u64::try_from(number(&answered, 5)?).unwrap_or(0);
            return Err(StoreError::Held {
                by: super::escape::read(&text(&answered, 4)?).into_owned(),
                left: Duration::from_millis(left),
            });
        }
        let epoch = number(&answered, 1)?;
        if MAX_EPOCH <= epoch {
            return Err(StoreError::Full(format!("it was taken over {epoch} times, which is the limit")));
        }
        let takeover = match text(&answered, 3)?.as_str() {
            // This process had it before, could not renew it, and has ended all that ran: nothing that ran is
            // suspected.
            "clean" | "interrupted" => Takeover::Clean,
            "rebooted" => Takeover::Rebooted,
            _ => Takeover::Unclean,
        };
        let mut lease = Lease::new(mainspring_rows::unsigned(epoch), takeover);
        lease.lasts = Some(self.lasts);
        lease.now = Some(mainspring_rows::time(number(&answered, 6)?));
        // The lease of the owner before began to run when that was last heard of.
        let silent_ms = answered.try_get::<_, Option<i64>>(8).ok().flatten();
        lease.silent = silent_ms.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
        self.tokens.insert((shard, lease.epoch), text(&answered, 2)?);
        self.buffers.retain(|(of, epoch), _| *of != shard || *epoch == lease.epoch);
        Ok(lease)
    }

    fn renew(&mut self, lease: Lease) -> Result<Renewal, StoreError> {
        let [shard, epoch, token] = self.fence(lease)?;
        let sql = "SELECT status, now, mainspring.seen_1($5, $6, $7, $8)::text
            FROM mainspring.renew_1($1, $2, $3, $4)";
        let [id, name, address] =
            [self.identity.server.as_str(), &self.name, &self.identity.address].map(Value::text);
        let version = Value::text(env!("CARGO_PKG_VERSION"));
        let values = [shard, epoch, token, self.lease_ms(), id, name, address, version];
        let answered = self.ask("renew", sql, &values)?;
        let mut renewed = Renewal::default();
        (renewed.now, renewed.lasts) = (Some(mainspring_rows::time(number(&answered, 1)?)), Some(self.lasts));
        self.flush_in_passing(lease);
        Ok(renewed)
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.flush_in_passing(lease);
        let [shard, epoch, token] = self.fence(lease)?;
        let sql = "SELECT status, CASE status WHEN 'done' THEN pg_notify($4, '')::text END
            FROM mainspring.release_1($1, $2, $3)";
        self.ask("release", sql, &[shard, epoch, token, Value::text(FREE)])?;
        self.tokens.remove(&(Shard::WHOLE, lease.epoch));
        self.buffers.remove(&(Shard::WHOLE, lease.epoch));
        Ok(())
    }

    fn keep_source(&mut self, lease: Lease, source: &str) -> Result<(), StoreError> {
        let [shard, epoch, token] = self.fence(lease)?;
        let sql = "WITH ours AS MATERIALIZED (SELECT s.shard FROM mainspring.shard AS s
                WHERE s.shard = $1 AND s.epoch = $2 AND s.token = $3::uuid FOR KEY SHARE),
            kept AS (INSERT INTO mainspring.source (name) SELECT $4 FROM ours ON CONFLICT DO NOTHING),
            part AS (INSERT INTO mainspring.source_part (name, shard) SELECT $4, o.shard FROM ours AS o
                ON CONFLICT DO NOTHING)
            SELECT 'done' FROM ours";
        self.ask("keep a source", sql, &[shard, epoch, token, Value::text(source)]).map(drop)
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<Commit, StoreError> {
        let mut unfit = HashSet::new();
        let mut entry = self.entry(lease, batch)?;
        let of = (Shard::WHOLE, lease.epoch);
        let answered = loop {
            match self.commit_columns(lease, batch, &unfit, entry.as_deref_mut()) {
                // Undone: what is not new is done one by one. Each time it is more, so this ends.
                Err(StoreError::Corrupt(_)) if let Some(places) = self.connection.take_unfit() => {
                    let before = unfit.len();
                    unfit.extend(places.split(' ').filter_map(|place| place.parse::<i64>().ok()));
                    if unfit.len() == before {
                        return Err(StoreError::Corrupt("a batch is refused without a reason".to_owned()));
                    }
                }
                Err(error) => {
                    // It may be there all the same, and what comes next may be a flush.
                    if entry.is_some() {
                        self.buffers.entry(of).or_default().doubt();
                    }
                    return Err(error);
                }
                // No job is unflushed. What is kept of this batch now no other server can flush before it is
                // there.
                Ok(CommitStatus::Flushed) => {
                    self.buffers.entry(of).or_default().flushed(None, &[]);
                    entry = self.entry(lease, batch)?;
                }
                // Its part in the write buffer may be there, and is not known here.
                Ok(CommitStatus::WasDone(answered)) => {
                    let buffer = self.buffers.entry(of).or_default();
                    buffer.written(batch, false);
                    if self.buffer_from <= batch.operations.len() {
                        buffer.doubt();
                    }
                    break answered;
                }
                Ok(CommitStatus::Done(answered)) => {
                    self.buffers.entry(of).or_default().written(batch, entry.is_some());
                    break answered;
                }
            }
        };
        let mut committed = Commit::new(mainspring_rows::answers(&text(&answered, 1)?)?);
        committed.now = Some(mainspring_rows::time(number(&answered, 2)?));
        if committed.answers.len() != batch.operations.len() {
            return Err(StoreError::Corrupt("a batch has not as many answers as operations".to_owned()));
        }
        Ok(committed)
    }
}
