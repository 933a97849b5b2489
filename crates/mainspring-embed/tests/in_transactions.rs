//! Submissions in transactions of a program in the database that it shares.

use mainspring_embed::Once;
use mainspring_embed::jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio_postgres::error::SqlState;
use tokio_postgres::{NoTls, Transaction};

use super::*;

#[derive(Clone, Copy)]
pub(super) enum End {
    Commit,
    Rollback,
}

/// A transaction of the program's own.
pub(super) fn transaction<T>(url: &str, work: impl AsyncFnOnce(&Transaction<'_>) -> T, end: End) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (mut client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let transaction = client.transaction().await.unwrap();
        let done = work(&transaction).await;
        match end {
            End::Commit => transaction.commit().await.unwrap(),
            End::Rollback => transaction.rollback().await.unwrap(),
        }
        drop(client);
        connection.await.unwrap().unwrap();
        done
    })
}

/// Submits as a part of a transaction.
pub(super) async fn in_transaction<P>(transaction: &Transaction<'_>, once: Once<'_, P>) {
    let submitted = once.submit_in(async |sql, document| transaction.execute(sql, &[&document]).await);
    submitted.unwrap().await.unwrap();
}

pub(super) fn all(database: &Database) {
    a_transaction_submits_what_it_commits(database);
    a_batch_of_a_transaction_has_its_callback_last(database);
    what_a_transaction_submits_is_what_a_call_submits(database);
    what_cannot_be_submitted_fails_before_the_commit(database);
}

fn a_transaction_submits_what_it_commits(database: &Database) {
    let folder = folder("transaction");
    let (sender, seen) = channel();
    let start = |name: &str| {
        let sender = Mutex::new(sender.clone());
        Jobs::connect(&database.url())
            .unwrap()
            .folder(folder.join(name))
            .log_to(File::create(folder.join(format!("{name}.log"))).unwrap())
            .handler("mail", move |run: &Run, to: String| {
                let told = (to, run.key().clone());
                sender.lock().unwrap().send(told).map_err(|error| error.to_string())
            })
            .start()
            .unwrap()
    };
    // What the second submits the first takes over, and either of them runs.
    let (first, second) = (start("one"), start("two"));
    let url = database.url();
    database.ask("CREATE TABLE orders (id int8 PRIMARY KEY); DELETE FROM mainspring.inbox");
    let order = |jobs: &Jobs, id: i64, to: &str, end| {
        transaction(
            &url,
            async |transaction| {
                transaction.execute("INSERT INTO orders VALUES ($1)", &[&id]).await.unwrap();
                let key = format!("order-{}", id % 10);
                in_transaction(transaction, jobs.once("mail").key(key).payload(to)).await;
            },
            end,
        );
    };
    order(&second, 1, "ada", End::Rollback);
    order(&second, 2, "bob", End::Commit);
    order(&first, 3, "eve", End::Commit);
    // The same call in another transaction is the same submission, and another call is refused.
    order(&first, 12, "bob", End::Commit);
    order(&first, 22, "mallory", End::Commit);
    assert_eq!(database.ask("SELECT string_agg(id::text, ' ' ORDER BY id) FROM orders"), "2 3 12 22");
    wait_until(|| database.ask("SELECT count(*) FROM mainspring.inbox WHERE refusal = ''") == "0");
    let refused = "SELECT request::jsonb ->> 'key', refusal FROM mainspring.inbox WHERE refusal <> ''";
    let refused = database.ask(refused);
    assert!(refused.starts_with("mail/order-2|") && refused.contains("taken"), "{refused}");
    assert!(fs::read_to_string(folder.join("one.log")).unwrap().contains("cannot be done: "));
    database.ask("DELETE FROM mainspring.inbox");
    let mut done = [seen.recv_timeout(LONG).unwrap(), seen.recv_timeout(LONG).unwrap()];
    done.sort();
    assert_eq!([&*done[0].0, &*done[1].0], ["bob", "eve"]);
    assert!(seen.try_recv().is_err());
    wait_until(|| first.runs(10).unwrap().iter().all(|run| !run.state.is_open()));
    second.shutdown(LONG).unwrap();
    first.shutdown(LONG).unwrap();
    let _ = fs::remove_dir_all(&folder);
}

fn a_batch_of_a_transaction_has_its_callback_last(database: &Database) {
    let folder = folder("batch");
    let (sender, seen) = channel();
    let start = |name: &str| {
        let (of_part, of_all) = (Mutex::new(sender.clone()), Mutex::new(sender.clone()));
        Jobs::connect(&database.url())
            .unwrap()
            .folder(folder.join(name))
            .handler("part", move |_: &Run, number: u32| {
                of_part.lock().unwrap().send(number).map_err(|error| error.to_string())
            })
            .handler("all", move |_: &Run, (): ()| {
                of_all.lock().unwrap().send(100).map_err(|error| error.to_string())
            })
            .start()
            .unwrap()
    };
    let (first, second) = (start("one"), start("two"));
    for jobs in [&second, &first] {
        let submit = async |transaction: &Transaction<'_>| {
            for number in 0..20_u32 {
                in_transaction(transaction, jobs.once("part").batch("b").payload(&number)).await;
            }
            in_transaction(transaction, jobs.once("all").after_batch("b")).await;
        };
        transaction(&database.url(), submit, End::Commit);
        let mut numbers: Vec<u32> = (0..21).map(|_| seen.recv_timeout(LONG).unwrap()).collect();
        assert_eq!(numbers.pop(), Some(100), "the callback is the last");
        numbers.sort_unstable();
        assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    }
    wait_until(|| first.runs(50).unwrap().iter().all(|run| !run.state.is_open()));
    second.shutdown(LONG).unwrap();
    first.shutdown(LONG).unwrap();
    let _ = fs::remove_dir_all(&folder);
}

/// A payload whose text a database would write in another way.
#[derive(Serialize, Deserialize)]
struct Odd {
    zebra: String,
    number: f64,
    aardvark: u128,
}

fn what_a_transaction_submits_is_what_a_call_submits(database: &Database) {
    let folder = folder("work");
    let rules = Options::new("odd").group("bank", 2).priority(-7).retry(3).version(4);
    let jobs = Jobs::connect(&database.url())
        .unwrap()
        .folder(folder.join("jobs"))
        .handler(rules, |_: &Run, _: Odd| Ok::<(), String>(()))
        .start()
        .unwrap();
    // What the tests before have left.
    jobs.waiting(10).unwrap().iter().for_each(|left| jobs.withdraw(left.id).unwrap());
    let hour = Duration::from_secs(3_600);
    let odd = Odd { zebra: "NUL \u{0}, \u{f8ff}x, \u{f8ff}0".to_owned(), number: 1e300, aardvark: u128::MAX };
    let due: Timestamp = "2200-01-01T00:00:00.000000001Z".parse().unwrap();
    let once = || jobs.once("odd").payload(&odd).priority(9).policies("retry=7".parse().unwrap()).at(due);
    once().name("by-call").key("\u{f8ff}call").submit().unwrap();
    let named = once().name("by-transaction").key("\u{f8ff}transaction");
    transaction(&database.url(), async |transaction| in_transaction(transaction, named).await, End::Commit);
    wait_until(|| jobs.waiting(10).unwrap().len() == 2);
    let [called, committed] = &jobs.waiting(10).unwrap()[..] else { panic!("two wait") };
    assert_eq!((called.name.as_str(), committed.name.as_str()), ("by-call", "by-transaction"));
    assert_eq!(called.work, committed.work);
    assert_eq!(committed.key.as_deref(), Some("odd/\u{f8ff}transaction"));
    assert_eq!(committed.id.due.to_string(), "2200-01-01T00:00:00.000001Z", "not earlier");
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.inbox"), "0", "the commit took it out");
    let again = once().name("by-transaction").key("\u{f8ff}transaction").submit().unwrap();
    assert!(!again.is_new);
    jobs.withdraw(called.id).unwrap();
    jobs.withdraw(committed.id).unwrap();

    // A delay counts by the clock of the database, from the statement on.
    let clock = || {
        database
            .ask("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
    };
    let before: Timestamp = clock().parse().unwrap();
    let later = jobs.once("odd").payload(&odd).after(hour * 24 * 365 * 200);
    transaction(&database.url(), async |transaction| in_transaction(transaction, later).await, End::Commit);
    let after: Timestamp = clock().parse().unwrap();
    wait_until(|| jobs.waiting(10).unwrap().len() == 1);
    let waiting = jobs.waiting(10).unwrap().remove(0);
    let submitted = waiting.id.due.checked_sub(hour * 24 * 365 * 200).unwrap();
    assert!(before <= submitted && submitted <= after, "{before} {submitted} {after}");
    assert!((waiting.work.group.is_some(), waiting.work.priority) == (true, -7));
    jobs.withdraw(waiting.id).unwrap();

    jobs.shutdown(LONG).unwrap();
    let _ = fs::remove_dir_all(&folder);
}

fn what_cannot_be_submitted_fails_before_the_commit(database: &Database) {
    let folder = folder("refused");
    let handle = |_: &Run, _: Odd| Ok::<(), String>(());
    let jobs = Jobs::connect(&database.url()).unwrap().folder(folder.join("jobs")).handler("odd", handle);
    let (jobs, hour) = (jobs.start().unwrap(), Duration::from_secs(3_600));
    let odd = Odd { zebra: String::new(), number: 0.0, aardvark: 0 };
    let never = |_: &'static str, _: String| panic!("it was refused before");
    let long = "a".repeat(300_000);
    let refused: [(Once<'_>, &str); 7] = [
        (jobs.once("none"), "no handler"),
        (jobs.once("odd").payload("text"), "invalid type"),
        (jobs.once("odd").payload(&Odd { zebra: long, number: 0.0, aardvark: 0 }), "262144"),
        (jobs.once("odd").payload(&odd).key(""), "empty"),
        (jobs.once("odd").payload(&odd).key("a".repeat(257)), "key"),
        (jobs.once("odd").payload(&odd).key("\0"), "NUL"),
        (jobs.once("odd").payload(&odd).after(hour * 24 * 365 * 1_000), "out of range"),
    ];
    for (once, expected) in refused {
        let refused = once.submit_in(never).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    // A name that waits fails at once, and the transaction with it.
    jobs.once("odd").payload(&odd).name("taken").key("first").after(hour).submit().unwrap();
    let taken = jobs.once("odd").payload(&odd).name("taken").key("second");
    let failed = transaction(
        &database.url(),
        async |transaction| {
            let submitted =
                taken.submit_in(async |sql, document| transaction.execute(sql, &[&document]).await);
            submitted.unwrap().await.unwrap_err().code().cloned()
        },
        End::Rollback,
    );
    assert_eq!(failed, Some(SqlState::UNIQUE_VIOLATION));
    jobs.shutdown(LONG).unwrap();
    let _ = fs::remove_dir_all(&folder);
}
