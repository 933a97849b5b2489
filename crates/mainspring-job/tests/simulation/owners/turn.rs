//! One turn of a server: as a standby, and as the owner with a lease that grows old.
//!
//! The ages at which an owner acts are the library's: [`LeaseDeadlines`]. What it does then is what
//! `mainspring-server` does, in its order.

use std::collections::{BTreeMap, VecDeque};

use mainspring_job::{
    Answer, AttemptEnd, Failure, Input, Lease, LeaseAge, LeaseDeadlines, Limits, Outcome, Output, Planner,
    Reply, RunState, Start, Ticket, Worker, WorkerEvent, WorkerId,
};

use super::fault::Breach;
use super::server::{MS, Order, Owner, Reading, Role, SECOND, TakeoverState};
use super::world::{Incident, LEASE, Owners, Process, StoreReply};
use crate::simulation::event::Event;
use crate::simulation::script::{End, Script};

/// How often a standby asks for the lease.
pub(super) const ASK_INTERVAL: i64 = SECOND;

/// How long a server waits before it asks the same again.
const RETRY_INTERVAL: i64 = 50 * MS;

/// So many looks make one turn; the next comes soon after.
const MAX_LOOKS: usize = 8;

/// So many batches may be on their way to the store's thread.
const MAX_SENT: u64 = 2;

/// With more open runs than this a check takes longer than all else.
const MAX_CHECKED: usize = 30;

fn is_withheld(owner: &Owner, key: &mainspring_job::RunKey, attempt: u32) -> bool {
    owner.withheld.iter().any(|start| start.key == *key && start.attempt == attempt)
}

fn check(planner: &Planner) {
    if planner.open_runs().nth(MAX_CHECKED).is_none() {
        planner.check();
    }
}

impl Owners<'_> {
    /// One turn of a server.
    pub(super) fn turn(&mut self, index: usize) {
        match &self.servers[index].role {
            Role::Down | Role::Begins(_) => {}
            Role::StandsBy => {
                let reading = self.reading(index);
                let server = &mut self.servers[index];
                let is_time =
                    reading.boot.saturating_sub(server.tried.boot).as_nanos() as i64 >= ASK_INTERVAL;
                if server.orders.is_empty() && is_time {
                    server.tried = reading;
                    server.orders.push_back(Order::Acquire);
                    self.pump(index);
                }
                self.wake(index, self.now + ASK_INTERVAL);
            }
            Role::Owns(_) => {
                self.keep_lease(index);
                self.look(index);
                self.end_if_asked(index);
                self.wake_when_due(index);
            }
        }
    }

    /// The age of the lease, as the server counts it.
    fn age(&self, index: usize) -> std::time::Duration {
        let (reading, renewed) = (self.reading(index), self.servers[index].renewed);
        if self.breach == Breach::WallClock {
            let age = reading.wall.duration_since(renewed.wall);
            return std::time::Duration::try_from(age).unwrap_or_default();
        }
        reading.boot.saturating_sub(renewed.boot)
    }

    fn renewed(&mut self, index: usize, asked: Reading) {
        let counted = if self.breach == Breach::AgeFromTheAnswer { self.reading(index) } else { asked };
        let server = &mut self.servers[index];
        if server.renewed.boot < counted.boot {
            server.renewed = counted;
        }
    }

    fn judged(&self, index: usize) -> LeaseAge {
        LeaseDeadlines::of(LEASE).judge(self.age(index))
    }

    fn keep_lease(&mut self, index: usize) {
        let reading = self.reading(index);
        let (age, renew) = (self.age(index), LeaseDeadlines::of(LEASE).renew);
        let server = &mut self.servers[index];
        if renew <= age && renew <= reading.boot.saturating_sub(server.tried.boot) {
            server.tried = reading;
            server.orders.push_back(Order::Renew);
            self.pump(index);
        }
        let judged = self.judged(index);
        let Some(owner) = self.servers[index].owner() else { return };
        match judged {
            LeaseAge::Fresh => {
                owner.is_old = false;
                for start in std::mem::take(&mut owner.withheld) {
                    self.begin_attempt(index, &start);
                }
            }
            LeaseAge::Old if owner.is_old => {}
            LeaseAge::Old => {
                self.seen.insert("an old lease");
                owner.is_old = true;
                let keys: Vec<_> = owner.running.keys().cloned().collect();
                for (key, attempt) in keys {
                    self.ask_to_end(index, &key, attempt);
                }
            }
            LeaseAge::Over if self.breach == Breach::NoDeadline => {}
            LeaseAge::Over => {
                self.seen.insert("a lease that was over");
                self.lose(index);
            }
        }
    }

    /// The planner is told what waits, and what it decides is sent and done.
    fn look(&mut self, index: usize) {
        let wall = self.reading(index).wall;
        self.high_water = self.high_water.max(wall);
        for _ in 0..MAX_LOOKS {
            let server = &mut self.servers[index];
            server.latest = server.latest.max(wall);
            let Some(owner) = server.owner() else { return };
            let is_due = owner.planner.next_due().is_some_and(|due| due <= wall);
            if is_due && owner.sent == 0 {
                owner.inputs.push_back(Input::Tick);
            }
            let mut outputs = Vec::new();
            let was_told = !owner.inputs.is_empty();
            while let Some(input) = owner.inputs.pop_front() {
                owner.planner.handle(wall, input, &mut outputs);
            }
            check(&owner.planner);
            self.send_batches(index);
            self.perform(index, outputs);
            if !was_told {
                break;
            }
        }
        let holder = self.holder.map(|lease| lease.epoch);
        if let Some(owner) = self.servers[index].owner()
            && owner.sent == 0
            && owner.inputs.is_empty()
            && Some(owner.lease.epoch) == holder
        {
            self.log.push(Event::Settled { at: wall, is_single: false });
        }
    }

    fn send_batches(&mut self, index: usize) {
        let (breach, wall) = (self.breach, self.reading(index).wall);
        while let Some(owner) = self.servers[index].owner() {
            let Some(batch) = (owner.sent < MAX_SENT).then(|| owner.planner.take_batch()).flatten() else {
                break;
            };
            if breach == Breach::EffectBeforeCommit {
                let answers = vec![Answer::New; batch.operations.len()];
                let mut outputs = Vec::new();
                let committed = Input::Committed { number: batch.number, answers };
                owner.planner.handle(wall, committed, &mut outputs);
                self.servers[index].orders.push_back(Order::Commit(batch));
                self.perform(index, outputs);
                continue;
            }
            owner.sent += 1;
            self.servers[index].orders.push_back(Order::Commit(batch));
        }
        self.pump(index);
    }

    pub(super) fn answered(&mut self, index: usize, number: u64, answer: StoreReply) {
        let server = &mut self.servers[index];
        let Some((_, asked)) = server.waits_for.take_if(|(of, _)| *of == number) else { return };
        let order = server.orders.pop_front().expect("what is answered was asked");
        let life = server.life;
        let again = |world: &mut Self, order: Order| {
            world.servers[index].orders.push_front(order);
            world.at(world.now + RETRY_INTERVAL, index, Incident::AskAgain(life));
        };
        match (order, answer) {
            (Order::Release, _) => return self.end_in_good_order(index),
            (_, StoreReply::Fenced) => {
                self.seen.insert("fenced");
                return self.lose(index);
            }
            (Order::Acquire, StoreReply::Lease(lease)) => {
                self.renewed(index, asked);
                let server = &mut self.servers[index];
                server.role = Role::Begins(lease);
                server.orders.push_back(Order::Read);
            }
            (Order::Read, StoreReply::Found(found)) => self.begin(index, &found),
            (Order::Commit(batch), StoreReply::Committed(number, answers)) => {
                self.renewed(index, asked);
                self.committed(index, batch.number.min(number), answers);
            }
            (Order::Commit(mut batch), answer) => {
                if self.breach == Breach::AnotherNumber && matches!(answer, StoreReply::Unknown) {
                    batch.number += 1;
                }
                again(self, Order::Commit(batch));
                return;
            }
            (order @ Order::Read, _) => return again(self, order),
            (Order::Renew, StoreReply::Done) => self.renewed(index, asked),
            (Order::Load { .. }, answer) => {
                let nothing = Input::Loaded { pending: Vec::new(), is_complete: false };
                self.loaded(index, answer, nothing);
            }
            (Order::LoadIds { .. }, answer) => {
                self.loaded(index, answer, Input::LoadedIds { ids: Vec::new(), is_complete: false });
            }
            (Order::Acquire | Order::Renew, _) => {}
        }
        self.pump(index);
    }

    fn loaded(&mut self, index: usize, answer: StoreReply, nothing: Input) {
        let input = if let StoreReply::Loaded(input) = answer { *input } else { nothing };
        if let Some(owner) = self.servers[index].owner() {
            owner.inputs.push_back(input);
        }
    }

    fn committed(&mut self, index: usize, number: u64, answers: Vec<Answer>) {
        if self.breach == Breach::EffectBeforeCommit {
            return;
        }
        let wall = self.reading(index).wall;
        self.high_water = self.high_water.max(wall);
        let Some(owner) = self.servers[index].owner() else { return };
        owner.sent -= 1;
        let mut outputs = Vec::new();
        owner.planner.handle(wall, Input::Committed { number, answers }, &mut outputs);
        check(&owner.planner);
        self.perform(index, outputs);
    }

    /// A takeover is a restart: the planner is made anew, from what the store holds.
    fn begin(&mut self, index: usize, found: &TakeoverState) {
        let Role::Begins(lease) = self.servers[index].role else { return };
        let wall = self.reading(index).wall;
        // One that has lost the lease before it could read writes nothing; no log says that it began.
        let holds = self.holder.is_some_and(|holder| holder.epoch == lease.epoch);
        if holds {
            if wall < self.high_water {
                self.log.push(Event::SetBack);
            }
            self.log.push(Event::Began { at: wall, takeover: lease.takeover });
        }
        self.high_water = self.high_water.max(wall);
        let (jobs, mut runs) = self.breach.flaw().bend(wall, found.jobs.clone(), found.runs.clone());
        if self.breach == Breach::WaitingForgotten {
            runs.retain(|run| run.state == RunState::Running);
        }
        let script = &self.plan.script;
        let heard: Vec<Input> = jobs
            .iter()
            .filter(|record| {
                let hook = Script::index(&record.mark.job).and_then(|index| script.subjects[index].hook);
                hook.is_some_and(|hook| hook.silent_after.is_some())
            })
            .filter_map(|record| {
                Some(Input::Heard { job: record.mark.job.clone(), at: record.last_success? })
            })
            .collect();
        let former = (0..script.subjects.len()).map(|index| script.job(index, 0).clone()).collect();
        let restore = Input::Restore { jobs, former, runs, paused: found.paused.clone() };
        let command = self.definitions(true);
        if holds {
            self.log.push(Event::Asked { at: wall, ticket: Ticket(0), command: command.clone() });
        }
        let worker = Worker::new(WorkerId(lease.epoch), format!("server {index}"), script.max_running);
        let present = Input::Worker(WorkerEvent::Present(worker));
        let told = [
            present,
            Input::Command { ticket: Ticket(0), command },
            Input::Begin { takeover: lease.takeover },
        ];
        let inputs: VecDeque<Input> = [restore].into_iter().chain(heard).chain(told).collect();
        self.servers[index].role = Role::Owns(Box::new(self.new_owner(lease, inputs)));
    }

    fn new_owner(&self, lease: Lease, inputs: VecDeque<Input>) -> Owner {
        let mut limits = Limits::default();
        let script = &self.plan.script;
        limits.max_open = script.max_open;
        (limits.page, limits.per_turn) = (3, 16);
        // The checker wants to see everything.
        (limits.once_retention.keep, limits.once_retention.days) = (1_000_000, 36_525);
        let silent = lease.silent.filter(|_| self.breach != Breach::LeaseForgotten);
        Owner {
            lease,
            planner: Planner::new(lease.epoch, limits).following(silent),
            inputs,
            sent: 0,
            withheld: Vec::new(),
            is_old: false,
            asked: BTreeMap::new(),
            is_stopping: false,
            is_releasing: false,
            running: BTreeMap::new(),
        }
    }

    fn perform(&mut self, index: usize, outputs: Vec<Output>) {
        for output in outputs {
            let judged = self.judged(index);
            let Some(owner) = self.servers[index].owner() else { return };
            match output {
                Output::Start(start) => {
                    if judged == LeaseAge::Fresh || self.breach == Breach::StartsWithAnOldLease {
                        self.begin_attempt(index, &start);
                    } else {
                        self.seen.insert("a start that was withheld");
                        owner.withheld.push(start);
                    }
                }
                Output::Kill { key, attempt, .. } if is_withheld(owner, &key, attempt) => {
                    self.seen.insert("a start that was withheld and killed");
                    owner.withheld.retain(|start| start.key != key || start.attempt != attempt);
                    owner.inputs.push_back(Input::Ended(AttemptEnd::new(key, attempt, Outcome::Killed)));
                }
                Output::Kill { key, attempt, .. } => {
                    // It may have ended since that was decided; and of what another owner has given up the
                    // shared log has no more.
                    let holds = self.holder.is_some_and(|holder| holder.epoch == owner.lease.epoch);
                    if holds && owner.running.contains_key(&(key.clone(), attempt)) {
                        self.log.push(Event::Killed { key: key.clone(), attempt });
                    }
                    self.ask_to_end(index, &key, attempt);
                }
                Output::Reply { ticket, reply } => {
                    if let Some(command) = owner.asked.remove(&ticket) {
                        if let Reply::Submitted { id, .. } = &reply {
                            self.submitted.push(*id);
                        }
                        self.log.push(Event::Acknowledged { ticket, command, reply });
                    }
                }
                Output::Load { up_to, limit } => {
                    self.servers[index].orders.push_back(Order::Load { up_to, limit });
                }
                Output::LoadIds { after, up_to, limit } => {
                    self.servers[index].orders.push_back(Order::LoadIds { after, up_to, limit });
                }
                Output::Note(_) => {}
            }
        }
        self.pump(index);
    }

    /// A process starts.
    fn begin_attempt(&mut self, index: usize, start: &Start) {
        let (at, high_water) = (self.reading(index).wall, self.high_water);
        let server = &mut self.servers[index];
        let life = server.life;
        let Some(owner) = server.owner() else { return };
        let epoch = owner.lease.epoch;
        owner.running.insert((start.key.clone(), start.attempt), false);
        let (key, attempt) = (start.key.clone(), start.attempt);
        if self.holder.is_some_and(|holder| holder.epoch != epoch) && !self.is_robbed(epoch) {
            self.wrong(format!(
                "overlap: {key} #{attempt} starts by epoch {epoch}, and another has the lease"
            ));
        }
        let (cause, due) = (start.cause, start.due);
        if self.holder.is_some_and(|holder| holder.epoch == epoch) {
            self.log.push(Event::Started { key: key.clone(), attempt, cause, due, at, high_water });
        }
        let lasts = self.random.pick(&[1, 20, 300, 2_000, 7_000, 20_000, 45_000]) * MS;
        let lasts = if self.is_settling { MS } else { lasts };
        let end = self.random.pick(&[End::Succeeded, End::Succeeded, End::Failed, End::TimedOut]);
        // A failure may pause its job, and then it is not looked at.
        let end = if self.is_settling { End::Succeeded } else { end };
        let (began, ended, is_excused) = (self.now, None, self.is_robbed(epoch));
        let is_killed = false;
        let number = self.processes.len();
        let is_poison = self.plan.script.is_poison(&key.job) && !self.is_settling;
        let server = index;
        self.processes.push(Process {
            key,
            attempt,
            server,
            life,
            epoch,
            began,
            ended,
            end,
            is_killed,
            is_excused,
        });
        self.at(self.now + lasts, index, Incident::ProcessEnds(number));
        if is_poison {
            self.crash(index, 1);
        }
    }

    /// What runs is told to end. It does within three seconds, or ignores that for half a minute, which is
    /// longer than any lease lasts.
    pub(super) fn ask_to_end(&mut self, index: usize, key: &mainspring_job::RunKey, attempt: u32) {
        let server = &mut self.servers[index];
        let life = server.life;
        if let Some(owner) = server.owner()
            && let Some(is_told) = owner.running.get_mut(&(key.clone(), attempt))
        {
            *is_told = true;
        }
        let is_it = |process: &Process| {
            process.ended.is_none()
                && process.key == *key
                && process.attempt == attempt
                && process.life == life
        };
        if let Some(number) =
            self.processes.iter().position(|process| process.server == index && is_it(process))
        {
            self.processes[number].is_killed = true;
            let wait = self.random.pick(&[1, 200, 2_900, 30_000]) * MS;
            // What ends when it is asked to needs no deadline: without one nothing listens.
            if self.breach != Breach::NoDeadline {
                self.at(self.now + wait, index, Incident::ProcessEnds(number));
            }
        }
    }

    /// The server learns of the end of what it started.
    pub(super) fn reap(&mut self, index: usize, number: usize) {
        let process = &self.processes[number];
        let outcome = match (process.end, process.is_killed) {
            (End::Succeeded, false) => Outcome::Succeeded,
            (End::Returned | End::PutOff, false) => Outcome::Returned,
            (_, true) | (End::Killed, _) => Outcome::Killed,
            (End::Failed, false) => Outcome::Failed(Failure::Exit(1)),
            (End::TimedOut, false) => Outcome::TimedOut,
        };
        let (key, attempt) = (process.key.clone(), process.attempt);
        let Some(owner) = self.servers[index].owner() else { return };
        if owner.running.remove(&(key.clone(), attempt)).is_some() {
            owner.inputs.push_back(Input::Ended(AttemptEnd::new(key.clone(), attempt, outcome)));
            self.log.push(Event::Ended { key, attempt });
        }
    }

    fn wake_when_due(&mut self, index: usize) {
        let (wall, age) = (self.reading(index).wall, self.age(index));
        let server = &self.servers[index];
        let Some(owner) = server.owns() else { return };
        let due = owner.planner.next_due().filter(|_| owner.sent == 0);
        let due = due.map(|due| server.wall_span(due.duration_since(wall)));
        let deadlines = LeaseDeadlines::of(LEASE);
        let steps = [deadlines.renew, deadlines.old, deadlines.over];
        let next = steps.into_iter().find(|step| age < *step).map_or(SECOND, |step| {
            let left = (step - age).as_nanos() as i64;
            // By a clock that may run slower or faster by a hundredth.
            left + left / 64 + MS
        });
        let left = next.min(deadlines.renew.as_nanos() as i64).min(due.unwrap_or(SECOND * 3)).max(5 * MS);
        self.wake(index, self.now + left);
    }
}
