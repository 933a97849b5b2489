//! Taking over the data directory and the store in it, before a server begins.
//!
//! ```text
//! lock of the directory ─▶ store opened ─▶ lease: the owner before is fenced out
//! ```
//!
//! Cost: some system calls and a transaction; a wait where another server has the directory, or the disk has
//! no room.
//!
//! Does not serve: see [`serve`](super::serve).

use std::sync::Arc;
use std::time::Duration;

use mainspring_job::{Lease, Owner, Shard, Store, StoreError};

use mainspring_server::error::Error;
use mainspring_server::message::{PROGRAM, say};
use mainspring_server::place::Place;
use mainspring_server::server::room::give_up;
use mainspring_server::waiting::wait_for;
use mainspring_store::{Directory, DirectoryError, SqliteStore};

/// How often a data directory that is in use is tried again before that is an error.
const MAX_TRIES: usize = 100;

/// How long to wait in between.
const TRY_INTERVAL: Duration = Duration::from_millis(10);

/// How often a store is tried again that the disk has no room for.
const ROOM_INTERVAL: Duration = Duration::from_secs(1);

/// A number that the kernel draws when it starts: random(4).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Who owns the store, as it remembers it.
pub(super) fn owner() -> Owner {
    Owner::new(format!("process {}", std::process::id())).with_machine_start(machine_start())
}

/// What tells one start of the machine from the next. In a container it is that of the host. Empty where it
/// cannot be read.
fn machine_start() -> String {
    std::fs::read_to_string(BOOT_ID).map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Opens the store and takes it over. On a full disk something is given up for it; if that is not enough, it
/// is tried again until there is room: a scheduler that has ended is no help to anybody who then frees some.
pub(super) fn owned_store(directory: &Arc<Directory>, place: &Place) -> Result<(SqliteStore, Lease), Error> {
    let mut is_said = false;
    loop {
        let opened = SqliteStore::open(directory).and_then(|mut store| {
            let lease = store.acquire(Shard::WHOLE, &owner())?;
            Ok((store, lease))
        });
        match opened {
            Err(StoreError::Full(_)) if give_up(place) => {}
            Err(error @ StoreError::Full(_)) => {
                if !is_said {
                    let data = place.directory().display();
                    say(&format!("{PROGRAM}: {error}: waiting for room on the disk of {data}\n"));
                }
                is_said = true;
                wait_for(&[], &[], Some(ROOM_INTERVAL))
                    .map_err(|source| Error::Setup { what: "polling", source })?;
            }
            other => return other.map_err(Error::Store),
        }
    }
}

/// Takes the data directory, with a second's patience. A command that looks at it has it for a moment; and of
/// a server that was killed, a child that has not come to its `exec` yet holds the lock a little longer.
pub(super) fn take(place: &Place) -> Result<Directory, DirectoryError> {
    for _ in 0..MAX_TRIES {
        match Directory::open(place.directory()) {
            Err(DirectoryError::Taken { .. }) => {}
            other => return other,
        }
        if wait_for(&[], &[], Some(TRY_INTERVAL)).is_err() {
            break;
        }
    }
    Directory::open(place.directory())
}
