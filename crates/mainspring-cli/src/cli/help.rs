//! The exit codes below the help of each command.
//!
//! Cost: none.
//!
//! Does not hold the texts: they are the files in `help/`. Does not describe the options: their comments do,
//! beside their types.
//!
//! Source: the conventions of <https://clig.dev>.

/// Every exit code and what it says, as the manual has them.
const EXIT_CODES: [(u8, &str); 10] = [
    (0, "done"),
    (1, "failed"),
    (2, "the command line was not understood"),
    (3, "no server answers at the data directory"),
    (4, "there is no such job or run"),
    (5, "a name or key is taken, or the data directory is in use"),
    (6, "a file or an expression has a problem; for check --strict: or a warning"),
    (7, "a permission is missing, or a file is not safe to run"),
    (75, "not now: the server is full or still starting; try again later"),
    (124, "run --wait: the run took longer than its timeout"),
];

/// The codes of all commands together.
pub(super) const ALL: &[u8] = &[0, 1, 2, 3, 4, 5, 6, 7, 75, 124];

/// Those of each command that talks to a server.
pub(super) const ASKING: &[u8] = &[0, 1, 2, 3, 7, 75];

/// Those of a command that names a job or a run.
pub(super) const NAMING: &[u8] = &[0, 1, 2, 3, 4, 7, 75];

/// Those of a command that takes a name which may be taken.
pub(super) const TAKING: &[u8] = &[0, 1, 2, 3, 5, 7, 75];

/// Those of a command that does both.
pub(super) const NAMING_AND_TAKING: &[u8] = &[0, 1, 2, 3, 4, 5, 7, 75];

pub(super) const OF_SERVE: &[u8] = &[0, 1, 2, 5, 6, 7, 75];

pub(super) const OF_CHECK: &[u8] = &[0, 1, 2, 6, 7];

pub(super) const OF_NEXT: &[u8] = &[0, 1, 2, 3, 4, 6, 7, 75];

pub(super) const OF_RUN: &[u8] = &[0, 1, 2, 3, 4, 7, 75, 124];

pub(super) const OF_CRONTAB: &[u8] = &[0, 1, 2, 6, 7];

pub(super) const OF_APPLY: &[u8] = &[0, 1, 2, 3, 5, 6, 7, 75];

#[cfg(feature = "web")]
pub(super) const OF_TOKEN: &[u8] = &[0, 1, 2, 4, 5, 7];

/// Whether `EXIT_CODES` says what these codes are, each once and in order: what it does not, no help says.
const fn are_told(codes: &[u8]) -> bool {
    let (mut row, mut index) = (0, 0);
    while row < EXIT_CODES.len() && index < codes.len() {
        if EXIT_CODES[row].0 == codes[index] {
            index += 1;
        }
        row += 1;
    }
    index == codes.len()
}

const _: () = assert!(are_told(ALL));
const _: () = assert!(ALL.len() == EXIT_CODES.len());
const _: () = assert!(are_told(ASKING));
const _: () = assert!(are_told(NAMING));
const _: () = assert!(are_told(TAKING));
const _: () = assert!(are_told(NAMING_AND_TAKING));
const _: () = assert!(are_told(OF_SERVE));
const _: () = assert!(are_told(OF_CHECK));
const _: () = assert!(are_told(OF_NEXT));
const _: () = assert!(are_told(OF_RUN));
const _: () = assert!(are_told(OF_CRONTAB));
const _: () = assert!(are_told(OF_APPLY));

/// The help of a command, and the exit codes that it can end with.
pub(super) fn with_codes(text: &str, codes: &[u8]) -> String {
    let own = EXIT_CODES.iter().filter(|(code, _)| codes.contains(code));
    let rows: String = own.map(|(code, says)| format!("\n  {code:<4} {says}")).collect();
    format!("{}\n\nExit codes:{rows}", text.trim_ascii_end())
}

/// The help of a command that asks no server, with the exit codes of those.
pub(super) fn of_offline(text: &str) -> String {
    format!("{}\n\n{}", text.trim_ascii_end(), include_str!("../../help/exit-codes.txt").trim_ascii_end())
}
