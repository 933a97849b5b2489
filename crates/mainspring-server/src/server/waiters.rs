//! Clients that wait for the ends of runs.
//!
//! ```text
//! run --wait ─▶ admit ─▶ command ─▶ its reply ─▶ waiters ─▶ the run is not open any more ─▶ the end
//! wait ──────▶ admit ────────────────────────────▶ │
//! the connection ends ────────────────────────────▶ forgotten
//! ```
//!
//! Cost: while somebody waits, a look at all open runs in each turn.
//!
//! Does not end a run for whom nobody waits any more.
//!
//! Source: own.

use std::collections::BTreeSet;

use mainspring_job::RunKey;

use super::ask::not_found;
use super::peer::MAX_WAITING;
use super::{Server, describe};
use crate::error::Error;
use crate::protocol::{ErrorKind, ErrorWire, Request, Response};

/// How many requests may wait for the ends of runs: each is looked at in every turn.
const MAX_WAITERS: usize = 10_000;

impl Server {
    pub(super) fn wait_for_end(&mut self, peer: u64, id: u64, key: RunKey) {
        if let Some(found) = self.peers.get(peer) {
            found.awaited_count += 1;
            found.waited_count += 1;
            self.waiters.push((key, peer, id));
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

    /// Tells those who wait for a run that it has ended, and forgets those who have gone.
    pub(super) fn answer_waiters(&mut self) -> Result<(), Error> {
        if self.peers.take_lost() {
            self.waiters.retain(|(_, peer, _)| self.peers.get(*peer).is_some());
        }
        if self.waiters.is_empty() {
            return Ok(());
        }
        let open: BTreeSet<&RunKey> = self.planner.open_runs().map(|run| &run.key).collect();
        let is_over = |waiter: &mut (RunKey, u64, u64)| !open.contains(&waiter.0);
        let over: Vec<(RunKey, u64, u64)> = self.waiters.extract_if(.., is_over).collect();
        for (key, peer, id) in over {
            let run = self.store.run(self.shard(), &key).map_err(Error::Store)?;
            let response = run.map_or_else(
                || Response::Error(not_found("such run any more")),
                |run| Response::Ended(Box::new(describe::run(&run))),
            );
            self.answer_waited(peer, id, response);
        }
        Ok(())
    }
}
