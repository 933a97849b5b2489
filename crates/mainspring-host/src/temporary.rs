//! The name of a crontab that is not whole yet.
//!
//! Cost: none.

/// What the name of a crontab begins with while it is being written.
pub const TEMPORARY: &str = "tmp.";
