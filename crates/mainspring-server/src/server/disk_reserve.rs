//! The disk reserve, and what else the server gives up first when the disk runs out of room.
//!
//! | room | then |
//! |---|---|
//! | enough | a file of [`RESERVE_BYTES`] is held back: it is room for the store when there is no other |
//! | less than the floor | the output of runs is not kept |
//! | the store finds the disk full | the reserve is released; new work is refused, and scheduled jobs go on |
//! | full again | the oldest kept output is removed |
//! | and again | nothing is recorded, so nothing starts; the batch is tried again each second |
//!
//! When there is room again, all is as before, and the reserve is made again. A store as long as a file may
//! be (`ulimit -f`) has no use for what is given up, so that nothing is.
//!
//! Cost: one system call for each look.
//!
//! Does not free more than it needs.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::output::remove_oldest_below;
use crate::data_directory::DataDirectory;
use mainspring_host::disk_room::is_full;
use mainspring_host::private;
use mainspring_host::sys::disk_room;

/// How much is held back for the store: its log grows by so much before it is folded in.
pub const RESERVE_BYTES: u64 = 8 << 20;

/// With less room than this no output is kept.
pub const FLOOR_BYTES: u64 = 32 << 20;

const _: () = assert!(RESERVE_BYTES <= FLOOR_BYTES, "output ends before the reserve is needed");

/// On a small file system neither is more than such a part of it.
const SMALLEST_PART: u64 = 16;

/// What the reserve is called in the data directory.
const RESERVE_FILE: &str = "mainspring.reserve";

/// What is made for a moment to find the limit of the size of files, and how much longer than the store: more
/// than SQLite writes at once.
const PROBE_FILE: &str = "mainspring.limit";
const PROBE_BYTES: u64 = 1 << 16;

/// How the reserve is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reserve {
    /// It is there.
    Held,
    /// The store has it, or there was no room for one.
    Used,
    /// There is none: the file system cannot be measured or gives none, or nothing is kept.
    Without,
}

/// The reserve of a data directory.
#[derive(Debug)]
pub(super) struct DiskReserve {
    directory: PathBuf,
    reserve: Reserve,
    reserve_bytes: u64,
    /// How much room makes a difference.
    pub(super) floor_bytes: u64,
    is_short: bool,
}

impl DiskReserve {
    /// Measures, and holds back a reserve if there is room for one.
    pub(super) fn new(directory: &Path) -> DiskReserve {
        let mut room = DiskReserve::without(directory);
        if 0 < room.reserve_bytes {
            room.reserve = if room.path().exists() { Reserve::Held } else { Reserve::Used };
        }
        room.look();
        room
    }

    /// The room for a server that keeps nothing: no reserve helps it.
    pub(super) fn without(directory: &Path) -> DiskReserve {
        let part = disk_room(directory).map_or(0, |room| room.total_bytes / SMALLEST_PART);
        DiskReserve {
            directory: directory.to_owned(),
            reserve: Reserve::Without,
            reserve_bytes: RESERVE_BYTES.min(part),
            floor_bytes: FLOOR_BYTES.min(part),
            is_short: false,
        }
    }

    /// Measures again. Makes the reserve again where there is room for it and as much as is not missed.
    pub(super) fn look(&mut self) {
        let Some(free) = free_bytes(&self.directory) else { return };
        self.is_short = free < self.floor_bytes;
        if self.reserve == Reserve::Held && !self.path().exists() {
            self.reserve = Reserve::Used;
        }
        if self.reserve == Reserve::Used && self.reserve_bytes + self.floor_bytes <= free {
            self.reserve = match hold(&self.path(), self.reserve_bytes) {
                Ok(()) => Reserve::Held,
                Err(error) if is_full(&error) => Reserve::Used,
                Err(_) => Reserve::Without,
            };
        }
    }

    /// Releases the reserve. Returns whether there was one.
    pub(super) fn release(&mut self) -> bool {
        self.is_short = true;
        let was_held = self.reserve == Reserve::Held;
        if was_held {
            self.reserve = Reserve::Used;
        }
        was_held && fs::remove_file(self.path()).is_ok()
    }

    /// Whether the store is as long as a file may be: what is given up makes it no room.
    pub(super) fn is_at_limit(&self) -> bool {
        let files = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let longest = files.filter_map(|file| Some(file.metadata().ok()?.len())).max();
        let probe = self.directory.join(PROBE_FILE);
        // It is a hole, which takes no room of the disk.
        let length = longest.unwrap_or(0) + PROBE_BYTES;
        let made = File::create(&probe).and_then(|file| file.set_len(length));
        let _ = fs::remove_file(&probe);
        made.is_err_and(|error| error.kind() == io::ErrorKind::FileTooLarge)
    }

    /// Whether output is not kept now.
    pub(super) fn is_short(&self) -> bool {
        self.is_short || self.is_full()
    }

    /// Whether only what is known already is done.
    pub(super) fn is_full(&self) -> bool {
        self.reserve == Reserve::Used
    }

    /// What is wrong, for people.
    pub(super) fn trouble(&self) -> Option<&'static str> {
        match (self.is_full(), self.is_short) {
            (true, _) => Some("the disk is full: new work is refused, and what runs write is not kept"),
            (false, true) => Some("there is little room on the disk: what runs write is not kept"),
            (false, false) => None,
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.join(RESERVE_FILE)
    }
}

/// The room in the file system of a directory, as far as it can be told.
pub(super) fn free_bytes(directory: &Path) -> Option<u64> {
    Some(disk_room(directory)?.free_bytes)
}

/// Gives something up for a store that cannot be opened for lack of room: the reserve, or else the oldest
/// output. Returns whether there was anything.
pub fn give_up(data: &DataDirectory) -> bool {
    fs::remove_file(data.directory().join(RESERVE_FILE)).is_ok()
        || 0 < remove_oldest_below(&data.output(), RESERVE_BYTES, &HashSet::new())
}

fn hold(path: &Path, bytes: u64) -> io::Result<()> {
    debug_assert!(0 < bytes, "a server without a reserve makes none again");
    let file = private::file().write(true).create(true).truncate(true).open(path)?;
    let made = allocate(&file, bytes);
    if made.is_err() {
        let _ = fs::remove_file(path);
    }
    made
}

#[cfg(all(target_os = "linux", not(mainspring_posix)))]
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    let length = bytes.try_into().map_err(io::Error::other)?;
    nix::fcntl::posix_fallocate(file, 0, length).map_err(io::Error::from)
}

/// The same by writing, where there is no posix_fallocate.
#[cfg(any(not(target_os = "linux"), mainspring_posix))]
fn allocate(mut file: &File, bytes: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), bytes), &mut file)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn the_reserve_is_held_let_go_and_held_again() {
        let directory = scratch::path("room");
        fs::create_dir(&directory).unwrap();
        let mut room = DiskReserve::new(&directory);
        // Where these tests run there is room; elsewhere there is nothing to be seen.
        if room.trouble().is_none() {
            let length = || fs::metadata(directory.join(RESERVE_FILE)).map(|found| found.len()).ok();
            assert_eq!(length(), Some(room.reserve_bytes));
            assert!(room.release());
            assert_eq!((length(), room.is_full(), room.is_short()), (None, true, true));
            assert!(room.trouble().unwrap().contains("new work is refused"));
            assert!(!room.release(), "there is one reserve");
            room.look();
            assert_eq!((length(), room.trouble()), (Some(room.reserve_bytes), None));
            assert!(room.release());
            assert!(DiskReserve::without(&directory).trouble().is_none());
            assert_eq!(length(), None);
        }
        let _ = fs::remove_dir_all(&directory);
    }
}
