//! The arguments of the server, and of the commands that talk to it.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands).
//!
//! Source: the conventions of <https://clig.dev>; `at` and `every` after at(1) and watch(1).

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use jiff::tz::TimeZone;
use mainspring_job::{JobName, RunState};

use super::FormatArgs;
use super::value::{Moment, parse_grace, parse_moment, parse_period, parse_state, parse_zone};
use crate::place::Place;

/// Which server.
#[derive(Clone, Debug, Args)]
pub struct PlaceArgs {
    /// The data directory [default: $MAINSPRING_DATA, or as `mainspring serve --help` says]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

impl PlaceArgs {
    /// The directory that is meant.
    pub fn place(&self) -> Place {
        Place::find(self.data.as_deref())
    }
}

/// What the commands that talk to a server have in common.
#[derive(Clone, Debug, Args)]
pub struct AskArgs {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub place: PlaceArgs,
    /// Prints JSON: one document
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Job files (.toml) and crontabs
    #[arg(value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub place: PlaceArgs,
    /// Waits until the data directory is free, then takes over
    #[arg(long)]
    pub standby: bool,
    /// Keeps nothing: runs one crontab in the foreground, without history, catch-up and socket
    #[arg(long, conflicts_with_all = ["data", "standby"])]
    pub memory: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub format: FormatArgs,
    /// Time zone of jobs that name none [default: the system's]
    #[arg(long = "tz", value_name = "ZONE", value_parser = parse_zone)]
    pub zone: Option<TimeZone>,
    /// Time that running jobs have to end after SIGTERM, such as 500ms, 10s, 2m
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_grace)]
    pub grace: Duration,
}

/// The arguments of `show`.
#[derive(Debug, Args)]
pub struct JobArgs {
    /// The job's name
    pub job: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
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
    /// How many runs
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub count: u32,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// The arguments of `logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// A job, of which the latest run is meant, or a run as `history` names it
    #[arg(value_name = "JOB|RUN")]
    pub of: String,
    /// Goes on with what is written from now on, of later runs of the job too
    #[arg(short, long)]
    pub follow: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// The arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The job's name
    pub job: String,
    /// Waits for the end of the run, whose success is then the exit code
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// The arguments of `at`.
#[derive(Debug, Args)]
pub struct AtArgs {
    /// When: 17:30, '2026-12-31 23:59', 2026-12-31T23:59:00Z, or +90m from now
    #[arg(value_name = "TIME|+DURATION", value_parser = parse_moment)]
    pub when: Moment,
    /// A second submission with the same key changes nothing
    #[arg(long)]
    pub key: Option<String>,
    /// What it is called [default: a name is made]
    #[arg(long)]
    pub name: Option<JobName>,
    /// Policies, such as retry=3,backoff=10s or timeout=1h
    #[arg(long = "policy", value_name = "NAME=VALUE")]
    pub policies: Vec<String>,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
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
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// The arguments of `pause` and `resume`.
#[derive(Debug, Args)]
pub struct ScopeArgs {
    /// The job's name
    #[arg(required_unless_present = "all")]
    pub job: Option<String>,
    /// Everything
    #[arg(long, conflicts_with = "job")]
    pub all: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// The arguments of `cancel`.
#[derive(Debug, Args)]
pub struct CancelArgs {
    /// A run as `history` names it, a pending job of `at`, or a job, all of whose open runs are meant
    #[arg(value_name = "RUN|JOB")]
    pub of: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// The arguments of `remove`.
#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// The job's name
    pub job: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// The arguments of `backfill`.
#[derive(Debug, Args)]
pub struct BackfillArgs {
    /// The job's name
    pub job: String,
    /// Occurrences from this time
    #[arg(value_parser = parse_moment)]
    pub from: Moment,
    /// up to this one, both included
    #[arg(value_parser = parse_moment)]
    pub to: Moment,
    /// Runs them without asking
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub enum DeadCommand {
    /// Shows runs whose attempts have all failed
    List(HistoryArgs),
    /// Runs a dead letter again, with all its attempts
    Retry(DeadArgs),
    /// Lets go of a dead letter
    Drop(DeadArgs),
}

/// Which dead letter.
#[derive(Debug, Args)]
pub struct DeadArgs {
    /// The run as `dead list` names it
    pub run: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// The arguments of `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// Job files (.toml) and crontabs
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub format: FormatArgs,
    /// Shows what would change, and changes nothing
    #[arg(long)]
    pub diff: bool,
    /// Removes jobs that came from these files before and are not in them any more
    #[arg(long)]
    pub prune: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub ask: AskArgs,
}

/// The arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Exports runs as one JSON document a line, instead of the jobs as a job file
    #[arg(long)]
    pub history: bool,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub place: PlaceArgs,
}

/// The arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// The arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Writes a page for each command into this directory, instead of the main one to standard output
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}
