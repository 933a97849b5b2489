//! Jobs whose time a test moves: a store in memory, and handlers on the thread that moves the clock.
//!
//! ```text
//! clock.advance ─▶ the next time at which something is due ─▶ planner ─▶ store ─▶ handlers, one after the other ─▶ ..
//! ```
//!
//! The planner is the one that runs in production, and so are the records. A handler takes no time by this
//! clock, so that nothing is timed out, and two never run at once. The same moves give the same history, each
//! time.
//!
//! Cost: that of the planner; a month of a job that is due each minute takes a fraction of a second.
//!
//! Does not run a runtime: a future is polled on the calling thread until it is ready. One that waits for
//! something that only a runtime gives needs [`ManualClock::advance_async`], awaited in that.

use std::collections::VecDeque;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use jiff::Timestamp;
use mainspring_action::body::Body;
use mainspring_action::needs;
use mainspring_job::{
    AttemptEnd, Command, Failure, Input, Lease, Limits, MemoryStore, Outcome, Output, Owner, Planner, Reader,
    Reply, Start, Store, StoreError, Ticket, Worker, WorkerEvent, WorkerId, turn,
};
use mainspring_server::polling::poll_here;
use mainspring_server::server::program_calls::audit;

use crate::client::{Client, CommandTarget, PendingReply};
use crate::error::Error;
use crate::future::{BoxFuture, GuardedRun};
use crate::handler_error::{HandlerEnd, HandlerError};
use crate::parts::Parts;
use crate::registry::{Handler, Registry, call, made};
use crate::run::Run;

/// How many runs may wait to be carried out at once; they are carried out one by one.
const CAPACITY: usize = 1_000;

/// How long a future of a handler may wait without being woken, on a thread that waits for it alone: only one
/// that will never be needs it.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A clock that stands still until a test moves it. Clones are the same clock.
///
/// # Example
/// ```
/// use mainspring_embed::{Cron, Jobs, ManualClock, Run};
/// use std::time::Duration;
///
/// let clock = ManualClock::at("2026-01-01T00:00:00Z".parse()?);
/// let jobs = Jobs::simulated(&clock)
///     .job("nightly", Cron::parse("0 3 * * *")?, |_: &Run| Ok::<(), String>(()))
///     .start()?;
/// clock.advance(Duration::from_secs(31 * 86_400));
/// assert_eq!(jobs.runs_of("nightly", 100)?.len(), 31);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock {
    inner: Arc<Mutex<ClockState>>,
}

struct ClockState {
    now: Timestamp,
    moved: Vec<Weak<Simulation>>,
}

impl fmt::Debug for ClockState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now.fmt(f)
    }
}

impl ManualClock {
    /// A clock that shows this time.
    pub fn at(now: Timestamp) -> ManualClock {
        ManualClock { inner: Arc::new(Mutex::new(ClockState { now, moved: Vec::new() })) }
    }

    /// What it shows.
    pub fn now(&self) -> Timestamp {
        self.lock().now
    }

    /// Moves it on by so much. All that is due until then runs, each at its time, before this returns. Zero
    /// runs what is due now.
    ///
    /// # Panics
    /// When the future of a handler has waited for a minute and was not woken: it waits for a timer or a
    /// socket of a runtime that this very thread should run. See [`advance_async`](Self::advance_async).
    pub fn advance(&self, by: Duration) {
        advance_here(self.advance_async(by), MAX_WAIT);
    }

    /// Moves it on to a time, as [`advance`](Self::advance) does. A time that has passed is now.
    ///
    /// # Panics
    /// As [`advance`](Self::advance).
    pub fn advance_to(&self, to: Timestamp) {
        advance_here(self.go_to(to), MAX_WAIT);
    }

    /// Moves it on by so much inside a runtime, as `#[tokio::test]` has one: what the futures of handlers
    /// wait for is that runtime's.
    pub async fn advance_async(&self, by: Duration) {
        self.go_to(self.now().checked_add(by).unwrap_or(Timestamp::MAX)).await;
    }

    async fn go_to(&self, to: Timestamp) {
        let simulations: Vec<Arc<Simulation>> = self.lock().moved.iter().filter_map(Weak::upgrade).collect();
        loop {
            // In turns, so that each sees of the others what was before, and nothing of what comes after.
            let next = simulations.iter().filter_map(|simulation| simulation.next_due()).min();
            let next = next.filter(|due| *due <= to);
            for simulation in &simulations {
                simulation.go_to(next.unwrap_or(to), self).await;
            }
            if next.is_none() {
                return self.show(to);
            }
        }
    }

    fn show(&self, to: Timestamp) {
        let mut state = self.lock();
        state.now = state.now.max(to);
    }

    fn lock(&self) -> MutexGuard<'_, ClockState> {
        self.inner.lock().expect("nothing panics while it holds this lock")
    }
}

/// The planner and its store, as one thing behind a lock.
struct State {
    planner: Planner,
    store: MemoryStore,
    lease: Lease,
    now: Timestamp,
    starts: VecDeque<Start>,
    /// The run whose handler was called last.
    running: Option<Run>,
    replies: Vec<(Ticket, Reply)>,
    last_ticket: u64,
    /// Nothing starts any more.
    has_ended: bool,
}

/// See the head of this file.
pub(crate) struct Simulation {
    state: Mutex<State>,
    /// What clients are of.
    pub(crate) client: Client,
    registry: Registry,
}

impl Simulation {
    pub(crate) fn start(clock: &ManualClock, parts: Parts) -> Result<Arc<Simulation>, Error> {
        let Parts { registry, catalogue, definitions, .. } = parts;
        let mut store = MemoryStore::new();
        let lease = store.acquire(&Owner::new("simulation")).map_err(Error::Store)?;
        let worker = Worker::new(WorkerId(lease.epoch), "simulation", CAPACITY);
        let worker = worker.with_labels(catalogue.labels());
        let state = State {
            planner: Planner::new(lease.epoch, Limits::default()).requiring(needs::needs),
            store,
            lease,
            now: clock.now(),
            starts: VecDeque::new(),
            running: None,
            replies: Vec::new(),
            last_ticket: 0,
            has_ended: false,
        };
        let simulation = Arc::new_cyclic(|weak: &Weak<Simulation>| Simulation {
            state: Mutex::new(state),
            client: Client::new(Weak::clone(weak), catalogue),
            registry,
        });
        simulation.command(Command::Apply(definitions))?;
        simulation.lock().tell(Input::Worker(WorkerEvent::Present(worker)))?;
        simulation.lock().tell(Input::Begin { takeover: lease.takeover })?;
        clock.lock().moved.push(Arc::downgrade(&simulation));
        Ok(simulation)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this lock")
    }

    pub(crate) fn read<T>(
        &self,
        ask: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>,
    ) -> Result<T, Error> {
        ask(&mut self.lock_unless_ended()?.store).map_err(Error::Store)
    }

    /// Nothing starts any more, and what runs is told to stop.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        let running = state.running.take();
        drop(state);
        running.iter().for_each(|run| run.stop().tell());
    }

    fn lock_unless_ended(&self) -> Result<MutexGuard<'_, State>, Error> {
        Some(self.lock()).filter(|state| !state.has_ended).ok_or(Error::Stopped)
    }

    /// Goes from one time at which something is due to the next, and runs what starts.
    async fn go_to(&self, to: Timestamp, clock: &ManualClock) {
        loop {
            while let Some(start) = self.take_start() {
                let HandlerEnd { outcome, again_in } = self.carry_out(&start).await;
                let (key, attempt) = (start.key, start.attempt);
                let mut end = AttemptEnd::new(key, attempt, outcome);
                end.retry_at =
                    again_in.map(|after| self.now().saturating_add(after).unwrap_or(Timestamp::MAX));
                self.tell(end.into());
            }
            let Some(due) = self.next_due().filter(|due| *due <= to) else { break };
            let now = {
                let mut state = self.lock();
                state.now = state.now.max(due);
                state.now
            };
            clock.show(now);
            self.tell(Input::Tick);
        }
        let mut state = self.lock();
        state.now = state.now.max(to);
    }

    /// When there is something to do next; now, if something is to be started.
    fn next_due(&self) -> Option<Timestamp> {
        let state = self.lock_unless_ended().ok()?;
        if state.starts.is_empty() { state.planner.next_due() } else { Some(state.now) }
    }

    fn take_start(&self) -> Option<Start> {
        self.lock_unless_ended().ok()?.starts.pop_front()
    }

    fn tell(&self, input: Input) {
        self.lock().tell(input).expect("a store in memory does not fail");
    }

    /// Calls the handler of a start. Nothing is locked meanwhile: it may submit.
    async fn carry_out(&self, start: &Start) -> HandlerEnd {
        let Ok(Body::Handler(body)) = Body::decode(&start.work.action) else {
            return Outcome::Failed(Failure::Final("the action cannot be read".to_owned())).into();
        };
        let handler = self.registry.get(&body.name).expect("a run without a handler does not start");
        let run = Run::new(start, self.now(), self.client.clone(), None);
        self.lock().running = Some(run.clone());
        match &**handler {
            Handler::Function(function) => call(function, &run, &body),
            Handler::Future(_) => end_of(run.clone(), made(Arc::clone(handler), run, body)).await,
        }
    }

    fn now(&self) -> Timestamp {
        self.lock().now
    }

    fn command(&self, command: Command) -> Result<Reply, Error> {
        let mut state = self.lock_unless_ended()?;
        state.last_ticket += 1;
        let (ticket, now) = (Ticket(state.last_ticket), state.now);
        if let Some(audit) = audit(&command, now) {
            state.tell(Input::Audit(audit))?;
        }
        state.tell(Input::Command { ticket, command })?;
        let index = state.replies.iter().position(|(of, _)| *of == ticket);
        let (_, reply) = state.replies.swap_remove(index.expect("each command has a reply"));
        debug_assert!(state.replies.is_empty(), "each takes its own");
        Ok(reply)
    }
}

/// Clients do not keep it running.
impl CommandTarget for Weak<Simulation> {
    fn begin(&self, command: Command) -> Result<PendingReply, Error> {
        let reply = self.upgrade().ok_or(Error::Stopped)?.command(command)?;
        Ok(Box::pin(ready(Ok(reply))))
    }

    fn now(&self) -> Result<Timestamp, Error> {
        Ok(self.upgrade().ok_or(Error::Stopped)?.now())
    }

    fn stop(&self, _patience: Duration) {
        self.upgrade().iter().for_each(|simulation| simulation.end());
    }

    fn outbox_folder(&self) -> Result<Option<&str>, &'static str> {
        Err("a simulation has no database")
    }
}

impl State {
    fn tell(&mut self, input: Input) -> Result<(), Error> {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let outputs = turn(&mut self.planner, &mut self.store, self.lease, self.now, input);
            for output in outputs.map_err(Error::Store)? {
                match output {
                    Output::Start(start) => {
                        debug_assert!(self.starts.len() < CAPACITY, "a worker has a place for what starts");
                        self.starts.push_back(start);
                    }
                    Output::Reply { ticket, reply } => self.replies.push((ticket, reply)),
                    Output::Kill { key, attempt, .. } => {
                        // One that has begun is told, and returns when it likes.
                        let own =
                            self.running.iter().filter(|run| (run.key(), run.attempt()) == (&key, attempt));
                        own.for_each(|run| run.stop().tell());
                        let is_this = |start: &Start| start.key == key && start.attempt == attempt;
                        if let Some(index) = self.starts.iter().position(is_this) {
                            self.starts.remove(index);
                            inputs.push_back(Input::Ended(AttemptEnd::new(key, attempt, Outcome::Killed)));
                        }
                    }
                    Output::Load { .. } | Output::LoadIds { .. } | Output::CheckBatch { .. } => {
                        unreachable!("a turn answers them")
                    }
                    Output::Note(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// Polls a future on this thread until it is ready. It is woken within that time each time that it waits.
fn advance_here(future: impl Future<Output = ()>, longest: Duration) {
    poll_here(future, |woken| {
        assert!(
            woken.recv_timeout(longest).is_ok(),
            "the future of a handler waits for something that a runtime on this thread would give: await \
             `advance_async` in that runtime, in the place of `advance`"
        );
    });
}

/// The end of the run that a future carries out.
async fn end_of(run: Run, future: BoxFuture<Result<(), HandlerError>>) -> HandlerEnd {
    let ended = Arc::new(Mutex::new(None));
    let shared = Arc::clone(&ended);
    let tell = move |end| *shared.lock().expect("nothing panics while it holds this lock") = Some(end);
    GuardedRun::new(run, future, tell).await;
    let end = ended.lock().expect("nothing panics while it holds this lock").take();
    end.expect("a future that is over has told its end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "await `advance_async` in that runtime, in the place of `advance`")]
    fn a_future_that_only_a_runtime_would_wake_is_told_so_instead_of_waited_for() {
        advance_here(std::future::pending::<()>(), Duration::from_millis(1));
    }
}
