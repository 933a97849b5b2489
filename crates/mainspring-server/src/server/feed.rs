//! A file of output, line by line, on its way to a client.
//!
//! Cost: one read per line; the file stays open as long as a client reads it.
//!
//! Does not wait: the loop asks again after each turn.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use mainspring_job::{JobName, RunKey};

use super::output::read_line;
use crate::protocol::Response;

/// A file of output on its way to a client.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) id: u64,
    pub(super) key: RunKey,
    /// The job whose later runs are fed too.
    pub(super) job: Option<JobName>,
    pub(super) follows: bool,
    reader: Option<BufReader<File>>,
    line: String,
}

impl Feed {
    pub(super) fn new(id: u64, key: RunKey, job: Option<JobName>, follows: bool, path: &Path) -> Feed {
        Feed { id, key, job, follows, reader: File::open(path).ok().map(BufReader::new), line: String::new() }
    }

    /// Whether there was no file yet.
    pub(super) fn is_empty(&self) -> bool {
        self.reader.is_none()
    }

    /// The next whole line; `None` at the end of what is there.
    pub(super) fn next_line(&mut self) -> Option<Response> {
        let reader = self.reader.as_mut()?;
        loop {
            match reader.read_line(&mut self.line) {
                Ok(0) | Err(_) => return None,
                // The rest of the line is still to be written.
                Ok(_) if !self.line.ends_with('\n') => {}
                Ok(_) => {
                    let line = std::mem::take(&mut self.line);
                    if let Some(line) = read_line(&self.key.to_string(), line.trim_end_matches('\n')) {
                        return Some(Response::Line(line));
                    }
                }
            }
        }
    }
}
