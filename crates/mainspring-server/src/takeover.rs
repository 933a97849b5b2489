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

/// How long another server may have the data directory before that is an error: longer than a child of a
/// server that was killed needs for its `exec`, until when it has the lock.
const SERVER_PATIENCE: Duration = Duration::from_secs(1);

/// How long commands may look at it: a large store is read whole by some of them.
const COMMANDS_PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait in between.
const TRY_INTERVAL: Duration = Duration::from_millis(10);

const _: () = assert!(SERVER_PATIENCE.as_millis() < COMMANDS_PATIENCE.as_millis());
const _: () = assert!(TRY_INTERVAL.as_millis() < SERVER_PATIENCE.as_millis(), "it is tried again");

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

/// Takes the data directory, with patience: see the two constants. A wait for a command that looks is noted.
///
/// # Errors
///
/// When another has it, or it cannot be used.
pub fn take(data: &DataDirectory, note: fn(&str)) -> Result<Directory, DirectoryError> {
    let mut waited = Duration::ZERO;
    loop {
        let opened = Directory::open(data.directory());
        let Err(DirectoryError::Taken { holder, .. }) = &opened else { return opened };
        let patience = if holder.is_some() { SERVER_PATIENCE } else { COMMANDS_PATIENCE };
        if waited == SERVER_PATIENCE && holder.is_none() {
            let data = data.directory().display();
            note(&format!("a command that looks uses the data directory {data}: waiting for its end"));
        }
        if patience <= waited || wait_for(&[], &[], Some(TRY_INTERVAL)).is_err() {
            return opened;
        }
        waited += TRY_INTERVAL;
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_server_waits_longer_for_commands_that_look_than_for_another_server() {
        let folder = std::env::temp_dir().join(format!("mainspring-takeover-{}", std::process::id()));
        let data = DataDirectory::find(Some(&folder));
        let served = take(&data, |_| ()).unwrap();
        assert!(matches!(take(&data, |_| ()), Err(DirectoryError::Taken { .. })));
        drop(served);
        let looking = Directory::look(&folder).unwrap();
        let waiting =
            thread::Builder::new().name("server".to_owned()).spawn(move || take(&data, |_| ())).unwrap();
        wait_for(&[], &[], Some(SERVER_PATIENCE + SERVER_PATIENCE / 2)).unwrap();
        assert!(!waiting.is_finished(), "it has not given up, and a command still looks");
        drop(looking);
        assert!(waiting.join().unwrap().is_ok());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
