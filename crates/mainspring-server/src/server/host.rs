//! Whose process a loop runs in, and what the loop gets of it.
//!
//! Cost: none.
//!
//! Does not act on what it gets: [`stop`](super::stop) and [`program`](super::program) do.

use std::fs::File;

use mainspring_job::Definitions;

use super::program_calls::Calls;
use crate::error::Error;
use crate::signals::Signals;
pub use mainspring_host::sys::standard_output;

/// Whose process the loop runs in.
#[derive(Debug)]
pub enum Host {
    /// The server's own: signals end it, its log is standard output, and a service manager is told how it is.
    /// A server that stood by hands its signals on: one may have come while it became the owner.
    /// Where it shares a database, its own thread of the inbox calls it.
    Process(Option<Signals>, Option<Calls>),
    /// Another program's, which has jobs of its own.
    Program {
        /// What it asks.
        calls: Calls,
        /// Its jobs. Others of their source that are known already stay.
        jobs: Definitions,
        /// Where the log goes.
        log: File,
    },
}

/// The same without what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HostKind {
    Process,
    Program,
}

/// What a server gets of the process that it is in: signals, questions, jobs, and where its log goes.
pub(super) type HostParts = (Signals, Option<Calls>, Option<Definitions>, File, HostKind);

/// From here on a signal ends the loop and not the process, so nothing that was started is left behind.
pub(super) fn of_host(host: Host) -> Result<HostParts, Error> {
    Ok(match host {
        Host::Process(signals, calls) => {
            let signals = signals.map_or_else(Signals::register, Ok).map_err(Error::setup("signals"))?;
            let output = standard_output().map_err(Error::setup("the log"))?;
            (signals, calls, None, output, HostKind::Process)
        }
        Host::Program { calls, jobs, log } => {
            (Signals::default(), Some(calls), Some(jobs), log, HostKind::Program)
        }
    })
}
