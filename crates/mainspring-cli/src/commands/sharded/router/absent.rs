//! Answers for shards whose owner is dead or unreachable.
//!
//! Cost: the questions to the database, one shard after another.
//!
//! Does not ask the database itself: [`Tables`](super::super::super::tables::Tables) does.

use mainspring_job::Shard;

use super::Router;
use mainspring_server::protocol::{Request, Response, ranges};
use mainspring_server::server::ShardFilter;

impl Router {
    /// The answers for shards for which no server has answered: what was said instead, if something was to
    /// change.
    pub(super) fn for_absent(&mut self, absent: Vec<(Shard, Response)>, request: &Request) -> Vec<Response> {
        if !request.looks() {
            return absent.into_iter().map(|(_, said)| said).collect();
        }
        self.absent.extend(absent.iter().map(|(shard, _)| *shard));
        absent
            .into_iter()
            .map(|(shard, _)| self.pool.tables.answer(self.shard_filter(shard), request))
            .collect()
    }

    /// The reply of an owner that is absent, as it would write it.
    pub(super) fn reply_for_absent(&mut self, shard: Shard, request: &Request) -> String {
        self.absent.insert(shard);
        self.pool.tables.reply(self.shard_filter(shard), request)
    }

    fn shard_filter(&self, shard: Shard) -> ShardFilter {
        ShardFilter { shard, count: self.pool.count }
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
