//! Random lives of one-shot jobs as a planner has them, in batches of which only some are followed by a look
//! at the store.
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
use super::ground::{Ground, Held, Then, acquired, committed, same, text, unanswered};
use crate::once::{NUMBER_BITS, Once, OnceId};
use crate::operation::Operation;
use crate::outcome::Outcome;
use crate::run::{Cause, RunKey};
use crate::state::RunState;
use crate::store::{Lease, MemoryStore, Owner, Reader, Shard, Store};

/// From among how many of the last jobs the next operation takes one.
const RECENT: u64 = 12;

/// One in how many steps is odd, in a usual history and in a calm one.
const USUAL: u64 = 8;
const CALM: u64 = 64;

/// A job, and how far it is if all that was asked for was done.
struct Life {
    once: Once,
    /// `None`: it is pending.
    state: Option<RunState>,
    attempt: u32,
}

struct Lives {
    generator: Generator,
    /// One in how many steps is odd. Where they are seldom nearly all jobs succeed at once.
    odds: u64,
    epoch: u64,
    count: u64,
    lives: Vec<Life>,
}

/// One random history, on the store and on the oracle.
pub(super) fn script<G: Ground>(ground: &mut G, seed: u64) -> Held {
    let (mut oracle, mut store) = (MemoryStore::new(), ground.fresh());
    let mut lease = acquired(ground, &mut store, &Owner::new("suite"))?;
    let mut oracle_lease = oracle.acquire(Shard::WHOLE, &Owner::new("suite")).map_err(text)?;
    let mut generator = Generator::new(seed);
    // Long ones are looked at when they are over.
    let is_long = generator.one_in(3);
    let odds = if is_long && !generator.one_in(3) { CALM } else { USUAL };
    let mut lives = Lives { generator, odds, epoch: lease.epoch, count: 0, lives: Vec::new() };
    let mut number = 0;
    let batches = if is_long { 60 } else { 8 + lives.generator.below(24) };
    for _ in 0..batches {
        number += 1;
        let mut operations = lives.batch();
        // What it leaves is seen before more ends: a store may put it off until then.
        let is_pruned = !is_long && lives.generator.one_in(8);
        if is_pruned {
            let keep = u32::try_from(lives.generator.below(6)).expect("five fits");
            operations.push(Operation::Prune { job: None, keep, before: Timestamp::MIN });
        }
        let answers = if lives.generator.one_in(8) && ground.lose_answer(&store) {
            let then = if lives.generator.one_in(2) { Then::Renew } else { Then::Nothing };
            unanswered(&mut store, lease, number, &operations, then)?
        } else {
            committed(&mut store, lease, number, &operations)?
        };
        let expected = committed(&mut oracle, oracle_lease, number, &operations)?;
        for ((operation, answer), expected) in operations.iter().zip(&answers).zip(&expected) {
            if answer != expected {
                return Err(format!("{operation:?} was answered {answer:?} instead of {expected:?}"));
            }
        }
        if lives.generator.one_in(6) && committed(&mut store, lease, number, &operations)? != answers {
            return Err(format!("batch {number} was answered differently the second time"));
        }
        if is_long {
            lives.seldom(&mut number, &mut store, lease, &mut oracle, oracle_lease)?;
            continue;
        }
        if lives.generator.one_in(8) {
            store.renew(lease).map_err(text)?;
        }
        if lives.generator.one_in(10) {
            store = ground.reopened(store);
            lease = acquired(ground, &mut store, &Owner::new("suite"))?;
            oracle_lease = oracle.acquire(Shard::WHOLE, &Owner::new("suite")).map_err(text)?;
            (number, lives.epoch) = (0, lease.epoch);
        }
        if is_pruned || lives.generator.one_in(4) {
            same_contents(&mut store, &mut oracle, &mut lives.generator)?;
        }
    }
    same_contents(&mut store, &mut oracle, &mut lives.generator)
}

impl Lives {
    /// What is seldom in a long history: a narrow question, a pause of the owner, or a pruning and a pause
    /// after which only the count is looked at.
    fn seldom<S: Store>(
        &mut self,
        number: &mut u64,
        store: &mut S,
        lease: Lease,
        oracle: &mut MemoryStore,
        oracle_lease: Lease,
    ) -> Held {
        match self.generator.below(24) {
            0 => store.renew(lease).map(drop).map_err(text),
            1 => {
                *number += 1;
                let keep = u32::try_from(self.generator.below(60)).expect("sixty fits");
                let before = if self.generator.one_in(2) { self.generator.time() } else { Timestamp::MIN };
                let prune = [Operation::Prune { job: None, keep, before }];
                committed(store, lease, *number, &prune)?;
                committed(oracle, oracle_lease, *number, &prune)?;
                store.renew(lease).map_err(text)?;
                let (found, expected) = (store.counts(Shard::WHOLE), oracle.counts(Shard::WHOLE));
                same("counts", &found.map_err(text)?, &expected.map_err(text)?)
            }
            2 => {
                let mut query = self.generator.query();
                (query.job, query.group) = (None, query.group.filter(|_| self.generator.one_in(4)));
                same_page(store, oracle, &query)
            }
            3 if !self.lives.is_empty() => {
                let count = self.lives.len() as u64;
                let index = usize::try_from(self.generator.below(count)).expect("it is small");
                same_run(store, oracle, &self.lives[index].key())
            }
            _ => Ok(()),
        }
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
        self.lives.push(Life { once: once.clone(), state: None, attempt: 0 });
        Operation::Submit(once)
    }

    /// What comes next in a life, or now and then anything.
    fn step(&mut self) -> Operation {
        let recent = self.lives.len().min(usize::try_from(RECENT).expect("it is small"));
        if recent == 0 {
            return self.submission();
        }
        let back = self.generator.below(recent as u64);
        let index = self.lives.len() - 1 - usize::try_from(back).expect("it is small");
        let (generator, life) = (&mut self.generator, &mut self.lives[index]);
        let odds = self.odds;
        if generator.one_in(2 * odds) {
            return life.again(generator);
        }
        match life.state {
            None if generator.one_in(odds) => {
                life.state = Some(RunState::Cancelled);
                Operation::Withdraw { id: life.once.id, at: generator.time() }
            }
            None => life.fire(generator, odds),
            Some(RunState::Scheduled | RunState::Queued) if generator.one_in(odds) => {
                life.go_on(generator, RunState::Cancelled)
            }
            Some(RunState::Scheduled | RunState::Queued) => {
                (life.state, life.attempt) = (Some(RunState::Running), life.attempt + 1);
                Operation::Begin { key: life.key(), attempt: life.attempt, at: generator.time() }
            }
            Some(RunState::Running) if generator.one_in(odds) => {
                Operation::Clear { key: life.key(), attempt: life.attempt }
            }
            Some(RunState::Running) if odds == CALM && !generator.one_in(odds) => life.succeed(generator),
            Some(RunState::Running) => life.end(generator),
            Some(_) if odds == CALM => self.submission(),
            Some(state) => match state.successors() {
                [] => life.again(generator),
                next => {
                    let index = usize::try_from(generator.below(next.len() as u64)).expect("they are few");
                    life.go_on(generator, next[index])
                }
            },
        }
    }
}

impl Life {
    fn key(&self) -> RunKey {
        RunKey::new(self.once.name.clone(), self.once.id.due)
    }

    fn fire(&mut self, generator: &mut Generator, odds: u64) -> Operation {
        let state = [RunState::Running, RunState::Running, RunState::Queued, RunState::Scheduled]
            [usize::try_from(generator.below(4)).expect("three fits")];
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
        let next = RunState::Running.successors();
        let state = next[usize::try_from(generator.below(next.len() as u64)).expect("they are few")];
        self.state = Some(state);
        let (at, outcome) = (generator.time(), generator.outcome());
        let crashes = u32::from(generator.one_in(4));
        Operation::End { key: self.key(), attempt: self.attempt, state, at, outcome, crashes, reason: None }
    }

    fn succeed(&mut self, generator: &mut Generator) -> Operation {
        let (state, at) = (RunState::Succeeded, generator.time());
        self.state = Some(state);
        let outcome = Some(Outcome::Succeeded);
        Operation::End {
            key: self.key(),
            attempt: self.attempt,
            state,
            at,
            outcome,
            crashes: 0,
            reason: None,
        }
    }

    fn go_on(&mut self, generator: &mut Generator, to: RunState) -> Operation {
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
            2 => Operation::Begin { key, attempt: self.attempt + 1, at },
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
