//! Questions about the machine that the program runs on: which users there are, and which of them decide
//! about a file.
//!
//! ```text
//! name of a user ─▶ accounts ─▶ Account: numbers and groups to become
//! path           ─▶ walk ──┬──▶ regular: a file, open for reading, and who else could have chosen it
//!                          ├──▶ folder: a folder, found or made, and who else decides what is in it
//!                          └──▶ socket: a server and its user, or a socket of ours with its mode
//! name of a file or folder of our own ─▶ private: its mode
//! folder ─▶ directory: its lock, which makes one server its owner
//! the group of the program's file ─▶ lent_group ─▶ spool: the crontabs of users
//! ```
//!
//! [`net`] has the sockets within the machine. Windows has one user, and the folder `windows` what is left of
//! these questions.
//!
//! The crate is below the readers of files, the executor and the store. Each of them opens paths that other
//! users may have prepared, and none of them may depend on another.
//!
//! Cost: three system calls for each folder of a path; one look-up for each user.
//!
//! Does not judge what a file is for, and does not change the user of a process.

#![forbid(unsafe_code)]

mod account;
#[cfg_attr(windows, path = "windows/accounts.rs")]
pub mod accounts;
pub mod directory;
pub mod disk_room;
pub mod doubt;
#[cfg_attr(windows, path = "windows/folder.rs")]
pub mod folder;
#[cfg_attr(windows, path = "windows/identity.rs")]
mod identity;
#[cfg(unix)]
pub mod lent_group;
pub mod net;
#[cfg_attr(windows, path = "windows/private.rs")]
pub mod private;
#[cfg_attr(windows, path = "windows/regular.rs")]
pub mod regular;
mod regular_file;
#[cfg(test)]
#[path = "tests/scratch.rs"]
mod scratch;
#[cfg_attr(windows, path = "windows/socket.rs")]
pub mod socket;
#[cfg(unix)]
pub mod spool;
mod stale_socket;
#[cfg_attr(windows, path = "windows/sys.rs")]
pub mod sys;
pub mod temporary;
#[cfg(unix)]
pub mod walk;
