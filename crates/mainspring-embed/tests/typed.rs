//! Handlers that know the type of their payload, and payloads that a handler cannot read.

use mainspring_embed::{Error, Handler, ManualClock, Run};
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Email {
    to: String,
}

const SEND: Handler<Email> = Handler::new("send");
const COUNT: Handler<u32> = Handler::new("count");

fn email() -> Email {
    Email { to: "ada".to_owned() }
}

#[test]
fn a_key_is_its_handlers() {
    let jobs = Jobs::open(folder("typed-keys"))
        .unwrap()
        .handler(SEND.with(|options| options.retry(3)), |_: &Run, _: Email| -> Done { Ok(()) })
        .handler(COUNT, |_: &Run, _: u32| -> Done { Ok(()) })
        .start()
        .unwrap();
    let first = jobs.once(SEND).key("17").after(LONG).payload(&email()).submit().unwrap();
    let other = jobs.once(COUNT).key("17").after(LONG).payload(&3).submit().unwrap();
    assert!(first.is_new && other.is_new && first.name != other.name);
    let again = jobs.once(SEND).key("17").after(LONG).payload(&email()).submit().unwrap();
    assert!(!again.is_new);
    assert_eq!((again.id, again.name), (first.id, first.name), "a duplicate names the first");
}

#[test]
fn a_payload_that_the_handler_cannot_read_is_refused_and_nothing_is_submitted() {
    let jobs = Jobs::open(folder("typed-refused"))
        .unwrap()
        .handler(SEND, |_: &Run, _: Email| -> Done { Ok(()) })
        .handler("ping", |_: &Run, (): ()| -> Done { Ok(()) })
        .start()
        .unwrap();
    for refused in [jobs.once("send").payload(&17).submit(), jobs.once("send").submit()] {
        let Err(Error::Unreadable { handler, reason }) = &refused else { panic!("{refused:?}") };
        assert_eq!(handler, "send");
        assert!(reason.starts_with("the payload of version 0 cannot be read: "), "{reason}");
    }
    assert!(jobs.once("ping").payload("text").submit().is_err());
    assert_eq!((jobs.waiting(10).unwrap(), jobs.runs(10).unwrap()), (Vec::new(), Vec::new()));
    assert!(jobs.submit(SEND, &email()).unwrap().is_new);
}

#[test]
fn what_waits_and_the_next_version_could_not_read_is_found_before_a_deploy() {
    let folder = folder("typed-deploy");
    let jobs = Jobs::open(&folder)
        .unwrap()
        .handler("count", |_: &Run, _: String| -> Done { Ok(()) })
        .handler("send", |_: &Run, _: Email| -> Done { Ok(()) })
        .handler("gone", |_: &Run, _: Email| -> Done { Ok(()) })
        .start()
        .unwrap();
    let bad = jobs.once("count").name("late").after(LONG).payload("three").submit().unwrap();
    jobs.once("count").after(LONG).payload("4").submit().unwrap();
    jobs.once("send").after(LONG).payload(&email()).submit().unwrap();
    jobs.once("gone").after(LONG).payload(&email()).submit().unwrap();
    jobs.shutdown(LONG).unwrap();
    drop(jobs);
    // Here the number is a number; and the same with what makes one of the text.
    let next = Jobs::open(&folder).unwrap().handler(SEND, |_: &Run, _: Email| -> Done { Ok(()) });
    let next = next.handler(COUNT, |_: &Run, _: u32| -> Done { Ok(()) }).start().unwrap();
    let unreadable = next.check_payloads().unwrap();
    assert_eq!(unreadable.len(), 2, "{unreadable:?}");
    assert!(unreadable.iter().any(|it| Some(&it.name) == bad.name.as_ref() && it.handler == "count"));
    next.shutdown(LONG).unwrap();
    drop(next);
    let upgraded = COUNT.with(|options| {
        options.version(1).upgrade(|_, value| {
            let text = value.as_str().unwrap_or_default();
            Ok(text.parse::<u32>().map_err(mainspring_embed::HandlerError::because)?.into())
        })
    });
    let next = Jobs::open(&folder).unwrap().handler(upgraded, |_: &Run, _: u32| -> Done { Ok(()) });
    let unreadable = next.start().unwrap().check_payloads().unwrap();
    let names: Vec<_> = unreadable.iter().map(|it| Some(&it.name)).collect();
    assert_eq!(names, [bad.name.as_ref()], "the four is a number now");
}

#[tokio::test]
async fn a_simulated_handler_may_wait_for_the_runtime_of_the_test() {
    let clock = ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap());
    let jobs = Jobs::simulated(&clock)
        .spawner(|_| unreachable!("a simulation polls by itself"))
        .async_handler(COUNT, |_: Run, count: u32| async move {
            tokio::time::sleep(Duration::from_millis(u64::from(count))).await;
            tokio::task::yield_now().await;
            Ok::<(), String>(())
        })
        .start()
        .unwrap();
    let submitted = jobs.submit(COUNT, &3).unwrap();
    clock.advance_async(Duration::ZERO).await;
    assert_eq!(jobs.runs_of(submitted.job(), 1).unwrap()[0].state, RunState::Succeeded);
}
