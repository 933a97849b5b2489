//! The files that are served: they are watched, read again after a change, and applied.
//!
//! ```text
//! changes in the directories ──▶ looks ──▶ watch ─┬─ at rest ──▶ read ─┬─ good ──▶ apply
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
//! releases/7` and Kubernetes' `..data` change there. A look now and then finds changes that the
//! kernel does not report, as on network file systems.
//!
//! Cost: a wake-up per change in those directories, and a look at each file: see [`looks`](super::looks).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use mainspring_job::{Job, JobName};

use super::folder_watch::FolderWatch;
use super::folders::Folders;
use super::looks::{Writers, directories, look_at};
use super::served_file::{Occasion, ServedFile};
use super::zone_watch::{DefaultZone, ZoneWatch};
use crate::error::Error;
use crate::exit::Exit;
use crate::message::with_causes;
use mainspring_exec::clock::Moment;
use mainspring_file::claims::{Claimant, InForce, settle};
use mainspring_file::crontab::names::{self, KnownJob, Likeness};
use mainspring_file::job_source::JobSource;
use mainspring_file::jobfile::PlacedJob;
use mainspring_file::loaded_file::{LoadedFile, Reader};
use mainspring_file::source::{FileError, STANDARD_INPUT};
use mainspring_file::watch::{Decision, LookResult};
use mainspring_host::net::BorrowedFd;

/// What is to be done with files, by their indices.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// To be read.
    pub(super) read: Vec<usize>,
    /// Gone for so long that their jobs go.
    pub(super) removed: Vec<usize>,
    /// To be told of, because they do not come to rest or cannot be looked at.
    pub(super) reported: Vec<usize>,
}

/// All served files.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) served: Vec<ServedFile>,
    /// How they are read. Jobs that name no zone have its zone.
    pub(super) reader: Reader,
    folder_watch: FolderWatch,
    writers: Writers,
    /// Something may have changed since the last looks.
    is_disturbed: bool,
    /// How many jobs had lost their definition when that was looked at last; and whether more have since the
    /// files were judged, so that one of them may have a name now that it could not have.
    lost_definitions: u64,
    pub(super) are_names_free: bool,
    /// From when on the times of looks are counted.
    began: Option<Instant>,
    /// Several servers share the store, and each may have been given others.
    pub(super) is_shared: bool,
    /// The sources of which such a store has had definitions.
    pub(super) known_sources: BTreeSet<String>,
    /// Jobs of files that are not given stay: the server shows what a copy has.
    pub(super) keeps_all: bool,
    /// The files that say what times zones have; `None` where a program has the jobs.
    pub(super) zones: Option<ZoneWatch>,
    /// Which part of their jobs is taken.
    pub(super) folders: Folders,
}

impl Files {
    /// Takes the files over, and those of folders, without reading them. `origin` is where the zone of the
    /// reader comes from, if the files that say what times zones have are watched.
    pub(super) fn new(names: &[String], reader: Reader, origin: Option<DefaultZone>) -> Files {
        let (folders, names) = Folders::of(names, reader.format, reader.cron.as_ref());
        let mut files = Files {
            served: Vec::new(),
            reader,
            folder_watch: FolderWatch::new(),
            writers: Writers::default(),
            is_disturbed: true,
            lost_definitions: 0,
            are_names_free: false,
            began: None,
            is_shared: false,
            known_sources: BTreeSet::new(),
            keeps_all: false,
            zones: origin.map(ZoneWatch::new),
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

    /// Whether those files have changed and are at rest.
    pub(super) fn zones_have_changed(&mut self, now: Moment) -> bool {
        let at = self.since(now);
        self.zones.as_mut().is_some_and(|zones| zones.have_changed(at))
    }

    /// Whether each file stands for itself, also where another has a problem at the first start: any user may
    /// have one among those of cron.
    pub(super) fn are_alone(&self) -> bool {
        self.reader.cron.is_some()
    }

    /// Takes in what is reported.
    pub(super) fn look(&mut self) {
        loop {
            let changes = self.folder_watch.read();
            if changes.is_empty() {
                return;
            }
            for change in &changes {
                self.is_disturbed |= self.writers.hear(change);
                self.zones.iter_mut().for_each(|zones| zones.hear(change));
            }
        }
    }

    /// Has each file looked at, whatever is told.
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
                    Decision::Tell => due.reported.push(index),
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
        if reading == Occasion::Requested {
            due.read = (0..self.served.len()).filter(|index| !self.served[*index].is_input()).collect();
        }
        due
    }

    /// Takes in how many jobs have lost their definition.
    pub(super) fn hear_of_lost(&mut self, count: u64) {
        self.are_names_free |= std::mem::replace(&mut self.lost_definitions, count) != count;
    }

    /// The sources of files that are gone, while their jobs wait for them. Of a shared store another server
    /// may have the file.
    pub(super) fn vacated(&self) -> BTreeSet<String> {
        let is_gone = |file: &&ServedFile| !self.is_shared && file.watch.seen() == Some(LookResult::Gone);
        self.served.iter().filter(is_gone).map(|file| file.job_source.source()).collect()
    }

    /// When the next file is to be looked at.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.are_names_free {
            return self.began;
        }
        let of_zones = self.zones.as_ref().and_then(ZoneWatch::deadline);
        let of_files = self.served.iter().filter_map(|file| file.watch.deadline());
        let next = of_files.chain(of_zones).min()?;
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
        debug_assert!(indices.is_sorted_by(|a, b| a < b), "each file is read once, and claims names once");
        let (mut read, mut claimants) = (Vec::new(), Vec::new());
        let at = self.since(now);
        let mut in_force_bytes = Vec::new();
        for &index in indices {
            let loaded = self.load(index);
            let file = &mut self.served[index];
            match loaded {
                Ok(loaded) if file.is_as_seen(loaded.source.stamp(), reading) => {
                    read.push(index);
                    in_force_bytes.push(std::mem::replace(&mut file.bytes, loaded.weight()));
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
        settle(&mut claimants, in_force);
        let mut good = Vec::new();
        for ((index, before_bytes), Claimant { loaded, .. }) in
            read.into_iter().zip(in_force_bytes).zip(claimants)
        {
            let file = &mut self.served[index];
            file.take_text(&loaded);
            (file.problems, file.exit) = (loaded.problems_text(), Exit::Invalid);
            if loaded.is_good() {
                (file.read, file.job_count, file.exit) = (Some(now.wall), loaded.jobs.len(), Exit::Ok);
                file.lines = loaded.jobs.iter().map(|job| (job.job.name.clone(), job.line_number)).collect();
                file.is_unapplied = false;
                file.mailers = loaded.mailers();
                self.folders.note_mailers(&file.mailers);
                self.folders.note_homeless(loaded.homeless(&self.reader.users));
                good.push((index, loaded));
            } else {
                file.bytes = before_bytes;
            }
        }
        good
    }

    /// Reads a file. One of a folder has what the other files of the folder leave.
    fn load(&self, index: usize) -> Result<LoadedFile, FileError> {
        let file = &self.served[index];
        let path = Path::new(&file.path);
        match file.is_input() {
            true => self.reader.load(STANDARD_INPUT),
            false if self.folders.has(path) => {
                let is_beside = |other: &&ServedFile| {
                    other.path != file.path && Path::new(&other.path).parent() == path.parent()
                };
                let others = self.served.iter().filter(is_beside).map(|other| other.bytes);
                self.reader.load_beside(&file.path, others.sum())
            }
            false => self.reader.load(&file.path),
        }
    }

    /// Reads the files of a source, and keeps whether they say other things than these jobs.
    pub(super) fn compare_with(&mut self, source: &str, jobs: &BTreeMap<&JobName, &Job>) {
        let Files { served, reader, .. } = self;
        let texts = jobs.values().map(|job| (job.name.as_str(), job.text.as_str())).collect();
        for file in served.iter_mut().filter(|file| !file.is_input() && file.job_source.source() == source) {
            let loaded = reader.load(&file.path);
            file.is_unapplied = loaded.map_or(true, |mut loaded| {
                if loaded.lacks_names() {
                    let mut known = jobs.values().filter_map(|job| KnownJob::of(job)).collect();
                    names::recall(&mut loaded, &mut known, Likeness::InWord);
                }
                !says(&loaded, &texts)
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

    /// The programs that are to take mails of jobs, and are not here.
    pub(super) fn missing_mailers(&self) -> BTreeSet<&PathBuf> {
        self.served.iter().flat_map(|file| &file.mailers).filter(|program| !program.exists()).collect()
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
        let stay = self.is_shared || self.keeps_all;
        !stay && matches!(job_source, JobSource::Served(_)) && !self.are_given(job_source)
    }

    /// Watches all directories that matter now. One that cannot be watched is looked at now and then.
    fn watch(&mut self) {
        let paths = self.served.iter().filter(|file| !file.is_input()).map(|file| Path::new(&file.path));
        self.writers.watch(paths.clone());
        let in_folders: Vec<_> = self.folders.paths().map(|folder| folder.join("any")).collect();
        for directory in paths.chain(in_folders.iter().map(AsRef::as_ref)).flat_map(directories) {
            let _ = self.folder_watch.watch(&directory);
        }
        self.zones.iter_mut().for_each(|zones| zones.watch(&self.folder_watch));
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.folder_watch.fd()
    }
}

/// Whether a file says these jobs, by name and text, and no others.
pub(super) fn says(loaded: &LoadedFile, texts: &BTreeMap<&str, &str>) -> bool {
    let is_kept = |placed: &PlacedJob| texts.get(placed.job.name.as_str()) == Some(&placed.job.text.as_str());
    texts.len() == loaded.jobs.len() && loaded.jobs.iter().all(is_kept)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::scratch;
    use mainspring_file::budget::MAX_FOLDER_BYTES;
    use mainspring_host::accounts::Account;
    use mainspring_host::accounts::users::Users;

    #[test]
    fn a_file_that_grows_beyond_the_budget_of_its_folder_is_refused_and_what_is_in_force_stays() {
        let folder = scratch::path("folder-budget");
        fs::create_dir_all(&folder).unwrap();
        for name in ["a", "b"] {
            fs::write(folder.join(name), "@daily true\n").unwrap();
        }
        let users = Users::new(Account::ourselves().unwrap());
        let reader = Reader::new(users);
        let mut files = Files::new(&[folder.to_str().unwrap().to_owned()], reader, None);
        let take = |files: &mut Files, index| {
            let taken = files.take(&[index], &InForce::nothing(), Occasion::Requested, Moment::now());
            taken.into_iter().map(|(index, loaded)| (index, loaded.jobs.len())).collect::<Vec<_>>()
        };
        assert_eq!([take(&mut files, 0), take(&mut files, 1)], [[(0, 1)], [(1, 1)]]);
        let taken = files.served[1].bytes;
        // The other file has all but what this one takes, and this one grows.
        files.served[0].bytes = MAX_FOLDER_BYTES - taken;
        assert_eq!(take(&mut files, 1), [(1, 1)]);
        fs::write(folder.join("b"), "@daily true\n@daily false\n").unwrap();
        assert_eq!(take(&mut files, 1), []);
        let file = &files.served[1];
        assert!(file.problems.contains("more than 256 MiB"), "{}", file.problems);
        assert_eq!((file.exit, file.job_count, file.bytes), (Exit::Invalid, 1, taken));
        files.served[0].bytes = 0;
        assert_eq!(take(&mut files, 1), [(1, 2)]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
