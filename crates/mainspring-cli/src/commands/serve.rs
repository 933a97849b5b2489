//! `mainspring serve`.
//!
//! Cost: see the loop in [`server`](mainspring_server::server).
//!
//! Does not go into the background: whatever starts it does that better.
//!
//! Source: daemon(7), "new-style daemons".

use std::net::SocketAddr;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZone;

use super::listen::{self, HttpListener};
use super::shared::PoolPart;
use super::takeover::owned_store;
use super::{memory, shared};
use crate::cli::serve::ServeArgs;
use mainspring_exec::clock::{Moment, boot_time};
use mainspring_file::cron_places::CronPlaces;
use mainspring_file::crontab::Format;
use mainspring_file::loaded_file::Reader;
use mainspring_file::system_zone::system_zone;
use mainspring_host::accounts::Account;
use mainspring_host::accounts::users::Users;
use mainspring_job::PauseTerms;
use mainspring_postgres::Location;
use mainspring_server::activation::ActivatedSockets;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::log::Style;
use mainspring_server::message::{PROGRAM, say};
use mainspring_server::server::commands::Commands;
use mainspring_server::server::execution::Execution;
use mainspring_server::server::listener::Listener;
use mainspring_server::server::rate::Rates;
use mainspring_server::server::start_pause::START_PAUSE_NOTE;
use mainspring_server::server::zone_watch::DefaultZone;
use mainspring_server::server::{Host, Keeping, Server, Serving, Stopping, Stores, standby};
use mainspring_server::takeover::take;

/// The pause with which the server begins.
fn start_pause(location: Option<&Location>) -> Result<PauseTerms, Error> {
    match location {
        Some(_) => Err(Error::Usage(NO_SHARED_PAUSE.to_owned())),
        None => Ok(PauseTerms::new(START_PAUSE_NOTE)),
    }
}

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
        _ => Ok(location),
    }
}

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
    let text = match system_zone(Moment::now().wall) {
        _ if given.is_some() => return,
        Ok(zone) if zone.iana_name().is_some() => return,
        Ok(_) => {
            "has no name, so that definitions which are exported do not name it: --tz gives one".to_owned()
        }
        Err(error) => format!("is not known, and jobs that name none are due by UTC: {error}"),
    };
    say(&format!("{PROGRAM}: the system's time zone {text}\n"));
}

/// The zone of jobs that name none.
fn zone(given: Option<TimeZone>) -> (DefaultZone, TimeZone) {
    match given {
        Some(zone) => (DefaultZone::Given, zone),
        None => (DefaultZone::System, system_zone(Moment::now().wall).unwrap_or(TimeZone::UTC)),
    }
}

/// The sockets of the service manager. They are taken before there is a second thread.
fn handed_over(args: &ServeArgs) -> Result<ActivatedSockets, Error> {
    let has_own_folder = args.memory && args.data.data.is_none();
    let handed = ActivatedSockets::take((!has_own_folder).then(|| args.data.directory()).as_ref())?;
    listen::check(&args.listen, &handed)?;
    Ok(handed)
}

/// What every loop of this program serves, and how.
struct ServeDefaults {
    files: Vec<String>,
    reader: Reader,
    stopping: Stopping,
    rates: Rates,
    keeping: Keeping,
    running_max: usize,
    log: Style,
    pause: Option<PauseTerms>,
    default_zone: DefaultZone,
}

impl ServeDefaults {
    /// What starts processes and webhooks.
    fn commands(&self) -> Result<Box<dyn Execution>, Error> {
        let commands = Commands::new(self.running_max, self.reader.users.clone());
        let commands = commands.map_err(|source| Error::Setup { what: "a socket pair", source })?;
        Ok(Box::new(commands))
    }

    /// For a loop of this folder.
    fn serving(
        &self,
        data: DataDirectory,
        listener: Listener,
        control: Option<UnixListener>,
        execution: Box<dyn Execution>,
    ) -> Result<Serving, Error> {
        Ok(Serving {
            data,
            files: self.files.clone(),
            reader: self.reader.clone(),
            stopping: self.stopping,
            rates: self.rates,
            keeping: self.keeping,
            execution,
            host: Host::Process(None, None),
            listener,
            control,
            log: self.log,
            pause: self.pause.clone(),
            default_zone: Some(self.default_zone),
        })
    }
}

pub(super) fn serve(args: ServeArgs) -> Result<Exit, Error> {
    check_files(&args.files)?;
    let handed = handed_over(&args)?;
    warn_of_zone(args.zone.as_ref());
    let ourselves =
        Account::ourselves().map_err(|source| Error::Setup { what: "our own account", source })?;
    let log = args.log_style();
    let location = location(&args)?;
    let (default_zone, zone) = zone(args.zone);
    let (format, users, notify) = (Format::from(args.format), Users::new(ourselves), args.notify);
    let (page, cron) = (listen::public_url(&args.listen), args.cron.as_deref().map(CronPlaces::below));
    let defaults = ServeDefaults {
        files: args.files,
        reader: Reader { format, zone: zone.clone(), users, notify, page, cron },
        stopping: Stopping { drain: args.drain, grace: args.grace },
        rates: Rates { connection: args.max_connection_changes, total: args.max_changes },
        keeping: if args.memory { Keeping::InMemory } else { Keeping::OnDisk },
        running_max: args.max_running as usize,
        log,
        default_zone,
        pause: if args.paused { Some(start_pause(location.as_ref())?) } else { None },
    };
    let (listening, mut http_listener) = (args.listen, HttpListener::default());
    let serving = |data: DataDirectory, http_listener: &mut HttpListener, execution: Box<dyn Execution>| {
        let listener = http_listener.begin(&listening, &handed, &data, &zone)?;
        defaults.serving(data, listener, handed.control()?, execution)
    };
    if args.memory {
        let ended = memory::run(args.data.data.as_deref(), |data| {
            serving(data, &mut http_listener, defaults.commands()?)
        });
        http_listener.finish();
        return ended;
    }
    let data = args.data.directory();
    data.make()?;
    if let Some(location) = location {
        let stand =
            |http_listener: &mut HttpListener| http_listener.stand(&listening, &handed, &data, &zone, log);
        let part = PoolPart {
            execution: if args.no_work { None } else { Some(defaults.commands()?) },
            labels: args.labels,
            plans: !args.no_plan,
            stopping: defaults.stopping,
        };
        return shared::serve(&location, &data, log, &handed, part, stand, serving);
    }
    // A standby waits without limit.
    let (directory, signals) = match args.standby {
        true => match standby::wait_for_folder(&data, log)? {
            Some((directory, signals)) => (Arc::new(directory), Some(signals)),
            None => return Ok(Exit::Ok),
        },
        false => (Arc::new(take(&data).map_err(Error::Directory)?), None),
    };
    // A standby has no address yet: the server before has it.
    let serving = Serving {
        host: Host::Process(signals, None),
        ..serving(data.clone(), &mut http_listener, defaults.commands()?)?
    };
    let (store, lease) = owned_store(&directory, &data)?;
    let reader = Box::new(store.reader());
    let stores = Stores { store: Box::new(store), reader: Some(reader), asked_at: boot_time() };
    let ended = Server::prepare(serving, stores, lease).and_then(Server::run);
    http_listener.finish();
    ended?;
    drop(directory);
    Ok(Exit::Ok)
}
