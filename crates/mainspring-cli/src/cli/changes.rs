//! The arguments of the commands that change something.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands).
//!
//! Source: the conventions of <https://clig.dev>; `at` and `every` after at(1) and watch(1).

#![expect(missing_docs, reason = "clap would take the text of a group for that of the help")]

use clap::{Args, Subcommand};
use mainspring_job::JobName;

use super::FormatArgs;
use super::serve::AskArgs;
use super::value::{Moment, parse_later, parse_moment, parse_past, parse_period};
use super::views::HistoryArgs;

/// The arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The job's name
    pub job: String,
    /// When, instead of now: 17:30, 'tomorrow 9:00', 2026-12-31T23:59:00Z, or +90m from now
    #[arg(long, value_name = "TIME|+DURATION", value_parser = parse_moment)]
    pub at: Option<Moment>,
    /// After so long: 90s, 1h30m
    #[arg(long, value_name = "DURATION", value_parser = parse_later, conflicts_with = "at")]
    pub r#in: Option<Moment>,
    /// A second request with the same key changes nothing
    #[arg(long)]
    pub key: Option<String>,
    /// Waits for the end of the run, whose success is then the exit code
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `at`.
#[derive(Debug, Args)]
pub struct AtArgs {
    /// When: 17:30, noon, tomorrow, '2026-12-31 23:59', 2026-12-31T23:59:00Z, +90m, +1d1h
    #[arg(value_name = "TIME|+DURATION", value_parser = parse_moment)]
    pub when: Moment,
    /// Runs it at once if that time is past, instead of refusing it
    #[arg(long)]
    pub even_if_past: bool,
    /// A second submission with the same key changes nothing
    #[arg(long)]
    pub key: Option<String>,
    /// What it is called [default: a name is made]
    #[arg(long)]
    pub name: Option<JobName>,
    /// Policies, such as retry=3,backoff=10s or timeout=1h
    #[arg(long = "policy", value_name = "NAME=VALUE")]
    pub policies: Vec<String>,
    /// Runs it as this user, NAME or NAME:GROUP; only if the server runs as root
    #[arg(long, value_name = "USER", conflicts_with = "webhook")]
    pub user: Option<String>,
    /// Sends a request to this URL instead of running a command
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub webhook: Option<String>,
    /// What the request says
    #[arg(long, value_name = "TEXT", requires = "webhook", conflicts_with = "command")]
    pub body: Option<String>,
    /// The command and its arguments [default: a script for /bin/sh on standard input]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `every`.
#[derive(Debug, Args)]
pub struct EveryArgs {
    /// How often: 90s, 5m, 1h30m
    #[arg(value_name = "DURATION", value_parser = parse_period)]
    pub period: String,
    /// What it is called [default: the command's first word]
    #[arg(long)]
    pub name: Option<JobName>,
    /// Replaces a job of that name that came by `every`
    #[arg(long)]
    pub replace: bool,
    /// Policies, such as retry=3,backoff=10s or timeout=1h
    #[arg(long = "policy", value_name = "NAME=VALUE")]
    pub policies: Vec<String>,
    /// Runs it as this user, NAME or NAME:GROUP; only if the server runs as root
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `pause`.
#[derive(Debug, Args)]
pub struct PauseArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// Continues by itself at this time
    #[arg(long, value_name = "TIME|+DURATION", value_parser = parse_moment)]
    pub until: Option<Moment>,
    /// What others are told of it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub note: String,
}

/// The arguments of `resume`, and what `pause` is for.
#[derive(Debug, Args)]
pub struct ScopeArgs {
    /// The job's name
    #[arg(required_unless_present = "all", value_name = "JOB|--all")]
    pub job: Option<String>,
    /// Everything
    #[arg(long, conflicts_with = "job")]
    pub all: bool,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `cancel`.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// A run as `history` names it, a pending job of `at`, or a job, all of whose open runs are meant
    #[arg(value_name = "RUN|JOB")]
    pub of: String,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `remove`.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// The job's name
    pub job: String,
    /// Drops its runs and their output too, also those of a job that is gone already
    #[arg(long)]
    pub drop_history: bool,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `backfill`.
#[derive(Debug, Args)]
pub struct BackfillArgs {
    /// The job's name
    pub job: String,
    /// Occurrences from this time: 17:30 is the last one, -90m is that much before now
    #[arg(value_parser = parse_past, allow_hyphen_values = true)]
    pub from: Moment,
    /// up to this one, both included
    #[arg(value_parser = parse_past, allow_hyphen_values = true)]
    pub to: Moment,
    /// Runs them without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Waits for the end of all of them, whose success is then the exit code
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `rewind`.
#[derive(Debug, Args)]
pub struct RewindArgs {
    /// The job's name
    pub job: String,
    /// Rewinds it without asking
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub enum DeadCommand {
    /// Shows runs whose attempts have all failed
    List(HistoryArgs),
    /// Runs a dead letter again, or all, with all their attempts
    Retry(DeadArgs),
    /// Discards a dead letter, or all
    Drop(DeadArgs),
}

/// Which dead letter.
#[derive(Debug, Args)]
pub struct DeadArgs {
    /// The run as `dead list` names it
    #[arg(required_unless_present = "all", value_name = "RUN|--all")]
    pub run: Option<String>,
    /// All dead letters that there are now
    #[arg(long, conflicts_with = "run")]
    pub all: bool,
    #[command(flatten)]
    pub ask: AskArgs,
}

/// The arguments of `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Job files (.toml) and crontabs
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub format: FormatArgs,
    /// Shows what would change, and changes nothing
    #[arg(long)]
    pub diff: bool,
    /// Removes jobs that came from these files before and are not in them any more
    #[arg(long)]
    pub prune: bool,
    #[command(flatten)]
    pub ask: AskArgs,
}
