//! A program without the feature `sqlite`: its jobs are in no folder.
//!
//! Cost: none.
//!
//! Does not pull in SQLite.

use crate::error::Error;
use crate::parts::Parts;
use crate::started_loop::StartedLoop;

/// There is no folder.
#[derive(Debug)]
pub(crate) enum JobFolder {}

impl JobFolder {
    pub(crate) fn start(self, _parts: Parts) -> Result<StartedLoop, Error> {
        match self {}
    }
}
