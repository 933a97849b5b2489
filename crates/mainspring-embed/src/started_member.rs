//! A started member of a shared database: its client, its thread and its reader.
//!
//! Cost: none.
//!
//! Does not end anything: see [`jobs`](crate::jobs).

use std::thread::JoinHandle;

use mainspring_job::Reader;
use mainspring_server::error::Error as ServerError;

use crate::client::Client;
use crate::member::Member;

/// The member, and what belongs to it.
pub(crate) struct StartedMember {
    pub(crate) client: Client,
    pub(crate) member: Member,
    /// It ends after the member was told to stop.
    pub(crate) thread: JoinHandle<Result<(), ServerError>>,
    /// For questions of the program.
    pub(crate) reader: Box<dyn Reader + Send>,
}
