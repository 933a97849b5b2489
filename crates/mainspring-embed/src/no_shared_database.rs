//! A program without the feature `postgres`: it joins no database.
//!
//! Cost: none.
//!
//! Does not pull in a client of PostgreSQL.

use crate::error::Error;
use crate::parts::Parts;
use crate::started_loop::StartedLoop;

/// There is no database to share.
#[derive(Debug)]
pub(crate) enum SharedDatabase {}

impl SharedDatabase {
    pub(crate) fn start(self, _parts: Parts) -> Result<StartedLoop, Error> {
        match self {}
    }
}
