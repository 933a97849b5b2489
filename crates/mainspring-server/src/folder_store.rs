//! Taking over the store of a data directory: the feature `sqlite`.
//!
//! ```text
//! lock of the directory ─▶ store opened ─▶ lease: the owner before is fenced out
//! ```
//!
//! Cost: a transaction.
//!
//! Does not wait for room on the disk: it gives up what it can, and says that there is none.

use std::sync::Arc;

use mainspring_job::{Lease, Store, StoreError};

use crate::data_directory::DataDirectory;
use crate::server::disk_reserve::give_up;
use crate::takeover::owner;
use mainspring_host::directory::Directory;
use mainspring_store::SqliteStore;

/// Opens the store and takes it over. On a full disk something is given up for it.
///
/// # Errors
///
/// When it cannot be opened, or there is no room for it.
pub fn open_store(
    directory: &Arc<Directory>,
    data: &DataDirectory,
) -> Result<(SqliteStore, Lease), StoreError> {
    loop {
        let opened = SqliteStore::open(directory).and_then(|mut store| {
            let lease = store.acquire(&owner())?;
            assert!(0 < lease.epoch, "an owner has an epoch of its own");
            Ok((store, lease))
        });
        match opened {
            Err(StoreError::Full(_)) if give_up(data) => {}
            other => return other,
        }
    }
}
