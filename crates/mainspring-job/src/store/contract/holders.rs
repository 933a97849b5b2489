//! The law of holders: a table of what has the place of a submission, how it stands, and what is asked for.
//!
//! | the holder | asked for with | answer, and whether it is the same |
//! |---|---|---|
//! | has a key | that key, the same work | `Duplicate` with its id; the same, whatever name or due time |
//! | | that key, other work | `Duplicate` with its id; another |
//! | has a key and waits | its name, another key or none | `Duplicate` with its id; another |
//! | has a key and has a run | its name, another key or none | `New` |
//! | has no key and waits | its name, no key, the same work and due time | `Duplicate` with its id; the same |
//! | | its name, and a key, other work or another due time | `Duplicate` with its id; another |
//! | has no key and has a run | its name, no key, the same work and due time | `Duplicate` without an id; the same |
//! | | the same with other work | `Duplicate` without an id; another |
//! | | its name, and another due time | `New` |
//!
//! Cost: some dozens of batches.
//!
//! Does not look at the rest of a store: see [`laws`](super::laws).

use std::sync::Arc;

use super::laws::{at, name, once};
use super::store_fixture::{LawResult, OwnedStore, StoreFixture, same};
use crate::holder::Holder;
use crate::once::{Once, OnceId, Submission};
use crate::operation::{Answer, Batch, Operation};
use crate::outcome::{Failure, Outcome};
use crate::run::{Run, RunKey};
use crate::state::RunState;
use crate::store::Store;
use crate::work::{Action, Work};

/// How the holder stands: it waits, or its run is in a state.
const STANDINGS: [Option<RunState>; 6] = [
    None,
    Some(RunState::Queued),
    Some(RunState::Running),
    Some(RunState::Succeeded),
    Some(RunState::Cancelled),
    Some(RunState::Dead),
];

/// When the holders are due, and another time.
const DUE: i64 = 50;
const OTHER_DUE: i64 = 70;

/// What leads from a submission to how it stands.
fn steps(once: &Once, standing: Option<RunState>) -> Vec<Operation> {
    let key = RunKey::new(once.name.clone(), once.id.due);
    let run = |state| once.run(state, once.id.due, at(51));
    let started = Run { attempt: 1, started: Some(at(51)), ..run(RunState::Running) };
    let fire = |run| Operation::Fire { id: once.id, run };
    let end = |state, outcome| Operation::End {
        key: key.clone(),
        attempt: 1,
        state,
        at: at(52),
        outcome: Some(outcome),
        crashes: 0,
        reason: None,
    };
    let failed = Outcome::Failed(Failure::Exit(1));
    let buried = Operation::Move {
        key: key.clone(),
        from: RunState::Failed,
        to: RunState::Dead,
        due: once.id.due,
        at: at(53),
        reason: None,
    };
    let rest = match standing {
        None => vec![],
        Some(RunState::Queued) => vec![fire(run(RunState::Queued))],
        Some(RunState::Running) => vec![fire(started)],
        Some(RunState::Succeeded) => vec![fire(started), end(RunState::Succeeded, Outcome::Succeeded)],
        Some(RunState::Dead) => vec![fire(started), end(RunState::Failed, failed), buried],
        Some(_) => vec![Operation::Withdraw { id: once.id, at: at(52) }],
    };
    std::iter::once(Operation::Submit(once.clone())).chain(rest).collect()
}

/// One that asks for something, and what it is to find: the answer, and whether its holder is the same.
struct Case {
    once: Once,
    answer: Answer,
    is_same: bool,
}

fn other_work() -> Arc<Work> {
    Arc::new(Work::new(Action::new("process", "false").expect("it is short")))
}

/// The rows of the table for a holder with a key and one without, both of which stand like this.
fn cases(number: u64, keyed: &Once, plain: &Once, standing: Option<RunState>) -> Vec<Case> {
    let is_waiting = standing.is_none();
    let asks = |place: u64, due: i64, of: Option<&Once>, key: Option<&str>| {
        let new = once(number + place, due);
        let name = of.map_or_else(|| new.name.clone(), |of| of.name.clone());
        Once { name, key: key.map(str::to_owned), ..new }
    };
    let other = |once: Once| Once { work: other_work(), ..once };
    let (key, held) = (keyed.key.as_deref(), Answer::Duplicate(Some(keyed.id)));
    let case = |once, answer, is_same| Case { once, answer, is_same };
    let if_waiting = |answer| if is_waiting { answer } else { Answer::New };
    let of_plain = Answer::Duplicate(is_waiting.then_some(plain.id));
    let first = asks(13, OTHER_DUE, Some(keyed), Some(&format!("other {number}")));
    // Where the holder has a run, the one before has the name.
    let named = if is_waiting { keyed.id } else { first.id };
    vec![
        case(asks(10, DUE, Some(keyed), key), held, true),
        case(asks(11, OTHER_DUE, None, key), held, true),
        case(other(asks(12, DUE, Some(keyed), key)), held, false),
        case(first, if_waiting(held), false),
        case(asks(14, OTHER_DUE, Some(keyed), None), Answer::Duplicate(Some(named)), false),
        case(asks(15, DUE, Some(plain), None), of_plain, true),
        case(other(asks(16, DUE, Some(plain), None)), of_plain, false),
        case(asks(17, OTHER_DUE, Some(plain), None), if_waiting(Answer::Duplicate(Some(plain.id))), false),
    ]
}

fn check<S: Store>(owned: &mut OwnedStore<S>, case: Case) -> LawResult {
    let Case { once, answer, is_same } = case;
    let operations = [Operation::Submit(once.clone())];
    let answers = owned.commit(&operations)?;
    same("the answer", &answers, &vec![answer])?;
    let batch = Batch::new(owned.number, operations.to_vec());
    let holders = Holder::of_batch(&mut owned.store, &batch, &answers)?;
    let Answer::Duplicate(id) = answer else { return same("holders of a new one", &holders, &vec![]) };
    let [(0, holder)] = holders.as_slice() else {
        return Err(format!("the holder is {holders:?}").into());
    };
    if let Some(id) = id {
        same("the id of the holder", &holder.id, &Some(id))?;
    }
    let submission = Submission {
        due: once.id.due,
        name: Some(once.name).filter(|name| name.as_str().parse::<OnceId>().is_err()),
        key: once.key,
        earlier: None,
        work: once.work,
    };
    same("whether the holder is the same", &holder.is_same(&submission), &is_same)
}

pub(super) fn held<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    for (number, standing) in (1_u64..).zip(STANDINGS) {
        let number = number * 100;
        let keyed = Once {
            name: name(&format!("keyed-{number}")),
            key: Some(format!("k {number}")),
            ..once(number, DUE)
        };
        let plain = Once { name: name(&format!("plain-{number}")), ..once(number + 1, DUE) };
        for holder in [&keyed, &plain] {
            let operations = steps(holder, standing);
            owned.answered(&operations, &vec![Answer::New; operations.len()])?;
            let batch = Batch::new(0, vec![Operation::Submit(holder.clone())]);
            let holders = Holder::of_batch(&mut owned.store, &batch, &[Answer::Duplicate(None)])?;
            let states: Vec<_> = holders.into_iter().map(|(_, holder)| holder.state).collect();
            same("the state of the holder", &states, &vec![standing])?;
        }
        for case in cases(number, &keyed, &plain, standing) {
            let about = format!("{:?} {:?} where the holder is {standing:?}", case.once.name, case.once.key);
            check(&mut owned, case).map_err(|fault| format!("{about}: {fault}"))?;
        }
    }
    Ok(())
}
