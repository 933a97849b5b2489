//! The program `mainspring-lab`: see the library of the same crate.

use std::process::ExitCode;

use clap::Parser;
use mainspring_lab::cli::Cli;
use mainspring_lab::commands;

fn main() -> ExitCode {
    commands::execute(Cli::parse().command).unwrap_or_else(|error| {
        eprintln!("mainspring-lab: {error}");
        ExitCode::FAILURE
    })
}
