//! The files that are served: they are watched, read again after a change, and applied.
//!
//! ```text
//! inotify on the directories ──▶ something moved ── SETTLE ──▶ the file differs ──▶ read ─┬─ good ──▶ apply
//! a look now and then ───────────────▲                                                    └─ bad: the old set
//! SIGHUP ────────────────────────────────────────────────────────────────────────▶ read
//! ```
//!
//! The server watches directories and not files, because editors and configuration tools replace a file by
//! another. It also watches every directory on the way to a file that has a symbolic link in it: `cur ->
//! releases/7` and Kubernetes' `..data` change there. A look now and then finds changes that inotify does not
//! report, as on network file systems.
//!
//! Cost: a wake-up per change in those directories; a file is read when its time, size or number has changed.
//! A look is a system call for each file.
//!
//! Source: inotify(7).

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mainspring_job::{Job, JobName};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

use super::share::Share;
use crate::error::Error;
use crate::exit::Exit;
use crate::message::{PROGRAM, say, with_causes};
use mainspring_exec::clock::Moment;
use mainspring_file::claims::{Claimant, InForce, settle};
use mainspring_file::crontab::names::{self, Alike, Known};
use mainspring_file::jobfile::PlacedJob;
use mainspring_file::loaded::{Loaded, Reader};
use mainspring_file::origin::Origin;
use mainspring_file::source::STANDARD_INPUT;

/// How long files are left alone after a change, so that one that is being written is read when it is whole.
pub(super) const SETTLE: Duration = Duration::from_millis(200);

/// How many symbolic links a path may lead through; the kernel follows as many.
const MAX_LINKS: usize = 40;

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
    /// The line of each of its jobs, of the set in force.
    lines: HashMap<JobName, usize>,
    /// Those of its jobs that belong to other shards, of the set in force.
    pub(super) elsewhere: Vec<JobName>,
    /// What is wrong with it now.
    pub(super) problems: String,
    /// What that would end a server with.
    pub(super) exit: Exit,
    /// It says other things than the store, whose definitions are in force.
    pub(super) is_unapplied: bool,
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
            lines: HashMap::new(),
            elsewhere: Vec::new(),
            problems: String::new(),
            exit: Exit::Ok,
            is_unapplied: false,
        }
    }

    /// Whether it is standard input, which can be read once.
    fn is_input(&self) -> bool {
        self.path == PATH_OF_INPUT
    }

    /// Shows what is wrong with it, if anything is. Of several loops of a server that have the same file one
    /// shows it. Returns whether it did.
    pub(super) fn say_problems(&self, share: Share) -> bool {
        if share.is_part() && !is_news(&self.path, &self.problems) {
            return false;
        }
        match self.exit {
            _ if self.problems.is_empty() => return false,
            Exit::Ok | Exit::Invalid => say(&self.problems),
            // It could not be read at all, and its problem has no place in it.
            _ => say(&format!("{PROGRAM}: {}", self.problems)),
        }
        true
    }

    /// What people are told of a file that says other things than the store.
    pub(super) fn unapplied_text(&self) -> String {
        let path = &self.path;
        format!(
            "{path} differs from what the database holds, which stays in force: mainspring apply --prune {path} puts \
             the file into force"
        )
    }

    /// What is wrong with it, for people who ask.
    pub(super) fn shown_problems(&self) -> String {
        let is_good = self.problems.is_empty();
        if self.is_unapplied && is_good { self.unapplied_text() } else { self.problems.clone() }
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
    /// Several servers share the store, and each may have been given others.
    pub(super) is_shared: bool,
    /// Which part of their jobs is taken.
    share: Share,
}

impl Files {
    /// Takes the files over, without reading them.
    pub(super) fn new(names: &[String], reader: Reader, share: Share) -> Files {
        let mut served: Vec<Served> = Vec::new();
        for name in names {
            let file = Served::new(name);
            if served.iter().all(|other| other.path != file.path) {
                served.push(file);
            }
        }
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        let files = Files { served, reader, inotify, changed: None, is_shared: false, share };
        files.watch();
        files
    }

    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    pub(super) fn share(&self) -> Share {
        self.share
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

    /// Looks whether a file has changed, whatever inotify tells.
    pub(super) fn compare(&mut self, now: Moment) {
        if self.served.iter().any(|file| !file.is_input() && stamp(&file.path) != file.stamp) {
            self.changed.get_or_insert(now);
        }
    }

    /// The indices of files that are to be read again now; all of them after a SIGHUP.
    pub(super) fn due(&mut self, is_asked: bool, now: Moment) -> Vec<usize> {
        let is_settled = self.changed.is_some_and(|changed| SETTLE <= now.since(changed));
        if is_settled {
            self.changed = None;
            // Links may lead elsewhere now.
            self.watch();
        }
        let differs = |file: &Served| stamp(&file.path) != file.stamp;
        let is_due = |file: &Served| !file.is_input() && (is_asked || (is_settled && differs(file)));
        self.served.iter().enumerate().filter(|(_, file)| is_due(file)).map(|(index, _)| index).collect()
    }

    /// When changed files have been left alone for long enough.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.changed.and_then(|changed| changed.monotonic.checked_add(SETTLE))
    }

    /// Reads files again, and returns the good ones: what they hold may be in force, and has names that it
    /// may have. What is wrong with a file stands in its `problems`.
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
                    let error = Error::from(error);
                    (file.problems, file.exit) = (format!("{}\n", with_causes(&error)), error.exit());
                }
            }
        }
        self.share.prepare(&mut claimants);
        settle(&mut claimants, in_force);
        let mut good = Vec::new();
        for (index, Claimant { mut loaded, .. }) in read.into_iter().zip(claimants) {
            let file = &mut self.served[index];
            (file.problems, file.exit) = (loaded.problems_text(), Exit::Invalid);
            if loaded.is_good() {
                if self.share.is_part() && file.problems.is_empty() {
                    is_news(&file.path, "");
                }
                file.elsewhere = self.share.part(&mut loaded);
                (file.read, file.job_count, file.exit) = (Some(now), loaded.jobs.len(), Exit::Ok);
                file.lines = loaded.jobs.iter().map(|job| (job.job.name.clone(), job.line_number)).collect();
                file.is_unapplied = false;
                good.push((index, loaded));
            }
        }
        good
    }

    /// Reads the files of a source, and keeps whether they say other things than these jobs.
    pub(super) fn compare_with(&mut self, source: &str, jobs: &BTreeMap<&JobName, &Job>) {
        let Files { served, reader, share, .. } = self;
        let kept = jobs.values().map(|job| (job.name.as_str(), job.text.as_str())).collect();
        for file in served.iter_mut().filter(|file| !file.is_input() && file.origin.source() == source) {
            let loaded = reader.load(&file.path);
            file.is_unapplied = loaded.map_or(true, |mut loaded| {
                share.name(&mut loaded, source);
                if loaded.lacks_names() {
                    let mut known = jobs.values().filter_map(|job| Known::of(job)).collect();
                    names::recall(&mut loaded, &mut known, Alike::InWord);
                }
                share.part(&mut loaded);
                !says(&loaded, &kept)
            });
        }
    }

    /// The files that problems keep out of force, which another file may be the cause of.
    pub(super) fn troubled(&self) -> impl Iterator<Item = usize> {
        let is_troubled = |file: &Served| file.exit != Exit::Ok && !file.is_input();
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

    /// The line of a job in the served file that it comes from. What a file says that is not in force has
    /// none.
    pub(super) fn line_of(&self, origin: &Origin, job: &JobName) -> Option<usize> {
        let file = self.served.iter().find(|file| file.origin == *origin && !file.is_unapplied)?;
        file.lines.get(job).copied()
    }

    /// Whether jobs of this origin go, because their file is not given any more. Of a shared store another
    /// server may have the file.
    pub(super) fn are_retired(&self, origin: &Origin) -> bool {
        !self.is_shared && matches!(origin, Origin::Served(_)) && !self.are_given(origin)
    }

    /// Watches all directories that matter now. One that cannot be watched is looked at now and then.
    fn watch(&self) {
        let Some(inotify) = &self.inotify else { return };
        let files = self.served.iter().filter(|file| !file.is_input());
        let flags = AddWatchFlags::IN_CLOSE_WRITE
            | AddWatchFlags::IN_MOVED_TO
            | AddWatchFlags::IN_CREATE
            | AddWatchFlags::IN_DELETE
            | AddWatchFlags::IN_ATTRIB;
        for directory in files.flat_map(|file| directories(Path::new(&file.path))) {
            let _ = inotify.add_watch(&directory, flags);
        }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }
}

/// Whether these problems of a file are other ones than were told last by any loop of this process. One that
/// has none any more is told of again when it has.
fn is_news(path: &str, problems: &str) -> bool {
    static TOLD: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if problems.is_empty() {
        told.remove(path);
        return false;
    }
    told.insert(path.to_owned(), problems.to_owned()).as_deref() != Some(problems)
}

/// Whether a file says these jobs, by name and text, and no others.
pub(super) fn says(loaded: &Loaded, kept: &BTreeMap<&str, &str>) -> bool {
    let is_kept = |placed: &PlacedJob| kept.get(placed.job.name.as_str()) == Some(&placed.job.text.as_str());
    kept.len() == loaded.jobs.len() && loaded.jobs.iter().all(is_kept)
}

/// Every directory that decides what a path leads to: those of the symbolic links on it, and that of the
/// file.
fn directories(path: &Path) -> HashSet<PathBuf> {
    let mut found = HashSet::new();
    let mut rest: VecDeque<PathBuf> = path.components().map(|part| PathBuf::from(part.as_os_str())).collect();
    let (mut place, mut link_count) = (PathBuf::new(), 0);
    while let Some(part) = rest.pop_front() {
        let next = place.join(&part);
        match fs::read_link(&next) {
            Ok(target) if link_count < MAX_LINKS => {
                link_count += 1;
                found.insert(place.clone());
                let parts: Vec<PathBuf> =
                    target.components().map(|part| PathBuf::from(part.as_os_str())).collect();
                parts.into_iter().rev().for_each(|part| rest.push_front(part));
            }
            _ if rest.is_empty() => drop(found.insert(place.clone())),
            _ => place = next,
        }
    }
    found
}

fn stamp(path: &str) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    Some(Stamp { inode: found.ino(), size: found.size(), modified: (found.mtime(), found.mtime_nsec()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_directory_with_a_link_on_the_way_is_watched() {
        let root = std::env::temp_dir().join(format!("mainspring-links-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("config/..v1")).unwrap();
        fs::create_dir_all(root.join("releases/7")).unwrap();
        // As Kubernetes mounts a ConfigMap, and as deploys switch to a release.
        symlink("..v1", root.join("config/..data")).unwrap();
        symlink("..data/jobs.toml", root.join("config/jobs.toml")).unwrap();
        symlink(root.join("releases/7"), root.join("cur")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let of = |path: &str| directories(&root.join(path));
        let paths =
            |names: &[&str]| -> HashSet<PathBuf> { names.iter().map(|name| root.join(name)).collect() };
        assert_eq!(of("config/jobs.toml"), paths(&["config", "config/..v1"]));
        let root_itself: HashSet<PathBuf> = [root.clone(), root.join("releases/7")].into();
        assert_eq!(of("cur/jobs.toml"), root_itself);
        assert_eq!(of("releases/7/jobs.toml"), paths(&["releases/7"]));
        assert!(of("loop/jobs.toml").contains(&root));
        let _ = fs::remove_dir_all(&root);
    }
}
