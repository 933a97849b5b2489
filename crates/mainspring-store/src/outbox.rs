//! The outbox: a table in a file of the program, in which its transactions leave submissions.
//!
//! ```text
//!  the program: BEGIN .. INSERT INTO mainspring_outbox .. COMMIT ─▶ row ─▶ read ─▶ submitted ─▶ deleted, or its refusal kept
//! ```
//!
//! | column | holds |
//! |---|---|
//! | `number` | the order in which the rows were written |
//! | `folder` | whose row it is: the identity of a folder of jobs. Without one the first folder takes it |
//! | `submission` | the document |
//! | `token` | what no other row has, for a submission without a key |
//! | `refusal` | why it cannot be done. Once it is NULL again, the submission is tried again |
//!
//! The file is not ours: other connections write to it, lock it, replace it, and drop the table. Once it is
//! replaced, the open one is not touched: SQLite finds a journal by its path, and would take that of a
//! transaction on the new file for its own, and remove it.
//!
//! Cost: a look at the path and at the file's version, and a transaction for each batch that was submitted.
//!
//! Does not read a document, and knows no jobs: see `mainspring-embed`.
//!
//! Source: [PRAGMA data_version](https://www.sqlite.org/pragma.html#pragma_data_version);
//! [what corrupts a database](https://www.sqlite.org/howtocorrupt.html), 2.4.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mainspring_job::StoreError;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::connection::{connected, execute, first};
use super::fault::mapped;
use mainspring_host::sys::file_id;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS mainspring_outbox (number INTEGER PRIMARY KEY, folder TEXT, \
     submission TEXT NOT NULL, token TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))), refusal TEXT)";

/// The table, over a connection of its own.
#[derive(Debug)]
pub struct Outbox {
    path: PathBuf,
    connection: Connection,
    /// Device and number of the open file.
    file: (u64, u64),
    /// What the file's version was at the last look.
    version: Option<i64>,
}

/// A submission that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its place in the order of the rows. Another row may get it when this one is gone.
    pub number: i64,
    /// What no other row has.
    pub token: String,
    /// What is submitted, as its writer says it.
    pub submission: String,
}

/// What is at the path of an outbox that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no fourth case")]
pub enum OutboxFile {
    /// The file that is open.
    InPlace,
    /// No file at all.
    Gone,
    /// Another file.
    Replaced,
}

impl Outbox {
    /// Opens a file, and makes it and the table if they are not there.
    ///
    /// # Errors
    /// When it cannot be opened or written to, is no SQLite file, or has another table of that name.
    pub fn open(path: &Path) -> Result<Outbox, StoreError> {
        let made = fs::OpenOptions::new().append(true).create_new(true).open(path);
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(StoreError::Io(Box::new(error)))
            }
            _ => Outbox::reopen(path),
        }
    }

    /// The same, where a file must be there.
    ///
    /// # Errors
    /// See [`open`](Outbox::open).
    pub fn reopen(path: &Path) -> Result<Outbox, StoreError> {
        let io_failed = |error: io::Error| StoreError::Io(Box::new(error));
        // Links on the way to it are the program's own.
        let real = fs::canonicalize(path).map_err(io_failed)?;
        let file = id(&real).map_err(io_failed)?;
        let connection = connected(&real, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let outbox = Outbox { path: path.to_owned(), connection, file, version: None };
        outbox.check_place()?;
        outbox.make_table()?;
        outbox.connection.prepare_cached(WAITING).map_err(mapped)?;
        Ok(outbox)
    }

    /// Whether the file that is open is the one at its path.
    pub fn file(&self) -> OutboxFile {
        match id(&self.path) {
            Ok(found) if found == self.file => OutboxFile::InPlace,
            Ok(_) => OutboxFile::Replaced,
            Err(_) => OutboxFile::Gone,
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A text that is no other's: the identity of a folder that has none yet.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn new_identity(&self) -> Result<String, StoreError> {
        let ask = self.connection.query_row("SELECT lower(hex(randomblob(16)))", [], |row| row.get(0));
        ask.map_err(mapped)
    }

    /// Whether another connection has written to the file since the last call.
    ///
    /// # Errors
    /// When it cannot be read; `Busy` while another connection locks it, and once it is replaced.
    pub fn has_changed(&mut self) -> Result<bool, StoreError> {
        self.check_place()?;
        let ask = self.connection.query_row("PRAGMA data_version", [], |row| row.get(0));
        let version = Some(ask.map_err(mapped)?);
        Ok(std::mem::replace(&mut self.version, version) != version)
    }

    /// The first rows of a folder, in their order, at most so many. What is no folder's becomes this one's.
    ///
    /// # Errors
    /// When they cannot be read; `Busy` while another connection locks the file, and once it is replaced.
    pub fn waiting(&self, folder: &str, limit: usize) -> Result<Vec<OutboxRow>, StoreError> {
        self.check_place()?;
        // Another program may have dropped it.
        self.make_table()?;
        let free = "SELECT 1 FROM mainspring_outbox WHERE folder IS NULL";
        if first(&self.connection, free, [], |_| Ok(()))?.is_some() {
            let take = "UPDATE mainspring_outbox SET folder = ?1 WHERE folder IS NULL";
            execute(&self.connection, take, [folder])?;
        }
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut statement = self.connection.prepare_cached(WAITING).map_err(mapped)?;
        let rows = statement.query_map((folder, limit), read).map_err(mapped)?;
        rows.collect::<Result<_, _>>().map_err(mapped)
    }

    /// How many rows wait for other folders.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn others(&self, folder: &str) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM mainspring_outbox WHERE folder <> ?1 AND refusal IS NULL";
        let count: i64 = self.connection.query_row(sql, [folder], |row| row.get(0)).map_err(mapped)?;
        Ok(count.unsigned_abs())
    }

    /// Deletes the rows that were submitted, and keeps the reasons of the others: at once, or not at all.
    ///
    /// # Errors
    /// When the file cannot be written to; `Busy` while another connection locks it, and once it is replaced.
    pub fn settle(
        &mut self,
        submitted: &[OutboxRow],
        refused: &[(OutboxRow, String)],
    ) -> Result<(), StoreError> {
        if submitted.is_empty() && refused.is_empty() {
            return Ok(());
        }
        self.check_place()?;
        let transaction = self
            .connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
            .map_err(mapped)?;
        // By the token too: another row may have the number by now.
        for row in submitted {
            let delete = "DELETE FROM mainspring_outbox WHERE number = ?1 AND token = ?2";
            execute(&transaction, delete, (row.number, &row.token))?;
        }
        for (row, refusal) in refused {
            let keep = "UPDATE mainspring_outbox SET refusal = ?3 WHERE number = ?1 AND token = ?2";
            execute(&transaction, keep, (row.number, &row.token, refusal))?;
        }
        transaction.commit().map_err(mapped)
    }

    /// Whether no other file is in the place of the open one.
    fn check_place(&self) -> Result<(), StoreError> {
        match self.file() {
            OutboxFile::Replaced => Err(StoreError::Busy("another file took its place".to_owned())),
            OutboxFile::InPlace | OutboxFile::Gone => Ok(()),
        }
    }

    fn make_table(&self) -> Result<(), StoreError> {
        // `IF NOT EXISTS` asks for the lock of a writer, also where the table exists.
        let find = "SELECT 1 FROM sqlite_master WHERE name = 'mainspring_outbox'";
        match first(&self.connection, find, [], |_| Ok(()))? {
            Some(()) => Ok(()),
            None => execute(&self.connection, TABLE, []).map(drop),
        }
    }
}

const WAITING: &str = "SELECT number, token, submission FROM mainspring_outbox \
     WHERE folder = ?1 AND refusal IS NULL ORDER BY number LIMIT ?2";

/// A row as it is. Another program may have written what is no text: that is refused like other nonsense, and
/// holds no other row back.
fn read(row: &Row<'_>) -> rusqlite::Result<OutboxRow> {
    let text = |index| -> rusqlite::Result<String> {
        Ok(match row.get_ref(index)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        })
    };
    Ok(OutboxRow { number: row.get(0)?, token: text(1)?, submission: text(2)? })
}

fn id(path: &Path) -> io::Result<(u64, u64)> {
    Ok(file_id(&fs::metadata(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    const FOLDER: &str = "f0";

    fn opened(name: &str) -> (PathBuf, Outbox, Connection) {
        let folder = scratch::path(&format!("outbox-{name}"));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("app.db");
        let outbox = Outbox::open(&path).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        (path, outbox, connection)
    }

    fn write(connection: &Connection, folder: Option<&str>, submission: &str) {
        let insert = "INSERT INTO mainspring_outbox (folder, submission) VALUES (?1, ?2)";
        connection.execute(insert, (folder, submission)).unwrap();
    }

    #[test]
    fn a_row_is_there_after_the_commit_and_gone_when_it_is_settled() {
        let (_path, mut outbox, program) = opened("settled");
        assert!(outbox.has_changed().unwrap(), "nothing is known of what was before");
        program.execute_batch("BEGIN").unwrap();
        write(&program, Some(FOLDER), "one");
        assert!(!outbox.has_changed().unwrap());
        assert_eq!(outbox.waiting(FOLDER, 10).unwrap(), []);
        program.execute_batch("COMMIT").unwrap();
        assert!(outbox.has_changed().unwrap());
        write(&program, Some(FOLDER), "two");
        let rows = outbox.waiting(FOLDER, 10).unwrap();
        assert_eq!(rows.iter().map(|row| &*row.submission).collect::<Vec<_>>(), ["one", "two"]);
        assert_ne!(rows[0].token, rows[1].token);
        assert!(outbox.has_changed().unwrap());
        outbox.settle(&rows[..1], &[(rows[1].clone(), "why".to_owned())]).unwrap();
        assert!(!outbox.has_changed().unwrap(), "it wrote itself");
        assert_eq!(outbox.waiting(FOLDER, 10).unwrap(), []);
        // A person has it tried again.
        assert_eq!(
            program.execute("UPDATE mainspring_outbox SET refusal = NULL WHERE refusal = 'why'", []),
            Ok(1)
        );
        assert_eq!(outbox.waiting(FOLDER, 10).unwrap(), rows[1..]);
        // Another row has taken the number: it stays.
        program.execute("DELETE FROM mainspring_outbox", []).unwrap();
        write(&program, Some(FOLDER), "three");
        outbox.settle(&rows, &[]).unwrap();
        assert_eq!(outbox.waiting(FOLDER, 10).unwrap()[0].submission, "three");
    }

    #[test]
    fn a_row_is_one_folders() {
        let (path, outbox, program) = opened("folders");
        let other = Outbox::open(&path).unwrap();
        write(&program, Some("f1"), "theirs");
        write(&program, None, "free");
        assert_eq!(outbox.waiting(FOLDER, 10).unwrap()[0].submission, "free");
        assert_eq!(other.waiting("f1", 10).unwrap().len(), 1);
        assert_eq!(outbox.others(FOLDER).unwrap(), 1);
        assert_eq!(outbox.new_identity().unwrap().len(), 32);
    }

    #[test]
    fn other_programs_write_lock_drop_and_replace() {
        let (path, mut outbox, program) = opened("others");
        program.execute("INSERT INTO mainspring_outbox (submission) VALUES (x'ff41')", []).unwrap();
        assert_eq!(outbox.waiting(FOLDER, 10).unwrap()[0].submission, "\u{fffd}A");
        program.execute_batch("BEGIN EXCLUSIVE").unwrap();
        assert!(matches!(outbox.waiting(FOLDER, 10), Err(StoreError::Busy(_))));
        program.execute_batch("COMMIT; DROP TABLE mainspring_outbox").unwrap();
        assert_eq!(outbox.waiting(FOLDER, 10).unwrap(), []);
        write(&program, Some(FOLDER), "after");
        fs::remove_file(&path).unwrap();
        assert_eq!(outbox.file(), OutboxFile::Gone);
        assert!(Outbox::reopen(&path).is_err());
        assert_eq!(outbox.waiting(FOLDER, 10).unwrap()[0].submission, "after", "the open file has it still");
        // SQLite writes to no file that was removed, neither for us nor for the program.
        let rows = outbox.waiting(FOLDER, 10).unwrap();
        assert!(outbox.settle(&rows, &[]).is_err());
        let second = Outbox::open(&path).unwrap();
        assert_eq!((outbox.file(), second.file()), (OutboxFile::Replaced, OutboxFile::InPlace));
        assert!(matches!(outbox.has_changed(), Err(StoreError::Busy(_))));
        fs::write(&path, "a".repeat(4_096)).unwrap();
        assert!(matches!(Outbox::open(&path), Err(StoreError::Corrupt(_))));
    }

    #[test]
    fn a_transaction_on_the_file_that_took_the_place_keeps_its_journal() {
        let (path, mut outbox, program) = opened("journal");
        write(&program, Some(FOLDER), "one");
        let rows = outbox.waiting(FOLDER, 10).unwrap();
        drop(program);
        fs::remove_file(&path).unwrap();
        let program = Connection::open(&path).unwrap();
        // More than its cache holds, so that the journal is on disk before the end.
        let many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
             INSERT INTO user SELECT hex(randomblob(100)) FROM n";
        program.execute_batch("PRAGMA cache_size = 2; BEGIN; CREATE TABLE user (name TEXT)").unwrap();
        program.execute_batch(many).unwrap();
        assert!(path.with_extension("db-journal").exists());
        for looked in [outbox.has_changed().map(drop), outbox.waiting(FOLDER, 10).map(drop)] {
            assert!(matches!(looked, Err(StoreError::Busy(_))), "{looked:?}");
        }
        assert!(matches!(outbox.settle(&rows, &[]), Err(StoreError::Busy(_))));
        drop(outbox);
        program.execute_batch("COMMIT").unwrap();
        let check: String = program.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
    }

    #[test]
    fn a_table_of_that_name_that_is_another_is_an_error() {
        let (path, _outbox, program) = opened("another");
        program.execute_batch("DROP TABLE mainspring_outbox; CREATE TABLE mainspring_outbox (text)").unwrap();
        let refused = Outbox::open(&path).unwrap_err().to_string();
        assert!(refused.contains("number"), "{refused}");
    }
}
