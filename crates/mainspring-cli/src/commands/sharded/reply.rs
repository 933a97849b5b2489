//! Requests and answers as they are written, and what is said where no server answers.
//!
//! Cost: the text.
//!
//! Does not choose whom to ask.

use std::io::{self, Write};

use mainspring_job::Shard;

use super::super::streaming_requests::temporary;
use mainspring_server::protocol::{IdentifiedRequest, IdentifiedResponse, Response};

/// What is asked, as it came and as it was read.
pub(super) struct Question<'q> {
    pub(super) line: &'q str,
    pub(super) asked: &'q IdentifiedRequest,
    pub(super) actor: String,
}

impl Question<'_> {
    /// Whether it changes nothing.
    pub(super) fn looks(&self) -> bool {
        self.asked.request.looks()
    }
}

/// What is said of a loop that ended while it was asked.
pub(super) fn ended(shard: Shard) -> Response {
    temporary(format!("the loop of shard {} has just ended: ask again", shard.0))
}

/// What is said of a shard that no server owns.
pub(super) fn nobody(shard: Shard) -> Response {
    temporary(format!("shard {} has no owner: a server takes it soon, ask again", shard.0))
}

/// A request as it is sent.
pub(super) fn line_of(asked: &IdentifiedRequest) -> String {
    let text = serde_json::to_string(asked).expect("requests have string keys and finite numbers");
    format!("{text}\n")
}

/// Writes an answer to a client.
///
/// # Errors
/// When the client has gone.
pub(super) fn write(mut client: impl Write, id: u64, response: Response) -> io::Result<()> {
    let text = serde_json::to_string(&IdentifiedResponse { id, response }).map_err(io::Error::other)?;
    client.write_all(format!("{text}\n").as_bytes())
}
