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

use mainspring_postgres::Inbox;

use mainspring_exec::clock::Moment;
use mainspring_server::protocol::Request;

/// How often it is looked for a reply.
const REPLY_INTERVAL: Duration = Duration::from_millis(50);

/// How long the owner has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// To take a request.
    take: Duration,
    /// To reply: a look at the inbox, the answer, and some time to spare.
    reply: Duration,
}

impl Patience {
    /// For what changes something: no other server can do it.
    const LONG: Patience = Patience { take: Duration::from_secs(15), reply: Duration::from_secs(15) };

    /// For what looks: the database answers it too. A planner that is told of no request looks within a
    /// quarter of a second. The listener waits 10 s for an answer.
    const SHORT: Patience = Patience { take: Duration::from_secs(2), reply: Duration::from_secs(6) };

    pub(super) fn with(request: &Request) -> Patience {
        if request.looks() { Patience::SHORT } else { Patience::LONG }
    }
}

/// Why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// No server has taken the request, and none will.
    Untaken,
    /// An owner has taken it.
    Late,
}

/// Waits for the reply to a request.
pub(super) fn wait_for(inbox: &mut Inbox, id: i64, patience: Patience) -> Result<String, Lack> {
    let began = Moment::now();
    while Moment::now().since(began) < patience.reply {
        if let Some((_, text)) = inbox.take_replies(&[id]).unwrap_or_default().pop() {
            return Ok(text);
        }
        // What is there still was not taken.
        if patience.take <= Moment::now().since(began) && matches!(inbox.take(id), Ok(true)) {
            return Err(Lack::Untaken);
        }
        inbox.wait(REPLY_INTERVAL);
    }
    Err(if matches!(inbox.take(id), Ok(true)) { Lack::Untaken } else { Lack::Late })
}
