//! The arguments of `open` and `token`: who may come in over HTTP.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands).
//!
//! Source: the conventions of <https://clig.dev>.

#![expect(missing_docs, reason = "clap would take the text of a group for that of the help")]

use clap::{Args, Subcommand};
use mainspring_job::JobName;
use mainspring_web::scope::Scope;

use super::serve::{AskArgs, DataArgs};

/// The arguments of `open`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Prints the address and starts no browser
    #[arg(long)]
    pub print: bool,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Makes a token and prints it, once
    Add(TokenAddArgs),
    /// Shows who has a token
    List(TokenListArgs),
    /// Takes a token away; its sessions end
    Remove(TokenRemoveArgs),
}

/// The arguments of `token list`.
#[derive(Debug, Args)]
pub struct TokenListArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// Prints JSON: one document
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `token add`.
#[derive(Debug, Args)]
pub struct TokenAddArgs {
    /// Who gets it: a name without blanks
    pub name: JobName,
    /// What it allows: metrics, look, operate or define; each holds those before it
    #[arg(long)]
    pub scope: Scope,
    #[command(flatten)]
    pub data: DataArgs,
}

/// The arguments of `token remove`.
#[derive(Debug, Args)]
pub struct TokenRemoveArgs {
    /// Whose it is
    pub name: String,
    #[command(flatten)]
    pub data: DataArgs,
}
