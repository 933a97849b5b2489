//! What the routes answer, by subject.
//!
//! Cost: see each.
//!
//! Does not check who asks: that was done before.

pub mod act;
pub mod define;
pub mod events;
pub mod explain;
pub mod files;
pub mod jobs;
pub mod log;
pub mod look;
pub mod meta;
pub mod once;
pub mod requests;
pub mod runs;
pub mod upcoming;
