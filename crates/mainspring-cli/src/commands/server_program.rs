//! The program that `serve` is: its command line, and what each of its loops is given.
//!
//! ```text
//! serve ─▶ ServerProgram ─┬─▶ serve: a loop on the store of a folder
//!                         ├─▶ memory: a loop on a store that ends with it
//!                         └─▶ shared: a loop whenever it plans, and it stands by between them
//! ```
//!
//! Cost: some strings for each loop.
//!
//! Does not run a loop: see [`serve`](super::serve).

use jiff::tz::TimeZone;

use super::listen::{self, HttpListener};
use crate::cli::serve::ServeArgs;
use mainspring_exec::clock::Moment;
use mainspring_file::cron_places::CronPlaces;
use mainspring_file::crontab::Format;
use mainspring_file::loaded_file::Reader;
use mainspring_file::system_zone::system_zone;
use mainspring_host::accounts::users::Users;
use mainspring_job::PauseTerms;
use mainspring_server::activation::ActivatedSockets;
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::log::Style;
use mainspring_server::message::with_causes;
use mainspring_server::server::commands::Commands;
use mainspring_server::server::execution::Execution;
use mainspring_server::server::listener::Listener;
use mainspring_server::server::rate::Rates;
use mainspring_server::server::standby::note;
use mainspring_server::server::start_pause::START_PAUSE_NOTE;
use mainspring_server::server::zone_watch::DefaultZone;
use mainspring_server::server::{Host, Keeping, Serving, Stopping};

/// What every loop of this program serves, and how.
pub(super) struct ServerProgram {
    pub(super) args: ServeArgs,
    /// The sockets of the service manager.
    pub(super) handed: ActivatedSockets,
    /// How its log is written.
    pub(super) log: Style,
    reader: Reader,
    default_zone: DefaultZone,
    http_listener: HttpListener,
}

impl ServerProgram {
    pub(super) fn new(args: ServeArgs, handed: ActivatedSockets, users: Users) -> ServerProgram {
        // The zone of jobs that name none.
        let (default_zone, zone) = match &args.zone {
            Some(zone) => (DefaultZone::Given, zone.clone()),
            None => (DefaultZone::System, system_zone(Moment::now().wall).unwrap_or(TimeZone::UTC)),
        };
        let (format, notify) = (Format::from(args.format), args.notify.clone());
        let (page, cron) = (listen::public_url(&args.listen), args.cron.as_deref().map(CronPlaces::below));
        let reader = Reader { format, zone, users, notify, page, cron };
        let log = args.log_style();
        ServerProgram { args, handed, log, reader, default_zone, http_listener: HttpListener::default() }
    }

    /// What starts processes and webhooks.
    pub(super) fn commands(&self) -> Result<Box<dyn Execution>, Error> {
        let commands = Commands::new(self.args.max_running as usize, self.reader.users.clone());
        Ok(Box::new(commands.map_err(Error::setup("a socket pair"))?))
    }

    /// How its runs end with it.
    pub(super) fn stopping(&self) -> Stopping {
        Stopping { drain: self.args.drain, grace: self.args.grace }
    }

    /// What a loop of this folder is given. It is listened for from now on, where that is asked for.
    pub(super) fn serving(
        &mut self,
        data: DataDirectory,
        execution: Box<dyn Execution>,
    ) -> Result<Serving, Error> {
        let listener = match self.args.standby {
            // It stood by in order to have the jobs: they run also where another program has its address.
            true => self.stand(&data),
            false => self.listen(&data)?,
        };
        let args = &self.args;
        Ok(Serving {
            data,
            files: args.files.clone(),
            reader: self.reader.clone(),
            stopping: self.stopping(),
            rates: Rates { connection: args.max_connection_changes, total: args.max_changes },
            keeping: if args.memory { Keeping::InMemory } else { Keeping::OnDisk },
            execution,
            host: Host::Process(None, None),
            listener,
            control: self.handed.control()?,
            log: self.log,
            pause: args.paused.then(|| PauseTerms::new(START_PAUSE_NOTE)),
            default_zone: Some(self.default_zone),
        })
    }

    fn listen(&mut self, data: &DataDirectory) -> Result<Listener, Error> {
        self.http_listener.begin(&self.args.listen, &self.handed, data, &self.reader.zone)
    }

    /// Listens for a server that stands by, has several loops, or takes jobs over. Returns the ends of the
    /// connections over which it is asked.
    pub(super) fn stand(&mut self, data: &DataDirectory) -> Listener {
        self.listen(data).unwrap_or_else(|error| {
            // Another server of this machine may have the address, and this one may have it next.
            note(self.log, &format!("nothing is served over HTTP: {}", with_causes(&error)));
            Listener::default()
        })
    }

    /// Waits for the end of what listens, which comes soon after that of the loop.
    pub(super) fn finish_listening(&mut self) {
        std::mem::take(&mut self.http_listener).finish();
    }
}
