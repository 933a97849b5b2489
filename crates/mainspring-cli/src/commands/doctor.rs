//! `mainspring doctor`: looks at everything around a server that could be in trouble.
//!
//! ```text
//!            ┌─ a server answers ─▶ what only it knows: store, jobs, files, clock, room, limits
//! place ─────┤
//!            └─ none does ────────▶ the store itself, read through
//! ```
//!
//! Cost: a few system calls and two requests; without a server also a read of the whole store, about a second
//! for each gigabyte.
//!
//! Does not repair anything.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::StoreError;
use serde::Serialize;

use super::progress::Progress;
use super::{print_json, print_painted};
use crate::cli::serve::AskArgs;
use crate::client::{Address, Client};
use crate::terminal::{Screen, Tone};
use mainspring_exec::clock::Moment;
use mainspring_file::plain;
use mainspring_file::system_zone::system_zone;
use mainspring_host::directory::DirectoryError;
use mainspring_host::folder::Folder;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::diagnosis;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::finding::{Finding, Level};
use mainspring_server::message::with_causes;
use mainspring_server::protocol::{HealthWire, Request, Response, StatusWire};
use mainspring_server::server::offline::OfflineStore;

/// A clock before this is not set: the program is younger than that.
const FIRST_TIME: &str = "2026-01-01T00:00:00Z";

/// What this user may not see, and so may be there.
const AS_OWNER: &str = "look at it as its owner";

/// How long a server has to answer. One that is stopped or hangs in the kernel never does.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// What was found, as a document.
#[derive(Serialize)]
struct Report {
    /// The part that was asked: the server, or the store where no server answers.
    #[serde(rename = "asked")]
    source: &'static str,
    level: Level,
    findings: Vec<Finding>,
}

pub(super) fn doctor(args: &AskArgs) -> Result<Exit, Error> {
    let address = args.server.address();
    // What stands around a server elsewhere cannot be seen from here.
    let data = match &address {
        Address::Here(data) => data.clone(),
        Address::There(_) => return elsewhere(args, &address),
    };
    let now = Moment::now().wall;
    let mut findings = vec![directory(&data), zone(), set_clock(now)];
    let answer = Client::connect_within(&address, ANSWER_WAIT).and_then(|mut client| {
        let (status, health) = ask(&mut client)?;
        Ok((status, health, recounted(&mut client)))
    });
    let source = match answer {
        Ok((status, health, counts)) => {
            findings.extend(open_socket(&data));
            findings.extend(diagnosis::of_server(&status, &health, now));
            findings.extend(counts);
            "server"
        }
        Err(error) => {
            findings.push(unanswered(&error));
            match is_there_none(&error) {
                true => alone(&data, args, &mut findings),
                false => "nobody",
            }
        }
    };
    report(args, source, findings)
}

/// Asks a server how it is, and nothing else: what a container's or a load balancer's health check wants.
pub(super) fn health(args: &AskArgs) -> Result<Exit, Error> {
    let (status, health) = ask(&mut Client::connect_within(&args.server.address(), ANSWER_WAIT)?)?;
    let mut findings = diagnosis::of_server(&status, &health, Moment::now().wall);
    if !args.json {
        findings.retain(|finding| finding.level != Level::Ok);
        if findings.is_empty() {
            findings.push(Finding::ok("server", status.state));
        }
    }
    report(args, "server", findings)
}

/// Whether no server is there, and not only none that answers this user, or in time.
fn is_there_none(error: &Error) -> bool {
    let is_other = |kind| matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::PermissionDenied);
    matches!(error, Error::Unreachable { source, .. } if !is_other(source.kind()))
}

fn unanswered(error: &Error) -> Finding {
    match error {
        Error::Unreachable { path, source } if is_there_none(error) => {
            let text = format!("none answers at {}: {source}", path.display());
            let hint = "mainspring serve starts one; what follows was read from the store itself";
            Finding::warning("server", text, hint)
        }
        // Whether one is there cannot be seen.
        error if error.exit() == Exit::Denied => Finding::bad("server", with_causes(error), AS_OWNER),
        error => {
            let hint = "look at its log; kill -CONT wakes a server that was stopped";
            Finding::bad("server", with_causes(error), hint)
        }
    }
}

/// Looks at a server of another machine, which says what it knows of itself.
fn elsewhere(args: &AskArgs, address: &Address) -> Result<Exit, Error> {
    let (status, health) = ask(&mut Client::connect_within(address, ANSWER_WAIT)?)?;
    report(args, "server", diagnosis::of_server(&status, &health, Moment::now().wall))
}

fn report(args: &AskArgs, source: &'static str, findings: Vec<Finding>) -> Result<Exit, Error> {
    debug_assert!(!findings.is_empty(), "what was not looked at is not well");
    let level = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    let report = Report { source, level, findings };
    if args.json {
        print_json(&report)?;
    } else {
        let screen = Screen::stdout();
        print_painted(&report.findings.iter().map(|finding| text(finding, screen)).collect::<String>())?;
    }
    Ok(if report.level == Level::Bad { Exit::Failed } else { Exit::Ok })
}

fn directory(data: &DataDirectory) -> Finding {
    let path = data.directory().display();
    match Folder::at(data.directory()) {
        Err(error) => unseen_directory(data, &error),
        Ok(found) => match found.judge() {
            Err(error) => {
                let hint = "a server refuses it; look at it as its owner";
                Finding::bad("data", format!("{path}: {error}"), hint)
            }
            Ok(()) => Finding::ok("data", path.to_string()),
        },
    }
}

fn unseen_directory(data: &DataDirectory, error: &io::Error) -> Finding {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => AS_OWNER,
        _ => "mainspring serve makes it; --data or $MAINSPRING_DATA names another",
    };
    Finding::bad("data", format!("{}: {error}", data.directory().display()), hint)
}

/// A socket that others may write to: a user who can has commands run as the server's user.
fn open_socket(data: &DataDirectory) -> Option<Finding> {
    let path = data.socket();
    let mode = fs::symlink_metadata(&path).ok()?.permissions().mode() & 0o777;
    (mode & 0o022 != 0).then(|| {
        let text = format!("{} has mode {mode:03o}: others may have any command run", path.display());
        Finding::bad("socket", text, format!("chmod 600 {}", path.display()))
    })
}

fn zone() -> Finding {
    match system_zone(Moment::now().wall) {
        Ok(zone) => {
            Finding::ok("zone", zone.iana_name().unwrap_or("it has no name that is known").to_owned())
        }
        Err(error) => Finding::warning(
            "zone",
            format!("the system's is not known, UTC is used: {error}"),
            "set TZ or /etc/localtime, or name a zone in each job",
        ),
    }
}

fn set_clock(now: Timestamp) -> Finding {
    let first: Timestamp = FIRST_TIME.parse().expect("the constant is a time");
    match now < first {
        true => Finding::bad("clock", format!("{now:.0}: it is not set"), "set it, or start a time service"),
        false => Finding::ok("clock", format!("{now:.0}")),
    }
}

/// What only the server knows.
fn ask(client: &mut Client) -> Result<(StatusWire, HealthWire), Error> {
    let strange = || Error::Usage("it answers something else than was asked".to_owned());
    let Response::Status(status) = client.ask(Request::Status)? else { return Err(strange()) };
    let Response::Health(health) = client.ask(Request::Health)? else { return Err(strange()) };
    Ok((*status, *health))
}

/// Has the server count the rows of its store, and says whether its numbers are those.
fn recounted(client: &mut Client) -> Vec<Finding> {
    match client.ask(Request::Recount) {
        Ok(Response::Recounted(miscounts)) => {
            miscounts.as_deref().map(diagnosis::of_counts).unwrap_or_default()
        }
        // There are millions of rows, or the server is older than the question.
        Ok(_) => Vec::new(),
        Err(error) => {
            vec![Finding::ok("counts", format!("the rows were not counted: {}", with_causes(&error)))]
        }
    }
}

/// Reads the whole store, which no server has. Returns who was asked.
fn alone(data: &DataDirectory, args: &AskArgs, findings: &mut Vec<Finding>) -> &'static str {
    let hint = "restore a copy, or move it away; what it still gives: sqlite3 FILE .recover";
    let opened = match OfflineStore::open(data, Moment::now().wall) {
        Ok(Some(alone)) => Ok(alone),
        Ok(None) => {
            findings.push(Finding::ok("store", "there is none yet"));
            return "nobody";
        }
        Err(Error::Directory(error @ DirectoryError::Taken { .. })) => {
            let hint = "it may be starting or ending; if it stays so, look at that process";
            findings.push(Finding::bad("store", format!("{error}, and does not answer"), hint));
            return "nobody";
        }
        Err(error) => Err(error),
    };
    let mut progress = Progress::new(args, "reading the store (MiB)", 0);
    let path = data.store();
    let checked = opened.and_then(|mut alone| {
        let faults = progress.follow(&path, || alone.integrity())?;
        Ok((faults, alone.backend().health()?))
    });
    drop(progress);
    match checked {
        Err(error) => {
            let hint = match &error {
                Error::Store(StoreError::TooNew { .. }) => "a newer version wrote it: use that one",
                error if error.exit() == Exit::Denied => AS_OWNER,
                _ => hint,
            };
            let text = match &error {
                Error::Data { .. } => with_causes(&error),
                error => format!("{}: {}", path.display(), with_causes(error)),
            };
            findings.push(Finding::bad("store", text, hint));
        }
        Ok((faults, health)) => {
            findings.push(match faults.first() {
                Some(fault) => Finding::bad("store", format!("{} is damaged: {fault}", path.display()), hint),
                None => Finding::ok("store", format!("{} was read through and is sound", path.display())),
            });
            findings.extend(diagnosis::of_store(&health));
        }
    }
    "store"
}

/// The lines of a finding, in plain characters, with the colour of its level if the screen has any.
fn text(finding: &Finding, screen: Screen) -> String {
    let word = match finding.level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Bad => "BAD",
    };
    let (painted, blanks) = (screen.paint(word, Tone::of_state(word)), " ".repeat(7 - word.len()));
    let mut text = format!("{painted}{blanks}  {:<10}  {}\n", finding.subject, plain::line(&finding.text));
    if let Some(hint) = &finding.hint {
        text.push_str(&format!("{:<21}hint: {}\n", "", plain::line(hint)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_user_may_not_see_is_not_told_as_what_is_not_there() {
        let data = DataDirectory::find(Some(std::path::Path::new("/var/lib/mainspring")));
        let hint = |kind: io::ErrorKind| unseen_directory(&data, &kind.into()).hint.unwrap();
        assert_eq!(hint(io::ErrorKind::PermissionDenied), AS_OWNER);
        assert!(hint(io::ErrorKind::NotFound).starts_with("mainspring serve makes it"));
        let parts_of = |kind: io::ErrorKind| {
            let error = Error::Unreachable { path: data.socket(), source: kind.into() };
            let Finding { level, text, hint, .. } = unanswered(&error);
            (is_there_none(&error), level, text, hint.unwrap())
        };
        let (is_none, level, text, hint) = parts_of(io::ErrorKind::PermissionDenied);
        assert_eq!((is_none, level, hint.as_str()), (false, Level::Bad, AS_OWNER));
        assert!(!text.contains("none answers"), "{text}");
        let (is_none, level, text, _) = parts_of(io::ErrorKind::NotFound);
        assert_eq!((is_none, level), (true, Level::Warning));
        assert!(text.starts_with("none answers"), "{text}");
        assert!(!parts_of(io::ErrorKind::TimedOut).0);
    }

    #[test]
    fn a_finding_that_is_not_ok_says_what_to_do() {
        assert_eq!(text(&Finding::ok("zone", "UTC"), Screen::PLAIN), "ok       zone        UTC\n");
        let warning = Finding::warning("dead", "1 dead letter waits", "mainspring dead list shows it");
        let expected = "warning  dead        1 dead letter waits\n                     hint: mainspring dead list shows it\n";
        assert_eq!(text(&warning, Screen::PLAIN), expected);
    }
}
