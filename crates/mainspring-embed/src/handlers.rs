//! Executes runs by a program's handlers, in place of processes and webhooks.
//!
//! ```text
//! start ─▶ pool: a function   ─┐                          ┌─ returned in time: its outcome
//!       ─▶ spawner: a future  ─┴─ Ended, notifier ─▶ turn ─▶ ─┼─ told to stop: timeout, cancel, shutdown
//!                                                         └─ grace over: a future is dropped, a function is left to itself
//! ```
//!
//! A function may wait for a thread, as more are started than there are threads while they are short. When
//! one has waited for [`GIVE_BACK_WAIT`], those that were started ahead are given back, as is all that waits
//! when the program ends. Then another program may have them.
//!
//! What a handler returns counts, also after it was told to stop. A function that does not return within its
//! grace is recorded as a failure for good: its thread still runs, so another attempt would run beside it. A
//! future is dropped at its next await; only one that awaits nothing is left to itself.
//!
//! Cost: a message and a byte on a socket pair for each end; the loop is woken for timeouts by a timer queue.
//!
//! Does not decide anything about retries, and knows no store.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use mainspring_action::body::Body;
use mainspring_exec::clock::Moment;
use mainspring_exec::delay_queue::{ArmedWait, DelayQueue};
use mainspring_exec::end::{End, KillCause, Outcome as ExecutorOutcome, Reports};
use mainspring_exec::notified_channel::{NotifiedReceiver, NotifyingSender, notified_channel};
use mainspring_exec::output::{Piece, Stream};
use mainspring_exec::span::Span;
use mainspring_host::net::{AsFd, BorrowedFd};
use mainspring_job::{Failure, Outcome, Start, WorkerId, WorkerLabel};
use mainspring_server::protocol::ProgressWire;
use mainspring_server::server::execution::{AttemptKey, Execution, StartFailure, StartOutcome, left_until};

use crate::ahead::{StartsAhead, WINDOW};
use crate::client::Client;
use crate::future::{GuardedRun, Spawner};
use crate::handler_error::HandlerEnd;
use crate::pool::{Pool, Task};
use crate::progress::ProgressLooks;
use crate::registry::{Handler, Registry, call, made};
use crate::run::{Line, LineSender, Run};

/// How many functions may be left to themselves before no more are started: each holds a thread that is lost.
const MAX_LEFT: usize = 64;

/// How long a future that is to be dropped may take to its next await.
const DROP_WAIT: Duration = Duration::from_secs(1);

/// How long a function may wait for a thread: longer than any is meant to, which is a
/// [`WINDOW`], and not so long that a person who looks notices it.
const GIVE_BACK_WAIT: Duration = Duration::from_secs(1);
const _: () =
    assert!(WINDOW.as_millis() < GIVE_BACK_WAIT.as_millis(), "what is meant to wait is not given back");

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// It was told to stop.
    Notified(KillCause),
    /// A future is to be dropped.
    Dropping(KillCause),
}

#[derive(Debug)]
struct UnderWay {
    attempted: AttemptKey,
    run: Run,
    is_future: bool,
    phase: Phase,
    /// When its timeout or its grace is over.
    armed: Option<ArmedWait>,
}

/// See the head of this file.
pub(crate) struct Handlers {
    registry: Registry,
    capacity: usize,
    ahead: StartsAhead,
    /// Functions in the order of their starts, and since when each waits. Those that have begun are taken out
    /// when they are the first.
    waiting: VecDeque<(u64, Instant)>,
    pool: Pool,
    spawner: Option<Spawner>,
    client: Client,
    under_way: HashMap<u64, UnderWay>,
    number_of: HashMap<AttemptKey, u64>,
    /// Functions that are left to themselves and hold a thread each.
    left: HashSet<u64>,
    waits: DelayQueue<u64>,
    last_number: u64,
    sender: NotifyingSender<(u64, HandlerEnd)>,
    ends: NotifiedReceiver<(u64, HandlerEnd)>,
    line_sender: Sender<Line>,
    lines: Receiver<Line>,
    progress: ProgressLooks,
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").field("under_way", &self.under_way).finish_non_exhaustive()
    }
}

impl Handlers {
    /// At most so many functions at a time, and so many that wait for their threads while they are short, and
    /// so many futures beside them if there is a spawner.
    pub(crate) fn new(
        registry: Registry,
        thread_max: usize,
        ahead_max: usize,
        futures: Option<(Spawner, usize)>,
        client: Client,
    ) -> io::Result<Handlers> {
        let ((sender, ends), (line_sender, lines)) = (notified_channel()?, channel());
        let future_max = futures.as_ref().map_or(0, |(_, count)| *count);
        Ok(Handlers {
            registry,
            capacity: thread_max + future_max,
            ahead: StartsAhead::new(thread_max, ahead_max),
            waiting: VecDeque::new(),
            pool: Pool::of_at_most(thread_max),
            spawner: futures.map(|(spawner, _)| spawner),
            client,
            under_way: HashMap::new(),
            number_of: HashMap::new(),
            left: HashSet::new(),
            waits: DelayQueue::new(Moment::now().monotonic),
            last_number: 0,
            progress: ProgressLooks::new(sender.notifier().clone()),
            sender,
            ends,
            line_sender,
            lines,
        })
    }

    /// How an attempt tells its end, from any thread.
    fn teller(&self, number: u64) -> impl FnOnce(HandlerEnd) + Send + Unpin + 'static {
        let sender = self.sender.clone();
        // It fails only after the loop has ended.
        move |end| drop(sender.send((number, end)))
    }

    /// Has a thread do a task as soon as it is time to begin.
    fn give(&self, began: Moment, now: Moment, task: Task) -> Result<(), StartFailure> {
        let given =
            if began == now { self.pool.give(task) } else { self.pool.give_at(began.monotonic, task) };
        given.map_err(|error| StartFailure::Now(format!("cannot start a thread: {error}")))
    }

    /// A wait begins, counted from then on, or ends.
    fn arm(&mut self, number: u64, after: Option<Duration>, now: Moment) {
        if let Some(under_way) = self.under_way.get_mut(&number) {
            let at: Option<Instant> = after.and_then(|after| now.monotonic.checked_add(after));
            self.waits.arm(&mut under_way.armed, at, number);
        }
    }

    /// Tells an attempt to stop, once, and gives it its grace from now on if it has one.
    fn tell_to_stop(&mut self, number: u64, cause: KillCause, now: Moment) {
        let Some(under_way) = self.under_way.get_mut(&number) else { return };
        if under_way.phase == Phase::Running && !under_way.run.is_back() {
            under_way.phase = Phase::Notified(cause);
            under_way.run.stop().tell();
            if under_way.run.take_back() {
                return self.teller(number)(Outcome::Killed.into());
            }
            let grace = under_way.run.timeout().kill.grace;
            self.arm(number, Some(grace), now);
        }
    }

    /// Gives a function back that has not begun. Returns whether that is so.
    fn give_back(&mut self, number: u64) -> bool {
        let is_back = self.under_way.get(&number).is_some_and(|under_way| under_way.run.take_back());
        if is_back {
            self.teller(number)(Outcome::Returned.into());
        }
        is_back
    }

    /// Gives back what was started ahead, if one has waited for too long: the threads are held by what takes
    /// its time.
    fn give_back_if_stuck(&mut self, now: Moment) {
        let waits = |number: &u64| self.under_way.get(number).is_some_and(|it| it.run.is_waiting());
        while self.waiting.front().is_some_and(|(number, _)| !waits(number)) {
            self.waiting.pop_front();
        }
        let Some((_, since)) = self.waiting.front() else { return };
        if now.monotonic.saturating_duration_since(*since) < GIVE_BACK_WAIT {
            return;
        }
        // What has a place by the planner's count, as those of futures count too, waits on: it would be
        // placed here again.
        let excess = self.under_way.len().saturating_sub(self.capacity);
        let waiting = std::mem::take(&mut self.waiting);
        for (number, _) in waiting.into_iter().rev().take(excess) {
            self.give_back(number);
        }
        self.ahead.stop();
    }

    /// A timeout or a grace is over.
    fn elapse(&mut self, number: u64, now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        let Some(under_way) = self.under_way.get_mut(&number) else { return };
        match under_way.phase {
            Phase::Running => match under_way.run.timeout_left(now) {
                // It has waited for a thread, or does still.
                Some(left) => self.arm(number, Some(left), now),
                None => self.tell_to_stop(number, KillCause::Timeout, now),
            },
            Phase::Notified(cause) if under_way.is_future => {
                under_way.phase = Phase::Dropping(cause);
                under_way.run.stop().have_dropped();
                self.arm(number, Some(DROP_WAIT), now);
            }
            Phase::Notified(cause) | Phase::Dropping(cause) => {
                let grace = Span(under_way.run.timeout().kill.grace);
                let why = format!("it did not end within {grace} of being told to, and is left to itself");
                self.leave(number, cause, Outcome::Failed(Failure::Final(why)), now, reports);
            }
        }
    }

    /// Forgets an attempt that still runs, and reports this as its end.
    fn leave(
        &mut self,
        number: u64,
        cause: KillCause,
        outcome: Outcome,
        now: Moment,
        reports: &mut dyn Reports<AttemptKey>,
    ) {
        let Some(under_way) = self.forget(number) else { return };
        if under_way.is_future {
            under_way.run.stop().have_dropped();
        } else {
            let is_new = self.left.insert(number);
            debug_assert!(is_new, "a thread is lost once");
            self.pool.lose_one();
        }
        reports.ended(&under_way.attempted, &end(&under_way, outcome.into(), Some(cause), now));
    }

    fn forget(&mut self, number: u64) -> Option<UnderWay> {
        let mut under_way = self.under_way.remove(&number)?;
        self.number_of.remove(&under_way.attempted);
        self.waits.arm(&mut under_way.armed, None, number);
        debug_assert_eq!(self.number_of.len(), self.under_way.len(), "each attempt has one number");
        Some(under_way)
    }

    /// An attempt has told its end.
    fn take_end(
        &mut self,
        number: u64,
        ended: HandlerEnd,
        now: Moment,
        reports: &mut dyn Reports<AttemptKey>,
    ) {
        if self.left.remove(&number) {
            debug_assert!(!self.under_way.contains_key(&number), "its end was told when it was left");
            return self.pool.regain_one();
        }
        let Some(under_way) = self.forget(number) else { return };
        if !under_way.is_future && !under_way.run.is_back() {
            self.ahead.end_one(now.monotonic);
        }
        let cause = match under_way.phase {
            Phase::Running => None,
            Phase::Notified(cause) | Phase::Dropping(cause) => Some(cause),
        };
        reports.ended(&under_way.attempted, &end(&under_way, ended, cause, now));
    }
}

fn end(under_way: &UnderWay, ended: HandlerEnd, cause: Option<KillCause>, now: Moment) -> End {
    let HandlerEnd { outcome, again_in } = ended;
    debug_assert!(again_in.is_none() || outcome == Outcome::Returned, "what is put off is not over");
    End {
        is_success: outcome == Outcome::Succeeded,
        outcome: Some(ExecutorOutcome::Called(outcome)),
        after: under_way.run.elapsed(now),
        cause,
        dropped_bytes: 0,
        is_output_held: false,
        // Not by the turn's clock: a function may have begun after the turn did.
        retry_at: again_in.map(|after| Moment::now().after(after).wall),
    }
}

impl Execution for Handlers {
    fn capacity(&self) -> usize {
        self.capacity
    }

    fn ahead(&self) -> usize {
        self.ahead.count()
    }

    fn waits_for_starts(&self) -> bool {
        true
    }

    fn labels(&self) -> Vec<(WorkerLabel, u32)> {
        self.client.catalogue.labels()
    }

    fn start(
        &mut self,
        start: &Start,
        _outputs: &dyn Fn(&str) -> String,
        now: Moment,
    ) -> Result<StartOutcome, StartFailure> {
        let Body::Handler(body) = Body::decode(&start.work.action).map_err(StartFailure::ever)? else {
            return Err(StartFailure::ever("the program calls handlers alone"));
        };
        let Some(handler) = self.registry.get(&body.name).map(Arc::clone) else {
            return Err(StartFailure::ever(format!("there is no handler {}", body.name)));
        };
        if MAX_LEFT <= self.left.len() {
            let count = self.left.len();
            return Err(StartFailure::Now(format!("{count} handlers do not end and hold a thread each")));
        }
        self.last_number += 1;
        let number = self.last_number;
        let (lines, notifier) = (self.line_sender.clone(), self.sender.notifier().clone());
        let line_sender = LineSender { number, lines, notifier, progress: self.progress.signal() };
        let began = now.after(left_until(start.not_before, now));
        let run = Run::new(start, began.wall, self.client.clone(), Some(line_sender));
        let tell = self.teller(number);
        let is_future = match (&*handler, &self.spawner) {
            (Handler::Function(_), _) => {
                let (handler, run) = (Arc::clone(&handler), run.clone());
                let task = move || {
                    let Handler::Function(function) = &*handler else { return };
                    if run.begin(Moment::now()) {
                        tell(call(function, &run, &body));
                    }
                };
                self.give(began, now, Box::new(task))?;
                let last = self.waiting.back().map(|(last, _)| *last);
                debug_assert!(last.is_none_or(|last| last < number), "in the order of their starts");
                self.waiting.push_back((number, began.monotonic));
                false
            }
            (Handler::Future(_), Some(spawner)) => {
                let _ = run.begin(began);
                let future = made(Arc::clone(&handler), run.clone(), body);
                let future = Box::pin(GuardedRun::new(run.clone(), future, tell));
                if began == now {
                    spawner.spawn(future);
                } else {
                    let spawner = spawner.clone();
                    self.give(began, now, Box::new(move || spawner.spawn(future)))?;
                }
                true
            }
            (Handler::Future(_), None) => return Err(StartFailure::ever("there is no spawner for futures")),
        };
        let attempted = (start.key.clone(), start.attempt);
        let before = self.number_of.insert(attempted.clone(), number);
        debug_assert!(before.is_none(), "an attempt is started once");
        let under_way = UnderWay { attempted, run, is_future, phase: Phase::Running, armed: None };
        self.under_way.insert(number, under_way);
        self.arm(number, start.work.policies.timeout.after, began);
        Ok(StartOutcome::As("handler".to_owned()))
    }

    fn turn(&mut self, now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        self.ends.clear();
        while let Ok((number, line)) = self.lines.try_recv() {
            // What a function writes that is left to itself has no place any more.
            if let Some(under_way) = self.under_way.get(&number) {
                line.lines()
                    .for_each(|line| reports.line(&under_way.attempted, Stream::Stdout, &Piece::line(line)));
            }
        }
        while let Some((number, ended)) = self.ends.next() {
            self.take_end(number, ended, now, reports);
        }
        while let Some(number) = self.waits.pop_due(now.monotonic) {
            self.elapse(number, now, reports);
        }
        self.ahead.turn(now.monotonic);
        self.give_back_if_stuck(now);
    }

    /// What a function tells that is left to itself has no place any more.
    fn progress(&mut self, now: Moment) -> Vec<(AttemptKey, ProgressWire)> {
        let runs = if self.progress.is_due(now) { self.under_way.values() } else { Default::default() };
        runs.filter_map(|it| Some((it.attempted.clone(), it.run.take_progress()?))).collect()
    }

    fn ask_to_end(&mut self, _worker: WorkerId, attempted: &AttemptKey, now: Moment) -> bool {
        let number = self.number_of.get(attempted).copied();
        number.map(|number| self.tell_to_stop(number, KillCause::Requested, now)).is_some()
    }

    /// How long they have then, the end of the loop decides.
    fn ask_all_to_end(&mut self, now: Moment) {
        let running = self.under_way.iter().filter(|(_, under_way)| under_way.phase == Phase::Running);
        let numbers: Vec<u64> = running.map(|(number, _)| *number).collect();
        // First, as the end of a function gives its thread to what waits.
        for number in &numbers {
            self.give_back(*number);
        }
        for number in numbers {
            self.tell_to_stop(number, KillCause::Requested, now);
            self.arm(number, None, now);
        }
    }

    fn give_all_up(&mut self, now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        let numbers: Vec<u64> = self.under_way.keys().copied().collect();
        for number in numbers {
            if let Some(under_way) = self.under_way.get(&number) {
                under_way.run.stop().tell();
            }
            self.leave(number, KillCause::Requested, Outcome::Killed, now, reports);
        }
    }

    fn close(&mut self, now: Moment, reports: &mut dyn Reports<AttemptKey>) {
        self.give_all_up(now, reports);
    }

    fn running_count(&self) -> usize {
        self.under_way.len()
    }

    fn process_count(&self) -> usize {
        self.under_way.len()
    }

    fn wait(&self, now: Moment) -> Option<Duration> {
        let stuck = self
            .waiting
            .front()
            .map(|(_, since)| GIVE_BACK_WAIT.saturating_sub(now.monotonic.saturating_duration_since(*since)));
        let waits =
            [self.waits.wait(now.monotonic), self.ahead.wait(now.monotonic), stuck, self.progress.wait(now)];
        waits.into_iter().flatten().min()
    }

    fn watch<'a>(&'a self, readable: &mut Vec<BorrowedFd<'a>>, _writable: &mut Vec<BorrowedFd<'a>>) {
        readable.push(self.ends.as_fd());
    }
}
