//! Faults and jobs of files as an answer tells them: so many, and how many are left out.
//!
//! ```text
//! files, one budget for the jobs of all ─▶ faults, then jobs, until the answer is as long as it may be
//! ```
//!
//! Cost: what is reported is written twice, the first time for its length, on the thread that has read the
//! files.
//!
//! Does not decide whether files are good: all faults count for that.

use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::problem::Problem as Found;
use mainspring_server::protocol::MAX_REQUEST_BYTES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::memory_budget::MAX_IDENTITY_BYTES;
use crate::problem::{Code, Fault, Problem};

/// A file as a client sends it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Sent")]
pub(super) struct SentFile {
    pub(super) path: String,
    pub(super) text: String,
}

/// How many problems are told of all files of a request: no person reads more, and with the first mended
/// there are others.
pub(super) const MAX_FAULTS: usize = 1_000;

/// How long what is reported of their problems may be. A message may have a name in it that is as long as the
/// file.
pub(super) const MAX_FAULTS_BYTES: usize = 4 << 20;

/// How long what is reported of their jobs may be: with their problems as long as the longest request.
const MAX_JOBS_BYTES: usize = MAX_REQUEST_BYTES - MAX_FAULTS_BYTES;

/// The longest line that is told with a problem in it. A job file may be one line.
const MAX_EXCERPT_BYTES: usize = 1_000;

const _: () =
    assert!(MAX_FAULTS * MAX_EXCERPT_BYTES <= MAX_FAULTS_BYTES, "excerpts alone leave no problem out");
const _: () = assert!(MAX_FAULTS_BYTES + MAX_JOBS_BYTES < MAX_IDENTITY_BYTES, "there is room for an answer");

/// What is left of an answer.
#[derive(Debug)]
pub(super) struct Telling {
    faults: usize,
    faults_bytes: usize,
    jobs_bytes: usize,
}

impl Default for Telling {
    fn default() -> Telling {
        Telling { faults: MAX_FAULTS, faults_bytes: MAX_FAULTS_BYTES, jobs_bytes: MAX_JOBS_BYTES }
    }
}

impl Telling {
    /// The faults of a file and what is worth knowing of it, and how many are left out.
    pub(super) fn faults(&mut self, read: &LoadedFile) -> (Vec<Fault>, usize) {
        // No problem goes unseen for a note.
        let mut shown: Vec<&Found> = read.problems.iter().chain(&read.remarks).take(self.faults).collect();
        shown.sort_by_key(|found| found.line_number);
        self.faults -= shown.len();
        let untold = read.problems.len() + read.remarks.len() - shown.len();
        let (faults, left_out) =
            list(&mut self.faults_bytes, shown.into_iter().map(|found| fault_in(read, found)));
        (faults, left_out + untold + read.unkept_count)
    }

    /// The same of its jobs.
    pub(super) fn jobs<T: Serialize>(&mut self, jobs: impl ExactSizeIterator<Item = T>) -> (Vec<T>, usize) {
        list(&mut self.jobs_bytes, jobs)
    }
}

/// The faults of all files of a request, where they are told together.
#[derive(Debug)]
pub(super) struct Faults {
    items: Vec<Fault>,
    bytes: usize,
    left_out: usize,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults { items: Vec::new(), bytes: MAX_FAULTS_BYTES, left_out: 0 }
    }
}

impl Faults {
    /// Those of a text that is no file of its client.
    pub(super) fn of_text(read: &LoadedFile) -> Faults {
        let mut faults = Faults::default();
        faults.extend(read, fault);
        faults
    }

    /// Adds those of a file.
    pub(super) fn add(&mut self, read: &LoadedFile) {
        self.extend(read, |found| fault_in(read, found));
    }

    fn extend(&mut self, read: &LoadedFile, fault: impl Fn(&Found) -> Fault) {
        let added = &read.problems[..read.problems.len().min(MAX_FAULTS - self.items.len())];
        let (items, left_out) = list(&mut self.bytes, added.iter().map(fault));
        self.items.extend(items);
        debug_assert!(self.items.len() <= MAX_FAULTS);
        self.left_out += left_out + read.problems.len() - added.len() + read.unkept_count;
    }

    /// Those of them that are told, and how many are left out.
    pub(super) fn list(self) -> (Vec<Fault>, usize) {
        (self.items, self.left_out)
    }

    /// A refusal because of them.
    pub(super) fn refusal(self, text: &str) -> Problem {
        let rest = match self.left_out {
            0 => String::new(),
            left_out => format!(", {left_out} more than are told"),
        };
        Problem { faults: self.items, ..Problem::new(Code::INVALID, format!("{text}{rest}")) }
    }
}

/// As many of these as the bytes that are left reach for, and how many are left out.
fn list<T: Serialize>(left: &mut usize, items: impl ExactSizeIterator<Item = T>) -> (Vec<T>, usize) {
    let count = items.len();
    let mut listed = Vec::new();
    for item in items {
        let comma = usize::from(!listed.is_empty());
        let text = serde_json::to_vec(&item).expect("a document has text and numbers alone");
        let Some(rest) = left.checked_sub(text.len() + comma) else {
            // What is behind is not told either, however short it is.
            *left = 0;
            break;
        };
        *left = rest;
        listed.push(item);
    }
    let left_out = count - listed.len();
    (listed, left_out)
}

/// A problem with its place, and the file that it is in.
fn fault_in(read: &LoadedFile, found: &Found) -> Fault {
    Fault { path: Some(read.source.name().to_owned()), ..fault(found) }
}

/// A problem with its place.
fn fault(found: &Found) -> Fault {
    let line = String::from_utf8_lossy(&found.line);
    let column = found.column();
    let width = line.get(found.fault.span.clone()).map_or(1, |marked| marked.chars().count().max(1));
    let excerpt = Some(line.into_owned()).filter(|line| line.len() <= MAX_EXCERPT_BYTES);
    Fault {
        line: Some(found.line_number),
        column: Some(column),
        end_column: Some(column + width),
        hint: found.fault.hint.clone(),
        excerpt,
        ..Fault::new(found.severity, found.fault.message.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_told_up_to_its_end_or_to_the_length_of_the_answer() {
        let remains = |bytes: usize, items: &[&str]| {
            let mut left = bytes;
            let (listed, left_out) = list(&mut left, items.iter());
            assert_eq!(listed.len(), items.len() - left_out);
            (left_out, left)
        };
        assert_eq!(remains(0, &[]), (0, 0));
        assert_eq!(remains(9, &["aa", "b", "c"]), (1, 0), "a comma and two quotes for each but the first");
        assert_eq!(remains(12, &["aa", "b", "c"]), (0, 0));
        assert_eq!(remains(11, &["aa", "long long", "c"]), (2, 0), "none behind what is left out");
        assert_eq!(remains(100, &["\u{1}"]), (0, 92), "as it is sent");
    }
}
