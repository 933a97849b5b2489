//! The files that are served, and what becomes of them.
//!
//! ```text
//! inotify on each file's directory ──▶ something moved ── SETTLE ──▶ the file differs ──▶ read ─┬─ good ──▶ apply
//! SIGHUP ─────────────────────────────────────────────────────────────────────────────────────▶ └─ bad: the old set
//! ```
//!
//! Directories are watched and not the files, because editors and configuration tools replace a file by another.
//!
//! Cost: a wake-up per change in those directories; a file is read when its time, size or number has changed.
//!
//! Does not notice a change behind a symbolic link in another directory, nor on file systems without inotify: for these there
//! is SIGHUP.
//!
//! Source: inotify(7).

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use crate::claims::{Claimant, InForce, settle};
use crate::clock::Moment;
use crate::exit::Exit;
use crate::loaded::{Loaded, Reader};
use crate::message::{PROGRAM, say, with_causes};
use crate::origin::Origin;
use crate::source::STANDARD_INPUT;

/// How long files are left alone after a change, so that one that is being written is read when it is whole.
pub(super) const SETTLE: Duration = Duration::from_millis(200);

/// A served file.
#[derive(Debug)]
pub(super) struct Served {
    /// The whole path as it was typed, or what standard input is called.
    pub(super) path: String,
    /// What its jobs say of where they come from.
    pub(super) origin: Origin,
    stamp: Option<Stamp>,
    /// When the set in force was read.
    pub(super) read: Option<Timestamp>,
    pub(super) job_count: usize,
    /// What is wrong with it now.
    pub(super) problems: String,
    /// What that would end a server with.
    pub(super) exit: Exit,
}

/// What standard input is called among the paths.
const PATH_OF_INPUT: &str = "standard input";

impl Served {
    fn new(name: &str) -> Served {
        let origin = match name {
            STANDARD_INPUT => Origin::Served(PATH_OF_INPUT.to_owned()),
            name => Origin::served(name),
        };
        let path = origin.to_string();
        Served {
            path,
            origin,
            stamp: None,
            read: None,
            job_count: 0,
            problems: String::new(),
            exit: Exit::Ok,
        }
    }

    /// Whether it is standard input, which can be read once.
    fn is_input(&self) -> bool {
        self.path == PATH_OF_INPUT
    }

    /// Shows what is wrong with it, if anything is.
    pub(super) fn say_problems(&self) {
        match self.exit {
            Exit::Ok => {}
            Exit::Invalid => say(&self.problems),
            // It could not be read at all, and its problem has no place in it.
            _ => say(&format!("{PROGRAM}: {}", self.problems)),
        }
    }

    /// The path without symbolic links, if it leads to a file.
    pub(super) fn target(&self) -> Option<String> {
        Some(fs::canonicalize(&self.path).ok()?.to_string_lossy().into_owned())
    }
}

/// By what a change is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

/// All served files.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) served: Vec<Served>,
    reader: Reader,
    inotify: Option<Inotify>,
    changed: Option<Moment>,
}

impl Files {
    /// Takes the files over, without reading them.
    pub(super) fn new(names: &[String], reader: Reader) -> Files {
        let mut served: Vec<Served> = Vec::new();
        for name in names {
            let file = Served::new(name);
            if served.iter().all(|other| other.path != file.path) {
                served.push(file);
            }
        }
        let inotify = watch(served.iter().filter(|file| !file.is_input()).map(|file| Path::new(&file.path)));
        Files { served, reader, inotify: inotify.ok(), changed: None }
    }

    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Notes that something has changed, if it has.
    pub(super) fn look(&mut self, now: Moment) {
        let Some(inotify) = &self.inotify else { return };
        let mut has_changed = false;
        while inotify.read_events().is_ok_and(|events| !events.is_empty()) {
            has_changed = true;
        }
        if has_changed {
            self.changed.get_or_insert(now);
        }
    }

    /// The indices of files that are to be read again now; all of them if somebody asked.
    pub(super) fn due(&mut self, is_asked: bool, now: Moment) -> Vec<usize> {
        let is_settled = self.changed.is_some_and(|changed| SETTLE <= now.since(changed));
        if is_settled {
            self.changed = None;
        }
        let differs = |file: &Served| stamp(&file.path) != file.stamp;
        let is_due = |file: &Served| !file.is_input() && (is_asked || (is_settled && differs(file)));
        self.served.iter().enumerate().filter(|(_, file)| is_due(file)).map(|(index, _)| index).collect()
    }

    /// How long the loop may wait before it looks again.
    pub(super) fn wait(&self, now: Moment) -> Option<Duration> {
        self.changed.map(|changed| SETTLE.saturating_sub(now.since(changed)))
    }

    /// Reads files again, and returns those without a problem: what they hold may be in force, and has names that it may
    /// have. What is wrong with the others stands in their `problems`.
    pub(super) fn take(
        &mut self,
        indices: &[usize],
        in_force: &InForce<'_>,
        now: Timestamp,
    ) -> Vec<(usize, Loaded)> {
        let (mut read, mut claimants) = (Vec::new(), Vec::new());
        for &index in indices {
            let file = &mut self.served[index];
            file.stamp = stamp(&file.path);
            match self.reader.load(if file.is_input() { STANDARD_INPUT } else { &file.path }) {
                Ok(loaded) => {
                    read.push(index);
                    claimants.push(Claimant { origin: file.origin.source(), loaded });
                }
                Err(error) => {
                    (file.problems, file.exit) = (format!("{}\n", with_causes(&error)), error.exit());
                }
            }
        }
        settle(&mut claimants, in_force);
        let mut good = Vec::new();
        for (index, Claimant { loaded, .. }) in read.into_iter().zip(claimants) {
            let file = &mut self.served[index];
            (file.problems, file.exit) = (loaded.problems_text(), Exit::Invalid);
            if loaded.is_good() {
                (file.read, file.job_count, file.exit) = (Some(now), loaded.jobs.len(), Exit::Ok);
                good.push((index, loaded));
            }
        }
        good
    }

    /// The files with problems, which another file may be the cause of.
    pub(super) fn troubled(&self) -> impl Iterator<Item = usize> {
        let is_troubled = |file: &Served| !file.problems.is_empty() && !file.is_input();
        self.served.iter().enumerate().filter(move |(_, file)| is_troubled(file)).map(|(index, _)| index)
    }

    /// The origin of a file that is applied: that of the served one if it is one.
    pub(super) fn origin_of(&self, path: &str) -> Origin {
        let is_this =
            |file: &&Served| file.path == path || file.target().is_some_and(|target| target == path);
        let served = self.served.iter().find(is_this);
        served.map_or_else(|| Origin::Applied(path.to_owned()), |file| file.origin.clone())
    }

    /// Whether a file that is given has this origin.
    pub(super) fn are_given(&self, origin: &Origin) -> bool {
        self.served.iter().any(|file| file.origin == *origin)
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }
}

fn watch<'p>(paths: impl Iterator<Item = &'p Path>) -> io::Result<Inotify> {
    let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
    let directories: HashSet<PathBuf> = paths.filter_map(|path| Some(path.parent()?.to_owned())).collect();
    let flags = AddWatchFlags::IN_CLOSE_WRITE
        | AddWatchFlags::IN_MOVED_TO
        | AddWatchFlags::IN_CREATE
        | AddWatchFlags::IN_DELETE
        | AddWatchFlags::IN_ATTRIB;
    for directory in directories {
        inotify.add_watch(&directory, flags)?;
    }
    Ok(inotify)
}

fn stamp(path: &str) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    Some(Stamp { inode: found.ino(), size: found.size(), modified: (found.mtime(), found.mtime_nsec()) })
}
