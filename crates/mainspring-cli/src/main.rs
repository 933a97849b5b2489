//! The program `mainspring`: see the library of the same crate.

use std::process::ExitCode;

use clap::Parser;
use mainspring_cli::cli::Cli;
use mainspring_cli::commands;
use mainspring_exec::keeper;
use mainspring_server::exit::Exit;
use mainspring_server::message;

fn main() -> ExitCode {
    // What a server starts beside itself. It is no command for people, and none is asked for by that word.
    if std::env::args_os().nth(1).is_some_and(|word| word == keeper::COMMAND) {
        return if keeper::keep().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let done = match Cli::try_parse() {
        Ok(cli) => commands::execute(cli.command),
        // It repeats what was typed, such as the name of a file that another user gave it.
        Err(error) if error.use_stderr() => {
            message::say(&error.render().to_string());
            return ExitCode::from(Exit::Usage);
        }
        Err(help) => commands::show_help(&help),
    };
    let exit = done.unwrap_or_else(|error| {
        message::complain(&error);
        error.exit()
    });
    exit.into()
}
