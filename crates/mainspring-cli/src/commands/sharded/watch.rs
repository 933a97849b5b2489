//! Merges the changes at a server of several shards and at the other servers, for pages that are open.
//!
//! ```text
//!  each loop here ── what has changed ────────────────────────────────────┐
//!  other servers ─▶ batches of their shards, by the look of each second ──┴─▶ one answer to the listener
//! ```
//!
//! What loops of this server change is told as it is. Of the shards of others only that something has
//! changed is told, as if more had happened than is told: the page asks for what it shows. That is at most
//! once in [`REST`](super::super::others::REST).
//!
//! Cost: nothing until a page is open. Then a connection to each loop, and nothing of the database: the
//! server looks who owns which shard anyway. What the page asks next is another cost: a request through the
//! database for each shard of others.
//!
//! Does not keep what no client asks for: each loop says itself when it has told too little.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use mainspring_job::Shard;

use super::super::remote_changes::RemoteChanges;
use super::loops::{Link, Local};
use super::pool::Pool;
use mainspring_server::protocol::{ChangesWire, IdentifiedResponse, Response};
use mainspring_server::waiting::{is_left, wait_for_any};

/// How often it is looked what other servers do, and which loops are here.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// The question to a loop, over a connection of its own.
#[derive(Debug)]
struct WatchedLoop {
    local: Arc<Local>,
    link: Link,
    /// It is asked, and has not answered.
    is_asked: bool,
}

/// Watches for one listener.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    loops: BTreeMap<Shard, WatchedLoop>,
    others: RemoteChanges,
}

impl Watcher {
    /// Waits until something has changed. `line` is the question to a loop.
    ///
    /// # Errors
    /// When the listener has gone.
    pub(super) fn changes(
        &mut self,
        pool: &Pool,
        line: &str,
        listener: &UnixStream,
    ) -> io::Result<ChangesWire> {
        loop {
            let mut changes = ChangesWire::default();
            changes.is_cut_short |= self.ask(pool, line);
            changes.is_cut_short |= self.look(pool);
            self.wait(&mut changes, listener)?;
            if changes != ChangesWire::default() {
                return Ok(changes);
            }
        }
    }

    /// Asks the loops that are here now. Says whether one is gone, whose last changes were not told.
    fn ask(&mut self, pool: &Pool, line: &str) -> bool {
        let before = self.loops.len();
        self.loops.retain(|shard, watched| {
            pool.loops.get(*shard).is_some_and(|local| Arc::ptr_eq(&local, &watched.local))
        });
        let mut is_gone = self.loops.len() < before;
        for shard in pool.loops.here() {
            if !self.loops.contains_key(&shard)
                && let Some(local) = pool.loops.get(shard)
                && let Some(link) = local.links.lend().and_then(|mut lent| lent.link.take())
            {
                self.loops.insert(shard, WatchedLoop { local, link, is_asked: false });
            }
            if let Some(watched) = self.loops.get_mut(&shard).filter(|watched| !watched.is_asked) {
                watched.is_asked = watched.link.send(line).is_ok();
                if !watched.is_asked {
                    self.loops.remove(&shard);
                    is_gone = true;
                }
            }
        }
        is_gone
    }

    /// Whether it is to be told that other servers have changed something.
    fn look(&mut self, pool: &Pool) -> bool {
        for held in pool.loops.look().shards {
            if self.loops.contains_key(&held.shard) {
                self.others.forget(held.shard);
            } else {
                self.others.see(&held);
            }
        }
        self.others.take()
    }

    /// Takes what the loops tell, and waits a while if there is nothing to tell yet.
    fn wait(&mut self, changes: &mut ChangesWire, listener: &UnixStream) -> io::Result<()> {
        let wait = if *changes == ChangesWire::default() { LOOK_INTERVAL } else { Duration::ZERO };
        let readable: Vec<_> = self.loops.values().map(|watched| watched.link.stream().as_fd()).collect();
        let ready = wait_for_any(&readable, &[], &[listener.as_fd()], Some(wait))?;
        if is_left(listener.as_fd()) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut broken = Vec::new();
        for (shard, watched) in &mut self.loops {
            if !ready.contains(&watched.link.stream().as_raw_fd()) {
                continue;
            }
            let line = watched.link.receive(false).unwrap_or_default();
            match serde_json::from_str::<IdentifiedResponse>(&line).map(|answered| answered.response) {
                Ok(Response::Changes(told)) => {
                    watched.is_asked = false;
                    add(changes, told);
                }
                _ => broken.push(*shard),
            }
        }
        for shard in broken {
            self.loops.remove(&shard);
            changes.is_cut_short = true;
        }
        Ok(())
    }
}

/// Adds what another loop tells.
fn add(all: &mut ChangesWire, one: ChangesWire) {
    let ChangesWire { runs, jobs, once, audit, clock, is_cut_short } = one;
    all.runs.extend(runs);
    all.jobs.extend(jobs);
    all.once |= once;
    all.audit |= audit;
    all.clock |= clock;
    all.is_cut_short |= is_cut_short;
}
