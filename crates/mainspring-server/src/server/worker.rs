//! The loop of a worker: a server of a pool that carries runs out, for any planner.
//!
//! ```text
//!  membership ── start, kill, lost ──▶ WorkerLoop ── ends, outputs ──▶ membership
//!  (its thread: the database)          processes, or functions          (reports for the planner)
//! ```
//!
//! | the worker's own lease | what runs here |
//! |---|---|
//! | is fresh | continues, and more starts |
//! | is old: two thirds of its length without a renewal | is asked to end, and nothing starts; `on_lease_loss = "leave"` continues |
//! | is over, or the planner has taken the worker for lost | is killed or left, and is not reported; then the worker joins as another |
//!
//! A loop that stands still is not renewed for: its lease becomes old, and others run what ran here. When it
//! continues it judges its lease first: what the keeper has ended meanwhile is not reported as an end.
//!
//! The planner may be anywhere and may fall: nothing here ends by that, and what ends meanwhile is reported
//! to the next one.
//!
//! An end is reported when its output is where other servers find it.
//!
//! Cost: a turn is a few system calls, and a few for each running process. An idle loop wakes each
//! [`LOOK_INTERVAL`] and with each renewal.
//!
//! Does not speak to the database: the other end of its [`WorkerLink`] does, on a thread of its own.

mod member_lease;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::signals::ProcessEnds;
use mainspring_job::{AttemptEnd, LeaseAge, LeaseDeadlines, Outcome, RunKey, Start, WorkerId};

use super::execution::{AttemptKey, Execution};
use super::phase::{KILL_WAIT, Phase, Stopping};
use super::work::Work;
use super::{LOOK_INTERVAL, finish_log};
use crate::error::Error;
use crate::log::{Line, Log};
use crate::waiting::wait_for;
use mainspring_exec::clock::{Moment, boot_time};
use mainspring_exec::notified_channel::{NotifiedReceiver, NotifyingSender, notified_channel};
use mainspring_host::net::{AsFd, BorrowedFd};

pub use member_lease::MemberLease;

/// What the membership says to the loop.
#[derive(Debug)]
pub enum MembershipNews {
    /// The record of this start is on disk, and it is this worker's.
    Start(Box<Start>),
    /// The planner wants this attempt to end.
    Kill(WorkerId, AttemptKey),
    /// The session is over, as the planner has taken the worker for lost or the loop has ended its lease:
    /// others may run what runs here.
    Lost,
    /// For people.
    Note(String),
}

/// What the loop says to the membership.
#[derive(Debug)]
pub enum WorkerOrder {
    /// To be told to the planner, in this order.
    Report(Vec<AttemptEnd>),
    /// So many runs may be started here that wait.
    Ahead(usize),
    /// How far what runs here is, as the other servers are told: the text of a
    /// [`ProgressTable`](super::progress_table::ProgressTable).
    Progress(String),
    /// Nothing is to start here any more.
    Leave,
    /// Nothing runs here any more, but for these, which SIGKILL has not ended. After
    /// [`Leave`](WorkerOrder::Leave) it is the end of the worker, and what else it was to start has not
    /// begun; after [`Lost`](MembershipNews::Lost) the worker may join as another.
    Empty(Vec<AttemptKey>),
}

/// The loop's end of the way to its membership.
#[derive(Debug)]
pub struct WorkerLink {
    news: NotifiedReceiver<MembershipNews>,
    orders: Sender<WorkerOrder>,
    lease: Arc<MemberLease>,
}

/// The membership's end.
#[derive(Debug)]
pub struct MembershipLink {
    news: NotifyingSender<MembershipNews>,
    /// What the loop orders.
    pub orders: Receiver<WorkerOrder>,
    /// Renewed by the membership, judged by the loop.
    pub lease: Arc<MemberLease>,
}

impl MembershipLink {
    /// Tells the loop.
    pub fn tell(&self, news: MembershipNews) {
        // The loop has ended only if the membership is to end.
        let _ = self.news.send(news);
    }

    /// Tells the loop that there is another lease.
    pub fn notify(&self) {
        self.news.notifier().notify();
    }
}

/// Makes both ends, for a lease of this length.
///
/// # Errors
/// When the operating system gives no socket pair.
pub fn link(lasts: Duration) -> io::Result<(WorkerLink, MembershipLink)> {
    let ((sender, news), (orders, ordered)) = (notified_channel()?, channel());
    let lease = Arc::new(MemberLease::new(lasts));
    let of_loop = WorkerLink { news, orders, lease: Arc::clone(&lease) };
    Ok((of_loop, MembershipLink { news: sender, orders: ordered, lease }))
}

/// Ends a worker's loop from another thread.
#[derive(Clone, Debug)]
pub struct WorkerStop(NotifyingSender<Stopping>);

impl WorkerStop {
    /// Has the loop woken at the end of each process, as what it wrote may have ended before.
    ///
    /// # Errors
    /// When the operating system refuses a handler of signals.
    pub fn wake_at_ends_of_processes(&self) -> io::Result<ProcessEnds> {
        ProcessEnds::wake(self.0.notifier())
    }

    /// Asks for the end, with this patience. Asked again, what runs is killed at once.
    pub fn ask(&self, stopping: Stopping) {
        // It fails only after the loop has ended.
        let _ = self.0.send(stopping);
    }
}

/// See the head of this file.
pub struct WorkerLoop {
    work: Work,
    link: WorkerLink,
    log: Log<File>,
    stopping: Stopping,
    phase: Phase,
    requests: NotifiedReceiver<Stopping>,
    /// What was to start, and does when the lease is renewed.
    withheld: Vec<Start>,
    /// What runs was asked to end as the lease is old.
    is_old: bool,
    /// The lease is over: what ran here is another's, and nothing of it is reported.
    is_lost: bool,
    /// The membership knows that as well.
    is_given_up: bool,
    /// The other servers were told of progress.
    has_told: bool,
    /// Wakes the membership's thread, which waits for the database.
    wake: Box<dyn Fn() + Send>,
}

impl WorkerLoop {
    /// A worker that has joined nothing yet. What its runs write goes into files below `outputs`. `wake` has
    /// the membership's thread look for orders.
    ///
    /// # Errors
    /// When the operating system gives no socket pair.
    pub fn new(
        mut execution: Box<dyn Execution>,
        outputs: PathBuf,
        link: WorkerLink,
        mut log: Log<File>,
        wake: Box<dyn Fn() + Send>,
    ) -> io::Result<(WorkerLoop, WorkerStop)> {
        execution.may_be_lost();
        let note = execution.note();
        let (sender, requests) = notified_channel()?;
        note.iter().for_each(|text| log.line(Line::note(Moment::now().wall, text)));
        let worker = WorkerLoop {
            work: Work::new(execution, outputs),
            link,
            log,
            stopping: Stopping { drain: Duration::ZERO, grace: Duration::ZERO },
            phase: Phase::Running,
            requests,
            withheld: Vec::new(),
            is_old: false,
            is_lost: false,
            is_given_up: false,
            has_told: false,
            wake,
        };
        Ok((worker, WorkerStop(sender)))
    }

    /// Runs until the end was asked for and nothing runs any more.
    ///
    /// # Errors
    /// When polling fails.
    pub fn run(mut self) -> Result<(), Error> {
        loop {
            let now = Moment::now();
            self.turn(now);
            if self.is_done(now) {
                return self.finish(now);
            }
            self.wait(now)?;
        }
    }

    /// Does all that can be done without waiting.
    fn turn(&mut self, now: Moment) {
        self.keep_lease(now);
        self.link.lease.turn();
        self.requests.clear();
        self.link.news.clear();
        self.take_requests(now);
        self.take_news(now);
        for start in self.work.take_due(now) {
            self.begin_if_allowed(start, Moment::now());
        }
        let mut ends = self.work.turn(now, &mut self.log);
        if self.work.deadline().is_some_and(|at| at <= now.monotonic) {
            ends.extend(self.work.start_postponed(now, &mut self.log));
        }
        // What is reported is new, or of a run that has ended.
        if !self.work.take_progress(now).is_empty() || (!ends.is_empty() && self.has_told) {
            self.tell_progress();
        }
        self.report(ends);
        if let Some(ahead) = self.work.new_ahead() {
            self.order(WorkerOrder::Ahead(ahead));
        }
        self.end_loss();
        self.work.reap_orphans();
        self.work.flush(now, &mut self.log);
        self.log.flush(now.wall);
    }

    /// What the membership has to say.
    fn take_news(&mut self, now: Moment) {
        while let Some(news) = self.link.news.next() {
            match news {
                MembershipNews::Start(start) if self.phase != Phase::Running || self.is_lost => {
                    self.report(vec![returned(*start)]);
                }
                MembershipNews::Start(start) => {
                    if let Some(start) = self.work.hold_early(*start, now) {
                        self.begin_if_allowed(start, Moment::now());
                    }
                }
                MembershipNews::Kill(worker, (key, attempt)) => self.kill(worker, key, attempt, now),
                MembershipNews::Lost => {
                    self.lose(now, "the planner has taken this worker for lost");
                    self.is_given_up = true;
                }
                MembershipNews::Note(text) => self.note(now, &text),
            }
        }
    }

    fn kill(&mut self, worker: WorkerId, key: RunKey, attempt: u32, now: Moment) {
        let is_it = |start: &Start| start.key == key && start.attempt == attempt;
        if let Some(index) = self.withheld.iter().position(is_it) {
            self.withheld.remove(index);
            return self.report(vec![AttemptEnd::new(key, attempt, Outcome::Killed)]);
        }
        let ends = self.work.kill(worker, (key, attempt), now, &mut self.log);
        self.report(ends);
    }

    fn begin_if_allowed(&mut self, start: Start, now: Moment) {
        if self.judge() == Some(LeaseAge::Fresh) && !self.is_lost {
            let ends = self.work.start(start, now, now, &mut self.log);
            self.report(ends);
        } else {
            self.withheld.push(start);
        }
    }

    /// What its lease allows; `None` while it has none.
    fn judge(&self) -> Option<LeaseAge> {
        Some(LeaseDeadlines::of(self.link.lease.lasts()).judge(self.link.lease.age()?))
    }

    /// The worker may join as another once nothing runs any more that was lost.
    fn end_loss(&mut self) {
        if self.is_given_up && self.work.running_count() == 0 {
            debug_assert!(self.withheld.is_empty(), "what was withheld is another's");
            (self.is_lost, self.is_given_up) = (false, false);
            self.order(WorkerOrder::Empty(Vec::new()));
        }
    }

    /// Ends what runs if the lease is not renewed.
    fn keep_lease(&mut self, now: Moment) {
        let Some(age) = self.link.lease.age().filter(|_| !self.is_lost) else { return };
        let deadlines = LeaseDeadlines::of(self.link.lease.lasts());
        self.work.holds_until(boot_time().saturating_sub(age) + deadlines.over);
        match deadlines.judge(age) {
            LeaseAge::Fresh => {
                if std::mem::take(&mut self.is_old) {
                    self.note(now, "the database answers again, and this worker's lease is renewed");
                }
                for start in std::mem::take(&mut self.withheld) {
                    self.begin_if_allowed(start, now);
                }
            }
            LeaseAge::Old if self.is_old => {}
            LeaseAge::Old => {
                self.is_old = true;
                let text = format!(
                    "this worker's lease could not be renewed for {} s: nothing starts, and what runs is asked to end ({})",
                    age.as_secs(),
                    self.work.execution().process_count() - self.work.execution().to_be_detached_count(),
                );
                self.note(now, &text);
                let ends = match self.phase {
                    Phase::Running => self.work.ask_all_to_end_before_loss(now),
                    _ => self.work.ask_all_to_end(now),
                };
                self.report(ends);
            }
            LeaseAge::Over => self.lose(now, "this worker's lease could not be renewed in time"),
        }
    }

    /// What runs here may run elsewhere: it is killed or left, and nothing of it is reported.
    fn lose(&mut self, now: Moment, why: &str) {
        if self.is_lost {
            return;
        }
        self.is_lost = true;
        self.is_old = false;
        self.link.lease.end();
        self.withheld.clear();
        if self.phase == Phase::Running {
            drop(self.work.leave(now, &mut self.log));
        }
        self.note(now, &format!("{why}: SIGKILL to what runs ({})", self.work.execution().process_count()));
        drop(self.work.kill_all_at_once(now, &mut self.log));
        (self.wake)();
        if !self.work.take_progress(now).is_empty() || self.has_told {
            self.tell_progress();
        }
    }

    /// Has told how far the runs are.
    fn tell_progress(&mut self) {
        let text = self.work.progress().text();
        self.has_told = !text.is_empty();
        self.order(WorkerOrder::Progress(text));
    }

    /// Has ends told to the planner.
    fn report(&mut self, ends: Vec<AttemptEnd>) {
        if self.is_lost || ends.is_empty() {
            return;
        }
        self.order(WorkerOrder::Report(ends));
    }

    fn order(&self, order: WorkerOrder) {
        // Its thread has ended only if it has failed, which it says.
        let _ = self.link.orders.send(order);
        (self.wake)();
    }

    /// Moves towards the end that was asked for, by the phases of `stop`.
    fn take_requests(&mut self, now: Moment) {
        while let Some(stopping) = self.requests.next() {
            if self.phase == Phase::Running {
                self.stopping = stopping;
                self.order(WorkerOrder::Leave);
                let withheld = std::mem::take(&mut self.withheld);
                self.report(withheld.into_iter().map(returned).collect());
                let waiting = self.work.end();
                self.report(waiting);
                self.phase = Phase::Draining { since: now };
            } else if !matches!(self.phase, Phase::Killed { .. }) {
                self.kill_all(now, "the end was asked for again");
            }
        }
        match self.phase {
            Phase::Draining { since } if self.stopping.drain <= now.since(since) => {
                self.phase = Phase::Terminating { since: now };
                let ends = self.work.ask_all_to_end(now);
                self.report(ends);
            }
            Phase::Terminating { since } if self.stopping.grace <= now.since(since) => {
                self.kill_all(now, "the grace period is over");
            }
            _ => {}
        }
    }

    fn kill_all(&mut self, now: Moment, why: &str) {
        self.note(now, &format!("{why}: SIGKILL to what runs ({})", self.work.execution().process_count()));
        let ends = self.work.kill_all_at_once(now, &mut self.log);
        self.report(ends);
        self.phase = Phase::Killed { since: now };
    }

    fn is_done(&self, now: Moment) -> bool {
        match self.phase {
            Phase::Running | Phase::Gathering { .. } => false,
            Phase::Draining { .. } | Phase::Terminating { .. } => self.work.running_count() == 0,
            Phase::Killed { since } => self.work.running_count() == 0 || KILL_WAIT <= now.since(since),
        }
    }

    fn finish(mut self, now: Moment) -> Result<(), Error> {
        debug_assert!(self.withheld.is_empty(), "what was withheld was given back");
        let running = self.work.close(now, &mut self.log);
        self.work.flush(now, &mut self.log);
        self.order(WorkerOrder::Empty(running));
        finish_log(&mut self.log, now)
    }

    fn note(&mut self, now: Moment, text: &str) {
        self.log.line(Line::note(now.wall, text));
    }

    /// Waits for anything to do.
    fn wait(&mut self, now: Moment) -> Result<(), Error> {
        let of_phase = self.phase.length(self.stopping);
        let of_phase = of_phase.map(|(length, since)| length.saturating_sub(now.since(since)));
        let deadlines = LeaseDeadlines::of(self.link.lease.lasts());
        let of_lease = self.link.lease.age().filter(|_| !self.is_lost).map(|age| {
            let next = [deadlines.old, deadlines.over].into_iter().find(|step| age < *step);
            next.unwrap_or(deadlines.over).saturating_sub(age).min(deadlines.renew)
        });
        let of_backlog = self.work.deadline().map(|at| at.saturating_duration_since(now.monotonic));
        let waits = [self.work.wait(now), of_phase, of_lease, of_backlog, Some(LOOK_INTERVAL)];
        let wait = waits.into_iter().flatten().min();
        let mut readable: Vec<BorrowedFd<'_>> = vec![self.link.news.as_fd(), self.requests.as_fd()];
        let mut writable = Vec::new();
        self.work.watch(&mut readable, &mut writable);
        writable.extend(self.log.fd());
        wait_for(&readable, &writable, wait).map(drop).map_err(Error::setup("polling"))
    }
}

/// A start that is not begun here.
fn returned(start: Start) -> AttemptEnd {
    let Start { key, attempt, .. } = start;
    AttemptEnd::new(key, attempt, Outcome::Returned)
}

#[cfg(test)]
mod tests;
