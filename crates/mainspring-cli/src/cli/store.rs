//! The arguments of `store`: where jobs are kept.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands).
//!
//! Source: the conventions of <https://clig.dev>.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with a store.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Copies all jobs, runs and what waits into an empty store of the other kind
    Copy(StoreCopyArgs),
    /// Makes or migrates the tables of a database
    Migrate(StoreMigrateArgs),
}

/// The arguments of `store copy`.
#[derive(Debug, Args)]
pub struct StoreCopyArgs {
    /// What is copied: sqlite:DIR, postgres:URL, or file:FILE with a URL in its first line
    pub source: String,
    /// Where to: the same
    pub target: String,
}

/// The arguments of `store migrate`.
#[derive(Debug, Args)]
pub struct StoreMigrateArgs {
    /// Prints the SQL that would be done, and changes nothing
    #[arg(long)]
    pub preview: bool,
    /// The database: postgres://USER@HOST/DATABASE [default: $MAINSPRING_STORE]
    #[arg(long, value_name = "URL", conflicts_with = "store_file")]
    pub store: Option<String>,
    /// A file whose first line is the URL, which other users do not see in a list of processes
    #[arg(long, value_name = "FILE")]
    pub store_file: Option<PathBuf>,
}
