//! `mainspring completions` and `mainspring man`: made from the definition of the command line.
//!
//! Cost: none worth a word.
//!
//! Does not install anything.
//!
//! Source: man-pages(7).

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::printed;
use crate::cli::Cli;
use crate::cli::serve::{CompletionsArgs, ManArgs};
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::PROGRAM;

/// Prints the help, or the version, that the command line asks for.
///
/// # Errors
///
/// When standard output cannot be written.
pub fn show_help(help: &clap::Error) -> Result<Exit, Error> {
    printed(help.print().and_then(|()| io::stdout().flush()))?;
    Ok(Exit::Ok)
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), PROGRAM, &mut script);
    printed(io::stdout().write_all(&script))?;
    Ok(Exit::Ok)
}

pub(super) fn man(args: &ManArgs) -> Result<Exit, Error> {
    let command = Cli::command();
    let Some(directory) = &args.directory else {
        printed(io::stdout().write_all(&page(command)?))?;
        return Ok(Exit::Ok);
    };
    let failed = |source| Error::Data { path: directory.clone(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    put_pages(directory, PROGRAM, &command)?;
    Ok(Exit::Ok)
}

/// Puts the page of a command there, and of each below it: `dead` names that of `dead list`.
fn put_pages(directory: &Path, name: &str, command: &Command) -> Result<(), Error> {
    for sub in command.get_subcommands() {
        put_pages(directory, &format!("{name}-{}", sub.get_name()), sub)?;
    }
    let named = command.clone().name(&*name.to_owned().leak());
    let failed = |source| Error::Data { path: directory.to_owned(), source };
    put(&directory.join(format!("{name}.1")), &page(named)?).map_err(failed)
}

/// Puts a file in the place of what is there. A link is replaced and not followed: the directory may be
/// another user's.
fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(&new)?.write_all(content)?;
    fs::rename(&new, path)
}

fn page(command: Command) -> Result<Vec<u8>, Error> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Error::Output)?;
    Ok(page)
}
