//! The open runs: those that wait for their time, for their turn or for a slot, and those that run.
//!
//! ```text
//!  scheduled ────────▶ due ──▶ waits for admission ──▶ admitted: in line for a slot ──▶ running ──▶ leaves
//!  (schedule queue)            (admission queue)       (slots)                          (slots)
//! ```
//!
//! | a run is | it is in the schedule queue | it is in its admission queue | it is at a slot |
//! |---|---|---|---|
//! | scheduled | yes, once the store knows it where others make way for it | no | no |
//! | queued | no | yes, waiting or admitted | in line, once it is admitted |
//! | running | no | yes, admitted | yes |
//!
//! So nothing outside changes a run's state, its due time, its job or its work while it is here: only the
//! steps above do. No run waits that could be admitted.
//!
//! A job has one admission queue, or one for each worker, where each worker has its own runs of it: runs at
//! two workers are not in each other's way.
//!
//! Cost: O(log n) for each step, and O(runs of the job) where an admission queue is asked what is queued.
//!
//! Does not decide which run may start or has to wait: it is told which job is paused and which run barred.

mod check;
mod lack;
mod promotion;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::admission_queue::{AdmissionQueue, Load};
use super::job_batches::JobBatches;
use super::ledger::Position;
use super::live::{Live, target};
use super::run_slots::RunSlots;
use super::schedule_queue::{Item, ScheduleQueue};
use super::wait;
use crate::name::JobName;
use crate::once::Once;
use crate::policy::{Kill, Overlap};
use crate::reason::Reason;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::work::Work;
use crate::worker::{Needs, WorkerId};

/// Names an admission queue: a job, and the worker that its runs are for, if each worker has its own.
pub(super) type Lane = (JobName, Option<WorkerId>);

/// The admission queue that a run belongs in.
pub(super) fn lane(live: &Live) -> Lane {
    (live.run.key.job.clone(), live.target)
}

#[derive(Debug, Default)]
pub(super) struct OpenRuns {
    /// Every open run but those in `postponed`, and no other.
    runs: BTreeMap<RunKey, Live>,
    /// Each with a run that is queued or running.
    queues: BTreeMap<Lane, AdmissionQueue>,
    pub(super) slots: RunSlots,
    /// The batches that runs may be in.
    pub(super) batches: JobBatches,
    /// Runs that the next turn admits.
    postponed: Vec<Live>,
    /// How many turns there were.
    turn: u64,
}

/// What is asked about open runs.
impl OpenRuns {
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The runs in line that need what no worker has, each with that.
    pub(super) fn unserved(&self) -> impl Iterator<Item = (&Live, Needs)> {
        self.slots.unserved().map(|(key, needs)| (&self.runs[key], needs))
    }

    /// The workers at which runs of this work may start.
    pub(super) fn workers_for(&self, work: &Work) -> Vec<WorkerId> {
        self.slots.workers.open_to(&self.slots.needs(work))
    }

    /// The runs that wait, and are for one worker.
    pub(super) fn waiting_for(&self, id: WorkerId) -> Vec<RunKey> {
        let waits = |live: &&Live| live.run.state != RunState::Running && live.target == Some(id);
        self.iter().filter(waits).map(|live| live.run.key.clone()).collect()
    }

    /// The runs that are running at a worker.
    pub(super) fn running_at(&self, id: WorkerId) -> Vec<RunKey> {
        let is_there = |live: &&Live| live.run.state == RunState::Running && live.run.worker == Some(id);
        self.iter().filter(is_there).map(|live| live.run.key.clone()).collect()
    }

    /// Whether a run of this key is open, one that the next turn admits among them.
    pub(super) fn is_open(&self, key: &RunKey) -> bool {
        self.runs.contains_key(key) || self.postponed.iter().any(|live| live.run.key == *key)
    }

    pub(super) fn get(&self, key: &RunKey) -> Option<&Live> {
        self.runs.get(key)
    }

    /// All of them, in order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Live> {
        self.runs.values()
    }

    /// Those of a job, the earliest nominal time first.
    pub(super) fn of<'p>(&'p self, job: &JobName) -> impl Iterator<Item = &'p Live> + use<'p> {
        let job = job.clone();
        let first = RunKey::new(job.clone(), Timestamp::MIN);
        self.runs.range(first..).map(|(_, live)| live).take_while(move |live| live.run.key.job == job)
    }

    /// Those that wait, for their time or for a slot, of the job of a name and of those whose names have a
    /// colon and more behind it.
    pub(super) fn waiting_named(&self, name: &str) -> impl Iterator<Item = &Live> {
        let first = JobName::new(name).ok().map(|job| RunKey::new(job, Timestamp::MIN));
        let runs = first.map(|first| self.runs.range(first..).map(|(_, live)| live));
        let named = runs.into_iter().flatten().map_while(move |live| {
            let rest = live.run.key.job.as_str().strip_prefix(name)?;
            Some((live, rest))
        });
        named
            .filter(|(live, rest)| {
                (rest.is_empty() || rest.starts_with(':')) && live.run.state != RunState::Running
            })
            .map(|(live, _)| live)
    }

    /// How many runs of a job are queued and running.
    pub(super) fn load(&self, job: &JobName) -> Load {
        self.lanes_of(job).map(|lane| self.queues[&lane].load()).fold(Load::default(), Load::and)
    }

    /// The admission queues of a job.
    fn lanes_of<'p>(&'p self, job: &JobName) -> impl Iterator<Item = Lane> + use<'p> {
        let job = job.clone();
        let lanes = self.queues.range((job.clone(), None)..).map(|(lane, _)| lane);
        lanes.take_while(move |(of, _)| *of == job).cloned()
    }

    /// The same of that job and of all after it that have any.
    pub(super) fn loads_from<'p>(
        &'p self,
        job: &JobName,
    ) -> impl Iterator<Item = (&'p JobName, Load)> + use<'p> {
        let mut lanes = self.queues.range((job.clone(), None)..).peekable();
        std::iter::from_fn(move || {
            let ((job, _), queue) = lanes.next()?;
            let mut load = queue.load();
            while let Some((_, more)) = lanes.next_if(|((next, _), _)| next == job) {
                load = load.and(more.load());
            }
            Some((job, load))
        })
    }

    /// For a catch-up run that has not had its turn yet: the one of its job before it, for the same worker if
    /// it is for one, that has not had its turn either.
    pub(super) fn before_in_line(&self, run: &Run, target: Option<WorkerId>) -> Option<&Live> {
        if !wait::is_in_line(run) {
            return None;
        }
        let first = RunKey::new(run.key.job.clone(), Timestamp::MIN);
        let earlier = self.runs.range(first..run.key.clone()).rev();
        earlier.map(|(_, live)| live).find(|live| live.target == target && wait::is_in_line(&live.run))
    }

    /// Whether what is in the way of a run was admitted in this very turn: whether it runs or waits is known
    /// at its end.
    pub(super) fn is_undecided(&self, live: &Live) -> bool {
        let run = &live.run;
        if run.cause.is_kept() || 0 < run.attempt || live.work.policies.overlap == Overlap::Allow {
            return false;
        }
        let Some(queue) = self.queues.get(&lane(live)) else { return false };
        let mut past = queue.active().map(|key| &self.runs[key]);
        past.any(|other| other.run.state == RunState::Queued && other.admitted == self.turn)
    }

    /// Whether no run in a lane is queued or running.
    pub(super) fn is_clear(&self, lane: &Lane) -> bool {
        !self.queues.contains_key(lane)
    }

    /// Whether the run of a one-shot job would start in the turn in which it is admitted: no run of its name
    /// is in the way, it is in no group, it waits for no batch, and no run waits for the slot that it would
    /// take.
    pub(super) fn would_start(&self, once: &Once) -> bool {
        let is_open = self.is_open(&RunKey::new(once.name.clone(), once.id.due));
        let is_held = is_open || once.work.policies.after_batch.is_some();
        !is_held && self.is_clear(&(once.name.clone(), None)) && self.slots.has_spare(&once.work)
    }

    /// The runs in a lane that are queued or running, the admitted ones first.
    pub(super) fn in_the_way(&self, lane: &Lane) -> impl Iterator<Item = &Live> {
        let queue = self.queues.get(lane);
        queue.into_iter().flat_map(|queue| queue.active().chain(queue.waiting())).map(|key| &self.runs[key])
    }

    /// The same in all lanes of a job.
    pub(super) fn of_job_in_the_way(&self, job: &JobName) -> Vec<&Live> {
        self.lanes_of(job).flat_map(|lane| self.in_the_way(&lane).collect::<Vec<_>>()).collect()
    }

    /// The runs in a lane that are queued, the admitted ones first.
    pub(super) fn queued(&self, lane: &Lane) -> Vec<RunKey> {
        let queued = self.in_the_way(lane).filter(|live| live.run.state == RunState::Queued);
        queued.map(|live| live.run.key.clone()).collect()
    }

    /// The admitted runs in a lane.
    pub(super) fn active(&self, lane: &Lane) -> Vec<RunKey> {
        let queue = self.queues.get(lane);
        queue.map(|queue| queue.active().cloned().collect()).unwrap_or_default()
    }

    /// The run that may start next, of those that are not barred.
    pub(super) fn best(&self, is_barred: impl Fn(&Run) -> bool) -> Option<RunKey> {
        self.slots.best(|key| is_barred(&self.runs[key].run))
    }
}

/// The steps from one row of the table to the next.
impl OpenRuns {
    /// Another fact is being told.
    pub(super) fn begin_turn(&mut self, now: Timestamp) {
        self.turn += 1;
        self.slots.groups.tell(now);
    }

    /// A run waits for its time. A catch-up run wakes no earlier than the run in line before it.
    pub(super) fn schedule(&mut self, now: Timestamp, mut live: Live, schedule: &mut ScheduleQueue) {
        assert_eq!(live.run.state, RunState::Scheduled, "only scheduled runs are on the schedule");
        assert!(live.wakes.is_none(), "a run is on the schedule once");
        if live.unconfirmed.is_some() {
            return self.insert(live);
        }
        let mut at = wait::end(&live.run, now);
        if let Some(before) = self.before_in_line(&live.run, live.target).and_then(|before| before.wakes) {
            at = at.max(before.at);
        }
        live.wakes = Some(schedule.add(at, Item::Run(live.run.key.clone())));
        self.insert(live);
    }

    fn insert(&mut self, live: Live) {
        self.batches.enter(&live);
        self.slots.groups.enter(&live.work);
        let replaced = self.runs.insert(live.run.key.clone(), live);
        debug_assert!(replaced.is_none(), "a run is open once");
    }

    fn remove(&mut self, key: &RunKey) -> Option<Live> {
        let live = self.runs.remove(key)?;
        self.batches.leave(&live);
        self.slots.groups.leave(&live.work);
        Some(live)
    }

    /// The store says that a record was new. Where others make way for its run, that run gets its entry.
    pub(super) fn confirm(
        &mut self,
        now: Timestamp,
        key: &RunKey,
        record: Position,
        schedule: &mut ScheduleQueue,
    ) {
        if self.runs.get(key).is_some_and(|live| live.unconfirmed == Some(record)) {
            let mut live = self.remove(key).expect("it was there a moment ago");
            live.unconfirmed = None;
            self.schedule(now, live, schedule);
        }
    }

    /// A run whose entry in the schedule queue was due is looked at again at a time.
    pub(super) fn park(&mut self, mut live: Live, until: Timestamp, schedule: &mut ScheduleQueue) {
        live.wakes = Some(schedule.add(until, Item::Run(live.run.key.clone())));
        self.insert(live);
    }

    /// Takes the runs of a job that wait for their time, to be scheduled again.
    pub(super) fn take_scheduled_of(&mut self, job: &JobName, schedule: &mut ScheduleQueue) -> Vec<Live> {
        let waits = |live: &&Live| live.wakes.is_some();
        let keys: Vec<RunKey> = self.of(job).filter(waits).map(|live| live.run.key.clone()).collect();
        keys.iter().map(|key| self.leave(key, schedule)).collect()
    }

    /// The definition of a job has changed: what waits of it has the new work, as after a restart.
    pub(super) fn rework(&mut self, job: &JobName, work: &Arc<Work>) {
        let is_waiting = |live: &&Live| live.run.state != RunState::Running && live.run.cause != Cause::Once;
        let keys: Vec<RunKey> = self.of(job).filter(is_waiting).map(|live| live.run.key.clone()).collect();
        for key in keys {
            let mut live = self.remove(&key).expect("it was there a moment ago");
            // Its slot and its admission go by the work: it waits for admission again.
            self.slots.remove(&mut live);
            let is_queued = leave_lane(&mut self.queues, &live);
            live.work = Arc::clone(work);
            live.target = target(&live.run, work).filter(|id| self.slots.workers.has(*id));
            if is_queued {
                self.queues.entry(lane(&live)).or_default().add(&live);
            }
            self.insert(live);
        }
        for live in self.postponed.iter_mut().filter(|live| live.run.key.job == *job) {
            live.work = Arc::clone(work);
            live.target = target(&live.run, work).filter(|id| self.slots.workers.has(*id));
        }
    }

    /// Takes a run whose entry in the schedule queue was due, to be admitted.
    pub(super) fn wake(&mut self, key: &RunKey) -> Live {
        let mut live = self.remove(key).expect("what is on the schedule is open");
        assert_eq!(live.run.state, RunState::Scheduled, "only scheduled runs are on the schedule");
        live.wakes = None;
        live
    }

    /// The next turn admits a run.
    pub(super) fn postpone(&mut self, live: Live) {
        debug_assert!(!self.is_open(&live.run.key), "what the next turn admits was taken out");
        self.postponed.push(live);
    }

    /// Takes what the turn before postponed.
    pub(super) fn take_postponed(&mut self) -> Vec<Live> {
        std::mem::take(&mut self.postponed)
    }

    /// Takes what the turn before postponed of one job.
    pub(super) fn take_postponed_of(&mut self, job: &JobName) -> Vec<Live> {
        self.postponed.extract_if(.., |live| live.run.key.job == *job).collect()
    }

    /// A run is queued: it waits for admission.
    pub(super) fn queue(&mut self, mut live: Live) {
        live.admitted = self.turn;
        self.restore_queued(live);
    }

    /// The same for one that was admitted before the server started.
    pub(super) fn restore_queued(&mut self, live: Live) {
        assert_eq!(live.run.state, RunState::Queued, "only queued runs stand in an admission queue");
        self.queues.entry(lane(&live)).or_default().add(&live);
        self.insert(live);
    }

    /// A run continues that had started before this planner, at a worker that is there.
    pub(super) fn restore_running(&mut self, live: Live) {
        assert_eq!(live.run.state, RunState::Running, "only a running run continues");
        self.slots.resume(&live);
        let queue = self.queues.entry(lane(&live)).or_default();
        queue.resume(&live);
        self.insert(live);
    }

    /// A queued run that has a slot starts its next attempt.
    pub(super) fn begin_attempt(&mut self, key: &RunKey, at: Timestamp) -> &mut Live {
        let live = self.runs.get_mut(key).expect("what is in line for a slot is open");
        assert_eq!(live.run.state, RunState::Queued, "what starts was queued");
        // While the run is still queued, so that it is found in the line for a slot.
        live.run.worker = Some(self.slots.take(live, at));
        self.queues.get_mut(&lane(live)).expect("what is in line is admitted").begin();
        let run = &mut live.run;
        run.state = RunState::Running;
        run.attempt += 1;
        (run.started, run.ended, run.outcome) = (Some(at), None, None);
        run.reason = run.lasting_reason();
        live
    }

    /// Takes an open run out of everything but the store.
    pub(super) fn leave(&mut self, key: &RunKey, schedule: &mut ScheduleQueue) -> Live {
        let mut live = self.remove(key).expect("only open runs leave");
        if let Some(entry) = live.wakes.take() {
            schedule.cancel(entry);
        }
        self.slots.remove(&mut live);
        leave_lane(&mut self.queues, &live);
        live
    }

    /// After the clock was set back: no wait takes longer for it.
    pub(super) fn shorten_waits(&mut self, now: Timestamp, schedule: &mut ScheduleQueue) {
        let mut before: BTreeMap<Lane, Timestamp> = BTreeMap::new();
        for (key, live) in &mut self.runs {
            if live.run.state == RunState::Scheduled {
                let mut wakes = wait::end(&live.run, now);
                if wait::is_in_line(&live.run) {
                    // In the order of their nominal times, whatever the clock showed when each was planned.
                    let earlier = before.get(&lane(live));
                    wakes = earlier.map_or(wakes, |earlier| wakes.max(*earlier));
                    before.insert(lane(live), wakes);
                }
                if let Some(entry) = live.wakes.filter(|entry| entry.at != wakes) {
                    schedule.cancel(entry);
                    live.wakes = Some(schedule.add(wakes, Item::Run(key.clone())));
                }
            }
        }
    }

    /// The record of a run's wait is not to be changed any more.
    pub(super) fn seal(&mut self, key: &RunKey) {
        if let Some(live) = self.runs.get_mut(key) {
            live.open = None;
        }
    }

    /// Notes why a running attempt is to end, once. Tells which attempt that is, where, and how it is ended;
    /// `None` if it does not run or is to end already.
    pub(super) fn kill(&mut self, key: &RunKey, reason: Reason) -> Option<(u32, WorkerId, Kill)> {
        let live = self.runs.get_mut(key)?;
        if live.run.state != RunState::Running || live.kill_reason.is_some() {
            return None;
        }
        live.kill_reason = Some(reason);
        Some((live.run.attempt, live.run.worker?, live.work.policies.timeout.kill))
    }

    /// A run of a one-shot job has outlived its probation, or has killed nothing. Tells its attempt; `None`
    /// if it is over, or a run of another job.
    pub(super) fn clear_crashes(&mut self, key: &RunKey) -> Option<u32> {
        let live = self.runs.get_mut(key).filter(|live| live.run.cause == Cause::Once)?;
        live.run.crashes = 0;
        Some(live.run.attempt)
    }
}

/// Takes a run out of its admission queue, if it is in one. Tells whether it was.
fn leave_lane(queues: &mut BTreeMap<Lane, AdmissionQueue>, live: &Live) -> bool {
    let lane = lane(live);
    let Some(queue) = queues.get_mut(&lane).filter(|queue| queue.holds(live)) else { return false };
    queue.remove(live);
    if queue.is_empty() {
        queues.remove(&lane);
    }
    true
}
