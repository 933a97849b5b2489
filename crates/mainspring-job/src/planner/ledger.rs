//! The ledger: what is to be written, and what waits until it is.
//!
//! ```text
//!  open:  [operation, operation, ..]  [effect, effect, ..]      since the last batch was taken
//!  sent:  batch 7 [effect, ..], batch 8 [effect, ..]            taken, not committed yet
//! ```
//!
//! An effect waits for every operation that was recorded before it, and may depend on the answer of one. When nothing is
//! open and nothing is on its way, it is released at once.

use std::collections::VecDeque;

use crate::once::{Once, OnceId};
use crate::operation::{Answer, Batch, Operation};
use crate::output::{Output, Reply};
use crate::run::{Run, RunKey};

/// Where an operation stands in the open batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(usize);

/// What the planner does with the answer to an operation.
#[derive(Clone, Debug)]
pub(super) enum Subject {
    /// The record of this run: if it is refused, the run is not ours.
    Run(RunKey),
    /// A one-shot job: if it is new, it may be near.
    Submitted(Once),
    /// A one-shot job that is no more.
    Withdrawn(OnceId),
    /// A dead letter that is open again, if it was one.
    Revived(Box<Run>),
}

#[derive(Debug)]
struct Effect {
    /// Happens only if that operation was new; else `otherwise` does.
    needs: Option<Place>,
    output: Output,
    otherwise: Otherwise,
}

/// What happens instead of an effect whose operation was not new.
#[derive(Debug)]
pub(super) enum Otherwise {
    /// Nothing.
    Nothing,
    /// Another answer to the same command.
    Reply(Reply),
    /// The answer to a submission says which one is there.
    Duplicate,
}

#[derive(Debug, Default)]
struct Sent {
    number: u64,
    subjects: Vec<(Place, Subject)>,
    effects: Vec<Effect>,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    operations: Vec<Operation>,
    subjects: Vec<(Place, Subject)>,
    effects: Vec<Effect>,
    sent: VecDeque<Sent>,
    /// The number of the last batch that was taken.
    number: u64,
}

impl Ledger {
    /// Has an operation written.
    pub(super) fn record(&mut self, operation: Operation) -> Place {
        self.operations.push(operation);
        Place(self.operations.len() - 1)
    }

    /// Has an operation written, and wants its answer looked at.
    pub(super) fn record_for(&mut self, operation: Operation, subject: Subject) -> Place {
        let place = self.record(operation);
        self.subjects.push((place, subject));
        place
    }

    /// Has something done when all that was recorded before is on disk.
    pub(super) fn perform(&mut self, output: Output) {
        self.effects.push(Effect { needs: None, output, otherwise: Otherwise::Nothing });
    }

    /// Has something done when an operation was new.
    pub(super) fn perform_if_new(&mut self, place: Place, output: Output, otherwise: Otherwise) {
        self.effects.push(Effect { needs: Some(place), output, otherwise });
    }

    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        if self.operations.is_empty() {
            return None;
        }
        self.number += 1;
        let subjects = std::mem::take(&mut self.subjects);
        let effects = std::mem::take(&mut self.effects);
        self.sent.push_back(Sent { number: self.number, subjects, effects });
        Some(Batch { number: self.number, operations: std::mem::take(&mut self.operations) })
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

    /// A batch is on disk: hands out what waited for it, and returns what the planner wants to know.
    pub(super) fn committed(
        &mut self,
        number: u64,
        answers: &[Answer],
        outputs: &mut Vec<Output>,
    ) -> Vec<(Subject, Answer)> {
        let sent = self.sent.pop_front().expect("a batch is committed after it was taken");
        assert_eq!(sent.number, number, "batches are committed in the order in which they were taken");
        for effect in sent.effects {
            let answer = effect.needs.map_or(Answer::New, |place| answers[place.0]);
            if answer == Answer::New {
                outputs.push(effect.output);
            } else if let Output::Reply { ticket, .. } = effect.output {
                outputs
                    .extend(instead(effect.otherwise, answer).map(|reply| Output::Reply { ticket, reply }));
            }
        }
        sent.subjects.into_iter().map(|(place, subject)| (subject, answers[place.0])).collect()
    }
}

fn instead(otherwise: Otherwise, answer: Answer) -> Option<Reply> {
    match (otherwise, answer) {
        (Otherwise::Nothing, _) => None,
        (Otherwise::Reply(reply), _) => Some(reply),
        (Otherwise::Duplicate, Answer::Duplicate(id)) => Some(Reply::Duplicate { id }),
        (Otherwise::Duplicate, _) => Some(Reply::Duplicate { id: None }),
    }
}
