//! The record of a removed job: a prune drops it with the last of the job's runs.
//!
//! Cost: some batches.
//!
//! Does not look at which runs a prune drops: see `laws`.

use super::laws::{at, define, key, name};
use super::store_fixture::{LawResult, OwnedStore, StoreFixture, same};
use crate::operation::{Answer, Operation};
use crate::record::Mark;
use crate::run::{Cause, Run, RunKey};
use crate::state::RunState;
use crate::store::Reader;

pub(super) fn forgotten<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let mark = Mark::new(name("job"), at(100), String::new());
    let retention = "keep=3,days=2".parse().expect("a retention");
    let forget = || Operation::Forget { job: name("job"), absence: None, retention };
    let prune = |keep, before| Operation::Prune { job: Some(name("job")), keep, before: at(before) };
    let plan = |key, state: RunState| {
        let run = Run::new(key, Cause::Trigger, state, at(60), at(60));
        Operation::Plan(Run { ended: (!state.is_open()).then_some(at(60)), ..run })
    };
    let open = plan(key(), RunState::Scheduled);
    let (from, to) = (RunState::Scheduled, RunState::Cancelled);
    let cancel = Operation::Move { key: key(), from, to, due: at(70), at: at(70), reason: None };
    let missed = plan(RunKey::new(name("job"), at(30)), RunState::Missed);
    let rounds = [
        ("defined", vec![define(&mark), missed, open, prune(0, 500)], Answer::New, 1),
        ("a run is open", vec![forget(), prune(0, 500)], Answer::New, 1),
        ("a run is kept", vec![cancel, prune(1, 0)], Answer::New, 1),
        ("planned too far", vec![prune(0, 100)], Answer::New, 1),
        ("nothing is left", vec![prune(0, 101)], Answer::Gone, 0),
        ("no record", vec![prune(0, 500)], Answer::New, 0),
        ("again", vec![define(&mark), forget(), prune(1, 101), define(&mark)], Answer::New, 1),
        ("back", vec![prune(1, 500)], Answer::New, 1),
    ];
    for (number, (what, operations, answer, left)) in (1..).zip(rounds) {
        let answers = owned.commit(&operations)?;
        let (jobs, _) = owned.store.jobs()?;
        same(what, &(answers.last(), jobs.len()), &(Some(&answer), left))?;
        let expected = if number == 1 || 6 < number { Default::default() } else { retention };
        same(what, &jobs.iter().all(|record| record.retention == expected), &true)?;
    }
    Ok(())
}
