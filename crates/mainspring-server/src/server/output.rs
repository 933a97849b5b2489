//! The output of runs, as files in the data directory.
//!
//! ```text
//! output/backup/20261121T030000Z.log            a run of a job; a backfill has its number before the dot
//! output/~once/tea~20261121T160000Z.log         a run of a one-shot job
//!
//! 2026-11-21T03:00:01.250Z 1 stdout 17 files    when, which attempt, which stream, and the line
//! 2026-11-21T03:00:01.250Z 1 stdout+ {"a": ..   a piece of a long line, which continues with the next of this stream
//! 2026-11-21T03:00:01.250Z 1 note 9 lines ..    a note of the server about the output
//! ```
//!
//! Lines are written once per turn of the loop, and never flushed to the disk by force, because they are no
//! part of the promise. If there is no room, or no file can be opened, lines are lost and runs go on. The
//! log says so once for each run: see [`disk_reserve`](super::disk_reserve). The files of a job
//! that were written to the longest ago are removed when there are more than its policy keeps; those of dead
//! letters, which wait for a person, are counted apart. The file
//! `removed` beside them then has the latest nominal time of those that went: a later run without a file has
//! written nothing, and what an earlier one wrote, if it wrote anything, is not kept any more.
//!
//! Cost: a file that is open as long as its run; a listing of the job's directory when a run ends, and a look
//! at each file there once there are more than are kept.
//!
//! Does not compress or index.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use mainspring_job::{Batch, Cause, JobName, Operation, RunKey, RunState};

use crate::log::Kind;
use crate::protocol::LineWire;
use mainspring_exec::output::{Piece, Stream};
use mainspring_host::private;

/// The directory for runs of one-shot jobs. No job's name begins so.
const ONCE: &str = "~once";

const _: () = assert!(!ONCE.as_bytes()[0].is_ascii_alphanumeric(), "no job's name begins so: see `JobName`");

/// How many files of one-shot jobs are kept.
const MAX_ONCE_FILES: usize = 10_000;

/// How often the directory of one-shot jobs is looked through: once in so many ends.
const ONCE_PRUNE_INTERVAL: u64 = 256;
const _: () = assert!(ONCE_PRUNE_INTERVAL < MAX_ONCE_FILES as u64, "few more are there than are kept");

/// The file with the latest nominal time of the files that were removed from its directory.
const REMOVED: &str = "removed";

/// How the name of a file of output ends.
const SUFFIX: &str = ".log";

const _: () = assert!(SUFFIX.as_bytes()[0] == b'.', "`is_output` looks for what is behind it");

/// How the name of a file ends that is [brought](super::remote_output) from another server and not whole.
pub(super) const LIVE: &str = "live";

/// What stands behind the stream of a piece whose line continues.
const GOES_ON: &str = "+";

/// The files of runs.
#[derive(Debug)]
pub(super) struct Outputs {
    root: PathBuf,
    open: HashMap<RunKey, BufWriter<File>>,
    /// Runs of which lines were lost, as is known.
    lost: HashSet<RunKey>,
    /// How many bytes that were.
    pub(super) lost_bytes: u64,
    once_ended_count: u64,
    /// The runs that are dead letters, as far as is known here.
    dead: HashSet<RunKey>,
    /// Whether lines are kept; if not they are lost, and the log has them.
    pub(super) keeps: bool,
}

impl Outputs {
    pub(super) fn new(root: PathBuf) -> Outputs {
        Outputs {
            root,
            open: HashMap::new(),
            lost: HashSet::new(),
            lost_bytes: 0,
            once_ended_count: 0,
            dead: HashSet::new(),
            keeps: true,
        }
    }

    /// Where the lines of a run are.
    pub(super) fn path(&self, key: &RunKey, cause: Cause) -> PathBuf {
        path(&self.root, key, cause)
    }

    /// Whether what a run of a job wrote, if it wrote anything, is not kept any more.
    pub(super) fn is_removed(&self, key: &RunKey) -> bool {
        is_removed(&self.root, key, Cause::Trigger)
    }

    /// Adds a line. What cannot be written is lost.
    ///
    /// # Errors
    ///
    /// Why it is lost, the first time that this happens to the run.
    pub(super) fn line(
        &mut self,
        key: &RunKey,
        cause: Cause,
        attempt: u32,
        now: Timestamp,
        stream: Stream,
        piece: &Piece<'_>,
    ) -> io::Result<()> {
        if !self.keeps {
            self.lost_bytes += piece.text.len() as u64;
            return Ok(());
        }
        debug_assert!(0 < attempt, "a file without a line is one of attempt 0");
        debug_assert!(!piece.text.contains('\n'), "a piece is one line of the file");
        let written = self.file(key, cause).and_then(|file| {
            let (stream, mark) = (Kind::of(stream).name(), if piece.goes_on { GOES_ON } else { "" });
            writeln!(file, "{now:.3} {attempt} {stream}{mark} {}", piece.text)
        });
        let Err(error) = written else { return Ok(()) };
        self.lost_bytes += piece.text.len() as u64;
        if self.lost.insert(key.clone()) { Err(error) } else { Ok(()) }
    }

    fn file(&mut self, key: &RunKey, cause: Cause) -> io::Result<&mut BufWriter<File>> {
        let path = self.path(key, cause);
        match self.open.entry(key.clone()) {
            Entry::Occupied(open) => Ok(open.into_mut()),
            Entry::Vacant(vacant) => Ok(vacant.insert(BufWriter::new(open(&path)?))),
        }
    }

    /// Removes the oldest files of runs that have ended, until so much is free that was not. Returns how
    /// many.
    pub(super) fn remove_oldest(&self, bytes: u64) -> usize {
        // Where a one-shot job's is and where a job's, one of the two is open.
        let paths = |key: &RunKey| [Cause::Once, Cause::Trigger].map(|cause| self.path(key, cause));
        remove_oldest_below(&self.root, bytes, &self.open.keys().flat_map(paths).collect())
    }

    /// Removes all files of a job, none of whose runs is open.
    pub(super) fn drop_all(&self, job: &JobName) {
        // What cannot be removed is left: it is reached by the key of a run alone, and the runs are gone.
        let _ = fs::remove_dir_all(self.root.join(&*file_name(job)));
    }

    /// Hands what was written to the operating system, so that others can read it. Returns the runs of which
    /// something was lost for the first time, and why.
    pub(super) fn flush(&mut self) -> Vec<(RunKey, io::Error)> {
        let failed = |(key, file): (&RunKey, &mut BufWriter<File>)| Some((key.clone(), file.flush().err()?));
        let mut found: Vec<(RunKey, io::Error)> = self.open.iter_mut().filter_map(failed).collect();
        for (key, _) in &found {
            // What waits would be tried again in every turn, and more would come to it.
            if let Some(file) = self.open.remove(key) {
                let (file, lost) = file.into_parts();
                self.lost_bytes += lost.map_or(0, |lost| lost.len() as u64);
                self.open.insert(key.clone(), BufWriter::new(file));
            }
        }
        found.retain(|(key, _)| self.lost.insert(key.clone()));
        found
    }

    /// These are dead letters.
    pub(super) fn know_dead(&mut self, dead: Vec<RunKey>) {
        self.dead.extend(dead);
    }

    /// Notes what becomes a dead letter with a batch, and what is none any more.
    pub(super) fn note(&mut self, batch: &Batch) {
        for operation in &batch.operations {
            match operation {
                Operation::Move { key, to: RunState::Dead, .. } => drop(self.dead.insert(key.clone())),
                Operation::Move { key, from: RunState::Dead, .. } => drop(self.dead.remove(key)),
                _ => {}
            }
        }
    }

    /// Closes the file of a run, and drops those of the job's other runs that ended first, beyond `keep`.
    pub(super) fn close(&mut self, key: &RunKey, cause: Cause, keep: usize) {
        self.lost.remove(key);
        if self.open.remove(key).is_none() {
            return;
        }
        let is_once = cause == Cause::Once;
        let keep = if is_once { MAX_ONCE_FILES } else { keep };
        self.once_ended_count += u64::from(is_once);
        if is_once && !self.once_ended_count.is_multiple_of(ONCE_PRUNE_INTERVAL) {
            return;
        }
        if let Some(directory) = self.path(key, cause).parent() {
            let open = self.open.keys().filter(|open| is_once || open.job == key.job);
            let open = open.map(|key| self.path(key, cause)).collect();
            let job = (!is_once).then_some(&key.job);
            let is_dead = |path: &Path| run_of(path, job).is_some_and(|run| self.dead.contains(&run));
            prune(directory, keep, &open, is_dead);
        }
    }
}

/// Where the lines of a run are below the folder of output.
pub fn path(root: &Path, key: &RunKey, cause: Cause) -> PathBuf {
    let time = time_text(key);
    let series = if key.series == 0 { String::new() } else { format!("+{}", key.series) };
    match cause {
        Cause::Once => root.join(ONCE).join(format!("{}~{time}{series}{SUFFIX}", file_name(&key.job))),
        _ => root.join(&*file_name(&key.job)).join(format!("{time}{series}{SUFFIX}")),
    }
}

/// The run whose lines a file has, of a job or of a one-shot job.
fn run_of(path: &Path, job: Option<&JobName>) -> Option<RunKey> {
    let (name, time, series) = parts(path)?;
    let job = job.cloned().or_else(|| JobName::new(&name.replace('=', ":")).ok())?;
    Some(RunKey { job, nominal: time.parse().ok()?, series: series.parse().ok()? })
}

/// The name of a one-shot job, the nominal time and the series that the name of a file has.
fn parts(path: &Path) -> Option<(&str, &str, &str)> {
    let stem = path.file_stem()?.to_str()?;
    let (name, rest) = stem.rsplit_once('~').unwrap_or(("", stem));
    let (time, series) = rest.split_once('+').unwrap_or((rest, "0"));
    Some((name, time, series))
}

/// A job's name in those of files. No file of Windows has a colon, and no job an equals sign.
fn file_name(job: &JobName) -> Cow<'_, str> {
    let is_other = cfg!(windows) && job.as_str().contains(':');
    if is_other { job.as_str().replace(':', "=").into() } else { job.as_str().into() }
}

/// The file that has the lines, given where they are when all of them are here.
pub fn readable(path: PathBuf) -> PathBuf {
    let live = path.with_extension(LIVE);
    if live.exists() { live } else { path }
}

/// Whether files as old as that of a run were removed: what it wrote, if it wrote anything, is not kept.
pub fn is_removed(root: &Path, key: &RunKey, cause: Cause) -> bool {
    let path = path(root, key, cause);
    let removed = path.parent().and_then(latest_removed);
    !path.exists() && removed.is_some_and(|removed| time_text(key) <= removed)
}

/// The nominal time of a run in the name of its file.
fn time_text(key: &RunKey) -> String {
    key.nominal.to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect()
}

fn latest_removed(directory: &Path) -> Option<String> {
    fs::read_to_string(directory.join(REMOVED)).ok()
}

/// Removes a file of output, and keeps that one of its time was removed.
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    if let (Some(directory), Some((_, time, _))) = (path.parent(), parts(path))
        && latest_removed(directory).is_none_or(|latest| *latest < *time)
    {
        // Without room for it a removed output looks like one that was never written.
        let _ = fs::write(directory.join(REMOVED), time);
    }
    Ok(())
}

fn is_output(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == &SUFFIX[1..] || extension == LIVE)
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        private::folder().create(directory)?;
    }
    private::file().append(true).create(true).open(path)
}

/// What the log says of lost lines.
pub(super) fn lost_text(error: &io::Error) -> String {
    format!("what it writes cannot be kept: {error}")
}

/// Removes the oldest files below `root` that are not among `open`, until so many bytes are free that were
/// not. Returns how many files that were.
pub(super) fn remove_oldest_below(root: &Path, bytes: u64, open: &HashSet<PathBuf>) -> usize {
    let below = |directory: &Path| fs::read_dir(directory).into_iter().flatten().flatten();
    let files = below(root).flat_map(|directory| below(&directory.path()).collect::<Vec<_>>());
    let described = files.filter_map(|file| {
        let found = file.metadata().ok()?;
        Some((found.modified().ok()?, file.path(), found.len()))
    });
    let mut files: Vec<_> =
        described.filter(|(_, path, _)| is_output(path) && !open.contains(path)).collect();
    files.sort_unstable();
    let (mut freed_bytes, mut removed_count) = (0, 0);
    for (_, path, length) in files {
        if bytes <= freed_bytes {
            break;
        }
        if remove(&path).is_ok() {
            freed_bytes += length;
            removed_count += 1;
        }
    }
    removed_count
}

/// Removes the files that were written to the longest ago, beyond so many of dead letters and of others. A
/// name tells when a run was due, and a backfill or another try of an old run writes later.
fn prune(directory: &Path, keep: usize, open: &HashSet<PathBuf>, is_dead: impl Fn(&Path) -> bool) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let files = entries.flatten().map(|entry| entry.path());
    let files: Vec<_> = files.filter(|path| is_output(path) && !open.contains(path)).collect();
    if files.len() <= keep {
        return;
    }
    let (dead, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| is_dead(path));
    let written = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
    for mut files in [dead, others] {
        if files.len() <= keep {
            continue;
        }
        files.sort_by_cached_key(|path| (written(path), path.clone()));
        for path in &files[..files.len() - keep] {
            let _ = remove(path);
        }
    }
}

/// What the last attempt of a run wrote, as one text; nothing if that cannot be read.
pub(super) fn last_attempt(path: &Path) -> String {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<LineWire> = text.lines().filter_map(|line| read_line("", line)).collect();
    let last = lines.iter().map(|line| line.attempt).max();
    let end = |line: &LineWire| if line.goes_on { "" } else { "\n" };
    let lines = lines.iter().filter(|line| Some(line.attempt) == last);
    lines.map(|line| format!("{}{}", line.text, end(line))).collect()
}

/// A line of a file, of the run called `run`.
pub(super) fn read_line(run: &str, line: &str) -> Option<LineWire> {
    let mut parts = line.splitn(4, ' ');
    let (time, attempt, stream) = (parts.next()?, parts.next()?, parts.next()?);
    let begun = stream.strip_suffix(GOES_ON);
    Some(LineWire {
        run: run.to_owned(),
        attempt: attempt.parse().ok()?,
        time: time.to_owned(),
        stream: begun.unwrap_or(stream).to_owned(),
        goes_on: begun.is_some(),
        text: parts.next().unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn lines_are_read_back_and_old_files_go() {
        let root = scratch::path("output");
        let mut outputs = Outputs::new(root.clone());
        let now: Timestamp = "2026-11-21T03:00:01.25Z".parse().unwrap();
        let key = |second| RunKey {
            job: JobName::new("a").unwrap(),
            nominal: Timestamp::from_second(second).unwrap(),
            series: 0,
        };
        for second in 0..5 {
            outputs
                .line(&key(second), Cause::Trigger, 2, now, Stream::Stderr, &Piece::line("one  two "))
                .unwrap();
            assert!(outputs.flush().is_empty());
            outputs.close(&key(second), Cause::Trigger, 3);
        }
        let present: Vec<bool> =
            (0..5).map(|second| outputs.path(&key(second), Cause::Trigger).exists()).collect();
        assert_eq!(present, [false, false, true, true, true]);
        let removed: Vec<bool> =
            (0..5).map(|second| is_removed(&root, &key(second), Cause::Trigger)).collect();
        assert_eq!(removed, [true, true, false, false, false]);
        assert!(
            !is_removed(&root, &key(9), Cause::Trigger),
            "a later run that has no file has written nothing"
        );
        // A backfill writes after all of them; and a run that does not end stays the longest.
        for early in [0, 1] {
            outputs.line(&key(early), Cause::Backfill, 1, now, Stream::Stdout, &Piece::line("x")).unwrap();
        }
        outputs.close(&key(1), Cause::Backfill, 1);
        let present = [0, 1, 2, 3, 4].map(|second| outputs.path(&key(second), Cause::Trigger).exists());
        assert_eq!(present, [true, true, false, false, false]);
        outputs.close(&key(0), Cause::Backfill, 3);
        outputs.drop_all(&key(4).job);
        assert!((0..5).all(|second| !outputs.path(&key(second), Cause::Trigger).exists()));
        outputs.line(&key(4), Cause::Trigger, 2, now, Stream::Stderr, &Piece::line("one  two ")).unwrap();
        outputs.close(&key(4), Cause::Trigger, 3);
        let text = fs::read_to_string(outputs.path(&key(4), Cause::Trigger)).unwrap();
        let line = read_line("a@x", text.trim_end_matches('\n')).unwrap();
        assert_eq!((line.attempt, line.stream.as_str(), line.text.as_str()), (2, "stderr", "one  two "));
        assert_eq!(line.time, "2026-11-21T03:00:01.250Z");
    }

    #[test]
    fn the_name_of_a_file_says_whose_it_is() {
        for (run, cause) in [
            ("a@2026-01-01T00:00:00Z", Cause::Trigger),
            ("12:a@2026-01-01T00:00:00.25Z#7", Cause::Backfill),
            ("a~b+1@2026-01-01T00:00:00.000000001Z", Cause::Once),
        ] {
            let key: RunKey = run.parse().unwrap();
            let job = (cause != Cause::Once).then_some(&key.job);
            assert_eq!(run_of(&path(Path::new("o"), &key, cause), job).as_ref(), Some(&key));
        }
    }

    #[test]
    fn the_output_of_a_dead_letter_stays_until_it_is_none_beside_what_else_is_kept() {
        for has_restart in [false, true] {
            let root = scratch::path("dead-output");
            let now = Timestamp::UNIX_EPOCH;
            let key = |second: u32| -> RunKey { format!("a@2026-01-01T00:00:0{second}Z").parse().unwrap() };
            let step = |second: u32, from: RunState, to: RunState| {
                let (key, due, at) = (key(second), now, now);
                Batch::new(1, vec![Operation::Move { key, from, to, due, at, reason: None }])
            };
            let mut outputs = Outputs::new(root.clone());
            let run = |outputs: &mut Outputs, second: u32| {
                outputs
                    .line(&key(second), Cause::Trigger, 1, now, Stream::Stdout, &Piece::line("x"))
                    .unwrap();
                outputs.close(&key(second), Cause::Trigger, 2);
                let there = (0..10).filter(|second| outputs.path(&key(*second), Cause::Trigger).exists());
                there.map(|second| second.to_string()).collect::<String>()
            };
            run(&mut outputs, 0);
            outputs.note(&step(0, RunState::Failed, RunState::Dead));
            if has_restart {
                outputs = Outputs::new(root.clone());
                outputs.know_dead(vec![key(0)]);
            }
            assert_eq!([1, 2, 3].map(|second| run(&mut outputs, second)), ["01", "012", "023"]);
            for second in [2, 3] {
                outputs.note(&step(second, RunState::Failed, RunState::Dead));
            }
            assert_eq!(
                [4, 5].map(|second| run(&mut outputs, second)),
                ["234", "2345"],
                "as many as of others"
            );
            outputs.note(&step(2, RunState::Dead, RunState::Cancelled));
            assert_eq!(run(&mut outputs, 6), "356");
            let _ = fs::remove_dir_all(&root);
        }
    }

    #[test]
    fn the_oldest_files_go_first_and_no_more_than_need_to() {
        let root = scratch::path("oldest");
        let path = |number: u32| {
            root.join(if number.is_multiple_of(2) { "a" } else { "b" }).join(format!("{number}.log"))
        };
        for number in 0..6 {
            fs::create_dir_all(path(number).parent().unwrap()).unwrap();
            let file = File::create(path(number)).unwrap();
            (&file).write_all(&[0; 100]).unwrap();
            let modified = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number.into());
            file.set_modified(modified).unwrap();
        }
        assert_eq!(remove_oldest_below(&root, 150, &HashSet::from([path(0)])), 2);
        assert_eq!((0..6).filter(|number| path(*number).exists()).collect::<Vec<_>>(), [0, 3, 4, 5]);
        assert_eq!(remove_oldest_below(&root, u64::MAX, &HashSet::new()), 4);
        assert_eq!(remove_oldest_below(&root, 1, &HashSet::new()), 0);
        let _ = fs::remove_dir_all(&root);
    }
}
