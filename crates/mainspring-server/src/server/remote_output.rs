//! The output of a run at another server, brought into a file here: who reads files, as the listener does,
//! needs to know nothing of other servers.
//!
//! ```text
//!  somebody asks for a run ─▶ no file here, or one that grows ─▶ its server: which lines? ─▶ those that are new ─▶ file
//! ```
//!
//! Beside a file that is not whole yet lies one with the ending `count`, which says how many lines were
//! brought. It goes with the last line. After a crash between the two some lines may stand there twice.
//!
//! Cost: for a run that is open a question to its server each time; for one that is over, one in all.
//!
//! Does not ask by itself, and brings nothing into a file that a run of this server writes.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use mainspring_job::Cause;

use super::output::{COUNT, path, written};
use crate::protocol::{LineWire, RunWire};

/// The end of an output, as its server tells it.
#[derive(Debug, Default)]
pub struct RemoteTail {
    /// How many lines stand before these.
    pub left_out: usize,
    /// The lines.
    pub lines: Vec<LineWire>,
    /// Whether there will be no more.
    pub is_over: bool,
}

/// Two who ask for the same run at once would write the same lines.
static ONE: Mutex<()> = Mutex::new(());

/// Brings what a run has written into its file below `outputs`. `ask` is called if that is not there yet, and
/// says what its server tells. What cannot be had or written is missing in the file, and comes with the next
/// call.
pub fn bring(outputs: &Path, run: &RunWire, ask: impl FnOnce() -> Option<RemoteTail>) {
    if run.started.is_none() {
        return;
    }
    let path = path(outputs, &run.run, run.cause == Cause::Once);
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let count = fs::read_to_string(path.with_extension(COUNT)).ok();
    if count.is_none() && path.exists() {
        return;
    }
    let count = count.and_then(|text| text.parse().ok()).unwrap_or(0);
    if let Some(told) = ask() {
        let _ = append(&path, count, &told);
    }
}

fn append(path: &Path, count: usize, told: &RemoteTail) -> io::Result<()> {
    let end = told.left_out + told.lines.len();
    let noted = path.with_extension(COUNT);
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    // First, so that a file that is not whole never stands alone.
    if !noted.exists() {
        fs::write(&noted, "0")?;
    }
    if count < end {
        let mut text = String::new();
        if let Some(first) = told.lines.first().filter(|_| count < told.left_out) {
            let lines = told.left_out - count;
            let left_out = format!("{lines} lines before these are at the server that ran it");
            text += &written(&LineWire {
                stream: "note".to_owned(),
                goes_on: false,
                text: left_out,
                ..first.clone()
            });
        }
        text.extend(told.lines.iter().skip(count.saturating_sub(told.left_out)).map(written));
        OpenOptions::new().append(true).create(true).mode(0o600).open(path)?.write_all(text.as_bytes())?;
    }
    if told.is_over {
        return fs::remove_file(noted);
    }
    fs::write(noted, end.max(count).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use mainspring_job::{Run, RunKey, RunState};

    const RUN: &str = "tea@2026-11-21T03:00:00Z";

    fn line(number: usize) -> LineWire {
        LineWire {
            run: RUN.to_owned(),
            attempt: 1,
            time: "2026-11-21T03:00:00.000Z".to_owned(),
            stream: "stdout".to_owned(),
            goes_on: false,
            text: format!("line {number}"),
        }
    }

    fn told(left_out: usize, end: usize, is_over: bool) -> RemoteTail {
        RemoteTail { left_out, lines: (left_out..end).map(line).collect(), is_over }
    }

    #[test]
    fn each_line_is_brought_once_and_what_is_whole_is_not_asked_for() {
        let folder = scratch::path("brought");
        let key: RunKey = RUN.parse().unwrap();
        let file = path(&folder, &key, false);
        let due = key.nominal;
        let mut run = RunWire::from(&Run::new(key, Cause::Trigger, RunState::Running, due, due));
        run.started = Some(due);
        let texts = || -> Vec<String> {
            let text = fs::read_to_string(&file).unwrap();
            text.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap().to_owned()).collect()
        };
        bring(&folder, &run, || None);
        assert!(!file.exists(), "its server does not answer");
        bring(&folder, &run, || Some(told(0, 1, false)));
        bring(&folder, &run, || Some(told(0, 1, false)));
        bring(&folder, &run, || Some(told(0, 3, false)));
        assert_eq!(texts(), ["stdout line 0", "stdout line 1", "stdout line 2"]);
        bring(&folder, &run, || Some(told(5, 6, true)));
        let note = "note 2 lines before these are at the server that ran it";
        assert_eq!(texts()[3..], [note, "stdout line 5"]);
        bring(&folder, &run, || panic!("all of it is here"));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "the count is gone");
        // A run that has not started has written nothing, and one of this server has its file.
        let waits = RunWire { started: None, ..run.clone() };
        bring(&folder, &waits, || panic!("there is nothing to ask for"));
        let _ = fs::remove_dir_all(&folder);
    }
}
