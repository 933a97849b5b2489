//! Windows has no crontabs of users.
//!
//! Cost: none.

/// What the name of a crontab begins with while it is being written.
pub const TEMPORARY: &str = "tmp.";
