//! `mainspring apply`: gives the server files of jobs.
//!
//! Cost: one pass over each file here, and one at the server.
//!
//! Does not send any file if one has a problem, or if others could have written it: the same files are
//! refused as by `serve`. The files are applied one after the other, each as a whole or not at all: a name
//! that another source has stops it. A file that is gone has no jobs: with `--prune` those that it had are
//! removed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use jiff::tz::TimeZone;

use super::answers::show;
use super::progress::Progress;
use crate::cli::changes::ApplyArgs;
use crate::client::Client;
use mainspring_file::crontab::Format;
use mainspring_file::loaded_file::LoadedFile;
use mainspring_file::source::{FileError, Source};
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::say;
use mainspring_server::protocol::{AppliedWire, FileWire, MAX_APPLIED_FILES, Request, Response};

pub(super) fn apply(args: &ApplyArgs) -> Result<Exit, Error> {
    if MAX_APPLIED_FILES < args.files.len() {
        return Err(Error::Usage(format!("at most {MAX_APPLIED_FILES} files are applied at once")));
    }
    let (mut files, mut job_count) = (Vec::new(), 0);
    let mut exit = Exit::Ok;
    for name in &args.files {
        let source = match Source::read(name) {
            // Its jobs may be there still.
            Err(error) if args.prune && is_gone(&error) => {
                files.push((gone_file(name, args), 0, Some(error)));
                continue;
            }
            source => source?,
        };
        let format = Format::from(args.format).of(Path::new(name));
        let loaded = LoadedFile::parse(&source, format, &TimeZone::UTC);
        loaded.judge()?;
        say(&loaded.problems_text());
        if !loaded.is_good() {
            exit = Exit::Invalid;
            continue;
        }
        let path = fs::canonicalize(name).map_err(|source| FileError::Read { name: name.clone(), source })?;
        let file = FileWire {
            name: path.to_string_lossy().into_owned(),
            text: String::from_utf8_lossy(source.bytes()).into_owned(),
            system: format == Format::System,
        };
        job_count += loaded.jobs.len();
        files.push((file, loaded.jobs.len(), None));
    }
    if exit != Exit::Ok {
        return Ok(exit);
    }
    let mut client = Client::connect(&args.ask.server.address())?;
    let mut applied = AppliedWire::default();
    let mut progress = Progress::new(&args.ask, "jobs", job_count);
    for (file, job_count, gone) in files {
        let request = Request::Apply { files: vec![file], prune: args.prune, preview: args.diff };
        let answer = client.ask(request);
        progress.add(job_count);
        match answer {
            // There were none, so the name is probably a wrong one.
            Ok(Response::Applied(more)) => match gone.filter(|_| more.removed.is_empty()) {
                Some(error) => return Err(error.into()),
                None => applied.add(more),
            },
            Ok(_) => {}
            Err(error) => {
                drop(progress);
                // What was applied before is in force: say so.
                if applied != AppliedWire::default() {
                    show(&args.ask, &Response::Applied(applied))?;
                }
                return refused(error);
            }
        }
    }
    drop(progress);
    let is_refused = !applied.refused.is_empty();
    show(&args.ask, &Response::Applied(applied))?;
    Ok(if is_refused { Exit::Conflict } else { Exit::Ok })
}

/// Whether there is no such file.
fn is_gone(error: &FileError) -> bool {
    matches!(error, FileError::Read { source, .. } if source.kind() == ErrorKind::NotFound)
}

/// What is sent of a file that is gone: no jobs, under its name.
fn gone_file(name: &str, args: &ApplyArgs) -> FileWire {
    let path = std::path::absolute(name).unwrap_or_else(|_| name.into());
    FileWire { name: path.to_string_lossy().into_owned(), text: String::new(), system: args.format.system }
}

/// A problem that the server finds in a file is shown as one that is found here: with its line.
fn refused(error: Error) -> Result<Exit, Error> {
    match &error {
        Error::Refused(refusal) if refusal.message.contains('\n') => {
            say(&refusal.message);
            Ok(error.exit())
        }
        _ => Err(error),
    }
}
