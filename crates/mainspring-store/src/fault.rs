//! SQLite's errors as those of the contract.
//!
//! | SQLite says | is |
//! |---|---|
//! | BUSY, LOCKED | `Busy`: another program reads with a lock; nothing was written |
//! | INTERRUPT | `TimedOut`: the question took longer than the reader gives one |
//! | FULL, TOOBIG, no room for the shared memory | `Full`: nothing was written |
//! | CORRUPT, NOTADB | `Corrupt` |
//! | anything else, IOERR and READONLY among it | `Io`: after a failed flush it is unknown what is on disk |

use mainspring_job::StoreError;
use rusqlite::{ErrorCode, ffi};

/// Why the store is busy.
const LOCKED: &str = "another program has locked it";

/// What an error means for the owner.
pub(super) fn mapped(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy(LOCKED.to_owned()),
        Some(ErrorCode::OperationInterrupted) => StoreError::TimedOut,
        Some(ErrorCode::DiskFull | ErrorCode::TooBig) => StoreError::Full(error.to_string()),
        _ if extended(&error) == Some(ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full(error.to_string()),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt(format!("{error}: keep a copy of the files, and ask `mainspring doctor`"))
        }
        _ => StoreError::Io(Box::new(error)),
    }
}

/// SQLite's code for the error, with the part that says which call failed.
fn extended(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|found| found.extended_code)
}

/// Whether an error is a write that failed, after which nothing of its transaction is in the file.
pub(super) fn is_write(error: &StoreError) -> bool {
    let StoreError::Io(source) = error else { return false };
    source.downcast_ref().and_then(extended) == Some(ffi::SQLITE_IOERR_WRITE)
}
