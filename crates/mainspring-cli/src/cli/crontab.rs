//! The arguments of `crontab`, as crontab(1) of Debian has them.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands).
//!
//! Source: crontab(1) of Debian's cron 3.0pl1; IEEE Std 1003.1, crontab.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser};

/// Installs, shows, edits and removes the crontab of a user.
#[derive(Debug, Parser)]
#[command(name = "crontab", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = include_str!("../../help/crontab.txt").trim_ascii_end())]
pub struct CrontabCli {
    /// What to do.
    #[command(flatten)]
    pub args: CrontabArgs,
}

/// The arguments of `crontab`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["file", "edit", "list", "remove"]))]
pub struct CrontabArgs {
    /// Installs this file; - is standard input
    #[arg(value_name = "FILE")]
    pub file: Option<String>,
    /// Edits it with $VISUAL, $EDITOR or /usr/bin/editor
    #[arg(short = 'e', long)]
    pub edit: bool,
    /// Shows it
    #[arg(short = 'l', long)]
    pub list: bool,
    /// Removes it
    #[arg(short = 'r', long)]
    pub remove: bool,
    /// Asks before it is removed
    #[arg(short = 'i', long, requires = "remove")]
    pub ask: bool,
    /// Checks FILE only
    #[arg(short = 'n', long, requires = "file", conflicts_with_all = ["edit", "list", "remove"])]
    pub dry_run: bool,
    /// Whose it is, for root [default: yours]
    #[arg(short = 'u', long, value_name = "USER")]
    pub user: Option<String>,
    /// Where the places of cron are
    #[arg(long, value_name = "DIR", hide = true)]
    pub root: Option<PathBuf>,
}
