//! The model, and what is found in it: see `main.rs`.

use stateright::{Checker, HasDiscoveries, Model, Property};

const OWNERS: usize = 2;
/// A third adds a minute of states, and no law that two keep is broken by it.
const RUNS: usize = 2;
/// Attempts of a run, acquisitions, batches of one owner in one term, and requests on their way: with a third
/// acquisition the states are too many for a test.
const MAX_ATTEMPTS: u8 = 2;
const MAX_EPOCHS: u8 = 2;
const MAX_NUMBER: u8 = 3;
const MAX_ON_THE_WAY: usize = 2;

/// What the database checks of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fence {
    /// Epoch and token, and that the number is the last or the one after it.
    Whole,
    EpochAlone,
    /// Epoch and token; any number that is not lower than the last is done.
    NoLower,
    /// Epoch and token; any number but the last is done.
    AnyNumber,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stands {
    Absent,
    /// So many attempts have been.
    Pending(u8),
    Running(u8),
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Deed {
    Submit,
    Begin(u8),
    End(u8),
    Abandon(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Request {
    owner: usize,
    epoch: u8,
    token: u8,
    number: u8,
    run: usize,
    deed: Deed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Database {
    epoch: u8,
    token: u8,
    /// The lease lasts: no other server gets the lease.
    is_held: bool,
    number: u8,
    runs: [Stands; RUNS],
    /// How many start records each attempt has.
    starts: [[u8; MAX_ATTEMPTS as usize]; RUNS],
    /// The highest number that was done in this term.
    highest: u8,
    /// A batch was done a second time.
    is_doubled: bool,
    /// A batch was done whose predecessor is missing.
    has_gap: bool,
    /// One wrote that had not taken the lease last.
    is_intruded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Owner {
    /// Epoch and token, as far as it knows.
    fence: Option<(u8, u8)>,
    number: u8,
    /// What it sent and has no answer to.
    sent: Option<Request>,
    /// What it knows of the runs.
    view: Vec<Stands>,
    /// The runs that it started itself.
    started: [bool; RUNS],
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    database: Database,
    /// What the standby has; `None` after the failover.
    standby: Option<Box<Database>>,
    owners: [Owner; OWNERS],
    on_the_way: Vec<Request>,
    acknowledged: [bool; RUNS],
    tokens: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    /// The lease runs out, by the database's clock.
    Lapse,
    Acquire(usize),
    Send(usize, usize),
    SendAgain(usize),
    Arrive(Request, Answer),
    /// It is forgotten by the network.
    Vanish(Request),
    Crash(usize),
    Replicate,
    Failover,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Answer {
    Comes,
    IsLost,
}

struct Protocol {
    fence: Fence,
    /// The standby lags, and may become the database once.
    has_failover: bool,
}

impl Database {
    fn admits(&self, request: &Request, fence: Fence) -> bool {
        let is_token = fence == Fence::EpochAlone || request.token == self.token;
        let is_in_order = match fence {
            Fence::AnyNumber => true,
            Fence::NoLower => self.number <= request.number,
            Fence::Whole | Fence::EpochAlone => {
                request.number == self.number || request.number == self.number + 1
            }
        };
        request.epoch == self.epoch && is_token && is_in_order
    }

    /// Does a request that is admitted.
    fn commit(&mut self, request: &Request) {
        self.is_held = true;
        self.is_intruded |= request.token != self.token;
        if request.number == self.number {
            return;
        }
        self.is_doubled |= request.number <= self.highest;
        self.has_gap |= self.number + 1 < request.number;
        self.number = request.number;
        self.highest = self.highest.max(request.number);
        let stands = &mut self.runs[request.run];
        match (request.deed, *stands) {
            (Deed::Submit, Stands::Absent) => *stands = Stands::Pending(0),
            (Deed::Begin(attempt), Stands::Pending(been)) if attempt == been + 1 => {
                *stands = Stands::Running(attempt);
                self.starts[request.run][usize::from(been)] += 1;
            }
            (Deed::End(attempt), Stands::Running(running)) if attempt == running => *stands = Stands::Ended,
            (Deed::Abandon(attempt), Stands::Running(running)) if attempt == running => {
                *stands = if attempt < MAX_ATTEMPTS { Stands::Pending(attempt) } else { Stands::Ended };
            }
            _ => {}
        }
    }
}

impl Owner {
    /// What it does next with a run, by what it knows.
    fn next(&self, run: usize) -> Option<Deed> {
        match *self.view.get(run)? {
            // The runs are alike: they are submitted in their order.
            Stands::Absent if run == 0 || self.view[run - 1] != Stands::Absent => Some(Deed::Submit),
            Stands::Absent | Stands::Ended => None,
            Stands::Pending(been) => Some(Deed::Begin(been + 1)),
            Stands::Running(attempt) if self.started[run] => Some(Deed::End(attempt)),
            Stands::Running(attempt) => Some(Deed::Abandon(attempt)),
        }
    }
}

impl Model for Protocol {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let database = Database {
            epoch: 0,
            token: 0,
            is_held: false,
            number: 0,
            runs: [Stands::Absent; RUNS],
            starts: [[0; MAX_ATTEMPTS as usize]; RUNS],
            highest: 0,
            is_doubled: false,
            has_gap: false,
            is_intruded: false,
        };
        vec![State {
            standby: self.has_failover.then(|| Box::new(database.clone())),
            database,
            owners: Default::default(),
            on_the_way: Vec::new(),
            acknowledged: [false; RUNS],
            tokens: 0,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.database.is_held {
            steps.push(Step::Lapse);
        }
        for (index, owner) in state.owners.iter().enumerate() {
            if owner.fence.is_none() {
                // The owners are alike: the first one begins.
                let may = index == 0 || 0 < state.tokens;
                if may && !state.database.is_held && state.tokens < MAX_EPOCHS {
                    steps.push(Step::Acquire(index));
                }
                continue;
            }
            steps.push(Step::Crash(index));
            let has_room = state.on_the_way.len() < MAX_ON_THE_WAY;
            match &owner.sent {
                // The first may be on its way still: it is then there twice.
                Some(_) if has_room => steps.push(Step::SendAgain(index)),
                None if has_room && owner.number < MAX_NUMBER => {
                    let may = |run: &usize| owner.next(*run).is_some();
                    steps.extend((0..RUNS).filter(may).map(|run| Step::Send(index, run)));
                }
                _ => {}
            }
        }
        for request in &state.on_the_way {
            let answers = [Answer::Comes, Answer::IsLost];
            steps.extend(answers.map(|answer| Step::Arrive(*request, answer)));
            steps.push(Step::Vanish(*request));
        }
        if let Some(standby) = &state.standby {
            steps.push(Step::Failover);
            if **standby != state.database {
                steps.push(Step::Replicate);
            }
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Lapse => next.database.is_held = false,
            Step::Acquire(index) => {
                next.tokens += 1;
                let database = &mut next.database;
                (database.epoch, database.token, database.is_held) = (database.epoch + 1, next.tokens, true);
                (database.number, database.highest) = (0, 0);
                let (fence, view) = (Some((database.epoch, database.token)), database.runs.to_vec());
                next.owners[index] = Owner { fence, view, ..Owner::default() };
            }
            Step::Send(index, run) => {
                let owner = &mut next.owners[index];
                let ((epoch, token), deed) = (owner.fence?, owner.next(run)?);
                owner.number += 1;
                let request = Request { owner: index, epoch, token, number: owner.number, run, deed };
                owner.sent = Some(request);
                next.on_the_way.push(request);
            }
            Step::SendAgain(index) => next.on_the_way.extend(next.owners[index].sent),
            Step::Vanish(request) => next.take(&request),
            Step::Arrive(request, answer) => {
                next.take(&request);
                next.arrive(&request, answer, self.fence);
            }
            Step::Crash(index) => next.owners[index] = Owner::default(),
            Step::Replicate => next.standby = Some(Box::new(next.database.clone())),
            Step::Failover => next.database = *next.standby.take()?,
        }
        next.on_the_way.sort_unstable();
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always(ONE_START, |_, state| {
                state.database.starts.iter().flatten().all(|count| *count <= 1)
            }),
            Property::<Self>::always(ONE_WRITER, |_, state| !state.database.is_intruded),
            Property::<Self>::always(ONCE, |_, state| !state.database.is_doubled),
            Property::<Self>::always(WHOLE, |_, state| !state.database.has_gap),
            Property::<Self>::always(KEPT, |_, state| {
                let is_there = |(run, acknowledged): (usize, &bool)| {
                    !acknowledged || state.database.runs[run] != Stands::Absent
                };
                state.acknowledged.iter().enumerate().all(is_there)
            }),
            Property::<Self>::sometimes(ALL_ENDED, |_, state| {
                state.database.runs.iter().filter(|run| **run == Stands::Ended).count() == 1
            }),
            Property::<Self>::sometimes(AGAIN, |_, state| state.database.starts[0] == [1, 1]),
        ]
    }
}

impl State {
    /// One of the requests that are alike is not on its way any more.
    fn take(&mut self, request: &Request) {
        if let Some(index) = self.on_the_way.iter().position(|other| other == request) {
            self.on_the_way.remove(index);
        }
    }

    fn arrive(&mut self, request: &Request, answer: Answer, fence: Fence) {
        let owner = &mut self.owners[request.owner];
        let is_awaited = owner.sent == Some(*request) && answer == Answer::Comes;
        if !self.database.admits(request, fence) {
            if is_awaited {
                // Another has the lease: it stops at once.
                *owner = Owner::default();
            }
            return;
        }
        self.database.commit(request);
        if is_awaited {
            owner.sent = None;
            // What the owner plans on: its own record of the run.
            owner.view[request.run] = self.database.runs[request.run];
            owner.started[request.run] = matches!(request.deed, Deed::Begin(_));
            self.acknowledged[request.run] |= request.deed == Deed::Submit;
        }
    }
}

const ONE_START: &str = "one start record for each attempt";
const ONE_WRITER: &str = "only the owner that took the lease last writes";
const ONCE: &str = "a batch is done once";
const WHOLE: &str = "no batch is done whose predecessor is missing";
const KEPT: &str = "what was acknowledged is there";
const ALL_ENDED: &str = "a run ends";
const AGAIN: &str = "a run is tried again by another owner";

/// The laws that do not hold, by their names.
fn broken(protocol: Protocol) -> Vec<&'static str> {
    let checker = protocol.checker().threads(2).spawn_bfs().join();
    println!("{} states", checker.unique_state_count());
    for name in [ALL_ENDED, AGAIN] {
        assert!(checker.discovery(name).is_some(), "{name}");
    }
    let laws = [ONE_START, ONE_WRITER, ONCE, WHOLE, KEPT];
    laws.into_iter().filter(|name| checker.discovery(name).is_some()).collect()
}

#[test]
fn all_laws_hold_without_a_failover() {
    assert_eq!(broken(Protocol { fence: Fence::Whole, has_failover: false }), [] as [&str; 0]);
}

#[test]
fn a_failover_to_a_standby_that_lags_loses_what_was_acknowledged_and_breaks_no_other_law() {
    assert_eq!(broken(Protocol { fence: Fence::Whole, has_failover: true }), [KEPT]);
}

/// Looks no further than to the first state that breaks a law, where it is known that one does.
fn breaks(protocol: Protocol, law: &'static str) -> bool {
    let first = HasDiscoveries::AllOf([law].into());
    let checker = protocol.checker().threads(2).finish_when(first).spawn_bfs().join();
    checker.discovery(law).is_some()
}

#[test]
fn a_fence_by_the_epoch_alone_lets_two_write_after_a_failover() {
    assert!(breaks(Protocol { fence: Fence::EpochAlone, has_failover: true }, ONE_WRITER));
}

#[test]
fn a_late_batch_is_done_twice_where_any_number_is_taken() {
    assert!(breaks(Protocol { fence: Fence::AnyNumber, has_failover: false }, ONCE));
}

#[test]
fn a_batch_is_done_without_its_predecessor_where_any_higher_number_is_taken() {
    assert!(breaks(Protocol { fence: Fence::NoLower, has_failover: true }, WHOLE));
    let lasting = Protocol { fence: Fence::NoLower, has_failover: false };
    assert!(!breaks(lasting, WHOLE), "without a failover nothing is lost in between");
}
