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

use crate::clock::Moment;
use crate::error::Error;
use crate::loaded::{Loaded, Reader};
use crate::message::with_causes;
use crate::source::STANDARD_INPUT;

/// How long files are left alone after a change, so that one that is being written is read when it is whole.
pub(super) const SETTLE: Duration = Duration::from_millis(200);

/// A served file.
#[derive(Debug)]
pub(super) struct Served {
    /// The whole path: the source of its jobs.
    pub(super) path: String,
    stamp: Option<Stamp>,
    /// When the set in force was read.
    pub(super) read: Option<Timestamp>,
    pub(super) job_count: usize,
    /// What is wrong with it now.
    pub(super) problems: String,
}

/// What standard input is called among the paths.
const PATH_OF_INPUT: &str = "standard input";

impl Served {
    fn new(path: String) -> Served {
        Served { path, stamp: None, read: None, job_count: 0, problems: String::new() }
    }

    /// Whether it is standard input, which can be read once.
    fn is_input(&self) -> bool {
        self.path == PATH_OF_INPUT
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

/// What came of looking at a file again.
pub(super) enum Reading {
    /// It was understood; problems with single jobs are possible at the start only.
    Loaded(Loaded),
    /// It was not, and the old set stays in force.
    Bad,
}

impl Files {
    /// Takes the files over, without reading them.
    pub(super) fn new(names: &[String], reader: Reader) -> Result<Files, Error> {
        let mut served = Vec::new();
        let mut seen = HashSet::new();
        for name in names {
            if name == STANDARD_INPUT {
                served.push(Served::new(PATH_OF_INPUT.to_owned()));
                continue;
            }
            let failed = |source| Error::Read { name: name.clone(), source };
            let found = fs::canonicalize(name).map_err(failed)?;
            // Not where links lead to: who made them is judged whenever the file is read.
            let path = std::path::absolute(name).map_err(failed)?;
            if seen.insert(found) {
                served.push(Served::new(path.to_string_lossy().into_owned()));
            }
        }
        let inotify = watch(served.iter().filter(|file| !file.is_input()).map(|file| Path::new(&file.path)));
        Ok(Files { served, reader, inotify: inotify.ok(), changed: None })
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

    /// Reads a file. At the start its good jobs are taken even if others have problems.
    pub(super) fn read(&mut self, index: usize, is_start: bool, now: Timestamp) -> Reading {
        let file = &mut self.served[index];
        file.stamp = stamp(&file.path);
        match self.reader.load(if file.is_input() { STANDARD_INPUT } else { &file.path }) {
            Ok(loaded) => {
                file.problems = loaded.problems_text();
                if !is_start && !loaded.is_good() {
                    return Reading::Bad;
                }
                (file.read, file.job_count) = (Some(now), loaded.jobs.len());
                Reading::Loaded(loaded)
            }
            Err(error) => {
                file.problems = format!("{}\n", with_causes(&error));
                Reading::Bad
            }
        }
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
