//! Jobs that are spread over several shards: who has what, and what an owner may still say of what has left.

use mainspring_job::{
    Action, Answer, Batch, Cause, JobName, Lease, Mark, Once, OnceId, Operation, Owner, Query, Reader, Run,
    RunKey, RunState, Shard, Store, StoreError, Work,
};
use mainspring_postgres::{Identity, Inbox, Location, PostgresStore, Shards};

use super::database::Database;
use super::trouble::{at, opened, tried};

pub(crate) const COUNT: u16 = 16;

pub(crate) fn name(text: &str) -> JobName {
    text.parse().unwrap()
}

pub(crate) fn spread(database: &Database, count: u16) -> Shards {
    drop(opened(database));
    let mut shards = Shards::new(&Location::parse(&database.url()).unwrap()).unwrap();
    let homes: Vec<(JobName, Shard)> = shards
        .records()
        .unwrap()
        .iter()
        .map(|record| (record.mark.job.clone(), Shard::of(&record.mark.job, count)))
        .collect();
    assert_eq!(shards.spread(count, &homes, |group| Shard::of(group, count)).unwrap(), None);
    shards
}

/// The owner of a shard, as a process of its own.
pub(crate) fn owner(database: &Database, shard: u16) -> (PostgresStore, Lease) {
    let mut store = opened(database).among(COUNT);
    let lease = store.acquire(Shard(shard), &Owner::new("one")).unwrap();
    (store, lease)
}

pub(crate) fn defined(job: &str, watermark: i64) -> Operation {
    let mark = Mark::new(name(job), at(watermark), "@daily".to_owned());
    Operation::Define { mark, source: "jobs.toml".to_owned(), text: format!("[jobs.{job}]") }
}

pub(crate) fn marked(job: &str, watermark: i64) -> Operation {
    Operation::Mark(Mark::new(name(job), at(watermark), "@daily".to_owned()))
}

fn once(due: i64, number: u64) -> Once {
    Once::new(OnceId { due: at(due), number }, at(0), Work::new(Action::new("process", "true").unwrap()))
}

#[test]
fn owners_of_two_shards_write_side_by_side_and_each_reads_its_own() {
    let Some(database) = Database::start() else { return };
    let mut shards = spread(&database, COUNT);
    assert_eq!(shards.count().unwrap(), COUNT);
    let ((mut one, first), (mut other, second)) = (owner(&database, 3), owner(&database, 9));
    assert_ne!(first.epoch, second.epoch, "ids of one-shot jobs are made of it");
    let batch = |job: &str, due: i64, number: u64| {
        Batch::new(1, vec![defined(job, 0), Operation::Submit(once(due, number))])
    };
    assert_eq!(tried(&mut one, first, &batch("a", 20, 1)), [Answer::New, Answer::New]);
    assert_eq!(tried(&mut other, second, &batch("b", 10, 2)), [Answer::New, Answer::New]);
    let jobs = |store: &mut PostgresStore, shard: u16| {
        let records = store.jobs(Shard(shard)).unwrap().0;
        records.into_iter().map(|record| record.mark.job.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((jobs(&mut one, 3), jobs(&mut one, 9)), (vec!["a".to_owned()], vec!["b".to_owned()]));
    assert_eq!(one.shared_sources(Shard(3)).unwrap().unwrap().len(), 1);
    assert_eq!(one.shared_sources(Shard(4)).unwrap().unwrap().len(), 0, "it was not applied there yet");
    // People are told of all.
    let first_id = OnceId::first_at(at(0));
    let all = one.load(Shard::EVERY, first_id, at(100), 9).unwrap();
    assert_eq!(all.iter().map(|once| once.id.due).collect::<Vec<_>>(), [at(10), at(20)]);
    let rest = one.load_ids(Shard::EVERY, all[0].id, at(100), 9).unwrap();
    assert_eq!(rest, [all[1].id]);
    assert_eq!(one.load_ids(Shard::EVERY, first_id, at(100), 1).unwrap(), [all[0].id]);
    let counts = one.counts(Shard::EVERY).unwrap();
    assert_eq!((counts.jobs, counts.pending), (2, 2));
    assert_eq!(shards.of_job(&name("b")).unwrap(), Some(Shard(9)));
    assert_eq!(shards.of_once(at(20), 1).unwrap(), Some(Shard(3)));
    assert_eq!(shards.of_job(&name("c")).unwrap(), None);
    let run = |job: &str| {
        Operation::Plan(Run::new(
            RunKey::new(name(job), at(5)),
            Cause::Request,
            RunState::Queued,
            at(5),
            at(5),
        ))
    };
    assert_eq!(tried(&mut one, first, &Batch::new(2, vec![run("a")])), [Answer::New]);
    // A run is planned where its job is.
    assert_eq!(tried(&mut other, second, &Batch::new(2, vec![run("a")])), [Answer::Gone]);
    assert_eq!(shards.of_run(&RunKey::new(name("a"), at(5))).unwrap(), Some(Shard(3)));
    // Of runs that are open and of those that are over a question finds those of its shard.
    assert_eq!(tried(&mut other, second, &Batch::new(3, vec![run("b")])), [Answer::New]);
    let missed = Run::new(RunKey::new(name("b"), at(7)), Cause::Trigger, RunState::Missed, at(7), at(7));
    assert_eq!(tried(&mut other, second, &Batch::new(4, vec![Operation::Plan(missed)])), [Answer::New]);
    let mut found = |shard: Shard| one.find(shard, &Query::new(9)).unwrap().len();
    assert_eq!((found(Shard(3)), found(Shard(9)), found(Shard(4)), found(Shard::EVERY)), (1, 2, 0, 3));
}

#[test]
fn a_job_that_another_shard_defines_is_that_shards_and_its_old_owner_changes_nothing() {
    let Some(database) = Database::start() else { return };
    let _shards = spread(&database, COUNT);
    let ((mut old, left), (mut new, here)) = (owner(&database, 1), owner(&database, 2));
    tried(&mut old, left, &Batch::new(1, vec![defined("moved", 100), marked("moved", 500)]));
    tried(&mut new, here, &Batch::new(1, vec![defined("moved", 200)]));
    // What it knew of the job comes along.
    assert_eq!(new.jobs(Shard(2)).unwrap().0[0].mark.watermark, at(500));
    assert_eq!(old.jobs(Shard(1)).unwrap().0, []);
    // The old owner hears of it later.
    let late =
        Batch::new(2, vec![marked("moved", 900), Operation::Forget { job: name("moved"), absence: None }]);
    assert_eq!(tried(&mut old, left, &late), [Answer::New, Answer::New]);
    let found = new.jobs(Shard(2)).unwrap().0;
    assert_eq!((found[0].mark.watermark, found[0].source.as_deref()), (at(500), Some("jobs.toml")));
    assert_eq!(old.counts(Shard(1)).unwrap().jobs, 0);
    assert_eq!(new.counts(Shard(2)).unwrap().jobs, 1);
    // The other way round: it is let go of first.
    tried(&mut new, here, &Batch::new(2, vec![Operation::Forget { job: name("moved"), absence: None }]));
    tried(&mut old, left, &Batch::new(3, vec![defined("moved", 300)]));
    assert_eq!(old.counts(Shard(1)).unwrap().jobs, 1);
    assert_eq!(new.counts(Shard(2)).unwrap().jobs, 0);
    assert_eq!(old.jobs(Shard(1)).unwrap().0[0].source.as_deref(), Some("jobs.toml"));
}

#[test]
fn all_that_there_is_is_spread_while_nobody_owns_it_and_comes_back_together() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = store.acquire(Shard::WHOLE, &Owner::new("one")).unwrap();
    let mut operations: Vec<Operation> =
        (0..100).map(|number| defined(&format!("job-{number}"), 0)).collect();
    operations.extend((1..=50).map(|number| Operation::Submit(once(1_000, number))));
    operations.extend((0..20).map(|number| {
        let key = RunKey::new(name(&format!("job-{number}")), at(60));
        let state = if number < 10 { RunState::Queued } else { RunState::Missed };
        Operation::Plan(Run::new(key, Cause::Trigger, state, at(60), at(60)))
    }));
    tried(&mut store, lease, &Batch::new(1, operations));
    let mut shards = Shards::new(&Location::parse(&database.url()).unwrap()).unwrap();
    let held = shards.spread(COUNT, &[], |group| Shard::of(group, COUNT)).unwrap();
    assert_eq!(held.as_deref(), Some("one"), "it is not done under an owner");
    assert_eq!(shards.count().unwrap(), 1);
    store.release(lease).unwrap();
    let total = store.counts(Shard::EVERY).unwrap();
    let mut shards = spread(&database, COUNT);
    assert_eq!(store.counts(Shard::EVERY).unwrap(), total);
    let mut seen = 0;
    for number in 0..COUNT {
        let shard = Shard(number);
        let records = store.jobs(shard).unwrap().0;
        assert!(records.iter().all(|record| Shard::of(&record.mark.job, COUNT) == shard));
        assert_eq!(store.counts(shard).unwrap().jobs, records.len() as u64);
        assert!(store.counts(shard).unwrap().pending > 0, "what waits is spread as well");
        for run in store.open_runs(shard, None, 99).unwrap() {
            assert_eq!(Shard::of(&run.key.job, COUNT), shard, "a run is where its job is");
        }
        assert!(store.shared_sources(shard).unwrap().unwrap().contains("jobs.toml"));
        seen += records.len();
    }
    assert_eq!(seen, 100);
    // Who would place jobs otherwise is given none.
    let refused = store.acquire(Shard::WHOLE, &Owner::new("one")).unwrap_err();
    assert!(matches!(&refused, StoreError::Io(_)), "{refused:?}");
    assert!(refused.to_string().contains("over 16 shards, and this program expects 1"), "{refused}");
    assert_eq!(database.ask("SELECT floor FROM mainspring.meta"), "8", "since when there are several");
    // And back.
    drop(spread(&database, 1));
    assert_eq!(shards.count().unwrap(), 1);
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.shard"), "1");
    assert_eq!(store.counts(Shard::WHOLE).unwrap(), total);
    assert_eq!(store.jobs(Shard::WHOLE).unwrap().0.len(), 100);
    store.acquire(Shard::WHOLE, &Owner::new("one")).unwrap();
    assert_eq!(database.ask("SELECT floor FROM mainspring.meta"), "1");
}

#[test]
fn a_look_shows_who_is_there_and_who_owns_what_and_requests_find_their_shard() {
    let Some(database) = Database::start() else { return };
    let mut shards = spread(&database, COUNT);
    let (mut store, lease) = owner(&database, 5);
    let ours = store.identity();
    let stranger = Identity { server: "00000000-0000-0000-0000-000000000007".to_owned(), ..ours.clone() };
    shards.look(&stranger, "another").unwrap();
    let look = shards.look(&ours, "one").unwrap();
    assert_eq!(look.shards.len(), usize::from(COUNT));
    let owned: Vec<u16> =
        look.shards.iter().filter(|held| !held.server.is_empty()).map(|held| held.shard.0).collect();
    assert_eq!(owned, [5]);
    assert_eq!((&look.shards[5].server, look.shards[5].epoch), (&ours.server, lease.epoch));
    assert_eq!(look.servers.len(), 2);
    assert!(shards.epochs().unwrap().contains(&(Shard(5), lease.epoch)));
    store.release(lease).unwrap();
    assert!(shards.look(&ours, "one").unwrap().shards.iter().all(|held| held.server.is_empty()));
    let location = Location::parse(&database.url()).unwrap();
    let mut inbox = Inbox::of_owner(&location).unwrap();
    inbox.ask(Shard(5), "five", "somebody").unwrap();
    inbox.ask(Shard(6), "six", "somebody").unwrap();
    database.ask("SELECT mainspring.submit('{\"process\": {}}')");
    let of = |inbox: &mut Inbox, shards: &[Shard]| {
        let entries = inbox.waiting(shards).unwrap();
        entries.into_iter().map(|entry| entry.shard).collect::<Vec<_>>()
    };
    assert_eq!(of(&mut inbox, &[Shard(5), Shard(7)]), [Some(Shard(5))]);
    assert_eq!(of(&mut inbox, &[Shard(0)]), [None], "what names no shard is for the owner of the first");
    assert_eq!(of(&mut inbox, &[Shard(1)]), []);
}
