//! Each call that the guide translates does what it says on an engine that has been up for hours: nothing
//! counts from the engine's start where a program means now.

use std::cell::RefCell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use mainspring::front::{Interval, MissedTicks, Repeat};
use mainspring::{Simulation, Tick};

use crate::desk::ms;

/// How long the engine has been up, in ticks of a millisecond.
const UPTIME: u64 = 5 * 3_600_000;

/// A simulation whose engine has been up for a while.
fn old_simulation() -> Simulation {
    let simulation = Simulation::new();
    simulation.advance_to(Tick::new(UPTIME));
    simulation
}

/// The ticks after now at which something that is looked at each millisecond tells of itself, and how often.
fn times(simulation: &Simulation, span: u64, mut look: impl FnMut() -> u64) -> Vec<(u64, u64)> {
    let start = simulation.clock().clone();
    let start = mainspring::clock::Clock::now(&start);
    let mut times = Vec::new();
    for passed in 0..=span {
        simulation.advance_to(start.after(passed));
        let count = look();
        if 0 < count {
            times.push((passed, count));
        }
    }
    times
}

/// How many ticks an interval has ready.
fn ready_count(interval: &mut Interval) -> u64 {
    let mut context = Context::from_waker(Waker::noop());
    let mut count = 0;
    while interval.poll_tick(&mut context).is_ready() {
        count += 1;
    }
    count
}

#[test]
fn an_interval_ticks_at_once_and_then_a_period_apart_from_now() {
    for missed in [MissedTicks::Burst, MissedTicks::Delay, MissedTicks::Skip] {
        let simulation = old_simulation();
        let futures = simulation.engine().futures();
        let mut at_once = futures.interval(ms(10)).unwrap().with_missed_ticks(missed);
        let expected = [(0, 1), (10, 1), (20, 1), (30, 1)];
        assert_eq!(times(&simulation, 35, || ready_count(&mut at_once)), expected, "{missed:?}");
        let mut after = futures.interval_after(ms(10)).unwrap().with_missed_ticks(missed);
        assert_eq!(times(&simulation, 35, || ready_count(&mut after)), expected[1..], "{missed:?}");
        let now = UPTIME + 70;
        let mut at = futures.interval_at(Tick::new(now + 5), ms(10)).unwrap().with_missed_ticks(missed);
        assert_eq!(times(&simulation, 25, || ready_count(&mut at)), [(5, 1), (15, 1), (25, 1)], "{missed:?}");
        at.reset();
        assert_eq!(times(&simulation, 25, || ready_count(&mut at)), [(10, 1), (20, 1)], "{missed:?}");
        at.reset_immediately();
        assert_eq!(times(&simulation, 15, || ready_count(&mut at)), [(0, 1), (10, 1)], "{missed:?}");
        at.reset_after(ms(3));
        assert_eq!(times(&simulation, 15, || ready_count(&mut at)), [(3, 1), (13, 1)], "{missed:?}");
    }
}

#[test]
fn what_is_asked_for_after_a_delay_comes_a_delay_from_now_on_every_front() {
    let simulation = old_simulation();
    let engine = simulation.engine();
    let mut context = Context::from_waker(Waker::noop());
    let (futures, channels, callbacks) = (engine.futures(), engine.channels(), engine.callbacks());
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = || {
        let runs = std::sync::Arc::clone(&runs);
        move || _ = runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    };
    let mut take = || runs.swap(0, std::sync::atomic::Ordering::Relaxed);

    let run = count();
    callbacks.after(ms(7), move |_| run()).unwrap();
    assert_eq!(times(&simulation, 20, &mut take), [(7, 1)], "after");
    let run = count();
    let every = callbacks.every(ms(7), move |_| run()).unwrap();
    assert_eq!(times(&simulation, 20, &mut take), [(7, 1), (14, 1)], "every");
    every.cancel();
    let run = count();
    let next = |last: Tick| (last.get() < UPTIME + 1_000).then(|| last.after(7));
    let following = callbacks.following(next, move |_| run()).unwrap();
    assert_eq!(times(&simulation, 20, &mut take), [(7, 1), (14, 1)], "following");
    following.cancel();
    let (tasks, run) = (engine.keyed(), count());
    tasks.schedule("task", ms(7), Repeat::Forever, move |_| run()).unwrap();
    assert_eq!(times(&simulation, 20, &mut take), [(7, 1), (14, 1)], "keyed");
    tasks.clear();
    let run = count();
    let _function = channels.after_func(ms(7), move |_| run()).unwrap();
    assert_eq!(times(&simulation, 20, &mut take), [(7, 1)], "after_func");

    let timer = channels.timer(ms(7)).unwrap();
    assert_eq!(times(&simulation, 20, || timer.receiver().try_iter().count() as u64), [(7, 1)], "timer");
    let ticker = channels.ticker(ms(7)).unwrap();
    let sent = times(&simulation, 20, || ticker.receiver().try_iter().count() as u64);
    assert_eq!(sent, [(7, 1), (14, 1)], "ticker");
    let queue = engine.delay_queue();
    queue.put("key", 1, ms(7)).unwrap();
    assert_eq!(times(&simulation, 20, || u64::from(queue.try_recv().is_some())), [(7, 1)], "delay queue");
    let mailboxes = engine.mailboxes();
    let (service, mailbox) = mailboxes.register();
    mailboxes.timeout(ms(7), service, 1).unwrap();
    mailboxes.timeout_ticks(9, service, 2).unwrap();
    mailboxes.timeout(Duration::ZERO, service, 3).unwrap();
    let sent = times(&simulation, 20, || mailbox.try_iter().count() as u64);
    assert_eq!(sent, [(0, 1), (7, 1), (9, 1)], "mailbox");

    let sleep = RefCell::new(Box::pin(futures.sleep(ms(7))));
    let first =
        times(&simulation, 20, || u64::from(sleep.borrow_mut().as_mut().poll(&mut context).is_ready()));
    assert_eq!(first.first(), Some(&(7, 1)), "sleep");
    let mut timeout = pin!(futures.timeout(ms(7), std::future::pending::<()>()));
    let mut is_over = false;
    let over = times(&simulation, 20, || {
        is_over = is_over
            || matches!(timeout.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(_));
        u64::from(is_over)
    });
    assert_eq!(over.first(), Some(&(7, 1)), "timeout");
}
