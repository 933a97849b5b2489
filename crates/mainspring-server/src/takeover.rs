//! Taking over the data directory before the loop begins, and who does so.
//!
//! Cost: some system calls; a wait where another has the directory for a moment.
//!
//! Does not open a store.

use std::time::Duration;

use mainspring_job::Owner;

use crate::data_directory::DataDirectory;
use crate::waiting::wait_for;
use mainspring_exec::clock::boot_id;
use mainspring_host::directory::{Directory, DirectoryError};
pub use mainspring_host::sys::host_name;

/// How often a data directory that is in use is tried again before that is an error.
const MAX_TRIES: usize = 100;

/// How long to wait in between.
const TRY_INTERVAL: Duration = Duration::from_millis(10);

/// Names the machine: machine-id(5).
const MACHINE_ID: &str = "/etc/machine-id";

/// Who owns the store, as it remembers it.
pub fn owner() -> Owner {
    Owner::new(format!("process {}", std::process::id())).with_machine_start(boot_id())
}

/// Who owns a store that several machines share, and the machine that it is on.
pub fn shared_owner() -> (Owner, String) {
    let host = host_name();
    let machine = std::fs::read_to_string(MACHINE_ID).map_or(host.clone(), |id| id.trim().to_owned());
    let alone = owner();
    (Owner::new(format!("{} on {host}", alone.name)).with_machine_start(alone.machine_start), machine)
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
