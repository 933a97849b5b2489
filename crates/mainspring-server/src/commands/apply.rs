//! `mainspring apply`: gives the server files of jobs.
//!
//! Cost: one pass over each file here, and one at the server.
//!
//! Does not send a file that has a problem.
//!
//! Source: own.

use std::fs;

use jiff::tz::TimeZone;

use super::ask::ask;
use crate::cli::act::ApplyArgs;
use crate::crontab::Format;
use crate::error::Error;
use crate::exit::Exit;
use crate::loaded::Loaded;
use crate::message::say;
use crate::protocol::{FileWire, MAX_APPLIED_FILES, Request};
use crate::source::Source;

pub(super) fn apply(args: &ApplyArgs) -> Result<Exit, Error> {
    if MAX_APPLIED_FILES < args.files.len() {
        return Err(Error::Usage(format!("at most {MAX_APPLIED_FILES} files are applied at once")));
    }
    let mut files = Vec::new();
    let mut exit = Exit::Ok;
    for name in &args.files {
        let source = Source::read(name)?;
        let loaded = Loaded::parse(&source, Format::from(args.format), &TimeZone::UTC);
        say(&loaded.problems_text());
        if !loaded.is_good() {
            exit = Exit::Invalid;
            continue;
        }
        let path = fs::canonicalize(name).map_err(|source| Error::Read { name: name.clone(), source })?;
        files.push(FileWire {
            name: path.to_string_lossy().into_owned(),
            text: String::from_utf8_lossy(source.bytes()).into_owned(),
            system: args.format.system,
        });
    }
    if exit != Exit::Ok {
        return Ok(exit);
    }
    ask(&args.ask, Request::Apply { files, prune: args.prune, preview: args.diff })
}
