//! The live view in the terminal: what `mainspring top` shows, and how keys change it.
//!
//! ```text
//! keys: bytes ─▶ Key ─▶ board: state ─▶ Wish: what the command is to do
//!                         ▲     └─▶ lines ─▶ frame: only what changed ─▶ raw: the terminal
//! snapshot: answers of a server
//! ```
//!
//! Cost: see the files.
//!
//! Does not ask a server: see `commands/top.rs`.

pub mod board;
pub mod frame;
pub mod key;
pub mod raw;
mod rows;
pub mod snapshot;
