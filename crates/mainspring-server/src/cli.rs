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
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::crontab::Format;

/// The most times that `next` prints.
pub const MAX_TIMES: u32 = 1_000_000;

/// The longest grace period.
pub const MAX_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

const EXIT_CODES: &str = "\
Exit codes:
  0  done; for run: ended in order after SIGTERM or SIGINT
  1  failed: a file could not be read, the output could not be written
  2  the command line was not understood
  6  a crontab or an expression has a problem";

const EXAMPLES: &str = "\
Examples:
  mainspring run examples/crontab
  mainspring check ~/my.crontab
  mainspring next '*/15 9-17 * * mon-fri'";

const RUN_HELP: &str = "\
The file has the format of crontab(5): comments, NAME = value, and entries of five time fields and a
command. In place of the five fields may stand @reboot, @hourly, @daily (@midnight), @weekly, @monthly,
@yearly (@annually), or @every with a period such as 90s or 1h30m. CRON_TZ=Zone chooses the time zone
of the entries below it. The first % ends the command; what follows is its standard input, with line
ends for further %; \\% is a percent sign.

Lines that cannot be understood are shown on standard error, and the others run.

Every event and every line of output is one line on standard output: time, job and run, kind, text.
SIGTERM or SIGINT (Ctrl-C) stops: nothing more is started, running commands get SIGTERM with all that
they started, and SIGKILL when the grace period is over or a second signal comes.

Examples:
  mainspring run examples/crontab
  mainspring run --tz Europe/Berlin --grace 1m ~/my.crontab
  crontab -l | mainspring run -
  sudo mainspring run --system /etc/crontab";

const CHECK_HELP: &str = "\
Each problem is shown with its line and column and the characters it is about. A file without a problem
gets one line. The exit code is 6 if there was any problem.

Examples:
  mainspring check ~/my.crontab
  mainspring check --system /etc/crontab /etc/cron.d/*";

const NEXT_HELP: &str = "\
Times are printed in RFC 3339 with the offset of the zone, one a line. An expression that never matches
prints nothing. Quote the expression, or the shell will replace its stars.

Examples:
  mainspring next '0 9 * * mon-fri'
  mainspring next '@daily' -n 3 --tz America/New_York
  mainspring next '*/10 * * * * *' --from 2026-12-31T23:59:00Z";

/// Runs the commands of a crontab at their times, checks crontabs, and shows when expressions are due.
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
    #[command(after_help = format!("{RUN_HELP}\n\n{EXIT_CODES}"))]
    Run(RunArgs),
    /// Shows every problem in crontabs, and runs nothing
    #[command(after_help = format!("{CHECK_HELP}\n\n{EXIT_CODES}"))]
    Check(CheckArgs),
    /// Prints the next times of a cron expression
    #[command(after_help = format!("{NEXT_HELP}\n\n{EXIT_CODES}"))]
    Next(NextArgs),
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

/// The arguments of `next`.
#[derive(Debug, Args)]
pub struct NextArgs {
    /// Five fields, six with seconds first, or a nickname such as @daily
    #[arg(value_name = "EXPR")]
    pub expression: String,
    /// How many times to print
    #[arg(short = 'n', long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TIMES)))]
    pub count: u32,
    /// Time zone of the expression [default: the system's]
    #[arg(long = "tz", value_name = "ZONE", value_parser = parse_zone)]
    pub zone: Option<TimeZone>,
    /// Print times after this one, such as 2026-12-31T23:59:00Z [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = parse_time)]
    pub from: Option<Timestamp>,
}

fn parse_zone(text: &str) -> Result<TimeZone, String> {
    let unknown = |_| "names are those of the IANA database, such as Europe/Berlin or UTC".to_owned();
    TimeZone::get(text).map_err(unknown)
}

fn parse_grace(text: &str) -> Result<Duration, String> {
    let form = "a duration is written as 500ms, 10s or 2m";
    let duration: SignedDuration = text.parse().map_err(|_| form.to_owned())?;
    let duration = Duration::try_from(duration).map_err(|_| "a duration cannot be negative".to_owned())?;
    if MAX_GRACE < duration {
        return Err("the longest grace period is 24h".to_owned());
    }
    Ok(duration)
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| "a time is written as 2026-12-31T23:59:00Z or 2026-12-31T23:59:00+01:00".to_owned())
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
        for name in ["run", "check", "next"] {
            let command = cli.find_subcommand_mut(name).unwrap();
            let help = command.render_long_help().to_string();
            let longest = help.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(longest.chars().count() <= 104, "{longest}");
        }
    }

    #[test]
    fn a_grace_period_has_a_unit_and_a_limit() {
        assert_eq!(parse_grace("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_grace("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_grace("0s"), Ok(Duration::ZERO));
        for bad in ["", "10", "-1s", "25h", "soon"] {
            assert!(parse_grace(bad).is_err(), "{bad}");
        }
    }
}
