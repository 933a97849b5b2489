//! The world of several owners: one store with a clock of its own, and servers that come and go before it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Answer, JobName, Lease, MemoryStore, OnceId, Operation, Owner as Name, Reader, RunKey, Store, Takeover,
};

use super::fault::Breach;
use super::plan::{Act, Network, Plan};
use super::server::{MS, Nanos, Order, Reading, Role, SECOND, Server, TakeoverState};
use crate::simulation::event::Event;
use crate::simulation::random::Random;
use crate::simulation::script::End;
use mainspring_job::{Batch, Input, StoreError};

/// As in the manual.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// A server gives a request up after so long, and asks again over another connection.
const PATIENCE: Nanos = 2 * SECOND;

/// More happens in no history.
const MAX_EVENTS: usize = 200_000;

/// What happens to a server, or at the store because of it.
#[derive(Clone)]
pub(crate) enum Incident {
    Act(usize),
    Turn,
    /// It asks again what was not answered.
    AskAgain(u32),
    Arrives(Box<Request>),
    StoreReply(u32, u64, StoreReply),
    ProcessEnds(usize),
    /// The server learns of the end of a process.
    Reaped(u32, usize),
    Thaw,
    Restart(u32),
}

/// On its way to the store.
#[derive(Clone)]
pub(crate) struct Request {
    life: u32,
    number: u64,
    order: Order,
    lease: Option<Lease>,
    /// How long the answer takes; `None`: it is lost.
    back: Option<Nanos>,
}

#[derive(Clone)]
pub(crate) enum StoreReply {
    Lease(Lease),
    Found(std::rc::Rc<TakeoverState>),
    Committed(u64, Vec<Answer>),
    Loaded(Box<Input>),
    /// A renewal or a release.
    Done,
    Fenced,
    /// Nothing was done; of an acquisition: another holds the lease.
    Busy,
    Unknown,
}

/// One attempt that was started, and by whom.
pub(crate) struct Process {
    pub key: RunKey,
    pub attempt: u32,
    pub server: usize,
    pub life: u32,
    pub epoch: u64,
    pub began: Nanos,
    pub ended: Option<Nanos>,
    pub end: End,
    pub is_killed: bool,
    /// Its server was stopped when it was to end it, or was robbed of its lease.
    pub is_excused: bool,
}

pub(crate) struct Owners<'p> {
    pub plan: &'p Plan,
    pub breach: Breach,
    pub start: Timestamp,
    pub now: Nanos,
    pub disk: MemoryStore,
    pub servers: Vec<Server>,
    pub log: Vec<Event>,
    pub processes: Vec<Process>,
    /// The latest time that was told to any planner.
    pub high_water: Timestamp,
    /// How long ago the owner before each epoch was last heard of.
    pub(super) silent: BTreeMap<u64, Duration>,
    /// What was reached: names of acts, faults and takeovers.
    pub seen: BTreeSet<&'static str>,
    /// The first thing that was wrong while it ran.
    pub fault: Option<String>,
    pub submitted: Vec<OnceId>,
    pub ticket_count: u64,
    pub is_settling: bool,
    pub(super) random: Random,
    queue: BTreeMap<(Nanos, u64), (usize, Incident)>,
    sequence: u64,
    request_count: u64,
    busy: u64,
    /// The lease that the store gave last.
    pub holder: Option<Lease>,
    /// Epochs whose lease a person ended.
    robbed: BTreeSet<u64>,
    /// Each batch that was written, and its answers.
    written: BTreeMap<(u64, u64), Vec<Answer>>,
    watermarks: BTreeMap<JobName, Timestamp>,
}

impl<'p> Owners<'p> {
    pub(crate) fn run(plan: &'p Plan, breach: Breach) -> Owners<'p> {
        // Between two occurrences of everything but what is due each second.
        let start: Timestamp = "2026-03-01T09:58:30.5Z".parse().unwrap();
        let mut world = Owners {
            plan,
            breach,
            start,
            now: 0,
            disk: MemoryStore::lending(LEASE, start),
            servers: plan.clocks.iter().map(|clocks| Server::new(*clocks)).collect(),
            log: Vec::new(),
            processes: Vec::new(),
            high_water: start,
            silent: BTreeMap::new(),
            seen: BTreeSet::new(),
            fault: None,
            submitted: Vec::new(),
            ticket_count: 0,
            is_settling: false,
            random: Random(plan.seed),
            queue: BTreeMap::new(),
            sequence: 0,
            request_count: 0,
            busy: 0,
            holder: None,
            robbed: BTreeSet::new(),
            written: BTreeMap::new(),
            watermarks: BTreeMap::new(),
        };
        for index in 0..world.servers.len() {
            world.wake(index, (index as Nanos + 1) * 7 * MS);
        }
        let mut at = SECOND;
        for (index, (wait, _)) in plan.acts.iter().enumerate() {
            at += wait * MS;
            world.at(at, 0, Incident::Act(index));
        }
        world.run_until(at + 5 * SECOND);
        world.settle();
        world
    }

    pub(super) fn at(&mut self, at: Nanos, server: usize, what: Incident) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), (server, what));
    }

    /// Has a server look again, by then at the latest.
    pub(super) fn wake(&mut self, index: usize, at: Nanos) {
        let at = at.max(self.now + MS);
        let known = self.servers[index].wake;
        if known.is_none_or(|known| at < known) {
            self.servers[index].wake = Some(at);
            self.at(at, index, Incident::Turn);
        }
    }

    pub(super) fn wrong(&mut self, text: String) {
        self.fault.get_or_insert(text);
    }

    pub(super) fn run_until(&mut self, end: Nanos) {
        for _ in 0..MAX_EVENTS {
            let next = self.queue.first_entry().filter(|entry| entry.key().0 <= end);
            let Some(entry) = next.filter(|_| self.fault.is_none()) else {
                return self.pass(end);
            };
            let ((at, _), (index, what)) = entry.remove_entry();
            self.pass(at);
            self.happen(index, what);
        }
        self.wrong("lost: more happens than can".to_owned());
    }

    fn pass(&mut self, to: Nanos) {
        self.now = to;
        self.disk.set_time(self.start + SignedDuration::from_nanos(to));
    }

    fn happen(&mut self, index: usize, what: Incident) {
        match what {
            Incident::Act(act) => self.act(act),
            Incident::Arrives(request) => self.arrive(index, &request),
            Incident::ProcessEnds(process) => {
                let oversleeps = self.oversleeps(index);
                let found = &mut self.processes[process];
                if found.ended.is_none() {
                    found.ended = Some(self.now);
                    found.is_excused |= oversleeps;
                    let life = found.life;
                    self.at(self.now, index, Incident::Reaped(life, process));
                }
            }
            Incident::Thaw => self.thaw(index),
            Incident::Restart(life) => {
                let server = &mut self.servers[index];
                if server.life == life && matches!(server.role, Role::Down) {
                    server.role = Role::StandsBy;
                    self.wake(index, self.now);
                }
            }
            Incident::Turn if self.servers[index].wake != Some(self.now) => {}
            other if self.servers[index].is_frozen => {
                if matches!(other, Incident::Turn) {
                    self.servers[index].wake = None;
                } else {
                    self.servers[index].mail.push(other);
                }
            }
            other => self.tell_server(index, other),
        }
    }

    pub(super) fn tell_server(&mut self, index: usize, what: Incident) {
        let life = self.servers[index].life;
        match what {
            Incident::Turn => self.servers[index].wake = None,
            Incident::AskAgain(of) if of == life => self.pump(index),
            Incident::StoreReply(of, number, answer) if of == life => self.answered(index, number, answer),
            Incident::Reaped(of, process) if of == life => self.reap(index, process),
            _ => return,
        }
        self.turn(index);
    }

    fn act(&mut self, act: usize) {
        let plan = self.plan;
        match &plan.acts[act].1 {
            Act::Crash(index, seconds) => {
                self.seen.insert("crash");
                self.crash(*index, *seconds);
            }
            Act::Freeze(index, seconds) => self.freeze(*index, *seconds),
            Act::FreezeInCommit(index, seconds) => self.servers[*index].freezes_in_commit = Some(*seconds),
            Act::Network(index, network) => self.servers[*index].network = *network,
            Act::SetClock(index, seconds) => {
                self.servers[*index].set_by += seconds * SECOND;
                if *seconds < 0 {
                    self.log.push(Event::SetBack);
                }
            }
            Act::Stop(index, seconds) => self.stop(*index, *seconds),
            Act::Steal => {
                self.seen.insert("steal");
                self.robbed.extend(self.holder.map(|lease| lease.epoch));
                self.disk.lapse();
            }
            Act::Busy(count) => self.busy += count,
            Act::Ask(step) => self.ask(act, step),
        }
    }

    fn freeze(&mut self, index: usize, seconds: i64) {
        self.seen.insert("freeze");
        let server = &mut self.servers[index];
        if !matches!(server.role, Role::Down) && !std::mem::replace(&mut server.is_frozen, true) {
            self.at(self.now + seconds * SECOND, index, Incident::Thaw);
        }
    }

    /// Whether a person took the lease of an epoch away.
    pub(super) fn is_robbed(&self, epoch: u64) -> bool {
        self.robbed.contains(&epoch)
    }

    pub(super) fn reading(&self, index: usize) -> Reading {
        self.servers[index].read(self.start, self.now)
    }

    /// The store is asked the next thing, if it is asked nothing now.
    pub(super) fn pump(&mut self, index: usize) {
        let reading = self.reading(index);
        let server = &mut self.servers[index];
        if server.waits_for.is_some() {
            return;
        }
        let Some(order) = server.orders.front().cloned() else { return };
        let lease = match &server.role {
            Role::Begins(lease) => Some(*lease),
            Role::Owns(owner) => Some(owner.lease),
            Role::Down | Role::StandsBy => None,
        };
        self.request_count += 1;
        let number = self.request_count;
        server.waits_for = Some((number, reading));
        let (life, network) = (server.life, server.network);
        let kinds = [Network::Good, Network::Slow, Network::NoRequests, Network::NoAnswers, Network::Late];
        let network = if network == Network::Wild { self.random.pick(&kinds) } else { network };
        let mut within = |longest: Nanos| self.random.below(longest as u64) as Nanos;
        let (there, back) = match network {
            Network::Slow => (Some(within(SECOND)), Some(within(SECOND))),
            Network::NoRequests => (None, None),
            Network::NoAnswers => (Some(within(5 * MS)), None),
            Network::Late => (Some(PATIENCE + within(23 * SECOND)), None),
            Network::Good | Network::Wild => (Some(within(5 * MS)), Some(within(5 * MS))),
        };
        if let Some(there) = there {
            let request = Box::new(Request { life, number, order, lease, back });
            self.at(self.now + there, index, Incident::Arrives(request));
        }
        self.at(self.now + PATIENCE, index, Incident::StoreReply(life, number, StoreReply::Unknown));
    }

    /// A request has come to the store, also if its server has given it up.
    fn arrive(&mut self, index: usize, request: &Request) {
        let answer = if 0 < self.busy {
            self.busy -= 1;
            self.seen.insert("busy");
            StoreReply::Busy
        } else {
            self.serve(index, request)
        };
        if matches!(request.order, Order::Commit(_))
            && self.servers[index].life == request.life
            && let Some(seconds) = self.servers[index].freezes_in_commit.take()
        {
            self.freeze(index, seconds);
        }
        if let Some(back) = request.back {
            self.at(self.now + back, index, Incident::StoreReply(request.life, request.number, answer));
        }
    }

    fn serve(&mut self, index: usize, request: &Request) -> StoreReply {
        let lease = |world: &mut Self| {
            let lease = request.lease.expect("only an owner asks for this");
            if world.breach == Breach::TokenIgnored { world.holder.unwrap_or(lease) } else { lease }
        };
        let done = |result: Result<(), StoreError>| match result {
            Ok(()) => StoreReply::Done,
            Err(_) => StoreReply::Fenced,
        };
        match &request.order {
            Order::Acquire => self.acquire(index),
            Order::Read => {
                let (jobs, paused) = self.disk.jobs().unwrap();
                let mut runs: Vec<mainspring_job::Run> = Vec::new();
                loop {
                    let page = self.disk.open_runs(runs.last().map(|run| &run.key), 4).unwrap();
                    if page.is_empty() {
                        break;
                    }
                    runs.extend(page);
                }
                StoreReply::Found(TakeoverState { jobs, paused, runs }.into())
            }
            Order::Commit(batch) => {
                let lease = lease(self);
                self.commit(lease, batch, request.lease.map_or(0, |lease| lease.epoch))
            }
            Order::Renew => {
                let lease = lease(self);
                done(self.disk.renew(lease).map(drop))
            }
            Order::Release => {
                let lease = lease(self);
                let released = self.disk.release(lease);
                if released.is_ok() {
                    self.log.push(Event::Released);
                }
                done(released)
            }
            Order::Load { up_to, limit } => {
                let first = OnceId::first_at(Timestamp::MIN);
                let pending = self.disk.load(first, *up_to, *limit).unwrap();
                let is_complete = pending.len() < *limit;
                StoreReply::Loaded(Input::Loaded { pending, is_complete }.into())
            }
            Order::LoadIds { after, up_to, limit } => {
                let ids = self.disk.load_ids(*after, *up_to, *limit).unwrap();
                let is_complete = ids.len() < *limit;
                StoreReply::Loaded(Input::LoadedIds { ids, is_complete }.into())
            }
        }
    }

    fn acquire(&mut self, index: usize) -> StoreReply {
        if self.breach == Breach::GivenWhileHeld {
            self.disk.lapse();
        }
        match self.disk.acquire(&Name::new(format!("server {index}"))) {
            Ok(lease) => {
                if lease.takeover == Takeover::Clean {
                    self.seen.insert("a clean takeover");
                } else {
                    self.seen.insert("an unclean takeover");
                    self.log.push(Event::Crashed { at: self.high_water });
                }
                self.silent.extend(lease.silent.map(|silent| (lease.epoch, silent)));
                let before = self.holder.replace(lease);
                if before.is_some_and(|before| lease.epoch <= before.epoch) {
                    self.wrong(format!("doubled: epoch {} is given twice", lease.epoch));
                }
                StoreReply::Lease(lease)
            }
            Err(_) => StoreReply::Busy,
        }
    }

    /// `of` is the epoch of who sent it.
    fn commit(&mut self, lease: Lease, batch: &Batch, of: u64) -> StoreReply {
        let name = (of, batch.number);
        let before = self.written.get(&name).cloned();
        let contents = before.as_ref().map(|_| self.contents());
        let Ok(committed) = self.disk.commit(lease, batch) else {
            if contents.is_some_and(|contents| contents != self.contents()) {
                self.wrong(format!("doubled: batch {name:?} was refused, and changed something"));
            }
            return StoreReply::Fenced;
        };
        if self.holder.is_some_and(|holder| holder.epoch != of) {
            self.wrong(format!("fenced: batch {name:?} was written after epoch {} began", lease.epoch));
        }
        if let Some(before) = before {
            self.seen.insert("a batch that came twice");
            if before != committed.answers || contents != Some(self.contents()) {
                self.wrong(format!("doubled: batch {name:?} was written twice"));
            }
            return StoreReply::Committed(batch.number, committed.answers);
        }
        self.written.insert(name, committed.answers.clone());
        for (operation, answer) in batch.operations.iter().cloned().zip(committed.answers.iter().copied()) {
            self.log.push(Event::Wrote { batch: name, operation, answer });
        }
        if batch.operations.iter().any(|operation| matches!(operation, Operation::Mark(_))) {
            self.check_watermarks();
        }
        StoreReply::Committed(batch.number, committed.answers)
    }

    /// A watermark only grows: no plan rewinds a job.
    fn check_watermarks(&mut self) {
        for record in self.disk.jobs().unwrap().0 {
            let mark = record.mark;
            let before = self.watermarks.insert(mark.job.clone(), mark.watermark);
            if before.is_some_and(|before| mark.watermark < before) {
                self.wrong(format!("doubled: the watermark of {} went back from {before:?}", mark.job));
            }
        }
    }

    /// All that the store holds, as text.
    fn contents(&mut self) -> String {
        let pending = self.disk.load(OnceId::first_at(Timestamp::MIN), Timestamp::MAX, 10_000).unwrap();
        let runs = self.disk.find(&mainspring_job::Query::new(10_000)).unwrap();
        format!("{:?} {pending:?} {runs:?}", self.disk.jobs().unwrap())
    }
}
