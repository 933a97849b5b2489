//! The ledger: what is to be written, and what waits until it is.
//!
//! ```text
//!  sent:  batch 7 [effect, ..], batch 8 [effect, ..]                              taken, not committed yet
//!  open:  [operation, operation] [operation] ..   units; a batch ends between two
//!         [effect after 2, effect after 3, ..]    each waits for so many operations
//! ```
//!
//! An effect waits for every operation that was recorded before it; one that depends on the answer of an
//! operation waits for that one alone. When nothing is open and nothing is on its way, it is released at
//! once. An operation that is open can be amended: a run that is recorded as queued and starts before the
//! record is taken is recorded as running.
//!
//! Cost: O(1) for each operation and effect, and O(effects that wait) for a batch.

use std::collections::{BTreeMap, VecDeque};

use crate::audit::Audit;
use crate::holder::Holder;
use crate::input::{RunRequest, Ticket};
use crate::name::JobName;
use crate::once::{Once, OnceId, Submission};
use crate::operation::{Answer, Batch, MAX_BATCH_OPERATIONS, Operation};
use crate::output::{Output, Reply, Start};
use crate::refusal::Refusal;
use crate::run::{Run, RunKey};

/// Where an operation stands, counted from the first that was ever recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position(u64);

/// What the planner does with the answer to an operation.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// A record of this run: if it is refused, the run is not ours.
    Run(RunKey),
    /// The first record of a run whose name is a number: if the store knows the name, the run gets another.
    Numbered(Box<Run>),
    /// A one-shot job: if it is new, it is due or may be near.
    Submitted(Box<Once>),
    /// A one-shot job that is no more.
    Withdrawn(OnceId),
    /// A dead letter that is open again, if it was one.
    Revived(Box<Run>),
    /// A history that is looked at: that of all one-shot jobs without a name.
    Looked(Option<JobName>),
}

#[derive(Debug)]
struct Effect {
    /// Happens when everything before this place is on disk.
    after: Position,
    /// Happens only if that operation was new; else `fallback` does.
    needs: Option<Position>,
    output: Output,
    fallback: Fallback,
}

/// What happens instead of an effect whose operation was not new.
#[derive(Debug)]
pub(super) enum Fallback {
    /// Nothing happens.
    Nothing,
    /// Another answer to the same command.
    Reply(Reply),
    /// The answer to a submission says what has its key or its name, given what was asked for.
    Duplicate(Box<Submission>),
    /// The answer to a run that was asked for under a key says which run has that key.
    KnownRun(Box<KeyedRequest>),
    /// The run gets another name, and then its own answer.
    AnotherName,
}

/// A run that was asked for under a key.
#[derive(Debug)]
pub(super) struct KeyedRequest {
    pub(super) ticket: Ticket,
    pub(super) request: RunRequest,
    /// The name that it was given.
    pub(super) run: RunKey,
    /// The operation that is to reserve the key.
    pub(super) reserved: Position,
}

/// What the store found where the planner wants to know.
#[derive(Debug)]
pub(super) struct SubjectAnswer {
    pub(super) position: Position,
    pub(super) subject: Subject,
    pub(super) answer: Answer,
    /// Who asked for it and has no reply, as the answer was not that it is new.
    pub(super) ticket: Option<Ticket>,
}

#[derive(Debug)]
struct SentBatch {
    number: u64,
    /// The place of its first operation.
    first: Position,
    subjects: Vec<(Position, Subject)>,
    effects: Vec<Effect>,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// In no batch yet.
    operations: VecDeque<Operation>,
    /// How many were taken before those.
    taken_count: u64,
    /// Places at which a batch may end, in order.
    ends: VecDeque<Position>,
    subjects: VecDeque<(Position, Subject)>,
    effects: Vec<Effect>,
    sent: VecDeque<SentBatch>,
    /// The number of the last batch that was taken.
    number: u64,
    /// The caller of the next command.
    audit: Option<Audit>,
    /// What has the keys and names that submissions of the next batch found taken, by their places in it.
    holders: BTreeMap<usize, Holder>,
    /// Runs whose names the store knew: they are asked for again.
    again: Vec<KeyedRequest>,
}

impl Ledger {
    /// Has an operation written.
    pub(super) fn record(&mut self, operation: Operation) -> Position {
        let place = self.end();
        self.operations.push_back(operation);
        place
    }

    /// Has an operation written, and wants its answer looked at.
    pub(super) fn record_for(&mut self, operation: Operation, subject: Subject) -> Position {
        let place = self.record(operation);
        self.subjects.push_back((place, subject));
        place
    }

    /// The latest record of a run, unless it is in a batch already.
    pub(super) fn record_of(&self, key: &RunKey) -> Option<Position> {
        let is_of = |subject: &Subject| match subject {
            Subject::Run(of) => of == key,
            Subject::Numbered(run) => run.key == *key,
            _ => false,
        };
        self.subjects.iter().rev().find(|(_, subject)| is_of(subject)).map(|(place, _)| *place)
    }

    /// An operation that is in no batch yet, to be changed. `None` if it was taken.
    pub(super) fn open(&mut self, place: Position) -> Option<&mut Operation> {
        self.operations.get_mut(index(self.taken_count, place)?)
    }

    /// What was recorded so far, and not before, may be in one batch and what follows in the next.
    pub(super) fn end_unit(&mut self) {
        let end = self.end();
        if self.ends.back() != Some(&end) && !self.operations.is_empty() {
            self.ends.push_back(end);
        }
    }

    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Whether there is as much to write as one batch holds.
    pub(super) fn is_full(&self) -> bool {
        MAX_BATCH_OPERATIONS <= self.operations.len()
    }

    /// The place after the last operation.
    fn end(&self) -> Position {
        Position(self.taken_count + u64::try_from(self.operations.len()).expect("a length fits"))
    }

    /// Has something done when all that was recorded before is on disk.
    pub(super) fn perform(&mut self, output: Output) {
        let after = self.end();
        self.effects.push(Effect { after, needs: None, output, fallback: Fallback::Nothing });
    }

    /// Has something done when an operation was new.
    pub(super) fn perform_if_new(&mut self, place: Position, output: Output, fallback: Fallback) {
        debug_assert!(self.taken_count <= place.0, "what an effect rests on is in its batch");
        debug_assert!(place < self.end(), "what an effect rests on was recorded");
        let after = Position(place.0 + 1);
        self.effects.push(Effect { after, needs: Some(place), output, fallback });
    }

    /// Somebody asks for something with the next command.
    pub(super) fn begin_audit(&mut self, audit: Audit) {
        self.audit = Some(audit);
    }

    /// That command was obeyed, or refused: who asked is written with it unless it was.
    pub(super) fn end_audit(&mut self, ticket: Ticket) {
        if let Some(audit) = self.audit.take().filter(|_| !self.has_refused(ticket)) {
            self.record(Operation::Audit(audit));
            let end = self.end();
            if let Some(effect) = self.effects.last_mut() {
                // The answer says that all of it is on disk.
                effect.after = end;
            }
        }
    }

    /// Whether the last effect is a refusal of this command.
    fn has_refused(&self, command: Ticket) -> bool {
        let last = self.effects.last().map(|effect| &effect.output);
        matches!(last, Some(Output::Reply { ticket, reply: Reply::Refused(_) }) if *ticket == command)
    }

    /// The operations that come next: whole units, as many as a batch holds.
    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        if self.operations.is_empty() {
            return None;
        }
        self.end_unit();
        let first = Position(self.taken_count);
        let most = Position(self.taken_count + u64::try_from(MAX_BATCH_OPERATIONS).expect("it is small"));
        let fitting = self.ends.iter().take_while(|end| **end <= most).count().max(1);
        let end = self.ends.drain(..fitting).next_back().expect("there is an operation, and so a unit");
        let count = usize::try_from(end.0 - first.0).expect("as many are open");
        assert!(count <= MAX_BATCH_OPERATIONS, "what belongs together fits into one batch");
        assert!(0 < count, "a batch has something to write");
        debug_assert!(self.ends.front().is_none_or(|next| end < *next), "each unit has an operation");
        self.taken_count = end.0;
        self.number += 1;
        let subject_count = self.subjects.partition_point(|(place, _)| *place < end);
        let subjects = self.subjects.drain(..subject_count).collect();
        let (effects, waiting) =
            std::mem::take(&mut self.effects).into_iter().partition(|it| it.after <= end);
        self.effects = waiting;
        self.sent.push_back(SentBatch { number: self.number, first, subjects, effects });
        Some(Batch::new(self.number, self.operations.drain(..count).collect()))
    }

    /// The starts that wait for the batch that was taken last.
    pub(super) fn last_starts(&mut self) -> impl Iterator<Item = &mut Start> {
        let effects = self.sent.back_mut().into_iter().flat_map(|sent| sent.effects.iter_mut());
        effects.filter_map(|effect| match &mut effect.output {
            Output::Start(start) => Some(start),
            _ => None,
        })
    }

    /// The submissions whose replies wait for the disk.
    pub(super) fn unconfirmed(&self) -> impl Iterator<Item = (Ticket, OnceId)> {
        let sent = self.sent.iter().flat_map(|sent| &sent.effects);
        sent.chain(&self.effects).filter_map(|effect| match &effect.output {
            Output::Reply { ticket, reply: Reply::Submitted { id, .. } } => Some((*ticket, *id)),
            _ => None,
        })
    }

    /// Hands out what rests on nothing that is not on disk.
    pub(super) fn release(&mut self, outputs: &mut Vec<Output>) {
        if !self.operations.is_empty() {
            return;
        }
        let effects = self.effects.drain(..);
        match self.sent.back_mut() {
            Some(last) => last.effects.extend(effects),
            None => outputs.extend(effects.map(|effect| effect.output)),
        }
    }

    /// What submissions of the next batch found.
    pub(super) fn tell_holders(&mut self, holders: Vec<(usize, Holder)>) {
        self.holders = holders.into_iter().collect();
    }

    /// What is asked for again, once.
    pub(super) fn take_again(&mut self) -> Vec<KeyedRequest> {
        std::mem::take(&mut self.again)
    }

    /// A batch is on disk: hands out what waited for it, and returns what the planner wants to know.
    pub(super) fn committed(
        &mut self,
        number: u64,
        answers: &[Answer],
        outputs: &mut Vec<Output>,
    ) -> Vec<SubjectAnswer> {
        let sent = self.sent.pop_front().expect("a batch is committed after it was taken");
        assert_eq!(sent.number, number, "batches are committed in the order in which they were taken");
        let answer_to = |place| answers[index(sent.first.0, place).expect("it is of this batch")];
        let mut unnamed: BTreeMap<Position, Ticket> = BTreeMap::new();
        for Effect { needs, output, fallback, .. } in sent.effects {
            let answer = needs.map_or(Answer::New, answer_to);
            match (output, fallback, needs) {
                (output, _, _) if answer == Answer::New => outputs.push(output),
                (Output::Reply { ticket, .. }, Fallback::AnotherName, Some(place)) => {
                    unnamed.insert(place, ticket);
                }
                (Output::Reply { ticket, .. }, Fallback::KnownRun(keyed), _) => {
                    let place = index(sent.first.0, keyed.reserved);
                    let reply = match place.and_then(|place| self.holders.remove(&place)) {
                        Some(holder) if holder.state.is_none() => {
                            Reply::Refused(Refusal::Taken(Box::new(holder)))
                        }
                        Some(holder) if holder.key.is_some() => Reply::Duplicate(Box::new(holder)),
                        // The run of another request, from before the clock was set back, has the name.
                        Some(_) => {
                            self.again.push(*keyed);
                            continue;
                        }
                        // It is gone again, or the shell has not asked.
                        None => Reply::Refused(Refusal::Conflict),
                    };
                    outputs.push(Output::Reply { ticket, reply });
                }
                (Output::Reply { ticket, .. }, fallback, _) => {
                    let place = needs.and_then(|place| index(sent.first.0, place));
                    let holder = place.and_then(|place| self.holders.remove(&place));
                    let reply = instead(fallback, holder);
                    outputs.extend(reply.map(|reply| Output::Reply { ticket, reply }));
                }
                _ => (),
            }
        }
        self.holders.clear();
        let found = |(position, subject)| {
            let ticket = unnamed.remove(&position);
            SubjectAnswer { position, subject, answer: answer_to(position), ticket }
        };
        sent.subjects.into_iter().map(found).collect()
    }
}

/// How far behind the first a place is.
fn index(first: u64, place: Position) -> Option<usize> {
    usize::try_from(place.0.checked_sub(first)?).ok()
}

/// What is answered where an operation was not new.
fn instead(fallback: Fallback, holder: Option<Holder>) -> Option<Reply> {
    match (fallback, holder) {
        (Fallback::Nothing | Fallback::AnotherName | Fallback::KnownRun(_), _) => None,
        (Fallback::Reply(reply), _) => Some(reply),
        (Fallback::Duplicate(submission), Some(holder)) if holder.is_same(&submission) => {
            Some(Reply::Duplicate(Box::new(holder)))
        }
        (Fallback::Duplicate(_), Some(holder)) => Some(Reply::Refused(Refusal::Taken(Box::new(holder)))),
        // It is gone again, or the shell has not asked.
        (Fallback::Duplicate(_), None) => Some(Reply::Refused(Refusal::Conflict)),
    }
}
