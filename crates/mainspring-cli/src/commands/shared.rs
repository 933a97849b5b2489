//! `mainspring serve --store`: one of several servers that share a database.
//!
//! ```text
//!  a worker, from the start to the end          runs what any planner assigns to it
//!  stand by ── a lease ──▶ the planner's loop ── the lease is lost ──▶ stand by
//! ```
//!
//! Cost: see the loop in [`server`](mainspring_server::server), and [`mainspring_cluster`]; a server that
//! does not plan asks the database for the lease when it may have run out.
//!
//! Does not share the data directory: each server has its own, for its socket and the output of its runs.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use mainspring_cluster::candidate::{Candidate, Plan};
use mainspring_cluster::request_proxy::RequestProxy;
use mainspring_cluster::worker::RunningWorker;
use mainspring_job::StoreError;
use mainspring_postgres::Location;

use super::server_program::ServerProgram;
use mainspring_exec::notifier::pair;
use mainspring_host::regular::open_regular;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::log::Log;
use mainspring_server::message::note;
use mainspring_server::server::listener::Listener;
use mainspring_server::server::program_calls::calls;
use mainspring_server::server::{Host, Server, Serving, Stopping, standard_output, standby};
use mainspring_server::signals::Signals;
use mainspring_server::takeover::take;
use mainspring_server::waiting::wait_for_any;

/// Where the database is, if one is shared, unless it is left out.
const VARIABLE: &str = "MAINSPRING_STORE";

/// The longest file with an address: some times what one takes with a dozen of hosts.
const MAX_ADDRESS_BYTES: u64 = 64 << 10;

/// Which database is shared; `None` for the store in the data directory.
pub(super) fn location(argument: Option<String>, file: Option<&Path>) -> Result<Option<Location>, Error> {
    let named = named_location(argument, file)?;
    match std::env::var(VARIABLE) {
        Ok(text) if named.is_none() && !text.is_empty() => parsed(VARIABLE, &text).map(Some),
        _ => Ok(named),
    }
}

/// The same where another store may be asked for, so that the variable means nothing.
pub(super) fn named_location(
    argument: Option<String>,
    file: Option<&Path>,
) -> Result<Option<Location>, Error> {
    if let Some(path) = file {
        let text = file_text(path).map_err(|source| Error::Data { path: path.to_owned(), source })?;
        let line = text.lines().next().unwrap_or_default();
        return parsed(&path.display().to_string(), line).map(Some);
    }
    let Some(text) = argument else { return Ok(None) };
    let location = parsed("--store", &text)?;
    if location.has_password() {
        let text = "others on this machine see the password of --store in the list of processes: --store-file hides it";
        note(text);
    }
    Ok(Some(location))
}

fn parsed(origin: &str, text: &str) -> Result<Location, Error> {
    Location::parse(text.trim()).map_err(|why| Error::Usage(format!("{origin}: {why}")))
}

/// The text of a file that says which database has the jobs: a user who could have chosen it has commands
/// run.
fn file_text(path: &Path) -> io::Result<String> {
    let opened = open_regular(path)?;
    opened.judge(None)?;
    let mut text = String::new();
    opened.file.take(MAX_ADDRESS_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Works for its pool, and plans whenever it has the lease, until a signal asks to stop.
pub(super) fn serve(
    location: &Location,
    data: &DataDirectory,
    program: &mut ServerProgram,
) -> Result<Exit, Error> {
    let execution = if program.args.no_work { None } else { Some(program.commands()?) };
    let directory = take(data, note).map_err(Error::Directory)?;
    let mut candidate = Candidate::open(location, data.shown(), data)?;
    if program.args.no_plan {
        candidate.never_plans();
    }
    let log = standard_output().map(Log::new).map_err(Error::setup("the log"))?;
    let (labels, log) = (program.args.labels.clone(), log.in_style(program.log));
    let start = |execution| candidate.start_worker(labels, data.output(), log, execution);
    let worker = execution.map(start).transpose()?;
    let _wakes = worker.as_ref().map(RunningWorker::wake_at_ends_of_processes).transpose()?;
    let ended = plan(&mut candidate, data, program);
    program.finish_listening();
    let left = worker.map_or(Ok(()), |worker| leave(worker, program.stopping()));
    drop(directory);
    ended.and(left).map(|()| Exit::Ok)
}

/// Plans whenever it has the lease, until a signal asks to stop. While it does not, it listens too.
fn plan(candidate: &mut Candidate, data: &DataDirectory, program: &mut ServerProgram) -> Result<(), Error> {
    let (location, style) = (candidate.location().clone(), program.log);
    loop {
        let setup = Error::setup("a socket pair");
        let (notifier, notifications) = pair().map_err(setup)?;
        let watch = candidate.watch_releases(move || notifier.notify())?;
        let mut listening: Option<Listener> = None;
        let (standing, control) = (candidate.standing(), program.handed.control()?);
        let acquire = || {
            let acquired = candidate.acquire();
            if acquired.is_err() && listening.is_none() {
                candidate.answer(listening.insert(program.stand(data)));
            }
            acquired
        };
        let acquired = standby::wait(data, style, control, &notifications, acquire, |client, _| {
            RequestProxy::new(&standing).serve_client(client);
        });
        drop(watch);
        // The listener ends what it answers, whatever has happened: its end is waited for. The next one
        // begins beside it.
        for stream in listening.into_iter().flat_map(|listener| listener.streams) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let Some((lease, asked_at, signals)) = acquired? else { return Ok(()) };
        standby::note(style, &format!("{location}: this server plans now, epoch {}", lease.epoch));
        let (caller, calls) = calls().map_err(setup)?;
        let note = move |text: &str| standby::note(style, text);
        let ended = candidate.plan(lease, asked_at, data, caller, note).and_then(|plan| {
            let Plan { execution, stores, inbox } = plan;
            let serving = program.serving(data.clone(), Box::new(execution))?;
            let serving = Serving { host: Host::Process(Some(signals), Some(calls)), ..serving };
            let ended = Server::prepare(serving, stores, lease).and_then(Server::run);
            drop(inbox);
            ended
        });
        match ended {
            Err(Error::Store(error @ (StoreError::Fenced | StoreError::Busy(_) | StoreError::Unknown))) => {
                standby::note(style, &format!("{location}: {error}"));
            }
            other => return other,
        }
    }
}

/// Ends the worker of a server that is to end: what runs gets the time that it has. A second signal ends all.
fn leave(worker: RunningWorker, stopping: Stopping) -> Result<(), Error> {
    let mut signals = Signals::register().map_err(Error::setup("signals"))?;
    // The first of them is why it ends.
    signals.stop_requests();
    worker.stop(stopping);
    loop {
        let ended = worker.ended();
        let readable: Vec<BorrowedFd<'_>> = signals.fds().into_iter().chain([ended.as_fd()]).collect();
        let ready = wait_for_any(&readable, &[], &[], None).map_err(Error::setup("polling"))?;
        let is_over = ready.contains(&ended.as_fd().as_raw_fd());
        if signals.take_stop_request() {
            worker.stop(stopping);
        }
        if is_over {
            worker.join();
            return Ok(());
        }
    }
}
