//! `mainspring serve`.
//!
//! Cost: see the loop in [`server`](crate::server).
//!
//! Does not go into the background: whatever starts it does that better.
//!
//! Source: daemon(7), "new-style daemons".

use super::{memory, zone_or_system};
use crate::accounts::Account;
use crate::cli::serve::ServeArgs;
use crate::crontab::Format;
use crate::error::Error;
use crate::exit::Exit;
use crate::loaded::Reader;
use crate::message::say;
use crate::server::Server;
use crate::store::{Directory, DirectoryError, SqliteStore};

pub(super) fn serve(args: ServeArgs) -> Result<Exit, Error> {
    if args.memory {
        return memory::run(args);
    }
    let ourselves =
        Account::ourselves().map_err(|source| Error::Setup { what: "our own account", source })?;
    let reader = Reader { format: Format::from(args.format), zone: zone_or_system(args.zone), ourselves };
    let place = args.place.place();
    place.make()?;
    let directory = match Directory::open(place.directory()) {
        Err(error @ DirectoryError::Taken { .. }) if args.standby => {
            say(&format!("mainspring: standing by: {error}\n"));
            Directory::wait(place.directory())
        }
        other => other,
    };
    let directory = directory.map_err(Error::Directory)?;
    let store = Box::new(SqliteStore::open(&directory).map_err(Error::Store)?);
    Server::prepare(place, store, &args.files, reader, args.grace)?.run()?;
    drop(directory);
    Ok(Exit::Ok)
}
