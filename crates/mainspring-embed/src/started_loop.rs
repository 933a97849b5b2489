//! A started loop: its client, its reader, and what is waited for at its end.
//!
//! Cost: none.
//!
//! Does not end anything: see [`jobs`](crate::jobs).

use std::thread::JoinHandle;

use mainspring_job::Reader;
use mainspring_server::error::Error as ServerError;

use crate::client::Client;
use crate::parts::ServedBeside;

/// Has what an outbox has begun acknowledged, and ends its thread. A drop ends the thread alone.
pub(crate) type FinishOutbox = Box<dyn FnOnce() + Send>;

/// The loop, and what belongs to it.
pub(crate) struct StartedLoop {
    pub(crate) client: Client,
    /// For questions of the program.
    pub(crate) reader: Box<dyn Reader + Send>,
    pub(crate) running: RunningLoop,
}

/// What runs until its end is waited for.
pub(crate) struct RunningLoop {
    /// It ends after the client's target was told to stop.
    pub(crate) thread: JoinHandle<Result<(), ServerError>>,
    /// What serves beside the loop, where it lasts as long as that.
    pub(crate) beside: Option<Box<dyn ServedBeside>>,
    pub(crate) finish_outbox: Option<FinishOutbox>,
}
