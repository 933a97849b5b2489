//! A program without the feature `postgres`: it joins no database.
//!
//! Cost: none.
//!
//! Does not pull in a client of PostgreSQL.

use crate::error::Error;
use crate::parts::Parts;
use crate::started::Started;

/// There is no database to share.
#[derive(Debug)]
pub(crate) enum Joined {}

impl Joined {
    pub(crate) fn start(self, _parts: Parts) -> Result<Started, Error> {
        match self {}
    }
}
