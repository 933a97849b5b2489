//! The program `mainspring`: see the library of the same crate.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use mainspring_cli::cli::Cli;
use mainspring_cli::cli::crontab::CrontabCli;
use mainspring_cli::commands;
use mainspring_exec::keeper;
use mainspring_host::lent_group::{self, LentGroup};
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message;

fn main() -> ExitCode {
    // Whose file lends it a group is `crontab` and nothing else, whatever it was called.
    if lent_group::is_lent() || called().is_some_and(|name| name == "crontab") {
        return match LentGroup::put_away() {
            Ok(group) => ended(CrontabCli::try_parse(), |cli| commands::run_crontab(&cli.args, group)),
            Err(error) => {
                message::say(&format!("crontab: {error}\n"));
                ExitCode::from(Exit::Denied)
            }
        };
    }
    // What a server starts beside itself. It is no command for people, and none is asked for by that word.
    if std::env::args_os().nth(1).is_some_and(|word| word == keeper::COMMAND) {
        return if keeper::keep().is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    ended(Cli::try_parse(), |cli| commands::execute(cli.command))
}

/// The name by which the program was called, without its folder.
fn called() -> Option<OsString> {
    Path::new(&std::env::args_os().next()?).file_name().map(OsString::from)
}

/// Does what a command line asks for, or says what is wrong with it.
fn ended<C>(cli: Result<C, clap::Error>, run: impl FnOnce(C) -> Result<Exit, Error>) -> ExitCode {
    let done = match cli {
        Ok(cli) => run(cli),
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
