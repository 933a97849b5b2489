//! The program `mainspring`: see the library of the same crate.

use std::process::ExitCode;

use clap::Parser;
use mainspring_cli::cli::Cli;
use mainspring_cli::commands;
use mainspring_server::message;

fn main() -> ExitCode {
    let exit = commands::execute(Cli::parse().command).unwrap_or_else(|error| {
        message::complain(&error);
        error.exit()
    });
    exit.into()
}
