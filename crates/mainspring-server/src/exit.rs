//! The exit codes of the program.
//!
//! | code | name | means |
//! |---|---|---|
//! | 0 | [`Exit::Ok`] | done; for `run`: ended in order after a signal |
//! | 1 | [`Exit::Failed`] | unreadable file, closed output, a limit cut the output short, no exact translation |
//! | 2 | [`Exit::Usage`] | the command line was not understood |
//! | 6 | [`Exit::Invalid`] | a crontab or an expression has a problem; for `check --strict`: or a warning |
//!
//! The gaps belong to commands to come; a code, once given, keeps its meaning.
//!
//! Cost: none.
//!
//! Does not pass on the exit status of the commands it runs: those are in the log.
//!
//! Source: own.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// All went well.
    Ok = 0,
    /// Something outside the given file or expression went wrong, or what was asked for cannot be had in full.
    Failed = 1,
    /// The command line was not understood.
    Usage = 2,
    /// A crontab or an expression has a problem.
    Invalid = 6,
}

impl Exit {
    /// The exit code of two things that were both done. [`Exit::Failed`] counts for more than a problem that was found:
    /// what was not read or not reached may hide any problem.
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
        let codes = [Exit::Ok, Exit::Failed, Exit::Usage, Exit::Invalid].map(|exit| exit as u8);
        assert_eq!(codes, [0, 1, 2, 6]);
    }

    #[test]
    fn a_failure_counts_for_more_than_a_problem() {
        assert_eq!(Exit::Invalid.and(Exit::Failed), Exit::Failed);
        assert_eq!(Exit::Ok.and(Exit::Invalid), Exit::Invalid);
        assert_eq!(Exit::Ok.and(Exit::Ok), Exit::Ok);
    }
}
