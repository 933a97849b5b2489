//! A file of jobs as the API has it, with its problems and their places.
//!
//! Cost: a document for each problem.
//!
//! Does not read files: the places are in the text that `check` prints.

use jiff::tz::TimeZone;
use mainspring_file::problem::Severity;
use mainspring_server::protocol::FileStateWire;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Civils, civils};
use crate::problem::Fault;

/// A file of jobs, as `status` has it and with its problems.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileState {
    /// As the command line has it.
    #[serde(flatten)]
    wire: FileStateWire,
    /// How it is, for programs.
    state_code: FileCode,
    /// The same for people.
    state: &'static str,
    /// What is wrong with it, with its places.
    faults: Vec<Fault>,
    /// In the zone of the server.
    civil: Civils,
}

/// How a file is.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum FileCode {
    Applied,
    Problems,
    Unreadable,
}

impl FileState {
    /// A file that is served.
    pub fn new(wire: FileStateWire, zone: &TimeZone) -> FileState {
        let (state_code, state) = match (wire.problems.is_empty(), &wire.read) {
            (true, Some(_)) => (FileCode::Applied, "in force"),
            (false, Some(_)) => {
                (FileCode::Problems, "it has problems; the set before is in force, or the rest of it")
            }
            (_, None) => (FileCode::Unreadable, "nothing of it is in force"),
        };
        let faults = wire.problems.lines().filter_map(|line| fault(&wire.name, line)).collect();
        let civil = civils(zone, [("read", wire.read)]);
        FileState { wire, state_code, state, faults, civil }
    }
}

/// A problem out of the text that `check` prints: `NAME:LINE:COLUMN: MESSAGE`.
fn fault(name: &str, line: &str) -> Option<Fault> {
    let rest = line.strip_prefix(name)?.strip_prefix(':')?;
    let mut parts = rest.splitn(3, ':');
    let place = (
        parts.next()?.trim().parse::<usize>().ok(),
        parts.next().and_then(|text| text.trim().parse::<usize>().ok()),
    );
    let (line, column, message) = match place {
        (Some(line), Some(column)) => (Some(line), Some(column), parts.next().unwrap_or_default()),
        _ => (None, None, rest),
    };
    let (severity, message) = match message.trim().strip_prefix("warning: ") {
        Some(message) => (Severity::Warning, message),
        None => (Severity::Problem, message.trim()),
    };
    Some(Fault { line, column, ..Fault::new(severity, message) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_a_file_has_its_place() {
        let found = fault("/etc/jobs.toml", "/etc/jobs.toml:3:8: there is no zone `X`").unwrap();
        assert_eq!((found.line, found.column), (Some(3), Some(8)));
        assert_eq!(found.message, "there is no zone `X`");
        assert_eq!(fault("/etc/jobs.toml", "  3 | cron"), None);
        let whole = fault("a", "a: it is not there").unwrap();
        assert_eq!((whole.line, whole.message.as_str()), (None, "it is not there"));
    }
}
