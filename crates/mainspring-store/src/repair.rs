//! Repairs the files of a store when they are not where they were.
//!
//! | found | done |
//! |---|---|
//! | the log is gone | the store is closed, which writes all of it into the file, and opened again |
//! | the lock is gone | it is taken again; if a second server has it, what was known is saved, and the store stops |
//! | the store is gone | it is written again from the file that is still open |
//! | another file is in its place | what was known is saved beside it, and the store stops |
//! | it has moved | the store stops |
//!
//! The store checks this before each commit and each renewal. So nothing is acknowledged that would be lost,
//! and nothing starts beside a second server.
//!
//! Cost: some system calls for each commit; to write a store again takes about a second for a gigabyte.
//!
//! Source: [VACUUM INTO](https://www.sqlite.org/lang_vacuum.html#vacuuminto).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainspring_job::StoreError;
use rusqlite::Connection;

use super::fault::mapped;
use super::file_state::FileState;
use super::sqlite::{SqliteStore, connect, io_failed};
use mainspring_host::directory::{Directory, DirectoryError};
use mainspring_host::private;

/// How many things may be wrong at one time: the folder, the lock and the store.
const MAX_STEPS: usize = 4;

impl SqliteStore {
    /// Looks whether the files are where they were, and repairs what can be repaired.
    pub(super) fn check_files(&mut self) -> Result<(), StoreError> {
        for _ in 0..MAX_STEPS {
            let found = self.inode_watch.look();
            if found == FileState::InPlace {
                return Ok(());
            }
            // A second connection would keep the log from being written into the file, and share its index
            // with the next.
            self.second.close();
            let result = match found {
                FileState::InPlace => Ok(()),
                FileState::LogGone => self.reopen(),
                FileState::LockGone => self.relock(),
                FileState::StoreGone => self.rewrite(),
                FileState::StoreReplaced => Err(self.replaced()),
                FileState::StoreMoved => {
                    let text = "it was moved away while it was open, and is whole where it is now";
                    Err(StoreError::Io(text.into()))
                }
            };
            self.judged(result)?;
        }
        let text = "its files are taken away again and again";
        self.judged(Err(StoreError::Io(text.into())))
    }

    /// Closing writes the log into the file, and opening makes a new log.
    fn reopen(&mut self) -> Result<(), StoreError> {
        self.close()?;
        self.connection = connect(&self.path)?;
        self.look_again("the store's log was removed while it was open: all of it is in the store now")
    }

    fn relock(&mut self) -> Result<(), StoreError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        match Directory::open(directory.path()) {
            Ok(directory) => {
                self.inode_watch.relock(&directory.lock_path());
                self.directory = Some(Arc::new(directory));
                self.notes.push("the lock of the data directory was removed: it was taken again".to_owned());
                Ok(())
            }
            Err(DirectoryError::Taken { .. }) => {
                let _ = self.save();
                Err(StoreError::Fenced)
            }
            Err(DirectoryError::Io { source, .. }) => Err(io_failed(source)),
        }
    }

    fn rewrite(&mut self) -> Result<(), StoreError> {
        let copy = self.path.with_extension("copy");
        self.write_to(&copy)?;
        // The end of the old file removes the names of its log, so it comes before those of the new one.
        self.close()?;
        fs::rename(&copy, &self.path).map_err(io_failed)?;
        private::sync_folder(self.path.parent().unwrap_or(Path::new("/"))).map_err(io_failed)?;
        self.connection = connect(&self.path)?;
        self.look_again("the store was removed while it was open: it was written again, and nothing is lost")
    }

    fn replaced(&mut self) -> StoreError {
        let text = match self.save() {
            Ok(path) => format!("another file was put in its place; what it held is in {}", path.display()),
            Err(error) => format!("another file was put in its place, and what it held is lost: {error}"),
        };
        StoreError::Io(text.into())
    }

    /// Keeps what is known beside the store, under a name that nothing has.
    fn save(&mut self) -> Result<PathBuf, StoreError> {
        let name = |number: u32| self.path.with_extension(format!("saved-{}-{number}", std::process::id()));
        let path = (1..).map(name).find(|path| !path.exists()).expect("numbers do not end so soon");
        self.write_to(&path)?;
        self.notes.push(format!("what the store held is saved in {}", path.display()));
        Ok(path)
    }

    /// Writes all that is known to a new file.
    fn write_to(&self, path: &Path) -> Result<(), StoreError> {
        let _ = fs::remove_file(path);
        // SQLite writes into an empty file, and so it has the mode of this one.
        private::file().write(true).create_new(true).open(path).map_err(io_failed)?;
        self.connection.flush_prepared_statement_cache();
        let name = path.to_string_lossy();
        self.connection.execute("VACUUM INTO ?1", [&name]).map_err(mapped)?;
        sync(path)
    }

    fn close(&mut self) -> Result<(), StoreError> {
        let nothing = Connection::open_in_memory().map_err(mapped)?;
        let before = std::mem::replace(&mut self.connection, nothing);
        before.close().map_err(|(_, error)| mapped(error))
    }

    fn look_again(&mut self, note: &str) -> Result<(), StoreError> {
        let lock = self.directory.as_ref().map(|directory| directory.lock_path());
        self.inode_watch.retake(&self.path, lock.as_deref()).map_err(io_failed)?;
        self.notes.push(note.to_owned());
        Ok(())
    }
}

fn sync(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(io_failed)
}
