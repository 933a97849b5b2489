//! `mainspring serve --memory`: the same server on a store that ends with it.
//!
//! ```text
//! --data DIR        its socket and lock are in DIR, which must hold no store
//! without --data    in a folder of its own, which goes when the server ends
//! ```
//!
//! Cost: see the loop in [`server`](crate::server); jobs, waiting one-shot jobs and kept runs are in memory.
//!
//! Does not keep anything over its own end: what was due while it did not run is nobody's business, and what runs wrote is
//! removed. After `kill -9` the folder is left behind.
//!
//! Source: own.

use std::fs;
use std::path::Path;

use mainspring_job::{MemoryStore, Shard, Store};
use nix::unistd::mkdtemp;

use super::serve::{owner, take};
use crate::error::Error;
use crate::exit::Exit;
use crate::place::Place;
use crate::protocol::{ErrorKind, ErrorWire};
use crate::server::{Server, Serving};

/// Runs until a signal asks to stop. `given` is the data directory of the command line.
pub(super) fn run(given: Option<&Path>, serving: impl FnOnce(Place) -> Serving) -> Result<Exit, Error> {
    match given {
        Some(directory) => run_in(Place::find(Some(directory)), serving),
        None => {
            let place = own_place()?;
            let result = run_in(place.clone(), serving);
            // It is in nobody's way if it stays.
            let _ = fs::remove_dir_all(place.directory());
            result
        }
    }
}

fn run_in(place: Place, serving: impl FnOnce(Place) -> Serving) -> Result<Exit, Error> {
    place.make()?;
    let directory = take(&place).map_err(Error::Directory)?;
    if place.store().exists() {
        let text = format!("{} holds a store, which --memory would not use", place.directory().display());
        return Err(Error::Refused(ErrorWire::new(ErrorKind::Conflict, text)));
    }
    let output = place.output();
    let forget = || fs::remove_dir_all(&output);
    // Of one that was killed.
    let _ = forget();
    let mut store = MemoryStore::new();
    let lease = store.acquire(Shard::WHOLE, &owner()).map_err(Error::Store)?;
    let result = Server::prepare(serving(place), Box::new(store), lease).and_then(Server::run);
    let _ = forget();
    drop(directory);
    result.map(|()| Exit::Ok)
}

/// A new folder for this server alone.
fn own_place() -> Result<Place, Error> {
    let parent = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, Into::into);
    let template = parent.join("mainspring-XXXXXX");
    let failed = |error: nix::Error| Error::Data { path: template.clone(), source: error.into() };
    Ok(Place::find(Some(&mkdtemp(&template).map_err(failed)?)))
}
