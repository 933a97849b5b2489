//! `mainspring store`: a store is copied into one of the other kind, or its tables are made.
//!
//! Cost: that of the copy: each row once.
//!
//! Does not copy the output of runs, which lies in files where they ran.

use std::path::Path;
use std::sync::Arc;

use mainspring_host::directory::Directory;
use mainspring_job::StoreError;
use mainspring_postgres::{FORMAT_VERSION, PostgresCopy, found, migrate, preview};
use mainspring_rows::copy::{self, Source, Target};
use mainspring_server::data_directory::DataDirectory;
use mainspring_server::error::Error;
use mainspring_server::exit::Exit;
use mainspring_server::message::note;
use mainspring_server::takeover::take;
use mainspring_store::SqliteStore;

use super::{print, shared};
use crate::cli::store::{StoreCommand, StoreCopyArgs, StoreMigrateArgs};

pub(super) fn store(command: &StoreCommand) -> Result<Exit, Error> {
    match command {
        StoreCommand::Copy(args) => copy_all(args),
        StoreCommand::Migrate(args) => make_tables(args),
    }
}

/// Where a store is.
enum StoreName<'a> {
    Folder(&'a Path),
    Database(&'a str),
    File(&'a Path),
}

fn named(text: &str) -> Result<StoreName<'_>, Error> {
    Ok(match text.split_once(':') {
        Some(("sqlite", folder)) if !folder.is_empty() => StoreName::Folder(Path::new(folder)),
        Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => StoreName::Database(text),
        Some(("postgres" | "postgresql", words)) => StoreName::Database(words),
        Some(("file", file)) if !file.is_empty() => StoreName::File(Path::new(file)),
        _ => {
            let wanted = "a store is sqlite:DIR, postgres:URL, or file:FILE with a URL in its first line";
            return Err(Error::Usage(wanted.to_owned()));
        }
    })
}

fn database(of: &StoreName<'_>) -> Result<PostgresCopy, Error> {
    let (argument, file) = match of {
        StoreName::Database(url) => (Some((*url).to_owned()), None),
        StoreName::File(file) => (None, Some(*file)),
        StoreName::Folder(_) => (None, None),
    };
    let location = shared::named_location(argument, file)?;
    let location = location.ok_or_else(|| Error::Usage("a database is asked for".to_owned()))?;
    PostgresCopy::open(&location).map_err(Error::Store)
}

fn copy_all(args: &StoreCopyArgs) -> Result<Exit, Error> {
    let (from, to) = (named(&args.source)?, named(&args.target)?);
    let (mut source, mut target): (Box<dyn Source>, Box<dyn Target>) = match (&from, &to) {
        (StoreName::Folder(from), to) if !matches!(to, StoreName::Folder(_)) => {
            let data = DataDirectory::find(Some(from));
            // What this user may not see is told as that below.
            if matches!(data.store().try_exists(), Ok(false)) {
                let text = format!("there is no store in {}", from.display());
                return Err(Error::Store(StoreError::Io(text.into())));
            }
            // It is only read, and no server can have it meanwhile.
            let directory = Arc::new(Directory::look(from).map_err(Error::Directory)?);
            let source = SqliteStore::look(&directory).map_err(Error::Store)?;
            (Box::new(source), Box::new(database(to)?))
        }
        (from, StoreName::Folder(to)) if !matches!(from, StoreName::Folder(_)) => {
            let source = database(from)?;
            let data = DataDirectory::find(Some(to));
            data.make()?;
            let directory = Arc::new(take(&data, note).map_err(Error::Directory)?);
            let target = SqliteStore::open(&directory).map_err(Error::Store)?;
            (Box::new(source), Box::new(target))
        }
        _ => {
            let text = "one of both is a folder and the other a database: a folder is copied as files, \
                        and a database with pg_dump";
            return Err(Error::Usage(text.to_owned()));
        }
    };
    let counts = copy::copy(&mut *source, &mut *target).map_err(Error::Store)?;
    let mut text = String::new();
    for (table, count) in counts {
        text.push_str(&format!("{table:<9}{count}\n"));
    }
    print(&text)?;
    Ok(Exit::Ok)
}

fn make_tables(args: &StoreMigrateArgs) -> Result<Exit, Error> {
    let location = shared::location(args.store.clone(), args.store_file.as_deref())?;
    let Some(location) = location else {
        // Nothing says which version is there: all of it, as for a new database.
        if args.preview {
            print(&preview(0))?;
            return Ok(Exit::Ok);
        }
        return Err(Error::Usage("--store or --store-file says which database".to_owned()));
    };
    if args.preview {
        let found = found(&location).map_err(Error::Store)?;
        let text = match found < FORMAT_VERSION {
            true => preview(found),
            false => format!("-- {location} has format {found}: there is nothing to do\n"),
        };
        print(&text)?;
        return Ok(Exit::Ok);
    }
    let found = migrate(&location).map_err(Error::Store)?;
    let text = match found < FORMAT_VERSION {
        true => format!("{location}: from format {found} to {FORMAT_VERSION}\n"),
        false => format!("{location} has format {found}: there is nothing to do\n"),
    };
    print(&text)?;
    Ok(Exit::Ok)
}
