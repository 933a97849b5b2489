//! The suite that holds a store to its contract. Public, so that the author of a store can run it.
//!
//! ```text
//!  laws:     small cases, one for each sentence of the contract
//!  scripts:  random batches, told to the store and to the one in memory; answers and contents must agree
//! ```
//!
//! Cost: some hundred small stores are made. It cannot pull the plug: that a store survives a crash is for
//! its own tests.
//!
//! # Example
//! A store that is a journal: it keeps all that it was told, and when it is opened reads it again from the
//! start. The maps of [`MemoryStore`](super::MemoryStore) answer its questions.
//!
//! ```
//! use mainspring_job::jiff::Timestamp;
//! use mainspring_job::{
//!     Attempt, AuditQuery, AuditRow, Batch, Commit, Counts, JobName, JobRecord, Lease, MemoryStore,
//!     Once, OnceId, Owner, Query, Reader, Renewal, PauseTerms, Run, RunKey, Store, StoreError, contract,
//! };
//!
//! enum Entry {
//!     Acquired(Owner),
//!     Released(Lease),
//!     Committed(Lease, Batch),
//! }
//!
//! #[derive(Default)]
//! struct Journal {
//!     /// What would be lines of a file.
//!     entries: Vec<Entry>,
//!     state: MemoryStore,
//! }
//!
//! impl Store for Journal {
//!     fn acquire(&mut self, owner: &Owner) -> Result<Lease, StoreError> {
//!         let lease = self.state.acquire(owner)?;
//!         self.entries.push(Entry::Acquired(owner.clone()));
//!         Ok(lease)
//!     }
//!     fn renew(&mut self, lease: Lease) -> Result<Renewal, StoreError> {
//!         self.state.renew(lease)
//!     }
//!     fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
//!         self.state.release(lease)?;
//!         self.entries.push(Entry::Released(lease));
//!         Ok(())
//!     }
//!     fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<Commit, StoreError> {
//!         // One that is fenced out is told so, and writes nothing.
//!         let committed = self.state.commit(lease, batch)?;
//!         self.entries.push(Entry::Committed(lease, batch.clone()));
//!         Ok(committed)
//!     }
//! }
//!
//! impl Reader for Journal {
//!     fn load(
//!         &mut self,
//!         after: OnceId,
//!         up_to: Timestamp,
//!         limit: usize,
//!     ) -> Result<Vec<Once>, StoreError> {
//!         self.state.load(after, up_to, limit)
//!     }
//!     fn jobs(&mut self) -> Result<(Vec<JobRecord>, Option<PauseTerms>), StoreError> {
//!         self.state.jobs()
//!     }
//!     fn open_runs(
//!         &mut self,
//!         after: Option<&RunKey>,
//!         limit: usize,
//!     ) -> Result<Vec<Run>, StoreError> {
//!         self.state.open_runs(after, limit)
//!     }
//!     fn find(&mut self, query: &Query) -> Result<Vec<Run>, StoreError> {
//!         self.state.find(query)
//!     }
//!     fn run(&mut self, key: &RunKey) -> Result<Option<Run>, StoreError> {
//!         self.state.run(key)
//!     }
//!     fn attempts(&mut self, key: &RunKey) -> Result<Vec<Attempt>, StoreError> {
//!         self.state.attempts(key)
//!     }
//!     fn pending_named(&mut self, name: &JobName) -> Result<Option<Once>, StoreError> {
//!         self.state.pending_named(name)
//!     }
//!     fn keyed(&mut self, key: &str) -> Result<Option<(OnceId, JobName)>, StoreError> {
//!         self.state.keyed(key)
//!     }
//!     fn counts(&mut self) -> Result<Counts, StoreError> {
//!         self.state.counts()
//!     }
//!     fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
//!         self.state.audit(query)
//!     }
//! }
//!
//! struct Journals;
//!
//! impl contract::StoreFixture for Journals {
//!     type Store = Journal;
//!     fn fresh(&mut self) -> Journal {
//!         Journal::default()
//!     }
//!     fn reopened(&mut self, store: Journal) -> Journal {
//!         let mut journal = Journal::default();
//!         for entry in store.entries {
//!             let redone = match &entry {
//!                 Entry::Acquired(owner) => journal.acquire(owner).map(drop),
//!                 Entry::Released(lease) => journal.release(*lease),
//!                 Entry::Committed(lease, batch) => journal.commit(*lease, batch).map(drop),
//!             };
//!             redone.expect("what went well once does so again");
//!         }
//!         journal
//!     }
//! }
//!
//! contract::exercise(&mut Journals, 20)?;
//! # Ok::<(), contract::Violation>(())
//! ```
//!
//! A store that keeps everything in tables of its own is `mainspring-store`, which knows no more of this
//! crate than is public.

mod contents;
mod generator;
mod holders;
mod laws;
mod one_shot_histories;
mod owners;
mod retention;
mod rule;
mod store_fixture;
mod submitted_runs;

use std::error::Error;
use std::fmt;

use crate::replay;
use contents::same_contents;
use generator::Generator;
use laws::Law;
use store_fixture::{LawResult, StorePair};

pub use rule::exercise_rule;
pub use store_fixture::StoreFixture;

/// Says what a store or a rule did that it should not.
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
///     // It forgets all that it was told.
///     fn reopened(&mut self, _store: MemoryStore) -> MemoryStore {
///         MemoryStore::new()
///     }
/// }
///
/// let violation = contract::exercise(&mut InMemory, 1).unwrap_err();
/// assert!(violation.to_string().contains(": "), "the law, and what was found");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The law, or the script with its seed and the command that runs it again.
    pub law: String,
    /// What was found.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law, self.found)
    }
}

impl Error for Violation {}

/// Runs all laws, and so many random scripts, or the one whose seed `SEED` in the environment names.
///
/// # Errors
/// The first law or script that the store does not keep to.
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
pub fn exercise<G: StoreFixture>(fixture: &mut G, script_count: u64) -> Result<(), Violation> {
    let others: [Law<G>; 3] = [
        ("what has a key or a name is told, how it stands, and whether it is the same", holders::held),
        (
            "a submission that fires in its batch is its run, among others that wait",
            submitted_runs::fires_in_its_batch,
        ),
        ("the record of a removed job goes with the last of its runs", retention::forgotten),
    ];
    let violation = |law: String| |found: Box<dyn Error>| Violation { law, found: found.to_string() };
    for (law, check) in laws::all::<G>().into_iter().chain(owners::all()).chain(others) {
        check(fixture).map_err(violation(law.to_owned()))?;
    }
    for seed in replay::seeds(0..script_count) {
        let law = |kind: &str| format!("{kind} of seed {seed}, again with {}", replay::command(seed));
        script(fixture, seed).map_err(violation(law("script")))?;
        one_shot_histories::script(fixture, seed).map_err(violation(law("one-shot histories")))?;
    }
    Ok(())
}

/// One random history of batches, on the store and on the oracle.
fn script<G: StoreFixture>(fixture: &mut G, seed: u64) -> LawResult {
    let mut generator = Generator::new(seed);
    let mut pair = StorePair::fresh(fixture)?;
    for _ in 0..generator.batch_count() {
        let operations = generator.batch();
        let answers = pair.owned.commit(&operations)?;
        pair.judge(&operations, &answers)?;
        if generator.one_in(4) {
            pair.repeat(&operations, &answers)?;
        }
        if generator.one_in(6) {
            pair = pair.reopened(fixture)?;
        }
        same_contents(&mut pair, &mut generator)?;
    }
    Ok(())
}
