//! Taking over the data directory and the store in it, before the loop begins.
//!
//! ```text
//! lock of the directory ─▶ store opened ─▶ lease: the owner before is fenced out
//! ```
//!
//! Cost: some system calls and a transaction; a wait where another has the directory for a moment.
//!
//! Does not wait for room on the disk: it gives up what it can, and says that there is none.

use std::sync::Arc;
use std::time::Duration;

use mainspring_job::{Lease, Owner, Store, StoreError};

use crate::data_directory::DataDirectory;
use crate::machine_start;
use crate::server::disk_reserve::give_up;
use crate::waiting::wait_for;
use mainspring_host::directory::{Directory, DirectoryError};
use mainspring_store::SqliteStore;

/// How often a data directory that is in use is tried again before that is an error.
const MAX_TRIES: usize = 100;

/// How long to wait in between.
const TRY_INTERVAL: Duration = Duration::from_millis(10);

/// Names the machine: machine-id(5).
const MACHINE_ID: &str = "/etc/machine-id";

const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Who owns the store, as it remembers it.
pub fn owner() -> Owner {
    Owner::new(format!("process {}", std::process::id())).with_machine_start(machine_start::current())
}

/// The name of this machine; empty if it is not known.
pub fn host_name() -> String {
    std::fs::read_to_string(HOST_NAME).unwrap_or_default().trim().to_owned()
}

/// Who owns a store that several machines share, and the machine that it is on.
pub fn shared_owner() -> (Owner, String) {
    let host = host_name();
    let machine = std::fs::read_to_string(MACHINE_ID).map_or(host.clone(), |id| id.trim().to_owned());
    let alone = owner();
    (Owner::new(format!("{} on {host}", alone.name)).with_machine_start(alone.machine_start), machine)
}

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
            Ok((store, lease))
        });
        match opened {
            Err(StoreError::Full(_)) if give_up(data) => {}
            other => return other,
        }
    }
}

/// Takes the data directory, with a second's patience. A command that looks at it has it for a moment; and of
/// a server that was killed, a child that has not come to its `exec` yet holds the lock a little longer.
///
/// # Errors
///
/// When another has it, or it cannot be used.
pub fn take(data: &DataDirectory) -> Result<Directory, DirectoryError> {
    for _ in 0..MAX_TRIES {
        match Directory::open(data.directory()) {
            Err(DirectoryError::Taken { .. }) => {}
            other => return other,
        }
        if wait_for(&[], &[], Some(TRY_INTERVAL)).is_err() {
            break;
        }
    }
    Directory::open(data.directory())
}
