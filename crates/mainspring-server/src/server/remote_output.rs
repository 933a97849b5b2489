//! The output of a run at another server, brought into a file here: who reads files, as the listener does,
//! needs to know nothing of other servers.
//!
//! ```text
//!  somebody asks for a run ─▶ no file here ─▶ store: which lines are new? ─▶ X.live ── the run is over ─▶ X.log
//! ```
//!
//! While it is asked for an open run, the store has what its server wrote until a moment ago: see
//! [`Reader::output`]. What a store has not kept, because more was written meanwhile than it keeps, is told
//! by a note.
//!
//! Cost: for a run that is open a question to the store each time, and the end of its output once more; for
//! one that is over, one in all.
//!
//! Does not ask by itself, and brings nothing into a file that a run of this server writes.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use mainspring_job::{KeptOutput, Reader, RunKey, RunPhase};

use super::output::LIVE;

/// How many bytes of the file at the other server were brought into each file that is not whole. Two who ask
/// for the same run wait for each other here. What an earlier process has brought is brought anew.
static BROUGHT: LazyLock<Mutex<HashMap<PathBuf, u64>>> = LazyLock::new(Mutex::default);

/// Brings what a run has written at another server into its file, unless that is here. What cannot be had or
/// written comes with the next call.
pub fn bring(reader: &mut dyn Reader, key: &RunKey, phase: RunPhase, path: &Path) {
    let mut brought = BROUGHT.lock().unwrap_or_else(PoisonError::into_inner);
    if !path.exists()
        && let Ok(Some(output)) = reader.output(key, phase)
    {
        let _ = add(&mut brought, &output, phase, path);
    }
}

fn add(
    brought: &mut HashMap<PathBuf, u64>,
    output: &KeptOutput,
    phase: RunPhase,
    path: &Path,
) -> io::Result<()> {
    let live = path.with_extension(LIVE);
    let known = brought.get(&live).copied();
    // What is shorter than before is what another attempt wrote, at another server.
    let from = known.filter(|known| *known <= output.end()).unwrap_or_default();
    if from == output.end() && (phase == RunPhase::Open || known.is_none()) {
        return Ok(());
    }
    if known.is_none() {
        let _ = fs::remove_file(&live);
        let directory = path.parent().unwrap_or(path);
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut file = OpenOptions::new().append(true).create(true).mode(0o600).open(&live)?;
    let lost = output.left_out_bytes.saturating_sub(from);
    if 0 < lost {
        let time = output.lines.split(' ').next().unwrap_or_default();
        writeln!(file, "{time} 1 note {lost} bytes before this are at the server that ran it")?;
    }
    let there = usize::try_from(from.saturating_sub(output.left_out_bytes)).unwrap_or_default();
    file.write_all(output.lines.get(there..).unwrap_or_default().as_bytes())?;
    brought.insert(live.clone(), output.end());
    if phase == RunPhase::Over {
        fs::rename(&live, path)?;
        brought.remove(&live);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;
    use crate::server::output::readable;

    #[test]
    fn each_line_is_brought_once_while_a_run_is_open_and_the_file_is_whole_at_its_end() {
        let folder = scratch::path("brought");
        let path = folder.join("tea/20261121T030000Z.log");
        let key: RunKey = "tea@2026-11-21T03:00:00Z".parse().unwrap();
        let line = |number: usize| format!("2026-11-21T03:00:00.000Z 1 stdout line {number}\n");
        let kept = |from: usize, to: usize| {
            let mut output = KeptOutput::new(key.clone(), (from..to).map(line).collect());
            output.left_out_bytes = (0..from).map(|number| line(number).len() as u64).sum();
            output
        };
        let texts = |path: &Path| -> Vec<String> {
            let text = fs::read_to_string(path).unwrap();
            text.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap().to_owned()).collect()
        };
        let mut brought = HashMap::new();
        add(&mut brought, &kept(0, 0), RunPhase::Open, &path).unwrap();
        assert!(!path.parent().unwrap().exists(), "it has written nothing");
        for to in [1, 1, 3] {
            add(&mut brought, &kept(0, to), RunPhase::Open, &path).unwrap();
        }
        let live = readable(path.clone());
        assert_eq!(texts(&live), ["stdout line 0", "stdout line 1", "stdout line 2"]);
        add(&mut brought, &kept(2, 4), RunPhase::Open, &path).unwrap();
        add(&mut brought, &kept(6, 7), RunPhase::Open, &path).unwrap();
        let lost = 2 * line(0).len();
        let note = format!("note {lost} bytes before this are at the server that ran it");
        assert_eq!(texts(&live)[3..], ["stdout line 3", &note, "stdout line 6"]);
        // Another attempt begins a file of its own, at another server.
        add(&mut brought, &kept(0, 1), RunPhase::Open, &path).unwrap();
        add(&mut brought, &kept(0, 2), RunPhase::Over, &path).unwrap();
        assert_eq!(readable(path.clone()), path);
        assert_eq!(texts(&path)[6..], ["stdout line 0", "stdout line 1"]);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        // Of what is over the end is brought at once, and a file of an earlier process is made anew.
        let other = folder.join("tea/20261121T040000Z.log");
        fs::write(other.with_extension(LIVE), "half a li").unwrap();
        add(&mut HashMap::new(), &kept(6, 7), RunPhase::Over, &other).unwrap();
        let note = format!("note {} bytes before this are at the server that ran it", 6 * line(0).len());
        assert_eq!(texts(&other), [note.as_str(), "stdout line 6"]);
        let _ = fs::remove_dir_all(&folder);
    }
}
