//! `mainspring import`: writes a job file out of the tables of another scheduler.
//!
//! Cost: one pass over each file.
//!
//! Does not run anything, and does not switch the other scheduler off: a job that both run runs twice.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf, absolute};

use super::print_faithfully;
use crate::cli::import::ImportArgs;
use mainspring_file::problem::render;
use mainspring_file::source::{FileError, Source};
use mainspring_import::{Import, Kind, Options, import as read, services_of};
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::{counted, say};

/// The mode of a job file: it may say passwords.
const FILE_MODE: u32 = 0o600;

pub(super) fn import(args: &ImportArgs) -> Result<Exit, Error> {
    let sources = sources(args).map_err(Error::File)?;
    let options = Options { kind: args.from, format: args.format.into(), run: args.run.clone() };
    let imported = read(&sources, &options);
    for (source, (problems, more_count)) in sources.iter().zip(&imported.findings) {
        say(&render(source.name(), problems, *more_count));
    }
    if imported.has_problem {
        say("nothing was written, because of the problems above\n");
        return Ok(Exit::Invalid);
    }
    debug_assert!(!imported.text.is_empty(), "files without a problem give a job file");
    match &args.output {
        None => print_faithfully(&imported.text)?,
        Some(path) => write(path, &imported.text)?,
    }
    say(&summary(&imported));
    Ok(Exit::Ok)
}

/// The files, and beside each timer of systemd the services that it starts, where they are there.
fn sources(args: &ImportArgs) -> Result<Vec<Source>, FileError> {
    let mut sources = Vec::new();
    let mut places: Vec<PathBuf> = args.files.iter().filter_map(|name| absolute(name).ok()).collect();
    for name in &args.files {
        let source = Source::read(name)?;
        // Nothing stands beside standard input.
        let is_timer = name != "-" && args.from.unwrap_or_else(|| Kind::of(&source)) == Kind::Systemd;
        let services = if is_timer { services_of(&source) } else { Vec::new() };
        sources.push(source);
        for service in services {
            let path = Path::new(name).with_file_name(&service);
            let Ok(place) = absolute(&path) else { continue };
            // A name with a folder in it is no unit's.
            if !service.contains('/') && !places.contains(&place) && path.is_file() {
                sources.push(Source::read(&path.to_string_lossy())?);
                places.push(place);
            }
        }
    }
    Ok(sources)
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |source| Error::Data { path: path.to_owned(), source };
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
}

fn summary(imported: &Import) -> String {
    let jobs = counted(imported.job_count, "job");
    match imported.off_count {
        0 => format!("{jobs} written\n"),
        off_count => format!("{jobs} written, and {off_count} more as comments\n"),
    }
}
