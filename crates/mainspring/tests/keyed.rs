//! The keyed front: the behaviours of the wheel with virtual levels.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mainspring::clock::Manual;
use mainspring::driver::{Refusal, Single};
use mainspring::front::KeyedTasks;
use mainspring::front::keyed_tasks::Repeat;
use mainspring::front::{Firing, RunTasks, Task};
use mainspring::{Handle, Simulation};
use mainspring_queue::Tick;
use mainspring_queue::wheel::Rounds;

/// Tasks over a wheel of 60 slots, a second each, as in the article; what ran is written down.
struct Desk {
    driver: Arc<Single<Rounds<Task>>>,
    handle: Handle<Task>,
    tasks: KeyedTasks<&'static str>,
    runs: Arc<Mutex<Vec<(&'static str, u64)>>>,
}

impl Desk {
    fn new() -> Desk {
        let clock = Manual::leaping_by(Duration::from_secs(1));
        let driver = Arc::new(Single::new(Rounds::new(60, 1), Arc::new(clock)));
        let handle = Handle::new(driver.clone());
        Desk { driver, tasks: KeyedTasks::new(handle.clone()), handle, runs: Arc::default() }
    }

    fn schedule(&self, key: &'static str, seconds: u64, count: i64) -> Result<bool, Refusal> {
        let runs = Arc::clone(&self.runs);
        let run = move |firing: Firing| runs.lock().unwrap().push((key, firing.now.get()));
        self.tasks.schedule(key, Duration::from_secs(seconds), Repeat::from_count(count), run)
    }

    /// What ran until a second.
    fn runs_until(&self, second: u64) -> Vec<(&'static str, u64)> {
        self.driver.run_until(Tick::new(second), &mut RunTasks);
        std::mem::take(&mut self.runs.lock().unwrap())
    }
}

fn find(desk: &Desk, key: &'static str) -> Option<(Tick, Repeat)> {
    desk.tasks.find(&key).map(|found| (found.deadline, found.repeat))
}

#[test]
fn a_task_that_is_reset_runs_later_and_keeps_its_period_and_count() {
    let desk = Desk::new();
    desk.schedule("task", 100, 2).unwrap();
    assert_eq!(desk.runs_until(90), []);
    assert!(desk.tasks.reset(&"task", Duration::from_secs(50)));
    assert_eq!(find(&desk, "task"), Some((Tick::new(140), Repeat::Times(2))));
    assert_eq!(desk.runs_until(300), [("task", 140), ("task", 240)]);
    assert!(!desk.tasks.reset(&"task", Duration::from_secs(50)), "it is gone");
}

#[test]
fn a_task_runs_as_often_as_its_count_says_and_its_key_is_free_then() {
    let desk = Desk::new();
    desk.schedule("three", 100, 3).unwrap();
    assert_eq!(find(&desk, "three"), Some((Tick::new(100), Repeat::Times(3))));
    assert_eq!(desk.runs_until(250), [("three", 100), ("three", 200)]);
    assert_eq!(find(&desk, "three"), Some((Tick::new(300), Repeat::Times(1))));
    assert_eq!(desk.runs_until(1_000), [("three", 300)]);
    assert_eq!(desk.tasks.find(&"three"), None);
    assert_eq!(desk.handle.pending_count(), 0);
}

#[test]
fn a_negative_count_is_endless() {
    let desk = Desk::new();
    desk.schedule("endless", 7, -1).unwrap();
    assert_eq!(desk.runs_until(7_000).len(), 1_000);
    assert!(desk.tasks.remove(&"endless"));
    assert!(!desk.tasks.remove(&"endless"));
    assert_eq!(desk.runs_until(8_000), []);
}

#[test]
fn a_count_of_zero_never_runs_and_clears_the_key() {
    let desk = Desk::new();
    desk.schedule("key", 5, 1).unwrap();
    assert_eq!(desk.schedule("key", 5, 0), Ok(true));
    assert!(desk.tasks.is_empty());
    assert_eq!(desk.runs_until(100), []);
}

#[test]
fn scheduling_under_a_key_replaces_what_is_there() {
    let desk = Desk::new();
    assert_eq!(desk.schedule("key", 10, -1), Ok(false));
    assert_eq!(desk.schedule("key", 25, 1), Ok(true));
    assert_eq!((desk.tasks.len(), desk.handle.pending_count()), (1, 1));
    assert_eq!(desk.runs_until(100), [("key", 25)]);
}

#[test]
fn a_delay_of_zero_cannot_repeat() {
    let desk = Desk::new();
    assert_eq!(desk.schedule("key", 0, -1), Err(Refusal::ZeroPeriod));
    assert_eq!(desk.schedule("key", 0, 1), Ok(false));
    assert_eq!(desk.runs_until(0), [("key", 0)]);
}

#[test]
fn a_task_may_replace_and_remove_itself() {
    let desk = Desk::new();
    let tasks = desk.tasks.clone();
    let runs = Arc::clone(&desk.runs);
    desk.tasks
        .schedule("key", Duration::from_secs(10), Repeat::Forever, move |firing| {
            runs.lock().unwrap().push(("first", firing.now.get()));
            let (inner, runs) = (tasks.clone(), Arc::clone(&runs));
            let second = move |firing: Firing| {
                runs.lock().unwrap().push(("second", firing.now.get()));
                assert!(inner.remove(&"key"));
            };
            assert_eq!(tasks.schedule("key", Duration::from_secs(5), Repeat::Forever, second), Ok(true));
        })
        .unwrap();
    assert_eq!(desk.runs_until(100), [("first", 10), ("second", 15)]);
    assert_eq!(desk.handle.pending_count(), 0);
}

#[test]
fn when_the_front_is_dropped_its_tasks_end() {
    let Desk { driver, tasks, runs, .. } = {
        let desk = Desk::new();
        desk.schedule("key", 10, -1).unwrap();
        desk
    };
    drop(tasks);
    driver.run_until(Tick::new(100), &mut RunTasks);
    assert!(runs.lock().unwrap().is_empty());
}

#[test]
fn a_task_is_found_by_what_its_key_borrows_as() {
    let simulation = Simulation::new();
    let tasks: KeyedTasks<String> = KeyedTasks::new(simulation.engine().handle().clone());
    tasks.schedule("a name".to_owned(), Duration::from_secs(1), Repeat::Forever, |_| ()).unwrap();
    assert!(tasks.reset("a name", Duration::from_secs(5)));
    assert_eq!(tasks.find("a name").map(|task| task.deadline), Some(Tick::new(5_000)));
    assert_eq!([tasks.remove("a name"), tasks.remove("a name")], [true, false]);
}

#[test]
fn the_errors_of_all_fronts_meet_by_a_question_mark() {
    fn all(engine: &mainspring::Engine, period: Duration) -> Result<(), Refusal> {
        let mailboxes = engine.mailboxes();
        let (service, _mailbox) = mailboxes.register();
        mailboxes.timeout(Duration::from_secs(1), service, 7)?;
        engine.callbacks().after(period, |_| ())?;
        engine.delay_queue().put((), (), period)?;
        engine.handle().schedule_after(period, Task::new(|_| ()))?;
        engine.callbacks().every(period, |_| ())?;
        Ok(())
    }
    let simulation = Simulation::new();
    let engine = simulation.engine();
    assert_eq!(all(engine, Duration::ZERO), Err(Refusal::ZeroPeriod));
    assert_eq!(all(engine, Duration::from_secs(1)), Ok(()));
    engine.shutdown();
    assert_eq!(all(engine, Duration::from_secs(1)), Err(Refusal::Stopped));
}

#[test]
fn the_timers_of_tasks_end_with_the_last_clone_of_their_front() {
    let desk = Desk::new();
    desk.schedule("one", 100, 1).unwrap();
    desk.schedule("two", 100, -1).unwrap();
    let Desk { handle, tasks, .. } = desk;
    drop(tasks.clone());
    assert_eq!(handle.pending_count(), 2);
    drop(tasks);
    assert_eq!(handle.pending_count(), 0);
}
