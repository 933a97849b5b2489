//! The store in one SQLite file: the embedded default.
//!
//! ```text
//!  commit:  BEGIN IMMEDIATE ─ epoch? number? ─ operations ─ answers ─ COMMIT (one flush of the log, for the whole batch)
//! ```
//!
//! WAL mode with `synchronous=FULL`: when `commit` returns, the log is on disk. Other programs may read the
//! file meanwhile, but on btrfs (see the file `connection`): `sqlite3 mainspring.db 'select job,
//! state, count(*) from run group by 1, 2'`. Statements are prepared once.
//!
//! Cost: opening does not depend on the size of the store. A commit is one flush. `load` reads a range of the
//! primary key. After an error of the disk the store refuses everything until the file is opened again,
//! because only then is it known what is on disk.
//!
//! Does not check all pages when it opens, because that takes minutes for large files:
//! [`SqliteStore::integrity`] does.
//!
//! Source: [Write-Ahead Logging](https://www.sqlite.org/wal.html), [PRAGMA
//! synchronous](https://www.sqlite.org/pragma.html#pragma_synchronous).

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainspring_job::{
    Answer, Batch, Commit, Lease, MAX_BATCH_OPERATIONS, Owner, Renewal, Store, StoreError, Takeover,
};
use mainspring_rows::questions::Database;
use mainspring_rows::{Columns, text};
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};

use super::apply::BatchWriter;
use super::connection::{connected, execute, first, open_owned};
use super::fault::{is_write, mapped};
use super::inode_watch::InodeWatch;
use super::read::{AskedConnection, miscounts};
use super::reader::{SecondConnection, SqliteReader};
use super::row_counts::RowCounts;
use super::schema;
use mainspring_host::directory::Directory;
use mainspring_host::disk_room::is_full;

/// So much is written to see whether there is room: as much as a large batch, which may have found too little
/// where there is some.
const PROBE_BYTES: usize = 4 << 20;

/// Keeps jobs and runs in one file.
#[derive(Debug)]
pub struct SqliteStore {
    /// The connection for people, if one was asked for: it must be closed before the files are repaired. It
    /// ends before the one that writes, because the last of them folds the log into the file.
    pub(super) second: SecondConnection,
    pub(super) connection: Connection,
    pub(super) path: PathBuf,
    /// Where the files were when they were opened.
    pub(super) inode_watch: InodeWatch,
    /// The folder, if the store is one's own; it is let go after the connection.
    pub(super) directory: Option<Arc<Directory>>,
    pub(super) notes: Vec<String>,
    /// The disk has failed: nothing is known until the file is opened again.
    is_broken: bool,
}

impl SqliteStore {
    /// Opens the store of a data folder, and makes or migrates it if need be.
    ///
    /// # Errors
    /// When it cannot be opened or written, is damaged, or is of a newer version.
    pub fn open(directory: &Arc<Directory>) -> Result<SqliteStore, StoreError> {
        directory.make_store().map_err(io_failed)?;
        let path = directory.store_path();
        match SqliteStore::open_file(&path) {
            Err(StoreError::Io(error)) if has_no_room(&path) => Err(StoreError::Full(error.to_string())),
            Err(error) => Err(error),
            Ok(mut store) => {
                store.inode_watch.relock(&directory.lock_path());
                store.directory = Some(Arc::clone(directory));
                Ok(store)
            }
        }
    }

    /// Opens the store of a data folder to read it, whichever program wrote it. Nothing is made, migrated or
    /// written, but for an index of the log beside it if there is a log.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, is of another version, or its tables are something else.
    pub fn look(directory: &Arc<Directory>) -> Result<SqliteStore, StoreError> {
        let path = directory.store_path();
        let log = fs::symlink_metadata(path.with_extension("db-wal"));
        // With nothing in the log, and no server, nothing beside the file is needed.
        let is_whole = directory.is_locked() && log.map_or(0, |found| found.len()) == 0;
        let uri = format!("file:{}?mode=ro{}", encoded(&path), if is_whole { "&immutable=1" } else { "" });
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = connected(Path::new(&uri), flags)?;
        schema::check(&connection)?;
        let mut store = SqliteStore::on(connection, &path)?;
        store.directory = Some(Arc::clone(directory));
        Ok(store)
    }

    pub(super) fn open_file(path: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::on(connect(path)?, path)
    }

    fn on(connection: Connection, path: &Path) -> Result<SqliteStore, StoreError> {
        let inode_watch = InodeWatch::take(path, None).map_err(io_failed)?;
        Ok(SqliteStore {
            connection,
            path: path.to_owned(),
            inode_watch,
            directory: None,
            notes: Vec::new(),
            second: SecondConnection::default(),
            is_broken: false,
        })
    }

    /// A second connection, for another thread: it reads while this one writes, and neither waits for the
    /// other.
    pub fn reader(&self) -> SqliteReader {
        SqliteReader::new(&self.path, self.second.clone())
    }

    /// Reads the whole file and says what is wrong with it, but for whether each index agrees with its table
    /// (`quick_check`); nothing if all is well. It counts the rows too, and compares. Takes about a second
    /// for each gigabyte.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn integrity(&mut self) -> Result<Vec<String>, StoreError> {
        let mut database = AskedConnection(&self.connection);
        let line = |row: &dyn Columns| Ok(text(row, 0)?.into_owned());
        let mut faults = database.rows("check", "PRAGMA quick_check", Vec::new(), line)?;
        faults.retain(|line| line != "ok");
        if faults.is_empty() {
            faults = miscounts(&mut database)?.unwrap_or_default();
        }
        Ok(faults)
    }

    fn usable(&self) -> Result<(), StoreError> {
        if self.is_broken {
            let text = "the disk has failed before; the store must be opened again";
            return Err(StoreError::Io(text.into()));
        }
        Ok(())
    }

    /// A write that failed while there is no room, as with a quota or a limit of the size of files, is a disk
    /// that is full, which SQLite does not see.
    fn weighed<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        match result {
            Err(error) if is_write(&error) && has_no_room(&self.path) => {
                Err(StoreError::Full(error.to_string()))
            }
            other => other,
        }
    }

    /// Remembers an error after which nothing is known.
    pub(super) fn judged<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        let result = self.weighed(result);
        self.is_broken |= matches!(result, Err(StoreError::Io(_) | StoreError::Corrupt(_)));
        result
    }

    /// Asks the connection, and remembers what became of it.
    pub(super) fn ask<T>(
        &mut self,
        question: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = question(&self.connection);
        self.judged(result)
    }

    fn commit_batch(&mut self, lease: Lease, batch: &Batch) -> Result<Vec<Answer>, StoreError> {
        debug_assert!(!batch.operations.is_empty(), "a batch has something to write");
        debug_assert!(batch.operations.len() <= MAX_BATCH_OPERATIONS, "a batch keeps its limit");
        within_transaction(&self.connection, |connection| {
            let (number, answers) = owned(connection, lease)?;
            match mainspring_rows::number(batch.number) - number {
                0 => return mainspring_rows::answers(&answers),
                1 => {}
                _ => return Err(StoreError::Fenced),
            }
            let mut writer = BatchWriter::new(connection);
            let answers = batch.operations.iter().map(|operation| writer.apply(operation));
            let answers = answers.collect::<Result<Vec<_>, _>>()?;
            let sql = "UPDATE head SET batch = ?1, answers = ?2, jobs = jobs + ?3, pending = pending + ?4,
                open = open + ?5, runs = runs + ?6, dead = dead + ?7";
            let RowCounts { jobs, pending, open, runs, dead } = writer.counts;
            let (number, text) =
                (mainspring_rows::number(batch.number), mainspring_rows::answers_text(&answers));
            execute(connection, sql, params![number, text, jobs, pending, open, runs, dead])?;
            Ok(answers)
        })
    }

    /// Gives the room of the log back to the disk, if none reads what is only there. Returns whether that was
    /// done.
    pub(super) fn fold_in(&self) -> bool {
        let folded = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        folded.is_ok_and(|is_busy: bool| !is_busy)
    }

    /// The owner is empty where one has left in good order.
    fn acquire_lease(&mut self, owner: &Owner) -> Result<Lease, StoreError> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(mapped)?;
        let sql = "SELECT machine_start FROM head WHERE owner <> ''";
        let before: Option<String> = first(&transaction, sql, [], |row| row.get(0))?;
        let takeover = before.map_or(Takeover::Clean, |start| owner.takeover_from(&start));
        let sql = "INSERT INTO head (one, epoch, owner, machine_start, is_paused, batch, answers)
            VALUES (1, 1, ?1, ?2, 0, 0, '') ON CONFLICT (one)
            DO UPDATE SET epoch = epoch + 1, owner = ?1, machine_start = ?2, batch = 0, answers = '' RETURNING epoch";
        let values = params![owner.name, owner.machine_start];
        let epoch: i64 = transaction.query_row(sql, values, |row| row.get(0)).map_err(mapped)?;
        transaction.commit().map_err(mapped)?;
        Ok(Lease::new(u64::try_from(epoch).unwrap_or(0), takeover))
    }
}

/// Opens a file to write it, and makes or migrates its tables.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = open_owned(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(mapped)?;
    connection.pragma_update(None, "synchronous", "full").map_err(mapped)?;
    // On macOS a file is on the disk after F_FULLFSYNC alone; elsewhere these change nothing.
    for flush in ["fullfsync", "checkpoint_fullfsync"] {
        connection.pragma_update(None, flush, true).map_err(mapped)?;
    }
    // Sorting needs no file of its own, for which there may be no room.
    connection.pragma_update(None, "temp_store", "memory").map_err(mapped)?;
    schema::prepare(&mut connection)?;
    Ok(connection)
}

/// A path in a URI: what is no letter, digit or one of `/-._~` is written as a per cent sign and two digits.
fn encoded(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let encode = |&byte: &u8| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    bytes.map(encode).collect()
}

pub(super) fn io_failed(error: io::Error) -> StoreError {
    StoreError::Io(error.into())
}

/// Whether nothing more can be written beside a file, or behind the end of it and of its log.
fn has_no_room(path: &Path) -> bool {
    let (probe, files) = (path.with_extension("probe"), [path.to_owned(), path.with_extension("db-wal")]);
    let lengths = files.iter().filter_map(|file| Some(fs::metadata(file).ok()?.len()));
    let end = SeekFrom::Start(lengths.max().unwrap_or(0));
    let write = |mut file: File| file.seek(end).and_then(|_| file.write_all(&vec![1; PROBE_BYTES]));
    let written = File::create(&probe).and_then(write);
    let _ = fs::remove_file(&probe);
    written.is_err_and(|error| is_full(&error) || error.kind() == io::ErrorKind::FileTooLarge)
}

/// Does all of it or nothing. The statements around it are prepared once, which those of rusqlite's
/// `Transaction` are not.
fn within_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let execute = |sql| execute(connection, sql, []);
    debug_assert!(connection.is_autocommit(), "no transaction is left open");
    execute("BEGIN IMMEDIATE")?;
    let result = work(connection).and_then(|done| execute("COMMIT").map(|_| done));
    if result.is_err() && !connection.is_autocommit() {
        // It fails only where the error has ended the transaction already.
        let _ = execute("ROLLBACK");
    }
    result
}

/// The last batch of the owner, if the lease is the owner's.
fn owned(connection: &Connection, lease: Lease) -> Result<(i64, String), StoreError> {
    let sql = "SELECT batch, answers FROM head WHERE epoch = ?1";
    let values = params![mainspring_rows::number(lease.epoch)];
    first(connection, sql, values, |row| Ok((row.get(0)?, row.get(1)?)))?.ok_or(StoreError::Fenced)
}

impl Store for SqliteStore {
    fn acquire(&mut self, owner: &Owner) -> Result<Lease, StoreError> {
        self.usable()?;
        let result = self.acquire_lease(owner);
        self.judged(result)
    }

    fn renew(&mut self, lease: Lease) -> Result<Renewal, StoreError> {
        self.usable()?;
        self.check_files()?;
        owned(&self.connection, lease).map(|_| Renewal::default())
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.usable()?;
        owned(&self.connection, lease)?;
        let sql = "UPDATE head SET epoch = epoch + 1, owner = ''";
        let result = self.connection.execute(sql, []).map(|_| ()).map_err(mapped);
        self.judged(result)
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<Commit, StoreError> {
        self.usable()?;
        self.check_files()?;
        let result = self.commit_batch(lease, batch);
        let result = match self.weighed(result) {
            // The room may be the log's, which another program kept from being folded in by reading, or which
            // is as long as a file may be.
            Err(StoreError::Full(_)) if self.fold_in() => self.commit_batch(lease, batch),
            other => other,
        };
        self.judged(result.map(Commit::new))
    }
}
