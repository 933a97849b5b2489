//! What is answered for shards whose owner is dead or away, so that people see what there is just then.
//!
//! ```text
//!  a question that looks ── no answer ──▶ StandIn ── tables of the database ──▶ an answer, as of the owner
//!  any other             ── no answer ──▶ what is wrong
//! ```
//!
//! What owners have acknowledged is in the database, so that such an answer lacks nothing. `status` has a
//! trouble that names the shards.
//!
//! Cost: the questions to the database, one shard after another, over one session of the server.
//!
//! Does not know how the answers are found: see [`StandIn`].

use std::sync::PoisonError;

use mainspring_job::Shard;

use super::super::super::several;
use super::Router;
use mainspring_exec::clock::Moment;
use mainspring_server::error::Error;
use mainspring_server::protocol::{ErrorKind, ErrorWire, Power, Request, Response, ranges};
use mainspring_server::server::Share;
use mainspring_server::server::stand_in::StandIn;

impl Router {
    /// The answers for shards for which nobody has answered: what was said instead, if something was to
    /// change.
    pub(super) fn for_absent(&mut self, absent: Vec<(Shard, Response)>, request: &Request) -> Vec<Response> {
        if request.power() != Power::Looks {
            return absent.into_iter().map(|(_, said)| said).collect();
        }
        let mut answer = |shard| self.stand_in(shard, |stand_in| stand_in.ask(request));
        absent.into_iter().map(|(shard, _)| answer(shard).unwrap_or_else(Response::Error)).collect()
    }

    /// The reply of an owner that is absent, as it would write it.
    pub(super) fn reply_for_absent(&mut self, shard: Shard, request: &Request) -> String {
        let reply = match request {
            Request::Logs { of, .. } => self.stand_in(shard, |stand_in| several::logs_of(stand_in, of)),
            request => self.stand_in(shard, |stand_in| {
                let response = stand_in.ask(request)?;
                Ok(serde_json::to_string(&response).unwrap_or_default())
            }),
        };
        let said = |error| serde_json::to_string(&Response::Error(error)).unwrap_or_default();
        reply.unwrap_or_else(said)
    }

    /// What is found, or why not.
    fn stand_in<T>(
        &mut self,
        shard: Shard,
        ask: impl FnOnce(&mut StandIn<'_>) -> Result<T, Error>,
    ) -> Result<T, ErrorWire> {
        self.absent.insert(shard);
        let pool = &self.pool;
        let mut reader = pool.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let share = Share { shard, count: pool.count };
        let (began, now) = (pool.began.wall, Moment::now().wall);
        let mut stand_in = StandIn { reader: &mut *reader, share, data: &pool.data, began, now };
        ask(&mut stand_in).map_err(|error| match error {
            Error::Refused(error) => error,
            error => {
                ErrorWire::new(ErrorKind::Temporary, format!("nobody answers for shard {}: {error}", shard.0))
            }
        })
    }

    /// What a status says of them, if there are any.
    pub(super) fn trouble(&self) -> Option<String> {
        let numbers: Vec<u16> = self.absent.iter().map(|shard| shard.0).collect();
        let word = if numbers.len() == 1 { "shard" } else { "shards" };
        let text = || {
            let of = ranges(&numbers);
            format!("nobody answers for {word} {of}: what is shown of it is from the database")
        };
        (!numbers.is_empty()).then(text)
    }
}
