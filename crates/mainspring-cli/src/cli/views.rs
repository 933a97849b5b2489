//! The arguments of the commands that only look.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands).
//!
//! Source: the conventions of <https://clig.dev>.

#![expect(missing_docs, reason = "clap would take the text of a group for that of the help")]

use clap::Args;
use mainspring_job::RunState;

use super::serve::AskArgs;
use super::value::{Moment, parse_past, parse_state};

/// The arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only what came by `at` and waits
    #[arg(long)]
    pub pending: bool,
    /// Only jobs with this label; of several, with all
    #[arg(long, value_name = "NAME=TEXT", conflicts_with = "pending")]
    pub label: Vec<String>,
    /// How many of those that wait
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `show`.
#[derive(Debug, Args)]
pub struct JobArgs {
    /// The job's name
    pub job: String,
    /// Lists so many of the next times, without what is excluded
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub count: Option<u32>,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `history` and `dead list`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Only runs of this job
    pub job: Option<String>,
    /// Only runs in these states, such as failed,missed
    #[arg(long, value_name = "STATE,...", value_delimiter = ',', value_parser = parse_state)]
    pub state: Vec<RunState>,
    /// Only runs of this cause, such as trigger, request or once; notify or all
    #[arg(long)]
    pub cause: Option<String>,
    /// Only runs of jobs in this group
    #[arg(long)]
    pub group: Option<String>,
    /// Only runs from this time on: 17:30 is the last one, -90m is that much before now
    #[arg(long, value_name = "TIME|-DURATION", value_parser = parse_past, allow_hyphen_values = true)]
    pub since: Option<Moment>,
    /// Only runs before this time
    #[arg(long, value_name = "TIME|-DURATION", value_parser = parse_past, allow_hyphen_values = true)]
    pub until: Option<Moment>,
    /// Orders and bounds them by when they ended, those that have, and not by when they were due
    #[arg(long)]
    pub by_end: bool,
    /// How many runs
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Only what was asked of this job, run or pending job
    #[arg(value_name = "JOB|RUN")]
    pub of: Option<String>,
    /// Only what this actor asked, such as `uid 1000`
    #[arg(long)]
    pub actor: Option<String>,
    /// Only from this time on: 17:30 is the last one, -90m is that much before now
    #[arg(long, value_name = "TIME|-DURATION", value_parser = parse_past, allow_hyphen_values = true)]
    pub since: Option<Moment>,
    /// How many
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// A job, of which the latest run is meant, or a run as `history` names it
    #[arg(value_name = "JOB|RUN")]
    pub of: String,
    /// Continues with what is written from now on, of later runs of the job too
    #[arg(short, long)]
    pub follow: bool,
    /// Only the last so many lines of what is there
    #[arg(short = 'n', long)]
    pub count: Option<u32>,
    #[command(flatten)]
    pub ask: AskArgs,
}
