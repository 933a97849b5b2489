//! The order in which the operations of a batch are done: in groups, each one statement of a kind.
//!
//! ```text
//!  submit a, fire a, submit b, fire d, end c, move c, begin c
//!  ─▶ round 0: new [b]  open [a]  fire [d]  end [c]  move [c]      round 1: begin [c]
//! ```
//!
//! A submission that fires in the next operation is one thing with it, a run: nothing is kept of its wait, so
//! it is in no group, and was new.
//!
//! What touches nothing in common may be done in any order. An operation goes into the first round in which
//! its kind comes after the kinds of all before it that touch something of it. So the answers are those of
//! the order in the batch, and a batch of a busy planner is one round, or few.
//!
//! What cannot be told from the operation alone, such as which runs a prune drops, parts the batch: what
//! stands before it is done before, and what stands after it is done after.
//!
//! Cost: a look into a map for each thing that an operation touches.
//!
//! Does not read what is stored.

use std::collections::HashMap;

use mainspring_job::{JobName, OnceId, Operation, Run, RunKey};

/// The kinds, in the order in which a round does them: that of a life, so that many lives fit into one round.
/// A submission is new where nothing can be in its place, and a run is fired where only its own job can be:
/// so nothing is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OperationKind {
    New,
    Submit,
    Open,
    Fire,
    Plan,
    Withdraw,
    Begin,
    Clear,
    End,
    Move,
    Define,
    Mark,
    Rewind,
    Forget,
    Audit,
    Pause,
    Prune,
}

impl OperationKind {
    fn of(operation: &Operation, given: &mut GivenNumbers) -> OperationKind {
        match operation {
            Operation::Submit(once) => {
                let is_new = given.is_new(once.id) && once.key.is_none() && once.id.is_name(&once.name);
                if is_new { OperationKind::New } else { OperationKind::Submit }
            }
            Operation::Fire { id, run } if id.is_name(&run.key.job) => OperationKind::Fire,
            Operation::Fire { .. } | Operation::Plan(_) => OperationKind::Plan,
            Operation::Withdraw { .. } => OperationKind::Withdraw,
            Operation::Begin { .. } => OperationKind::Begin,
            Operation::Clear { .. } => OperationKind::Clear,
            Operation::End { .. } => OperationKind::End,
            Operation::Move { .. } => OperationKind::Move,
            Operation::Define { .. } => OperationKind::Define,
            Operation::Mark(_) => OperationKind::Mark,
            Operation::Rewind(_) => OperationKind::Rewind,
            Operation::Forget { .. } => OperationKind::Forget,
            Operation::Audit(_) => OperationKind::Audit,
            Operation::PauseAll(_) => OperationKind::Pause,
            Operation::Prune { .. } => OperationKind::Prune,
        }
    }

    /// As `commit` calls it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            OperationKind::New => "new",
            OperationKind::Submit => "submit",
            OperationKind::Open => "open",
            OperationKind::Fire => "fire",
            OperationKind::Plan => "plan",
            OperationKind::Withdraw => "withdraw",
            OperationKind::Begin => "begin",
            OperationKind::Clear => "clear",
            OperationKind::End => "end",
            OperationKind::Move => "move",
            OperationKind::Define => "define",
            OperationKind::Mark => "mark",
            OperationKind::Rewind => "rewind",
            OperationKind::Forget => "forget",
            OperationKind::Audit => "audit",
            OperationKind::Pause => "pause",
            OperationKind::Prune => "prune",
        }
    }

    /// Whether it parts a batch: it touches what only the database knows. Several of one kind that follow
    /// each other are done one after another.
    const fn is_parting(self) -> bool {
        matches!(self, OperationKind::Withdraw | OperationKind::Prune)
    }
}

/// The numbers that the planner of an epoch has given to one-shot jobs: each is greater than the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenNumbers {
    pub(super) epoch: u64,
    pub(super) last: u64,
}

impl GivenNumbers {
    /// Whether a number is given for the first time, with this.
    fn is_new(&mut self, id: OnceId) -> bool {
        let last = self.last;
        self.give(id);
        last < self.last
    }

    /// A submission of this id is on disk, or is to be.
    pub(super) fn give(&mut self, id: OnceId) {
        if id.epoch() == self.epoch {
            self.last = self.last.max(id.number);
        }
    }
}

/// Something that an operation touches.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Thing<'o> {
    /// A run, which a one-shot job of that name and time becomes.
    Run(&'o JobName, jiff::Timestamp, u32),
    Once(OnceId),
    /// The name that a person gave a pending job.
    Name(&'o JobName),
    Key(&'o str),
    /// How far a job is.
    Mark(&'o JobName),
    /// The row of a job, which comes with its first definition. Runs touch it too, and not each other by
    /// that.
    Job(&'o JobName),
}

/// Where an operation is done: in the order of rounds, and of kinds in each.
type Place = (usize, OperationKind);

/// Says of each thing when it was last touched.
#[derive(Default)]
struct TouchLog<'o> {
    last: HashMap<Thing<'o>, Place>,
    /// When something was last done to a run of a job.
    runs: HashMap<&'o JobName, Place>,
    /// What all that follows comes after.
    floor: Option<Place>,
    /// The last place of all.
    top: Option<Place>,
}

/// A group: operations by their indices in the batch, in that order.
pub(super) struct Group {
    pub(super) kind: OperationKind,
    pub(super) indices: Vec<usize>,
}

/// The groups of a batch, in the order in which they are done, where such numbers were given before.
pub(super) fn groups(operations: &[Operation], mut given: GivenNumbers) -> Vec<Group> {
    let mut touched = TouchLog::default();
    let mut placed: Vec<(Place, usize)> = Vec::with_capacity(operations.len());
    let mut opened = None;
    for (index, operation) in operations.iter().enumerate() {
        let kind = match OperationKind::of(operation, &mut given) {
            OperationKind::New if fires(operation, operations.get(index + 1)) => {
                opened = Some(index + 1);
                continue;
            }
            OperationKind::Fire if opened == Some(index) => OperationKind::Open,
            kind => kind,
        };
        placed.push((touched.place(operation, kind), index));
    }
    placed.sort_unstable();
    let mut groups: Vec<(Place, Group)> = Vec::new();
    for (place, index) in placed {
        match groups.last_mut() {
            Some((last, group)) if *last == place => group.indices.push(index),
            _ => groups.push((place, Group { kind: place.1, indices: vec![index] })),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Whether a submission becomes a run of its own name with what comes next.
fn fires(submit: &Operation, next: Option<&Operation>) -> bool {
    match (submit, next) {
        (Operation::Submit(once), Some(Operation::Fire { id, run })) => {
            once.id == *id && run.key.job == once.name
        }
        _ => false,
    }
}

impl<'o> TouchLog<'o> {
    /// Where an operation is done.
    fn place(&mut self, operation: &'o Operation, kind: OperationKind) -> Place {
        match kind {
            // They touch nothing else, and are done in their order.
            OperationKind::Audit | OperationKind::Pause => return (0, kind),
            _ if kind.is_parting() => {
                let place = match self.top {
                    Some(top) if top.1 == kind && self.floor == Some(top) => top,
                    last => after(last, kind),
                };
                (self.floor, self.top) = (Some(place), Some(place));
                return place;
            }
            _ => {}
        }
        let (things, of_job) = things(operation);
        let mut last = self.floor.max(of_job.and_then(|job| self.last.get(&Thing::Job(job)).copied()));
        for thing in things.iter().flatten() {
            last = last.max(self.last.get(thing).copied());
        }
        if let Operation::Define { mark, .. } = operation {
            last = last.max(self.runs.get(&mark.job).copied());
        }
        let place = after(last, kind);
        for thing in things.into_iter().flatten() {
            self.last.insert(thing, place);
        }
        if let Some(job) = of_job {
            let latest = self.runs.entry(job).or_insert(place);
            *latest = place.max(*latest);
        }
        self.top = self.top.max(Some(place));
        place
    }
}

/// The first place of a kind after another place.
fn after(last: Option<Place>, kind: OperationKind) -> Place {
    let place = match last {
        None => (0, kind),
        Some((round, before)) if before < kind => (round, kind),
        Some((round, _)) => (round + 1, kind),
    };
    debug_assert!(last < Some(place), "what touches the same is done later");
    place
}

/// What an operation touches, and the job whose run it is about.
fn things(operation: &Operation) -> ([Option<Thing<'_>>; 4], Option<&JobName>) {
    let run = |key: &RunKey| (key.nominal, key.series);
    match operation {
        Operation::Submit(once) => {
            let name = Some(&once.name).filter(|name| !once.id.is_name(name)).map(Thing::Name);
            let run = Thing::Run(&once.name, once.id.due, 0);
            ([Some(Thing::Once(once.id)), Some(run), name, once.key.as_deref().map(Thing::Key)], None)
        }
        Operation::Fire { id, run: fired } => {
            let (job, (nominal, series)) = (&fired.key.job, run(&fired.key));
            // A job with a name of its own becomes a run of that name, whatever the cause that it is given.
            let name = (!id.is_name(job)).then_some(Thing::Name(job));
            ([Some(Thing::Once(*id)), Some(Thing::Run(job, nominal, series)), name, None], Some(job))
        }
        Operation::Plan(Run { key, .. })
        | Operation::Begin { key, .. }
        | Operation::End { key, .. }
        | Operation::Clear { key, .. }
        | Operation::Move { key, .. } => {
            let (nominal, series) = run(key);
            ([Some(Thing::Run(&key.job, nominal, series)), None, None, None], Some(&key.job))
        }
        Operation::Define { mark, .. } => {
            ([Some(Thing::Mark(&mark.job)), Some(Thing::Job(&mark.job)), None, None], None)
        }
        Operation::Mark(mark) | Operation::Rewind(mark) => {
            ([Some(Thing::Mark(&mark.job)), None, None, None], None)
        }
        Operation::Forget { job, .. } => ([Some(Thing::Mark(job)), None, None, None], None),
        Operation::Withdraw { .. }
        | Operation::Prune { .. }
        | Operation::PauseAll(_)
        | Operation::Audit(_) => ([None, None, None, None], None),
    }
}

#[cfg(test)]
mod tests {
    use mainspring_job::jiff::Timestamp;
    use mainspring_job::{Action, Cause, Mark, Once, Run, RunState, Work};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn once(number: u64) -> Once {
        let id = OnceId { due: at(60), number: (1 << 40) + number };
        Once::new(id, at(0), Work::new(Action::new("mail", "{}").unwrap()))
    }

    fn fired(once: &Once) -> Operation {
        Operation::Fire { id: once.id, run: once.run(RunState::Queued, once.id.due, at(0)) }
    }

    fn key(job: &str, second: i64) -> RunKey {
        RunKey::new(job.parse().unwrap(), at(second))
    }

    fn planned(key: &RunKey) -> Operation {
        Operation::Plan(Run::new(key.clone(), Cause::Trigger, RunState::Queued, at(0), at(0)))
    }

    fn begun(key: &RunKey, attempt: u32) -> Operation {
        Operation::Begin { key: key.clone(), attempt, at: at(1), worker: None }
    }

    fn ended(key: &RunKey, attempt: u32) -> Operation {
        let (key, at) = (key.clone(), at(2));
        let state = RunState::Failed;
        Operation::End { key, attempt, state, at, outcome: None, crashes: 0, reason: None }
    }

    fn moved(key: &RunKey) -> Operation {
        let (from, to) = (RunState::Failed, RunState::Scheduled);
        Operation::Move { key: key.clone(), from, to, due: at(3), at: at(2), reason: None }
    }

    fn pruned(job: Option<&str>) -> Operation {
        Operation::Prune { job: job.map(|job| job.parse().unwrap()), keep: 1, before: at(0) }
    }

    /// Kinds with the places of their operations in the batch.
    fn shown(operations: &[Operation]) -> String {
        let given = GivenNumbers { epoch: 1, last: 0 };
        let groups = groups(operations, given).into_iter();
        groups.map(|group| format!("{} {:?}", group.kind.name(), group.indices)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn lives_that_share_nothing_are_one_round_and_an_attempt_after_another_is_a_second() {
        let (a, b, c) = (once(1), once(2), key("c", 1));
        let submit = |once: &Once| Operation::Submit(once.clone());
        let batch = [submit(&a), submit(&b), fired(&a), ended(&c, 1), moved(&c)];
        assert_eq!(shown(&batch), "new [0, 1] fire [2] end [3] move [4]");
        let at_once = [submit(&a), fired(&a), submit(&b), fired(&b), begun(&key("d", 1), 1)];
        assert_eq!(shown(&at_once), "open [1, 3] begin [4]", "a submission that fires at once is its run");
        let again = [ended(&c, 1), moved(&c), begun(&c, 2), ended(&c, 2), begun(&key("d", 1), 1)];
        assert_eq!(shown(&again), "begin [4] end [0] move [1] begin [2] end [3]");
        let twice = [begun(&c, 1), begun(&c, 1), planned(&c)];
        assert_eq!(shown(&twice), "begin [0] begin [1] plan [2]");
    }

    #[test]
    fn a_prune_parts_a_batch_and_others_beside_it_do_not_wait_for_each_other() {
        let (c, d) = (key("c", 1), key("d", 1));
        let batch = [ended(&c, 1), pruned(Some("c")), pruned(None), ended(&d, 1), planned(&key("c", 2))];
        assert_eq!(shown(&batch), "end [0] prune [1, 2] plan [4] end [3]");
    }

    #[test]
    fn only_what_nothing_can_stand_in_the_place_of_is_new() {
        let named = |number| {
            let mut once = once(number);
            once.name = "named".parse().unwrap();
            once
        };
        let keyed = |number| {
            let mut once = once(number);
            once.key = Some("k".to_owned());
            Operation::Submit(once)
        };
        let mut earlier = once(4);
        earlier.id.number = 7;
        let drawn = |random| {
            let id = OnceId::drawn(at(60), random);
            Operation::Submit(Once::new(id, at(0), once(1).work))
        };
        let [first, again] = [once(1), once(1)].map(Operation::Submit);
        let all = [first, again, Operation::Submit(named(2)), keyed(3), Operation::Submit(earlier), drawn(5)];
        assert_eq!(shown(&all), "new [0] submit [1, 2, 3, 4, 5]");
        assert_eq!(shown(&[drawn(9), Operation::Submit(once(1))]), "new [1] submit [0]");
        // A name and a key that were taken in the batch are, whatever comes between.
        let more = [Operation::Submit(named(8)), fired(&named(8)), Operation::Submit(named(10))];
        assert_eq!(shown(&more), "submit [0] plan [1] submit [2]");
        assert_eq!(shown(&[keyed(9), keyed(11)]), "submit [0] submit [1]");
    }

    #[test]
    fn a_definition_comes_after_the_runs_before_it_and_before_those_after_it() {
        let mark = Mark::new("c".parse().unwrap(), at(0), "@daily".to_owned());
        let define = Operation::Define { mark: mark.clone(), source: String::new(), text: String::new() };
        let batch = [ended(&key("c", 1), 1), define, Operation::Mark(mark), ended(&key("c", 2), 1)];
        assert_eq!(shown(&batch), "end [0] define [1] mark [2] end [3]");
    }
}
