//! Random histories of one-shot jobs as a planner has them, in batches of which only some are followed by a
//! look at the store.
//!
//! ```text
//!  submitted ─▶ fired, or withdrawn ─▶ begun ─▶ ended ─▶ tried again, or dead     now and then something else
//! ```
//!
//! Their numbers are those of the lease's epoch, so a store that counts on that is held to it.
//!
//! Cost: as a script.
//!
//! Does not know what is right: the store in memory does.

use jiff::{SignedDuration, Timestamp};

use super::contents::{same_contents, same_page, same_run};
use super::generator::Generator;
use super::store_fixture::{LawResult, StoreFixture, StorePair, Then, same};
use crate::once::{NUMBER_BITS, Once, OnceId};
use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::run::{Cause, RunKey};
use crate::state::RunState;
use crate::store::{Reader, Store};
use crate::worker::WorkerId;

/// From among how many of the last jobs the next operation takes one.
const RECENT: u64 = 12;

/// One in how many steps is odd, in a usual history and in a calm one.
const USUAL: u64 = 8;
const CALM: u64 = 64;

/// A job, and how far it is if all that was asked for was done.
struct OneShotHistory {
    once: Once,
    /// `None`: it is pending.
    state: Option<RunState>,
    attempt: u32,
}

struct OneShotHistories {
    generator: Generator,
    /// One in how many steps is odd. Where they are seldom nearly all jobs succeed at once.
    odds: u64,
    epoch: u64,
    count: u64,
    histories: Vec<OneShotHistory>,
}

/// One random history, on the store and on the oracle.
pub(super) fn script<G: StoreFixture>(fixture: &mut G, seed: u64) -> LawResult {
    let mut pair = StorePair::fresh(fixture)?;
    let mut generator = Generator::new(seed);
    // Long ones are looked at when they are over.
    let is_long = generator.one_in(3);
    let odds = if is_long && !generator.one_in(3) { CALM } else { USUAL };
    let epoch = pair.owned.lease.epoch;
    let mut histories = OneShotHistories { generator, odds, epoch, count: 0, histories: Vec::new() };
    let batches = if is_long { 60 } else { 8 + histories.generator.below(24) };
    for _ in 0..batches {
        let mut operations = histories.batch();
        // What it leaves is seen before more ends: a store may put it off until then.
        let is_pruned = !is_long && histories.generator.one_in(8);
        if is_pruned {
            let keep = u32::try_from(histories.generator.below(6)).expect("five fits");
            operations.push(Operation::Prune { job: None, keep, before: Timestamp::MIN });
        }
        let answers = if histories.generator.one_in(8) && fixture.lose_answer(&pair.owned.store) {
            let then = if histories.generator.one_in(2) { Then::Renew } else { Then::Nothing };
            pair.owned.commit_unanswered(&operations, then)?
        } else {
            pair.owned.commit(&operations)?
        };
        pair.judge(&operations, &answers)?;
        if histories.generator.one_in(6) {
            pair.repeat(&operations, &answers)?;
        }
        if is_long {
            histories.seldom(&mut pair)?;
            continue;
        }
        if histories.generator.one_in(8) {
            pair.owned.store.renew(pair.owned.lease)?;
        }
        if histories.generator.one_in(10) {
            pair = pair.reopened(fixture)?;
            histories.epoch = pair.owned.lease.epoch;
        }
        if is_pruned || histories.generator.one_in(4) {
            same_contents(&mut pair, &mut histories.generator)?;
        }
    }
    same_contents(&mut pair, &mut histories.generator)
}

impl OneShotHistories {
    /// What is seldom in a long history: a narrow question, a pause of the owner, or a pruning and a pause
    /// after which only the count is looked at.
    fn seldom<S: Store>(&mut self, pair: &mut StorePair<S>) -> LawResult {
        let lease = pair.owned.lease;
        match self.generator.below(24) {
            0 => drop(pair.owned.store.renew(lease)?),
            1 => {
                let keep = u32::try_from(self.generator.below(60)).expect("sixty fits");
                let before = if self.generator.one_in(2) { self.generator.time() } else { Timestamp::MIN };
                let prune = [Operation::Prune { job: None, keep, before }];
                pair.owned.commit(&prune)?;
                pair.oracle.commit(&prune)?;
                pair.owned.store.renew(lease)?;
                same("counts", &pair.owned.store.counts()?, &pair.oracle.store.counts()?)?;
            }
            2 => {
                let mut query = self.generator.query();
                (query.job, query.group) = (None, query.group.filter(|_| self.generator.one_in(4)));
                same_page(pair, &query)?;
            }
            3 if !self.histories.is_empty() => {
                same_run(pair, &self.generator.one_of(&self.histories).key())?;
            }
            _ => {}
        }
        Ok(())
    }

    fn batch(&mut self) -> Vec<Operation> {
        (0..1 + self.generator.below(12)).map(|_| self.operation()).collect()
    }

    fn operation(&mut self) -> Operation {
        match self.generator.below(12) {
            0..=3 => self.submission(),
            4 if self.odds == USUAL && self.generator.one_in(2) => Operation::Plan(self.generator.run()),
            _ => self.step(),
        }
    }

    fn submission(&mut self) -> Operation {
        self.count += 1;
        let epoch = if self.generator.one_in(2 * self.odds) { 0 } else { self.epoch };
        let number = (epoch << NUMBER_BITS) + self.count;
        let id = OnceId { due: self.generator.time(), number };
        let mut once = Once::new(id, self.generator.time(), self.generator.work());
        if self.generator.one_in(self.odds) {
            once.name = self.generator.name();
        }
        if self.generator.one_in(self.odds) {
            once.key = Some(format!("key-{}", self.generator.below(3)));
        }
        self.histories.push(OneShotHistory { once: once.clone(), state: None, attempt: 0 });
        Operation::Submit(once)
    }

    /// What comes next in a history, or now and then anything.
    fn step(&mut self) -> Operation {
        let recent = self.histories.len().min(usize::try_from(RECENT).expect("it is small"));
        if recent == 0 {
            return self.submission();
        }
        let back = self.generator.below(recent as u64);
        let index = self.histories.len() - 1 - usize::try_from(back).expect("it is small");
        let (generator, history) = (&mut self.generator, &mut self.histories[index]);
        let odds = self.odds;
        if generator.one_in(2 * odds) {
            return history.again(generator);
        }
        match history.state {
            None if generator.one_in(odds) => {
                history.state = Some(RunState::Cancelled);
                Operation::Withdraw { id: history.once.id, at: generator.time() }
            }
            None => history.fire(generator, odds),
            Some(RunState::Scheduled | RunState::Queued) if generator.one_in(odds) => {
                history.move_on(generator, RunState::Cancelled)
            }
            Some(RunState::Scheduled | RunState::Queued) => {
                (history.state, history.attempt) = (Some(RunState::Running), history.attempt + 1);
                Operation::Begin {
                    key: history.key(),
                    attempt: history.attempt,
                    at: generator.time(),
                    worker: Some(WorkerId(u64::from(history.attempt))),
                }
            }
            Some(RunState::Running) if generator.one_in(odds) => {
                Operation::Clear { key: history.key(), attempt: history.attempt }
            }
            Some(RunState::Running) if odds == CALM && !generator.one_in(odds) => history.succeed(generator),
            Some(RunState::Running) => history.end(generator),
            Some(_) if odds == CALM => self.submission(),
            Some(state) => match state.successors() {
                [] => history.again(generator),
                next => {
                    let next = *generator.one_of(next);
                    history.move_on(generator, next)
                }
            },
        }
    }
}

impl OneShotHistory {
    fn key(&self) -> RunKey {
        RunKey::new(self.once.name.clone(), self.once.id.due)
    }

    fn fire(&mut self, generator: &mut Generator, odds: u64) -> Operation {
        let states = [RunState::Running, RunState::Running, RunState::Queued, RunState::Scheduled];
        let state = *generator.one_of(&states);
        let mut run = self.once.run(state, generator.time(), generator.time());
        if state == RunState::Running {
            (run.attempt, run.started) = (1, Some(generator.time()));
        }
        if generator.one_in(odds) {
            // Not what was submitted.
            match generator.below(3) {
                0 => run.cause = Cause::Request,
                1 => run.work = Some(generator.work()),
                _ => run.crashes = 1,
            }
        }
        (self.state, self.attempt) = (Some(state), run.attempt);
        Operation::Fire { id: self.once.id, run }
    }

    fn end(&mut self, generator: &mut Generator) -> Operation {
        let state = *generator.one_of(RunState::Running.successors());
        if state == RunState::Queued {
            // It is given back.
            return self.move_on(generator, state);
        }
        let (at, outcome) = (generator.time(), generator.outcome());
        self.end_as(state, at, outcome, u32::from(generator.one_in(4)))
    }

    fn succeed(&mut self, generator: &mut Generator) -> Operation {
        self.end_as(RunState::Succeeded, generator.time(), Some(Outcome::Succeeded), 0)
    }

    fn end_as(
        &mut self,
        state: RunState,
        at: Timestamp,
        outcome: Option<Outcome>,
        crashes: u32,
    ) -> Operation {
        self.state = Some(state);
        Operation::End { key: self.key(), attempt: self.attempt, state, at, outcome, crashes, reason: None }
    }

    fn move_on(&mut self, generator: &mut Generator, to: RunState) -> Operation {
        let from = self.state.unwrap_or(RunState::Scheduled);
        self.state = Some(to);
        let later = SignedDuration::from_secs(i64::try_from(generator.below(90)).expect("it is small"));
        let due = generator.time().saturating_add(later).unwrap_or(Timestamp::MAX);
        Operation::Move { key: self.key(), from, to, due, at: generator.time(), reason: None }
    }

    /// Something that was done before, or does not fit.
    fn again(&mut self, generator: &mut Generator) -> Operation {
        let (key, at) = (self.key(), generator.time());
        match generator.below(6) {
            0 => Operation::Submit(self.once.clone()),
            1 => self.fire(generator, USUAL),
            2 => Operation::Begin { key, attempt: self.attempt + 1, at, worker: Some(WorkerId(7)) },
            3 => self.end(generator),
            4 => Operation::Withdraw { id: self.once.id, at },
            _ => {
                let mut once = self.once.clone();
                once.key = Some("key-0".to_owned());
                Operation::Submit(once)
            }
        }
    }
}
