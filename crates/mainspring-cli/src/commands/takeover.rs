//! Opening the store of a data directory, however long the disk has no room for it or another program has it
//! locked.
//!
//! Cost: see [`folder_store`](mainspring_server::folder_store); a wait where it cannot be opened yet.
//!
//! Does not serve: see [`serve`](super::serve).

use std::sync::Arc;
use std::time::Duration;

use mainspring_job::{Lease, StoreError};

use mainspring_host::directory::Directory;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::folder_store::open_store;
use mainspring_server::message::note;
use mainspring_server::waiting::wait_for;
use mainspring_store::SqliteStore;

/// How often a store is tried again that cannot be opened yet.
const TRY_INTERVAL: Duration = Duration::from_secs(1);

/// Opens the store and takes it over. On a full disk it is tried again until there is room, and a locked
/// store until it is free: a scheduler that has ended is no help to anybody who then frees it.
pub(super) fn owned_store(
    directory: &Arc<Directory>,
    data: &DataDirectory,
) -> Result<(SqliteStore, Lease), Error> {
    let mut is_said = false;
    loop {
        match open_store(directory, data) {
            Err(error @ (StoreError::Full(_) | StoreError::Busy(_))) => {
                if !is_said {
                    let data = data.directory().display();
                    let what = if matches!(error, StoreError::Full(_)) {
                        "room on the disk of"
                    } else {
                        "the store in"
                    };
                    note(&format!("{error}: waiting for {what} {data}"));
                }
                is_said = true;
                wait_for(&[], &[], Some(TRY_INTERVAL)).map_err(Error::setup("polling"))?;
            }
            other => return other.map_err(Error::Store),
        }
    }
}
