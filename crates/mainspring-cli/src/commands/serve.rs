//! `mainspring serve`.
//!
//! Cost: see the loop in [`server`](mainspring_server::server).
//!
//! Does not go into the background: whatever starts it does that better.
//!
//! Source: daemon(7), "new-style daemons".

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::listen::Beside;
use super::takeover::owned_store;
use super::{memory, shared, zone_or_system};
use crate::cli::serve::ServeArgs;
use mainspring_exec::clock::boot_time;
use mainspring_file::crontab::Format;
use mainspring_file::loaded::Reader;
use mainspring_host::accounts::Account;
use mainspring_host::accounts::users::Users;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::{PROGRAM, say};
use mainspring_server::place::Place;
use mainspring_server::server::commands::Commands;
use mainspring_server::server::rate::Rates;
use mainspring_server::server::{Host, Keeping, Server, Serving, Stopping, Stores, standby};
use mainspring_server::takeover::take;
use mainspring_store::{Directory, DirectoryError};

/// Refuses an address among the files: it was meant for `--listen`, which takes one only behind an equals
/// sign, because the word after a bare `--listen` is a file.
fn check_files(files: &[String]) -> Result<(), Error> {
    let is_address = |name: &&String| name.parse::<SocketAddr>().is_ok() && !Path::new(name).exists();
    match files.iter().find(is_address) {
        None => Ok(()),
        Some(name) => Err(Error::Usage(format!("there is no file {name}; to listen there: --listen={name}"))),
    }
}

/// Says that jobs which name no zone may be due by another clock than the one on the wall.
fn warn_of_zone(given: Option<&TimeZone>) {
    let text = match TimeZone::try_system() {
        _ if given.is_some() => return,
        Ok(zone) if zone.iana_name().is_some() => return,
        Ok(_) => {
            "has no name, so that definitions which are exported do not name it: --tz gives one".to_owned()
        }
        Err(error) => format!("is not known, and jobs that name none are due by UTC: {error}"),
    };
    say(&format!("{PROGRAM}: the system's time zone {text}\n"));
}

pub(super) fn serve(args: ServeArgs) -> Result<Exit, Error> {
    check_files(&args.files)?;
    warn_of_zone(args.zone.as_ref());
    let ourselves =
        Account::ourselves().map_err(|source| Error::Setup { what: "our own account", source })?;
    let log = args.log_style();
    let reader = Reader {
        format: Format::from(args.format),
        zone: zone_or_system(args.zone),
        users: Users::new(ourselves),
        notify: args.notify,
    };
    let rates = Rates { connection: args.max_connection_changes, total: args.max_changes };
    let stopping = Stopping { drain: args.drain, grace: args.grace };
    let files = args.files;
    let keeping = if args.memory { Keeping::InMemory } else { Keeping::OnDisk };
    let running_max = args.max_running as usize;
    let location = shared::location(args.store, args.store_file.as_deref(), args.memory || args.standby)?;
    let mut beside = Beside::default();
    let listen = args.listen;
    let serving = |place: Place, beside: &mut Beside| {
        let listener = beside.begin(&listen, &place, &reader.zone)?;
        let (files, reader) = (files.clone(), reader.clone());
        let commands = Commands::new(running_max, reader.users.clone());
        let execution = commands.map_err(|source| Error::Setup { what: "a socket pair", source })?;
        let (execution, host) = (Box::new(execution), Host::Process(None));
        Ok(Serving { place, files, reader, stopping, rates, keeping, execution, host, listener, log })
    };
    if args.memory {
        let ended = memory::run(args.place.data.as_deref(), |place| serving(place, &mut beside));
        beside.finish();
        return ended;
    }
    let place = args.place.place();
    place.make()?;
    if let Some(location) = location {
        return shared::serve(&location, &place, log, serving);
    }
    // A standby waits without limit, and says so first.
    let taken = if args.standby { Directory::open(place.directory()) } else { take(&place) };
    let directory = match taken {
        Err(error @ DirectoryError::Taken { .. }) if args.standby => {
            standby::note(log, &format!("standing by: {error}"));
            Directory::wait(place.directory())
        }
        other => other,
    };
    let directory = Arc::new(directory.map_err(Error::Directory)?);
    // A standby has no address yet: the server before has it.
    let serving = serving(place.clone(), &mut beside)?;
    let (store, lease) = owned_store(&directory, &place)?;
    let reader = Box::new(store.reader());
    let stores = Stores { store: Box::new(store), reader: Some(reader), asked: boot_time() };
    let ended = Server::prepare(serving, stores, lease).and_then(Server::run);
    beside.finish();
    ended?;
    drop(directory);
    Ok(Exit::Ok)
}
