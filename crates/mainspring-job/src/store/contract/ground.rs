//! Where the stores of the suite come from, and what its laws and scripts have in common.
//!
//! Cost: none.
//!
//! Does not judge: see [`laws`](super::laws).

use std::fmt;

use crate::operation::{Answer, Batch, Operation};
use crate::store::{Lease, Owner, Shard, Store, StoreError};

/// Where stores come from.
///
/// # Example
/// ```
/// use mainspring_job::{MemoryStore, contract};
///
/// struct InMemory;
///
/// impl contract::Ground for InMemory {
///     type Store = MemoryStore;
///     fn fresh(&mut self) -> MemoryStore {
///         MemoryStore::new()
///     }
///     fn reopened(&mut self, store: MemoryStore) -> MemoryStore {
///         store
///     }
/// }
///
/// assert_eq!(contract::exercise(&mut InMemory, 5), Ok(()));
/// ```
pub trait Ground {
    /// The kind of store.
    type Store: Store;

    /// An empty store.
    fn fresh(&mut self) -> Self::Store;

    /// The same store, closed and opened again.
    fn reopened(&mut self, store: Self::Store) -> Self::Store;

    /// The same store, opened a second time for another owner while the first still has it. `None` where that
    /// cannot be; the laws for two owners then hold for two leases of one connection.
    fn beside(&mut self, store: &Self::Store) -> Option<Self::Store> {
        let _ = store;
        None
    }

    /// Lets the leases of a store run out, as if their owners had been silent for so long. For stores whose
    /// leases end by themselves: another owner is [`Held`](StoreError::Held) off until then.
    fn lapse(&mut self, store: &Self::Store) {
        let _ = store;
    }
}

/// What a law or a script says: `Err` with what was found instead.
pub(super) type Held = Result<(), String>;

/// Acquires the shard, from another whose lease runs out first if it has one.
pub(super) fn acquired<G: Ground>(
    ground: &mut G,
    store: &mut G::Store,
    owner: &Owner,
) -> Result<Lease, String> {
    match store.acquire(Shard::WHOLE, owner) {
        Err(StoreError::Held { .. }) => {
            ground.lapse(store);
            store.acquire(Shard::WHOLE, owner).map_err(text)
        }
        other => other.map_err(text),
    }
}

/// Commits, and takes an error for a violation.
pub(super) fn committed<S: Store>(
    store: &mut S,
    lease: Lease,
    number: u64,
    operations: &[Operation],
) -> Result<Vec<Answer>, String> {
    let batch = Batch { number, operations: operations.to_vec() };
    let committed = store.commit(lease, &batch).map_err(|error| format!("batch {number}: {error}"))?;
    Ok(committed.answers)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
pub(super) fn text(error: StoreError) -> String {
    error.to_string()
}

pub(super) fn same<T: PartialEq + fmt::Debug>(what: &str, found: &T, expected: &T) -> Held {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}
