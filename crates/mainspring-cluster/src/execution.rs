//! The planner's execution where a pool carries out what starts.
//!
//! ```text
//!  start ─▶ assignment, with the commit of its record       kill ─▶ thread "planner" ─▶ the database
//!  facts ◀─ workers that come and go, ends that they report, progress ◀─ the same
//! ```
//!
//! Nothing runs in it. So nothing ends when the planner's lease does, and it never waits for an end.
//!
//! Cost: a channel and a byte on a socket pair for what is reported.
//!
//! Does not know how a worker runs anything.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use mainspring_exec::clock::Moment;
use mainspring_exec::notifier::{Notifications, pair};
use mainspring_host::net::{AsFd, BorrowedFd};
use mainspring_job::{Assignment, Input, Start, WorkerId};
use mainspring_postgres::{Fence, Location, Members, WaitNotifier};
use mainspring_server::error::Error;
use mainspring_server::protocol::ProgressWire;
use mainspring_server::server::execution::{AttemptKey, Execution, StartFailure, StartOutcome};

use super::document;
use super::planner_link::PlannerLink;

/// How long the planner's lease lasts without a renewal. Nothing outside of the database rests on it: each
/// write is refused whose planner has lost it. So it is short, and another plans within four seconds.
pub const PLANNER_LEASE: Duration = Duration::from_secs(3);

/// See the head of this file.
#[derive(Debug)]
pub struct PoolExecution {
    facts: Receiver<Input>,
    progress: Receiver<(AttemptKey, ProgressWire)>,
    notifications: Notifications,
    kills: Sender<(WorkerId, AttemptKey)>,
    /// Has the thread look for kills.
    notifier: WaitNotifier,
}

impl PoolExecution {
    /// That of a planner, which knows the workers that are there now. Its thread ends with it.
    ///
    /// # Errors
    /// When the database does not answer, or the operating system gives no thread.
    pub fn start(location: &Location, fence: Fence) -> Result<PoolExecution, Error> {
        let setup = Error::setup("a thread for the pool");
        let (notifier, notifications) = pair().map_err(setup)?;
        let ((sender, facts), (kills, killed), (teller, progress)) = (channel(), channel(), channel());
        let members = Members::of_planner(location).map_err(Error::Store)?;
        let waker = members.notifier();
        let mut link = PlannerLink::new(location, members, fence, sender, teller, notifier, killed);
        link.first_facts().map_err(Error::Store)?;
        thread::Builder::new().name("planner".to_owned()).spawn(move || link.run()).map_err(setup)?;
        Ok(PoolExecution { facts, progress, notifications, kills, notifier: waker })
    }
}

impl Drop for PoolExecution {
    fn drop(&mut self) {
        // The thread sees that the planner has ended.
        let (kills, _) = channel();
        self.kills = kills;
        self.notifier.notify();
    }
}

impl Execution for PoolExecution {
    fn is_elsewhere(&self) -> bool {
        true
    }

    fn assignment(&self, start: &Start) -> Option<Assignment> {
        Some(document::written(start))
    }

    fn facts(&mut self) -> Vec<Input> {
        self.notifications.clear();
        self.facts.try_iter().collect()
    }

    fn start(
        &mut self,
        _start: &Start,
        _outputs: &dyn Fn(&str) -> String,
        _now: Moment,
    ) -> Result<StartOutcome, StartFailure> {
        Ok(StartOutcome::Elsewhere)
    }

    fn progress(&mut self, _now: Moment) -> Vec<(AttemptKey, ProgressWire)> {
        self.progress.try_iter().collect()
    }

    fn ask_to_end(&mut self, worker: WorkerId, attempted: &AttemptKey, _now: Moment) -> bool {
        // The thread has ended only if another plans.
        let _ = self.kills.send((worker, attempted.clone()));
        self.notifier.notify();
        true
    }

    fn watch<'a>(&'a self, readable: &mut Vec<BorrowedFd<'a>>, _writable: &mut Vec<BorrowedFd<'a>>) {
        readable.push(self.notifications.as_fd());
    }
}
