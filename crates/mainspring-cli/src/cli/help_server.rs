//! The text below the options in the help of the server's commands.
//!
//! Cost: none.
//!
//! Does not describe the options: their comments do, beside their types.
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

/// The codes of each command that talks to a server.
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

/// All of them.
pub(super) fn all_codes() -> String {
    table_of(&EXIT_CODES)
}

/// The help of a command, and the exit codes that it can end with.
pub(super) fn with_codes(text: &str, codes: &[u8]) -> String {
    let own: Vec<(u8, &str)> = EXIT_CODES.into_iter().filter(|(code, _)| codes.contains(code)).collect();
    format!("{text}\n\n{}", table_of(&own))
}

fn table_of(codes: &[(u8, &str)]) -> String {
    let rows: Vec<String> = codes.iter().map(|(code, says)| format!("\n  {code:<4} {says}")).collect();
    format!("Exit codes:{}", rows.concat())
}

pub(super) const SERVE: &str = include_str!("../../help/serve.txt").trim_ascii_end();

#[cfg(feature = "web")]
pub(super) const OPEN: &str = include_str!("../../help/open.txt").trim_ascii_end();

#[cfg(feature = "web")]
pub(super) const TOKEN: &str = include_str!("../../help/token.txt").trim_ascii_end();
pub(super) const STORE: &str = include_str!("../../help/store.txt").trim_ascii_end();
pub(super) const LIST: &str = include_str!("../../help/list.txt").trim_ascii_end();
pub(super) const SHOW: &str = include_str!("../../help/show.txt").trim_ascii_end();
pub(super) const HISTORY: &str = include_str!("../../help/history.txt").trim_ascii_end();
pub(super) const LOGS: &str = include_str!("../../help/logs.txt").trim_ascii_end();
pub(super) const RUN: &str = include_str!("../../help/run.txt").trim_ascii_end();
pub(super) const AT: &str = include_str!("../../help/at.txt").trim_ascii_end();
pub(super) const EVERY: &str = include_str!("../../help/every.txt").trim_ascii_end();
pub(super) const PAUSE: &str = include_str!("../../help/pause.txt").trim_ascii_end();
pub(super) const AUDIT: &str = include_str!("../../help/audit.txt").trim_ascii_end();
pub(super) const RESUME: &str = include_str!("../../help/resume.txt").trim_ascii_end();
pub(super) const CANCEL: &str = include_str!("../../help/cancel.txt").trim_ascii_end();
pub(super) const REMOVE: &str = include_str!("../../help/remove.txt").trim_ascii_end();
pub(super) const BACKFILL: &str = include_str!("../../help/backfill.txt").trim_ascii_end();
pub(super) const REWIND: &str = include_str!("../../help/rewind.txt").trim_ascii_end();
pub(super) const DEAD: &str = include_str!("../../help/dead.txt").trim_ascii_end();
pub(super) const APPLY: &str = include_str!("../../help/apply.txt").trim_ascii_end();
pub(super) const EXPORT: &str = include_str!("../../help/export.txt").trim_ascii_end();
pub(super) const STATUS: &str = include_str!("../../help/status.txt").trim_ascii_end();
pub(super) const TOP: &str = include_str!("../../help/top.txt").trim_ascii_end();
pub(super) const DOCTOR: &str = include_str!("../../help/doctor.txt").trim_ascii_end();
pub(super) const HEALTH: &str = include_str!("../../help/health.txt").trim_ascii_end();
pub(super) const COMPLETIONS: &str = include_str!("../../help/completions.txt").trim_ascii_end();
pub(super) const MAN: &str = include_str!("../../help/man.txt").trim_ascii_end();
