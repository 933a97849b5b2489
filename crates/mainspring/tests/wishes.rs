//! Wishes of users of other timers: tolerances, streams of occurrences, metrics, tokio's clock.

use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use jiff::Timestamp;
use mainspring::clock::wall::ManualWall;
use mainspring::clock::{Clock, Manual, Tokio};
use mainspring::driver::Driver;
use mainspring::front::keyed_tasks::Repeat;
use mainspring::front::{
    Callbacks, Channels, DelayQueue, Futures, KeyedTasks, Mailboxes, Occurrences, RunTasks, Task,
};
use mainspring::preset;
use mainspring_cron::Schedule;
use mainspring_queue::wheel::Chunked;

use crate::desk::{Desk, ms};

#[test]
fn every_face_shares_wakeups_within_a_tolerance() {
    let desk = Desk::new();
    desk.pass_until(1_001);
    let within = desk.handle.tick_within(ms(100), ms(100));
    assert!((1_101..=1_201).contains(&within.get()));
    assert_ne!(within.get(), 1_101, "there is a rounder one");
    let timer = Callbacks::new(desk.handle.clone()).within(ms(100), ms(100), |_| ()).unwrap();
    assert_eq!(timer.deadline(), Some(within));
    assert_eq!(desk.futures.sleep_within(ms(100), ms(100)).deadline(), within);
    let mut timeout = desk.futures.timeout_within(ms(100), ms(100), std::future::pending::<()>());
    assert_eq!(timeout.sleep_mut().deadline(), within);
    let tasks = KeyedTasks::new(desk.handle.clone());
    tasks.schedule_within("task", ms(100), ms(100), Repeat::Times(2), |_| ()).unwrap();
    assert_eq!(tasks.find(&"task").map(|task| task.deadline), Some(within));
    let timer = Channels::new(desk.handle.clone()).timer_within(ms(100), ms(100)).unwrap();
    let mailboxes = Mailboxes::new(desk.handle.clone());
    let (service, mailbox) = mailboxes.register();
    mailboxes.timeout_within(ms(100), ms(100), service, 7).unwrap();
    let items = DelayQueue::new(desk.handle.clone());
    items.put_within("key", 7, ms(100), ms(100)).unwrap();
    desk.pass_until(within.get() - 1);
    assert_eq!(items.len(), 1);
    assert!(timer.receiver().try_recv().is_err());
    assert!(mailbox.try_recv().is_err());
    desk.pass_until(within.get());
    assert_eq!(timer.receiver().try_recv().map(|firing| firing.now), Ok(within));
    assert_eq!(mailbox.try_recv().map(|message| message.now), Ok(within));
    assert_eq!(items.try_recv(), Some(("key", 7)));
}

#[test]
fn the_future_of_a_timeout_is_lent_and_given_back() {
    let desk = Desk::new();
    let mut timeout = desk.futures.timeout(ms(10), std::future::ready(7));
    assert_eq!(desk.poll(timeout.get_mut()), Poll::Ready(7));
    let _: &std::future::Ready<i32> = timeout.get_ref();
    assert_eq!(
        desk.poll(desk.futures.timeout(ms(10), std::future::ready(7)).into_inner().as_mut()),
        Poll::Ready(7)
    );
}

#[test]
fn an_engine_tells_what_it_did_as_open_metrics() {
    let engine = preset::mainspring_on(Manual::stepped()).unwrap();
    let _timer = engine.callbacks().after(ms(5), |_| ()).unwrap();
    let text = engine.open_metrics();
    for line in [
        "# TYPE mainspring_timers_scheduled counter",
        "mainspring_timers_scheduled_total 1",
        "mainspring_timers_pending 1",
        "# TYPE mainspring_lateness_seconds summary",
        "mainspring_lateness_seconds{quantile=\"0.99\"} 0",
        "mainspring_lateness_seconds_count 0",
    ] {
        assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn occurrences_of_a_schedule_are_a_stream() {
    let desk = Desk::new();
    let start: Timestamp = "2026-01-01T00:00:30Z".parse().unwrap();
    let wall = ManualWall::new(desk.clock.clone(), start);
    let schedule = Schedule::parse("*/5 * * * *", "UTC").unwrap();
    let mut occurrences = Occurrences::with_wall(desk.handle.clone(), wall, schedule);
    assert_eq!(
        occurrences.next_run().map(|next| next.timestamp().to_string()),
        Some("2026-01-01T00:05:00Z".into())
    );
    let mut pass = |seconds: i64| {
        let end = desk.clock.now().after(seconds as u64 * 1_000);
        desk.driver.run_until(end, &mut RunTasks);
        desk.poll(pin!(occurrences.next_occurrence()))
            .map(|it| it.map(|it| (it.nominal.timestamp().to_string(), it.missed_count)))
    };
    assert_eq!(pass(0), Poll::Pending);
    assert_eq!(pass(269), Poll::Pending);
    assert_eq!(pass(1), Poll::Ready(Some(("2026-01-01T00:05:00Z".into(), 0))));
    assert_eq!(pass(901), Poll::Ready(Some(("2026-01-01T00:20:00Z".into(), 2))));
    assert_eq!(pass(0), Poll::Pending);
    drop(Driver::<Task>::shutdown(&*desk.driver));
    assert_eq!(pass(0), Poll::Ready(None), "it ends with its engine");
}

#[test]
fn a_schedule_without_occurrences_is_an_empty_stream() {
    let desk = Desk::new();
    let schedule = Schedule::parse("0 0 30 2 *", "UTC").unwrap();
    let mut occurrences = Occurrences::new(desk.handle.clone(), schedule);
    assert!(matches!(desk.poll(pin!(occurrences.next_occurrence())), Poll::Ready(None)));
}

#[test]
fn an_engine_follows_a_tokio_clock_that_is_paused_and_advanced() {
    assert!(Tokio::current().is_err(), "there is no runtime here");
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let clock = Tokio::current().unwrap();
        let engine = preset::callbacks(Chunked::new(), clock).unwrap();
        let futures = Futures::new(engine.handle().clone());
        let hour = Duration::from_secs(3_600);
        let start = tokio::time::Instant::now();
        // Nothing else happens in the runtime: its clock goes to the engine's timer.
        futures.sleep(hour).await;
        assert!(hour <= start.elapsed());
        let mut sleep = pin!(futures.sleep(hour));
        assert!(futures_poll(sleep.as_mut()).await.is_pending());
        tokio::time::advance(hour).await;
        assert!(futures_poll(sleep.as_mut()).await.is_ready());
    });
}

async fn futures_poll<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await
}

#[test]
fn clearing_tasks_under_keys_leaves_the_engine_running() {
    let desk = Desk::new();
    let tasks = KeyedTasks::new(desk.handle.clone());
    for key in 0..3 {
        tasks.schedule(key, ms(10), Repeat::Forever, |_| ()).unwrap();
    }
    assert_eq!((tasks.clear(), tasks.len(), desk.handle.pending_count()), (3, 0, 0));
    assert_eq!(tasks.schedule(1, ms(10), Repeat::Times(1), |_| ()), Ok(false));
}
