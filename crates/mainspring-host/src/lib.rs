//! Questions about the machine that the program runs on: which users there are, and which of them decide
//! about a file.
//!
//! ```text
//! name of a user ─▶ accounts ─▶ Account: numbers and groups to become
//! path           ─▶ walk ──┬──▶ regular: a file, open for reading, and who else could have chosen it
//!                          ├──▶ folder: a folder, found or made, and who else decides what is in it
//!                          └──▶ socket: a server and its user, or a socket of ours with its mode
//! folder ─▶ directory: its lock, which makes one server its owner
//! the group of the program's file ─▶ lent_group ─▶ spool: the crontabs of users
//! ```
//!
//! The crate is below the readers of files, the executor and the store. Each of them opens paths that other
//! users may have prepared, and none of them may depend on another.
//!
//! Cost: three system calls for each folder of a path; one look-up for each user.
//!
//! Does not judge what a file is for, and does not change the user of a process.

#![forbid(unsafe_code)]

pub mod accounts;
pub mod directory;
pub mod folder;
pub mod lent_group;
pub mod regular;
#[cfg(test)]
mod scratch;
pub mod socket;
pub mod spool;
pub mod sys;
pub mod walk;
