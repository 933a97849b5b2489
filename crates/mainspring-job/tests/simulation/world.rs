//! The world of a history: a disk, a clock, an executor, and a server that dies.

mod disk;
mod server;
mod settle;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Action, Answer, AttemptEnd, Command, Definitions, Failure, Input, JobName, Lease, Limits, MemoryStore,
    OnceId, Operation, Outcome, Output, Owner, PauseTerms, Planner, Policies, Prune, Query, Reader, Reason,
    Reply, Run, RunKey, RunRequest, RunState, Scope, Store, StoreError, Submission, Takeover, Ticket, Work,
    Worker, WorkerEvent, WorkerId,
};

use crate::simulation::event::Event;
use crate::simulation::fault::{Fault, Flaw};
use crate::simulation::script::{Change, End, Ends, Script, Step};

pub(crate) struct World<'s> {
    pub script: &'s Script,
    pub now: Timestamp,
    /// The latest time that any clock showed.
    pub high_water: Timestamp,
    pub disk: MemoryStore,
    pub log: Vec<Event>,
    /// Names of states and faults that were reached.
    pub seen: BTreeSet<String>,
    flaw: Flaw,
    lease: Lease,
    planner: Planner,
    defined: BTreeSet<usize>,
    /// For each subject which of its timetables is in its definition.
    times: Vec<usize>,
    running: BTreeMap<(RunKey, u32), bool>,
    commands: BTreeMap<Ticket, Command>,
    submitted: Vec<OnceId>,
    fault: Option<Fault>,
    gather_count: usize,
    /// What time it was when the planner was told a fact last.
    told_at: Timestamp,
    /// How many facts were told since all was on disk.
    input_count: usize,
    /// The disk as it was before the last batch, and how long the log was.
    before_last: Option<(MemoryStore, usize)>,
    /// The batch that was written into the log last.
    logged: Option<(u64, u64)>,
    ticket_count: u64,
    is_stopping: bool,
    /// How often the machine was started.
    machine_starts: u32,
    /// The one for which the jobs of a start of the machine had their runs.
    served_start: Option<u32>,
    /// From here on nothing goes wrong, and poison is none.
    is_settling: bool,
}

/// The server is no more.
struct Crash;

/// What a person asks for who wants a run of a job in so many seconds.
pub(crate) fn asked_for(now: Timestamp, job: usize, due_in: i64, key: Option<u8>) -> Command {
    let mut request = RunRequest::new(Script::name(job));
    request.due = (due_in != 0).then(|| now + SignedDuration::from_secs(due_in));
    request.key = key.map(|key| format!("key-{key}"));
    Command::Trigger(request)
}

fn start() -> Timestamp {
    // Between two occurrences of everything but what is due each second.
    "2026-03-01T09:58:30.5Z".parse().unwrap()
}

impl<'s> World<'s> {
    pub(crate) fn run(script: &'s Script, flaw: Flaw) -> World<'s> {
        let mut disk = MemoryStore::new();
        let lease = disk.acquire(&Owner::new("world")).unwrap();
        disk.release(lease).unwrap();
        let mut world = World::at_rest(script, disk, lease, flaw);
        world.boot();
        for step in &script.steps {
            let was_stopping = world.is_stopping;
            let has_crashed = world.step(step).is_err();
            let is_asked_again = was_stopping && matches!(step, Step::Stop);
            if !has_crashed && world.is_stopping && (world.running.is_empty() || is_asked_again) {
                // In good order, whatever had to be killed.
                world.end_server(Ends::InGoodOrder);
                world.boot();
            } else if has_crashed {
                world.end_server(Ends::Crash);
                world.boot();
            }
        }
        world.settle();
        world
    }

    fn at_rest(script: &'s Script, disk: MemoryStore, lease: Lease, flaw: Flaw) -> World<'s> {
        World {
            script,
            now: start(),
            high_water: start(),
            disk,
            log: Vec::new(),
            seen: BTreeSet::new(),
            flaw,
            lease,
            planner: Planner::new(0, Limits::default()),
            defined: (0..script.subjects.len()).collect(),
            times: vec![0; script.subjects.len()],
            running: BTreeMap::new(),
            commands: BTreeMap::new(),
            submitted: Vec::new(),
            fault: None,
            gather_count: 0,
            told_at: start(),
            input_count: 0,
            before_last: None,
            logged: None,
            ticket_count: 0,
            is_stopping: false,
            machine_starts: 1,
            served_start: None,
            is_settling: false,
        }
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
                self.log.push(Event::Gathers);
                Ok(())
            }
            Step::Fault(fault) => {
                self.fault = Some(*fault);
                Ok(())
            }
            Step::Restart => Err(Crash),
            Step::Away { ends, seconds, change } => {
                self.end_server(*ends);
                self.set_clock(*seconds);
                self.change(*change);
                self.boot();
                Ok(())
            }
            Step::Stop => self.stop(),
            Step::End(pick, end) => self.end(*pick, *end),
            Step::Burst(index, count) => self.burst(*index, *count),
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
                let work = Work::new(Action::new("process", "true").unwrap()).with_policies(policies);
                let due = self.now + SignedDuration::from_secs(*due_in);
                let mut submission = Submission::new(due, work);
                submission.name = name.map(|name| JobName::new(&format!("asked-{name}")).unwrap());
                submission.key = key.map(|key| format!("key-{key}"));
                Command::Submit(submission)
            }
            Step::Withdraw(pick) => Command::Withdraw(*self.submitted.get(*pick)?),
            Step::Cancel(pick) => Command::Cancel(self.planner.open_runs().nth(*pick)?.key.clone()),
            Step::Pause(index, seconds) => {
                let rest = PauseTerms::new("a note");
                let end = |seconds: i64| self.now + SignedDuration::from_secs(seconds);
                Command::Pause(scope(index), seconds.map_or(rest.clone(), |seconds| rest.until(end(seconds))))
            }
            Step::Resume(index) => Command::Resume(scope(index)),
            Step::Trigger { job, due_in, key } => asked_for(self.now, *job, *due_in, *key),
            Step::Backfill(index, seconds) => Command::Backfill {
                job: name(index),
                from: self.now - SignedDuration::from_secs(*seconds),
                to: self.now + SignedDuration::from_secs(120),
            },
            Step::Rewind(index) => Command::Rewind(name(index)),
            Step::RetryDead(pick) => Command::RetryDead(Box::new(self.dead(*pick)?)),
            Step::DropDead(pick) => Command::DropDead(self.dead(*pick)?.key),
            Step::Change(change) => {
                self.change(*change);
                self.definitions()
            }
            _ => unreachable!("the other steps are no commands"),
        })
    }

    fn dead(&mut self, pick: usize) -> Option<Run> {
        let mut query = Query::new(10);
        query.states = vec![RunState::Dead];
        self.disk.find(&query).unwrap().into_iter().nth(pick)
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::None => (),
            Change::Edit(index) => self.times[index] = 1 - self.times[index],
            Change::Toggle(index) => {
                if !self.defined.remove(&index) {
                    self.defined.insert(index);
                }
            }
        }
    }

    fn definitions(&self) -> Command {
        let job = |index: &usize| self.script.job(*index, self.times[*index]).clone();
        let mut group = self.script.group();
        match self.flaw {
            Flaw::GroupForgotten => group.limit = None,
            Flaw::RateForgotten => group.rate = None,
            _ => (),
        }
        let definitions = Definitions::new("jobs.toml", self.defined.iter().map(job).collect());
        Command::Apply(definitions.with_groups(vec![group]).with_prune(Prune::Remove))
    }

    fn set_clock(&mut self, seconds: i64) {
        if seconds < 0 {
            self.log.push(Event::SetBack);
        }
        self.show(self.now + SignedDuration::from_secs(seconds));
    }

    /// The clock shows a time.
    fn show(&mut self, now: Timestamp) {
        self.now = now;
        self.high_water = self.high_water.max(now);
    }

    /// The shell lives for a while: it looks when it should.
    fn live(&mut self, seconds: i64) -> Result<(), Crash> {
        let until = self.now + SignedDuration::from_secs(seconds);
        for _ in 0..12 {
            let Some(due) = self.planner.next_due().filter(|due| *due <= until) else { break };
            self.show(self.now.max(due));
            self.tick()?;
        }
        self.show(until);
        self.tick()
    }

    fn tick(&mut self) -> Result<(), Crash> {
        self.tell(Input::Tick)
    }

    fn end(&mut self, pick: usize, end: End) -> Result<(), Crash> {
        let Some(((key, attempt), is_killed)) = self.running.iter().nth(pick) else { return Ok(()) };
        let outcome = match (end, is_killed) {
            (End::Succeeded, _) => Outcome::Succeeded,
            (End::Returned | End::PutOff, _) => Outcome::Returned,
            (_, true) | (End::Killed, _) => Outcome::Killed,
            (End::CutOff, false) => Outcome::CutOff(Reason::ServerCutOff),
            (End::Failed, false) => Outcome::Failed(Failure::Exit(1)),
            (End::TimedOut, false) => Outcome::TimedOut,
        };
        let (key, attempt) = (key.clone(), *attempt);
        self.running.remove(&(key.clone(), attempt));
        self.log.push(Event::Ended { key: key.clone(), attempt, outcome: outcome.clone() });
        let mut ended = AttemptEnd::new(key, attempt, outcome);
        ended.retry_at = matches!(end, End::PutOff).then(|| self.now + SignedDuration::from_secs(90));
        self.tell(ended.into())
    }

    fn stop(&mut self) -> Result<(), Crash> {
        self.gather_count = 0;
        self.write()?;
        let before = self.log.len();
        self.is_stopping = true;
        if self.flaw != Flaw::StopForgotten {
            self.tell(Input::Stop)?;
        }
        let has_written = self.log[before..].iter().any(|event| matches!(event, Event::Wrote { .. }));
        assert!(!has_written, "a stop writes nothing");
        self.log.push(Event::Stopped);
        Ok(())
    }

    fn command(&mut self, command: Command) -> Result<(), Crash> {
        self.ticket_count += 1;
        let ticket = Ticket(self.ticket_count);
        self.commands.insert(ticket, command.clone());
        self.log.push(Event::Issued { at: self.now, ticket, command: command.clone() });
        self.tell(Input::Command { ticket, command })
    }

    /// Runs by hand that are asked for in one turn.
    fn burst(&mut self, index: usize, count: u64) -> Result<(), Crash> {
        let mut outputs = Vec::new();
        for _ in 0..count {
            self.ticket_count += 1;
            let (ticket, command) =
                (Ticket(self.ticket_count), Command::Trigger(RunRequest::new(Script::name(index))));
            self.commands.insert(ticket, command.clone());
            self.log.push(Event::Issued { at: self.now, ticket, command: command.clone() });
            self.input_count += 1;
            self.hand(self.now, Input::Command { ticket, command }, &mut outputs);
        }
        self.planner.check();
        self.perform(outputs)?;
        self.write()
    }

    /// What a broken server tells who asked for a run: the name of the first that anybody asked for.
    fn first_planned(&self, reply: Reply) -> Reply {
        let Reply::Planned { key } = reply else { return reply };
        let of_job = |event: &Event| match event {
            Event::Acknowledged { reply: Reply::Planned { key: first }, .. } if first.job == key.job => {
                Some(first.clone())
            }
            _ => None,
        };
        Reply::Planned { key: self.log.iter().find_map(of_job).unwrap_or(key) }
    }

    fn hand(&mut self, now: Timestamp, input: Input, outputs: &mut Vec<Output>) {
        // One that is to end starts nothing more.
        if !self.is_stopping {
            self.told_at = now;
        }
        self.planner.handle(now, input, outputs);
    }

    fn tell(&mut self, input: Input) -> Result<(), Crash> {
        let mut outputs = Vec::new();
        let now = match self.flaw {
            Flaw::ClockAhead => self.now + SignedDuration::from_secs(5),
            _ => self.now,
        };
        self.input_count += 1;
        self.hand(now, input, &mut outputs);
        self.planner.check();
        self.perform(outputs)?;
        if 0 < self.gather_count {
            self.gather_count -= 1;
            return Ok(());
        }
        self.write()
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

    /// What was read is told at once.
    fn answer(&mut self, input: Input) -> Result<(), Crash> {
        let mut outputs = Vec::new();
        self.input_count += 1;
        self.hand(self.now, input, &mut outputs);
        self.perform(outputs)
    }

    fn perform_one(&mut self, output: Output) -> Result<(), Crash> {
        match output {
            Output::Start(start) => {
                let (key, attempt) = (start.key.clone(), start.attempt);
                // The executor waits for that time.
                let not_before = start.not_before.filter(|_| self.flaw != Flaw::HeldTooShort);
                let at = not_before.unwrap_or(self.now).max(self.now);
                self.seen.extend((self.now < at).then(|| "ahead".to_owned()));
                let high_water = self.high_water.max(at);
                let (cause, due) = (start.cause, start.due);
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
                self.log.push(Event::Killed { key: key.clone(), attempt });
                if let Some(is_killed) = self.running.get_mut(&(key, attempt)) {
                    *is_killed = true;
                }
            }
            Output::Reply { ticket, reply } => {
                if let Some(command) = self.commands.remove(&ticket) {
                    if let Reply::Submitted { id, .. } = &reply {
                        self.submitted.push(*id);
                    }
                    let is_anothers = self.flaw == Flaw::AnothersName;
                    let reply = if is_anothers { self.first_planned(reply) } else { reply };
                    self.log.push(Event::Acknowledged { ticket, command, reply });
                }
            }
            Output::Load { up_to, limit } => {
                let first = OnceId::first_at(Timestamp::MIN);
                let mut pending = self.disk.load(first, up_to, limit).unwrap();
                let is_complete = pending.len() < limit;
                if self.flaw == Flaw::ShortPage {
                    pending.pop();
                }
                self.answer(Input::Loaded { pending, is_complete })?;
            }
            Output::LoadIds { after, up_to, limit } => {
                let ids = self.disk.load_ids(after, up_to, limit).unwrap();
                let is_complete = ids.len() < limit;
                self.answer(Input::LoadedIds { ids, is_complete })?;
            }
            Output::CheckBatch { batch } => {
                let is_pending = self.disk.has_pending_of(&batch).ok();
                self.answer(Input::BatchChecked { batch, is_pending })?;
            }
            Output::Note(_) => (),
        }
        Ok(())
    }
}
