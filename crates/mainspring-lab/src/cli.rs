//! The command line: what can be asked of the lab, and its help.
//!
//! Cost: none. It does not do anything: see [`commands`](crate::commands).

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::case::{Case, Workload};

/// Measures timer queues: ours, the libraries people use instead, and the floor beneath them all.
#[derive(Debug, Parser)]
#[command(name = "mainspring-lab", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  mainspring-lab quick                           a subset that means something, in three minutes
  mainspring-lab run --workloads W1,W3 --sizes 1e3,1e6 --subjects wheel::Chunked,tokio-sleep
  mainspring-lab run --scaling                   cost against N, from a thousand timers to ten million
  mainspring-lab goals --workloads W1,W3         are the goals of these met?
  mainspring-lab report lab-results              plots and a page of what a run found
  mainspring-lab advise program.trace            which queue suits a program with such timers?
  mainspring-lab explain W3                      what the workload is

Build with --release; let nothing else run on the machine.
Exit codes: 0 done, 1 a check or a goal failed or a file could not be read, 2 the command line was not understood.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measures workloads by subjects and writes the results into a folder.
    Run(RunArgs),
    /// Measures a meaningful subset in under three minutes.
    Quick {
        /// The folder for the results.
        #[arg(long, default_value = "lab-results")]
        out: PathBuf,
    },
    /// Says what a workload is, and who does not do it, and why.
    Explain {
        /// Which one; all of them if none is named.
        #[arg(value_parser = parse_workload)]
        workload: Option<Workload>,
    },
    /// Measures the goals of the default queue and engine, as ratios to rivals in the same run.
    ///
    /// Prints a line per goal and exits with 1 if one is missed.
    Goals(GoalsArgs),
    /// Makes pairs of schedule and cancel in every pattern that is known to be hard on memory, by the default
    /// queue.
    ///
    /// Exits with 1 if memory does not stay flat. Three minutes with the default of 1e8 pairs a pattern.
    Soak {
        /// How many pairs of each pattern.
        #[arg(long, default_value = "1e8", value_parser = parse_pairs)]
        pairs: u64,
    },
    /// Draws the results of a run: SVG files and one page of HTML, into the same folder.
    Report {
        /// The folder that a run wrote.
        #[arg(value_name = "DIR", default_value = "lab-results")]
        folder: PathBuf,
    },
    /// Replays a trace of a program's timers through every queue of ours and says which suits best, and why.
    ///
    /// A `mainspring::trace::Recorder` around a program's queue makes such a trace.
    Advise {
        /// The file of the trace.
        #[arg(value_name = "TRACE")]
        trace: PathBuf,
    },
    /// Replays a trace through one queue in this process: what `advise` starts for each.
    #[command(hide = true)]
    Replay {
        /// The queue's name.
        subject: String,
        /// The trace.
        trace: PathBuf,
    },
    /// Lists all workloads and subjects.
    List,
    /// Measures one case in this process: what `run` starts for each measurement.
    #[command(hide = true)]
    Measure {
        /// The subject's name.
        subject: String,
        /// The case, in JSON.
        #[arg(value_parser = parse_case)]
        case: Case,
    },
}

/// What `run` takes.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Cost against N: W1, W3 and W8 with 1e3 to 1e7 timers, three rounds, in half an hour.
    ///
    /// By all subjects but the presets. What would be hopeless at ten million is left out there, and the
    /// results say so; with --subjects what is named is measured all the same. Takes 6 GiB of memory. The
    /// other options change any of this.
    #[arg(long)]
    pub scaling: bool,
    /// Workloads, such as W1,W1b,W3; all if not given.
    #[arg(long, value_delimiter = ',', value_parser = parse_workload)]
    pub workloads: Vec<Workload>,
    /// Subjects by name, see `list`; all if not given.
    #[arg(long, value_delimiter = ',')]
    pub subjects: Vec<String>,
    /// Numbers of timers, such as 1e3,1e6, for workloads that do not fix it; 1e3,1e5,1e6 if not given.
    #[arg(long, value_delimiter = ',', value_parser = parse_size)]
    pub sizes: Vec<u64>,
    /// How often each is measured, 5 if not given: the median and the range are shown.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rounds: Option<u32>,
    /// The folder for results.csv, skipped.csv and machine.json.
    #[arg(long, default_value = "lab-results")]
    pub out: PathBuf,
}

/// What `goals` takes.
#[derive(Clone, Debug, Args)]
pub struct GoalsArgs {
    /// Only the goals of these workloads.
    #[arg(long, value_delimiter = ',', value_parser = parse_workload)]
    pub workloads: Vec<Workload>,
    /// How often each is measured: medians are compared.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub rounds: u32,
    /// Judges the results in this folder instead of measuring.
    #[arg(long, value_name = "DIR")]
    pub from: Option<PathBuf>,
    /// Writes what was measured into this folder as well.
    #[arg(long, value_name = "DIR", conflicts_with = "from")]
    pub out: Option<PathBuf>,
}

fn parse_workload(text: &str) -> Result<Workload, String> {
    let names: Vec<String> = Workload::value_variants().iter().map(Workload::to_string).collect();
    Workload::named(text).ok_or_else(|| format!("the workloads are {}", names.join(", ")))
}

/// Sizes beyond this do not fit in the reference machine's memory with any rival.
const SIZE_MAX: f64 = 1e8;

/// A number of timers, as 1000, 1_000 or 1e3.
///
/// # Errors
/// A sentence that says what is allowed.
pub fn parse_size(text: &str) -> Result<u64, String> {
    whole(text, 1.0..=SIZE_MAX).ok_or_else(|| "a whole number from 1 to 1e8, such as 1000 or 1e6".to_owned())
}

fn whole(text: &str, range: RangeInclusive<f64>) -> Option<u64> {
    let number = text.replace('_', "").parse::<f64>().ok()?;
    (range.contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// A number of pairs, as [`parse_size`] takes it, at least one for each sample that is taken.
fn parse_pairs(text: &str) -> Result<u64, String> {
    whole(text, 1e4..=1e12).ok_or_else(|| "a whole number from 1e4 to 1e12, such as 1e8".to_owned())
}

fn parse_case(text: &str) -> Result<Case, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Cli, parse_size};

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_are_whole_numbers_in_any_notation() {
        assert_eq!(parse_size("1e3"), Ok(1_000));
        assert_eq!(parse_size("1_000"), Ok(1_000));
        for wrong in ["0", "1.5", "1e9", "many", "-1"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
