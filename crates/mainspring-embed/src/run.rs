//! The run as its handler sees it.
//!
//! Cost: a clone is a reference count.
//!
//! Does not know the payload: a handler gets it beside the run.

use std::fmt;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use mainspring_exec::clock::Moment;
use mainspring_exec::notifier::Notifier;
use mainspring_job::{Cause, JobName, RunKey, Start, Timeout};
use mainspring_server::protocol::ProgressWire;

use crate::client::Client;
use crate::progress::ProgressSignal;
use crate::stop::Stop;

/// A line that a run wrote, with its number.
pub(crate) type Line = (u64, String);

/// Where what a run says goes: into the file of its output, by way of the loop.
#[derive(Clone, Debug)]
pub(crate) struct LineSender {
    pub(crate) number: u64,
    pub(crate) lines: Sender<Line>,
    pub(crate) notifier: Notifier,
    pub(crate) progress: ProgressSignal,
}

/// One attempt of a run, while it is carried out.
#[derive(Clone)]
pub struct Run {
    inner: Arc<Inner>,
}

struct Inner {
    /// What the owner asks for.
    start: Start,
    /// When it is to begin,
    planned: Timestamp,
    /// and when it has: a function may have waited for a thread. `None` inside: it never will here.
    began: OnceLock<Option<Moment>>,
    client: Client,
    line_sender: Option<LineSender>,
    /// The last that its handler has told, until the loop takes it.
    progress: Mutex<Option<ProgressWire>>,
    stop: Stop,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("key", self.key())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}

impl Run {
    /// The attempt that an owner's start asks for, which is to begin at a time.
    pub(crate) fn new(
        start: &Start,
        planned: Timestamp,
        client: Client,
        line_sender: Option<LineSender>,
    ) -> Run {
        let (start, began, progress, stop) =
            (start.clone(), OnceLock::new(), Mutex::default(), Stop::default());
        Run { inner: Arc::new(Inner { start, planned, began, client, line_sender, progress, stop }) }
    }

    /// Its handler begins now: its timeout counts from here. Returns whether it may.
    #[must_use]
    pub(crate) fn begin(&self, now: Moment) -> bool {
        self.inner.began.set(Some(now)).is_ok()
    }

    /// Its handler is not to begin any more. Returns whether it had not.
    pub(crate) fn take_back(&self) -> bool {
        self.inner.began.set(None).is_ok()
    }

    /// Whether its handler has not begun, and still may.
    pub(crate) fn is_waiting(&self) -> bool {
        self.inner.began.get().is_none()
    }

    /// Whether its handler is not to begin any more.
    pub(crate) fn is_back(&self) -> bool {
        self.inner.began.get().is_some_and(Option::is_none)
    }

    fn began(&self) -> Option<Moment> {
        self.inner.began.get().copied().flatten()
    }

    pub(crate) fn timeout(&self) -> Timeout {
        self.inner.start.work.policies.timeout
    }

    /// For how long its handler has run.
    pub(crate) fn elapsed(&self, now: Moment) -> Duration {
        self.began().map_or(Duration::ZERO, |began| now.since(began))
    }

    /// How much of its timeout is left: all of it before the handler begins.
    pub(crate) fn timeout_left(&self, now: Moment) -> Option<Duration> {
        self.timeout().after?.checked_sub(self.elapsed(now)).filter(|left| !left.is_zero())
    }

    /// The progress that its handler has told since the last call.
    pub(crate) fn take_progress(&self) -> Option<ProgressWire> {
        self.inner.progress.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.inner.stop
    }

    /// Names the run: the same for all its attempts, also after a crash. As a text it is the idempotency key
    /// for receivers.
    pub fn key(&self) -> &RunKey {
        &self.inner.start.key
    }

    /// The job, or the name of what was submitted.
    pub fn job(&self) -> &JobName {
        &self.inner.start.key.job
    }

    /// The time that the schedule names, or at which the submission is due. It does not move with retries.
    pub fn nominal(&self) -> Timestamp {
        self.inner.start.key.nominal
    }

    /// When this attempt was due.
    pub fn due(&self) -> Timestamp {
        self.inner.start.due
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.inner.start.attempt
    }

    /// Greater than that of each attempt that was started in an earlier batch, wherever it runs. A receiver
    /// that keeps the greatest it has seen can refuse what an earlier attempt still sends.
    ///
    /// Source: the fencing token of Kleppmann, "How to do distributed locking" (2016).
    pub fn fence(&self) -> u64 {
        self.inner.start.fence
    }

    /// Why there is a run: its schedule, a submission, a person, a misfire that is caught up.
    pub fn cause(&self) -> Cause {
        self.inner.start.cause
    }

    /// When the timeout of this attempt is over, by the wall clock. `None`: it has no timeout.
    pub fn deadline(&self) -> Option<Timestamp> {
        let began = self.began().map_or(self.inner.planned, |began| began.wall);
        began.checked_add(self.timeout().after?).ok()
    }

    /// Whether the run is to stop: its timeout is over, it was cancelled, or the jobs are shut down. A
    /// handler that stops before it is done returns an error.
    pub fn is_stopping(&self) -> bool {
        self.inner.stop.is_told()
    }

    /// Waits until the run is to stop, at most so long, as a function may that would sleep. Returns whether
    /// it is.
    pub fn wait_for_stop(&self, longest: Duration) -> bool {
        self.inner.stop.wait(longest)
    }

    /// Is ready when the run is to stop.
    pub async fn stopped(&self) {
        self.inner.stop.requested().await;
    }

    /// Submits from within a handler.
    pub fn jobs(&self) -> &Client {
        &self.inner.client
    }

    /// Writes a line into the output of the run, which `mainspring logs` shows. In a simulation it goes
    /// nowhere.
    pub fn say(&self, line: impl fmt::Display) {
        if let Some(line_sender) = &self.inner.line_sender {
            // The loop may have ended, and with it the output.
            let _ = line_sender.lines.send((line_sender.number, line.to_string()));
            line_sender.notifier.notify();
        }
    }

    /// Tells how far the run is: so many done, of so many in all, in any unit. 0 as `of` says that the
    /// number is not known; more done than `of` counts as `of`.
    ///
    /// Commands, the API and the page show the last that was told, a second later at most. On a shared
    /// database it is known some three seconds later, with the next renewal of this program's lease, and a
    /// page that is open changes by itself within ten. It is shown while this attempt runs, and kept nowhere:
    /// what is to last is said with [`say`](Run::say). In a simulation it goes nowhere.
    ///
    /// Costs a lock of this run's own, so it may be called for each row, from any thread.
    pub fn progress(&self, done: u64, of: u64) {
        if let Some(line_sender) = &self.inner.line_sender {
            let progress = Some(ProgressWire::new(done, of));
            *self.inner.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
            line_sender.progress.raise();
        }
    }
}
