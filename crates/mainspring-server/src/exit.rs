//! The exit codes of the program.
//!
//! | code | name | means |
//! |---|---|---|
//! | 0 | [`Exit::Ok`] | done; for `serve`: ended in order after a signal; for `run --wait`: the run succeeded |
//! | 1 | [`Exit::Failed`] | unreadable file, output that cannot be written, a limit cut the output short; for `serve`: the reader of its log has gone, which ends no other command; for `run --wait`: the run failed |
//! | 2 | [`Exit::Usage`] | the command line was not understood |
//! | 3 | [`Exit::Unreachable`] | no server answers at the data directory |
//! | 4 | [`Exit::NotFound`] | there is no such job or run |
//! | 5 | [`Exit::Conflict`] | a name or a key is taken, or a data directory is in use |
//! | 6 | [`Exit::Invalid`] | a file or an expression has a problem; for `check --strict`: or a warning |
//! | 7 | [`Exit::Denied`] | a permission is missing, or a file is not safe to run |
//! | 75 | [`Exit::Temporary`] | not now: the server is full, or still starting; try again |
//! | 124 | [`Exit::TimedOut`] | the run that was waited for took longer than its timeout |
//!
//! A code, once given, keeps its meaning. 75 is EX_TEMPFAIL of sysexits.h, 124 is what timeout(1) returns.
//!
//! Cost: none.
//!
//! Does not pass on the exit status of the commands that it runs: the log has it.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// All went well.
    Ok = 0,
    /// Something outside the given file or expression went wrong, or what was asked for cannot be had in
    /// full.
    Failed = 1,
    /// The command line was not understood.
    Usage = 2,
    /// No server answers.
    Unreachable = 3,
    /// There is no such job or run.
    NotFound = 4,
    /// Something is taken already.
    Conflict = 5,
    /// A file or an expression has a problem.
    Invalid = 6,
    /// It is not allowed.
    Denied = 7,
    /// Not now.
    Temporary = 75,
    /// What was waited for took too long.
    TimedOut = 124,
}

impl Exit {
    /// The exit code of two things that were both done. [`Exit::Failed`] counts for more than a problem that
    /// was found: what was not read or not reached may hide any problem.
    pub fn and(self, other: Exit) -> Exit {
        match (self, other) {
            (Exit::Failed, _) | (_, Exit::Failed) => Exit::Failed,
            (one, other) => one.max(other),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_documented_ones() {
        let first = [Exit::Ok, Exit::Failed, Exit::Usage, Exit::Unreachable, Exit::NotFound];
        let last = [Exit::Conflict, Exit::Invalid, Exit::Denied, Exit::Temporary, Exit::TimedOut];
        assert_eq!(first.map(|exit| exit as u8), [0, 1, 2, 3, 4]);
        assert_eq!(last.map(|exit| exit as u8), [5, 6, 7, 75, 124]);
    }

    #[test]
    fn a_failure_counts_for_more_than_a_problem() {
        assert_eq!(Exit::Invalid.and(Exit::Failed), Exit::Failed);
        assert_eq!(Exit::Ok.and(Exit::Invalid), Exit::Invalid);
        assert_eq!(Exit::Ok.and(Exit::Ok), Exit::Ok);
    }
}
