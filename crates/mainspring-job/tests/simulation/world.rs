//! The world of a history: a disk, a clock, an executor, and a server that dies.

mod settle;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Action, Answer, Command, Definitions, Failure, Group, Input, JobName, JobRecord, Lease, Limits,
    MemoryStore, OnceId, Operation, Outcome, Output, Owner, Planner, Policies, Prune, Query, Reader, Reply,
    Run, RunKey, RunState, Scope, Shard, Store, StoreError, Submission, Takeover, Ticket, Work,
};

use crate::simulation::event::Event;
use crate::simulation::fault::{Fault, Flaw};
use crate::simulation::script::{End, Script, Step};

pub(crate) struct World<'s> {
    pub script: &'s Script,
    pub now: Timestamp,
    /// The latest time that any clock showed.
    pub high_water: Timestamp,
    pub disk: MemoryStore,
    /// What the disk has accepted, with its answers.
    pub journal: Vec<(Operation, Answer)>,
    pub log: Vec<Event>,
    /// Names of states and faults that were reached.
    pub seen: BTreeSet<String>,
    /// The records of all jobs before the last of them was taken away.
    pub last_records: Vec<JobRecord>,
    /// When the last look at all jobs was.
    pub last_look: Timestamp,
    flaw: Flaw,
    lease: Lease,
    planner: Planner,
    defined: BTreeSet<usize>,
    running: BTreeMap<(RunKey, u32), bool>,
    asked: BTreeMap<Ticket, Command>,
    submitted: Vec<OnceId>,
    fault: Option<Fault>,
    gather_count: usize,
    /// The disk as it was before the last batch.
    before_last: Option<(MemoryStore, usize)>,
    /// The batch that was written into the journal last.
    journal_number: Option<(u64, u64)>,
    ticket_count: u64,
    is_stopping: bool,
    /// From here on nothing goes wrong, and poison is none.
    is_settling: bool,
}

/// So often a server may die while it starts: in each poison job as often as it may, and of a fault.
const MAX_BOOTS: u32 = 20;

/// The server is no more.
struct Crash;

fn start() -> Timestamp {
    // Between two occurrences of everything.
    "2026-03-01T09:58:30Z".parse().unwrap()
}

impl<'s> World<'s> {
    pub(crate) fn run(script: &'s Script, flaw: Flaw) -> World<'s> {
        let mut disk = MemoryStore::new();
        let lease = disk.acquire(Shard::WHOLE, &Owner::new("world")).unwrap();
        let mut world = World {
            script,
            now: start(),
            high_water: start(),
            disk,
            journal: Vec::new(),
            log: Vec::new(),
            seen: BTreeSet::new(),
            last_records: Vec::new(),
            last_look: start(),
            flaw,
            lease,
            planner: Planner::new(0, Limits::default()),
            defined: (0..script.subjects.len()).collect(),
            running: BTreeMap::new(),
            asked: BTreeMap::new(),
            submitted: Vec::new(),
            fault: None,
            gather_count: 0,
            before_last: None,
            journal_number: None,
            ticket_count: 0,
            is_stopping: false,
            is_settling: false,
        };
        world.boot();
        for step in &script.steps {
            let was_stopping = world.is_stopping;
            let has_crashed = world.step(step).is_err();
            let is_asked_again = was_stopping && matches!(step, Step::Stop);
            if !has_crashed && world.is_stopping && (world.running.is_empty() || is_asked_again) {
                // In good order, whatever had to be killed.
                world.disk.release(world.lease).unwrap();
                world.end_server(Event::Released);
            } else if has_crashed {
                world.crash();
            }
        }
        world.settle();
        world
    }

    /// Whether a job was taken away before the end.
    pub(crate) fn was_removed(&self, name: &JobName) -> bool {
        let is_there =
            self.last_records.iter().any(|record| record.mark.job == *name && record.source.is_some());
        let is_removal = |(operation, answer): &&(Operation, Answer)| {
            *answer == Answer::New && matches!(operation, Operation::Forget(removed) if removed == name)
        };
        // The last one is at the end of every history.
        let count = self.journal.iter().filter(is_removal).count();
        if is_there { 1 < count } else { 0 < count }
    }

    fn step(&mut self, step: &Step) -> Result<(), Crash> {
        match step {
            Step::Live(seconds) => self.live(*seconds),
            Step::Pass(seconds) => {
                self.set_clock(*seconds);
                Ok(())
            }
            Step::Back(seconds) => {
                self.set_clock(-*seconds);
                Ok(())
            }
            Step::Tick => self.tick(),
            Step::Gather(count) => {
                self.gather_count = *count;
                Ok(())
            }
            Step::Fault(fault) => {
                self.fault = Some(*fault);
                Ok(())
            }
            Step::Restart => Err(Crash),
            Step::Stop => self.stop(),
            Step::End(pick, end) => self.end(*pick, *end),
            command => match self.command_of(command) {
                Some(command) => self.command(command),
                None => Ok(()),
            },
        }
    }

    fn command_of(&mut self, step: &Step) -> Option<Command> {
        let name = |index: &usize| Script::name(*index);
        let scope = |index: &Option<usize>| index.map_or(Scope::All, |index| Scope::Job(Script::name(index)));
        Some(match step {
            Step::Submit { due_in, policies, key, name } => {
                let policies: Policies = policies.parse().unwrap();
                let work = Work { policies, ..Work::new(Action::new("process", "true").unwrap()) };
                Command::Submit(Submission {
                    due: self.now + SignedDuration::from_secs(*due_in),
                    name: name.map(|name| JobName::new(&format!("asked-{name}")).unwrap()),
                    key: key.map(|key| format!("key-{key}")),
                    work: Arc::new(work),
                })
            }
            Step::Withdraw(pick) => Command::Withdraw(*self.submitted.get(*pick)?),
            Step::Cancel(pick) => Command::Cancel(self.planner.open_runs().nth(*pick)?.key.clone()),
            Step::Pause(index) => Command::Pause(scope(index)),
            Step::Resume(index) => Command::Resume(scope(index)),
            Step::Trigger(index) => Command::Trigger(name(index)),
            Step::Backfill(index, seconds) => Command::Backfill {
                job: name(index),
                from: self.now - SignedDuration::from_secs(*seconds),
                to: self.now + SignedDuration::from_secs(120),
            },
            Step::RetryDead(pick) => Command::RetryDead(Box::new(self.dead(*pick)?)),
            Step::DropDead(pick) => Command::DropDead(self.dead(*pick)?.key),
            Step::Toggle(index) => {
                if !self.defined.remove(index) {
                    self.defined.insert(*index);
                }
                self.definitions()
            }
            _ => unreachable!("the other steps are no commands"),
        })
    }

    fn dead(&mut self, pick: usize) -> Option<Run> {
        let query = Query { states: vec![RunState::Dead], limit: 10, ..Query::default() };
        self.disk.find(Shard::WHOLE, &query).unwrap().into_iter().nth(pick)
    }

    fn definitions(&self) -> Command {
        let limit = if self.flaw == Flaw::GroupForgotten { 100 } else { self.script.group_limit };
        Command::Apply(Definitions {
            source: "jobs.toml".to_owned(),
            jobs: self.defined.iter().map(|index| self.script.job(*index)).collect(),
            groups: vec![Group { name: JobName::new("group").unwrap(), limit }],
            prune: Prune::Remove,
        })
    }

    fn set_clock(&mut self, seconds: i64) {
        if seconds < 0 {
            self.log.push(Event::SetBack);
        }
        self.now += SignedDuration::from_secs(seconds);
        self.high_water = self.high_water.max(self.now);
    }

    /// The shell lives for a while: it looks when it should.
    fn live(&mut self, seconds: i64) -> Result<(), Crash> {
        let until = self.now + SignedDuration::from_secs(seconds);
        for _ in 0..12 {
            let Some(due) = self.planner.next_due().filter(|due| *due <= until) else { break };
            self.now = self.now.max(due);
            self.high_water = self.high_water.max(self.now);
            self.tick()?;
        }
        self.now = until;
        self.high_water = self.high_water.max(until);
        self.tick()
    }

    fn tick(&mut self) -> Result<(), Crash> {
        self.tell(Input::Tick)
    }

    fn end(&mut self, pick: usize, end: End) -> Result<(), Crash> {
        let Some(((key, attempt), is_killed)) = self.running.iter().nth(pick) else { return Ok(()) };
        let outcome = match (end, is_killed) {
            (End::Succeeded, _) => Outcome::Succeeded,
            (_, true) | (End::Killed, _) => Outcome::Killed,
            (End::Failed, false) => Outcome::Failed(Failure::Exit(1)),
            (End::TimedOut, false) => Outcome::TimedOut,
        };
        let (key, attempt) = (key.clone(), *attempt);
        self.running.remove(&(key.clone(), attempt));
        self.log.push(Event::Ended { key: key.clone(), attempt });
        self.tell(Input::Ended { key, attempt, outcome })
    }

    fn stop(&mut self) -> Result<(), Crash> {
        self.gather_count = 0;
        self.write()?;
        let before = self.journal.len();
        if self.flaw != Flaw::StopForgotten {
            self.tell(Input::Stop)?;
        }
        assert_eq!(self.journal.len(), before, "a stop writes nothing");
        self.is_stopping = true;
        self.log.push(Event::Stopped);
        Ok(())
    }

    fn command(&mut self, command: Command) -> Result<(), Crash> {
        self.ticket_count += 1;
        let ticket = Ticket(self.ticket_count);
        self.asked.insert(ticket, command.clone());
        self.log.push(Event::Asked { ticket, command: command.clone() });
        self.tell(Input::Command { ticket, command })
    }

    fn tell(&mut self, input: Input) -> Result<(), Crash> {
        let mut outputs = Vec::new();
        let now = match self.flaw {
            Flaw::ClockAhead => self.now + SignedDuration::from_secs(5),
            _ => self.now,
        };
        self.planner.handle(now, input, &mut outputs);
        self.planner.check();
        self.perform(outputs)?;
        if 0 < self.gather_count {
            self.gather_count -= 1;
            return Ok(());
        }
        self.write()
    }

    /// Commits and performs until nothing is left to write.
    fn write(&mut self) -> Result<(), Crash> {
        while let Some(batch) = self.planner.take_batch() {
            let number = batch.number;
            let answers = if self.flaw == Flaw::EffectBeforeCommit {
                // Believes the answers of a store that has not written them.
                let mut copy = self.disk.clone();
                let answers = copy.commit(self.lease, &batch).unwrap().answers;
                let mut outputs = Vec::new();
                let committed = Input::Committed { number, answers };
                self.planner.handle(self.now, committed, &mut outputs);
                self.perform(outputs)?;
                self.commit(batch)?;
                continue;
            } else {
                self.commit(batch)?
            };
            let mut outputs = Vec::new();
            self.planner.handle(self.now, Input::Committed { number, answers }, &mut outputs);
            self.planner.check();
            self.perform(outputs)?;
        }
        Ok(())
    }

    fn commit(&mut self, mut batch: mainspring_job::Batch) -> Result<Vec<Answer>, Crash> {
        loop {
            match self.try_commit(&batch)? {
                Ok(answers) => return Ok(answers),
                Err(StoreError::Busy) => (),
                Err(StoreError::Unknown) => {
                    if self.flaw == Flaw::RetriedUnderNewNumber {
                        batch.number += 1_000_000;
                    }
                }
                Err(_) => return Err(Crash),
            }
        }
    }

    fn try_commit(
        &mut self,
        batch: &mainspring_job::Batch,
    ) -> Result<Result<Vec<Answer>, StoreError>, Crash> {
        // Faults that strike later stay for `perform`.
        let at_commit =
            |fault: &mut Fault| !matches!(fault, Fault::CrashAfterOneOutput | Fault::CrashAfterTwoOutputs);
        let fault = self.fault.take_if(at_commit);
        self.seen.extend(fault.map(|fault| format!("{fault:?}")));
        match fault {
            Some(Fault::Busy) => return Ok(Err(StoreError::Busy)),
            Some(Fault::UnknownLost) => return Ok(Err(StoreError::Unknown)),
            Some(Fault::CrashBeforeCommit | Fault::IoLost) => return Err(Crash),
            _ => (),
        }
        let before = (self.flaw == Flaw::FlushLies).then(|| (self.disk.clone(), self.journal.len()));
        let is_new = self.journal_number != Some((self.lease.epoch, batch.number));
        let answers = self.disk.commit(self.lease, batch).unwrap().answers;
        if is_new {
            self.before_last = before;
            self.journal_number = Some((self.lease.epoch, batch.number));
            self.journal.extend(batch.operations.iter().cloned().zip(answers.iter().copied()));
        }
        match fault {
            Some(Fault::UnknownApplied) => Ok(Err(StoreError::Unknown)),
            Some(Fault::CrashAfterCommit | Fault::IoApplied) => Err(Crash),
            _ => Ok(Ok(answers)),
        }
    }

    fn perform(&mut self, outputs: Vec<Output>) -> Result<(), Crash> {
        let mut left = match self.fault {
            Some(Fault::CrashAfterOneOutput) => 1,
            Some(Fault::CrashAfterTwoOutputs) => 2,
            _ => usize::MAX,
        };
        for output in outputs {
            if left == 0 {
                self.seen.extend(self.fault.take().map(|fault| format!("{fault:?}")));
                return Err(Crash);
            }
            if !matches!(output, Output::Note(_)) {
                left -= 1;
            }
            self.perform_one(output)?;
        }
        Ok(())
    }

    fn perform_one(&mut self, output: Output) -> Result<(), Crash> {
        match output {
            Output::Start(start) => {
                let (key, attempt) = (start.key.clone(), start.attempt);
                let high_water = self.high_water;
                let (cause, due, at) = (start.cause, start.due, self.now);
                let event = Event::Started { key, attempt, cause, due, at, high_water };
                if self.flaw == Flaw::StartsTwice {
                    self.log.push(event.clone());
                }
                self.log.push(event);
                let is_poison = self.script.is_poison(&start.key.job) && !self.is_settling;
                self.running.insert((start.key, start.attempt), false);
                if is_poison {
                    return Err(Crash);
                }
            }
            Output::Kill { key, attempt, .. } => {
                if let Some(is_killed) = self.running.get_mut(&(key, attempt)) {
                    *is_killed = true;
                }
            }
            Output::Reply { ticket, reply } => {
                if let Some(command) = self.asked.remove(&ticket) {
                    if let Reply::Submitted { id, .. } = &reply {
                        self.submitted.push(*id);
                    }
                    self.log.push(Event::Acknowledged { ticket, command, reply });
                }
            }
            Output::Load { after, up_to, limit } => {
                let mut pending = self.disk.load(Shard::WHOLE, after, up_to, limit).unwrap();
                let is_complete = pending.len() < limit;
                if self.flaw == Flaw::ShortPage {
                    pending.pop();
                }
                let mut outputs = Vec::new();
                self.planner.handle(self.now, Input::Loaded { pending, is_complete }, &mut outputs);
                self.perform(outputs)?;
            }
            Output::Note(_) => (),
        }
        Ok(())
    }

    fn crash(&mut self) {
        self.end_server(Event::Crashed { at: self.now });
    }

    /// The server ends, and its processes with it; another one starts.
    fn end_server(&mut self, how: Event) {
        self.log.push(how);
        self.running.clear();
        self.asked.clear();
        self.gather_count = 0;
        self.is_stopping = false;
        if self.flaw == Flaw::FlushLies
            && let Some((disk, length)) = self.before_last.take()
        {
            self.disk = disk;
            self.journal.truncate(length);
        }
        self.boot();
    }

    fn boot(&mut self) {
        // A server may die while it starts; the next one gets through, because a fault strikes once.
        let mut count = 0;
        while self.try_boot().is_err() {
            count += 1;
            assert!(count <= MAX_BOOTS, "the server dies whenever it starts");
            self.log.push(Event::Crashed { at: self.now });
            self.running.clear();
            self.asked.clear();
        }
    }

    fn try_boot(&mut self) -> Result<(), Crash> {
        self.lease = self.disk.acquire(Shard::WHOLE, &Owner::new("world")).unwrap();
        let takeover = match self.flaw {
            Flaw::CrashesOverlooked => Takeover::Clean,
            _ => self.lease.takeover,
        };
        let limits =
            Limits { max_running: self.script.max_running, page: 3, per_turn: 16, ..Limits::default() };
        self.planner = Planner::new(self.lease.epoch, limits);
        let (jobs, is_paused) = self.disk.jobs(Shard::WHOLE).unwrap();
        let mut runs = Vec::new();
        loop {
            let page = self.disk.open_runs(Shard::WHOLE, runs.last().map(|run: &Run| &run.key), 4).unwrap();
            if page.is_empty() {
                break;
            }
            runs.extend(page);
        }
        let (jobs, runs) = self.flaw.bend(self.now, jobs, runs);
        let mut outputs = Vec::new();
        let definitions = Input::Command { ticket: Ticket(0), command: self.definitions() };
        for input in [
            Input::Restore { jobs, former: self.script.jobs.clone(), runs, is_paused },
            definitions,
            Input::Begin { takeover },
        ] {
            self.planner.handle(self.now, input, &mut outputs);
        }
        self.planner.check();
        self.perform(outputs)?;
        self.write()?;
        self.tick()
    }
}
