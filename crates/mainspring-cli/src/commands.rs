//! The commands of the program, one file each.
//!
//! Each takes its arguments and returns an exit code. Results go to standard output; messages about the
//! program's own work go to standard error.
//!
//! Cost: see the files.
//!
//! Does not read the command line: see [`cli`](crate::cli).

use crate::cli::Command;
use mainspring_host::lent_group::LentGroup;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::protocol::Request;

mod answers;
mod apply;
mod changes;
mod check;
mod cluster_text;
mod crontab;
mod doctor;
mod duplicate_text;
mod explain;
mod expression;
mod import;
mod job_text;
#[cfg_attr(not(feature = "web"), path = "commands/no_listen.rs")]
mod listen;
mod logs;
mod manual;
mod memory;
mod named_files;
mod next;
mod printing;
mod progress;
mod serve;
mod server_program;
mod shared;
mod simulate;
mod store;
mod takeover;
mod top;
mod translate;
mod upcoming;
pub(crate) mod value_text;
mod views;

pub use crontab::run_crontab;
pub use manual::show_help;

use printing::{
    instant, json_line, print, print_faithfully, print_json, print_painted, printed, zone_or_system,
};

/// Does what the command line asks for.
///
/// # Errors
///
/// See [`Error`]: its message is for standard error, and it knows its exit code.
pub fn execute(command: Command) -> Result<Exit, Error> {
    match command {
        Command::Serve(args) => serve::serve(args),
        Command::List(args) => views::list(&args),
        Command::Show(args) => views::show_job(&args),
        Command::History(args) => views::history(&args),
        Command::Logs(args) => logs::logs(&args),
        Command::Run(args) => changes::run(&args),
        Command::At(args) => changes::at(&args),
        Command::Every(args) => changes::every(&args),
        Command::Pause(args) => changes::pause(&args),
        Command::Resume(args) => changes::resume(&args),
        Command::Cancel(args) => changes::cancel(&args),
        Command::Remove(args) => changes::remove(&args),
        Command::Backfill(args) => changes::backfill(&args),
        Command::Rewind(args) => changes::rewind(&args),
        Command::Dead(command) => changes::dead(command),
        Command::Apply(args) => apply::apply(&args),
        Command::Export(args) => views::export(&args),
        Command::Status(args) => answers::ask(&args, Request::Status),
        #[cfg(feature = "web")]
        Command::Open(args) => listen::open(&args),
        #[cfg(feature = "web")]
        Command::Token(command) => listen::token(&command),
        Command::Store(command) => store::store(&command),
        Command::Audit(args) => views::audit(&args),
        Command::Top(args) => top::top(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Health(args) => doctor::health(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
        Command::Check(args) => check::check(&args),
        Command::Import(args) => import::import(&args),
        Command::Crontab(args) => {
            run_crontab(&args, LentGroup::put_away().map_err(Error::setup("the group of the user"))?)
        }
        Command::Next(args) => next::next(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Translate(args) => translate::translate(&args),
        Command::Simulate(args) => simulate::simulate(&args),
    }
}
