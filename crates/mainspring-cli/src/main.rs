//! The program `mainspring`: see the library of the same crate.

use std::process::ExitCode;

use clap::Parser;
use mainspring_cli::cli::Cli;
use mainspring_cli::commands;
use mainspring_server::exit::Exit;
use mainspring_server::message;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // It repeats what was typed, such as the name of a file that another user gave it.
        Err(error) if error.use_stderr() => {
            message::say(&error.render().to_string());
            return ExitCode::from(Exit::Usage);
        }
        // Help, or the version.
        Err(error) => error.exit(),
    };
    let exit = commands::execute(cli.command).unwrap_or_else(|error| {
        message::complain(&error);
        error.exit()
    });
    exit.into()
}
