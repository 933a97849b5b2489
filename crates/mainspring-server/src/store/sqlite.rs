//! The store in one SQLite file: the embedded default.
//!
//! ```text
//!  commit:  BEGIN IMMEDIATE ─ epoch? number? ─ operations ─ answers ─ COMMIT (one flush of the log, for the whole batch)
//! ```
//!
//! WAL mode with `synchronous=FULL`: when `commit` returns, the log is on disk. Other programs may read the file meanwhile:
//! `sqlite3 mainspring.db 'select job, state, count(*) from run group by 1, 2'`. Statements are prepared once.
//!
//! Cost: opening does not depend on how much is stored; a commit is one flush; `load` reads a range of the primary key. After
//! an error of the disk it refuses everything: what is on disk is known again when the file is opened again.
//!
//! Does not check all pages when it opens, because that takes minutes for large files: [`SqliteStore::integrity`] does.
//!
//! Source: [Write-Ahead Logging](https://www.sqlite.org/wal.html), [PRAGMA
//! synchronous](https://www.sqlite.org/pragma.html#pragma_synchronous).

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{
    Answer, Attempt, Batch, Counts, Hint, JobName, JobRecord, Lease, Once, OnceId, Owner, Query, Run, RunKey,
    Shard, Store, StoreError, Takeover,
};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::directory::Directory;
use super::fault::mapped;
use super::{apply, read, row, schema};

/// How long a commit waits for a reader that locks the file, before it is `Busy`.
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// How many prepared statements are kept: more than there are.
const STATEMENTS: usize = 64;

/// Keeps jobs and runs in one file, for one shard.
#[derive(Debug)]
pub struct SqliteStore {
    pub(super) connection: Connection,
    /// The disk has failed: nothing is known until the file is opened again.
    is_broken: bool,
}

impl SqliteStore {
    /// Opens the store of a data folder, and makes or migrates it if need be.
    ///
    /// # Errors
    /// When it cannot be opened or written, is damaged, or is of a newer version.
    pub fn open(directory: &Directory) -> Result<SqliteStore, StoreError> {
        SqliteStore::open_file(&directory.store_path())
    }

    pub(super) fn open_file(path: &Path) -> Result<SqliteStore, StoreError> {
        let mut connection = Connection::open(path).map_err(mapped)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(mapped)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "journal_mode", "wal").map_err(mapped)?;
        connection.pragma_update(None, "synchronous", "full").map_err(mapped)?;
        // A damaged page is found where it is read, and not where it is used.
        connection.pragma_update(None, "cell_size_check", true).map_err(mapped)?;
        schema::prepare(&mut connection)?;
        Ok(SqliteStore { connection, is_broken: false })
    }

    /// Reads the whole file and says what is wrong with it, but for whether each index agrees with its table (`quick_check`);
    /// nothing if all is well. Takes about a second for each gigabyte.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn integrity(&mut self) -> Result<Vec<String>, StoreError> {
        let mut statement = self.connection.prepare("PRAGMA quick_check").map_err(mapped)?;
        let found = statement.query_map([], |row| row.get::<_, String>(0)).map_err(mapped)?;
        let found: Vec<String> = found.collect::<Result<_, _>>().map_err(mapped)?;
        Ok(found.into_iter().filter(|line| line != "ok").collect())
    }

    fn usable(&self) -> Result<(), StoreError> {
        if self.is_broken {
            let text = "the disk has failed before; the store must be opened again";
            return Err(StoreError::Io(text.into()));
        }
        Ok(())
    }

    /// Remembers an error after which nothing is known.
    fn judged<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        self.is_broken |= matches!(result, Err(StoreError::Io(_) | StoreError::Corrupt(_)));
        result
    }

    fn commit_batch(&mut self, lease: Lease, batch: &Batch) -> Result<Vec<Answer>, StoreError> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(mapped)?;
        let (number, answers) = owned(&transaction, lease)?;
        if number == row::number(batch.number) {
            return row::answers(&answers);
        }
        let mut answers = Vec::with_capacity(batch.operations.len());
        for operation in &batch.operations {
            answers.push(apply::apply(&transaction, operation)?);
        }
        let sql = "UPDATE shard SET batch = ?2, answers = ?3 WHERE shard = ?1";
        let values = params![lease.shard.0, row::number(batch.number), row::answers_text(&answers)];
        transaction.prepare_cached(sql).map_err(mapped)?.execute(values).map_err(mapped)?;
        transaction.commit().map_err(mapped)?;
        Ok(answers)
    }

    /// The owner is empty where one has left in good order.
    fn acquire_shard(&mut self, shard: Shard, owner: &Owner) -> Result<Lease, StoreError> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(mapped)?;
        let before = transaction.query_row(
            "SELECT owner, machine_start FROM shard WHERE shard = ?1",
            params![shard.0],
            |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)),
        );
        let before = before.optional().map_err(mapped)?.filter(|(name, _)| !name.is_empty());
        let takeover = before.map_or(Takeover::Clean, |(_, start)| owner.takeover_from(&start));
        let sql = "INSERT INTO shard (shard, epoch, owner, machine_start, is_paused, batch, answers)
            VALUES (?1, 1, ?2, ?3, 0, 0, '') ON CONFLICT (shard)
            DO UPDATE SET epoch = epoch + 1, owner = ?2, machine_start = ?3, batch = 0, answers = '' RETURNING epoch";
        let values = params![shard.0, owner.name, owner.machine_start];
        let epoch: i64 = transaction.query_row(sql, values, |row| row.get(0)).map_err(mapped)?;
        transaction.commit().map_err(mapped)?;
        Ok(Lease { shard, epoch: u64::try_from(epoch).unwrap_or(0), takeover })
    }
}

/// The last batch of the owner, if the lease is the owner's.
fn owned(connection: &Connection, lease: Lease) -> Result<(i64, String), StoreError> {
    let sql = "SELECT batch, answers FROM shard WHERE shard = ?1 AND epoch = ?2";
    let values = params![lease.shard.0, row::number(lease.epoch)];
    let mut statement = connection.prepare_cached(sql).map_err(mapped)?;
    let found = statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)));
    found.optional().map_err(mapped)?.ok_or(StoreError::Fenced)
}

impl Store for SqliteStore {
    fn acquire(&mut self, shard: Shard, owner: &Owner) -> Result<Lease, StoreError> {
        self.usable()?;
        let result = self.acquire_shard(shard, owner);
        self.judged(result)
    }

    fn renew(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.usable()?;
        owned(&self.connection, lease).map(|_| ())
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.usable()?;
        owned(&self.connection, lease)?;
        let sql = "UPDATE shard SET epoch = epoch + 1, owner = '' WHERE shard = ?1";
        let result = self.connection.execute(sql, params![lease.shard.0]).map(|_| ()).map_err(mapped);
        self.judged(result)
    }

    /// None: the folder has one owner, and who waits for it waits for its lock; and what makes a commit `Busy` is another program
    /// that reads the file, of whose end nobody tells.
    fn hints(&mut self) -> Vec<Hint> {
        Vec::new()
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<Vec<Answer>, StoreError> {
        self.usable()?;
        let result = self.commit_batch(lease, batch);
        self.judged(result)
    }

    fn load(
        &mut self,
        _shard: Shard,
        after: OnceId,
        up_to: Timestamp,
        limit: usize,
    ) -> Result<Vec<Once>, StoreError> {
        let result = read::load(&self.connection, after, up_to, limit);
        self.judged(result)
    }

    fn jobs(&mut self, shard: Shard) -> Result<(Vec<JobRecord>, bool), StoreError> {
        let result = read::jobs(&self.connection, shard);
        self.judged(result)
    }

    fn open_runs(
        &mut self,
        _shard: Shard,
        after: Option<&RunKey>,
        limit: usize,
    ) -> Result<Vec<Run>, StoreError> {
        let result = read::open_runs(&self.connection, after, limit);
        self.judged(result)
    }

    fn find(&mut self, _shard: Shard, query: &Query) -> Result<Vec<Run>, StoreError> {
        let result = read::find(&self.connection, query);
        self.judged(result)
    }

    fn run(&mut self, _shard: Shard, key: &RunKey) -> Result<Option<Run>, StoreError> {
        let result = read::run(&self.connection, key);
        self.judged(result)
    }

    fn attempts(&mut self, _shard: Shard, key: &RunKey) -> Result<Vec<Attempt>, StoreError> {
        let result = read::attempts(&self.connection, key);
        self.judged(result)
    }

    fn pending_named(&mut self, _shard: Shard, name: &JobName) -> Result<Option<Once>, StoreError> {
        let result = read::pending_named(&self.connection, name);
        self.judged(result)
    }

    fn counts(&mut self, _shard: Shard) -> Result<Counts, StoreError> {
        let result = read::counts(&self.connection);
        self.judged(result)
    }
}
