//! Copies of outputs in a shared store: another server [shows](super::remote_output) them that has not the
//! file.
//!
//! ```text
//!  a run has ended ─▶ path ─▶ thread: the end of the file ─▶ store
//! ```
//!
//! Cost: a thread, where the store keeps outputs; of each output its last quarter of a megabyte.
//!
//! Does not hold up the loop or the end of the server: what the store does not take within
//! `MAX_TRIES` tries is in the file alone, and so is what runs when the server is killed.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mainspring_job::{KeptOutput, MAX_KEPT_OUTPUT_BYTES, OutputKeeper, RunKey, StoreError};

use crate::waiting::wait_for;

/// How many outputs may wait for the store; of more the files alone are kept.
const MAX_WAITING: usize = 10_000;

/// How many go in one statement.
const MAX_AT_ONCE: usize = 64;

/// How often the same outputs are given, a second apart.
const MAX_TRIES: usize = 30;

/// The time between two tries.
const TRY_WAIT: Duration = Duration::from_secs(1);

/// Which run, and its file.
type EndedOutput = (RunKey, PathBuf);

/// The loop's side of the thread.
#[derive(Debug)]
pub(super) struct OutputUpload {
    sender: Option<SyncSender<EndedOutput>>,
    thread: Option<JoinHandle<()>>,
    /// The server ends: nothing is tried again.
    is_ending: Arc<AtomicBool>,
}

impl OutputUpload {
    /// Hands a keeper over to a thread, if the store has one.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub(super) fn start(keeper: Option<Box<dyn OutputKeeper>>) -> io::Result<OutputUpload> {
        let is_ending = Arc::new(AtomicBool::new(false));
        let Some(mut keeper) = keeper else {
            return Ok(OutputUpload { sender: None, thread: None, is_ending });
        };
        let (sender, ended) = sync_channel(MAX_WAITING);
        let over = Arc::clone(&is_ending);
        let work = move || work(&mut *keeper, &ended, &over);
        let thread = thread::Builder::new().name("outputs".to_owned()).spawn(work)?;
        Ok(OutputUpload { sender: Some(sender), thread: Some(thread), is_ending })
    }

    /// Whether anything is copied.
    pub(super) fn is_there(&self) -> bool {
        self.sender.is_some()
    }

    /// A run has ended whose output is in this file.
    pub(super) fn add(&self, key: RunKey, path: PathBuf) {
        if let Some(sender) = &self.sender {
            // What finds no place is in the file.
            let _ = sender.try_send((key, path));
        }
    }
}

impl Drop for OutputUpload {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::SeqCst);
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is on standard error.
            let _ = thread.join();
        }
    }
}

fn work(keeper: &mut dyn OutputKeeper, ended: &Receiver<EndedOutput>, is_ending: &AtomicBool) {
    while let Ok(first) = ended.recv() {
        let more = std::iter::from_fn(|| ended.try_recv().ok()).take(MAX_AT_ONCE - 1);
        let outputs: Vec<KeptOutput> = std::iter::once(first)
            .chain(more)
            .filter_map(|(key, path)| kept_output(key, &path).ok())
            .collect();
        for _ in 0..MAX_TRIES {
            let kept = if outputs.is_empty() { Ok(()) } else { keeper.keep(&outputs) };
            let passes = matches!(kept, Err(StoreError::Busy | StoreError::Unknown));
            if !passes || is_ending.load(Ordering::SeqCst) {
                break;
            }
            let _ = wait_for(&[], &[], Some(TRY_WAIT));
        }
    }
}

/// The end of a file of output, from the beginning of a line to the end of one.
///
/// # Errors
/// When it cannot be read.
pub fn kept_output(key: RunKey, path: &Path) -> io::Result<KeptOutput> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(MAX_KEPT_OUTPUT_BYTES as u64);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MAX_KEPT_OUTPUT_BYTES as u64).read_to_end(&mut bytes)?;
    let first = match from {
        0 => 0,
        _ => bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1),
    };
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(first, |end| (end + 1).max(first));
    let mut output = KeptOutput::new(key, String::from_utf8_lossy(&bytes[first..end]).into_owned());
    output.left_out_bytes = from + first as u64;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use std::fs;

    #[test]
    fn a_copy_is_the_end_of_the_file_from_a_line_on_and_says_what_is_left_out() {
        let folder = scratch::path("copies");
        fs::create_dir_all(&folder).unwrap();
        let key: RunKey = "backup@2026-11-21T03:00:00Z".parse().unwrap();
        let line = |number: usize| format!("2026-11-21T03:00:00.000Z 1 stdout line {number:06}\n");
        let (long, short) = (folder.join("long.log"), folder.join("short.log"));
        let text: String = (0..10_000).map(line).collect();
        fs::write(&long, &text).unwrap();
        fs::write(&short, line(7) + "2026-11-21T03:00:00.000Z 1 std").unwrap();
        let all = kept_output(key.clone(), &short).unwrap();
        assert_eq!((all.left_out_bytes, all.lines), (0, line(7)));
        let end = kept_output(key.clone(), &long).unwrap();
        assert!(end.lines.len() <= MAX_KEPT_OUTPUT_BYTES && end.lines.ends_with(&line(9_999)));
        assert_eq!(&text[usize::try_from(end.left_out_bytes).unwrap()..], end.lines);
        let _ = fs::remove_dir_all(&folder);
    }
}
