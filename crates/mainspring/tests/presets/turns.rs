//! Timers scheduled for the past, and at the end of time, on each preset.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mainspring::clock::Manual;
use mainspring::{Handle, Task, preset};
use mainspring_queue::Tick;

use super::{ENGINES, PATIENCE, Start};

/// Schedules itself for the past until `is_over` tells it to end.
fn go_round(handle: &Handle, is_over: Arc<AtomicBool>) {
    if !is_over.load(Ordering::SeqCst) {
        let again = handle.clone();
        let task = Task::new(move |_| go_round(&again, is_over));
        // A refusal is the engine's end.
        drop(handle.schedule_at(Tick::ZERO, task));
    }
}

#[test]
fn what_is_scheduled_for_the_past_in_a_turn_keeps_nothing_else_from_firing() {
    for (name, start) in ENGINES {
        let clock = Manual::stepped();
        let engine = start(Arc::new(clock.clone()));
        let is_over = Arc::<AtomicBool>::default();
        let (sender, fired) = channel();
        let (handle, over) = (engine.handle().clone(), Arc::clone(&is_over));
        let first = Task::new(move |_| go_round(&handle, over));
        engine.handle().schedule_at(Tick::new(99), first).unwrap();
        let other = Task::new(move |_| sender.send(()).unwrap());
        engine.handle().schedule_at(Tick::new(100), other).unwrap();
        clock.advance_to(Tick::new(100));
        // Of several workers another may have it, which is there when the machine has a processor for it.
        let has_fired = fired.recv_timeout(PATIENCE);
        is_over.store(true, Ordering::SeqCst);
        assert!(has_fired.is_ok(), "{name}: it waits behind what is scheduled for the past");
    }
}

#[test]
fn what_is_pending_at_the_end_of_time_fires_there() {
    let more: [(&str, Start); 3] = [
        ("kafka, 7", |clock| preset::kafka_with(clock, 7, 20).unwrap()),
        ("rounds_wheel, 7", |clock| preset::rounds_wheel(clock, 60, 7).unwrap()),
        ("mainspring", |clock| preset::mainspring_on(clock).unwrap()),
    ];
    for (name, start) in ENGINES.into_iter().chain(more) {
        let clock = Manual::stepped();
        let last = Tick::MAX.get();
        clock.advance_to(Tick::new(last - 12));
        let engine = start(Arc::new(clock.clone()));
        let (sender, fired) = channel();
        for deadline in [last - 8, last - 1, last, last] {
            let sender = sender.clone();
            let task = Task::new(move |firing| sender.send(firing.now).unwrap());
            let scheduled = engine.handle().schedule_at(Tick::new(deadline), task);
            assert!(scheduled.is_ok(), "{name}: {deadline}");
        }
        for tick in [last - 7, last - 1, last] {
            clock.advance_to(Tick::new(tick));
        }
        for _ in 0..4 {
            let now = fired.recv_timeout(PATIENCE);
            assert!(now.is_ok(), "{name}: {now:?}");
        }
    }
}

#[test]
fn what_alone_is_pending_at_the_end_of_time_fires_there() {
    // Long enough for the threads to go to sleep, as a rule: if they do not, less is tested.
    const NAP: Duration = Duration::from_millis(20);
    for (name, start) in ENGINES {
        let clock = Manual::stepped();
        clock.advance_to(Tick::new(Tick::MAX.get() - 1));
        let engine = start(Arc::new(clock.clone()));
        let (sender, fired) = channel();
        assert!(fired.recv_timeout(NAP).is_err());
        let task = Task::new(move |firing| sender.send(firing.now).unwrap());
        engine.handle().schedule_at(Tick::MAX, task).unwrap();
        assert_eq!(fired.recv_timeout(NAP), Err(RecvTimeoutError::Timeout), "{name}: never early");
        clock.advance_to(Tick::MAX);
        assert_eq!(fired.recv_timeout(PATIENCE), Ok(Tick::MAX), "{name}");
    }
}
