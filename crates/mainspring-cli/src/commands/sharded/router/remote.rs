//! Sends requests to other servers, through the inbox of the database.
//!
//! ```text
//!  request ─▶ inbox ─┬─ taken ──▶ reply
//!                    ├─ taken, and no reply in time ─▶ late
//!                    └─ not taken in time ─▶ taken back: its owner is silent, and is not waited for again
//! ```
//!
//! Cost: a round trip for each request, and what [`reply_wait`] cost.
//!
//! Does not ask again: a request may have been done.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::net::UnixStream;

use mainspring_job::Shard;
use mainspring_postgres::{Inbox, ShardHolder};

use super::super::super::reply_wait::{self, Lack, Patience};
use super::super::super::streaming_requests::{self, temporary};
use super::super::reply::{Question, line_of, nobody, write};
use super::{Responses, Router};
use mainspring_server::protocol::{IdentifiedRequest, Request, Response};

/// A request that was left for the owner of a shard: its number, or why there is none.
pub(super) type InboxEntry = (Shard, Result<i64, OwnerUnavailable>);

/// Why an owner was not asked.
pub(super) enum OwnerUnavailable {
    /// It did not take what it was asked before.
    UnresponsiveOwners,
    /// Something else, which is the answer.
    Failed(Response),
}

/// What is said of it where no other server can answer.
fn said_of(lack: Lack, shard: Shard) -> Response {
    match lack {
        Lack::Untaken => nobody(shard),
        Lack::Late => {
            temporary(format!("the owner of shard {} has not replied, and may have done it", shard.0))
        }
    }
}

impl Router {
    /// Leaves a request for the owner of each of these shards. Returns the number of each, or why not.
    pub(super) fn ask_remote(
        &mut self,
        shards: &[(Shard, ShardHolder)],
        question: &Question<'_>,
    ) -> Vec<InboxEntry> {
        let mut asked = Vec::new();
        let silent = if question.looks() { self.pool.tables.silent() } else { BTreeSet::new() };
        for (shard, owner) in shards {
            if !question.asked.request.row().power.is_remote() {
                let text = format!("shard {} is owned by {}: ask there", shard.0, owner.name);
                asked.push((*shard, Err(OwnerUnavailable::Failed(temporary(text)))));
                continue;
            }
            if silent.contains(shard) {
                asked.push((*shard, Err(OwnerUnavailable::UnresponsiveOwners)));
                continue;
            }
            let inbox = self.inbox.take().map_or_else(|| Inbox::of_asker(&self.pool.location), Ok);
            let id =
                inbox.and_then(|inbox| self.inbox.insert(inbox).ask(*shard, question.line, &question.actor));
            let failed = |error| OwnerUnavailable::Failed(temporary(format!("shard {}: {error}", shard.0)));
            asked.push((*shard, id.map_err(failed)));
        }
        asked
    }

    /// Waits for the replies.
    pub(super) fn replies(&mut self, asked: Vec<InboxEntry>, question: &Question<'_>, said: &mut Responses) {
        let mut waiting = Vec::new();
        for (shard, id) in asked {
            match id {
                Ok(id) => waiting.push((shard, id)),
                Err(OwnerUnavailable::UnresponsiveOwners) => said.absent.push((shard, nobody(shard))),
                Err(OwnerUnavailable::Failed(response)) => said.answers.push(response),
            }
        }
        let read = |text: String| {
            serde_json::from_str(&text)
                .unwrap_or_else(|error| temporary(serde_json::Error::to_string(&error)))
        };
        for (shard, reply) in self.wait_for(waiting, Patience::with(&question.asked.request)) {
            match reply {
                Ok(text) => said.answers.push(read(text)),
                Err(lack) => said.absent.push((shard, said_of(lack, shard))),
            }
        }
    }

    /// Waits for these replies. There is one for each, if only that there is none.
    fn wait_for(
        &mut self,
        waiting: Vec<(Shard, i64)>,
        patience: Patience,
    ) -> Vec<(Shard, Result<String, Lack>)> {
        let Some(inbox) = self.inbox.as_mut() else { return Vec::new() };
        let replies = reply_wait::wait_for(inbox, waiting, patience);
        self.pool.tables.add_silent(&replies);
        replies
    }

    /// Has the owner of a shard answer what has several answers.
    pub(super) fn pass_on(
        &mut self,
        shard: Shard,
        question: &Question<'_>,
        client: &UnixStream,
    ) -> io::Result<()> {
        let asked = question.asked;
        let ask = |request: &Request| {
            let asked = IdentifiedRequest { request: request.clone(), ..asked.clone() };
            self.reply_of(shard, &asked, &question.actor)
        };
        let give = |response| write(client, asked.id, response);
        streaming_requests::answer(&asked.request, ask, client, give)
    }

    /// What another server says, as it wrote it.
    pub(super) fn reply_of(&mut self, shard: Shard, asked: &IdentifiedRequest, actor: &str) -> String {
        let said = |response: Response| serde_json::to_string(&response).unwrap_or_default();
        let looks = asked.request.looks();
        if looks && self.pool.tables.silent().contains(&shard) {
            return self.reply_for_absent(shard, &asked.request);
        }
        let inbox = self.inbox.take().map_or_else(|| Inbox::of_asker(&self.pool.location), Ok);
        let line = line_of(asked);
        let left = inbox.and_then(|inbox| self.inbox.insert(inbox).ask(shard, &line, actor));
        let id = match left {
            Ok(id) => id,
            Err(error) => return said(temporary(format!("shard {}: {error}", shard.0))),
        };
        match self.wait_for(vec![(shard, id)], Patience::with(&asked.request)).pop() {
            Some((_, Ok(text))) => text,
            _ if looks => self.reply_for_absent(shard, &asked.request),
            Some((_, Err(lack))) => said(said_of(lack, shard)),
            None => said(nobody(shard)),
        }
    }
}
