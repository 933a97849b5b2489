//! Waits for what the owner replies to a request that was left in the inbox of the database.
//!
//! ```text
//!  request ─▶ inbox ─┬─ taken ──▶ reply
//!                    ├─ taken, and no reply in time ─▶ late
//!                    └─ not taken in time ─▶ taken back
//! ```
//!
//! Cost: a round trip for each look for replies.
//!
//! Does not ask again: a request may have been done.

use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_postgres::Inbox;

use super::execution::PLANNER_LEASE;
use super::own_server::ANSWER_WAIT;

/// How often it is looked for a reply.
const REPLY_INTERVAL: Duration = Duration::from_millis(50);

/// How long the owner has: a takeover, a look at the inbox, the answer, and some time to spare.
const PATIENCE: Duration = Duration::from_secs(15);

const _: () = assert!(PLANNER_LEASE.as_secs() + ANSWER_WAIT.as_secs() < PATIENCE.as_secs());

/// Why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// No server has taken the request, and none will.
    Untaken,
    /// An owner has taken it.
    Late,
}

/// Waits for the reply to a request.
pub(super) fn wait_for(inbox: &mut Inbox, id: i64) -> Result<String, Lack> {
    let began = Moment::now();
    while Moment::now().since(began) < PATIENCE {
        if let Some((_, text)) = inbox.take_replies(&[id]).unwrap_or_default().pop() {
            return Ok(text);
        }
        inbox.wait(REPLY_INTERVAL);
    }
    // What is there still was not taken.
    Err(if matches!(inbox.take(id), Ok(true)) { Lack::Untaken } else { Lack::Late })
}
