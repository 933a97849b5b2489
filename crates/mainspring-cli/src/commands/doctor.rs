//! `mainspring doctor`: looks at everything around a server that could be in trouble.
//!
//! ```text
//!            ┌─ a server answers ─▶ what only it knows: store, jobs, files, clock, room, limits
//! place ─────┤
//!            └─ none does ────────▶ the store itself, read through
//! ```
//!
//! Cost: a few system calls and two requests; without a server also a read of the whole store, about a second for each
//! gigabyte.
//!
//! Does not repair anything.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mainspring_job::{MAX_CRASHES, MAX_ON_PROBATION, StoreError};
use serde::Serialize;

use super::finding::{Finding, Level};
use super::progress::Progress;
use super::{print_json, print_painted};
use crate::cli::serve::AskArgs;
use crate::client::{Address, Client};
use crate::relative::relative;
use crate::terminal::Screen;
use mainspring_exec::clock::Moment;
use mainspring_exec::descriptors;
use mainspring_exec::executor::MAX_RUNNING;
use mainspring_host::folder::Folder;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::{counted, with_causes};
use mainspring_server::place::Place;
use mainspring_server::protocol::{HealthWire, NamesWire, Request, Response, StatusWire};
use mainspring_server::server::alone::Alone;
use mainspring_store::DirectoryError;

/// Less free room than this is worth a word: the store's journal and a day of output need as much.
const LITTLE_FREE_BYTES: u64 = 256 << 20;

/// With less than this the next commits fail: the journal grows by some megabytes before it is folded in.
const MIN_FREE_BYTES: u64 = 32 << 20;

/// A clock before this is not set: the program is younger than that.
const FIRST_TIME: &str = "2026-01-01T00:00:00Z";

/// How far the clock may be ahead of the last thing that was planned before that is odd.
const MAX_IDLE_SECONDS: i64 = 366 * 86_400;

/// How long a server has to answer. One that is stopped or hangs in the kernel never does.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// What was found, as a document.
#[derive(Serialize)]
struct Report {
    /// `server`, `store` or `nobody`.
    asked: &'static str,
    level: Level,
    findings: Vec<Finding>,
}

pub(super) fn doctor(args: &AskArgs) -> Result<Exit, Error> {
    let address = args.server.address();
    // What stands around a server elsewhere cannot be seen from here.
    let place = match &address {
        Address::Here(place) => place.clone(),
        Address::There(_) => return elsewhere(args, &address),
    };
    let now = Moment::now().wall;
    let mut findings = vec![directory(&place), zone(), set_clock(now)];
    let asked = match ask(&address) {
        Ok((status, health)) => {
            findings.extend(server(&status, &health, now));
            findings.extend(open_socket(&place));
            findings.extend(files(&status));
            findings.extend(judged(&health));
            "server"
        }
        Err(Error::Unreachable { path, source }) if source.kind() != io::ErrorKind::TimedOut => {
            let text = format!("none answers at {}: {source}", path.display());
            let hint = "mainspring serve starts one; what follows was read from the store itself";
            findings.push(Finding::warning("server", text, hint));
            alone(&place, args.json, &mut findings)
        }
        Err(error) => {
            let hint = "look at its log; kill -CONT wakes a server that was stopped";
            findings.push(Finding::bad("server", with_causes(&error), hint));
            "nobody"
        }
    };
    report(args, asked, findings)
}

/// Looks at a server of another machine, which says what it knows of itself.
fn elsewhere(args: &AskArgs, address: &Address) -> Result<Exit, Error> {
    let (status, health) = ask(address)?;
    let mut findings = server(&status, &health, Moment::now().wall);
    findings.extend(files(&status));
    findings.extend(judged(&health));
    report(args, "server", findings)
}

fn report(args: &AskArgs, asked: &'static str, findings: Vec<Finding>) -> Result<Exit, Error> {
    let level = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    let report = Report { asked, level, findings };
    if args.json {
        print_json(&report)?;
    } else {
        let screen = Screen::stdout();
        print_painted(&report.findings.iter().map(|finding| finding.text(screen)).collect::<String>())?;
    }
    Ok(if report.level == Level::Bad { Exit::Failed } else { Exit::Ok })
}

fn directory(place: &Place) -> Finding {
    let path = place.directory().display();
    match Folder::at(place.directory()) {
        Err(error) => Finding::bad(
            "data",
            format!("{path}: {error}"),
            "mainspring serve makes it; --data or $MAINSPRING_DATA names another",
        ),
        Ok(found) => match found.judge() {
            Err(error) => Finding::bad(
                "data",
                format!("{path}: {error}"),
                "a server refuses it; look at it as its owner",
            ),
            Ok(()) => Finding::ok("data", path.to_string()),
        },
    }
}

/// A socket that others may write to: whoever can has commands run as the server's user.
fn open_socket(place: &Place) -> Option<Finding> {
    let path = place.socket();
    let mode = fs::metadata(&path).ok()?.permissions().mode() & 0o777;
    (mode & 0o022 != 0).then(|| {
        let text = format!("{} has mode {mode:03o}: others may have any command run", path.display());
        Finding::bad("socket", text, format!("chmod 600 {}", path.display()))
    })
}

fn zone() -> Finding {
    match TimeZone::try_system() {
        Ok(zone) => Finding::ok("zone", zone.iana_name().unwrap_or("of TZ").to_owned()),
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
fn ask(address: &Address) -> Result<(StatusWire, HealthWire), Error> {
    let mut client = Client::connect(address)?;
    client.answers_within(ANSWER_WAIT)?;
    let strange = || Error::Usage("it answers something else than was asked".to_owned());
    let Response::Status(status) = client.ask(Request::Status)? else { return Err(strange()) };
    let Response::Health(health) = client.ask(Request::Health)? else { return Err(strange()) };
    Ok((*status, *health))
}

fn server(status: &StatusWire, health: &HealthWire, now: Timestamp) -> Vec<Finding> {
    let since = status.started.parse().map_or_else(|_| String::new(), |started| relative(started, now));
    let epoch = health.epoch.unwrap_or_default();
    let text = format!("process {}, {}, started {since}, epoch {epoch}", status.pid, status.state);
    let mut findings = vec![match status.state.as_str() {
        "running" => Finding::ok("server", text),
        _ => Finding::warning("server", text, "it starts nothing more; a second SIGTERM ends it at once"),
    }];
    if status.version != env!("CARGO_PKG_VERSION") {
        let text = format!("it is version {}, and this is {}", status.version, env!("CARGO_PKG_VERSION"));
        findings.push(Finding::warning("version", text, "restart the server"));
    }
    findings.push(match &health.fault {
        None if status.is_kept => {
            Finding::ok("store", "it answers; it is read through when no server has it")
        }
        None => Finding::ok("store", "in memory: nothing is kept"),
        Some(fault) => Finding::bad("store", fault.clone(), "look at the server's log, and at the disk"),
    });
    let hint = "make room on the disk of the data directory; all goes on by itself then";
    findings.extend(status.troubles.iter().map(|trouble| Finding::bad("trouble", trouble.clone(), hint)));
    let jobs = counted(usize::try_from(status.jobs).unwrap_or(usize::MAX), "job");
    let open = counted(usize::try_from(status.open).unwrap_or(usize::MAX), "open run");
    let text = format!("{jobs}, {} pending, {open}", status.pending);
    findings.push(Finding::ok("jobs", text));
    if 0 < status.refused {
        let text = format!("{} requests were refused, because clients asked too fast", status.refused);
        findings.push(Finding::warning("rate", text, "serve --max-changes and --max-connection-changes"));
    }
    if let Some(count) = health.running_max.filter(|count| *count < MAX_RUNNING as u64) {
        let limit = health.open_files_max.unwrap_or_default();
        let text = format!("the server's limit is {limit}, so at most {count} runs go on at a time");
        let hint = format!("ulimit -Hn {} before it starts, for {MAX_RUNNING}", descriptors::NEEDED);
        findings.push(Finding::warning("open files", text, hint));
    }
    findings
}

fn files(status: &StatusWire) -> Vec<Finding> {
    let of = |file: &mainspring_server::protocol::FileStateWire| match file.problems.lines().next() {
        None => Finding::ok("file", format!("{}: {}", file.name, counted(file.jobs, "job"))),
        Some(problem) => Finding::bad(
            "file",
            problem.to_owned(),
            format!("the old set is in force; mainspring check {}", file.name),
        ),
    };
    status.files.iter().map(of).collect()
}

/// What can be said of jobs and disk, whoever told it.
fn judged(health: &HealthWire) -> Vec<Finding> {
    let mut findings = vec![room(health.free_bytes)];
    if health.is_all_paused {
        findings.push(Finding::warning("paused", "everything is", "mainspring resume --all"));
    }
    if 0 < health.paused.count {
        findings.push(Finding::ok("paused", names(&health.paused)));
    }
    if 0 < health.failing.count {
        let text = format!("after too many failures: {}", names(&health.failing));
        let hint = "mainspring history --state failed,timed_out says why, mainspring resume JOB goes on";
        findings.push(Finding::warning("paused", text, hint));
    }
    if 0 < health.crash_loops.count {
        let text = format!("the server died in them {MAX_CRASHES} times: {}", names(&health.crash_loops));
        let hint = "mend them, and mainspring resume JOB goes on";
        findings.push(Finding::warning("paused", text, hint));
    }
    if 0 < health.quarantined.count {
        let text = format!(
            "they ran when the server died, and start at most {MAX_ON_PROBATION} at a time: {}",
            names(&health.quarantined)
        );
        let hint = "each is let out when it has ended or has run for ten seconds";
        findings.push(Finding::warning("quarantine", text, hint));
    }
    if 0 < health.dead {
        let dead = counted(usize::try_from(health.dead).unwrap_or(usize::MAX), "dead letter");
        let hint = "mainspring dead list shows them, dead retry and dead drop let go of them";
        findings.push(Finding::warning("dead", format!("{dead} to be looked at"), hint));
    }
    findings.extend(planned(health));
    findings
}

fn room(free_bytes: Option<u64>) -> Finding {
    let hint = "make room; without it output is dropped first, then new work is refused, then nothing starts";
    match free_bytes {
        None => Finding::warning("room", "cannot be measured", "df shows it"),
        Some(free) => {
            let text = format!("{} MiB free", free >> 20);
            match free {
                ..MIN_FREE_BYTES => Finding::bad("room", text, hint),
                MIN_FREE_BYTES..LITTLE_FREE_BYTES => Finding::warning("room", text, hint),
                LITTLE_FREE_BYTES.. => Finding::ok("room", text),
            }
        }
    }
}

/// The clock beside the last nominal time that was planned.
fn planned(health: &HealthWire) -> Option<Finding> {
    let (now, planned): (Timestamp, Timestamp) =
        (health.now.parse().ok()?, health.planned.as_ref()?.parse().ok()?);
    let when = relative(planned, now);
    if 0 < health.behind.count {
        let text = format!("the clock was set back: {} rest until it shows {planned}", names(&health.behind));
        return Some(Finding::bad(
            "planned",
            text,
            "nothing fires twice; set the clock right, wait, or see `mainspring help rewind`",
        ));
    }
    if MAX_IDLE_SECONDS < now.as_second() - planned.as_second() {
        let text = format!("the last occurrence was planned {when}");
        return Some(Finding::warning("planned", text, "is the clock far ahead?"));
    }
    Some(Finding::ok("planned", format!("up to {planned:.0} ({when})")))
}

fn names(names: &NamesWire) -> String {
    let count = usize::try_from(names.count).unwrap_or(usize::MAX);
    let more = if names.first.len() < count { ", .." } else { "" };
    format!("{} ({}{more})", counted(count, "job"), names.first.join(", "))
}

/// Reads the whole store, which no server has. Returns who was asked.
fn alone(place: &Place, is_json: bool, findings: &mut Vec<Finding>) -> &'static str {
    let hint = "restore a copy, or move it away; what it still gives: sqlite3 FILE .recover";
    let opened = match Alone::open(place, Moment::now().wall) {
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
    let mut progress = Progress::new(is_json, "reading the store (MiB)", 0);
    let path = place.store();
    let checked = opened.and_then(|mut alone| {
        let faults = progress.follow(&path, || alone.integrity())?;
        Ok((faults, alone.health(place)?))
    });
    progress.finish();
    match checked {
        Err(error) => {
            let hint = match &error {
                Error::Store(StoreError::TooNew { .. }) => "a newer version wrote it: use that one",
                error if error.exit() == Exit::Denied => "look at it as its owner",
                _ => hint,
            };
            findings.push(Finding::bad(
                "store",
                format!("{}: {}", path.display(), with_causes(&error)),
                hint,
            ));
        }
        Ok((faults, health)) => {
            findings.push(match faults.first() {
                Some(fault) => Finding::bad("store", format!("{} is damaged: {fault}", path.display()), hint),
                None => Finding::ok("store", format!("{} was read through and is sound", path.display())),
            });
            findings.extend(judged(&health));
        }
    }
    "store"
}
