//! Answers for this server's own shards: the numbers of all servers add up to those of all shards.
//!
//! Cost: a question to each loop of this server, and none to another server.
//!
//! Does not change anything: that is done in all shards.

use mainspring_job::Shard;

use super::super::super::streaming_requests::temporary;
use super::super::merge::merged;
use super::super::reply::Question;
use super::super::route::next_in_turn;
use super::Router;
use mainspring_server::protocol::{MetricsWire, Request, Response};

impl Question<'_> {
    /// Whether it looks at what this server has.
    pub(super) fn is_own(&self) -> bool {
        self.asked.own && self.looks()
    }
}

impl Router {
    /// Asks the loops of this server, and merges what they say. One that ends over it is left out: its shard
    /// is on its way to another server, which tells of it soon.
    pub(super) fn own(&mut self, question: &Question<'_>) -> Response {
        let loops = &self.pool.loops;
        let here: Vec<_> =
            loops.here().into_iter().filter_map(|shard| Some((shard, loops.get(shard)?))).collect();
        let answers: Vec<Response> =
            self.ask_local(&here, question).into_iter().filter_map(|(_, answer)| answer).collect();
        match question.asked.request {
            Request::Metrics { .. } if answers.is_empty() => {
                Response::Metrics(Box::new(MetricsWire::of_standby()))
            }
            _ if answers.is_empty() => temporary("this server owns no shard".to_owned()),
            _ => self.with_shards(merged(answers)),
        }
    }

    /// One page of an export: an empty one of a shard that another server has.
    pub(super) fn own_page(
        &mut self,
        shard: Shard,
        after: Option<String>,
        question: &Question<'_>,
    ) -> Response {
        match self.pool.loops.get(shard) {
            Some(_) => self.in_turn(shard, after, question),
            None => Response::Export { texts: Vec::new(), after: next_in_turn(shard, None, self.pool.count) },
        }
    }
}
