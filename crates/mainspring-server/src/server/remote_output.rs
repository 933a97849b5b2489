//! The output of a run whose attempts are at several servers: each server keeps the ends of its own attempts
//! in the store, and puts those of others into its file of the run.
//!
//! ```text
//!  attempt N is to start here ─▶ store: those before it ─▶ X.log ─▶ its lines ─▶ its end ─▶ store
//!  somebody asks ─▶ store: those after the last in X.log ─▶ X.live = X.log and these ── the run is over ─▶ X.log
//! ```
//!
//! So a file that ends with a line of attempt N has all that could be had of those before it. Who reads
//! files, as the listener does, needs to know nothing of other servers, and continues in the next file where
//! it was in the last.
//!
//! While it is asked for an open run, the store has what its server wrote until a moment ago: see
//! [`Reader::output`]. What a store has not kept, because more was written meanwhile than it keeps, is told
//! by a note.
//!
//! Cost: for a run that is open a question to the store each time, and what was written since. A run that an
//! earlier process has looked at is copied once.
//!
//! Does not ask by itself. What a server wrote that was killed is at that server alone.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use mainspring_job::{KeptOutput, MAX_KEPT_OUTPUT_BYTES, Reader, RunKey, RunPhase};

use mainspring_exec::output::MAX_OUTPUT_LINE_BYTES;
use mainspring_host::private;

use super::output::{LIVE, read_line};

/// How much of the end of a file is read to find its last whole line: two lines as long as can be.
const TAIL_BYTES: u64 = 4 * MAX_OUTPUT_LINE_BYTES as u64;
const _: () = assert!(TAIL_BYTES <= MAX_KEPT_OUTPUT_BYTES as u64, "it is read in one piece");

/// The files that this process writes, or has put together in part. It is held while a file is written, and
/// never while a store is asked: a worker that waits here cannot renew its lease.
static FILES: LazyLock<Mutex<Files>> = LazyLock::new(Mutex::default);

#[derive(Debug, Default)]
struct Files {
    /// How long each file was before the attempt that runs here.
    own: HashMap<PathBuf, u64>,
    /// How far each `X.live` is. What an earlier process has brought is brought again.
    brought: HashMap<PathBuf, Extent>,
}

/// The last attempt of which something was brought, and how many of the bytes that it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Extent {
    attempt: u32,
    bytes: u64,
}

fn files() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file of an attempt that runs here: nothing is brought into it until this is dropped.
#[derive(Debug)]
pub struct OwnFile {
    key: RunKey,
    attempt: u32,
    path: PathBuf,
}

impl OwnFile {
    /// Brings what the attempts before it have written elsewhere into the file, as far as that can be had. It
    /// is begun before the attempt.
    pub fn begin(reader: &mut dyn Reader, key: RunKey, attempt: u32, path: PathBuf) -> OwnFile {
        let before = match attempt {
            1 => Vec::new(),
            _ => reader.output(&key, last_attempt(&path), RunPhase::Over).unwrap_or_default(),
        };
        OwnFile::begin_after(before, key, attempt, path)
    }

    fn begin_after(before: Vec<KeptOutput>, key: RunKey, attempt: u32, path: PathBuf) -> OwnFile {
        let mut files = files();
        if 1 < attempt {
            // What was brought while one of them ran may lack the end.
            files.brought.remove(&path);
            let before: Vec<_> = before.into_iter().filter(|output| output.attempt < attempt).collect();
            let _ = files.add(&before, RunPhase::Over, &path);
            let _ = fs::remove_file(path.with_extension(LIVE));
        }
        let length = fs::metadata(&path).map_or(0, |found| found.len());
        files.own.insert(path.clone(), length);
        OwnFile { key, attempt, path }
    }

    /// The end of what the attempt has written, from the beginning of a line to the end of one. `None`: it
    /// has written nothing, or that cannot be read.
    pub fn output(&self) -> Option<KeptOutput> {
        let begin = files().own.get(&self.path).copied().unwrap_or_default();
        let mut file = File::open(&self.path).ok()?;
        let from = file.metadata().ok()?.len().saturating_sub(MAX_KEPT_OUTPUT_BYTES as u64).max(begin);
        let bytes = read_from(&mut file, from).ok()?;
        let first = if from == begin { 0 } else { line_end(&bytes).unwrap_or(bytes.len()) };
        let last = bytes.iter().rposition(|byte| *byte == b'\n').map_or(first, |end| (end + 1).max(first));
        let lines = String::from_utf8_lossy(&bytes[first..last]).into_owned();
        let mut output = KeptOutput::new(self.key.clone(), self.attempt, lines);
        output.left_out_bytes = from + first as u64 - begin;
        (0 < output.end()).then_some(output)
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        files().own.remove(&self.path);
    }
}

/// Brings what the attempts of a run have written at other servers, unless one runs here. What cannot be had
/// or written comes with the next call.
pub fn bring(reader: &mut dyn Reader, key: &RunKey, phase: RunPhase, path: &Path) {
    if files().own.contains_key(path) {
        return;
    }
    if let Ok(outputs) = reader.output(key, last_attempt(path), phase) {
        add(&outputs, phase, path);
    }
}

fn add(outputs: &[KeptOutput], phase: RunPhase, path: &Path) {
    let mut files = files();
    // It may run here since.
    if !files.own.contains_key(path) {
        let _ = files.add(outputs, phase, path);
    }
}

impl Files {
    /// These were kept. What the file has by now is passed over.
    fn add(&mut self, outputs: &[KeptOutput], phase: RunPhase, path: &Path) -> io::Result<()> {
        debug_assert!(outputs.is_sorted_by_key(|output| output.attempt), "they are in the order of attempts");
        let live = path.with_extension(LIVE);
        let known = self.brought.get(path).copied().filter(|_| live.exists());
        let begun = known.unwrap_or(Extent { attempt: last_attempt(path), bytes: u64::MAX });
        let end = outputs.iter().filter(|output| 0 < output.end()).map(end_of).max();
        let is_over = phase == RunPhase::Over;
        let Some(end) = end.filter(|end| begun < *end || (is_over && known.is_some())) else { return Ok(()) };
        if known.is_none() {
            begin_live(path, &live)?;
        }
        let mut file = private::file().append(true).create(true).open(&live)?;
        for output in outputs.iter().filter(|output| begun < end_of(output)) {
            let from = if output.attempt == begun.attempt { begun.bytes } else { 0 };
            write_rest(&mut file, output, from)?;
        }
        self.brought.insert(path.to_owned(), end.max(begun));
        if is_over {
            fs::rename(&live, path)?;
            self.brought.remove(path);
        }
        Ok(())
    }
}

fn end_of(output: &KeptOutput) -> Extent {
    Extent { attempt: output.attempt, bytes: output.end() }
}

/// What is in the file of a run stands before what is brought.
fn begin_live(path: &Path, live: &Path) -> io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    private::folder().create(directory)?;
    let mut file = private::file().write(true).create(true).truncate(true).open(live)?;
    if let Ok(mut before) = File::open(path) {
        io::copy(&mut before, &mut file)?;
        // A server that is killed leaves half a line.
        if !is_line_whole(&mut before)? {
            file.write_all(b"\n")?;
        }
    }
    Ok(())
}

fn is_line_whole(file: &mut File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    Ok(read_from(file, length.saturating_sub(1))?.last().is_none_or(|byte| *byte == b'\n'))
}

/// What an attempt has written after so many bytes.
fn write_rest(file: &mut File, output: &KeptOutput, from: u64) -> io::Result<()> {
    let lost = output.left_out_bytes.saturating_sub(from);
    if 0 < lost {
        let time = output.lines.split(' ').next().unwrap_or_default();
        let attempt = output.attempt;
        writeln!(file, "{time} {attempt} note {lost} bytes before this are at the server that ran it")?;
    }
    let there = usize::try_from(from.saturating_sub(output.left_out_bytes)).unwrap_or_default();
    file.write_all(output.lines.get(there..).unwrap_or_default().as_bytes())
}

/// The attempt that wrote the last whole line of a file; 0 if there is none.
fn last_attempt(path: &Path) -> u32 {
    let Ok(mut file) = File::open(path) else { return 0 };
    let length = file.metadata().map_or(0, |found| found.len());
    let bytes = read_from(&mut file, length.saturating_sub(TAIL_BYTES));
    let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    text.lines().rev().find_map(|line| read_line("", line)).map_or(0, |line| line.attempt)
}

fn read_from(file: &mut File, from: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MAX_KEPT_OUTPUT_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How many bytes the first line has.
fn line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use crate::server::output::readable;

    fn line(attempt: u32, number: usize) -> String {
        format!("2026-11-21T03:00:00.000Z {attempt} stdout line {number:06}\n")
    }

    fn output(attempt: u32, from: usize, to: usize) -> KeptOutput {
        let lines = (from..to).map(|number| line(attempt, number)).collect();
        let mut output = KeptOutput::new(key(), attempt, lines);
        output.left_out_bytes = (0..from).map(|number| line(attempt, number).len() as u64).sum();
        output
    }

    fn key() -> RunKey {
        "tea@2026-11-21T03:00:00Z".parse().unwrap()
    }

    fn texts(path: &Path) -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| line.splitn(3, ' ').nth(2).unwrap().replace("stdout line 00000", ""))
            .collect()
    }

    #[test]
    fn each_line_is_brought_once_while_a_run_is_open_and_the_file_is_whole_at_its_end() {
        let folder = scratch::path("brought");
        let path = folder.join("tea/20261121T030000Z.log");
        let mut files = Files::default();
        files.add(&[output(1, 0, 0)], RunPhase::Open, &path).unwrap();
        assert!(!path.parent().unwrap().exists(), "it has written nothing");
        for to in [1, 1, 3] {
            files.add(&[output(1, 0, to)], RunPhase::Open, &path).unwrap();
        }
        let live = readable(path.clone());
        assert_eq!(texts(&live), ["0", "1", "2"]);
        files.add(&[output(1, 2, 4)], RunPhase::Open, &path).unwrap();
        files.add(&[output(1, 6, 7)], RunPhase::Open, &path).unwrap();
        let lost = 2 * line(1, 0).len();
        let note = format!("note {lost} bytes before this are at the server that ran it");
        assert_eq!(texts(&live)[3..], ["3", &note, "6"]);
        // Another attempt, at another server.
        files.add(&[output(1, 6, 8), output(2, 0, 1)], RunPhase::Open, &path).unwrap();
        files.add(&[output(1, 6, 8), output(2, 0, 2)], RunPhase::Over, &path).unwrap();
        assert_eq!(readable(path.clone()), path);
        assert_eq!(texts(&path)[6..], ["7", "0", "1"]);
        files.add(&[output(1, 6, 8), output(2, 0, 2)], RunPhase::Over, &path).unwrap();
        assert_eq!(texts(&path)[6..], ["7", "0", "1"], "it is whole");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        // Of what is over the end is brought at once, and a file of an earlier process is made again.
        let other = folder.join("tea/20261121T040000Z.log");
        fs::write(other.with_extension(LIVE), "half a li").unwrap();
        Files::default().add(&[output(1, 6, 7)], RunPhase::Over, &other).unwrap();
        let note = format!("note {} bytes before this are at the server that ran it", 6 * line(1, 0).len());
        assert_eq!(texts(&other), [note.as_str(), "6"]);
        let _ = fs::remove_dir_all(&folder);
    }

    #[test]
    fn attempts_of_other_servers_stand_between_those_of_this_one() {
        let folder = scratch::path("own");
        let path = folder.join("tea/20261121T030000Z.log");
        let first = OwnFile::begin_after(Vec::new(), key(), 1, path.clone());
        assert_eq!(first.output(), None, "it has written nothing");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // The server is killed within a line.
        fs::write(&path, line(1, 0) + "2026-11-21T03:00:00.000Z 1 stdo").unwrap();
        assert_eq!(first.output(), Some(output(1, 0, 1)));
        add(&[output(2, 0, 1)], RunPhase::Open, &path);
        assert_eq!(readable(path.clone()), path, "nothing is brought while one runs here");
        drop(first);
        add(&[output(2, 0, 1)], RunPhase::Open, &path);
        assert_eq!(texts(&readable(path.clone())), ["0", "stdo", "0"]);
        // It had written more, and a third ran elsewhere.
        let before = vec![output(2, 0, 2), output(3, 0, 0), output(4, 0, 9)];
        let fourth = OwnFile::begin_after(before, key(), 4, path.clone());
        assert_eq!(texts(&readable(path.clone())), ["0", "stdo", "0", "1"], "its own is not brought");
        assert_eq!(readable(path.clone()), path);
        assert_eq!(fourth.output(), None);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all((line(4, 7) + "2026-11-21T03:00:00.000Z 4 std").as_bytes()).unwrap();
        let lines = line(4, 7);
        assert_eq!(fourth.output(), Some(KeptOutput::new(key(), 4, lines)), "its own lines alone");
        // The end of a long one, from a line on.
        let all: String = (8..10_000).map(|number| line(4, number)).collect();
        file.write_all(("out line 000000\n".to_owned() + &all).as_bytes()).unwrap();
        let end = fourth.output().unwrap();
        let (left_out, count) = (usize::try_from(end.left_out_bytes).unwrap(), end.lines.len());
        assert!(count <= MAX_KEPT_OUTPUT_BYTES && MAX_KEPT_OUTPUT_BYTES < count + line(4, 0).len());
        assert_eq!(end.lines, (line(4, 7) + &line(4, 0) + &all)[left_out..]);
        let _ = fs::remove_dir_all(&folder);
    }
}
