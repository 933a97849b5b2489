//! The command line: what can be said to the program, and its help.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands). A command line that cannot be understood ends the
//! program with exit code 2.
//!
//! Source: the conventions of <https://clig.dev>.

use clap::{Args, Parser, Subcommand};
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub mod changes;
pub mod crontab;
pub mod expression;
pub mod format;
mod help;
pub mod import;
#[cfg_attr(not(feature = "web"), path = "cli/no_listen.rs")]
pub mod listen;
pub mod serve;
pub mod simulate;
pub mod store;
#[cfg(feature = "web")]
pub mod token;
pub mod value;
pub mod views;

use changes::{
    ApplyArgs, AtArgs, BackfillArgs, CancelArgs, DeadCommand, EveryArgs, PauseArgs, RemoveArgs, RewindArgs,
    RunArgs, ScopeArgs,
};
use expression::{ExplainArgs, NextArgs, TranslateArgs};
use format::FormatArgs;
use import::ImportArgs;
use serve::{AskArgs, CompletionsArgs, ExportArgs, ManArgs, ServeArgs, TopArgs};
use simulate::SimulateArgs;
use value::{parse_time, parse_zone};
use views::{AuditArgs, HistoryArgs, JobArgs, ListArgs, LogsArgs};

/// Runs jobs at their times, durably; checks, simulates and explains schedules.
#[derive(Debug, Parser)]
#[command(name = "mainspring", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = help::with_codes(include_str!("../help/examples.txt"), help::ALL))]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the jobs of files and of the commands below, until stopped
    #[command(after_help = help::with_codes(include_str!("../help/serve.txt"), help::OF_SERVE))]
    Serve(ServeArgs),
    /// Shows the jobs, when each is due next, and how it went last
    #[command(after_help = help::with_codes(include_str!("../help/list.txt"), help::ASKING))]
    List(ListArgs),
    /// Shows one job
    #[command(after_help = help::with_codes(include_str!("../help/show.txt"), help::NAMING))]
    Show(JobArgs),
    /// Shows what ran, and what did not and why
    #[command(after_help = help::with_codes(include_str!("../help/history.txt"), help::NAMING))]
    History(HistoryArgs),
    /// Shows what a run wrote
    #[command(after_help = help::with_codes(include_str!("../help/logs.txt"), help::NAMING))]
    Logs(LogsArgs),
    /// Runs a job, now or at a time
    #[command(after_help = help::with_codes(include_str!("../help/run.txt"), help::OF_RUN))]
    Run(RunArgs),
    /// Runs a command once, at a time
    #[command(after_help = help::with_codes(include_str!("../help/at.txt"), help::TAKING))]
    At(AtArgs),
    /// Runs a command again and again
    #[command(after_help = help::with_codes(include_str!("../help/every.txt"), help::TAKING))]
    Every(EveryArgs),
    /// Pauses a job, or all
    #[command(after_help = help::with_codes(include_str!("../help/pause.txt"), help::NAMING))]
    Pause(PauseArgs),
    /// Lets a job go on, or all
    #[command(after_help = help::with_codes(include_str!("../help/resume.txt"), help::NAMING))]
    Resume(ScopeArgs),
    /// Ends a run, or withdraws one that waits
    #[command(after_help = help::with_codes(include_str!("../help/cancel.txt"), help::NAMING))]
    Cancel(CancelArgs),
    /// Removes a job that came by command
    #[command(after_help = help::with_codes(include_str!("../help/remove.txt"), help::NAMING_AND_TAKING))]
    Remove(RemoveArgs),
    /// Runs a job for times that have passed, after a preview
    #[command(after_help = help::with_codes(include_str!("../help/backfill.txt"), help::NAMING))]
    Backfill(BackfillArgs),
    /// Plans a job from now on that waits because the clock was ahead, after a preview
    #[command(after_help = help::with_codes(include_str!("../help/rewind.txt"), help::NAMING_AND_TAKING))]
    Rewind(RewindArgs),
    /// Shows, retries and drops runs that failed for good
    #[command(subcommand, after_help = help::with_codes(include_str!("../help/dead.txt"), help::NAMING))]
    Dead(DeadCommand),
    /// Gives the server files of jobs
    #[command(after_help = help::with_codes(include_str!("../help/apply.txt"), help::OF_APPLY))]
    Apply(ApplyArgs),
    /// Prints all jobs as a job file, or the history
    #[command(after_help = help::with_codes(include_str!("../help/export.txt"), help::ASKING))]
    Export(ExportArgs),
    /// Shows how the server is
    #[command(after_help = help::with_codes(include_str!("../help/status.txt"), help::ASKING))]
    Status(AskArgs),
    /// Opens the page of the server in a browser, signed in
    #[cfg(feature = "web")]
    #[command(after_help = help::with_codes(include_str!("../help/open.txt"), help::TAKING))]
    Open(token::OpenArgs),
    /// Makes, shows and takes away tokens for the HTTP API
    #[cfg(feature = "web")]
    #[command(subcommand, after_help = help::with_codes(include_str!("../help/token.txt"), help::OF_TOKEN))]
    Token(token::TokenCommand),
    /// Copies a store into one of the other kind, or makes the tables of a database
    #[command(subcommand, after_help = help::with_codes(include_str!("../help/store.txt"), help::ASKING))]
    Store(store::StoreCommand),
    /// Shows who asked for what
    #[command(after_help = help::with_codes(include_str!("../help/audit.txt"), help::ASKING))]
    Audit(AuditArgs),
    /// Shows the server live in the terminal: jobs, runs, output
    #[command(after_help = help::with_codes(include_str!("../help/top.txt"), help::ASKING))]
    Top(TopArgs),
    /// Looks for trouble
    #[command(after_help = help::with_codes(include_str!("../help/doctor.txt"), help::ASKING))]
    Doctor(AskArgs),
    /// Asks the server how it is, and nothing else: for a container's health check
    #[command(after_help = help::with_codes(include_str!("../help/health.txt"), help::ASKING))]
    Health(AskArgs),
    /// Shows every problem and warning in job files and crontabs, and runs nothing
    #[command(after_help = help::with_codes(include_str!("../help/check.txt"), help::OF_CHECK))]
    Check(CheckArgs),
    /// Writes a job file out of crontabs, timers of systemd, CronJobs of Kubernetes and other tables
    #[command(after_help = help::of_offline(include_str!("../help/import.txt")))]
    Import(ImportArgs),
    /// Installs, shows, edits and removes the crontab of a user, as crontab does
    #[command(after_help = help::with_codes(include_str!("../help/crontab.txt"), help::OF_CRONTAB))]
    Crontab(crontab::CrontabArgs),
    /// Prints the next times of a cron expression
    #[command(after_help = help::with_codes(include_str!("../help/next.txt"), help::OF_NEXT))]
    Next(NextArgs),
    /// Says in English what an expression means
    #[command(after_help = help::of_offline(include_str!("../help/explain.txt")))]
    Explain(ExplainArgs),
    /// Writes an expression in another language, where that is exact
    #[command(after_help = help::of_offline(include_str!("../help/translate.txt")))]
    Translate(TranslateArgs),
    /// Shows what files of jobs would run in a span of time, without running it
    #[command(after_help = help::of_offline(include_str!("../help/simulate.txt")))]
    Simulate(SimulateArgs),
    /// Prints a script that completes command lines in a shell
    #[command(after_help = include_str!("../help/completions.txt").trim_ascii_end())]
    Completions(CompletionsArgs),
    /// Prints the manual page, or writes one for each command
    #[command(after_help = include_str!("../help/man.txt").trim_ascii_end())]
    Man(ManArgs),
}

/// The arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Job files (.toml) and crontabs; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub format: FormatArgs,
    /// Warnings count as problems: they make the exit code 6
    #[arg(long)]
    pub strict: bool,
    /// Looks also at this machine: who may write the files, and what of their programs is there
    #[arg(long)]
    pub here: bool,
    /// Prints one JSON document
    #[arg(long)]
    pub json: bool,
    /// Time zone of the entries above which no CRON_TZ stands [default: the system's]
    #[arg(long = "tz", value_name = "ZONE", value_parser = parse_zone)]
    pub zone: Option<TimeZone>,
    /// Warn of changes of the clock in the year after this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = parse_time)]
    pub from: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_lines_fit_the_terminal() {
        let mut cli = Cli::command();
        for command in cli.get_subcommands_mut() {
            let help = command.render_long_help().to_string();
            let longest = help.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(longest.chars().count() <= 104, "{longest}");
        }
    }
}
