//! Discards beside all else that asks for a timer, run through every interleaving: firings, resets, additions
//! to a full queue, counts, a shutdown, and other discards.
//!
//! In each model what was discarded is gone when the call has returned, and each timer leaves its queue once:
//! it fired, it was cancelled, or it is handed back.

use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use mainspring::TimerId;
use mainspring::clock::Manual;
use mainspring::driver::{Driver, FiredTimer, Single, Timers};
use mainspring_queue::{LimitedQueue, Naive, Tick, TimerQueue};

use super::bounded;

/// Marks of the firings, a decimal digit for each payload: 1, 10, 100.
type Marks = Arc<AtomicUsize>;

/// A driver at tick 0, and what has fired.
struct Desk<Q> {
    driver: Arc<Single<Q>>,
    marks: Marks,
}

impl<Q: TimerQueue<usize> + Send + 'static> Desk<Q> {
    fn new(queue: Q) -> Desk<Q> {
        Desk { driver: Arc::new(Single::new(queue, Manual::stepped())), marks: Marks::default() }
    }

    fn schedule(&self, mark: usize) -> TimerId {
        self.driver.schedule(Tick::ZERO, mark).unwrap()
    }

    /// Starts a thread that fires until nothing is pending.
    fn fire(&self) -> thread::JoinHandle<()> {
        let (driver, marks) = (Arc::clone(&self.driver), Arc::clone(&self.marks));
        thread::spawn(move || {
            driver.run_until_idle(&mut |fired: FiredTimer<usize>| {
                _ = marks.fetch_add(fired.payload, Ordering::SeqCst)
            });
        })
    }

    /// Starts a thread that discards a timer.
    fn discard_on_a_thread(&self, id: TimerId, mark: usize) -> thread::JoinHandle<bool> {
        let (driver, marks) = (Arc::clone(&self.driver), Arc::clone(&self.marks));
        thread::spawn(move || discard(&driver, &marks, id, mark))
    }

    /// Checks the sums when all threads have ended.
    fn check(&self, scheduled: u64) {
        let counts = Timers::<usize>::counts(&*self.driver);
        let marks = self.marks.load(Ordering::SeqCst);
        let fired: usize = [1, 10, 100].into_iter().map(|mark| marks / mark % 10).sum();
        assert_eq!(counts.fired, fired as u64);
        assert_eq!(counts.scheduled, scheduled);
        let pending = Timers::<usize>::len(&*self.driver) as u64;
        assert_eq!(counts.fired + counts.cancelled + pending, scheduled);
    }
}

/// Discards a timer, which is gone from then on; returns whether it has fired, which is settled.
fn discard<Q: TimerQueue<usize> + Send>(driver: &Single<Q>, marks: &Marks, id: TimerId, mark: usize) -> bool {
    driver.cancel(id);
    assert_eq!(driver.deadline(id), None);
    assert!(driver.reset(id, Tick::ZERO).is_err());
    assert!(driver.cancel(id).is_none());
    // A firing that had begun may go on.
    driver.wait_for_firing(id);
    has_fired(marks, mark)
}

fn has_fired(marks: &Marks, mark: usize) -> bool {
    marks.load(Ordering::SeqCst) / mark % 10 == 1
}

#[test]
fn a_timer_is_fired_or_discarded_and_never_both() {
    bounded(|| {
        let desk = Desk::new(Naive::new());
        let id = desk.schedule(1);
        let runner = desk.fire();
        let has_fired_before = discard(&desk.driver, &desk.marks, id, 1);
        runner.join().unwrap();
        desk.check(1);
        assert_eq!(has_fired(&desk.marks, 1), has_fired_before);
        assert_eq!(Timers::<usize>::len(&*desk.driver), 0);
    });
}

#[test]
fn two_that_discard_and_one_that_fires_settle_each_timer_once() {
    bounded(|| {
        let desk = Desk::new(Naive::new());
        let ids = [desk.schedule(1), desk.schedule(10)];
        let other = desk.discard_on_a_thread(ids[1], 10);
        let runner = desk.fire();
        let before = [discard(&desk.driver, &desk.marks, ids[0], 1), other.join().unwrap()];
        runner.join().unwrap();
        desk.check(2);
        assert_eq!(
            [1, 10].map(|mark| has_fired(&desk.marks, mark)),
            before,
            "nothing fires after its discard"
        );
        assert_eq!(Timers::<usize>::len(&*desk.driver), 0);
    });
}

#[test]
fn two_that_discard_one_timer_count_it_once() {
    bounded(|| {
        let desk = Desk::new(Naive::new());
        let id = desk.schedule(1);
        let others = [desk.discard_on_a_thread(id, 1), desk.discard_on_a_thread(id, 1)];
        others.into_iter().for_each(|other| assert!(!other.join().unwrap()));
        assert_eq!(Timers::<usize>::counts(&*desk.driver).cancelled, 1);
        desk.check(1);
    });
}

#[test]
fn what_is_discarded_is_not_moved_and_what_was_moved_is_discarded() {
    bounded(|| {
        let desk = Desk::new(Naive::new());
        let id = desk.schedule(1);
        let runner = desk.fire();
        let driver = Arc::clone(&desk.driver);
        let mover = thread::spawn(move || driver.reset(id, Tick::ZERO).is_ok());
        let has_fired_before = discard(&desk.driver, &desk.marks, id, 1);
        let is_moved = mover.join().unwrap();
        runner.join().unwrap();
        desk.check(1);
        assert_eq!(has_fired(&desk.marks, 1), has_fired_before);
        assert_eq!(Timers::<usize>::counts(&*desk.driver).reset, u64::from(is_moved));
    });
}

#[test]
fn whoever_has_discarded_finds_room_in_a_full_queue() {
    bounded(|| {
        let desk = Desk::new(LimitedQueue::new(Naive::new(), 2));
        let ids = [desk.schedule(1), desk.schedule(10)];
        let runner = desk.fire();
        let driver = Arc::clone(&desk.driver);
        let other = thread::spawn(move || {
            driver.cancel(ids[1]);
            driver.schedule(Tick::ZERO, 10).unwrap();
        });
        desk.driver.cancel(ids[0]);
        desk.driver.schedule(Tick::ZERO, 1).unwrap();
        other.join().unwrap();
        runner.join().unwrap();
        // What came after the last was gone fires here.
        desk.fire().join().unwrap();
        desk.check(4);
        assert_eq!(Timers::<usize>::len(&*desk.driver), 0);
    });
}

#[test]
fn what_is_discarded_is_dropped_once_while_others_count_and_schedule() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Manual::stepped()));
        let token = Arc::new(());
        let discarded = driver.schedule(Tick::new(7), Arc::clone(&token)).unwrap();
        let runner = thread::spawn({
            let driver = Arc::clone(&driver);
            move || driver.run(&mut |_: FiredTimer<Arc<()>>| driver.stop())
        });
        let scheduler = thread::spawn({
            let (driver, token) = (Arc::clone(&driver), Arc::clone(&token));
            move || {
                driver.schedule(Tick::ZERO, token).unwrap();
                assert!(Timers::<Arc<()>>::len(&*driver) <= 2);
            }
        });
        driver.cancel(discarded);
        scheduler.join().unwrap();
        runner.join().unwrap();
        let counts = Timers::<Arc<()>>::counts(&*driver);
        assert_eq!((counts.fired, counts.cancelled, Timers::<Arc<()>>::len(&*driver)), (1, 1, 0));
        drop(driver.shutdown());
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

#[test]
fn a_shutdown_hands_back_what_was_not_discarded() {
    bounded(|| {
        let driver = Arc::new(Single::new(Naive::new(), Manual::stepped()));
        let token = Arc::new(());
        let ids = [(); 2].map(|()| driver.schedule(Tick::new(7), Arc::clone(&token)).unwrap());
        let others = ids.map(|id| {
            let driver = Arc::clone(&driver);
            thread::spawn(move || _ = driver.cancel(id))
        });
        let unfired = driver.shutdown();
        others.into_iter().for_each(|other| other.join().unwrap());
        let cancelled = Timers::<Arc<()>>::counts(&*driver).cancelled;
        assert_eq!(unfired.len() as u64 + cancelled, 2);
        drop(unfired);
        assert_eq!(Arc::strong_count(&token), 1);
    });
}
