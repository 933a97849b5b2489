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

use super::server_program::ServerProgram;
use super::takeover::owned_store;
use super::{listen, memory, shared};
use crate::cli::serve::ServeArgs;
use mainspring_exec::clock::{Moment, boot_time};
use mainspring_file::cron_places::CronPlaces;
use mainspring_file::system_zone::system_zone;
use mainspring_host::accounts::Account;
use mainspring_host::accounts::users::Users;
use mainspring_postgres::Location;
use mainspring_server::activation::ActivatedSockets;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::log::Format;
use mainspring_server::message::{be_json, note};
use mainspring_server::server::{Host, Server, Serving, Stores, standby};
use mainspring_server::signals::outlive_file_limit;
use mainspring_server::takeover::take;

/// Servers of a database have one pause, and a server that comes later would pause what the others run.
const NO_SHARED_PAUSE: &str = "--paused is for a folder: of a database start one server with --no-work, \
                               which starts nothing, and say `mainspring pause --all`";

/// The database that is shared; `None` for a store of this server alone, for which what a server does in a
/// pool is refused. The command line cannot refuse it, because the variable may name the database.
fn location(args: &ServeArgs) -> Result<Option<Location>, Error> {
    let locate = if args.memory || args.standby { shared::named_location } else { shared::location };
    let location = locate(args.store.clone(), args.store_file.as_deref())?;
    let in_a_pool =
        [("--no-work", args.no_work), ("--no-plan", args.no_plan), ("--label", !args.labels.is_empty())];
    match in_a_pool.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if location.is_none() => Err(Error::Usage(format!(
            "{option} needs --store or --store-file: without a database no other server plans or works"
        ))),
        _ if location.is_some() && args.paused => Err(Error::Usage(NO_SHARED_PAUSE.to_owned())),
        _ => Ok(location),
    }
}

/// Refuses among the files what was meant for an option that takes its value only behind an equals sign,
/// because the word after the bare option is a file: an address, and with `--cron` a folder of cron's places.
fn check_files(ServeArgs { files, cron, .. }: &ServeArgs) -> Result<(), Error> {
    let is_address = |name: &&String| name.parse::<SocketAddr>().is_ok() && !Path::new(name).exists();
    if let Some(name) = files.iter().find(is_address) {
        return Err(Error::Usage(format!("there is no file {name}; to listen there: --listen={name}")));
    }
    let is_root = |name: &&String| cron.is_some() && CronPlaces::below(name.as_ref()).are_there();
    match files.iter().find(is_root) {
        None => Ok(()),
        Some(name) => {
            Err(Error::Usage(format!("{name} is a folder with cron's files; to serve those: --cron={name}")))
        }
    }
}

/// Says that jobs which name no zone may be due by another clock than the one on the wall.
fn warn_of_zone(given: Option<&TimeZone>) {
    let text = match system_zone(Moment::now().wall) {
        _ if given.is_some() => return,
        Ok(zone) if zone.iana_name().is_some() => return,
        Ok(_) => {
            "has no name, so that definitions which are exported do not name it: --tz gives one".to_owned()
        }
        Err(error) => format!("is not known, and jobs that name none are due by UTC: {error}"),
    };
    note(&format!("the system's time zone {text}"));
}

/// The sockets of the service manager. They are taken before there is a second thread.
fn handed_over(args: &ServeArgs) -> Result<ActivatedSockets, Error> {
    let has_own_folder = args.memory && args.data.data.is_none();
    let handed = ActivatedSockets::take((!has_own_folder).then(|| args.data.directory()).as_ref())?;
    listen::check(&args.listen, &handed)?;
    Ok(handed)
}

pub(super) fn serve(args: ServeArgs) -> Result<Exit, Error> {
    if args.log_style().format == Format::Json {
        be_json();
    }
    outlive_file_limit().map_err(Error::setup("signals"))?;
    check_files(&args)?;
    let handed = handed_over(&args)?;
    warn_of_zone(args.zone.as_ref());
    let ourselves = Account::ourselves().map_err(Error::setup("our own account"))?;
    let location = location(&args)?;
    let mut program = ServerProgram::new(args, handed, Users::new(ourselves));
    if program.args.memory {
        let ended = memory::run(&mut program);
        program.finish_listening();
        return ended;
    }
    let data = program.args.data.directory();
    data.make()?;
    match location {
        Some(location) => shared::serve(&location, &data, &mut program),
        None => serve_folder(&data, &mut program),
    }
}

/// Serves the store of a folder, until a signal asks to stop.
fn serve_folder(data: &DataDirectory, program: &mut ServerProgram) -> Result<Exit, Error> {
    // A standby waits without limit.
    let (directory, signals) = match program.args.standby {
        true => match standby::wait_for_folder(data, program.log)? {
            Some((directory, signals)) => (Arc::new(directory), Some(signals)),
            None => return Ok(Exit::Ok),
        },
        false => (Arc::new(take(data, note).map_err(Error::Directory)?), None),
    };
    // A standby has no address yet: the server before has it.
    let execution = program.commands()?;
    let serving = Serving { host: Host::Process(signals, None), ..program.serving(data.clone(), execution)? };
    let (store, lease) = owned_store(&directory, data)?;
    let reader = Box::new(store.reader());
    let stores = Stores { store: Box::new(store), reader: Some(reader), asked_at: boot_time() };
    let ended = Server::prepare(serving, stores, lease).and_then(Server::run);
    program.finish_listening();
    ended?;
    drop(directory);
    Ok(Exit::Ok)
}
