//! Windows has no limit of open files that a program could reach.
//!
//! Cost: none.

/// The most runs at one time.
pub const MAX_RUNNING: usize = 256;

/// What the most runs need.
pub const NEEDED: u64 = 0;

/// The limit as it is now.
pub fn limit() -> u64 {
    u64::MAX
}

/// How many runs there may be at one time under a limit.
pub fn runs_at_once(_: u64) -> usize {
    MAX_RUNNING
}
