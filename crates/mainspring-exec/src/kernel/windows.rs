//! Windows, as far as a program without processes asks.
//!
//! Cost: a reading of a clock without a system call.
//!
//! Source: the performance counter counts the sleep of the machine:
//! <https://learn.microsoft.com/windows/win32/api/profileapi/nf-profileapi-queryperformancecounter>.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// What is counted from: the first question. Boot times of one program are compared with each other alone.
#[expect(clippy::disallowed_methods, reason = "this is the clock of the program")]
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What the first question is told: some callers take zero for a time that is not known.
const FIRST: Duration = Duration::from_secs(1);

/// The time since the start of the machine, but for a time that is the same for the whole program.
#[expect(clippy::disallowed_methods, reason = "this is the clock of the program")]
pub(crate) fn boot_time() -> Duration {
    FIRST + ORIGIN.elapsed()
}

/// What tells one start of the machine from the next is not known.
pub(crate) fn boot_id() -> String {
    String::new()
}
