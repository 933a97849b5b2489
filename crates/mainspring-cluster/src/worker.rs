//! A worker of a pool, on threads of its own: from the start of a server to its end.
//!
//! Cost: see [`membership`](super) and [`WorkerLoop`].
//!
//! Does not plan.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mainspring_exec::notifier::{Notifications, pair};
use mainspring_job::WorkerLabel;
use mainspring_postgres::{Location, Member};
use mainspring_server::error::Error;
use mainspring_server::log::Log;
use mainspring_server::server::Stopping;
use mainspring_server::server::execution::Execution;
use mainspring_server::server::worker::{WorkerLoop, WorkerStop, link};
use mainspring_server::signals::ProcessEnds;

use super::execution::PLANNER_LEASE;
use super::lease_cache::LeaseCache;
use super::membership::{LEAVE_WAIT, Membership};
use super::planner_link::QUIET;

/// How long the lease of a worker lasts without a renewal: a restart of the database and some lost packets
/// fit into it, and what ran at a dead worker is tried again not later than that and two seconds.
pub const WORKER_LEASE: Duration = Duration::from_secs(15);

const _: () =
    assert!(PLANNER_LEASE.as_secs() < WORKER_LEASE.as_secs(), "workers outlast a planner that died");
const _: () = assert!(2 * WORKER_LEASE.as_secs() / 6 < QUIET.as_secs(), "it renews each sixth of its lease");

/// How long the end of a worker waits for the database: what it reported is on record within it, where the
/// database answers.
const END_WAIT: Duration = Duration::from_secs(6);

const _: () = assert!(LEAVE_WAIT.as_secs() < END_WAIT.as_secs(), "the thread that leaves is waited for");

/// The labels of a server: these, and its machine as `host` and, unless `name` is among them, as that.
pub fn labels_of(host: &str, given: Vec<WorkerLabel>) -> Vec<(WorkerLabel, u32)> {
    let keys = ["host=", "name="].into_iter();
    let own = keys.filter(|key| !given.iter().any(|label| label.as_str().starts_with(key)));
    // What is no word is no label.
    let own: Vec<WorkerLabel> =
        own.filter_map(|key| WorkerLabel::new(&format!("{key}{host}")).ok()).collect();
    own.into_iter().chain(given).map(|label| (label, 0)).collect()
}

/// A worker that runs. Dropped without [`join`](Self::join) it ends by itself, and what runs is killed.
#[derive(Debug)]
pub struct RunningWorker {
    stop: WorkerStop,
    work: Option<JoinHandle<()>>,
    /// Disconnected when the membership is over.
    membership: Receiver<()>,
    ended: Notifications,
}

impl RunningWorker {
    /// Starts it. It joins as soon as the database answers. What its runs write is kept in `outputs`.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub(crate) fn start(
        location: &Location,
        member: Member,
        outputs: PathBuf,
        log: Log<File>,
        lease_cache: Arc<LeaseCache>,
        execution: Box<dyn Execution>,
    ) -> Result<RunningWorker, Error> {
        let setup = Error::setup("a thread for the worker");
        let (of_loop, of_membership) = link(WORKER_LEASE).map_err(setup)?;
        let membership = Membership::new(location, member, of_membership, outputs.clone(), lease_cache)
            .map_err(Error::Store)?;
        let waker = membership.waker();
        let (worker, stop) = WorkerLoop::new(execution, outputs, of_loop, log, waker).map_err(setup)?;
        let (notifier, ended) = pair().map_err(setup)?;
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let (over, is_over) = channel();
        let keep = move || {
            let _over: Sender<()> = over;
            membership.run();
        };
        named("membership").spawn(keep).map_err(setup)?;
        let work = move || {
            // Polling fails where the system has no memory left: what runs is ended with this thread.
            let _ = worker.run();
            notifier.notify();
        };
        let work = named("worker").spawn(work).map_err(setup)?;
        Ok(RunningWorker { stop, work: Some(work), membership: is_over, ended })
    }

    /// Has the worker woken at the end of each process, until what is returned is dropped. In a program of
    /// handlers the signals are the program's.
    ///
    /// # Errors
    /// When the operating system refuses a handler of signals.
    pub fn wake_at_ends_of_processes(&self) -> Result<ProcessEnds, Error> {
        self.stop.wake_at_ends_of_processes().map_err(Error::setup("signals"))
    }

    /// Asks for its end, with this patience. Asked again, what runs is killed at once.
    pub fn stop(&self, stopping: Stopping) {
        self.stop.ask(stopping);
    }

    /// Readable when nothing runs any more.
    pub fn ended(&self) -> &Notifications {
        &self.ended
    }

    /// Waits until it has left the pool, six seconds at most after the end of what ran: a database that does
    /// not answer is told nothing, and takes the worker for lost.
    pub fn join(mut self) {
        // A panic is on standard error.
        let _ = self.work.take().map(JoinHandle::join);
        let _ = self.membership.recv_timeout(END_WAIT);
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        // After its end it changes nothing.
        self.stop.ask(Stopping { drain: Duration::ZERO, grace: Duration::ZERO });
    }
}
