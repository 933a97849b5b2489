//! What the commands of the program do, one file each.
//!
//! Each takes its arguments and returns an exit code. Results go to standard output; messages about the program's own
//! work go to standard error.
//!
//! Cost: see the files.
//!
//! Does not read the command line: see [`cli`](crate::cli).
//!
//! Source: own.

use std::io::{self, Write};

use jiff::tz::TimeZone;
use serde::Serialize;

use crate::cli::Command;
use crate::error::Error;
use crate::exit::Exit;

mod act;
mod apply;
mod ask;
mod check;
mod doctor;
mod explain;
mod expression;
mod finding;
mod look;
mod manual;
mod memory;
mod next;
mod progress;
mod serve;
mod simulate;
mod translate;

/// Does what the command line asks for.
///
/// # Errors
///
/// See [`Error`]: its message is for standard error, and it knows its exit code.
pub fn execute(command: Command) -> Result<Exit, Error> {
    match command {
        Command::Serve(args) => serve::serve(args),
        Command::List(args) => look::list(&args),
        Command::Show(args) => look::show_job(&args),
        Command::History(args) => look::history(&args),
        Command::Logs(args) => look::logs(&args),
        Command::Run(args) => act::run(&args),
        Command::At(args) => act::at(&args),
        Command::Every(args) => act::every(&args),
        Command::Pause(args) => act::pause(&args),
        Command::Resume(args) => act::resume(&args),
        Command::Cancel(args) => act::cancel(&args),
        Command::Remove(args) => act::remove(&args),
        Command::Backfill(args) => act::backfill(&args),
        Command::Dead(command) => act::dead(command),
        Command::Apply(args) => apply::apply(&args),
        Command::Export(args) => look::export(&args),
        Command::Status(args) => look::status(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
        Command::Check(args) => check::check(&args),
        Command::Next(args) => next::next(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Translate(args) => translate::translate(&args),
        Command::Simulate(args) => simulate::simulate(&args),
    }
}

/// The zone to use when none is given: the system's, or UTC when the system does not say.
fn zone_or_system(zone: Option<TimeZone>) -> TimeZone {
    zone.unwrap_or_else(|| TimeZone::try_system().unwrap_or(TimeZone::UTC))
}

/// The name of a zone, for messages. Zones without one are those of rare settings of TZ.
fn zone_name(zone: &TimeZone) -> &str {
    zone.iana_name().unwrap_or("UTC")
}

/// Prints text on standard output.
fn print(text: &str) -> Result<(), Error> {
    printed(io::stdout().write_all(text.as_bytes()))
}

/// Prints one JSON document on standard output.
fn print_json(document: &impl Serialize) -> Result<(), Error> {
    let mut text =
        serde_json::to_string_pretty(document).expect("wire types have string keys and finite numbers");
    text.push('\n');
    print(&text)
}

/// What became of printing. A reader that has seen enough, like `head`, is no failure.
fn printed(result: io::Result<()>) -> Result<(), Error> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}
