//! The arguments of the commands that take one expression: `next`, `explain`, `translate`.
//!
//! Cost: none worth a word.
//!
//! Does not read the expression: its problems are shown with carets, and not as usage errors.
//!
//! Source: the choices are those of `mainspring-cron`.

#![expect(missing_docs, reason = "clap would take the text of a group for that of the help")]

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_cron::{DayRule, DstPolicy, Language};

use super::FormatArgs;
use super::serve::DataArgs;
use super::value::{parse_time, parse_zone};

/// The most times that `next` prints.
pub const MAX_TIMES: u32 = 1_000_000;

/// An expression, and how it is to be read.
#[derive(Debug, Args)]
pub struct ExpressionArgs {
    /// Five fields, six with seconds first, seven with a year, or a nickname such as @daily
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub text: String,
    /// The language of the expression
    #[arg(long, value_name = "DIALECT", default_value = "unix", value_parser = languages())]
    pub dialect: Language,
    /// Two restricted day fields: or, and, or as in crontab(5) by the star that one begins with: star
    #[arg(long, value_name = "RULE", default_value = "star", value_parser = day_rules(), hide_possible_values = true)]
    pub day_rule: DayRule,
    /// Name of the job, from which H and ~ choose their values
    #[arg(long, value_name = "JOB")]
    pub name: Option<String>,
    /// Prints one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Where and from when on.
#[derive(Debug, Args)]
pub struct ZoneArgs {
    /// Time zone of the expression [default: its own, or else the system's]
    #[arg(long = "tz", value_name = "ZONE", value_parser = parse_zone)]
    pub zone: Option<TimeZone>,
    /// Times after this one, such as 2026-12-31T23:59:00Z [default: now]
    #[arg(long, value_name = "RFC3339", value_parser = parse_time)]
    pub from: Option<Timestamp>,
    /// For fixed times when the clock changes: cron, literal, skip, shift [default: see below]
    #[arg(long, value_name = "POLICY", value_parser = parse_dst)]
    pub dst: Option<DstPolicy>,
}

/// The arguments of `next`.
#[derive(Debug, Args)]
pub struct NextArgs {
    #[command(flatten)]
    pub expression: ExpressionArgs,
    #[command(flatten)]
    pub zone: ZoneArgs,
    /// How many times to print [default: 10, or with --until all]
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_TIMES)))]
    pub count: Option<u32>,
    /// Print no times after this one
    #[arg(long, value_name = "RFC3339", value_parser = parse_time)]
    pub until: Option<Timestamp>,
    /// Says what the expression means before the times, in lines that begin with #
    #[arg(long)]
    pub explain: bool,
    /// EXPR is the name of a job in these files; may be repeated
    #[arg(long = "in", value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub data: DataArgs,
}

/// The arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub expression: ExpressionArgs,
    #[command(flatten)]
    pub zone: ZoneArgs,
}

/// The arguments of `translate`.
#[derive(Debug, Args)]
pub struct TranslateArgs {
    #[command(flatten)]
    pub expression: ExpressionArgs,
    /// The language to write it in
    #[arg(long, value_name = "DIALECT", value_parser = languages())]
    pub to: Language,
}

fn languages() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(["unix", "quartz", "oncalendar"]).try_map(|name| name.parse())
}

fn day_rules() -> impl TypedValueParser<Value = DayRule> {
    PossibleValuesParser::new(["star", "or", "and"]).try_map(|name| name.parse())
}

fn parse_dst(text: &str) -> Result<DstPolicy, String> {
    text.parse().map_err(|error: mainspring_cron::UnknownName| error.to_string())
}
