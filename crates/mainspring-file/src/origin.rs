//! The origin of a job's definition, and the words for that in the store.
//!
//! | origin | in the store | its jobs |
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

/// What the origin of a served file begins with in the store.
const SERVED: &str = "serve:";

/// The source of the jobs of a program.
const PROGRAM: &str = "program:";

/// Where a definition came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The command line: `every`.
    Command,
    /// A file that was applied; so are the files of stores that knew no other kind.
    Applied(String),
    /// A file that `serve` was given.
    Served(String),
    /// The program that the loop runs in.
    Program,
}

impl Origin {
    /// The origin that a job's source says.
    pub fn of(source: &str) -> Origin {
        match source.strip_prefix(SERVED) {
            _ if source.is_empty() => Origin::Command,
            _ if source == PROGRAM => Origin::Program,
            Some(path) => Origin::Served(path.to_owned()),
            None => Origin::Applied(source.to_owned()),
        }
    }

    /// The file that is served under a name.
    pub fn served(name: &str) -> Origin {
        let path = std::path::absolute(name).unwrap_or_else(|_| Path::new(name).to_owned());
        Origin::Served(path.to_string_lossy().into_owned())
    }

    /// The words in the store.
    pub fn source(&self) -> String {
        match self {
            Origin::Command => String::new(),
            Origin::Program => PROGRAM.to_owned(),
            Origin::Applied(path) => path.clone(),
            Origin::Served(path) => format!("{SERVED}{path}"),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Command => f.write_str("the command line"),
            Origin::Program => f.write_str("the program"),
            Origin::Applied(path) => write!(f, "{path} (applied)"),
            Origin::Served(path) => f.write_str(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_origin_is_read_back() {
        for origin in
            [Origin::Command, Origin::Program, Origin::Applied("/a".into()), Origin::served("/b/../c")]
        {
            assert_eq!(Origin::of(&origin.source()), origin);
        }
        assert_eq!(Origin::served("/b/../c").to_string(), "/b/../c");
        assert!(Origin::served("c").to_string().ends_with("/c"));
    }
}
