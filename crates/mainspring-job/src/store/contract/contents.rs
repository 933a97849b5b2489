//! Compares a store's contents with the oracle's.
//!
//! Cost: some dozen questions, and two for each run.
//!
//! Does not write.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::generator::Generator;
use super::store_fixture::{LawResult, same, text};
use crate::name::JobName;
use crate::once::OnceId;
use crate::run::RunKey;
use crate::store::{MemoryStore, Query, Reader, Store};

/// Everything that can be asked gives the same answer.
pub(super) fn same_contents<S: Store>(
    store: &mut S,
    oracle: &mut MemoryStore,
    generator: &mut Generator,
) -> LawResult {
    same("jobs", &store.jobs().map_err(text)?, &oracle.jobs().map_err(text)?)?;
    same("pause", &store.pause().map_err(text)?, &oracle.pause().map_err(text)?)?;
    let name = generator.name();
    for first in [Bound::Unbounded, Bound::Included(&name), Bound::Excluded(&name)] {
        let found = store.defined_from(first, 3).map_err(text)?;
        same("a page of jobs", &found, &oracle.defined_from(first, 3).map_err(text)?)?;
    }
    same("counts", &store.counts().map_err(text)?, &oracle.counts().map_err(text)?)?;
    let (after, up_to, limit) = generator.range();
    for (after, up_to, limit) in
        [(OnceId::first_at(jiff::Timestamp::MIN), jiff::Timestamp::MAX, 100), (after, up_to, limit)]
    {
        let found = store.load(after, up_to, limit).map_err(text)?;
        same("pending jobs", &found, &oracle.load(after, up_to, limit).map_err(text)?)?;
        let found = store.load_ids(after, up_to, limit).map_err(text)?;
        same("ids of pending jobs", &found, &oracle.load_ids(after, up_to, limit).map_err(text)?)?;
    }
    for batch in ["a", "b", "c"].map(|batch| JobName::new(batch).expect("a letter is a name")) {
        let found = store.has_pending_of(&batch).map_err(text)?;
        same("a batch has pending jobs", &found, &oracle.has_pending_of(&batch).map_err(text)?)?;
    }
    // The narrow one first: to answer that about all of them a store may change how it keeps them.
    let queries = [generator.query(), Query { limit: 1_000, ..Query::default() }];
    for query in queries {
        same_page(store, oracle, &query)?;
    }
    let query = generator.audit_query();
    let found = store.audit(&query).map_err(text)?;
    same("who asked for what", &found, &oracle.audit(&query).map_err(text)?)?;
    let name = generator.name();
    let found = store.stats(&name, 5).map_err(text)?;
    same("how a job went", &found, &oracle.stats(&name, 5).map_err(text)?)?;
    let after = generator.key();
    for after in [None, Some(&after)] {
        let found = store.open_runs(after, 5).map_err(text)?;
        same("open runs", &found, &oracle.open_runs(after, 5).map_err(text)?)?;
    }
    let names: Vec<JobName> =
        std::iter::repeat_with(|| generator.name()).take(9).collect::<BTreeSet<_>>().into_iter().collect();
    let mut found = store.last_ended(&names).map_err(text)?;
    found.sort_by(|one, other| one.key.cmp(&other.key));
    let mut expected = oracle.last_ended(&names).map_err(text)?;
    expected.sort_by(|one, other| one.key.cmp(&other.key));
    same("the last runs of jobs", &found, &expected)?;
    let name = generator.name();
    let found = store.pending_named(&name).map_err(text)?;
    same("a pending job", &found, &oracle.pending_named(&name).map_err(text)?)
}

/// A page of runs is the same, and so are they one by one.
pub(super) fn same_page<S: Store>(store: &mut S, oracle: &mut MemoryStore, query: &Query) -> LawResult {
    let found = store.find(query).map_err(text)?;
    same("runs found", &found, &oracle.find(query).map_err(text)?)?;
    found.iter().try_for_each(|run| same_run(store, oracle, &run.key))
}

/// A run is the same, if there is one.
pub(super) fn same_run<S: Store>(store: &mut S, oracle: &mut MemoryStore, key: &RunKey) -> LawResult {
    same("a run", &store.run(key).map_err(text)?, &oracle.run(key).map_err(text)?)?;
    let found = store.attempts(key).map_err(text)?;
    same("attempts", &found, &oracle.attempts(key).map_err(text)?)
}
