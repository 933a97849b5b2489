//! Submissions in transactions of a program in a SQLite file of its own.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use mainspring_embed::{Builder, Error, ManualClock, Options, Run};
use rusqlite::Connection;

use super::*;

const INSERT: &str = "INSERT INTO mainspring_outbox (submission) VALUES (?1)";

/// Jobs whose handler tells what it is given, with their folder and the file of the program below one.
fn jobs(folder: &Path, version: u32) -> (Builder, Receiver<String>) {
    fs::create_dir_all(folder).unwrap();
    let (sender, receiver) = channel();
    let sender = Mutex::new(sender);
    let log = File::options().append(true).create(true).open(folder.join("log")).unwrap();
    let builder = Jobs::open(folder.join("jobs"))
        .unwrap()
        .outbox(folder.join("app.db"))
        .log_to(log)
        .handler(Options::new("mail").version(version), move |_: &Run, to: String| {
            sender.lock().unwrap().send(to).map_err(|error| error.to_string())
        });
    (builder, receiver)
}

fn connection(folder: &Path) -> Connection {
    let connection = Connection::open(folder.join("app.db")).unwrap();
    connection.busy_timeout(LONG).unwrap();
    connection
}

/// Waits until the file is as it should be.
fn until(program: &Connection, sql: &str, expected: &str) {
    let (_keep, never) = channel::<()>();
    let (mut tries, wait) = (0, Duration::from_millis(5));
    loop {
        let found: String = program.query_row(sql, [], |row| row.get(0)).unwrap();
        if found == expected {
            return;
        }
        tries += 1;
        assert!(wait * tries < LONG, "{found}");
        let _ = never.recv_timeout(wait);
    }
}

/// How many rows wait, and how many were refused.
const ROWS: &str = "SELECT (count(*) - count(refusal)) || ' ' || count(refusal) FROM mainspring_outbox";

/// Two handlers run beside each other, and either may be heard first.
fn two_heard(seen: &Receiver<String>) -> [String; 2] {
    let mut done = [heard(seen), heard(seen)];
    done.sort_unstable();
    done
}

#[test]
fn what_commits_is_done_once_and_what_is_rolled_back_is_not() {
    let folder = folder("outbox-commit");
    let (builder, seen) = jobs(&folder, 0);
    let jobs = builder.start().unwrap();
    let mut program = connection(&folder);
    program.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE user (name TEXT)").unwrap();
    let mut sign_up = |name: &str, key: &str, is_committed: bool| {
        let transaction = program.transaction().unwrap();
        transaction.execute("INSERT INTO user VALUES (?1)", [name]).unwrap();
        let once = jobs.once("mail").key(key).payload(name);
        once.submit_in(|sql, document| transaction.execute(sql, [document])).unwrap().unwrap();
        if is_committed { transaction.commit().unwrap() } else { transaction.rollback().unwrap() }
    };
    sign_up("ada", "1", false);
    sign_up("bob", "2", true);
    sign_up("bob", "2", true);
    sign_up("eve", "1", true);
    assert_eq!(two_heard(&seen), ["bob", "eve"]);
    // Another call under the key stays with its reason, until a person does something about it.
    sign_up("mallory", "2", true);
    until(&program, ROWS, "0 1");
    let why: String =
        program.query_row("SELECT refusal FROM mainspring_outbox", [], |row| row.get(0)).unwrap();
    assert!(why.contains("the key `mail/2`"), "{why}");
    let change =
        "UPDATE mainspring_outbox SET refusal = NULL, submission = json_set(submission, '$.key', '3')";
    program.execute(change, []).unwrap();
    assert_eq!(heard(&seen), "mallory");
    until(&program, ROWS, "0 0");
    jobs.shutdown(LONG).unwrap();
    assert!(seen.try_recv().is_err());
    let log = fs::read_to_string(folder.join("log")).unwrap();
    assert!(log.contains("submission 1 cannot be done: ") && log.contains("app.db"), "{log}");
}

#[test]
fn what_a_transaction_submits_is_what_a_call_submits() {
    let folder = folder("outbox-work");
    let builder = jobs(&folder, 3).0.handler(
        Options::new("bank").group("bank", 1).priority(-7).retry(3).version(2),
        |_: &Run, _: f64| Done::Ok(()),
    );
    let jobs = builder.start().unwrap();
    let program = connection(&folder);
    let due = "2200-01-01T00:00:00.000000001Z".parse().unwrap();
    let once = |key: &str| jobs.once("bank").payload(&1e300).at(due).key(key).name(key);
    once("call").submit().unwrap();
    once("\0").submit_in(|_, _| ()).unwrap_err();
    let key = "NUL \0";
    let named = once("commit").key(key).priority(9);
    named.submit_in(|sql, document| program.execute(sql, [document])).unwrap().unwrap();
    until(&program, ROWS, "0 0");
    let [called, committed] = &jobs.waiting(10).unwrap()[..] else { panic!("two wait") };
    assert_eq!((called.id.due, committed.id.due), (due, due));
    assert_eq!(
        (&called.work.action, called.work.group.as_ref()),
        (&committed.work.action, committed.work.group.as_ref())
    );
    assert_eq!((&called.work.policies, committed.work.priority), (&committed.work.policies, 9));
    assert_eq!(committed.key.as_deref(), Some("bank/NUL \0"));
    assert!(!once("commit").key(key).submit().unwrap().is_new);
    jobs.shutdown(LONG).unwrap();
}

#[test]
fn a_row_that_was_submitted_and_not_deleted_is_done_once() {
    let folder = folder("outbox-crash");
    let (builder, seen) = jobs(&folder, 0);
    let running = builder.start().unwrap();
    let program = connection(&folder);
    // The file after a crash is the file before the deletion.
    let keep = "CREATE TABLE kept AS SELECT * FROM mainspring_outbox";
    program.execute_batch("BEGIN").unwrap();
    for to in ["ada", "bob"] {
        let once = running.once("mail").payload(to);
        once.submit_in(|sql, document| program.execute(sql, [document])).unwrap().unwrap();
    }
    program.execute_batch(keep).unwrap();
    program.execute_batch("COMMIT").unwrap();
    assert_eq!(two_heard(&seen), ["ada", "bob"]);
    until(&program, ROWS, "0 0");
    running.shutdown(LONG).unwrap();
    drop(running);
    program.execute_batch("INSERT INTO mainspring_outbox SELECT * FROM kept").unwrap();
    // By another version of the program, whose handler has another version: it is the same call.
    let (builder, seen) = jobs(&folder, 1);
    let running = builder.start().unwrap();
    until(&program, ROWS, "0 0");
    running.shutdown(LONG).unwrap();
    assert!(seen.try_recv().is_err());
}

#[test]
fn rows_of_other_programs_are_done_or_refused() {
    let folder = folder("outbox-foreign");
    let program_first = {
        fs::create_dir_all(&folder).unwrap();
        connection(&folder)
    };
    let (builder, seen) = jobs(&folder, 0);
    let running = builder.start().unwrap();
    for submission in
        ["nonsense", r#"{"process": {"run": ["true"]}}"#, r#"{"handler": {"name": "mail"}, "newer": 1}"#]
    {
        program_first.execute(INSERT, [submission]).unwrap();
    }
    program_first.execute(INSERT, [r#"{"handler": {"name": "mail", "input": "ada"}}"#]).unwrap();
    assert_eq!(heard(&seen), "ada");
    until(&program_first, ROWS, "0 3");
    running.shutdown(LONG).unwrap();
    // The rows of another folder wait for it, and the log says so.
    program_first.execute("UPDATE mainspring_outbox SET folder = 'elsewhere', refusal = NULL", []).unwrap();
    drop(running);
    let (builder, seen) = jobs(&folder, 0);
    let running = builder.start().unwrap();
    program_first.execute(INSERT, [r#"{"handler": {"name": "mail", "input": "eve"}}"#]).unwrap();
    assert_eq!(heard(&seen), "eve");
    until(&program_first, ROWS, "3 0");
    assert!(
        fs::read_to_string(folder.join("log"))
            .unwrap()
            .contains("3 submissions wait for jobs of another folder")
    );
    running.shutdown(LONG).unwrap();
}

#[test]
fn two_programs_with_one_file_do_each_their_own() {
    let folder = folder("outbox-two");
    let (builder, seen) = jobs(&folder, 0);
    let first = builder.start().unwrap();
    let (sender, others) = channel();
    let sender = Mutex::new(sender);
    let tell = move |_: &Run, to: String| sender.lock().unwrap().send(to).map_err(|error| error.to_string());
    let second =
        Jobs::open(folder.join("second")).unwrap().outbox(folder.join("app.db")).handler("mail", tell);
    let second = second.start().unwrap();
    let program = connection(&folder);
    for (jobs, to) in [(&first, "one"), (&second, "two"), (&first, "three"), (&second, "four")] {
        // The keys of two folders are two.
        let once = jobs.once("mail").key(&to[..1]).payload(to);
        once.submit_in(|sql, document| program.execute(sql, [document])).unwrap().unwrap();
    }
    program.execute(INSERT, [r#"{"handler": {"name": "mail", "input": "free"}}"#]).unwrap();
    until(&program, ROWS, "0 0");
    let runs = || first.runs(10).unwrap().into_iter().chain(second.runs(10).unwrap());
    while runs().count() < 5 || runs().any(|run| run.state.is_open()) {
        std::thread::yield_now();
    }
    first.shutdown(LONG).unwrap();
    second.shutdown(LONG).unwrap();
    let done = |receiver: Receiver<String>| {
        let mut done: Vec<String> = receiver.try_iter().filter(|to| to != "free").collect();
        done.sort_unstable();
        done
    };
    assert_eq!(
        (done(seen), done(others)),
        (vec!["one".into(), "three".into()], vec!["four".into(), "two".into()])
    );
}

#[test]
#[cfg(unix)]
fn a_file_that_is_locked_removed_or_replaced_is_tried_again() {
    let folder = folder("outbox-file");
    let (builder, seen) = jobs(&folder, 0);
    let jobs = builder.start().unwrap();
    let program = connection(&folder);
    let submit = |program: &Connection, to: &str| {
        let once = jobs.once("mail").key(to).payload(to);
        once.submit_in(|sql, document| program.execute(sql, [document])).unwrap().unwrap();
    };
    // The thread meets the lock with its first look, and again after the timeout of SQLite.
    program.execute_batch("BEGIN EXCLUSIVE").unwrap();
    submit(&program, "ada");
    let (_keep, never) = channel::<()>();
    let _ = never.recv_timeout(Duration::from_millis(300));
    program.execute_batch("COMMIT").unwrap();
    assert_eq!(heard(&seen), "ada");
    until(&program, ROWS, "0 0");
    program.execute_batch("DROP TABLE mainspring_outbox").unwrap();
    until(&program, "SELECT count(*) || '' FROM sqlite_master WHERE name = 'mainspring_outbox'", "1");
    submit(&program, "bob");
    assert_eq!(heard(&seen), "bob");
    until(&program, ROWS, "0 0");

    // Another program removes the file; then this one opens a new one, as at its first start.
    fs::remove_file(folder.join("app.db")).unwrap();
    drop(program);
    let program = connection(&folder);
    program.execute_batch("CREATE TABLE user (name TEXT)").unwrap();
    until(&program, "SELECT count(*) || '' FROM sqlite_master WHERE name = 'mainspring_outbox'", "1");
    submit(&program, "eve");
    assert_eq!(heard(&seen), "eve");
    until(&program, ROWS, "0 0");
    jobs.shutdown(LONG).unwrap();
    assert!(seen.try_recv().is_err());
}

#[test]
fn jobs_without_an_outbox_say_so() {
    let folder = folder("outbox-none");
    let never = |_: &'static str, _: String| panic!("there is no transaction");
    let handle = |_: &Run, _: String| Done::Ok(());
    let jobs = Jobs::open(&folder).unwrap().handler("mail", handle).start().unwrap();
    let refused = jobs.once("mail").payload("ada").submit_in(never).unwrap_err();
    assert!(matches!(refused, Error::NoTransaction(_)), "{refused}");
    assert!(refused.to_string().contains("Builder::outbox"), "{refused}");
    drop(jobs);
    let clock = ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap());
    let jobs = Jobs::simulated(&clock).handler("mail", handle).start().unwrap();
    let refused = jobs.once("mail").payload("ada").submit_in(never).unwrap_err();
    assert!(refused.to_string().contains("a simulation"), "{refused}");
    assert!(Jobs::simulated(&clock).outbox("app.db").start().is_err());
    for path in [folder.join("mainspring.db"), folder.join("none/app.db"), folder.clone(), ":memory:".into()]
    {
        let refused = Jobs::open(&folder).unwrap().outbox(&path).start().unwrap_err().to_string();
        assert!(refused.starts_with("`outbox`: "), "{refused}");
    }
    fs::write(folder.join("text"), "a".repeat(4_096)).unwrap();
    let refused = Jobs::open(&folder).unwrap().outbox(folder.join("text")).start().unwrap_err().to_string();
    assert!(refused.contains("not a database"), "{refused}");
    let jobs =
        Jobs::open(&folder).unwrap().outbox(folder.join("app.db")).handler("mail", handle).start().unwrap();
    for (once, expected) in [
        (jobs.once("none"), "no handler"),
        (jobs.once("mail").payload(&1), "invalid type"),
        (jobs.once("mail").payload(&"a".repeat(300_000)), "262144"),
        (jobs.once("mail").payload("").key(""), "empty"),
        (jobs.once("mail").payload("").key("a".repeat(257)), "key"),
        (jobs.once("mail").payload("").name("a b"), "`a b`"),
        (jobs.once("mail").payload("").after(Duration::MAX), "the due time is out of range"),
    ] {
        let refused = once.submit_in(never).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}
