//! The store in a PostgreSQL database, for the server that plans.
//!
//! | call | one statement | says |
//! |---|---|---|
//! | `acquire` | `acquire` | the lease, or who has it and for how long |
//! | `commit` | `commit` | checks epoch and token, does the batch, keeps number and answers, renews the lease |
//! | `renew` | `renew` | the same without a batch |
//! | `release` | `release` | the lease is free at once |
//!
//! A commit whose answer was lost is `Unknown`, and is sent again under its number: either the row of the
//! planner has that number, and the answers are beside it, or nothing was done.
//!
//! Cost: a round trip for each call. A commit holds the row of the planner while it is done, which is what a
//! server that wants to take the lease waits for. A cycle of a one-shot job (submitted, started, ended)
//! writes five rows, and seven with a retry; an assignment to a worker is in one of them.
//!
//! Does not judge leases: the database does, by its own clock. How long a planner may rest on its lease it
//! counts itself, from before it asked.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{
    Assignment, Batch, Commit, Lease, MAX_BATCH_OPERATIONS, OnceId, Operation, Owner, Renewal, RunKey, Store,
    StoreError, Takeover, WorkerId,
};
use mainspring_rows::{Columns, integer, text, time_at};
use tokio_postgres::Row;

use super::batch_groups::{GivenNumbers, groups};
use super::connection::{CALL_TIMEOUT, Connection, WaitNotifier};
use super::fault::{LOST, without_row};
use super::inbox::Inbox;
use super::location::{CONNECT_TIMEOUT, Location, OF_OWNER, USER_TIMEOUT};
use super::operation_row;
use super::reader::PostgresReader;
use super::row::{CurrentRow, milliseconds};
use super::schema;
use super::value::{RowType, Rows, Value};

/// How long a lease lasts without a renewal, unless the caller says it: a restart of the database and some
/// lost packets fit into it, and a takeover is not later than that and two seconds.
pub const LEASE: Duration = Duration::from_secs(15);

const _: () = assert!(3 * CALL_TIMEOUT.as_secs() < LEASE.as_secs(), "three tries fit into it");
const _: () = assert!(CONNECT_TIMEOUT.as_secs() < LEASE.as_secs());
const _: () = assert!(USER_TIMEOUT.as_secs() < LEASE.as_secs(), "a session to a dead machine ends within it");

/// The most takeovers, 2^22: the epoch is in the upper bits of the number of a one-shot job, below the bit of
/// those that programs draw.
const MAX_EPOCH: u64 = OnceId::drawn(Timestamp::MIN, 0).epoch();

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

/// What proves to the database that a server plans, for its other sessions.
#[derive(Clone, Debug)]
pub struct Fence {
    epoch: i64,
    token: String,
}

impl Fence {
    /// The first two places of each statement of a planner.
    pub(super) fn values(&self) -> [Value; 2] {
        [Value::Int(self.epoch), Value::text(&self.token)]
    }
}

/// Keeps jobs and runs in a database.
#[derive(Debug)]
pub struct PostgresStore {
    pub(super) connection: Connection,
    location: Location,
    identity: Identity,
    lasts: Duration,
    /// Of the planner's inbox.
    requests: WaitNotifier,
    /// The other half of each fence.
    tokens: HashMap<u64, String>,
    /// The greatest number that a planner of this session gave to a one-shot job.
    last_number: u64,
    /// How the database numbers the type of operations.
    operation: RowType,
}

impl PostgresStore {
    /// Connects, makes the tables if need be, and refuses a database that may forget what it has
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
        let mut connection = Connection::opened(location, OF_OWNER)?;
        schema::prepare(&mut connection)?;
        let sql = "SELECT current_setting('synchronous_commit'), gen_random_uuid()::text,
            'mainspring.operation'::regtype::oid, 'mainspring.operation[]'::regtype::oid";
        let rows = connection.call("look at the settings", sql, &[])?;
        let answered = rows.first().ok_or_else(without_row)?;
        let answer = CurrentRow(answered);
        if text(&answer, 0)? == "off" {
            let text = "synchronous_commit is off, so the database may forget what it has acknowledged: \
                        ALTER ROLE .. SET synchronous_commit = on";
            return Err(StoreError::Io(text.into()));
        }
        let mut identity = identity;
        if identity.server.is_empty() {
            identity.server = text(&answer, 1)?.into_owned();
        }
        let operation = RowType::new(answered.get(2), answered.get(3));
        let (location, tokens) = (location.clone(), HashMap::new());
        let (requests, last_number) = (WaitNotifier::default(), 0);
        Ok(PostgresStore { connection, location, identity, lasts, requests, tokens, last_number, operation })
    }

    /// A second session, for another thread.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn reader(&self) -> Result<PostgresReader, StoreError> {
        PostgresReader::new(&self.location)
    }

    /// The inbox, on a session of its own: renewals of the lease look into it too.
    ///
    /// # Errors
    /// When the operating system gives no event queue.
    pub fn inbox(&mut self) -> Result<Inbox, StoreError> {
        let inbox = Inbox::of_owner(&self.location)?;
        self.requests = inbox.notifier();
        Ok(inbox)
    }

    /// Which server it was opened for: the same process that opens it again gives this.
    pub fn identity(&self) -> Identity {
        self.identity.clone()
    }

    /// What proves this lease, for [`Members`](super::Members) of the planner.
    ///
    /// # Errors
    /// `Fenced` if it was not acquired here, or is released.
    pub fn fence(&self, lease: Lease) -> Result<Fence, StoreError> {
        let token = self.tokens.get(&lease.epoch).ok_or(StoreError::Fenced)?.clone();
        Ok(Fence { epoch: mainspring_rows::number(lease.epoch), token })
    }

    /// Does one of our functions, whose first column is a status.
    fn ask(&mut self, what: &str, sql: &str, values: &[Value]) -> Result<Row, StoreError> {
        let rows = self.connection.call(what, sql, values)?;
        let answered = rows.into_iter().next().ok_or_else(without_row)?;
        if text(&CurrentRow(&answered), 0)? != "fenced" {
            return Ok(answered);
        }
        // It is counted if the database answers: nothing rests on it.
        let sql = "UPDATE mainspring.planner SET fenced = fenced + 1";
        let _ = self.connection.call("count", sql, &[]);
        Err(StoreError::Fenced)
    }

    /// The groups of a batch: kinds, where each ends, and all operations in their order; and whom to tell.
    fn batch_values(&self, lease: Lease, batch: &Batch) -> [Value; 4] {
        let assigned: HashMap<(&RunKey, u32), &Assignment> =
            batch.assignments.iter().map(|assigned| ((&assigned.key, assigned.attempt), assigned)).collect();
        let (mut kinds, mut lasts, mut rows, mut count) = (Vec::new(), Vec::new(), Vec::new(), 0);
        let given = GivenNumbers { epoch: lease.epoch, last: self.last_number };
        for group in groups(&batch.operations, given) {
            count += group.indices.len();
            kinds.push(group.kind.name().to_owned());
            lasts.push(i64::try_from(count).unwrap_or(i64::MAX));
            for index in group.indices {
                let operation = &batch.operations[index];
                let begun = begun(operation).and_then(|begun| assigned.get(&begun)).copied();
                operation_row::write(&mut rows, index, operation, begun);
            }
        }
        debug_assert!(count <= batch.operations.len(), "each is done once, some with the one before");
        let rows = Rows { rows, count, of: self.operation.clone() };
        let workers: BTreeSet<WorkerId> = batch.assignments.iter().map(|assigned| assigned.worker).collect();
        let workers = workers.iter().map(ToString::to_string).collect();
        [Value::Texts(kinds), Value::Ints(lasts), Value::Rows(rows), Value::Texts(workers)]
    }
}

/// The attempt that an operation begins, if it does.
fn begun(operation: &Operation) -> Option<(&RunKey, u32)> {
    match operation {
        Operation::Begin { key, attempt, .. } => Some((key, *attempt)),
        Operation::Fire { run, .. } | Operation::Plan(run) => Some((&run.key, run.attempt)),
        _ => None,
    }
}

impl Store for PostgresStore {
    fn acquire(&mut self, owner: &Owner) -> Result<Lease, StoreError> {
        let sql = "SELECT status, epoch, token, takeover, held_by, left_ms, now, silent_ms
            FROM mainspring.acquire($1, $2, $3, $4, $5, $6, $7)";
        let values = [
            Value::Int(i64::from(schema::VERSION)),
            Value::milliseconds(self.lasts),
            Value::text(if owner.name.is_empty() { "a server" } else { &owner.name }),
            Value::text(&self.identity.address),
            Value::text(&self.identity.server),
            Value::text(&self.identity.machine),
            Value::text(&owner.machine_start),
        ];
        let row = match self.ask("acquire", sql, &values) {
            // It may be ours now: asked again, the database knows this process by its identity.
            Err(StoreError::Unknown) => return Err(StoreError::Busy(LOST.to_owned())),
            other => other?,
        };
        let answered = CurrentRow(&row);
        match &*text(&answered, 0)? {
            "held" => {
                let by = text(&answered, 4)?.into_owned();
                return Err(StoreError::Held { by, left: milliseconds(integer(&answered, 5)?) });
            }
            // A program that is older than the schema's floor must not write.
            "too new" => return Err(schema::too_old(&mut self.connection)),
            _ => {}
        }
        let epoch = integer(&answered, 1)?;
        if MAX_EPOCH <= u64::try_from(epoch).unwrap_or(MAX_EPOCH) {
            return Err(StoreError::Full(format!("it was taken over {epoch} times, which is the limit")));
        }
        let takeover = match &*text(&answered, 3)? {
            // This process had it before, could not renew it, and has ended all that ran: nothing that ran is
            // suspected.
            "clean" | "interrupted" => Takeover::Clean,
            "rebooted" => Takeover::Rebooted,
            _ => Takeover::Unclean,
        };
        let mut lease = Lease::new(mainspring_rows::unsigned(epoch), takeover);
        lease.lasts = Some(self.lasts);
        lease.now = Some(time_at(&answered, 6)?);
        lease.silent = answered.maybe_integer(7)?.map(milliseconds);
        self.tokens.insert(lease.epoch, text(&answered, 2)?.into_owned());
        Ok(lease)
    }

    fn renew(&mut self, lease: Lease) -> Result<Renewal, StoreError> {
        let [epoch, token] = self.fence(lease)?.values();
        let sql = "SELECT status, now, has_requests FROM mainspring.renew($1, $2, $3)";
        let answered = self.ask("renew", sql, &[epoch, token, Value::milliseconds(self.lasts)])?;
        if answered.try_get(2).unwrap_or(true) {
            self.requests.notify();
        } else {
            self.requests.begin_again();
        }
        let mut renewed = Renewal::default();
        (renewed.now, renewed.lasts) = (Some(time_at(&CurrentRow(&answered), 1)?), Some(self.lasts));
        Ok(renewed)
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        let fence = self.fence(lease)?.values();
        self.ask("release", "SELECT status FROM mainspring.release($1, $2)", &fence)?;
        self.tokens.remove(&lease.epoch);
        Ok(())
    }

    fn keep_source(&mut self, lease: Lease, source: &str) -> Result<(), StoreError> {
        let [epoch, token] = self.fence(lease)?.values();
        let sql = "UPDATE mainspring.planner SET sources = CASE WHEN $3 = ANY (sources) THEN sources
            ELSE sources || $3 END WHERE epoch = $1 AND token = $2::uuid RETURNING 'done'";
        let answered = self.connection.call("keep a source", sql, &[epoch, token, Value::text(source)])?;
        if answered.is_empty() { Err(StoreError::Fenced) } else { Ok(()) }
    }

    fn keep_status(&mut self, lease: Lease, status: &str, lines: Option<&str>) -> Result<(), StoreError> {
        let [epoch, token] = self.fence(lease)?.values();
        let sql =
            "UPDATE mainspring.planner SET status = $3, lines = CASE WHEN $4 = '' THEN lines ELSE $4 END
            WHERE epoch = $1 AND token = $2::uuid RETURNING 'done'";
        let [status, lines] = [status, lines.unwrap_or_default()].map(Value::text);
        let answered = self.connection.call("keep a status", sql, &[epoch, token, status, lines])?;
        if answered.is_empty() { Err(StoreError::Fenced) } else { Ok(()) }
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<Commit, StoreError> {
        debug_assert!(!batch.operations.is_empty(), "a batch has something to write");
        debug_assert!(batch.operations.len() <= MAX_BATCH_OPERATIONS, "a batch keeps its limit");
        let [epoch, token] = self.fence(lease)?.values();
        let [kinds, lasts, operations, workers] = self.batch_values(lease, batch);
        let number_of_batch = Value::Int(mainspring_rows::number(batch.number));
        let sql = "SELECT status, answers, now FROM mainspring.commit($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let count = Value::Int(i64::try_from(batch.operations.len()).unwrap_or(i64::MAX));
        let values = [
            epoch,
            token,
            Value::milliseconds(self.lasts),
            number_of_batch,
            count,
            kinds,
            lasts,
            operations,
            workers,
        ];
        let answered = self.ask("commit", sql, &values)?;
        let answered = CurrentRow(&answered);
        let mut committed = Commit::new(mainspring_rows::answers(&text(&answered, 1)?)?);
        committed.now = Some(time_at(&answered, 2)?);
        if committed.answers.len() != batch.operations.len() {
            return Err(StoreError::Corrupt("a batch has not as many answers as operations".to_owned()));
        }
        let mut given = GivenNumbers { epoch: lease.epoch, last: self.last_number };
        for operation in &batch.operations {
            if let Operation::Submit(once) = operation {
                given.give(once.id);
            }
        }
        self.last_number = given.last;
        Ok(committed)
    }
}
