//! A program without the feature `postgres`: no database is shared.
//!
//! Cost: none.
//!
//! Does not pull in a client of PostgreSQL.

use std::time::Duration;

use mainspring_job::{Command, Reply};

use crate::error::Error;

/// There is no owner to be told of one.
#[derive(Debug)]
pub(crate) enum OwnerCommand {}

impl OwnerCommand {
    pub(crate) fn finish(self) -> Result<Reply, Error> {
        match self {}
    }

    #[expect(clippy::unused_async, reason = "with the feature there is something to wait for")]
    pub(crate) async fn finish_async(self) -> Result<Reply, Error> {
        match self {}
    }
}

/// There is nothing to be a member of.
#[derive(Clone, Debug)]
pub(crate) enum Member {}

impl Member {
    pub(crate) fn begin(&self, _command: Command) -> Result<OwnerCommand, Error> {
        match *self {}
    }

    pub(crate) fn stop(&self, _patience: Duration) {
        match *self {}
    }
}
