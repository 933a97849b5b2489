//! The builder's methods for a database that is shared with other programs: the feature `postgres`.
//!
//! Cost: none; the database is asked first by `start`.
//!
//! Does not open a session: see [`shared_database`](crate::shared_database).

use std::path::PathBuf;

use mainspring_action::needs::given;
use mainspring_postgres::Location;

use crate::builder::Builder;
use crate::error::Error;
use crate::jobs::{JobStorage, Jobs};
use crate::shared_database::SharedDatabase;

impl Jobs {
    /// Jobs in a PostgreSQL database that several programs share, by a URL such as
    /// `postgres://USER@HOST/DATABASE` or the words of a connection string. Each of the programs runs
    /// handlers, submits, reads, pauses and cancels; one of them plans. When that one is gone another plans
    /// within four seconds, or at once if it was shut down, and what runs elsewhere continues. What ran at a
    /// program that is gone is tried again as its policy says, 17 s after its last sign of life at the
    /// latest. Needs the feature `postgres`.
    ///
    /// # Errors
    /// When the text is no such URL. Whether there is a database [`start`](Builder::start) says.
    pub fn connect(url: &str) -> Result<Builder, Error> {
        let location = Location::parse(url).map_err(|reason| Error::definition("connect", reason))?;
        Ok(Builder::new(JobStorage::Shared(Box::new(SharedDatabase::new(location)))))
    }
}

impl Builder {
    /// Where a program that shares a database keeps its socket and what its runs write, so that `mainspring
    /// --data FOLDER` finds them; it belongs to one program at a time. Unless told, a new folder among the
    /// temporary ones, which goes with the jobs. Needs the feature `postgres`.
    pub fn folder(self, folder: impl Into<PathBuf>) -> Builder {
        self.shared("folder", |shared| {
            shared.folder = Some(folder.into());
            Ok(())
        })
    }

    /// A label of this program, such as `gpu` or `region=eu`: 1 to 256 bytes without spaces, commas and
    /// controls. Jobs run where all labels are that they name ([`Options::on`](crate::Options::on)). `host=`
    /// and `name=` are there unless they are said here. Each call adds one. For [`Jobs::connect`].
    pub fn label(self, label: &str) -> Builder {
        self.shared("label", |shared| given(label).map(|label| shared.labels.push(label)))
    }

    /// Has this program run handlers and submit, and never plan: another one or a server must. For
    /// [`Jobs::connect`].
    pub fn never_plans(self) -> Builder {
        self.shared("never_plans", |shared| {
            shared.plans = false;
            Ok(())
        })
    }

    fn shared(mut self, name: &str, act: impl FnOnce(&mut SharedDatabase) -> Result<(), String>) -> Builder {
        let done = match &mut self.storage {
            JobStorage::Shared(shared) => act(shared),
            _ => Err("is for Jobs::connect: a folder has one program, and a simulation none".to_owned()),
        };
        if let Err(reason) = done {
            self.wrong.get_or_insert(Error::definition(name, reason));
        }
        self
    }
}
