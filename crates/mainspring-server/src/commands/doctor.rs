//! `mainspring doctor`: looks at everything around a server that could be in trouble.
//!
//! Cost: a few system calls and one request; without a server also a read of the whole store, about a second for each
//! gigabyte.
//!
//! Does not repair anything.
//!
//! Source: own.

use std::fs;
use std::os::unix::fs::MetadataExt;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statvfs::statvfs;
use serde::Serialize;

use super::{print, print_json};
use crate::cli::serve::AskArgs;
use crate::client::Client;
use crate::clock::Moment;
use crate::error::Error;
use crate::executor::MAX_RUNNING;
use crate::exit::Exit;
use crate::message::with_causes;
use crate::place::Place;
use crate::protocol::{Request, Response};
use crate::store::{Directory, DirectoryError, SqliteStore};

/// Less free room than this is trouble: the store's journal and a day of output need as much.
const MIN_FREE_BYTES: u64 = 256 << 20;

/// A clock before this is not set: the program is younger than that.
const FIRST_TIME: &str = "2026-01-01T00:00:00Z";

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    subject: &'static str,
    is_good: bool,
    text: String,
}

impl Finding {
    fn good(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { subject, is_good: true, text: text.into() }
    }

    fn bad(subject: &'static str, text: impl Into<String>) -> Finding {
        Finding { subject, is_good: false, text: text.into() }
    }
}

pub(super) fn doctor(args: &AskArgs) -> Result<Exit, Error> {
    let place = args.place.place();
    let mut findings = vec![directory(&place), room(&place), open_files(), clock(Moment::now().wall), zone()];
    findings.push(store(&place));
    findings.extend(server(&place));
    if args.json {
        print_json(&findings)?;
    } else {
        let line = |finding: &Finding| {
            format!(
                "{} {:<11} {}\n",
                if finding.is_good { "ok " } else { "BAD" },
                finding.subject,
                finding.text
            )
        };
        print(&findings.iter().map(line).collect::<String>())?;
    }
    Ok(if findings.iter().all(|finding| finding.is_good) { Exit::Ok } else { Exit::Failed })
}

fn directory(place: &Place) -> Finding {
    let path = place.directory().display();
    match fs::metadata(place.directory()) {
        Err(error) => Finding::bad("data", format!("{path}: {error}; mainspring serve makes it")),
        Ok(found) if !found.is_dir() => Finding::bad("data", format!("{path} is no directory")),
        Ok(found) if found.mode() & 0o022 != 0 => {
            Finding::bad("data", format!("{path}: others may write it (mode {:04o})", found.mode() & 0o7777))
        }
        Ok(_) => Finding::good("data", path.to_string()),
    }
}

fn room(place: &Place) -> Finding {
    match statvfs(place.directory()) {
        Err(error) => Finding::bad("room", format!("cannot be measured: {error}")),
        Ok(found) => {
            let free = found.blocks_available().saturating_mul(found.fragment_size());
            let text = format!("{} MiB free", free >> 20);
            if free < MIN_FREE_BYTES { Finding::bad("room", text) } else { Finding::good("room", text) }
        }
    }
}

/// Reads the whole store, if no server has it.
fn store(place: &Place) -> Finding {
    let path = place.store();
    if !path.exists() {
        return Finding::good("store", "there is none yet");
    }
    let checked = match Directory::open(place.directory()) {
        Err(DirectoryError::Taken { .. }) => {
            return Finding::good("store", "in use; it is read through when no server has it");
        }
        Err(error) => return Finding::bad("store", with_causes(&error)),
        Ok(directory) => SqliteStore::open(&directory).and_then(|mut store| store.integrity()),
    };
    match checked {
        Err(error) => Finding::bad("store", format!("{}: {}", path.display(), with_causes(&error))),
        Ok(faults) => match faults.first() {
            Some(fault) => Finding::bad("store", format!("{} is damaged: {fault}", path.display())),
            None => Finding::good("store", format!("{} is sound", path.display())),
        },
    }
}

fn open_files() -> Finding {
    // Three pipes for each process, and some for sockets and files.
    let needed = MAX_RUNNING as u64 * 3 + 128;
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, _)) if soft < needed => {
            Finding::bad("open files", format!("the limit is {soft}, and {needed} may be needed: ulimit -n"))
        }
        Ok((soft, _)) => Finding::good("open files", format!("the limit is {soft}")),
        Err(error) => Finding::bad("open files", format!("the limit is not known: {error}")),
    }
}

fn clock(now: Timestamp) -> Finding {
    let first: Timestamp = FIRST_TIME.parse().expect("the constant is a time");
    let text = format!("{now:.0}");
    if now < first {
        Finding::bad("clock", format!("{text}: it is not set"))
    } else {
        Finding::good("clock", text)
    }
}

fn zone() -> Finding {
    match TimeZone::try_system() {
        Ok(zone) => Finding::good("zone", zone.iana_name().unwrap_or("of TZ").to_owned()),
        Err(error) => Finding::bad("zone", format!("the system's is not known, UTC is used: {error}")),
    }
}

fn server(place: &Place) -> Vec<Finding> {
    let answer = Client::connect(place).and_then(|mut client| client.ask(Request::Status));
    let status = match answer {
        Ok(Response::Status(status)) => status,
        Ok(_) => return vec![Finding::bad("server", "it answers something else than was asked")],
        Err(Error::Unreachable { path, source }) => {
            return vec![Finding::bad("server", format!("none answers at {}: {source}", path.display()))];
        }
        Err(error) => return vec![Finding::bad("server", error.to_string())],
    };
    let mut findings = vec![Finding::good("server", format!("process {}, {}", status.pid, status.state))];
    if status.version != env!("CARGO_PKG_VERSION") {
        let text = format!("it is version {}, and this is {}", status.version, env!("CARGO_PKG_VERSION"));
        findings.push(Finding::bad("version", text));
    }
    if 0 < status.dead {
        findings
            .push(Finding::bad("dead", format!("{} dead letters wait: mainspring dead list", status.dead)));
    }
    findings.extend(status.files.iter().map(|file| match file.problems.lines().next() {
        None => Finding::good("file", format!("{}: {} jobs", file.name, file.jobs)),
        Some(problem) => Finding::bad("file", problem.to_owned()),
    }));
    findings
}
