//! The source of the suite's stores, and steps that its laws and scripts share.
//!
//! Cost: none.
//!
//! Does not judge: see [`laws`](super::laws).

use std::fmt;

use crate::operation::{Answer, Batch, Operation};
use crate::store::{Lease, Owner, Store, StoreError};

/// How often a store is asked after an answer was lost. The first session may have to end before.
const MAX_TRIES: usize = 100;

/// Where stores come from.
///
/// # Example
/// ```
/// use mainspring_job::{MemoryStore, contract};
///
/// struct InMemory;
///
/// impl contract::StoreFixture for InMemory {
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
pub trait StoreFixture {
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

    /// Has a store lose its next answer: it does what it is asked, and the caller is told
    /// [`Unknown`](StoreError::Unknown) or [`Busy`](StoreError::Busy). `false` where no answer can be lost.
    fn lose_answer(&mut self, store: &Self::Store) -> bool {
        let _ = store;
        false
    }
}

/// What a law or a script says: `Err` with what was found instead.
pub(super) type LawResult = Result<(), String>;

/// Acquires the lease, from another whose lease runs out first if it has one.
pub(super) fn acquired<G: StoreFixture>(
    fixture: &mut G,
    store: &mut G::Store,
    owner: &Owner,
) -> Result<Lease, String> {
    match store.acquire(owner) {
        Err(StoreError::Held { .. }) => {
            fixture.lapse(store);
            store.acquire(owner).map_err(text)
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
    let batch = Batch::new(number, operations.to_vec());
    let committed = store.commit(lease, &batch).map_err(|error| format!("batch {number}: {error}"))?;
    Ok(committed.answers)
}

/// The same, and any other answers are a violation too.
pub(super) fn answered<S: Store>(
    store: &mut S,
    lease: Lease,
    number: u64,
    operations: &[Operation],
    expected: &[Answer],
) -> LawResult {
    let found = committed(store, lease, number, operations)?;
    same("answers", &found, &expected.to_vec())
}

/// What only an owner may do was asked for by one that is it no more: it is refused.
pub(super) fn is_fenced<T: fmt::Debug>(what: &str, found: Result<T, StoreError>) -> LawResult {
    match found {
        Err(StoreError::Fenced) => Ok(()),
        found => Err(format!("{what} was answered {found:?}")),
    }
}

/// Commits a batch whose answer is lost, and renews the lease before the batch is sent again if that is
/// asked for, as a server does whose commits are not answered for a while.
pub(super) fn unanswered<S: Store>(
    store: &mut S,
    lease: Lease,
    number: u64,
    operations: &[Operation],
    then: Then,
) -> Result<Vec<Answer>, String> {
    let batch = Batch::new(number, operations.to_vec());
    match store.commit(lease, &batch) {
        Err(StoreError::Unknown | StoreError::Busy(_)) => {}
        other => return Err(format!("batch {number}, whose answer is lost: {other:?}")),
    }
    if then == Then::Renew {
        in_the_end(|| store.renew(lease))?;
    }
    Ok(in_the_end(|| store.commit(lease, &batch))?.answers)
}

/// What comes before a batch is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    Renew,
}

/// The answer of a store to which the way was lost, and is there again.
fn in_the_end<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> Result<T, String> {
    for _ in 0..MAX_TRIES {
        match ask() {
            Err(StoreError::Unknown | StoreError::Busy(_)) => {}
            other => return other.map_err(text),
        }
    }
    Err(format!("the store gave no answer {MAX_TRIES} times"))
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
pub(super) fn text(error: StoreError) -> String {
    error.to_string()
}

pub(super) fn same<T: PartialEq + fmt::Debug>(what: &str, found: &T, expected: &T) -> LawResult {
    if found == expected { Ok(()) } else { Err(format!("{what}: {found:?} instead of {expected:?}")) }
}
