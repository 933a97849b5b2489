//! Submissions that fire in the batch that has them: their runs are there, and they wait nowhere.
//!
//! Cost: one batch.
//!
//! Does not look at those that fire later: see `laws`.

use super::laws::{Law, at, once};
use super::store_fixture::{LawResult, StoreFixture, acquired, answered, same, text};
use crate::once::{NUMBER_BITS, Once};
use crate::operation::{Answer, Operation};
use crate::run::RunKey;
use crate::state::RunState;
use crate::store::{Owner, Reader};

pub(super) fn law<G: StoreFixture>() -> Law<G> {
    ("a submission that fires in its batch is its run, among others that wait", fires_in_its_batch)
}

fn fires_in_its_batch<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut store = fixture.fresh();
    let lease = acquired(fixture, &mut store, &Owner::new("suite"))?;
    let [first, later, last] = [1, 2, 3].map(|number| once((lease.epoch << NUMBER_BITS) + number, 50));
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
    answered(&mut store, lease, 1, &operations, &answers)?;
    let counts = store.counts().map_err(text)?;
    same("pending and open", &(counts.pending, counts.open), &(1, 2))?;
    for job in [first, last] {
        let run = store.run(&RunKey::new(job.name.clone(), job.id.due)).map_err(text)?;
        same("state", &run.map(|run| run.state), &Some(RunState::Queued))?;
    }
    same("what waits", &store.pending_named(&later.name).map_err(text)?, &Some(later))
}
