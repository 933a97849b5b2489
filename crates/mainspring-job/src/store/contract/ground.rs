//! Where the stores of the suite come from, and what its laws and scripts have in common.
//!
//! Cost: none.
//!
//! Does not judge: see [`laws`](super::laws).

use std::fmt;

use crate::operation::{Answer, Batch, Operation};
use crate::store::{Lease, Store, StoreError};

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
}

/// What a law or a script says: `Err` with what was found instead.
pub(super) type Held = Result<(), String>;

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
