//! The source of the suite's stores, and steps that its laws and scripts share.
//!
//! Cost: none.
//!
//! Does not judge: see [`laws`](super::laws).

use std::error::Error;
use std::fmt;

use crate::operation::{Answer, Batch, Operation};
use crate::store::{Lease, MemoryStore, Owner, Store, StoreError};

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
pub(super) type LawResult<T = ()> = Result<T, Box<dyn Error>>;

/// A store, and the lease of its owner, who counts the batches.
pub(super) struct OwnedStore<S> {
    pub(super) store: S,
    pub(super) lease: Lease,
    /// The number of the last batch.
    pub(super) number: u64,
}

impl<S: Store> OwnedStore<S> {
    /// An empty store.
    pub(super) fn fresh<G: StoreFixture<Store = S>>(fixture: &mut G) -> LawResult<OwnedStore<S>> {
        let store = fixture.fresh();
        OwnedStore::of(fixture, store)
    }

    /// A store, acquired by the next owner.
    pub(super) fn of<G: StoreFixture<Store = S>>(fixture: &mut G, mut store: S) -> LawResult<OwnedStore<S>> {
        let lease = acquired(fixture, &mut store, &Owner::new("suite"))?;
        Ok(OwnedStore { store, lease, number: 0 })
    }

    /// The same store, closed, opened again and acquired by the next owner.
    pub(super) fn reopened<G: StoreFixture<Store = S>>(self, fixture: &mut G) -> LawResult<OwnedStore<S>> {
        let store = fixture.reopened(self.store);
        OwnedStore::of(fixture, store)
    }

    /// Commits the next batch, and takes an error for a violation.
    pub(super) fn commit(&mut self, operations: &[Operation]) -> LawResult<Vec<Answer>> {
        self.number += 1;
        self.commit_again(operations)
    }

    /// Commits the last batch once more.
    pub(super) fn commit_again(&mut self, operations: &[Operation]) -> LawResult<Vec<Answer>> {
        committed(&mut self.store, self.lease, self.number, operations)
    }

    /// Commits the next batch, whose answer is lost, and renews the lease before the batch is sent again if
    /// that is asked for, as a server does whose commits are not answered for a while.
    pub(super) fn commit_unanswered(
        &mut self,
        operations: &[Operation],
        then: Then,
    ) -> LawResult<Vec<Answer>> {
        self.number += 1;
        let OwnedStore { store, lease, number } = self;
        let batch = Batch::new(*number, operations.to_vec());
        match store.commit(*lease, &batch) {
            Err(StoreError::Unknown | StoreError::Busy(_)) => {}
            other => return Err(format!("batch {number}, whose answer is lost: {other:?}").into()),
        }
        if then == Then::Renew {
            in_the_end(|| store.renew(*lease))?;
        }
        Ok(in_the_end(|| store.commit(*lease, &batch))?.answers)
    }

    /// Commits the next batch, and takes any other answers for a violation too.
    pub(super) fn answered(&mut self, operations: &[Operation], expected: &[Answer]) -> LawResult {
        self.number += 1;
        answered(&mut self.store, self.lease, self.number, operations, expected)
    }
}

/// A store and the one in memory, the oracle, which are told the same.
pub(super) struct StorePair<S> {
    pub(super) owned: OwnedStore<S>,
    pub(super) oracle: OwnedStore<MemoryStore>,
}

impl<S: Store> StorePair<S> {
    /// Two empty stores.
    pub(super) fn fresh<G: StoreFixture<Store = S>>(fixture: &mut G) -> LawResult<StorePair<S>> {
        StorePair::of(OwnedStore::fresh(fixture)?, MemoryStore::new())
    }

    fn of(owned: OwnedStore<S>, mut store: MemoryStore) -> LawResult<StorePair<S>> {
        let lease = store.acquire(&Owner::new("suite"))?;
        Ok(StorePair { owned, oracle: OwnedStore { store, lease, number: 0 } })
    }

    /// The same stores, of the next owner.
    pub(super) fn reopened<G: StoreFixture<Store = S>>(self, fixture: &mut G) -> LawResult<StorePair<S>> {
        StorePair::of(self.owned.reopened(fixture)?, self.oracle.store)
    }

    /// The oracle answers the batch that the store has answered so.
    pub(super) fn judge(&mut self, operations: &[Operation], answers: &[Answer]) -> LawResult {
        let expected = self.oracle.commit(operations)?;
        for ((operation, answer), expected) in operations.iter().zip(answers).zip(&expected) {
            if answer != expected {
                let text = format!("{operation:?} was answered {answer:?} instead of {expected:?}");
                return Err(text.into());
            }
        }
        Ok(())
    }

    /// The store answers the batch in the same way once more.
    pub(super) fn repeat(&mut self, operations: &[Operation], answers: &[Answer]) -> LawResult {
        if self.owned.commit_again(operations)? != answers {
            let number = self.owned.number;
            return Err(format!("batch {number} was answered differently the second time").into());
        }
        Ok(())
    }
}

/// Acquires the lease, from another whose lease runs out first if it has one.
pub(super) fn acquired<G: StoreFixture>(
    fixture: &mut G,
    store: &mut G::Store,
    owner: &Owner,
) -> LawResult<Lease> {
    match store.acquire(owner) {
        Err(StoreError::Held { .. }) => {
            fixture.lapse(store);
            Ok(store.acquire(owner)?)
        }
        other => Ok(other?),
    }
}

/// Commits, and takes an error for a violation.
pub(super) fn committed<S: Store>(
    store: &mut S,
    lease: Lease,
    number: u64,
    operations: &[Operation],
) -> LawResult<Vec<Answer>> {
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
        found => Err(format!("{what} was answered {found:?}").into()),
    }
}

/// What comes before a batch is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    Renew,
}

/// The answer of a store to which the way was lost, and is there again.
fn in_the_end<T>(mut ask: impl FnMut() -> Result<T, StoreError>) -> LawResult<T> {
    for _ in 0..MAX_TRIES {
        match ask() {
            Err(StoreError::Unknown | StoreError::Busy(_)) => {}
            other => return Ok(other?),
        }
    }
    Err(format!("the store gave no answer {MAX_TRIES} times").into())
}

pub(super) fn same<T: PartialEq + fmt::Debug>(what: &str, found: &T, expected: &T) -> LawResult {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: {found:?} instead of {expected:?}").into())
}
