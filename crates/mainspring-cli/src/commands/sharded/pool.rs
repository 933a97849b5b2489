//! State shared by the answering threads of a server: its loops, the owners of other shards, a job's shard.
//!
//! Cost: a question to the database for each that asks where a job is; they wait for each other.
//!
//! Does not answer: [`router`](super::router) does.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use mainspring_job::{Shard, StoreError};
use mainspring_postgres::{Location, ShardHolder, Shards};

use super::super::tables::Tables;
use super::loops::{Local, Loops};
use mainspring_exec::clock::Moment;
use mainspring_server::waiting::wait_for;

/// How long a shard without an owner is waited for: another server gives it up, or this one takes it. It is
/// twice the time between two looks.
pub(super) const SETTLE_WAIT: Duration = Duration::from_secs(2);

/// How often it is looked for one meanwhile.
pub(super) const SETTLE_INTERVAL: Duration = Duration::from_millis(50);

/// What all threads that answer share.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) location: Location,
    /// How many shards there are.
    pub(super) count: u16,
    /// What this server is called.
    pub(super) name: String,
    /// The same for the database: see [`mainspring_postgres::Identity`].
    pub(super) server: String,
    pub(super) loops: Loops,
    /// What it reads in the database by itself.
    pub(super) tables: Tables,
    /// How many submissions were taken: each goes to the next shard of this server.
    pub(super) turns: AtomicUsize,
}

impl Pool {
    /// Where each of these shards is now. A shard may be on its way from one server to another, or its loop
    /// may be about to begin: that is waited for.
    pub(super) fn places(&self, shards: &[Shard]) -> Vec<(Shard, LoopLocation)> {
        let began = Moment::now();
        // First by what was seen last, then by what the database says now.
        let (mut held, mut is_fresh) = (self.loops.look().shards, false);
        let mut known: Vec<(Shard, LoopLocation)> = Vec::new();
        loop {
            let place = |shard: Shard| match self.loops.get(shard) {
                Some(local) => Some(LoopLocation::Here(local)),
                None => {
                    let owner = held.iter().find(|held| held.shard == shard)?;
                    let is_elsewhere = !owner.server.is_empty() && owner.server != self.server;
                    is_elsewhere.then(|| LoopLocation::There(owner.clone()))
                }
            };
            for shard in shards {
                if known.iter().all(|(place, _)| place != shard)
                    && let Some(place) = place(*shard)
                {
                    known.push((*shard, place));
                }
            }
            if known.len() == shards.len() || SETTLE_WAIT <= Moment::now().since(began) {
                return known;
            }
            if std::mem::replace(&mut is_fresh, true) {
                let _ = wait_for(&[], &[], Some(SETTLE_INTERVAL));
            }
            held = self.find(Shards::held).unwrap_or_default();
        }
    }

    /// Asks where something is, or who owns it: see [`Tables::find`].
    pub(super) fn find<T>(
        &self,
        ask: impl FnOnce(&mut Shards) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.tables.find(ask)
    }
}

/// Where the loop of a shard is.
pub(super) enum LoopLocation {
    Here(Arc<Local>),
    There(ShardHolder),
}
