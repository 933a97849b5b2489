//! Submissions in a transaction of one's own: each is done once, whatever ends between.
//!
//! ```text
//!  INSERT .. ; SELECT mainspring.submit(..) ; COMMIT ─▶ inbox ─▶ the planner's commit has the job, and the row is gone
//!  a program that does not plan ─────────────────────┘
//! ```

use mainspring_job::{Action, Answer, Batch, Lease, Once, OnceId, Operation, Owner, Store, StoreError, Work};
use mainspring_postgres::{Identity, Inbox, Location, PostgresStore};

use super::database::Database;
use super::relay::Relay;
use super::trouble::{acquired, at, opened, tried};

/// The key or the id of a request, and what it asks for, as a server reads it.
fn requests(inbox: &mut Inbox) -> Vec<(String, serde_json::Value)> {
    let key_of = |entry: mainspring_postgres::Entry| {
        let request: serde_json::Value = serde_json::from_str(&entry.request).unwrap();
        let known_by = request["key"].as_str().or(request["earlier"].as_str()).unwrap();
        (known_by.to_owned(), request)
    };
    inbox.waiting().unwrap().into_iter().map(key_of).collect()
}

fn submit(lease: Lease, number: u64, known_by: &str) -> Operation {
    let id = known_by.parse::<OnceId>();
    let key = id.is_err().then(|| known_by.to_owned());
    let id = id.unwrap_or(OnceId { due: at(60), number: (lease.epoch << 40) + number });
    let mut once = Once::new(id, at(0), Work::new(Action::new("handler", "{}").unwrap()));
    once.key = key;
    Operation::Submit(once)
}

/// Leaves a submission as a program does.
fn leave(inbox: &mut Inbox, id: OnceId) {
    let request = format!(r#"{{"command": "submit", "earlier": "{id}", "due": "{}"}}"#, id.due);
    inbox.leave_all(&[(&request, id.to_string())], "a program").unwrap();
}

/// What each has come to: how many jobs wait, how many of them are the same, and how many requests.
const FATE: &str = "SELECT concat_ws(' ', (SELECT count(*) FROM mainspring.pending),
    (SELECT count(*) - count(DISTINCT coalesce(key, name)) FROM mainspring.pending), (SELECT count(*) FROM mainspring.inbox))";

#[test]
fn what_a_transaction_submits_is_there_if_it_commits_and_never_otherwise() {
    let Some(database) = Database::start() else { return };
    drop(opened(&database));
    database.ask("CREATE TABLE orders (id int8 PRIMARY KEY)");
    let order = |id: i64, end: &str| {
        let submit = format!(
            "SELECT mainspring.submit('{{\"handler\": {{\"name\": \"send-mail\"}}}}', key => 'order-{id}')"
        );
        database.ask(&format!("BEGIN; INSERT INTO orders VALUES ({id}); {submit}; {end}"));
    };
    order(1, "COMMIT");
    order(2, "ROLLBACK");
    let mut inbox = Inbox::of_owner(&Location::parse(&database.url()).unwrap()).unwrap();
    let [(key, request)] = &requests(&mut inbox)[..] else { panic!("one was submitted") };
    assert_eq!(key, "send-mail/order-1", "a key is its handler's");
    assert_eq!((&request["command"], &request["handler"]["name"]), (&"submit".into(), &"send-mail".into()));
}

#[test]
fn who_asks_to_be_heard_at_once_is() {
    let Some(database) = Database::start() else { return };
    drop(opened(&database));
    let mut inbox = Inbox::of_owner(&Location::parse(&database.url()).unwrap()).unwrap();
    assert!(inbox.wait(std::time::Duration::ZERO), "it knows nothing of what was before");
    database.ask("SELECT mainspring.submit('{\"process\": {}}')");
    assert!(!inbox.wait(std::time::Duration::from_millis(1)));
    database.ask("SELECT mainspring.submit('{\"process\": {}}', wakes => true)");
    assert!(inbox.wait(std::time::Duration::from_secs(60)), "its time was not over");
    assert_eq!(requests(&mut inbox).len(), 2);
}

#[test]
fn a_renewal_of_the_lease_looks_for_what_nothing_told() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let mut inbox = store.inbox().unwrap();
    let (longest, moment) = (std::time::Duration::from_secs(60), std::time::Duration::from_millis(1));
    assert!(inbox.wait(longest), "it knows nothing of what was before");
    store.renew(lease).unwrap();
    assert!(!inbox.wait(moment), "nothing is there");
    database.ask("SELECT mainspring.submit('{\"process\": {}}')");
    store.renew(lease).unwrap();
    assert!(inbox.wait(longest), "its time was not over");
    assert_eq!(requests(&mut inbox).len(), 1);
}

/// The planner reads, and dies before, in or after the commit; another continues.
#[test]
fn a_submission_is_neither_lost_nor_doubled_by_a_crash_in_between() {
    let Some(mut database) = Database::start() else { return };
    let relay = Relay::before(&database);
    let location = Location::parse(&database.url()).unwrap();
    drop(opened(&database));
    let mut asker = Inbox::of_asker(&location).unwrap();
    for index in 0..12 {
        match index % 2 {
            0 => drop(
                database
                    .ask(&format!("SELECT mainspring.submit('{{\"process\": {{}}}}', key => 'k{index}')")),
            ),
            _ => leave(&mut asker, OnceId::drawn(at(60), index)),
        }
    }
    for round in 0..4 {
        let mut inbox = Inbox::of_owner(&location).unwrap();
        let mut one =
            PostgresStore::open(&Location::parse(&relay.url()).unwrap(), Identity::default()).unwrap();
        database.ask("UPDATE mainspring.planner SET until = '-infinity'");
        let lease = one.acquire(&Owner::new("one")).unwrap();
        let found = requests(&mut inbox);
        assert_eq!(found.len(), 12 - 3 * round, "what was done is gone, and nothing else");
        let operations =
            (1..).zip(&found[..3]).map(|(number, (key, _))| submit(lease, number, key)).collect();
        let batch = Batch::new(1, operations);
        match round {
            // It dies before it commits: the next one finds all of it.
            0 => database.kill(),
            // It is on disk, and the answer is lost with the server.
            1 => relay.swallow(1),
            _ => {}
        }
        let committed = one.commit(lease, &batch);
        match round {
            0 => {
                assert!(matches!(committed, Err(StoreError::Busy(_) | StoreError::Unknown)), "{committed:?}");
                database.begin();
                assert_eq!(database.ask(FATE), "0 0 12", "what is left is on disk");
                let again = tried(&mut one, lease, &batch);
                assert_eq!(again, [Answer::New; 3]);
            }
            1 => assert!(matches!(committed, Err(StoreError::Unknown)), "{committed:?}"),
            _ => assert_eq!(committed.unwrap().answers, [Answer::New; 3]),
        }
        let done = 3 * (round + 1);
        assert_eq!(database.ask(FATE), format!("{done} 0 {}", 12 - done));
    }
    // One that reads before another commits, and does it after that: key and id say that it is done.
    let mut store = opened(&database);
    database.ask("UPDATE mainspring.planner SET until = '-infinity'");
    let lease = acquired(&mut store);
    let drawn = OnceId::drawn(at(60), 1).to_string();
    let late = Batch::new(1, vec![submit(lease, 9, "k0"), submit(lease, 10, &drawn)]);
    let late = tried(&mut store, lease, &late);
    assert!(matches!(late[..], [Answer::Duplicate(Some(_)), Answer::Duplicate(Some(_))]), "{late:?}");
    assert_eq!(database.ask(FATE), "12 0 0");
    // A job whose name is another's key takes nothing out.
    leave(&mut Inbox::of_asker(&location).unwrap(), OnceId::drawn(at(60), 1));
    database.ask("SELECT mainspring.submit('{\"process\": {}}', key => 'mail')");
    let id = OnceId { due: at(60), number: (lease.epoch << 40) + 11 };
    let mut named = Once::new(id, at(0), Work::new(Action::new("handler", "{}").unwrap()));
    named.name = "mail".parse().unwrap();
    assert_eq!(tried(&mut store, lease, &Batch::new(2, vec![Operation::Submit(named)])), [Answer::New]);
    assert_eq!(database.ask(FATE), "13 0 2");
}
