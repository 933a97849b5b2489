//! The suite that holds a store to its contract. Public, so that whoever writes a store can run it.
//!
//! ```text
//!  laws:     small cases, one for each sentence of the contract
//!  scripts:  random batches, told to the store and to the one in memory; answers and contents must agree
//! ```
//!
//! Cost: some hundred small stores are made. It cannot pull the plug: that a store survives a crash is for its own tests.
//!
//! # Example
//! ```
//! use mainspring_job::{MemoryStore, contract};
//!
//! struct InMemory;
//!
//! impl contract::Ground for InMemory {
//!     type Store = MemoryStore;
//!     fn fresh(&mut self) -> MemoryStore {
//!         MemoryStore::new()
//!     }
//!     fn reopened(&mut self, store: MemoryStore) -> MemoryStore {
//!         store
//!     }
//! }
//!
//! assert_eq!(contract::exercise(&mut InMemory, 20), Ok(()));
//! ```

mod generator;
mod ground;
mod laws;
mod owners;
mod rule;

use std::collections::BTreeSet;
use std::fmt;

use super::{MemoryStore, Owner, Query, Reader, Shard, Store};
use crate::name::JobName;
use crate::once::OnceId;
use crate::run::RunKey;
use generator::Generator;
use ground::{Held, committed, same, text};

pub use ground::Ground;
pub use rule::exercise_rule;

/// Says what a store did that it should not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The law, or the script with its seed.
    pub law: String,
    /// What was found.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law, self.found)
    }
}

impl std::error::Error for Violation {}

/// Runs all laws, and so many random scripts.
///
/// # Errors
/// The first law or script that the store does not keep to.
pub fn exercise<G: Ground>(ground: &mut G, script_count: u64) -> Result<(), Violation> {
    for (law, check) in laws::all::<G>().into_iter().chain(owners::all()) {
        check(ground).map_err(|found| Violation { law: law.to_owned(), found })?;
    }
    for seed in 0..script_count {
        script(ground, seed).map_err(|found| Violation { law: format!("script of seed {seed}"), found })?;
    }
    Ok(())
}

/// One random history of batches, on the store and on the oracle.
fn script<G: Ground>(ground: &mut G, seed: u64) -> Held {
    let mut generator = Generator::new(seed);
    let mut oracle = MemoryStore::new();
    let mut store = ground.fresh();
    let mut lease = store.acquire(Shard::WHOLE, &Owner::new("suite")).map_err(text)?;
    let mut oracle_lease = oracle.acquire(Shard::WHOLE, &Owner::new("suite")).map_err(text)?;
    for number in 1..=generator.batch_count() {
        let operations = generator.batch();
        let answers = committed(&mut store, lease, number, &operations)?;
        let expected = committed(&mut oracle, oracle_lease, number, &operations)?;
        for ((operation, answer), expected) in operations.iter().zip(&answers).zip(&expected) {
            if answer != expected {
                return Err(format!("{operation:?} was answered {answer:?} instead of {expected:?}"));
            }
        }
        if generator.one_in(3) {
            // Whatever the store hints at is lost here, and the oracle is never asked.
            store.hints();
        }
        if generator.one_in(4) {
            let again = committed(&mut store, lease, number, &operations)?;
            if again != answers {
                return Err(format!("batch {number} was answered differently the second time"));
            }
        }
        if generator.one_in(6) {
            store = ground.reopened(store);
            lease = store.acquire(Shard::WHOLE, &Owner::new("suite")).map_err(text)?;
            oracle_lease = oracle.acquire(Shard::WHOLE, &Owner::new("suite")).map_err(text)?;
        }
        same_contents(&mut store, &mut oracle, &mut generator)?;
    }
    Ok(())
}

/// Everything that can be asked gives the same answer.
fn same_contents<S: Store>(store: &mut S, oracle: &mut MemoryStore, generator: &mut Generator) -> Held {
    let shard = Shard::WHOLE;
    same("jobs", &store.jobs(shard).map_err(text)?, &oracle.jobs(shard).map_err(text)?)?;
    same("counts", &store.counts(shard).map_err(text)?, &oracle.counts(shard).map_err(text)?)?;
    let (after, up_to, limit) = generator.range();
    for (after, up_to, limit) in
        [(OnceId::first_at(jiff::Timestamp::MIN), jiff::Timestamp::MAX, 100), (after, up_to, limit)]
    {
        let found = store.load(shard, after, up_to, limit).map_err(text)?;
        same("pending jobs", &found, &oracle.load(shard, after, up_to, limit).map_err(text)?)?;
        let found = store.load_ids(shard, after, up_to, limit).map_err(text)?;
        same("ids of pending jobs", &found, &oracle.load_ids(shard, after, up_to, limit).map_err(text)?)?;
    }
    let queries = [Query { limit: 1_000, ..Query::default() }, generator.query()];
    for query in queries {
        let (found, expected) =
            (store.find(shard, &query).map_err(text)?, oracle.find(shard, &query).map_err(text)?);
        same("runs found", &found, &expected)?;
        for run in &found {
            same_run(store, oracle, &run.key)?;
        }
    }
    let after = generator.key();
    for after in [None, Some(&after)] {
        let found = store.open_runs(shard, after, 5).map_err(text)?;
        same("open runs", &found, &oracle.open_runs(shard, after, 5).map_err(text)?)?;
    }
    let names: Vec<JobName> =
        std::iter::repeat_with(|| generator.name()).take(9).collect::<BTreeSet<_>>().into_iter().collect();
    let mut found = store.last_ended(shard, &names).map_err(text)?;
    found.sort_by(|one, other| one.key.cmp(&other.key));
    let mut expected = oracle.last_ended(shard, &names).map_err(text)?;
    expected.sort_by(|one, other| one.key.cmp(&other.key));
    same("the last runs of jobs", &found, &expected)?;
    let name = generator.name();
    let found = store.pending_named(shard, &name).map_err(text)?;
    same("a pending job", &found, &oracle.pending_named(shard, &name).map_err(text)?)
}

fn same_run<S: Store>(store: &mut S, oracle: &mut MemoryStore, key: &RunKey) -> Held {
    let shard = Shard::WHOLE;
    same("a run", &store.run(shard, key).map_err(text)?, &oracle.run(shard, key).map_err(text)?)?;
    let found = store.attempts(shard, key).map_err(text)?;
    same("attempts", &found, &oracle.attempts(shard, key).map_err(text)?)
}
