//! The arguments of what has to do with HTTP, in a program that was made without it: none.
//!
//! Cost: none.
//!
//! Does not listen.

use clap::Args;

/// Where to listen: nowhere.
#[derive(Clone, Debug, Args)]
pub struct ListenArgs {}
