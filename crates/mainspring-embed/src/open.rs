//! The builder's methods for jobs in a folder: the feature `sqlite`.
//!
//! Cost: the folder is locked; its store is opened by `start`.
//!
//! Does not open the store: see [`job_folder`](crate::job_folder).

use std::path::{Path, PathBuf};

use crate::builder::Builder;
use crate::error::Error;
use crate::job_folder::JobFolder;
use crate::jobs::{JobStorage, Jobs};

impl Jobs {
    /// Takes a folder for the jobs of this program, and makes it if it is not there. It belongs to one
    /// program at a time. Needs the feature `sqlite`, which is on unless told.
    ///
    /// # Errors
    /// When another program or a server has it, it cannot be made, or another user decides what is in it.
    pub fn open(folder: impl AsRef<Path>) -> Result<Builder, Error> {
        Ok(Builder::new(JobStorage::Folder(JobFolder::take(folder.as_ref())?)))
    }
}

impl Builder {
    /// Has the program's transactions submit ([`Once::submit_in`](crate::Once::submit_in)), by a table
    /// `mainspring_outbox` in its own SQLite file, which is made there. A thread takes the rows and deletes
    /// them. So a transaction that reads before it writes begins with `BEGIN IMMEDIATE`, and connections wait
    /// for locks (`busy_timeout`). For [`Jobs::open`].
    pub fn outbox(mut self, file: impl Into<PathBuf>) -> Builder {
        match &mut self.storage {
            JobStorage::Folder(folder) => folder.outbox = Some(file.into()),
            _ => {
                let reason = "jobs that Jobs::open keeps have one, and no others";
                self.wrong.get_or_insert(Error::definition("outbox", reason));
            }
        }
        self
    }
}
