//! The store in memory keeps the contract, and stores that are broken on purpose are caught.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use jiff::Timestamp;
use mainspring_job::{
    Answer, Attempt, AuditQuery, AuditRow, Batch, Commit, Counts, JobName, JobRecord, Lease, MemoryStore,
    Once, OnceId, Operation, Owner, PauseTerms, Query, Reader, Renewal, Run, RunKey, Store, StoreError,
    Takeover, contract,
};

/// Makes stores with a flaw.
struct BrokenFixture(Flaw);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    AppliesTwice,
    FencesNobody,
    EpochStays,
    ForgetsOnClose,
    BeginsTwice,
    DropsLastRow,
    TurnsPages,
    LosesOneOfABatch,
    LeavesPending,
    MovesWatermarkBack,
    ForgetsCrashes,
    CallsEveryEndClean,
    TakesOldBatches,
    TakesWhatLeavesOneOut,
    RunsBack,
    ForgetsTheLast,
    ForgetsWhoAsked,
    ForgetsTheKey,
}

const FLAWS: [Flaw; 18] = [
    Flaw::ForgetsTheKey,
    Flaw::ForgetsTheLast,
    Flaw::ForgetsWhoAsked,
    Flaw::AppliesTwice,
    Flaw::FencesNobody,
    Flaw::EpochStays,
    Flaw::ForgetsOnClose,
    Flaw::BeginsTwice,
    Flaw::DropsLastRow,
    Flaw::TurnsPages,
    Flaw::LosesOneOfABatch,
    Flaw::LeavesPending,
    Flaw::MovesWatermarkBack,
    Flaw::ForgetsCrashes,
    Flaw::CallsEveryEndClean,
    Flaw::TakesOldBatches,
    Flaw::TakesWhatLeavesOneOut,
    Flaw::RunsBack,
];

struct BrokenStore {
    flaw: Flaw,
    store: MemoryStore,
    lease: Option<Lease>,
    number: u64,
    /// The number of the last batch, as it was given and as the store has it.
    given: (u64, u64),
    /// The last batch and its answers.
    last: Option<(u64, Commit)>,
}

impl contract::StoreFixture for BrokenFixture {
    type Store = BrokenStore;

    fn fresh(&mut self) -> BrokenStore {
        BrokenStore {
            flaw: self.0,
            store: MemoryStore::new(),
            lease: None,
            number: 0,
            given: (0, 0),
            last: None,
        }
    }

    fn reopened(&mut self, store: BrokenStore) -> BrokenStore {
        match self.0 {
            Flaw::ForgetsOnClose => self.fresh(),
            _ => store,
        }
    }
}

impl Store for BrokenStore {
    fn acquire(&mut self, owner: &Owner) -> Result<Lease, StoreError> {
        if self.flaw == Flaw::EpochStays
            && let Some(lease) = self.lease
        {
            return Ok(lease);
        }
        let lease = self.store.acquire(owner)?;
        let takeover = if self.flaw == Flaw::CallsEveryEndClean { Takeover::Clean } else { lease.takeover };
        let lease = Lease::new(lease.epoch, takeover);
        (self.lease, self.given) = (Some(lease), (0, 0));
        Ok(lease)
    }

    fn renew(&mut self, lease: Lease) -> Result<Renewal, StoreError> {
        if self.flaw == Flaw::FencesNobody { Ok(Renewal::default()) } else { self.store.renew(lease) }
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.store.release(lease)
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<Commit, StoreError> {
        let (mut batch, given) = (batch.clone(), batch.number);
        match self.flaw {
            Flaw::AppliesTwice => batch.number = self.given.1 + 1,
            Flaw::TakesWhatLeavesOneOut if self.given.0 < batch.number => batch.number = self.given.1 + 1,
            Flaw::TakesWhatLeavesOneOut if self.given.0 == batch.number => batch.number = self.given.1,
            Flaw::LosesOneOfABatch if 6 < batch.operations.len() => {
                batch.operations.pop();
                let mut committed = self.store.commit(lease, &batch)?;
                committed.answers.push(Answer::New);
                return Ok(committed);
            }
            Flaw::ForgetsCrashes => {
                for operation in &mut batch.operations {
                    if let Operation::End { crashes, .. } = operation {
                        *crashes = 0;
                    }
                }
            }
            _ => (),
        }
        if self.flaw == Flaw::TakesOldBatches
            && let Some((number, committed)) = &self.last
            && *number == batch.number
        {
            return Ok(committed.clone());
        }
        let before = self.store.clone();
        let mut committed = self.store.commit(lease, &batch)?;
        (self.last, self.given) = (Some((batch.number, committed.clone())), (given, batch.number));
        self.number += 1;
        if self.flaw == Flaw::RunsBack {
            let second = 1_000 - i64::try_from(self.number).unwrap();
            committed.now = Some(Timestamp::from_second(second).unwrap());
        }
        for (operation, answer) in batch.operations.iter().zip(&mut committed.answers) {
            match (self.flaw, operation) {
                (Flaw::BeginsTwice, Operation::Begin { .. }) if *answer == Answer::Duplicate(None) => {
                    *answer = Answer::New;
                }
                (Flaw::LeavesPending, Operation::Fire { .. }) => self.store = before.clone(),
                (Flaw::MovesWatermarkBack, Operation::Mark(_)) => *answer = Answer::Missing,
                _ => (),
            }
        }
        Ok(committed)
    }
}

impl Reader for BrokenStore {
    fn load(&mut self, after: OnceId, up_to: Timestamp, limit: usize) -> Result<Vec<Once>, StoreError> {
        let mut page = self.store.load(after, up_to, limit)?;
        match self.flaw {
            Flaw::DropsLastRow => drop(page.pop()),
            Flaw::TurnsPages => page.reverse(),
            _ => (),
        }
        Ok(page)
    }

    fn jobs(&mut self) -> Result<(Vec<JobRecord>, Option<PauseTerms>), StoreError> {
        let (mut jobs, rest) = self.store.jobs()?;
        if self.flaw == Flaw::ForgetsTheLast {
            jobs.iter_mut().for_each(|job| job.last = None);
        }
        Ok((jobs, rest))
    }

    fn open_runs(&mut self, after: Option<&RunKey>, limit: usize) -> Result<Vec<Run>, StoreError> {
        self.store.open_runs(after, limit)
    }

    fn find(&mut self, query: &Query) -> Result<Vec<Run>, StoreError> {
        self.store.find(query)
    }

    fn run(&mut self, key: &RunKey) -> Result<Option<Run>, StoreError> {
        self.store.run(key)
    }

    fn attempts(&mut self, key: &RunKey) -> Result<Vec<Attempt>, StoreError> {
        self.store.attempts(key)
    }

    fn pending_named(&mut self, name: &JobName) -> Result<Option<Once>, StoreError> {
        self.store.pending_named(name)
    }

    fn keyed(&mut self, key: &str) -> Result<Option<(OnceId, JobName)>, StoreError> {
        self.store.keyed(key).map(|found| found.filter(|_| self.flaw != Flaw::ForgetsTheKey))
    }

    fn counts(&mut self) -> Result<Counts, StoreError> {
        self.store.counts()
    }

    fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        let found = self.store.audit(query)?;
        Ok(if self.flaw == Flaw::ForgetsWhoAsked { Vec::new() } else { found })
    }
}

#[test]
fn the_store_in_memory_keeps_the_contract() {
    assert_eq!(contract::exercise(&mut BrokenFixture(Flaw::None), 500), Ok(()));
}

#[test]
fn a_broken_store_is_caught() {
    for flaw in FLAWS {
        let found = contract::exercise(&mut BrokenFixture(flaw), 500);
        assert!(found.is_err(), "{flaw:?} was not caught");
    }
}

/// One store in memory that lends its lease, as several connections see it.
#[derive(Clone)]
struct SharedMemoryStore(Rc<RefCell<MemoryStore>>);

struct Lending;

impl contract::StoreFixture for Lending {
    type Store = SharedMemoryStore;

    fn fresh(&mut self) -> SharedMemoryStore {
        SharedMemoryStore(Rc::new(RefCell::new(MemoryStore::lending(
            Duration::from_secs(15),
            Timestamp::UNIX_EPOCH,
        ))))
    }

    fn reopened(&mut self, store: SharedMemoryStore) -> SharedMemoryStore {
        store
    }

    fn beside(&mut self, store: &SharedMemoryStore) -> Option<SharedMemoryStore> {
        Some(store.clone())
    }

    fn lapse(&mut self, store: &SharedMemoryStore) {
        store.0.borrow_mut().lapse();
    }
}

impl Store for SharedMemoryStore {
    fn acquire(&mut self, owner: &Owner) -> Result<Lease, StoreError> {
        self.0.borrow_mut().acquire(owner)
    }
    fn renew(&mut self, lease: Lease) -> Result<Renewal, StoreError> {
        self.0.borrow_mut().renew(lease)
    }
    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.0.borrow_mut().release(lease)
    }
    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<Commit, StoreError> {
        self.0.borrow_mut().commit(lease, batch)
    }
}

impl Reader for SharedMemoryStore {
    fn load(&mut self, after: OnceId, up_to: Timestamp, limit: usize) -> Result<Vec<Once>, StoreError> {
        self.0.borrow_mut().load(after, up_to, limit)
    }
    fn jobs(&mut self) -> Result<(Vec<JobRecord>, Option<PauseTerms>), StoreError> {
        self.0.borrow_mut().jobs()
    }
    fn open_runs(&mut self, after: Option<&RunKey>, limit: usize) -> Result<Vec<Run>, StoreError> {
        self.0.borrow_mut().open_runs(after, limit)
    }
    fn find(&mut self, query: &Query) -> Result<Vec<Run>, StoreError> {
        self.0.borrow_mut().find(query)
    }
    fn run(&mut self, key: &RunKey) -> Result<Option<Run>, StoreError> {
        self.0.borrow_mut().run(key)
    }
    fn attempts(&mut self, key: &RunKey) -> Result<Vec<Attempt>, StoreError> {
        self.0.borrow_mut().attempts(key)
    }
    fn pending_named(&mut self, name: &JobName) -> Result<Option<Once>, StoreError> {
        self.0.borrow_mut().pending_named(name)
    }
    fn keyed(&mut self, key: &str) -> Result<Option<(OnceId, JobName)>, StoreError> {
        self.0.borrow_mut().keyed(key)
    }
    fn counts(&mut self) -> Result<Counts, StoreError> {
        self.0.borrow_mut().counts()
    }
    fn audit(&mut self, query: &AuditQuery) -> Result<Vec<AuditRow>, StoreError> {
        self.0.borrow_mut().audit(query)
    }
}

#[test]
fn the_store_in_memory_that_lends_its_lease_keeps_the_contract() {
    assert_eq!(contract::exercise(&mut Lending, 200), Ok(()));
}
