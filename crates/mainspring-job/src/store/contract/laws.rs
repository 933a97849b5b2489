//! The sentences of the contract, each with its smallest case.

use std::sync::Arc;

use jiff::Timestamp;

use super::store_fixture::{LawResult, OwnedStore, StoreFixture, acquired, is_fenced, same};
use crate::audit::{Audit, AuditQuery, MAX_AUDIT_ROWS};
use crate::name::JobName;
use crate::once::{Once, OnceId};
use crate::operation::{Answer, Batch, MAX_BATCH_OPERATIONS, Operation, Takeover};
use crate::outcome::Outcome;
use crate::reason::Reason;
use crate::record::{JobRecord, LastRun, Mark, PauseTerms};
use crate::run::{Attempt, Cause, Run, RunKey};
use crate::state::RunState;
use crate::store::{Owner, Reader, Store, StoreError};
use crate::work::{Action, Work};
use crate::worker::WorkerId;

pub(super) type Law<G> = (&'static str, fn(&mut G) -> LawResult);

pub(super) fn all<G: StoreFixture>() -> Vec<Law<G>> {
    vec![
        ("what is committed is there after reopening", kept_after_reopening),
        ("a batch that is sent again is applied once", applied_once),
        (
            "a batch that is sent again after reopening by the same owner is applied once",
            applied_once_after_reopening,
        ),
        ("a batch that comes after a later one writes nothing", late_batch),
        ("a batch whose predecessor is not there writes nothing", batch_after_a_gap),
        ("who was fenced out writes nothing", fenced),
        ("epochs grow", epochs_grow),
        ("a lease says whether the owner before had left", takeover_told),
        ("a lease says whether the machine was started again since the owner before", reboot_told),
        ("there is one start record for each attempt", one_start),
        ("a pending job fires once", fires_once),
        ("a key or a name that is taken is answered with its holder", taken),
        ("pages have no gaps and keep the order", pages),
        ("a prune drops what earlier owners left", pruned),
        ("a watermark moves back for another timetable only", watermark),
        ("a job's record has its last run, and when one last succeeded", last_kept),
        ("who asked for what is kept, the newest first, and no more than the limit", audited),
        ("a run moves only as its states allow", moves),
        ("a dead letter that is tried again has its attempts forgiven", forgiven),
        (
            "an attempt that is given back has an end, is forgiven, and the next has another number",
            given_back,
        ),
    ]
}

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a small number of seconds is a time")
}

pub(super) fn name(text: &str) -> JobName {
    JobName::new(text).expect("it is a plain word")
}

pub(super) fn once(number: u64, due: i64) -> Once {
    let id = OnceId { due: at(due), number };
    let action = Action::new("process", "true").expect("it is short");
    Once { id, name: id.name(), key: None, submitted: at(0), work: Arc::new(Work::new(action)) }
}

pub(super) fn running(key: &RunKey) -> Run {
    let run = Run::new(key.clone(), Cause::Trigger, RunState::Running, at(60), at(60));
    Run { attempt: 1, started: Some(at(61)), ..run }
}

pub(super) fn key() -> RunKey {
    RunKey::new(name("job"), at(60))
}

/// Defines a job.
pub(super) fn define(mark: &Mark) -> Operation {
    Operation::Define { mark: mark.clone(), source: "f".to_owned(), text: "t".to_owned() }
}

fn kept_after_reopening<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let operations = [
        Operation::Plan(running(&key())),
        Operation::Submit(once(1, 99)),
        Operation::PauseAll(Some(PauseTerms::new("a note").until(at(100)))),
    ];
    owned.answered(&operations, &[Answer::New; 3])?;
    let mut store = fixture.reopened(owned.store);
    same("run", &store.run(&key())?, &Some(running(&key())))?;
    let pending = store.load(OnceId::first_at(at(0)), at(99), 9)?;
    same("pending", &pending, &vec![once(1, 99)])?;
    let rest = PauseTerms::new("a note").until(at(100));
    same("pause", &store.jobs()?.1, &Some(rest))
}

fn applied_once<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let operations = [Operation::Submit(once(1, 99)), Operation::Plan(running(&key()))];
    owned.answered(&operations, &[Answer::New; 2])?;
    for _ in 0..2 {
        same("answers", &owned.commit_again(&operations)?, &vec![Answer::New; 2])?;
    }
    owned.answered(&operations, &[Answer::Duplicate(Some(once(1, 99).id)), Answer::Duplicate(None)])
}

fn applied_once_after_reopening<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let operations = [Operation::Plan(running(&key()))];
    owned.commit(&operations)?;
    let mut store = fixture.reopened(owned.store);
    // An embedded store may fence its owner out when it is closed; then nothing of it is written either.
    match store.commit(owned.lease, &Batch::new(1, operations.to_vec())) {
        Err(StoreError::Fenced) => Ok(()),
        committed => same("answers", &committed?.answers, &vec![Answer::New]),
    }
}

/// A request that its owner has given up may still arrive, when the batch was sent again and others after it.
fn late_batch<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let first = [Operation::PauseAll(Some(PauseTerms::new("late")))];
    owned.commit(&first)?;
    let second = [Operation::PauseAll(None), Operation::Plan(running(&key()))];
    let answers = owned.commit(&second)?;
    is_fenced("an earlier batch", owned.store.commit(owned.lease, &Batch::new(1, first.to_vec())))?;
    same("pause", &owned.store.jobs()?.1, &None)?;
    // The answer of the second was lost: it is still the last.
    same("its answers", &owned.commit_again(&second)?, &answers)
}

/// The store may have lost what it had acknowledged. Its owner remembers it, and must not go on from there.
fn batch_after_a_gap<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let pause = [Operation::PauseAll(Some(PauseTerms::new("after a gap")))];
    for number in [2, u64::from(u32::MAX)] {
        let batch = Batch::new(number, pause.to_vec());
        is_fenced("a batch after a gap", owned.store.commit(owned.lease, &batch))?;
    }
    same("pause", &owned.store.jobs()?.1, &None)?;
    // The owner takes the lease again, and counts from one.
    let mut owned = OwnedStore::of(fixture, owned.store)?;
    owned.answered(&[Operation::Plan(running(&key()))], &[Answer::New])?;
    let batch = Batch::new(3, pause.to_vec());
    is_fenced("batch 3 after batch 1", owned.store.commit(owned.lease, &batch))?;
    same("pause after the second gap", &owned.store.jobs()?.1, &None)
}

fn fenced<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let OwnedStore { mut store, lease: old, .. } = OwnedStore::fresh(fixture)?;
    let new = acquired(fixture, &mut store, &Owner::new("another"))?;
    let batch = Batch::new(1, vec![Operation::Plan(running(&key()))]);
    is_fenced("a commit", store.commit(old, &batch))?;
    is_fenced("a renewal", store.renew(old))?;
    is_fenced("a release", store.release(old))?;
    same("run", &store.run(&key())?, &None)?;
    store.renew(new)?;
    store.release(new)?;
    is_fenced("a commit of an owner that had left", store.commit(new, &batch))
}

fn epochs_grow<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let mut epochs = vec![owned.lease.epoch];
    owned = OwnedStore::of(fixture, owned.store)?;
    epochs.push(owned.lease.epoch);
    owned.store.release(owned.lease)?;
    epochs.push(owned.reopened(fixture)?.lease.epoch);
    if epochs.is_sorted_by(|one, next| one < next) { Ok(()) } else { Err(format!("{epochs:?}").into()) }
}

fn takeover_told<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let mut found = vec![owned.lease.takeover];
    owned.store.release(owned.lease)?;
    for _ in 0..2 {
        owned = owned.reopened(fixture)?;
        found.push(owned.lease.takeover);
    }
    same("takeovers", &found, &vec![Takeover::Clean, Takeover::Clean, Takeover::Unclean])
}

fn reboot_told<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut store = fixture.fresh();
    let mut found = Vec::new();
    for machine_start in ["one", "one", "other", "", "one"] {
        let owner = Owner { machine_start: machine_start.to_owned(), ..Owner::new("suite") };
        found.push(acquired(fixture, &mut store, &owner)?.takeover);
        store = fixture.reopened(store);
    }
    let expected =
        [Takeover::Clean, Takeover::Unclean, Takeover::Rebooted, Takeover::Unclean, Takeover::Unclean];
    same("takeovers", &found, &expected.to_vec())
}

fn one_start<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let queued = Run::new(key(), Cause::Trigger, RunState::Queued, at(60), at(60));
    let begin = |attempt| Operation::Begin { key: key(), attempt, at: at(61), worker: None };
    let operations = [begin(1), Operation::Plan(queued), begin(2), begin(1), begin(1)];
    let expected = [Answer::Missing, Answer::New, Answer::Gone, Answer::New, Answer::Duplicate(None)];
    owned.answered(&operations, &expected)?;
    owned.answered(&[begin(1)], &[Answer::Duplicate(None)])?;
    same("attempts", &owned.store.attempts(&key())?.len(), &1)
}

fn fires_once<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let job = once(1, 50);
    let run = Run { attempt: 1, started: Some(at(51)), ..job.run(RunState::Running, at(50), at(51)) };
    let fire = Operation::Fire { id: job.id, run };
    let withdraw = Operation::Withdraw { id: job.id, at: at(52) };
    let operations = [fire.clone(), Operation::Submit(job), fire.clone(), fire, withdraw];
    owned.answered(&operations, &[Answer::Gone, Answer::New, Answer::New, Answer::Gone, Answer::Gone])?;
    same("pending", &owned.store.counts()?.pending, &0)
}

fn taken<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let first = Once { name: name("asked"), key: Some("k".to_owned()), ..once(1, 50) };
    let same_key = Once { key: Some("k".to_owned()), ..once(2, 60) };
    let same_name = Once { name: name("asked"), ..once(3, 70) };
    let run = first.run(RunState::Queued, at(50), at(51));
    let operations = [
        Operation::Submit(first.clone()),
        Operation::Submit(same_key.clone()),
        Operation::Submit(same_name.clone()),
        Operation::Fire { id: first.id, run },
        // The run keeps the key, and not the name.
        Operation::Submit(same_key),
        Operation::Submit(same_name),
    ];
    let holder = Answer::Duplicate(Some(first.id));
    owned.answered(&operations, &[Answer::New, holder, holder, Answer::New, holder, Answer::New])
}

fn pages<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    // Submitted out of order, several at one time.
    let jobs: Vec<Once> =
        (1..=20).map(|number| once(number, i64::try_from(number * 7 % 5).unwrap_or(0))).collect();
    let operations: Vec<Operation> = jobs.iter().cloned().map(Operation::Submit).collect();
    owned.commit(&operations)?;
    let mut expected: Vec<OnceId> = jobs.iter().map(|job| job.id).filter(|id| id.due <= at(3)).collect();
    expected.sort_unstable();
    let mut found: Vec<OnceId> = Vec::new();
    loop {
        let after = found.last().copied().unwrap_or(OnceId::first_at(Timestamp::MIN));
        let page = owned.store.load(after, at(3), 3)?;
        if page.is_empty() {
            break;
        }
        found.extend(page.iter().map(|job| job.id));
    }
    same("ids", &found, &expected)
}

fn pruned<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let key = |second| RunKey::new(name("job"), at(second));
    let ended = |due, second| {
        let run = Run::new(key(due), Cause::Trigger, RunState::Missed, at(due), at(second));
        Operation::Plan(Run { ended: Some(at(second)), ..run })
    };
    owned.commit(&(1..=9).map(|second| ended(second, second)).collect::<Vec<_>>())?;
    let mut owned = owned.reopened(fixture)?;
    let prune = |keep, before| Operation::Prune { job: Some(name("job")), keep, before: at(before) };
    for (keep, before, left) in [(5, 0, 5), (5, 8, 2), (1, 0, 1)] {
        owned.commit(&[prune(keep, before)])?;
        same("runs", &owned.store.counts()?.runs, &left)?;
    }
    owned.commit(&[ended(0, 10), prune(1, 0)])?;
    same("what was due first and ended last", &owned.store.run(&key(0))?.is_some(), &true)
}

fn watermark<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let mark = Mark::new(name("job"), at(100), "@daily".to_owned());
    let earlier = Mark { watermark: at(50), runs: 7, ..mark.clone() };
    let unknown = Operation::Mark(Mark { job: name("unknown"), ..mark.clone() });
    let operations = [unknown, define(&mark), Operation::Mark(earlier.clone()), define(&earlier)];
    owned.answered(&operations, &[Answer::Missing, Answer::New, Answer::New, Answer::New])?;
    let (jobs, _) = owned.store.jobs()?;
    let marks: Vec<Mark> = jobs.into_iter().map(|record| record.mark).collect();
    same("marks", &marks, &vec![Mark { watermark: at(100), ..earlier.clone() }])?;
    let other = Mark { timetable: "@weekly".to_owned(), ..earlier };
    owned.commit(&[Operation::Mark(other.clone())])?;
    let (jobs, _) = owned.store.jobs()?;
    same("marks of another timetable", &jobs[0].mark, &other)
}

fn last_kept<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let define = define(&Mark::new(name("job"), at(0), String::new()));
    let keyed = |nominal| RunKey { nominal: at(nominal), ..key() };
    let end = |nominal, state| {
        let (key, at, outcome) = (keyed(nominal), at(nominal + 5), Some(Outcome::Succeeded));
        Operation::End { key, attempt: 1, state, at, outcome, crashes: 0, reason: None }
    };
    let (failed, scheduled) = (RunState::Failed, RunState::Scheduled);
    let again = {
        let (key, due, at) = (keyed(120), at(130), at(126));
        Operation::Move { key, from: failed, to: scheduled, due, at, reason: None }
    };
    let runs = [60, 120, 180].map(|nominal| Operation::Plan(running(&keyed(nominal))));
    let prune = Operation::Prune { job: Some(name("job")), keep: 0, before: at(0) };
    // What is planned before the job is defined counts too.
    let [first, second, third] = runs;
    let rounds = [
        (vec![first, second, define], None),
        (vec![end(60, RunState::Succeeded)], Some((60, RunState::Succeeded))),
        (vec![end(120, failed), third], Some((120, failed))),
        (vec![again], Some((60, RunState::Succeeded))),
        (vec![end(180, failed)], Some((180, failed))),
        (vec![prune], None),
    ];
    for (number, (operations, expected)) in (1..).zip(rounds) {
        owned.commit(&operations)?;
        owned = owned.reopened(fixture)?;
        let (jobs, _) = owned.store.jobs()?;
        let last = |record: &JobRecord| (record.last, record.last_success);
        let expected_last =
            expected.map(|(nominal, state)| LastRun::new(at(nominal), 0, state, at(nominal + 5)));
        let success = (1 < number).then(|| at(65));
        same("last", &jobs.iter().map(last).collect(), &vec![(expected_last, success)])?;
        let ended = owned.store.last_ended(&[name("job")])?;
        let found: Vec<RunKey> = ended.into_iter().map(|run| run.key).collect();
        let key = expected.map(|(nominal, _)| keyed(nominal));
        same("the last run", &found, &key.into_iter().collect())?;
    }
    Ok(())
}

fn audited<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let row = |number: u64| {
        let seconds = i64::try_from(number).unwrap_or(0);
        Audit::new(at(seconds), "ada", "pause", format!("job-{}", number % 3)).with_note("because")
    };
    let batch_size = u64::try_from(MAX_BATCH_OPERATIONS).unwrap_or(1);
    let batch_count = MAX_AUDIT_ROWS / batch_size + 2;
    for number in 1..=batch_count {
        let first = (number - 1) * batch_size + 1;
        let operations: Vec<Operation> =
            (first..first + batch_size).map(|number| Operation::Audit(row(number))).collect();
        owned.commit(&operations)?;
    }
    let mut store = fixture.reopened(owned.store);
    let latest = batch_count * batch_size;
    let mut query = AuditQuery::new(2);
    query.target = Some("job-1".to_owned());
    query.before = Some(latest);
    let found = store.audit(&query)?;
    let expected: Vec<u64> = (1..latest).rev().filter(|number| number % 3 == 1).take(2).collect();
    same("numbers", &found.iter().map(|row| row.number).collect(), &expected)?;
    same(
        "rows",
        &found.iter().map(|row| row.audit.clone()).collect::<Vec<_>>(),
        &expected.iter().copied().map(row).collect(),
    )?;
    let oldest = latest - MAX_AUDIT_ROWS;
    let beyond = AuditQuery { before: Some(oldest + 2), ..AuditQuery::new(9) };
    let found = store.audit(&beyond)?;
    same("the oldest rows", &found.iter().map(|row| row.number).collect(), &vec![oldest + 1])
}

fn moves<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let mut number = 0;
    for from in RunState::ALL.into_iter().filter(|state| state.may_begin()) {
        for to in RunState::ALL.into_iter().filter(|to| *to != RunState::Running) {
            number += 1;
            let key = RunKey { series: number, ..key() };
            let mut run = Run::new(key.clone(), Cause::Trigger, from, at(60), at(60));
            if from == RunState::Running {
                run = Run { key: key.clone(), ..running(&key) };
            }
            let (due, at, reason) = (at(70), at(71), None);
            let operations = [Operation::Plan(run), Operation::Move { key, from, to, due, at, reason }];
            let answers = owned.commit(&operations)?;
            let expected = if from.may_become(to) { Answer::New } else { Answer::Gone };
            same(&format!("{from} to {to}"), &answers[1], &expected)?;
        }
    }
    Ok(())
}

fn given_back<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let back = |to| {
        let (due, at, reason) = (at(60), at(71), Some(Reason::GivenBack));
        Operation::Move { key: key(), from: RunState::Running, to, due, at, reason }
    };
    let begin = |attempt| Operation::Begin { key: key(), attempt, at: at(72), worker: Some(WorkerId(7)) };
    let (queued, put_off) = (RunState::Queued, RunState::Scheduled);
    let first = [Operation::Plan(running(&key())), back(queued)];
    owned.answered(&first, &[Answer::New; 2])?;
    let run = owned.store.run(&key())?.ok_or("it is gone")?;
    same("its state", &(run.state, run.attempt, run.forgiven), &(queued, 1, 1))?;
    same("why", &run.reason, &Some(Reason::GivenBack))?;
    // Again under the number that has a record, and where nothing runs.
    let expected = [Answer::Duplicate(None), Answer::Gone, Answer::New, Answer::New];
    owned.answered(&[begin(1), back(queued), begin(2), back(put_off)], &expected)?;
    owned.answered(&[begin(3)], &[Answer::New])?;
    let run = owned.store.run(&key())?.ok_or("it is gone")?;
    same("its state", &(run.state, run.attempt, run.forgiven), &(RunState::Running, 3, 2))?;
    same("its worker", &run.worker, &Some(WorkerId(7)))?;
    let attempts = owned.store.attempts(&key())?;
    let part = |it: Attempt| (it.number, it.ended, it.state, it.outcome, it.worker);
    let ends: Vec<_> = attempts.into_iter().map(part).collect();
    let returned = |number, to, worker| (number, Some(at(71)), Some(to), Some(Outcome::Returned), worker);
    let (first, second) = (returned(1, queued, None), returned(2, put_off, Some(WorkerId(7))));
    same("attempts", &ends, &vec![first, second, (3, None, None, None, Some(WorkerId(7)))])
}

fn forgiven<G: StoreFixture>(fixture: &mut G) -> LawResult {
    let mut owned = OwnedStore::fresh(fixture)?;
    let moved = |from, to| {
        let reason = (to == RunState::Scheduled).then_some(Reason::RetryRequested);
        Operation::Move { key: key(), from, to, due: at(70), at: at(71), reason }
    };
    let begin = |attempt| Operation::Begin { key: key(), attempt, at: at(72), worker: None };
    let end = |attempt| {
        let (state, outcome, reason) = (RunState::TimedOut, Some(Outcome::TimedOut), None);
        Operation::End { key: key(), attempt, state, at: at(73), outcome, crashes: 0, reason }
    };
    let (scheduled, failed, dead) = (RunState::Scheduled, RunState::TimedOut, RunState::Dead);
    let rounds: [(&[Operation], u32); 4] = [
        (&[Operation::Plan(running(&key())), end(1), moved(failed, scheduled)], 0),
        (&[begin(2), end(2), moved(failed, dead), moved(dead, scheduled)], 2),
        (&[begin(3), end(3), moved(failed, scheduled)], 2),
        (&[begin(4)], 2),
    ];
    for (operations, expected) in rounds {
        owned.answered(operations, &vec![Answer::New; operations.len()])?;
        let run = owned.store.run(&key())?;
        same("forgiven attempts", &run.map(|run| run.forgiven), &Some(expected))?;
    }
    // Why it is tried again stays with it while it runs.
    let run = owned.store.run(&key())?;
    same("why it runs", &run.and_then(|run| run.reason), &Some(Reason::RetryRequested))
}
