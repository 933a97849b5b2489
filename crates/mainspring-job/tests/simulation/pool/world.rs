//! The world of a pool: the database, the servers, the processes, and what goes wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_cron::Schedule;
use mainspring_job::{
    Action, Answer, Batch, Commit, Definitions, Group, Job, JobName, Lease, MemoryStore, Operation, Prune,
    Reader, Reason, RunKey, RunState, Store, StoreError, Timetable, Work, WorkerId,
};

use super::Breach;
use super::server::{Millis, PLANNER_LEASE, Report, Server};
use crate::simulation::random::Random;

/// How long each turn of the world takes.
const STEP: Millis = 100;

/// How long things go wrong, and then how long nothing does.
const LENGTH: Millis = 150_000;
const CALM: Millis = 90_000;

/// The job of which each worker has a run.
pub(crate) const EACH: &str = "each";

/// What the histories must reach together.
pub(crate) const REACHED: [&str; 22] = [
    "a crash",
    "a freeze",
    "a cut",
    "a worker that leaves",
    "a planner that fell after a commit",
    "a planner that fell",
    "a commit whose answer was lost",
    "a commit that was lost",
    "a commit that came late",
    "a commit that came too late",
    "a worker that was lost",
    "a worker that was lost and lives",
    "a run that was given back",
    "a run that waits at its worker",
    "a report that was told twice",
    "a run that outlived its planner",
    "a kill",
    "a lease that was over",
    "a worker that gave itself up",
    "a run that was cut off at a worker that stayed",
    "a run for each worker",
    "a run whose worker was gone before it began",
];

/// A worker's row in the database.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub server: usize,
    pub renewed: Millis,
    pub is_leaving: bool,
}

/// One attempt that was started, whatever was recorded of it.
#[derive(Debug)]
pub(crate) struct Process {
    pub key: RunKey,
    pub attempt: u32,
    pub worker: WorkerId,
    pub server: usize,
    pub ends: Millis,
    pub ended: Option<Millis>,
    /// The planner asked for its end.
    pub is_killed: bool,
    /// Its worker, or the keeper there, ended it by itself.
    pub is_cut_off: bool,
    /// The planners that were there while it ran.
    pub epoch: u64,
}

pub(crate) struct Pool {
    pub breach: Breach,
    pub now: Millis,
    pub start: Timestamp,
    pub random: Random,
    pub disk: MemoryStore,
    pub rows: BTreeMap<WorkerId, Row>,
    pub reports: Vec<Report>,
    pub kills: BTreeSet<(WorkerId, RunKey, u32)>,
    /// What a client asked to end.
    pub cancelled: BTreeSet<(RunKey, u32)>,
    /// Commits that a planner has given up, each with when it comes.
    pub late: Vec<(Millis, Lease, Batch)>,
    pub servers: Vec<Server>,
    pub processes: Vec<Process>,
    pub jobs: Vec<Job>,
    /// Workers whose rows were taken away because nothing was heard of them, or they were there as others.
    pub lost: BTreeSet<WorkerId>,
    /// Whose process each worker is that joined after a loss.
    pub former: BTreeMap<WorkerId, WorkerId>,
    /// Workers that left in good order.
    pub left: BTreeSet<WorkerId>,
    /// Each end on record: of which attempt, and as what.
    pub ends: Vec<(RunKey, u32, RunState)>,
    /// When each attempt ended by the records whose worker has reported that.
    pub ended: BTreeMap<(RunKey, u32), Timestamp>,
    /// Where each attempt on record was to run.
    pub begun: BTreeMap<(RunKey, u32), Option<WorkerId>>,
    /// Where each attempt is that has no end on record.
    pub at_worker: BTreeMap<(RunKey, u32), WorkerId>,
    pub acknowledged: BTreeSet<JobName>,
    /// For which workers the runs of [`EACH`] were planned, by nominal time, and which were there.
    pub planned_for: BTreeMap<Timestamp, (BTreeSet<WorkerId>, BTreeSet<WorkerId>)>,
    /// Workers that were the only ones when a planner began.
    pub alone: BTreeSet<WorkerId>,
    pub seen: BTreeSet<&'static str>,
    pub fault: Option<String>,
    pub is_calm: bool,
    pub epoch: u64,
    pub worker_count: u64,
    pub report_count: u64,
    pub submit_count: u64,
}

fn start() -> Timestamp {
    "2026-03-01T09:58:30.5Z".parse().unwrap()
}

fn job(name: &str, every: &str, policies: &str, kind: &str, group: Option<&str>) -> Job {
    let timetable = Timetable::new([Schedule::parse(every, "UTC").unwrap()]).unwrap();
    let timetable = timetable.between(None, Some(start() + SignedDuration::from_millis(LENGTH))).unwrap();
    let work = Work::new(Action::new(kind, "").unwrap()).with_policies(policies.parse().unwrap());
    let mut job = Job::new(JobName::new(name).unwrap(), timetable, work);
    std::sync::Arc::make_mut(&mut job.work).group = group.map(|group| JobName::new(group).unwrap());
    job
}

fn jobs(breach: Breach) -> Vec<Job> {
    let each = if breach == Breach::EachAnywhere { "any" } else { "all" };
    let retry =
        "retry=30,backoff=1s,factor=1,on=failed+abandoned misfire=all,cap=100,window=1h,spread=2s,grace=10m";
    vec![
        job("often", "@every 2s", &format!("overlap=allow {retry}"), "process", None),
        job("single", "@every 3s", &format!("overlap=queue-one {retry}"), "process", None),
        job("grouped", "@every 4s", &format!("overlap=allow {retry}"), "process", Some("two")),
        job("special", "@every 5s", &format!("overlap=allow {retry}"), "gpu", None),
        job("once-only", "@every 7s", "overlap=allow", "process", None),
        job(EACH, "@every 17s", &format!("on={each} overlap=queue-one {retry}"), "process", None),
    ]
}

impl Pool {
    pub(crate) fn run(seed: u64, breach: Breach) -> Pool {
        let start = start();
        let mut random = Random(seed);
        let count = 2 + random.below(3) as usize;
        let servers = (0..count).map(|index| Server {
            index,
            fast: random.below(21) as Millis - 10,
            label: (index == 0 || random.one_in(3)).then_some("gpu"),
            capacity: 1 + random.below(5) as usize,
            ahead: random.below(4) as usize,
            frozen_until: 0,
            cut_until: 0,
            down_until: 0,
            worker: None,
            former: None,
            planner: None,
        });
        let servers = servers.collect();
        let lasts = Duration::from_millis(PLANNER_LEASE as u64);
        let mut pool = Pool {
            breach,
            now: 0,
            start,
            random,
            disk: MemoryStore::lending(lasts, start),
            rows: BTreeMap::new(),
            reports: Vec::new(),
            kills: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            late: Vec::new(),
            servers,
            processes: Vec::new(),
            jobs: jobs(breach),
            lost: BTreeSet::new(),
            former: BTreeMap::new(),
            left: BTreeSet::new(),
            ends: Vec::new(),
            ended: BTreeMap::new(),
            begun: BTreeMap::new(),
            at_worker: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            planned_for: BTreeMap::new(),
            alone: BTreeSet::new(),
            seen: BTreeSet::new(),
            fault: None,
            is_calm: false,
            epoch: 0,
            worker_count: 0,
            report_count: 0,
            submit_count: 0,
        };
        while pool.now < LENGTH + CALM && pool.fault.is_none() {
            pool.step();
        }
        pool
    }

    pub(crate) fn wall(&self) -> Timestamp {
        self.start + SignedDuration::from_millis(self.now)
    }

    pub(crate) fn wrong(&mut self, text: String) {
        self.fault.get_or_insert(text);
    }

    pub(crate) fn definitions(&self) -> Definitions {
        let groups = vec![Group::new(JobName::new("two").unwrap(), 2)];
        Definitions::new("jobs.toml", self.jobs.clone()).with_groups(groups).with_prune(Prune::Remove)
    }

    fn step(&mut self) {
        self.now += STEP;
        self.disk.set_time(self.wall());
        if LENGTH < self.now && !self.is_calm {
            self.is_calm = true;
            for server in &mut self.servers {
                (server.frozen_until, server.cut_until) = (self.now, self.now);
            }
            self.servers.iter_mut().for_each(|server| server.planner = None);
        }
        if !self.is_calm {
            self.go_wrong();
        }
        self.keep();
        self.take_in_late();
        let first = self.random.below(self.servers.len() as u64) as usize;
        for offset in 0..self.servers.len() {
            let index = (first + offset) % self.servers.len();
            self.work(index);
            self.plan(index);
        }
    }

    /// Something goes wrong, now and then.
    fn go_wrong(&mut self) {
        if !self.random.one_in(40) {
            return;
        }
        let index = self.random.below(self.servers.len() as u64) as usize;
        let lasts = self.random.pick(&[500, 2_000, 4_000, 9_000, 12_000, 15_000, 25_000]);
        let until = self.now + lasts;
        match self.random.below(5) {
            0 => {
                self.seen.insert("a crash");
                self.crash(index, until);
            }
            1 => {
                self.seen.insert("a freeze");
                self.servers[index].frozen_until = until;
            }
            2 => {
                self.seen.insert("a cut");
                self.servers[index].cut_until = until;
            }
            3 => {
                if let Some(worker) = &mut self.servers[index].worker
                    && worker.leaves.is_none()
                {
                    self.seen.insert("a worker that leaves");
                    worker.leaves = Some(self.now + 3_000);
                }
            }
            _ => self.fall(index),
        }
    }

    /// A planner is no more, and nothing else.
    pub(crate) fn fall(&mut self, index: usize) {
        if self.servers[index].planner.take().is_some() {
            self.seen.insert("a planner that fell");
        }
    }

    /// A server is killed: its keeper ends what it runs.
    fn crash(&mut self, index: usize, until: Millis) {
        let server = &mut self.servers[index];
        (server.planner, server.worker, server.former) = (None, None, None);
        server.down_until = until;
        let now = self.now;
        for process in self.processes.iter_mut().filter(|it| it.server == index && it.ended.is_none()) {
            process.ended = Some(now);
        }
    }

    /// The keepers end what runs at servers whose lease is over, also where those stand still.
    fn keep(&mut self) {
        for index in 0..self.servers.len() {
            if self.servers[index].is_over(self.now) && self.breach != Breach::NoDeadline {
                self.seen.insert("a lease that was over");
                self.cut_all_off(index, 0);
            }
        }
    }

    /// What runs at a server is asked to end by that, and does within this time.
    pub(crate) fn cut_all_off(&mut self, index: usize, within: Millis) {
        let last = self.now + within;
        for process in self.processes.iter_mut().filter(|it| it.server == index && it.ended.is_none()) {
            process.is_cut_off = true;
            process.ends = process.ends.min(last);
        }
    }

    /// Writes a batch, and keeps what became of it.
    pub(crate) fn commit(&mut self, index: usize, batch: &Batch) -> Result<Commit, StoreError> {
        let lease = self.servers[index].planner.as_ref().expect("a planner writes").lease;
        self.note_places(index, batch);
        self.check_ends(index, batch);
        let goes_wrong = !self.is_calm && self.random.one_in(30);
        if goes_wrong && self.random.one_in(2) {
            self.seen.insert("a commit that was lost");
            let after = self.random.pick(&[100, 500, 2_000, 6_000]);
            // Given up by the planner, it may be under way all the same.
            self.late.push((self.now + after, lease, batch.clone()));
            return Err(StoreError::Busy(String::new()));
        }
        let commit = self.take_in(lease, batch)?;
        if goes_wrong {
            self.seen.insert("a commit whose answer was lost");
            return Err(StoreError::Busy(String::new()));
        }
        Ok(commit)
    }

    fn take_in(&mut self, lease: Lease, batch: &Batch) -> Result<Commit, StoreError> {
        let commit = self.disk.commit(lease, batch)?;
        for (operation, answer) in batch.operations.iter().zip(&commit.answers) {
            if *answer == Answer::New {
                self.record(operation);
            }
        }
        self.count_places(&batch.operations);
        Ok(commit)
    }

    /// What was given up reaches the database.
    fn take_in_late(&mut self) {
        let (due, late) = std::mem::take(&mut self.late).into_iter().partition(|(at, ..)| *at <= self.now);
        self.late = late;
        let due: Vec<(Millis, Lease, Batch)> = due;
        for (_, lease, batch) in due {
            match self.take_in(lease, &batch) {
                Ok(_) => self.seen.insert("a commit that came late"),
                Err(_) => self.seen.insert("a commit that came too late"),
            };
        }
    }

    /// Keeps for which workers a planner plans the runs that each has, and which it knows of.
    fn note_places(&mut self, index: usize, batch: &Batch) {
        let Some(part) = &self.servers[index].planner else { return };
        let there = part.known.iter().filter(|(_, is_leaving)| !**is_leaving).map(|(id, _)| *id);
        let there: BTreeSet<WorkerId> = there.collect();
        for operation in &batch.operations {
            let Operation::Plan(run) = operation else { continue };
            if let (EACH, Some(worker)) = (run.key.job.as_str(), run.worker) {
                let planned = self.planned_for.entry(run.key.nominal);
                let (planned, _) = planned.or_insert_with(|| (BTreeSet::new(), there.clone()));
                planned.insert(worker);
                if 1 < planned.len() {
                    self.seen.insert("a run for each worker");
                }
            }
        }
    }

    /// What the planner was told of an end is what it has on record.
    fn check_ends(&mut self, index: usize, batch: &Batch) {
        let Some(part) = &self.servers[index].planner else { return };
        let is_told = |of: &RunKey, number: u32| {
            let mut told = self.reports.iter().filter(|report| part.received.contains(&report.number));
            told.any(|report| report.key == *of && report.attempt == number)
        };
        let untrue = batch.operations.iter().find_map(|operation| match operation {
            Operation::End { key, attempt, outcome: None, .. } if is_told(key, *attempt) => Some(key.clone()),
            _ => None,
        });
        if let Some(key) = untrue {
            self.wrong(format!("untrue: {key} is abandoned, and its worker has reported its end"));
        }
    }

    fn record(&mut self, operation: &Operation) {
        match operation {
            Operation::Move { reason: Some(Reason::WorkerGone), to: RunState::Missed, .. } => {
                self.seen.insert("a run whose worker was gone before it began");
            }
            Operation::Begin { key, attempt, worker, .. } => {
                self.begun.insert((key.clone(), *attempt), *worker);
                self.at_worker.extend(worker.map(|id| ((key.clone(), *attempt), id)));
            }
            Operation::Plan(run) | Operation::Fire { run, .. } if run.state == RunState::Running => {
                self.begun.insert((run.key.clone(), run.attempt), run.worker);
                self.at_worker.extend(run.worker.map(|id| ((run.key.clone(), run.attempt), id)));
            }
            Operation::Move { key, from: RunState::Running, to, .. } => {
                let mut of_run = self.begun.keys().filter(|(of, _)| of == key);
                let (_, attempt) = of_run.next_back().expect("what runs has begun");
                self.at_worker.remove(&(key.clone(), *attempt));
                self.ends.push((key.clone(), *attempt, *to));
            }
            Operation::End { key, attempt, state, at, outcome, reason, .. } => {
                if *reason == Some(Reason::ServerCutOff) {
                    self.seen.insert("a run that was cut off at a worker that stayed");
                }
                if outcome.is_some() {
                    self.ended.insert((key.clone(), *attempt), *at);
                }
                self.at_worker.remove(&(key.clone(), *attempt));
                let is_known = self.ends.iter().any(|(of, number, _)| of == key && number == attempt);
                if !is_known {
                    self.ends.push((key.clone(), *attempt, *state));
                }
            }
            _ => {}
        }
    }

    /// Starts a process. Only the world knows of it for sure.
    /// A worker is given no more than it has places for, and what is not tried again waits nowhere. The
    /// record of a start may stand in its batch before that of the end which made room for it.
    fn count_places(&mut self, operations: &[Operation]) {
        let attempt = |operation: &Operation| match operation {
            Operation::Begin { key, attempt, .. } => Some((key.clone(), *attempt)),
            Operation::Plan(run) | Operation::Fire { run, .. } => Some((run.key.clone(), run.attempt)),
            _ => None,
        };
        let begun: Vec<(RunKey, u32)> = operations.iter().filter_map(attempt).collect();
        let at = |id: WorkerId| self.at_worker.iter().filter(move |(_, place)| **place == id);
        let mut faults = Vec::new();
        for attempted in &begun {
            let Some(id) = self.at_worker.get(attempted) else { continue };
            let Some(row) = self.rows.get(id) else { continue };
            let Server { capacity, ahead, .. } = self.servers[row.server];
            let all = at(*id).count();
            let before = at(*id).filter(|(other, _)| !begun.contains(other)).count();
            let waits = attempted.0.job.as_str() == "once-only" && capacity <= before;
            if capacity + ahead < all || waits {
                faults.push(format!("crowded: {} is given to a worker that has {all} runs", attempted.0));
            } else if capacity < all {
                self.seen.insert("a run that waits at its worker");
            }
        }
        faults.into_iter().for_each(|fault| self.wrong(fault));
    }

    /// How many processes run at a server.
    pub(super) fn running_at(&self, index: usize) -> usize {
        self.processes.iter().filter(|it| it.server == index && it.ended.is_none()).count()
    }

    pub(crate) fn start(&mut self, index: usize, key: RunKey, attempt: u32, worker: WorkerId) {
        let lives = |process: &&Process| process.key == key && process.ended.is_none();
        if let Some(other) = self.processes.iter().find(lives) {
            let text = format!("doubled: {key} #{attempt} starts while #{} runs", other.attempt);
            return self.wrong(text);
        }
        if self.processes.iter().any(|process| process.key == key && process.attempt == attempt) {
            return self.wrong(format!("doubled: {key} #{attempt} starts again"));
        }
        let run = self.disk.run(&key).unwrap().expect("what starts is on record");
        if self.wall() < run.due {
            return self.wrong(format!("early: {key} starts at {} and is due at {}", self.wall(), run.due));
        }
        if self.servers[index].capacity <= self.running_at(index) {
            return self.wrong(format!("crowded: {key} starts at a server that is full"));
        }
        if key.job.as_str() == "special" && self.servers[index].label.is_none() {
            return self.wrong(format!("misplaced: {key} starts where no gpu is"));
        }
        let lasts = self.random.pick(&[50, 300, 1_500, 6_000, 20_000]);
        let lasts = if self.is_calm { 50 } else { lasts };
        let ends = self.now + lasts;
        let (server, epoch) = (index, self.epoch);
        let (ended, is_killed, is_cut_off) = (None, false, false);
        let process = Process { key, attempt, worker, server, ends, ended, is_killed, is_cut_off, epoch };
        self.processes.push(process);
    }
}
