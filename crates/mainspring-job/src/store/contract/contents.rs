//! Compares a store's contents with the oracle's.
//!
//! Cost: some dozen questions, and two for each run.
//!
//! Does not write.

use std::collections::BTreeSet;
use std::ops::Bound;

use jiff::Timestamp;

use super::generator::Generator;
use super::store_fixture::{LawResult, StorePair, same};
use crate::name::JobName;
use crate::once::OnceId;
use crate::run::RunKey;
use crate::store::{Query, Reader, Store};

/// Everything that can be asked gives the same answer.
pub(super) fn same_contents<S: Store>(pair: &mut StorePair<S>, generator: &mut Generator) -> LawResult {
    let (store, oracle) = (&mut pair.owned.store, &mut pair.oracle.store);
    same("jobs", &store.jobs()?, &oracle.jobs()?)?;
    same("pause", &store.pause()?, &oracle.pause()?)?;
    let name = generator.name();
    for first in [Bound::Unbounded, Bound::Included(&name), Bound::Excluded(&name)] {
        same("a page of jobs", &store.defined_from(first, 3)?, &oracle.defined_from(first, 3)?)?;
    }
    same("counts", &store.counts()?, &oracle.counts()?)?;
    let all = (OnceId::first_at(Timestamp::MIN), Timestamp::MAX, 100);
    for (after, up_to, limit) in [all, generator.range()] {
        let found = store.load(after, up_to, limit)?;
        same("pending jobs", &found, &oracle.load(after, up_to, limit)?)?;
        let found = store.load_ids(after, up_to, limit)?;
        same("ids of pending jobs", &found, &oracle.load_ids(after, up_to, limit)?)?;
    }
    for batch in ["a", "b", "c"].map(|batch| JobName::new(batch).expect("a letter is a name")) {
        let found = store.has_pending_of(&batch)?;
        same("a batch has pending jobs", &found, &oracle.has_pending_of(&batch)?)?;
    }
    // The narrow one first: to answer that about all of them a store may change how it keeps them.
    let queries = [generator.query(), Query { limit: 1_000, ..Query::default() }];
    for query in queries {
        same_page(pair, &query)?;
    }
    let (store, oracle) = (&mut pair.owned.store, &mut pair.oracle.store);
    let query = generator.audit_query();
    same("who asked for what", &store.audit(&query)?, &oracle.audit(&query)?)?;
    let after = generator.key();
    for after in [None, Some(&after)] {
        same("open runs", &store.open_runs(after, 5)?, &oracle.open_runs(after, 5)?)?;
    }
    let names: Vec<JobName> =
        std::iter::repeat_with(|| generator.name()).take(9).collect::<BTreeSet<_>>().into_iter().collect();
    let (mut found, mut expected) = (store.last_ended(&names)?, oracle.last_ended(&names)?);
    found.sort_by(|one, other| one.key.cmp(&other.key));
    expected.sort_by(|one, other| one.key.cmp(&other.key));
    same("the last runs of jobs", &found, &expected)?;
    let name = generator.name();
    same("a pending job", &store.pending_named(&name)?, &oracle.pending_named(&name)?)
}

/// A page of runs is the same, and so are they one by one.
pub(super) fn same_page<S: Store>(pair: &mut StorePair<S>, query: &Query) -> LawResult {
    let found = pair.owned.store.find(query)?;
    same("runs found", &found, &pair.oracle.store.find(query)?)?;
    found.iter().try_for_each(|run| same_run(pair, &run.key))
}

/// A run is the same, if there is one.
pub(super) fn same_run<S: Store>(pair: &mut StorePair<S>, key: &RunKey) -> LawResult {
    let (store, oracle) = (&mut pair.owned.store, &mut pair.oracle.store);
    same("a run", &store.run(key)?, &oracle.run(key)?)?;
    same("attempts", &store.attempts(key)?, &oracle.attempts(key)?)
}
