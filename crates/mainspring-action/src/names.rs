//! The names that job files may use, and the defaults where they name nothing.
//!
//! Readers of files check against these lists. Executors say what the names mean to the kernel and to HTTP.
//! The two cannot differ, because both read this file.
//!
//! Cost: none.
//!
//! Does not read or execute anything.
//!
//! Source: setrlimit(2), crontab(5) of Debian's cron 3.0pl1, RFC 9110 for the bodies of requests.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The shell, unless the job names another: crontab(5).
pub const DEFAULT_SHELL: &str = "/bin/sh";

/// The search path, unless the job sets PATH: crontab(5).
pub const DEFAULT_PATH: &str = "/usr/bin:/bin";

/// The shortest secret that signs: with fewer bytes it could be found by trying.
pub const MIN_KEY_BYTES: usize = 16;

/// The most output of one run that is kept, unless the job says otherwise: enough for a long report, and a
/// thousand runs of it fit on any disk.
pub const DEFAULT_OUTPUT_BYTES: u64 = 1 << 20;

/// How long a delivery may take where the job does not say.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest that a delivery may take: as long as it does, it holds one of the few places.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

const _: () = assert!(DEFAULT_TIMEOUT.as_secs() <= MAX_TIMEOUT.as_secs());

/// The most of an answer that is kept where the job does not say.
pub const DEFAULT_ANSWER_BYTES: u64 = 64 << 10;

/// The most output that a job may have kept of each run: a log file that an editor still opens.
pub const MAX_OUTPUT_BYTES: u64 = 1 << 30;

const _: () = assert!(DEFAULT_OUTPUT_BYTES <= MAX_OUTPUT_BYTES);
const _: () = assert!(DEFAULT_ANSWER_BYTES <= MAX_OUTPUT_BYTES);

/// The methods of a webhook.
pub const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// The most headers of a webhook: twice what a request needs.
pub const MAX_HEADERS: usize = 64;

/// The names of resource limits, each with its unit.
pub const LIMIT_NAMES: [&str; 9] = [
    "cpu_seconds",
    "file_bytes",
    "data_bytes",
    "stack_bytes",
    "core_bytes",
    "address_bytes",
    "open_files",
    "processes",
    "locked_bytes",
];

/// The least memory that a job may be held to: a shell and a program need as much, and what is less is a slip
/// of the unit.
pub const MIN_MEMORY_BYTES: u64 = 1 << 20;

/// The least and the most of a processor's time that a job may be held to, in hundredths of one processor:
/// what the kernel takes with its usual period, and more processors than a machine has.
pub const CPU_PERCENT: RangeInclusive<u32> = 1..=1_000_000;

/// Whether a request of this method may carry a body.
pub fn has_body(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// What becomes of a process whose server dies without ending it: by SIGKILL, for want of memory, by a bug.
/// And of one whose server cannot renew the lease by which it owns the jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// It continues as an orphan. So it does without the lease, though the next owner may start the job
    /// again beside it.
    #[default]
    Leave,
    /// When the server dies, the kernel sends it SIGKILL. That reaches the program itself and not what it has
    /// started, and no program that takes on rights when it is executed. Without the lease it is ended before
    /// another server may have the jobs.
    Kill,
}

impl Fate {
    /// What the word in a file means for this key, or what is usual without one.
    ///
    /// # Errors
    /// A word that this version does not know.
    pub fn of(key: &str, word: Option<&str>, usual: Fate) -> Result<Fate, String> {
        match word {
            None => Ok(usual),
            Some("leave") => Ok(Fate::Leave),
            Some("kill") => Ok(Fate::Kill),
            Some(word) => Err(format!("{key} is not {word}")),
        }
    }
}
