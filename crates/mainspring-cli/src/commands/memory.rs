//! `mainspring serve --memory`: the same server on a store that ends with it.
//!
//! ```text
//! --data DIR        its socket and lock are in DIR, which must hold no store, and output in a new folder there
//! without --data    all of that in a folder of its own
//! ```
//!
//! The new folder goes when the server ends, and nothing else does: whatever DIR held before stays.
//!
//! Cost: see the loop in [`server`](mainspring_server::server); jobs, waiting one-shot jobs and kept runs are
//! in memory.
//!
//! Does not keep anything over its own end: what was due while it did not run is neither run nor recorded,
//! and what runs wrote is removed. After `kill -9` the new folder is left behind.

use std::fs;
use std::path::{Path, PathBuf};

use mainspring_job::{MemoryStore, Store};
use nix::unistd::mkdtemp;

use super::server_program::ServerProgram;
use mainspring_exec::clock::boot_time;
use mainspring_host::folder::Folder;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::note;
use mainspring_server::protocol::{ErrorKind, ErrorWire};
use mainspring_server::server::{Server, Stores};
use mainspring_server::takeover::{owner, take};

/// Runs until a signal asks to stop.
pub(super) fn run(program: &mut ServerProgram) -> Result<Exit, Error> {
    if program.args.data.data.is_some() {
        return run_in(program.args.data.directory(), program);
    }
    let data = own_data()?;
    let result = run_in(data.clone(), program);
    // It does no harm if it stays.
    let _ = fs::remove_dir_all(data.directory());
    result
}

fn run_in(data: DataDirectory, program: &mut ServerProgram) -> Result<Exit, Error> {
    data.make()?;
    let directory = take(&data, note).map_err(Error::Directory)?;
    if data.store().exists() {
        let text = format!("{} holds a store, which --memory would not use", data.directory().display());
        return Err(Error::Refused(ErrorWire::new(ErrorKind::Conflict, text)));
    }
    let output = new_folder(&data.directory().join("output-XXXXXX"))?;
    let data = data.with_output(output.clone());
    let mut store = MemoryStore::new();
    let lease = store.acquire(&owner()).map_err(Error::Store)?;
    let stores = Stores { store: Box::new(store), reader: None, asked_at: boot_time() };
    let serving = program.commands().and_then(|execution| program.serving(data, execution));
    let result = serving.and_then(|serving| Server::prepare(serving, stores, lease)).and_then(Server::run);
    // It does no harm if it stays.
    let _ = fs::remove_dir_all(&output);
    drop(directory);
    result.map(|()| Exit::Ok)
}

/// A new folder for this server alone, where no other user can put another in its place.
fn own_data() -> Result<DataDirectory, Error> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // That of another user is left over in the environment of `su`.
    let ours = runtime.filter(|path| Folder::at(path).is_ok_and(|folder| folder.judge().is_ok()));
    let parent = ours.unwrap_or_else(std::env::temp_dir);
    Ok(DataDirectory::find(Some(&new_folder(&parent.join("mainspring-XXXXXX"))?)))
}

fn new_folder(template: &Path) -> Result<PathBuf, Error> {
    mkdtemp(template).map_err(|error| Error::Data { path: template.to_owned(), source: error.into() })
}
