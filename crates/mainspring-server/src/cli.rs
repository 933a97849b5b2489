//! The command line: what can be said to the program, and its help.
//!
//! Cost: none worth a word.
//!
//! Does not do anything: see [`commands`](crate::commands). A command line that cannot be understood ends the program
//! with exit code 2.
//!
//! Source: the conventions of <https://clig.dev>.

use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::crontab::Format;

pub mod expression;
mod help;
pub mod simulate;
pub mod value;

use expression::{ExplainArgs, NextArgs, TranslateArgs};
use help::{CHECK, EXAMPLES, EXIT_CODES, EXPLAIN, NEXT, RUN, SIMULATE, TRANSLATE};
use simulate::SimulateArgs;
use value::{parse_grace, parse_time, parse_zone};

/// Runs the commands of crontabs at their times, checks and simulates crontabs, and explains expressions.
#[derive(Debug, Parser)]
#[command(name = "mainspring", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the commands of a crontab at their times until stopped
    #[command(after_help = format!("{RUN}\n\n{EXIT_CODES}"))]
    Run(RunArgs),
    /// Shows every problem and warning in crontabs, and runs nothing
    #[command(after_help = format!("{CHECK}\n\n{EXIT_CODES}"))]
    Check(CheckArgs),
    /// Prints the next times of a cron expression
    #[command(after_help = format!("{NEXT}\n\n{EXIT_CODES}"))]
    Next(NextArgs),
    /// Says in English what an expression means
    #[command(after_help = format!("{EXPLAIN}\n\n{EXIT_CODES}"))]
    Explain(ExplainArgs),
    /// Writes an expression in another language, where that is exact
    #[command(after_help = format!("{TRANSLATE}\n\n{EXIT_CODES}"))]
    Translate(TranslateArgs),
    /// Shows what crontabs would run in a span of time, without running it
    #[command(after_help = format!("{SIMULATE}\n\n{EXIT_CODES}"))]
    Simulate(SimulateArgs),
}

/// The arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The crontab; - is standard input
    pub file: String,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub format: FormatArgs,
    /// Time zone of the entries above which no CRON_TZ stands [default: the system's]
    #[arg(long = "tz", value_name = "ZONE", value_parser = parse_zone)]
    pub zone: Option<TimeZone>,
    /// Time between SIGTERM and SIGKILL for running commands, such as 500ms, 10s, 2m
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_grace)]
    pub grace: Duration,
}

/// The arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The crontabs; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub format: FormatArgs,
    /// Warnings count as problems: they make the exit code 6
    #[arg(long)]
    pub strict: bool,
    /// Time zone of the entries above which no CRON_TZ stands [default: the system's]
    #[arg(long = "tz", value_name = "ZONE", value_parser = parse_zone)]
    pub zone: Option<TimeZone>,
    /// Warn of changes of the clock in the year after this time [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = parse_time)]
    pub from: Option<Timestamp>,
}

/// Which kind of crontab it is.
#[derive(Clone, Copy, Debug, Args)]
pub struct FormatArgs {
    /// A user name stands between time and command, as in /etc/crontab
    #[arg(long)]
    pub system: bool,
}

impl From<FormatArgs> for Format {
    fn from(args: FormatArgs) -> Format {
        if args.system { Format::System } else { Format::User }
    }
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
        for name in ["run", "check", "next", "explain", "translate", "simulate"] {
            let command = cli.find_subcommand_mut(name).unwrap();
            let help = command.render_long_help().to_string();
            let longest = help.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(longest.chars().count() <= 104, "{longest}");
        }
    }
}
