//! Waits for what owners reply to requests that were left for them in the inbox of the database.
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

use mainspring_job::Shard;
use mainspring_postgres::Inbox;

use mainspring_exec::clock::Moment;
use mainspring_server::protocol::Request;

/// How often it is looked for a reply.
const REPLY_INTERVAL: Duration = Duration::from_millis(50);

/// How long owners have.
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

    /// For what looks: the database answers it too. An owner looks for requests four times a second. The
    /// listener waits 10 s for an answer.
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

/// Waits for the replies to these requests, each with its number. There is one for each, if only that there
/// is none.
pub(super) fn wait_for(
    inbox: &mut Inbox,
    waiting: Vec<(Shard, i64)>,
    patience: Patience,
) -> Vec<(Shard, Result<String, Lack>)> {
    let (mut waiting, mut replies) = (waiting, Vec::new());
    let began = Moment::now();
    let mut is_taken_back = false;
    while !waiting.is_empty() && Moment::now().since(began) < patience.reply {
        let ids: Vec<i64> = waiting.iter().map(|(_, id)| *id).collect();
        for (id, text) in inbox.take_replies(&ids).unwrap_or_default() {
            let place = waiting.iter().position(|(_, waited)| *waited == id);
            replies.extend(place.map(|place| (waiting.swap_remove(place).0, Ok(text))));
        }
        if !is_taken_back && patience.take <= Moment::now().since(began) {
            is_taken_back = true;
            // What is there still was not taken.
            waiting.retain(|(shard, id)| {
                let is_there = matches!(inbox.take(*id), Ok(true));
                if is_there {
                    replies.push((*shard, Err(Lack::Untaken)));
                }
                !is_there
            });
        }
        if !waiting.is_empty() {
            inbox.wait(REPLY_INTERVAL);
        }
    }
    for (shard, id) in waiting {
        let lack = if matches!(inbox.take(id), Ok(true)) { Lack::Untaken } else { Lack::Late };
        replies.push((shard, Err(lack)));
    }
    replies
}
