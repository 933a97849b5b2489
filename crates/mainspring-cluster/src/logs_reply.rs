//! The lines of an output as one reply, of which no more than the last 256 KiB are passed on.
//!
//! Cost: the lines once.
//!
//! Does not read a file.

use std::collections::VecDeque;

use mainspring_server::protocol::LineWire;
use serde::{Deserialize, Serialize};

/// How much of an output one reply has: some screens, and little for a table.
const MAX_REPLY_BYTES: usize = 256 << 10;

/// What is replied to `logs`.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogsReply {
    /// How many lines stand before these.
    pub left_out: usize,
    /// The last ones.
    pub lines: VecDeque<LineWire>,
    /// Whether there will be no more.
    pub is_over: bool,
    /// How long the lines are, in bytes.
    #[serde(skip)]
    pub bytes: usize,
}

impl LogsReply {
    /// Adds a line, and leaves the first ones out that have no room.
    pub fn push(&mut self, line: LineWire) {
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while MAX_REPLY_BYTES < self.bytes
            && let Some(first) = self.lines.pop_front()
        {
            self.bytes -= first.text.len();
            self.left_out += 1;
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
