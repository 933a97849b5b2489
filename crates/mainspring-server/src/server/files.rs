//! The files that are served: they are watched, read again after a change, and applied.
//!
//! ```text
//! inotify on the directories ──▶ looks ──▶ watch ─┬─ at rest ──▶ read ─┬─ good ──▶ apply
//! a look now and then ─────────────▲               │                    └─ bad: the old set
//! SIGHUP ──────────────────────────────────────────│────────────▶ read
//!                                                  └─ gone for a minute ──▶ its jobs are removed
//! ```
//!
//! When a file is read, and what becomes of its jobs while it is not there, is the table of
//! [`mainspring_file::watch`].
//!
//! The server watches directories and not files, because editors and configuration tools replace a file by
//! another. It also watches every directory on the way to a file that has a symbolic link in it: `cur ->
//! releases/7` and Kubernetes' `..data` change there. A look now and then finds changes that inotify does not
//! report, as on network file systems.
//!
//! Cost: a wake-up per change in those directories, and a look at each file: see [`looks`](super::looks).
//!
//! Source: inotify(7).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mainspring_job::{Job, JobName};
use nix::sys::inotify::{InitFlags, Inotify};

use super::folders::Folders;
use super::looks::{WATCHED_EVENTS, Writers, device_of_folder, directories, look_at};
use super::shard_filter::{ShardFilter, is_news};
use crate::error::Error;
use crate::exit::Exit;
use crate::message::{PROGRAM, agreeing, counted, say, with_causes};
use mainspring_exec::clock::Moment;
use mainspring_file::claims::{Claimant, InForce, settle};
use mainspring_file::crontab::names::{self, KnownJob, Likeness};
use mainspring_file::job_source::JobSource;
use mainspring_file::jobfile::PlacedJob;
use mainspring_file::loaded_file::{LoadedFile, Reader};
use mainspring_file::source::{FileError, STANDARD_INPUT};
use mainspring_file::watch::{Decision, LookResult, Stamp, UNREST, Watch};

/// A served file.
#[derive(Debug)]
pub(super) struct ServedFile {
    /// The whole path as it was typed, or what standard input is called.
    pub(super) path: String,
    /// What its jobs say of where they come from.
    pub(super) job_source: JobSource,
    watch: Watch,
    /// The file system of its folder, when the file was there last.
    device: Option<u64>,
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
    /// What people who ask are told beside that, and until when.
    pub(super) notice: Option<(String, Timestamp)>,
}

/// What standard input is called among the paths.
const PATH_OF_INPUT: &str = "standard input";

impl ServedFile {
    fn new(name: &str) -> ServedFile {
        let job_source = match name {
            STANDARD_INPUT => JobSource::Served(PATH_OF_INPUT.to_owned()),
            name => JobSource::served(name),
        };
        let path = job_source.to_string();
        ServedFile {
            path,
            job_source,
            watch: Watch::new(None),
            device: None,
            read: None,
            job_count: 0,
            lines: HashMap::new(),
            elsewhere: Vec::new(),
            problems: String::new(),
            exit: Exit::Ok,
            is_unapplied: false,
            notice: None,
        }
    }

    /// Whether it is standard input, which can be read once.
    fn is_input(&self) -> bool {
        self.path == PATH_OF_INPUT
    }

    /// Shows what is wrong with it, if anything is. Of several loops of a server that have the same file one
    /// shows it. Returns whether it did.
    pub(super) fn say_problems(&self, shard_filter: ShardFilter) -> bool {
        if shard_filter.is_part() && !is_news(&self.path, &self.problems) {
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

    /// Whether what was read is what was seen at rest.
    fn is_as_seen(&mut self, stamp: Option<Stamp>, reading: Occasion) -> bool {
        let Some(stamp) = stamp else { return true };
        let is_so = reading == Occasion::Asked || self.watch.seen() == Some(LookResult::There(stamp));
        if is_so {
            self.watch.take(stamp);
            self.device = device_of_folder(Path::new(&self.path));
        }
        is_so
    }

    /// What is wrong with a file that cannot be looked at, or whose folder is gone: its jobs go on.
    fn tell_absence(&mut self, seen: LookResult) {
        let why = match seen {
            LookResult::Unreadable => "cannot be looked at, or is a link that leads nowhere",
            LookResult::FolderGone => "is gone with its folder",
            LookResult::There(_) | LookResult::Gone => return,
        };
        let (count, go) = (counted(self.job_count, "job"), agreeing(self.job_count, "goes", "go"));
        self.problems = format!("{} {why}: its {count} {go} on\n", self.path);
        self.exit = Exit::Failed;
    }

    /// What is told of a file that does not come to rest, or cannot be looked at.
    pub(super) fn unrest_text(&self) -> String {
        match self.watch.seen() {
            Some(LookResult::There(_)) => {
                format!(
                    "{} has been changing for {} s, and is read when it is at rest",
                    self.path,
                    UNREST.as_secs()
                )
            }
            _ => self.problems.trim_end().to_owned(),
        }
    }

    /// So many of its jobs are removed, because it is gone. What people are told of that holds until it is
    /// there again, or `until` then. Where a command has removed them all, nothing is told.
    pub(super) fn remove(&mut self, count: usize, until: Timestamp) -> Option<String> {
        (self.job_count, self.problems, self.exit) = (0, String::new(), Exit::Ok);
        self.lines.clear();
        if count == 0 {
            return None;
        }
        let (jobs, are) = (counted(count, "job"), agreeing(count, "is", "are"));
        let text = format!("{} is gone: its {jobs} {are} removed", self.path);
        self.notice = Some((text.clone(), until));
        Some(match count {
            1 => format!("{text}; it is as it was if the file is there again within a day"),
            _ => format!("{text}; they are as they were if the file is there again within a day"),
        })
    }

    fn is_forgotten(&self, now: Timestamp) -> bool {
        self.watch.is_removed() && self.notice.as_ref().is_none_or(|(_, until)| *until <= now)
    }

    /// The path without symbolic links, if it leads to a file.
    pub(super) fn target(&self) -> Option<String> {
        Some(fs::canonicalize(&self.path).ok()?.to_string_lossy().into_owned())
    }
}

/// Why files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// They have come to rest, and are read only as they were seen then.
    Rested,
    /// The server starts, or a person asks for it.
    Asked,
}

/// What is to be done with files, by their indices.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// To be read.
    pub(super) read: Vec<usize>,
    /// Gone for so long that their jobs go.
    pub(super) removed: Vec<usize>,
    /// To be told of, because they do not come to rest or cannot be looked at.
    pub(super) told: Vec<usize>,
}

/// All served files.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) served: Vec<ServedFile>,
    reader: Reader,
    inotify: Option<Inotify>,
    writers: Writers,
    /// Something may have changed since the last looks.
    is_disturbed: bool,
    /// From when on the times of looks are counted.
    began: Option<Instant>,
    /// Several servers share the store, and each may have been given others.
    pub(super) is_shared: bool,
    /// Which part of their jobs is taken.
    shard_filter: ShardFilter,
    pub(super) folders: Folders,
}

impl Files {
    /// Takes the files over, and those of folders, without reading them.
    pub(super) fn new(names: &[String], reader: Reader, shard_filter: ShardFilter) -> Files {
        let (folders, names) = Folders::of(names, reader.format);
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok();
        let mut files = Files {
            served: Vec::new(),
            reader,
            inotify,
            writers: Writers::default(),
            is_disturbed: true,
            began: None,
            is_shared: false,
            shard_filter,
            folders,
        };
        files.add(&names);
        files.add_of_folders(Timestamp::MIN);
        files.watch();
        files
    }

    fn add(&mut self, names: &[String]) -> bool {
        let mut known: HashSet<String> = self.served.iter().map(|file| file.path.clone()).collect();
        let files = names.iter().map(|name| ServedFile::new(name));
        let before = self.served.len();
        self.served.extend(files.filter(|file| known.insert(file.path.clone())));
        before < self.served.len()
    }

    /// Adds the files of folders that are new there. Returns whether there are any. Those that are gone, and
    /// of which nothing is told any more, are forgotten: names may come and go for ever.
    fn add_of_folders(&mut self, now: Timestamp) -> bool {
        let Files { served, folders, .. } = self;
        served.retain(|file| !file.is_forgotten(now) || !folders.has(Path::new(&file.path)));
        let names = self.folders.look();
        self.add(&names)
    }

    pub(super) fn reader(&self) -> &Reader {
        &self.reader
    }

    pub(super) fn shard_filter(&self) -> ShardFilter {
        self.shard_filter
    }

    /// Takes in what inotify tells.
    pub(super) fn look(&mut self) {
        let Some(inotify) = &self.inotify else { return };
        while let Ok(events) = inotify.read_events() {
            if events.is_empty() {
                return;
            }
            for event in &events {
                self.is_disturbed |= self.writers.hear(event);
            }
        }
    }

    /// Has each file looked at, whatever inotify tells.
    pub(super) fn compare(&mut self) {
        self.is_disturbed = true;
    }

    /// What is to be done now; all files are read after a SIGHUP.
    pub(super) fn due(&mut self, reading: Occasion, now: Moment) -> Due {
        let at = self.since(now);
        let is_late = |file: &ServedFile| file.watch.deadline().is_some_and(|deadline| deadline <= at);
        let mut due = Due::default();
        if self.is_disturbed || self.served.iter().any(is_late) {
            self.is_disturbed = false;
            let mut has_changed = self.add_of_folders(now.wall);
            for (index, file) in self.served.iter_mut().enumerate().filter(|(_, file)| !file.is_input()) {
                let seen = look_at(Path::new(&file.path), file.device);
                has_changed |= file.watch.seen() != Some(seen);
                match file.watch.look(seen, self.writers.of(Path::new(&file.path)), at) {
                    Decision::Rest | Decision::Wait => {}
                    Decision::Tell => due.told.push(index),
                    Decision::Read => due.read.push(index),
                    Decision::Remove => due.removed.push(index),
                }
                file.tell_absence(seen);
            }
            if has_changed {
                // Links may lead elsewhere now.
                self.watch();
            }
        }
        if reading == Occasion::Asked {
            due.read = (0..self.served.len()).filter(|index| !self.served[*index].is_input()).collect();
        }
        due
    }

    /// When the next file is to be looked at.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let next = self.served.iter().filter_map(|file| file.watch.deadline()).min()?;
        self.began?.checked_add(next)
    }

    /// How long the files have been watched.
    fn since(&mut self, now: Moment) -> Duration {
        now.monotonic.saturating_duration_since(*self.began.get_or_insert(now.monotonic))
    }

    /// Reads files again, and returns the good ones: what they hold may be in force, and has names that it
    /// may have. What is wrong with a file stands in its `problems`.
    pub(super) fn take(
        &mut self,
        indices: &[usize],
        in_force: &InForce<'_>,
        reading: Occasion,
        now: Moment,
    ) -> Vec<(usize, LoadedFile)> {
        let (mut read, mut claimants) = (Vec::new(), Vec::new());
        let at = self.since(now);
        for &index in indices {
            let file = &mut self.served[index];
            match self.reader.load(if file.is_input() { STANDARD_INPUT } else { &file.path }) {
                Ok(loaded) if file.is_as_seen(loaded.source.stamp(), reading) => {
                    read.push(index);
                    claimants.push(Claimant { job_source: file.job_source.source(), loaded });
                }
                // What was read may be half of it.
                Ok(_) | Err(FileError::Changing { .. }) if reading == Occasion::Rested => {
                    file.watch.disturb(at);
                }
                Ok(_) => unreachable!("what is asked for is taken as it is"),
                Err(error) => {
                    if let (LookResult::There(stamp), false) =
                        (look_at(Path::new(&file.path), None), matches!(error, FileError::Changing { .. }))
                    {
                        file.watch.take(stamp);
                    }
                    let error = Error::from(error);
                    (file.problems, file.exit) = (format!("{}\n", with_causes(&error)), error.exit());
                }
            }
        }
        self.shard_filter.prepare(&mut claimants);
        settle(&mut claimants, in_force);
        let mut good = Vec::new();
        for (index, Claimant { mut loaded, .. }) in read.into_iter().zip(claimants) {
            let file = &mut self.served[index];
            (file.problems, file.exit) = (loaded.problems_text(), Exit::Invalid);
            if loaded.is_good() {
                if self.shard_filter.is_part() && file.problems.is_empty() {
                    is_news(&file.path, "");
                }
                file.elsewhere = self.shard_filter.part(&mut loaded);
                (file.read, file.job_count, file.exit) = (Some(now.wall), loaded.jobs.len(), Exit::Ok);
                file.lines = loaded.jobs.iter().map(|job| (job.job.name.clone(), job.line_number)).collect();
                file.is_unapplied = false;
                good.push((index, loaded));
            }
        }
        good
    }

    /// Reads the files of a source, and keeps whether they say other things than these jobs.
    pub(super) fn compare_with(&mut self, source: &str, jobs: &BTreeMap<&JobName, &Job>) {
        let Files { served, reader, shard_filter, .. } = self;
        let kept = jobs.values().map(|job| (job.name.as_str(), job.text.as_str())).collect();
        for file in served.iter_mut().filter(|file| !file.is_input() && file.job_source.source() == source) {
            let loaded = reader.load(&file.path);
            file.is_unapplied = loaded.map_or(true, |mut loaded| {
                shard_filter.name(&mut loaded, source);
                if loaded.lacks_names() {
                    let mut known = jobs.values().filter_map(|job| KnownJob::of(job)).collect();
                    names::recall(&mut loaded, &mut known, Likeness::InWord);
                }
                shard_filter.part(&mut loaded);
                !says(&loaded, &kept)
            });
        }
    }

    /// The files that problems keep out of force, which another file may be the cause of, but for those that
    /// are changing.
    pub(super) fn troubled(&self) -> impl Iterator<Item = usize> {
        let is_still = |file: &ServedFile| file.watch.deadline().is_none();
        let is_troubled =
            move |file: &ServedFile| file.exit != Exit::Ok && !file.is_input() && is_still(file);
        self.served.iter().enumerate().filter(move |(_, file)| is_troubled(file)).map(|(index, _)| index)
    }

    /// The source of a file that is applied: that of the served one if it is one.
    pub(super) fn job_source_of(&self, path: &str) -> JobSource {
        let is_this =
            |file: &&ServedFile| file.path == path || file.target().is_some_and(|target| target == path);
        let served = self.served.iter().find(is_this);
        served.map_or_else(|| JobSource::Applied(path.to_owned()), |file| file.job_source.clone())
    }

    /// Whether a file that is given has this source.
    pub(super) fn are_given(&self, job_source: &JobSource) -> bool {
        let may_be = matches!(job_source, JobSource::Served(path) if self.folders.may_have(Path::new(path)));
        may_be || self.served.iter().any(|file| file.job_source == *job_source)
    }

    /// Whether a file that is given has this source, and is there.
    pub(super) fn are_there(&self, job_source: &JobSource) -> bool {
        let is_there = |file: &ServedFile| {
            file.is_input() || matches!(look_at(Path::new(&file.path), file.device), LookResult::There(_))
        };
        self.served.iter().any(|file| file.job_source == *job_source && is_there(file))
    }

    /// The line of a job in the served file that it comes from. What a file says that is not in force has
    /// none.
    pub(super) fn line_of(&self, job_source: &JobSource, job: &JobName) -> Option<usize> {
        let file = self.served.iter().find(|file| file.job_source == *job_source && !file.is_unapplied)?;
        file.lines.get(job).copied()
    }

    /// Whether jobs of this source go, because their file is not given any more. Of a shared store another
    /// server may have the file.
    pub(super) fn are_retired(&self, job_source: &JobSource) -> bool {
        !self.is_shared && matches!(job_source, JobSource::Served(_)) && !self.are_given(job_source)
    }

    /// Watches all directories that matter now. One that cannot be watched is looked at now and then.
    fn watch(&mut self) {
        let paths = self.served.iter().filter(|file| !file.is_input()).map(|file| Path::new(&file.path));
        self.writers.watch(paths.clone());
        let Some(inotify) = &self.inotify else { return };
        let in_folders: Vec<_> = self.folders.paths().map(|folder| folder.join("any")).collect();
        for directory in paths.chain(in_folders.iter().map(AsRef::as_ref)).flat_map(directories) {
            let _ = inotify.add_watch(&directory, WATCHED_EVENTS);
        }
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }
}

/// Whether a file says these jobs, by name and text, and no others.
pub(super) fn says(loaded: &LoadedFile, kept: &BTreeMap<&str, &str>) -> bool {
    let is_kept = |placed: &PlacedJob| kept.get(placed.job.name.as_str()) == Some(&placed.job.text.as_str());
    kept.len() == loaded.jobs.len() && loaded.jobs.iter().all(is_kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_that_is_gone_what_was_removed_is_told_and_nothing_else() {
        let told = |count| {
            let mut file = ServedFile::new("/etc/jobs.toml");
            file.job_count = 2;
            let text = file.remove(count, Timestamp::MAX);
            assert_eq!((file.job_count, file.notice.is_some()), (0, text.is_some()), "{text:?}");
            text
        };
        assert!(told(2).unwrap().starts_with("/etc/jobs.toml is gone: its 2 jobs are removed; they are "));
        assert!(told(1).unwrap().starts_with("/etc/jobs.toml is gone: its 1 job is removed; it is "));
        assert_eq!(told(0), None, "a command has removed them");
    }
}
