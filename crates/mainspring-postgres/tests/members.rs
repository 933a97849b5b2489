//! Workers: their leases, what they are assigned, what they report and what they are to end.

use std::slice;
use std::time::Duration;

use mainspring_job::{
    Answer, Assignment, AttemptEnd, Batch, Cause, KeptOutput, Lease, MAX_KEPT_ATTEMPTS, Operation, Outcome,
    Owner, Reader, Run, RunKey, RunPhase, RunState, Store, StoreError, WorkerId,
};
use mainspring_postgres::{
    Fence, LEASE, Location, LostWorker, Member, MemberState, Members, Outputs, PostgresReader, PostgresStore,
    Report, WorkerOrders,
};

use super::database::Database;
use super::trouble::{acquired, at, opened, tried};

const LASTS: Duration = Duration::from_secs(16);

/// What a test waits for that comes at once; nothing is decided by it.
const PATIENCE: Duration = Duration::from_secs(60);

fn member(name: &str) -> Member {
    let state = MemberState {
        labels: [("gpu".parse().unwrap(), 0), ("handler=mail".parse().unwrap(), 3)].into(),
        capacity: 4,
        ahead: 2,
        ..MemberState::default()
    };
    Member {
        server: format!("process of {name}"),
        name: name.to_owned(),
        host: "web-1".to_owned(),
        state,
        ..Member::default()
    }
}

fn key(minute: i64) -> RunKey {
    RunKey::new("job".parse().unwrap(), at(minute * 60))
}

/// A planner with a worker.
struct Pool {
    store: PostgresStore,
    lease: Lease,
    planner: Members,
    worker: Members,
    id: WorkerId,
    number: u64,
}

impl Pool {
    fn new(database: &Database, url: &str) -> Pool {
        let location = Location::parse(url).unwrap();
        let mut store = PostgresStore::open(&location, mainspring_postgres::Identity::default()).unwrap();
        database.ask("UPDATE mainspring.planner SET until = '-infinity'");
        let lease = acquired(&mut store);
        let mut worker = Members::of_worker(&location).unwrap();
        let id = worker.join(&member("one"), LASTS).unwrap();
        let planner = Members::of_planner(&location).unwrap();
        Pool { store, lease, planner, worker, id, number: 0 }
    }

    fn fence(&self) -> Fence {
        self.store.fence(self.lease).unwrap()
    }

    fn commit(&mut self, operations: Vec<Operation>, assignments: Vec<Assignment>) -> Vec<Answer> {
        self.number += 1;
        let mut batch = Batch::new(self.number, operations);
        batch.assignments = assignments;
        tried(&mut self.store, self.lease, &batch)
    }

    /// A run that waits, and its first attempt.
    fn begin(&mut self, minute: i64, document: &str) -> Vec<Answer> {
        let run = Run::new(key(minute), Cause::Trigger, RunState::Queued, at(0), at(0));
        let begin = Operation::Begin { key: key(minute), attempt: 1, at: at(1), worker: Some(self.id) };
        let assignment = Assignment::new(self.id, key(minute), 1, document);
        self.commit(vec![Operation::Plan(run), begin], vec![assignment])
    }

    fn end(&mut self, minute: i64, state: RunState) -> Vec<Answer> {
        self.commit(vec![end(minute, state)], Vec::new())
    }

    /// The minutes of what the worker has to start after a number.
    fn assigned(&mut self, after: u64) -> Vec<(u64, i64, String)> {
        let found = self.worker.orders(self.id, after, 100).unwrap().assignments;
        let parts = |one: mainspring_postgres::PlacedAssignment| {
            let Assignment { key, document, .. } = one.assignment;
            (one.number, key.nominal.as_second() / 60, document)
        };
        found.into_iter().map(parts).collect()
    }
}

fn end(minute: i64, state: RunState) -> Operation {
    let (key, outcome) = (key(minute), Some(Outcome::Succeeded));
    Operation::End { key, attempt: 1, state, at: at(9), outcome, crashes: 0, reason: None }
}

fn report(id: WorkerId, number: u64, minute: i64) -> Report {
    Report { worker: id, number, end: AttemptEnd::new(key(minute), 1, Outcome::Succeeded) }
}

/// What was told, without the time since.
fn reports(planner: &mut Members, read_up_to: &[(WorkerId, u64)]) -> Vec<Report> {
    let reports = planner.reports(read_up_to).unwrap().into_iter();
    reports
        .map(|mut report| {
            report.end.age = Duration::ZERO;
            report
        })
        .collect()
}

/// Each call of the workers' table once: where another role has laid traps for names, none is stepped into.
pub(crate) fn workers_do_all(database: &Database, url: &str) {
    let mut pool = Pool::new(database, url);
    let (id, fence) = (pool.id, pool.fence());
    assert_eq!(pool.begin(1, "{}"), [Answer::New; 2]);
    assert_eq!(pool.assigned(0).len(), 1);
    assert!(pool.planner.kill(&fence, id, &(key(1), 1)).unwrap());
    assert_eq!(pool.worker.orders(id, 0, 100).unwrap().kills.len(), 1);
    let (orders, _) = pool.worker.renew(id, &MemberState::default(), LASTS, 0).unwrap();
    assert_eq!((orders.assignments.len(), orders.kills.len()), (1, 1));
    pool.worker.report(id, &[report(id, 1, 1)]).unwrap();
    assert_eq!(pool.planner.reporters().unwrap(), [id]);
    assert_eq!(pool.planner.reports(&[(id, 0)]).unwrap().len(), 1);
    pool.planner.forget_reports(&fence).unwrap();
    assert_eq!(pool.planner.list().unwrap().len(), 1);
    assert_eq!(pool.planner.declare_lost(&fence, id).unwrap(), LostWorker::Present);
    pool.worker.leave(id).unwrap();
    assert_eq!(pool.planner.left(&[id]).unwrap(), [id]);
    assert_eq!(pool.end(1, RunState::Succeeded), [Answer::New]);
}

#[test]
fn a_worker_is_listed_as_it_joined_and_as_it_renews_and_is_gone_when_it_leaves() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    let [found] = &pool.planner.list().unwrap()[..] else { panic!("one has joined") };
    assert_eq!((found.worker.id, found.worker.name.as_str(), found.worker.capacity), (pool.id, "one", 4));
    assert_eq!(found.worker.labels, member("one").state.labels);
    assert!(!found.is_leaving);
    assert!(LASTS < found.lapses_in && found.lapses_in <= LASTS + Duration::from_secs(1));
    let leaving = MemberState { is_leaving: true, capacity: 1, ..MemberState::default() };
    let (orders, plan) = pool.worker.renew(pool.id, &leaving, LASTS, 0).unwrap();
    let plan = plan.expect("another server plans");
    assert_eq!(orders, WorkerOrders::default());
    assert!(plan.by == "one" && plan.left <= LEASE, "{plan:?}");
    pool.store.release(pool.lease).unwrap();
    assert_eq!(pool.worker.renew(pool.id, &leaving, LASTS, 0).unwrap(), (WorkerOrders::default(), None));
    let [found] = &pool.planner.list().unwrap()[..] else { panic!("it is there") };
    assert!(found.is_leaving && found.worker.labels.is_empty() && found.worker.capacity == 1);
    // Progress is read as it was told last, and counted when it is another.
    let mut reader = PostgresReader::new(&Location::parse(&database.url()).unwrap()).unwrap();
    for (text, count) in [("", 0), ("7 of 9", 1), ("7 of 9", 1), ("", 2)] {
        let state = MemberState { progress: text.to_owned(), ..leaving.clone() };
        pool.worker.renew(pool.id, &state, LASTS, 0).unwrap();
        let all: Vec<String> = [text.to_owned()].into_iter().filter(|text| !text.is_empty()).collect();
        assert_eq!((reader.progress().unwrap(), reader.lease().unwrap().progress_count), (all, count));
        assert_eq!(pool.planner.list().unwrap()[0].progress, text);
    }
    pool.worker.leave(pool.id).unwrap();
    assert_eq!(
        (pool.planner.list().unwrap(), pool.planner.left(&[pool.id]).unwrap()),
        (vec![], vec![pool.id])
    );
    assert!(matches!(pool.worker.renew(pool.id, &leaving, LASTS, 0), Err(StoreError::Fenced)));
    let again = pool.worker.join(&member("one"), LASTS).unwrap();
    assert!(pool.id < again, "another life has another number");
}

#[test]
fn the_planner_is_told_of_a_worker_that_comes_changes_or_leaves_and_of_no_renewal() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    let mut state = member("one").state;
    let (longest, moment) = (Duration::from_secs(60), Duration::from_millis(1));
    assert!(pool.planner.wait(longest), "it knows nothing of what was before");
    assert!(!pool.planner.wait(moment));
    pool.worker.renew(pool.id, &state, LASTS, 0).unwrap();
    assert!(!pool.planner.wait(moment));
    let mut other = Members::of_worker(&Location::parse(&database.url()).unwrap()).unwrap();
    let id = other.join(&member("two"), LASTS).unwrap();
    assert!(pool.planner.wait(longest), "one has come");
    state.ahead += 1;
    pool.worker.renew(pool.id, &state, LASTS, 0).unwrap();
    assert!(!pool.planner.wait(moment), "runs that end tell of it");
    state.capacity += 1;
    pool.worker.renew(pool.id, &state, LASTS, 0).unwrap();
    assert!(pool.planner.wait(longest), "it has more room");
    other.leave(id).unwrap();
    assert!(pool.planner.wait(longest), "one has left");
    // A session that ends tells nothing more.
    database.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN mainspring_report%'",
    );
    assert!(pool.planner.wait(longest), "nothing is told of what comes meanwhile");
}

#[test]
fn the_machine_of_a_worker_is_known_when_it_has_gone_until_many_have_come_after_it() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    pool.worker.leave(pool.id).unwrap();
    let ids = [pool.id, WorkerId(77)].into();
    assert_eq!(pool.store.hosts(&ids).unwrap().unwrap(), [(pool.id, "web-1".to_owned())].into());
    let last = pool.id.0 + 10_000;
    database.ask(&format!("SELECT setval('mainspring.worker_life_id_seq', {})", last - 2));
    pool.worker.join(&member("one"), LASTS).unwrap();
    assert_eq!(pool.store.hosts(&ids).unwrap().unwrap().len(), 1, "it is one of the last ten thousand");
    pool.worker.join(&member("one"), LASTS).unwrap();
    assert!(pool.store.hosts(&ids).unwrap().unwrap().is_empty());
}

#[test]
fn a_worker_is_lost_when_its_lease_has_run_out_by_the_clock_of_the_database_and_is_believed_no_more() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    let (id, fence) = (pool.id, pool.fence());
    pool.worker.report(id, &[report(id, 1, 1)]).unwrap();
    assert_eq!(pool.planner.declare_lost(&fence, id).unwrap(), LostWorker::Present);
    database.ask("UPDATE mainspring.worker SET until = clock_timestamp() - interval '2 s'");
    assert_eq!(pool.planner.list().unwrap()[0].lapses_in, Duration::ZERO);
    // It was silent, and is heard of before anybody says that it is lost.
    pool.worker.renew(id, &member("one").state, LASTS, 0).unwrap();
    assert_eq!(pool.planner.declare_lost(&fence, id).unwrap(), LostWorker::Present);
    database.ask("UPDATE mainspring.worker SET until = clock_timestamp() - interval '2 s'");
    assert_eq!(pool.planner.declare_lost(&fence, id).unwrap(), LostWorker::Lost);
    assert_eq!(pool.planner.declare_lost(&fence, id).unwrap(), LostWorker::Absent);
    assert_eq!(pool.planner.left(&[id]).unwrap(), [], "what it began may have gone on");
    let renewed = pool.worker.renew(id, &member("one").state, LASTS, 0);
    assert!(matches!(renewed, Err(StoreError::Fenced)), "{renewed:?}");
    let reported = pool.worker.report(id, &[report(id, 2, 2)]);
    assert!(matches!(reported, Err(StoreError::Fenced)), "{reported:?}");
    let numbers: Vec<u64> =
        pool.planner.reports(&[(id, 0)]).unwrap().iter().map(|report| report.number).collect();
    assert_eq!(numbers, [1], "what it told in time is there");
    let mut reader = PostgresReader::new(&Location::parse(&database.url()).unwrap()).unwrap();
    let mut lost = || {
        let json: serde_json::Value = serde_json::from_str(&reader.cluster().unwrap().unwrap()).unwrap();
        assert!(json["now_ms"].is_i64(), "each server compares its clock with it");
        json["lost"].as_array().unwrap().iter().map(|lost| lost["id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(lost(), [id.0]);
    pool.worker.join(&member("another"), LASTS).unwrap();
    assert_eq!(lost(), [id.0], "people are told of it for an hour");
    pool.worker.join(&member("one"), LASTS).unwrap();
    assert_eq!(lost(), [0; 0], "unless its process is back");
    let last = pool.worker.join(&member("one"), LASTS).unwrap();
    let present = pool.planner.list().unwrap();
    let lives = present.iter().filter(|found| found.worker.name == "one").map(|found| found.worker.id);
    assert_eq!(lives.collect::<Vec<_>>(), [last], "a process has one life at a time");
}

#[test]
fn who_plans_no_more_declares_nobody_lost_and_kills_nothing() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    let (id, old) = (pool.id, pool.fence());
    pool.begin(1, "{}");
    database.ask(
        "UPDATE mainspring.worker SET until = '-infinity'; UPDATE mainspring.planner SET until = '-infinity'",
    );
    let mut other = opened(&database);
    let lease = other.acquire(&Owner::new("other")).unwrap();
    let kill = (key(1), 1);
    assert!(matches!(pool.planner.declare_lost(&old, id), Err(StoreError::Fenced)));
    assert!(matches!(pool.planner.kill(&old, id, &kill), Err(StoreError::Fenced)));
    assert!(matches!(pool.planner.forget_reports(&old), Err(StoreError::Fenced)));
    assert_eq!(pool.planner.list().unwrap().len(), 1);
    let new = other.fence(lease).unwrap();
    assert!(pool.planner.kill(&new, id, &kill).unwrap());
    assert_eq!(pool.planner.declare_lost(&new, id).unwrap(), LostWorker::Lost);
}

#[test]
fn an_assignment_is_there_from_the_commit_that_begins_the_attempt_to_its_end() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    assert_eq!(pool.begin(1, "first\0"), [Answer::New; 2]);
    assert_eq!(pool.begin(2, "second"), [Answer::New; 2]);
    let found = pool.assigned(0);
    let [(first, 1, one), (second, 2, other)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.as_str(), other.as_str()), ("first\0", "second"));
    assert!(first < second);
    assert_eq!(pool.assigned(*first).len(), 1, "after one that it knows");
    assert_eq!(pool.worker.orders(pool.id, 0, 1).unwrap().assignments.len(), 1, "at most a page");
    let run = pool.store.run(&key(1)).unwrap().unwrap();
    assert_eq!((run.state, run.worker), (RunState::Running, Some(pool.id)));
    // What was not new is not assigned: the attempt was begun before, and runs where it was begun.
    let begin = Operation::Begin { key: key(1), attempt: 1, at: at(2), worker: Some(WorkerId(99)) };
    let other = Assignment::new(WorkerId(99), key(1), 1, "other");
    assert_eq!(pool.commit(vec![begin], vec![other]), [Answer::Duplicate(None)]);
    assert_eq!(pool.worker.orders(WorkerId(99), 0, 9).unwrap().assignments, []);
    assert_eq!(pool.end(1, RunState::Succeeded), [Answer::New]);
    assert_eq!(pool.assigned(0).len(), 1);
    assert_eq!(pool.store.run(&key(1)).unwrap().unwrap().worker, Some(pool.id), "where it ran");
    // It failed, waits for its next attempt, and begins that elsewhere.
    let retry =
        |to| Operation::Move { key: key(2), from: RunState::Failed, to, due: at(9), at: at(9), reason: None };
    pool.commit(vec![end(2, RunState::Failed), retry(RunState::Scheduled)], Vec::new());
    assert_eq!(pool.assigned(0), []);
    let begin = Operation::Begin { key: key(2), attempt: 2, at: at(10), worker: Some(WorkerId(99)) };
    let elsewhere = Assignment::new(WorkerId(99), key(2), 2, "again");
    assert_eq!(pool.commit(vec![begin], vec![elsewhere]), [Answer::New]);
    assert_eq!(pool.assigned(0), []);
    assert_eq!(pool.worker.orders(WorkerId(99), 0, 9).unwrap().assignments[0].assignment.attempt, 2);
    let attempts = pool.store.attempts(&key(2)).unwrap();
    let states: Vec<_> = attempts.iter().map(|attempt| (attempt.number, attempt.state)).collect();
    assert_eq!(states, [(1, Some(RunState::Failed)), (2, None)]);
}

#[test]
fn a_batch_that_is_sent_again_assigns_once() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    pool.begin(1, "{}");
    let before = pool.assigned(0);
    pool.number -= 1;
    assert_eq!(pool.begin(1, "{}"), [Answer::New; 2]);
    assert_eq!(pool.assigned(0), before);
}

#[test]
fn a_worker_hears_what_is_for_it_and_not_what_is_for_another() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    let mut other = Members::of_worker(&Location::parse(&database.url()).unwrap()).unwrap();
    other.join(&member("other"), LASTS).unwrap();
    assert!(pool.planner.wait(Duration::ZERO), "it knows nothing of what was before its session");
    pool.begin(1, "{}");
    assert!(pool.worker.wait(PATIENCE), "its time was not over");
    // The number of the other is told later: what is heard first is that.
    assert!(!other.wait(Duration::from_millis(1)));
    let (id, fence) = (pool.id, pool.fence());
    assert!(pool.planner.kill(&fence, id, &(key(1), 1)).unwrap());
    assert!(pool.worker.wait(PATIENCE));
    pool.worker.report(id, &[report(id, 1, 1)]).unwrap();
    assert!(pool.planner.wait(PATIENCE));
}

#[test]
fn through_a_pooler_a_worker_is_told_nothing_and_finds_all() {
    let Some(mut database) = Database::start() else { return };
    let Some(url) = database.pooled() else { return };
    drop(opened(&database));
    let mut pool = Pool::new(&database, &url);
    pool.begin(1, "{}");
    assert!(!pool.worker.wait(Duration::ZERO));
    assert_eq!(pool.assigned(0).len(), 1);
    let database = &database;
    pool.worker.leave(pool.id).unwrap();
    database.ask("DELETE FROM mainspring.open_run");
    workers_do_all(database, &url);
}

#[test]
fn a_kill_is_asked_for_until_the_attempt_has_ended_and_of_no_other_attempt() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    let (id, fence) = (pool.id, pool.fence());
    pool.begin(1, "{}");
    for wrong in [(key(1), 2), (key(2), 1)] {
        assert!(!pool.planner.kill(&fence, id, &wrong).unwrap());
    }
    assert_eq!(pool.worker.orders(id, 0, 100).unwrap().kills, []);
    let kill = (key(1), 1);
    for _ in 0..2 {
        assert!(pool.planner.kill(&fence, id, &kill).unwrap());
        assert_eq!(pool.worker.orders(id, 0, 100).unwrap().kills, slice::from_ref(&kill));
    }
    let retry = Operation::Move {
        key: key(1),
        from: RunState::Failed,
        to: RunState::Scheduled,
        due: at(9),
        at: at(9),
        reason: None,
    };
    pool.commit(vec![end(1, RunState::Failed), retry], Vec::new());
    assert_eq!(pool.worker.orders(id, 0, 100).unwrap().kills, []);
    assert!(!pool.planner.kill(&fence, id, &kill).unwrap(), "it has ended");
}

#[test]
fn the_output_of_an_open_run_is_asked_of_its_worker_for_as_long_as_somebody_reads_it() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    let read = |pool: &mut Pool| pool.worker.orders(pool.id, 0, 10).unwrap().read;
    assert_eq!(pool.begin(1, "one"), [Answer::New; 2]);
    pool.worker.was_told();
    assert_eq!(pool.store.output(&key(1), 0, RunPhase::Over).unwrap(), [], "it has written nothing");
    assert_eq!(read(&mut pool), []);
    assert_eq!(pool.store.output(&key(1), 0, RunPhase::Open).unwrap()[0].lines, "");
    assert!(pool.worker.wait(PATIENCE), "it is told");
    assert_eq!(read(&mut pool), [(key(1), 1)]);
    let mut outputs = Outputs::new(&Location::parse(&database.url()).unwrap()).unwrap();
    let mut output = KeptOutput::new(key(1), 1, "two\n".to_owned());
    output.left_out_bytes = 4;
    outputs.keep(slice::from_ref(&output)).unwrap();
    assert_eq!(pool.store.output(&key(1), 0, RunPhase::Open).unwrap(), slice::from_ref(&output));
    // The reader has gone.
    database.ask("UPDATE mainspring.output SET read = read - interval '10 s'");
    assert_eq!(read(&mut pool), []);
    assert_eq!(pool.store.output(&key(1), 0, RunPhase::Open).unwrap(), slice::from_ref(&output));
    assert_eq!(read(&mut pool), [(key(1), 1)]);
    assert_eq!(pool.end(1, RunState::Succeeded), [Answer::New]);
    assert_eq!(pool.store.output(&key(1), 0, RunPhase::Over).unwrap(), [output]);
    assert_eq!(pool.store.output(&key(2), 0, RunPhase::Open).unwrap(), [], "there is no such run");
}

#[test]
fn of_the_outputs_of_a_run_those_of_its_latest_attempts_are_kept_each_in_its_place() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    assert_eq!(pool.begin(1, "one"), [Answer::New; 2]);
    let mut outputs = Outputs::new(&Location::parse(&database.url()).unwrap()).unwrap();
    let attempts = |pool: &mut Pool, after: u32| {
        let found = pool.store.output(&key(1), after, RunPhase::Over).unwrap();
        found.iter().map(|output| (output.attempt, output.lines.clone())).collect::<Vec<_>>()
    };
    let all: Vec<_> = (1..=MAX_KEPT_ATTEMPTS + 2).map(|number| (number, format!("{number}\n"))).collect();
    for (number, lines) in &all {
        outputs.keep(&[KeptOutput::new(key(1), *number, lines.clone())]).unwrap();
    }
    assert_eq!(attempts(&mut pool, 0), all[2..]);
    assert_eq!(attempts(&mut pool, 10), all[10..]);
    outputs.keep(&[KeptOutput::new(key(1), 12, "again\n".to_owned())]).unwrap();
    assert_eq!(attempts(&mut pool, 11)[..2], [(12, "again\n".to_owned()), all[12].clone()]);
    assert_eq!(pool.end(1, RunState::Succeeded), [Answer::New]);
}

#[test]
fn reports_are_told_in_order_once_each_and_are_there_until_what_follows_is_committed() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    let mut other = Members::of_worker(&Location::parse(&database.url()).unwrap()).unwrap();
    let (id, fence) = (pool.id, pool.fence());
    let second = other.join(&member("other"), LASTS).unwrap();
    for minute in 1..=3 {
        pool.begin(minute, "{}");
    }
    let mine: Vec<Report> = (1..).zip(1..=3).map(|(number, minute)| report(id, number, minute)).collect();
    let mut theirs = report(second, 1, 20);
    (theirs.end.outcome, theirs.end.retry_at) = (Outcome::TimedOut, Some(at(7)));
    pool.worker.report(id, &mine[..2]).unwrap();
    other.report(second, slice::from_ref(&theirs)).unwrap();
    // The answer was lost, and the next is told with it.
    pool.worker.report(id, &mine).unwrap();
    let expected = [&mine[..], &[theirs]].concat();
    let all = [(id, 0), (second, 0)];
    assert_eq!(reports(&mut pool.planner, &all), expected);
    assert_eq!(reports(&mut pool.planner, &[(id, 2), (second, 0)]), expected[2..]);
    assert_eq!(reports(&mut pool.planner, &[(id, 2)]), expected[2..3], "of the other nobody asked");
    let mut reporters = pool.planner.reporters().unwrap();
    reporters.sort_unstable();
    assert_eq!(reporters, [id, second]);
    // That of the other is of no attempt that runs there.
    pool.end(1, RunState::Succeeded);
    pool.planner.forget_reports(&fence).unwrap();
    assert_eq!(reports(&mut pool.planner, &all), mine[1..]);
    pool.end(2, RunState::Succeeded);
    pool.end(3, RunState::Failed);
    pool.planner.forget_reports(&fence).unwrap();
    assert_eq!((reports(&mut pool.planner, &all), pool.planner.reporters().unwrap()), (vec![], vec![]));
}

#[test]
fn an_end_is_as_old_as_it_was_when_it_was_told_and_what_has_passed_since() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    let id = pool.id;
    let ages = [Duration::ZERO, Duration::from_secs(900)];
    let mut reports: Vec<Report> =
        (1..).zip(1..=3).map(|(number, minute)| report(id, number, minute)).collect();
    reports.iter_mut().zip(ages).for_each(|(report, age)| report.end.age = age);
    pool.worker.report(id, &reports).unwrap();
    let read = pool.planner.reports(&[(id, 0)]).unwrap();
    for (report, age) in read.iter().zip(ages) {
        // The test takes less than that.
        let longest = age + Duration::from_secs(60);
        assert!((age..=longest).contains(&report.end.age), "{age:?} became {:?}", report.end.age);
    }
}

#[test]
fn an_end_that_is_told_twice_counts_once() {
    let Some(database) = Database::start() else { return };
    let mut pool = Pool::new(&database, &database.url());
    pool.begin(1, "{}");
    assert_eq!(pool.end(1, RunState::Succeeded), [Answer::New]);
    // Another planner reads the report once more, as the one before could not forget it.
    assert_eq!(pool.end(1, RunState::Succeeded), [Answer::Gone]);
    assert_eq!(pool.store.counts().unwrap().open, 0);
}
