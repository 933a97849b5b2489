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
        Command::Quick(arguments) => run::quick(&arguments),
        Command::Explain { workload: Some(workload) } => {
            print!("{}", explain::text(workload));
            Ok(ExitCode::SUCCESS)
        }
        Command::Explain { workload: None } => {
            let texts = Workload::ALL.map(explain::text);
            print!("{}", texts.join("\n"));
            Ok(ExitCode::SUCCESS)
        }
        Command::Goals(arguments) => goals::goals(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Advise(arguments) => advise::advise(&arguments),
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
