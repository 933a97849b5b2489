//! Large batches, which are done by one statement for each kind, are answered as the store in memory answers.

use mainspring_job::{
    Action, Answer, Batch, Cause, MemoryStore, Once, OnceId, Operation, Outcome, Owner, Reader, Run, RunKey,
    RunState, Shard, Store, Work,
};
use mainspring_postgres::{Identity, Location, PostgresStore};

use super::database::Database;
use super::trouble::at;

/// How many of each kind a batch has: several in each are not new.
const COUNT: u64 = 60;

fn once(number: u64) -> Once {
    let work = Work::new(Action::new("mail", format!("to: ada\0{number}")).unwrap());
    let due = at(1_000 + i64::try_from(number).unwrap());
    let mut once = Once::new(OnceId { due, number }, at(0), work);
    if number.is_multiple_of(3) {
        once.key = Some(format!("key-{}", number % 90));
    }
    if number.is_multiple_of(4) {
        once.name = format!("name-{}", number % 80).parse().unwrap();
    }
    once
}

fn fired(number: u64) -> Operation {
    let once = once(number);
    let mut run = once.run(RunState::Running, once.id.due, once.id.due);
    (run.attempt, run.started) = (1, Some(once.id.due));
    Operation::Fire { id: once.id, run }
}

fn end(key: RunKey, state: RunState) -> Operation {
    let (at, outcome) = (at(5_000), Some(Outcome::Succeeded));
    Operation::End { key, attempt: 1, state, at, outcome, crashes: 0, reason: None }
}

fn planned(number: u64) -> Run {
    let nominal = at(i64::try_from(number).unwrap() * 60);
    Run::new(
        RunKey::new(["one", "other"][usize::try_from(number % 2).unwrap()].parse().unwrap(), nominal),
        Cause::Trigger,
        [RunState::Queued, RunState::Missed][usize::from(number.is_multiple_of(7))],
        nominal,
        nominal,
    )
}

/// The kinds in a batch, from `first` on. Every batch has some that the batch before had.
fn batch(number: u64, first: u64) -> Batch {
    let mut operations = Vec::new();
    for index in first..first + COUNT {
        operations.push(Operation::Submit(once(index)));
        operations.push(Operation::Plan(planned(index)));
        let before = index.saturating_sub(COUNT / 2);
        operations.push(fired(before));
        operations.push(Operation::Begin {
            key: planned(before).key,
            attempt: 1,
            at: at(4_000),
            worker: None,
        });
        let long_before = index.saturating_sub(COUNT);
        let once = once(long_before);
        operations.push(end(RunKey::new(once.name.clone(), once.id.due), RunState::Succeeded));
        let state =
            [RunState::Succeeded, RunState::Failed, RunState::Dead][usize::try_from(index % 3).unwrap()];
        operations.push(end(planned(long_before).key, state));
        if index.is_multiple_of(11) {
            operations.push(Operation::Withdraw { id: super::column_batches::once(index).id, at: at(6_000) });
        }
    }
    Batch::new(number, operations)
}

#[test]
fn a_large_batch_is_answered_and_done_as_by_the_store_in_memory() {
    let Some(database) = Database::start() else { return };
    let location = Location::parse(&database.url()).unwrap();
    let mut store = PostgresStore::open(&location, Identity::default()).unwrap();
    let mut memory = MemoryStore::new();
    let owner = Owner::new("one");
    let leases =
        (store.acquire(Shard::WHOLE, &owner).unwrap(), memory.acquire(Shard::WHOLE, &owner).unwrap());
    let mut seen = Vec::new();
    for number in 1..=8 {
        let batch = batch(number, (number - 1) * COUNT / 2);
        let answers = memory.commit(leases.1, &batch).unwrap().answers;
        assert_eq!(store.commit(leases.0, &batch).unwrap().answers, answers);
        // Under its number it is answered alike, and done once.
        assert_eq!(store.commit(leases.0, &batch).unwrap().answers, answers);
        assert_eq!(store.counts(Shard::WHOLE).unwrap(), memory.counts(Shard::WHOLE).unwrap());
        seen.extend(answers);
    }
    let is_seen = |answer: &Answer| seen.contains(answer);
    assert!([Answer::New, Answer::Gone, Answer::Missing, Answer::Duplicate(None)].iter().all(is_seen));
    assert!(seen.iter().any(|answer| matches!(answer, Answer::Duplicate(Some(_)))));
}
