//! Clients that wait for the ends of runs.
//!
//! ```text
//! run --wait ─▶ admit ─▶ command ─▶ its reply ─▶ waiters ─▶ the run is not open any more ─▶ the store is asked ─▶ the end
//! wait ──────▶ admit ────────────────────────────▶ │             ▲────────── its end is not on disk yet ──┘
//! the connection ends ────────────────────────────▶ forgotten
//! ```
//!
//! Cost: a lookup for each run that is waited for, in turns in which the planner was told something.
//!
//! Does not end a run for which no client waits any more.

use mainspring_job::{Reader, RunKey, Shard};

use super::asking::{Asker, Asking, Next, not_found, store_failed};
use super::peer::MAX_WAITING;
use super::{Server, describe};
use crate::protocol::{ErrorKind, ErrorWire, Request, Response};

/// How many requests may wait for the ends of runs: each costs memory and a lookup.
const MAX_WAITERS: usize = 10_000;

/// The end of a run. Where the store has it as open, it is not written yet: who waits waits on, unless nothing is to be written.
fn end(reader: &mut dyn Reader, key: RunKey, is_settled: bool, committed_count: u64) -> Asking {
    let run = reader.run(Shard::WHOLE, &key).map_err(store_failed)?;
    match run {
        None => Err(not_found("such run any more")),
        Some(run) if run.state.is_open() && !is_settled => Ok(Next::Unwritten { key, committed_count }),
        Some(run) => Ok(Next::Answer(Response::Ended(Box::new(describe::run(&run))))),
    }
}

impl Server {
    pub(super) fn wait_for_end(&mut self, peer: u64, id: u64, key: RunKey) {
        if let Some(found) = self.peers.get(peer) {
            found.awaited_count += 1;
            found.waited_count += 1;
            self.waiters.add(key, peer, id);
        }
    }

    /// The same for a run whose end is not on disk, though it is over: the next batch may have it.
    pub(super) fn wait_for_end_on_disk(&mut self, peer: u64, id: u64, key: RunKey, committed_count: u64) {
        if let Some(found) = self.peers.get(peer) {
            found.awaited_count += 1;
            found.waited_count += 1;
            self.waiters.add_known(key, peer, id);
        }
        if committed_count < self.writer.committed_count {
            self.waiters.look();
        }
    }

    /// Whether a client may wait now: for the end of a run, or for more output.
    pub(super) fn admit(&mut self, peer: u64, request: &Request) -> Result<(), ErrorWire> {
        let waits_for_run = matches!(request, Request::Run { wait: true, .. } | Request::Wait { .. });
        let follows = matches!(request, Request::Logs { follow: true, .. });
        let too_many = |text: String| Err(ErrorWire::new(ErrorKind::Temporary, text));
        if waits_for_run && MAX_WAITERS <= self.peers.waited_count() {
            return too_many(format!("{MAX_WAITERS} requests wait already, which is the limit"));
        }
        let waits = self.peers.get(peer).is_some_and(|peer| peer.is_waiting());
        if (waits_for_run || follows) && !waits && MAX_WAITING <= self.peers.waiting_count() {
            let message =
                format!("{MAX_WAITING} connections wait for runs or output already, which is the limit");
            return too_many(message);
        }
        Ok(())
    }

    /// Gives a client an answer that it waits for.
    pub(super) fn answer_awaited(&mut self, peer: u64, id: u64, response: Response) {
        if let Some(peer) = self.peers.get(peer) {
            peer.awaited_count = peer.awaited_count.saturating_sub(1);
        }
        self.answer(peer, id, response);
    }

    /// The same for who has waited for the end of a run.
    pub(super) fn answer_waited(&mut self, peer: u64, id: u64, response: Response) {
        if let Some(peer) = self.peers.get(peer) {
            peer.waited_count = peer.waited_count.saturating_sub(1);
        }
        self.answer_awaited(peer, id, response);
    }

    /// Another answer than the one that a client waits for comes first.
    pub(super) fn await_less(&mut self, peer: u64) {
        if let Some(peer) = self.peers.get(peer) {
            peer.awaited_count = peer.awaited_count.saturating_sub(1);
        }
    }

    /// Asks the store how those runs ended that are over, and forgets clients that have gone.
    pub(super) fn answer_waiters(&mut self) {
        if self.peers.take_lost() {
            let peers = &mut self.peers;
            self.waiters.retain(|peer| peers.get(peer).is_some());
        }
        let planner = &self.planner;
        let (is_settled, committed_count) = (self.writer.is_idle(), self.writer.committed_count);
        for (key, peer, id) in self.waiters.take_over(|key| planner.run(key).is_none()) {
            if let Some(found) = self.peers.get(peer) {
                found.awaited_count = found.awaited_count.saturating_sub(1);
                found.waited_count = found.waited_count.saturating_sub(1);
            }
            let ask = move |reader: &mut dyn Reader| end(reader, key, is_settled, committed_count);
            self.ask_store(Asker { peer, id, follows: false }, Box::new(ask));
        }
    }
}
