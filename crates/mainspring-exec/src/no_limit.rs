//! Windows has no limit of open files that a program could reach.
//!
//! Cost: none.

/// The limit as it is now.
pub fn limit() -> u64 {
    u64::MAX
}
