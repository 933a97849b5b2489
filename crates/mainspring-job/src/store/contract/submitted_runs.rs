//! Submissions that fire in the batch that has them: their runs are there, and they wait nowhere.
//!
//! Cost: one batch.
//!
//! Does not look at those that fire later: see `laws`.

use super::laws::{at, once};
use super::store_fixture::{LawResult, OwnedStore, StoreFixture, same};
use crate::once::{NUMBER_BITS, Once};
use crate::operation::{Answer, Operation};
use crate::run::RunKey;
use crate::state::RunState;
use crate::store::Reader;

pub(super) fn fires_in_its_batch<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let [first, later, last] = [1, 2, 3].map(|number| once((owned.lease.epoch << NUMBER_BITS) + number, 50));
    let queued = |job: &Once| {
        let run = job.run(RunState::Queued, at(50), at(51));
        Operation::Fire { id: job.id, run }
    };
    let operations = [
        Operation::Submit(first.clone()),
        queued(&first),
        Operation::Submit(later.clone()),
        Operation::Submit(last.clone()),
        queued(&last),
        queued(&last),
    ];
    let mut answers = vec![Answer::New; 6];
    answers[5] = Answer::Gone;
    owned.answered(&operations, &answers)?;
    let counts = owned.store.counts()?;
    same("pending and open", &(counts.pending, counts.open), &(1, 2))?;
    for job in [first, last] {
        let run = owned.store.run(&RunKey::new(job.name.clone(), job.id.due))?;
        same("state", &run.map(|run| run.state), &Some(RunState::Queued))?;
    }
    same("what waits", &owned.store.pending_named(&later.name)?, &Some(later))
}
