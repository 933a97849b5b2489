//! The arguments of `simulate`.
//!
//! Cost: none worth a word.
//!
//! Does not know which jobs there are: a duration for a job that no file has is found out by the command.

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::FormatArgs;
use super::value::{
    NamedDuration, parse_clock_set, parse_named_duration, parse_outage, parse_time, parse_zone,
};
use crate::simulation::{ClockSet, MAX_EVENTS, Outage};

/// The most events that are listed one by one.
pub const MAX_LISTED: u32 = 1_000_000;

const _: () = assert!(MAX_LISTED as u64 <= MAX_EVENTS, "no more are listed than there may be");

/// The arguments of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Crontabs and job files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the text of the help")]
    pub format: FormatArgs,
    /// The first moment, such as 2026-03-01T00:00:00Z
    #[arg(long, value_name = "RFC3339", value_parser = parse_time)]
    pub from: Timestamp,
    /// The first moment that is no longer simulated
    #[arg(long, value_name = "RFC3339", value_parser = parse_time)]
    pub to: Timestamp,
    /// Time zone of the report, and of entries without CRON_TZ [default: the system's]
    #[arg(long = "tz", value_name = "ZONE", value_parser = parse_zone)]
    pub zone: Option<TimeZone>,
    /// How long the runs of jobs take, such as backup=90m,*=10s
    #[arg(long, value_name = "NAME=DURATION,...", value_delimiter = ',', value_parser = parse_named_duration)]
    pub durations: Vec<NamedDuration>,
    /// No server runs from the first moment to the second; may be repeated
    #[arg(long, value_name = "RFC3339..RFC3339", value_parser = parse_outage)]
    pub off: Vec<Outage>,
    /// The clock is set from the first moment to the second; may be repeated
    #[arg(long, value_name = "RFC3339=RFC3339", value_parser = parse_clock_set)]
    pub set_clock: Vec<ClockSet>,
    /// How many events to list
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_LISTED)))]
    pub count: u32,
    /// Prints one JSON document
    #[arg(long)]
    pub json: bool,
}
