//! Submissions by SQL whose place another has.

use mainspring_job::{Action, Answer, Batch, Once, OnceId, Operation, Work};

use super::database::Database;
use super::trouble::{acquired, at, opened, tried};

#[test]
fn a_submission_by_sql_whose_name_waits_under_another_key_fails_at_once() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    let work = Work::new(Action::new("process", "{}").unwrap());
    let mut once = Once::new(OnceId { due: at(60), number: 1 }, at(0), work);
    (once.name, once.key) = ("asked".parse().unwrap(), Some("a".to_owned()));
    assert_eq!(tried(&mut store, lease, &Batch::new(1, vec![Operation::Submit(once)])), [Answer::New]);
    let submit = |rest: &str| {
        let output = database
            .psql("mainspring", &format!("SELECT mainspring.submit('{{\"process\": {{}}}}', {rest})"));
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    for other in ["name => 'asked', key => 'b'", "name => 'asked'"] {
        let (is_done, error) = submit(other);
        assert!(!is_done && error.contains("the name asked is that of a job that waits"), "{other}: {error}");
    }
    // The same key is the server's to look at, and another name is free.
    for same in ["name => 'asked', key => 'a'", "name => 'other', key => 'c'", "key => 'd'"] {
        assert!(submit(same).0, "{same}");
    }
    assert_eq!(database.ask("SELECT string_agg(key, ' ' ORDER BY key) FROM mainspring.inbox"), "a c d");
}

#[test]
fn of_the_submissions_under_one_key_the_first_alone_goes_with_the_commit_that_has_it() {
    let Some(database) = Database::start() else { return };
    let mut store = opened(&database);
    let lease = acquired(&mut store);
    database.ask(
        "SELECT mainspring.submit('{\"process\": {\"run\": [\"A\"]}}', key => 'a'),
            mainspring.submit('{\"process\": {\"run\": [\"B\"]}}', key => 'a')",
    );
    let mut once = Once::new(
        OnceId { due: at(60), number: 1 },
        at(0),
        Work::new(Action::new("process", "{\"run\": [\"A\"]}").unwrap()),
    );
    once.key = Some("a".to_owned());
    assert_eq!(tried(&mut store, lease, &Batch::new(1, vec![Operation::Submit(once)])), [Answer::New]);
    let left = "SELECT string_agg(request::jsonb -> 'process' -> 'run' ->> 0, ' ') FROM mainspring.inbox";
    assert_eq!(database.ask(left), "B", "other work stays, for the server to refuse");
}

#[test]
fn a_submission_by_sql_with_an_empty_key_or_two_kinds_of_work_fails_at_once() {
    let Some(database) = Database::start() else { return };
    drop(opened(&database));
    for (arguments, words) in [
        ("'{\"process\": {}}', key => ''", "the key is empty"),
        ("'{\"process\": {}, \"webhook\": {}}', key => 'a'", "with one of"),
        ("'{}'", "a process, a webhook, a handler"),
        ("'{\"process\": {}, \"handler\": {}}'", "with one of"),
        ("'[]'", "the work is an object"),
        ("'{\"handler\": {}}', due => 'infinity'", "the time is a moment"),
    ] {
        let output = database.psql("mainspring", &format!("SELECT mainspring.submit({arguments})"));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(words), "{arguments}: {error}");
    }
    assert_eq!(database.ask("SELECT count(*) FROM mainspring.inbox"), "0");
}
