//! The world of a simulation: a planner, its store, runs with an end, and a clock that jumps.
//!
//! ```text
//! elapsed   0 ───────────────────────────▶      runs take time by this one: it is never set
//! wall      from ─────▶ set ·····▶ ───────▶     the planner is told this one, as a server's is
//! ```
//!
//! At one moment runs end first, then the clock is set or the server dies, then the planner looks. So a run
//! that ends as the next one is due is not in its way.
//!
//! Cost: one look at the planner per moment, and one small batch per change.
//!
//! Does not sleep, and does not read a clock.

use std::collections::{BTreeMap, HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    AttemptEnd, Command, Definitions, Input, JobName, Lease, Limits, MAX_PAGE, MemoryStore, Note, Output,
    Owner, Planner, Prune, Reader, Reply, RunKey, Start, Store, Ticket, Worker, WorkerEvent, WorkerId, turn,
};

use super::tally::{Event, JobEvent, Outcome, Tally};
use super::{ClockSet, Outage, Scenario};
use mainspring_exec::executor::MAX_RUNNING;

/// The source that all jobs of a simulation have.
const SOURCE: &str = "simulation";

/// How often the planner may look at one moment. A look handles hundreds of jobs, and there are at most a
/// hundred thousand.
const MAX_LOOKS_AT_ONE_MOMENT: usize = 100_000;

/// A point of elapsed time, and a number that keeps equals apart.
type End = (SignedDuration, u64);

/// A run that has started and will end.
struct Running {
    key: RunKey,
    attempt: u32,
    is_timed_out: bool,
    has_duration: bool,
}

/// Something that happens to the server or its clock.
#[derive(Clone, Copy)]
enum Incident {
    Off(Outage),
    Set(ClockSet),
}

impl Incident {
    fn at(self) -> Timestamp {
        match self {
            Incident::Off(outage) => outage.from,
            Incident::Set(set) => set.at,
        }
    }
}

pub(super) struct World<'s> {
    scenario: &'s Scenario,
    index_of: HashMap<JobName, usize>,
    planner: Planner,
    store: MemoryStore,
    lease: Lease,
    wall: Timestamp,
    elapsed: SignedDuration,
    running: BTreeMap<End, Running>,
    start_count: u64,
    incidents: VecDeque<Incident>,
    tally: Tally,
}

impl<'s> World<'s> {
    /// A world at the scenario's first moment, or at the end of an outage then, with its server started.
    pub(super) fn new(scenario: &'s Scenario) -> World<'s> {
        debug_assert!(scenario.from < scenario.to, "the command line was refused otherwise");
        debug_assert!(scenario.outages.iter().all(|outage| outage.from < outage.to));
        let names = scenario.jobs.iter().map(|simulated| simulated.job.name.clone());
        let mut outages = outages(scenario);
        let first = outages.pop_front_if(|outage| outage.from <= scenario.from);
        let sets = scenario.clock_sets.iter().filter(|set| scenario.from <= set.at);
        let mut incidents: Vec<Incident> =
            outages.into_iter().map(Incident::Off).chain(sets.copied().map(Incident::Set)).collect();
        incidents.sort_by_key(|incident| incident.at());
        let mut store = MemoryStore::new();
        let lease = store.acquire(&Owner::new(SOURCE)).expect("a store of our own is free");
        let mut world = World {
            scenario,
            index_of: names.enumerate().map(|(index, name)| (name, index)).collect(),
            planner: Planner::new(lease.epoch, Limits::default()),
            store,
            lease,
            // What is due at the first moment is due after the definitions are known.
            wall: scenario.from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(scenario.from),
            elapsed: SignedDuration::ZERO,
            running: BTreeMap::new(),
            start_count: 0,
            incidents: incidents.into(),
            tally: Tally::new(scenario),
        };
        world.define();
        assert_eq!(world.index_of.len(), scenario.jobs.len(), "the planner refuses a name that two have");
        world.wall = first.map_or(scenario.from, |outage| outage.to);
        world.begin();
        world
    }

    pub(super) fn run(mut self) -> Outcome {
        while self.wall < self.scenario.to {
            self.look();
            let next = self.next_moment();
            if self.scenario.events_max <= self.tally.event_count() {
                return Outcome { is_cut_short: true, ..self.tally.finish(self.wall) };
            }
            let Some(next) = next.filter(|next| *next < self.scenario.to) else { break };
            self.advance(next);
            self.end_runs();
            if let Some(incident) = self.incidents.pop_front_if(|incident| incident.at() <= self.wall) {
                self.befall(incident);
            }
        }
        self.tally.finish(self.scenario.to)
    }

    /// The next moment at which anything happens, by the clock as it stands.
    fn next_moment(&self) -> Option<Timestamp> {
        let end = self.running.keys().next().map(|(end, _)| self.wall_at(*end));
        let incident = self.incidents.front().map(|incident| incident.at());
        let next = [self.planner.next_due(), end, incident].into_iter().flatten().min();
        next.map(|next| next.max(self.wall))
    }

    fn wall_at(&self, elapsed: SignedDuration) -> Timestamp {
        debug_assert!(self.elapsed <= elapsed, "what should have ended has");
        self.wall.checked_add(elapsed - self.elapsed).unwrap_or(Timestamp::MAX)
    }

    fn advance(&mut self, to: Timestamp) {
        debug_assert!(self.wall <= to, "the clock runs forward unless it is set");
        self.elapsed += to.duration_since(self.wall);
        self.wall = to;
    }

    /// Lets the planner look until it has nothing to do at this moment.
    fn look(&mut self) {
        for _ in 0..MAX_LOOKS_AT_ONE_MOMENT {
            if self.planner.next_due().is_none_or(|due| self.wall < due)
                || self.scenario.events_max <= self.tally.event_count()
            {
                return;
            }
            self.tell(Input::Tick);
        }
        unreachable!("the planner ends its work at a moment");
    }

    fn end_runs(&mut self) {
        while let Some(entry) = self.running.first_entry().filter(|entry| entry.key().0 <= self.elapsed) {
            let Running { key, attempt, is_timed_out, .. } = entry.remove();
            let outcome = match is_timed_out {
                true => mainspring_job::Outcome::TimedOut,
                false => mainspring_job::Outcome::Succeeded,
            };
            if is_timed_out {
                self.record(&key, JobEvent::TimedOut);
            }
            self.tell(Input::Ended(AttemptEnd::new(key, attempt, outcome)));
        }
    }

    fn befall(&mut self, incident: Incident) {
        match incident {
            Incident::Set(set) => self.wall = set.to,
            Incident::Off(outage) => {
                self.running.clear();
                self.advance(outage.to.max(self.wall));
                self.boot();
            }
        }
    }

    /// A new server on the store of the one that died, on a machine that went on.
    fn boot(&mut self) {
        self.lease = self.store.acquire(&Owner::new(SOURCE)).expect("the owner before is dead");
        self.planner = Planner::new(self.lease.epoch, Limits::default());
        self.planner.set_machine_start(Timestamp::MIN);
        let (jobs, paused) = self.store.jobs().expect("memory can be read");
        let mut runs = self.store.open_runs(None, MAX_PAGE).expect("memory can be read");
        self.tell(Input::Restore { jobs, former: Vec::new(), runs: runs.clone(), paused: paused.clone() });
        while runs.len() == MAX_PAGE {
            let last = runs.last().map(|run| run.key.clone());
            runs = self.store.open_runs(last.as_ref(), MAX_PAGE).expect("memory can be read");
            self.tell(Input::Restore {
                jobs: Vec::new(),
                former: Vec::new(),
                runs: runs.clone(),
                paused: paused.clone(),
            });
        }
        self.define();
        self.begin();
    }

    /// Starts the server, unless what is simulated is over by then.
    fn begin(&mut self) {
        if self.wall < self.scenario.to {
            self.tell(own_worker(self.lease));
            self.tell(Input::Begin { takeover: self.lease.takeover });
        }
    }

    /// Gives the planner the jobs.
    fn define(&mut self) {
        let jobs = self.scenario.jobs.iter().map(|simulated| simulated.job.clone()).collect();
        let groups = self.scenario.groups.clone();
        let definitions = Definitions::new(SOURCE, jobs).with_groups(groups).with_prune(Prune::Remove);
        let replies = self.tell(Input::Command { ticket: Ticket(1), command: Command::Apply(definitions) });
        let [Reply::Applied(applied)] = replies.as_slice() else { unreachable!("every command has a reply") };
        assert!(applied.refused.is_empty(), "two jobs have one name: {:?}", applied.refused);
    }

    /// Tells the planner a fact, commits what it decides, and does what it wants done.
    fn tell(&mut self, input: Input) -> Vec<Reply> {
        let mut inputs = VecDeque::from([input]);
        let mut replies = Vec::new();
        while let Some(input) = inputs.pop_front() {
            let outputs = turn(&mut self.planner, &mut self.store, self.lease, self.wall, input);
            for output in outputs.expect("memory is never full") {
                match output {
                    Output::Start(start) => self.start(&start),
                    Output::Kill { key, attempt, .. } => inputs.extend(self.kill(key, attempt)),
                    Output::Reply { reply, .. } => replies.push(reply),
                    Output::Note(note) => self.note(&note),
                    Output::Load { .. } | Output::LoadIds { .. } | Output::CheckBatch { .. } => {
                        unreachable!("a turn answers them")
                    }
                }
            }
        }
        replies
    }

    fn start(&mut self, start: &Start) {
        let Some(&job_index) = self.index_of.get(&start.key.job) else { return };
        self.record(&start.key, JobEvent::Started { attempt: start.attempt });
        let duration = self.scenario.jobs[job_index].duration;
        let length = duration.unwrap_or_default();
        let timeout = start.work.policies.timeout.after.filter(|timeout| *timeout < length);
        let length = SignedDuration::try_from(timeout.unwrap_or(length)).unwrap_or(SignedDuration::MAX);
        self.start_count += 1;
        let end = (self.elapsed.saturating_add(length), self.start_count);
        let running = Running {
            key: start.key.clone(),
            attempt: start.attempt,
            is_timed_out: timeout.is_some(),
            has_duration: duration.is_some(),
        };
        let has_duration = running.has_duration;
        self.running.insert(end, running);
        debug_assert!(self.running.len() <= MAX_RUNNING, "a worker has no more places");
        if has_duration {
            let count = self.running.values().filter(|running| running.has_duration).count();
            self.tally.running(self.wall, count);
        }
    }

    /// Ends a run at once, as a process ends that takes its signal.
    fn kill(&mut self, key: RunKey, attempt: u32) -> Option<Input> {
        let is_meant = |running: &Running| running.key == key && running.attempt == attempt;
        let end = self.running.iter().find_map(|(end, running)| is_meant(running).then_some(*end))?;
        self.running.remove(&end);
        self.record(&key, JobEvent::Killed);
        Some(Input::Ended(AttemptEnd::new(key, attempt, mainspring_job::Outcome::Killed)))
    }

    fn note(&mut self, note: &Note) {
        match note {
            Note::Missed { key, count, .. } => self.record(key, JobEvent::Missed { count: *count }),
            Note::Skipped { key, .. } => self.record(key, JobEvent::Skipped),
            Note::Abandoned { key, .. } => self.record(key, JobEvent::Abandoned),
            _ => {}
        }
    }

    fn record(&mut self, key: &RunKey, what: JobEvent) {
        if let Some(&job_index) = self.index_of.get(&key.job) {
            self.tally.add(Event { time: self.wall, job_index, nominal: key.nominal, what });
        }
    }
}

/// The outages that are not over at the first moment. Those that meet are one.
fn outages(scenario: &Scenario) -> VecDeque<Outage> {
    let mut outages = scenario.outages.clone();
    outages.retain(|outage| scenario.from < outage.to);
    outages.sort_by_key(|outage| outage.from);
    outages.dedup_by(|next, last| {
        let is_met = next.from <= last.to;
        last.to = if is_met { last.to.max(next.to) } else { last.to };
        is_met
    });
    outages.into()
}

/// The one worker of the server that has a lease, as large as that of `serve`.
fn own_worker(lease: Lease) -> Input {
    Input::Worker(WorkerEvent::Present(Worker::new(WorkerId(lease.epoch), SOURCE, MAX_RUNNING)))
}
