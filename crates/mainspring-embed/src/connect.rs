//! The builder's methods for a database that is shared with other programs: the feature `postgres`.
//!
//! Cost: none; the database is asked first by `start`.
//!
//! Does not open a session: see [`joined`](crate::joined).

use std::path::PathBuf;

use mainspring_postgres::Location;

use crate::builder::Builder;
use crate::error::Error;
use crate::jobs::{JobStorage, Jobs};
use crate::shared_database::SharedDatabase;

impl Jobs {
    /// Jobs in a PostgreSQL database that several programs share, by a URL such as
    /// `postgres://USER@HOST/DATABASE` or the words of a connection string. One of the programs, the owner,
    /// runs the handlers; all of them submit, read, pause and cancel. When the owner is gone another takes
    /// over, 16 s after its last sign of life at the latest, or at once if it was shut down. Needs the
    /// feature `postgres`.
    ///
    /// # Errors
    /// When the text is no such URL. Whether there is a database [`start`](Builder::start) says.
    pub fn connect(url: &str) -> Result<Builder, Error> {
        let wrong = |reason| Error::Definition { name: "connect".to_owned(), reason };
        let location = Location::parse(url).map_err(wrong)?;
        Ok(Builder::new(JobStorage::Shared(Box::new(SharedDatabase::new(location)))))
    }
}

impl Builder {
    /// Where a program that shares a database keeps its socket and what its runs write, so that `mainspring
    /// --data FOLDER` finds them; it belongs to one program at a time. Unless told, a new folder among the
    /// temporary ones, which goes with the jobs. Needs the feature `postgres`.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Builder {
        match &mut self.storage {
            JobStorage::Shared(joined) => joined.keep_in(folder.into()),
            _ => {
                let reason = "is said by Jobs::open already, and a simulation has none".to_owned();
                self.wrong.get_or_insert(Error::Definition { name: "folder".to_owned(), reason });
            }
        }
        self
    }
}
