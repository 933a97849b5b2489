//! What the parts of the program ask of the machine they run on: who is who, and whose files are whose.
//!
//! ```text
//! name of a user ─▶ accounts ─▶ Account: numbers and groups to become
//! path           ─▶ walk ──┬──▶ regular: a file, open for reading, and who else could have chosen it
//!                          └──▶ folder: a folder, found or made, and who else decides what is in it
//! ```
//!
//! Stands below the readers of files, the executor and the store alike, because each of them opens paths that
//! others may have prepared, and none of them stands on another.
//!
//! Cost: three system calls for each folder of a path; one look-up for each user.
//!
//! Does not judge what a file is for, and does not become anybody.

#![forbid(unsafe_code)]

pub mod accounts;
pub mod folder;
pub mod regular;
pub mod walk;
