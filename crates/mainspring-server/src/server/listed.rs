//! A row of a list of jobs, and the list as text.
//!
//! ```text
//! {"name":"j","state":"active", .. ,"source_code":"file" ,"source_line":7,"runs":3, .. ,"queued":1 ,"last": .. }
//!  └ start: what the definition and the time say ────────┘└ counts: what changes with each run ───┘└ last ────┘
//! ```
//!
//! Numbers change with each run, so they are written for each list. What stands before them changes with the
//! definition, a pause, and the next time.
//!
//! Cost: a copy of each part.
//!
//! Does not know when a part is out of date: see [`job_rows`](super::job_rows).

use std::sync::Arc;

use mainspring_job::{JobName, Run};

use super::describe;
use crate::protocol::{JobCounts, JobWire, WrittenJobs};

/// What stands before how the last run went.
const LAST: &[u8] = b",\"last\":";

/// Why a text can be written.
const JSON: &str = "wire types have string keys and finite numbers";

/// How the row of a job without a last run ends.
const NO_LAST: &str = ",\"last\":null}";

/// More than the numbers of a row and its commas take.
const COUNTS_BYTES: usize = 160;

/// Adds the numbers to the text of a row.
fn write_counts(text: &mut Vec<u8>, counts: JobCounts) {
    let at = text.len();
    serde_json::to_writer(&mut *text, &counts).expect("numbers are JSON");
    assert_eq!(text[at], b'{', "they are an object");
    text[at] = b',';
    assert_eq!(text.pop(), Some(b'}'), "of nothing else");
}

/// How the last run of a job went, as JSON; `None` if there is none.
pub(super) type LastText = Option<Arc<str>>;

/// A row of a list.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) name: JobName,
    pub(super) start: Arc<str>,
    pub(super) counts: JobCounts,
    /// `None`: the store is to be asked.
    pub(super) last: Option<LastText>,
}

/// A job as JSON up to its numbers.
pub(super) fn start_of(wire: &JobWire) -> Arc<str> {
    let text = serde_json::to_string(wire).expect(JSON);
    let mut counts = Vec::new();
    write_counts(&mut counts, wire.counts());
    let text =
        text.strip_suffix(NO_LAST).expect("a list tells neither of definitions nor, yet, of last runs");
    let start = text.as_bytes().strip_suffix(&counts[..]).expect("the numbers stand before the last run");
    text[..start.len()].into()
}

/// How a run went.
pub(super) fn last_text(run: &Run) -> Arc<str> {
    serde_json::to_string(&describe::run(run)).expect(JSON).into()
}

/// A page of which everything is known.
pub(super) fn page(rows: &[Listed], after: Option<String>) -> WrittenJobs {
    let last_bytes =
        |row: &Listed| row.last.iter().flatten().map(|last| last.len() + LAST.len()).sum::<usize>();
    let bytes = rows.iter().map(|row| row.start.len() + COUNTS_BYTES + last_bytes(row)).sum();
    let mut jobs = Vec::with_capacity(bytes);
    for row in rows {
        if !jobs.is_empty() {
            jobs.push(b',');
        }
        jobs.extend_from_slice(row.start.as_bytes());
        write_counts(&mut jobs, row.counts);
        match row.last.as_ref().expect("everything is known") {
            None => jobs.extend_from_slice(NO_LAST.as_bytes()),
            Some(last) => {
                jobs.extend_from_slice(LAST);
                jobs.extend_from_slice(last.as_bytes());
                jobs.push(b'}');
            }
        }
    }
    debug_assert!(jobs.len() <= bytes, "there was room for all");
    WrittenJobs { jobs, after }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::RunWire;

    fn json(wire: &impl serde::Serialize) -> String {
        serde_json::to_string(wire).expect(JSON)
    }

    #[test]
    fn a_row_is_what_serde_would_write() {
        let run = RunWire { run: "j@now".to_owned(), ..RunWire::default() };
        let most = JobWire {
            source_line: Some(usize::MAX),
            runs: u64::MAX,
            failures: u32::MAX,
            running: usize::MAX,
            queued: usize::MAX,
            ..JobWire::default()
        };
        let said = JobWire { name: "j".to_owned(), action: "say \"so\"".to_owned(), ..JobWire::default() };
        for job in [said, most] {
            for last in [None, Some(run.clone())] {
                let row = Listed {
                    name: JobName::new("j").expect("a name"),
                    start: start_of(&job),
                    counts: job.counts(),
                    last: Some(last.as_ref().map(|last| json(last).into())),
                };
                let whole = JobWire { last, ..job.clone() };
                let written = page(&[row.clone(), row], None).jobs;
                let written = String::from_utf8(written).expect("UTF-8");
                assert_eq!(format!("[{written}]"), json(&[whole.clone(), whole]));
            }
        }
    }
}
