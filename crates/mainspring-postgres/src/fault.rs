//! Maps errors of the database and of the network to errors of the contract.
//!
//! | SQLSTATE | is |
//! |---|---|
//! | 40001, 40P01, 55P03, 57014, 53300, 57P03, 25006 | `Busy`: nothing was written |
//! | 08, 57P01, 57P02, 57P04, 57P05, a connection that ended, no answer in time | `Unknown` if the statement was on its way, else `Busy` |
//! | 53100, 53200, 53400, 54000 | `Full`: nothing was written |
//! | 28, 3D000, 42501, 22P05 | `Io`: the role may not, there is no such database, or it has not all of UTF-8 |
//! | anything else | `Corrupt`, with the name of the statement, and without values |
//!
//! Cost: none.
//!
//! Does not try again: the owner does.

use mainspring_job::StoreError;
use tokio_postgres::Error;

/// How far a call had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallProgress {
    /// There was no connection.
    Unsent,
    /// The statement may have been done.
    Sent,
}

/// Why the store is busy, in words, where the connection was lost.
pub(super) const LOST: &str = "the database does not answer";

/// The name of the script that makes tables, for which a role needs more than for the rest.
pub(super) const MIGRATE: &str = "migrate";

/// What a role lacks that may not do something.
const NEEDS: &str = "the role of a server needs USAGE of the schema mainspring, and all rights on its tables, sequences and functions";

/// An answer that lacks its row, as that of a proxy may.
pub(super) fn without_row() -> StoreError {
    StoreError::Busy("the database answers without a row".to_owned())
}

/// What an error means for the owner. `what` is the name of the statement.
pub(super) fn mapped(what: &str, error: &Error, progress: CallProgress) -> StoreError {
    let Some(refused) = error.as_db_error() else { return lost(progress) };
    let code = refused.code().code();
    match code {
        "40001" | "40P01" | "55P03" | "57014" | "53300" | "57P03" | "25006" => {
            StoreError::Busy(refused.message().to_owned())
        }
        "57P01" | "57P02" | "57P04" | "57P05" => lost(progress),
        _ if code.starts_with("08") => lost(progress),
        "53100" | "53200" | "53400" | "54000" => StoreError::Full(refused.message().to_owned()),
        "42501" if what != MIGRATE => StoreError::Io(format!("{}: {NEEDS}", refused.message()).into()),
        "42501" | "3D000" | "22P05" => StoreError::Io(refused.message().to_owned().into()),
        _ if code.starts_with("28") => StoreError::Io(refused.message().to_owned().into()),
        // The message of an error in the text of a statement names columns and functions, and no values.
        _ if code.starts_with("42") => {
            StoreError::Corrupt(format!("{what}: SQLSTATE {code}: {}", refused.message()))
        }
        _ => StoreError::Corrupt(format!("{what}: SQLSTATE {code}")),
    }
}

/// The connection ended, or nothing was answered in time.
pub(super) fn lost(progress: CallProgress) -> StoreError {
    match progress {
        CallProgress::Unsent => StoreError::Busy(LOST.to_owned()),
        CallProgress::Sent => StoreError::Unknown,
    }
}

/// Whether the session is of no use after an error.
pub(super) fn ends_session(error: &Error) -> bool {
    match error.as_db_error() {
        None => true,
        Some(refused) => {
            let code = refused.code().code();
            code.starts_with("08") || code.starts_with("57P") || code == "25006"
        }
    }
}
