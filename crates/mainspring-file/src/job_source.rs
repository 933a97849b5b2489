//! The source of a job's definition, and the words for that in the store.
//!
//! | source | in the store | its jobs |
//! |---|---|---|
//! | a file that `serve` was given | `serve:PATH`, as it was typed, made absolute | are those of the file, and go when it is not given any more |
//! | a file that was applied | `PATH` | stay until somebody removes them |
//! | `every` | nothing | stay until somebody removes them |
//! | a program with jobs of its own | `program:` | stay until somebody removes them |
//!
//! A path is kept as it was typed. The target of a symbolic link may change with each deploy, and the jobs
//! are still those of the same file.
//!
//! Cost: some strings.
//!
//! Does not look at the file.

use std::fmt;
use std::path::Path;

/// What the source of a served file begins with in the store.
const SERVED: &str = "serve:";

/// The source of the jobs of a program.
const PROGRAM: &str = "program:";

const _: () = assert!(SERVED.as_bytes()[0] != PROGRAM.as_bytes()[0], "one does not begin with the other");

/// Where a definition came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobSource {
    /// The command line: `every`.
    Command,
    /// A file that was applied; so are the files of stores that knew no other kind.
    Applied(String),
    /// A file that `serve` was given.
    Served(String),
    /// The program that the loop runs in.
    Program,
}

impl JobSource {
    /// The source that a job's source says.
    pub fn of(source: &str) -> JobSource {
        match source.strip_prefix(SERVED) {
            _ if source.is_empty() => JobSource::Command,
            _ if source == PROGRAM => JobSource::Program,
            Some(path) => JobSource::Served(path.to_owned()),
            None => JobSource::Applied(source.to_owned()),
        }
    }

    /// The file that is served under a name.
    pub fn served(name: &str) -> JobSource {
        let path = std::path::absolute(name).unwrap_or_else(|_| Path::new(name).to_owned());
        JobSource::Served(path.to_string_lossy().into_owned())
    }

    /// The words in the store.
    pub fn source(&self) -> String {
        match self {
            JobSource::Command => String::new(),
            JobSource::Program => PROGRAM.to_owned(),
            JobSource::Applied(path) => path.clone(),
            JobSource::Served(path) => format!("{SERVED}{path}"),
        }
    }
}

impl fmt::Display for JobSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobSource::Command => f.write_str("the command line"),
            JobSource::Program => f.write_str("the program"),
            JobSource::Applied(path) => write!(f, "{path} (applied)"),
            JobSource::Served(path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_origin_is_read_back() {
        for job_source in [
            JobSource::Command,
            JobSource::Program,
            JobSource::Applied("/a".into()),
            JobSource::served("/b/../c"),
        ] {
            assert_eq!(JobSource::of(&job_source.source()), job_source);
        }
        assert_eq!(JobSource::served("/b/../c").to_string(), "/b/../c");
        assert!(JobSource::served("c").to_string().ends_with("/c"));
    }
}
