//! Executes the commands of the program.
//!
//! Cost: that of what is measured. It does not measure in this process, but for the hidden command that
//! exists for it.

pub mod advise;
pub mod goals;
pub mod list;
pub mod report;
pub mod run;
pub mod soak;

use std::error::Error;
use std::process::ExitCode;

use clap::ValueEnum;

use crate::case::Workload;
use crate::cli::Command;
use crate::{explain, process};

/// Does it.
///
/// # Errors
/// What the reader should be told.
pub fn execute(command: Command) -> Result<ExitCode, Box<dyn Error>> {
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Quick { out } => run::quick(&out),
        Command::Explain { workload } => {
            let workloads = workload.map_or(Workload::value_variants().to_vec(), |workload| vec![workload]);
            let texts: Vec<String> = workloads.into_iter().map(explain::text).collect();
            print!("{}", texts.join("\n"));
            Ok(ExitCode::SUCCESS)
        }
        Command::Goals(arguments) => goals::goals(&arguments),
        Command::Soak { pairs } => soak::run(pairs),
        Command::Report { folder } => report::report(&folder),
        Command::Advise { trace } => advise::advise(&trace),
        Command::Replay { subject, trace } => advise::replay_here(&subject, &trace),
        Command::List => {
            print!("{}", list::text());
            Ok(ExitCode::SUCCESS)
        }
        Command::Measure { subject, case } => {
            process::measure_here(&subject, &case);
            Ok(ExitCode::SUCCESS)
        }
    }
}
