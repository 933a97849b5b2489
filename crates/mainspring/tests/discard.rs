//! A thread that discards timers waits for nobody, and what it discards is dropped where that harms nobody:
//! tried against queues that keep their driver's lock for as long as the test likes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use jiff::tz::TimeZone;
use mainspring::clock::Manual;
use mainspring::clock::wall::ManualWall;
use mainspring::driver::{Fire, Fired, Panicked};
use mainspring::front::keyed::Repeat;
use mainspring::front::{Calendar, Keyed, RunTasks, Task};
use mainspring::{Engine, Handle, preset};
use mainspring_cron::{Expression, Schedule};
use mainspring_queue::wheel::Chunked;
use mainspring_queue::{Expired, Profile, Rejected, ResetError, Tick, TimerId, TimerQueue};

/// The payload that makes the queue keep the lock.
const STUCK: u32 = 9;

/// A queue that, asked to take [`STUCK`], says so and waits for the test's leave.
struct Sticky {
    queue: Chunked<u32>,
    is_stuck: Sender<()>,
    leave: Receiver<()>,
}

impl TimerQueue<u32> for Sticky {
    fn schedule(&mut self, deadline: Tick, payload: u32) -> Result<TimerId, Rejected<u32>> {
        if payload == STUCK {
            self.is_stuck.send(()).expect("the test listens");
            self.leave.recv_timeout(Duration::from_secs(60)).expect("the test gives leave");
        }
        self.queue.schedule(deadline, payload)
    }

    fn cancel(&mut self, id: TimerId) -> Option<u32> {
        self.queue.cancel(id)
    }

    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        self.queue.reset(id, deadline)
    }

    fn deadline(&self, id: TimerId) -> Option<Tick> {
        self.queue.deadline(id)
    }

    fn next_wakeup(&self) -> Option<Tick> {
        self.queue.next_wakeup()
    }

    fn advance(&mut self, now: Tick) {
        self.queue.advance(now);
    }

    fn pop_expired(&mut self) -> Option<Expired<u32>> {
        self.queue.pop_expired()
    }

    fn now(&self) -> Tick {
        self.queue.now()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn peek(&self) -> Option<(TimerId, Tick)> {
        self.queue.peek()
    }

    fn compact(&mut self) {
        self.queue.compact();
    }

    fn profile(&self) -> Profile {
        self.queue.profile()
    }

    fn check(&self) {
        self.queue.check();
    }
}

#[test]
fn discarding_does_not_wait_for_a_thread_that_holds_the_queue() {
    let (is_stuck, stuck) = channel();
    let (give_leave, leave) = channel();
    let fired = Arc::new(Mutex::new(Vec::new()));
    let clock = Manual::stepped();
    let fire = {
        let fired = Arc::clone(&fired);
        move |timer: Fired<u32>| fired.lock().expect("no test panics in here").push(timer.payload)
    };
    let queue = Sticky { queue: Chunked::new(), is_stuck, leave };
    let engine = Engine::start(queue, Arc::new(clock.clone()), fire).expect("a thread starts");
    let handle = engine.handle().clone();
    let [kept, discarded] =
        [1, 2].map(|payload| handle.schedule_at(Tick::new(10), payload).expect("it is taken"));
    thread::scope(|scope| {
        scope.spawn(|| handle.schedule_at(Tick::new(10), STUCK).expect("it is taken"));
        stuck.recv_timeout(Duration::from_secs(60)).expect("the queue is asked");
        // The lock is held, and will be until this thread has come back from the call.
        handle.discard(discarded);
        handle.discard(discarded);
        give_leave.send(()).expect("the queue waits for leave");
    });
    assert_eq!(handle.pending_count(), 2, "a note was left and is obeyed");
    clock.advance_to(Tick::new(10));
    while handle.pending_count() != 0 {
        thread::yield_now();
    }
    let counts = engine.counts();
    assert_eq!((counts.scheduled, counts.cancelled, counts.fired), (3, 1, 2));
    engine.shutdown();
    assert_eq!(*fired.lock().expect("no test panics in there"), [1, STUCK]);
    assert_eq!(handle.cancel(kept), None);
}

/// A queue that, asked for a deadline while the test holds it, says so and waits for the test's leave.
struct Held<Q> {
    queue: Q,
    is_wanted: Arc<AtomicBool>,
    is_held: Sender<()>,
    leave: Receiver<()>,
}

/// The test's end of it.
struct Hold {
    is_wanted: Arc<AtomicBool>,
    held: Receiver<()>,
    give_leave: Sender<()>,
}

impl<Q> Held<Q> {
    fn new(queue: Q) -> (Held<Q>, Hold) {
        let (is_held, held) = channel();
        let (give_leave, leave) = channel();
        let is_wanted = Arc::new(AtomicBool::new(false));
        let hold = Hold { is_wanted: Arc::clone(&is_wanted), held, give_leave };
        (Held { queue, is_wanted, is_held, leave }, hold)
    }
}

impl Hold {
    /// Does something while another thread holds the queue.
    fn while_held<T: Send + 'static>(&self, handle: &Handle<T>, id: mainspring::TimerId, act: impl FnOnce()) {
        self.is_wanted.store(true, Ordering::SeqCst);
        thread::scope(|scope| {
            scope.spawn(|| handle.deadline(id));
            self.held.recv_timeout(PATIENCE).expect("the queue is asked");
            act();
            self.give_leave.send(()).expect("the queue waits for leave");
        });
    }
}

impl<T, Q: TimerQueue<T>> TimerQueue<T> for Held<Q> {
    fn deadline(&self, id: TimerId) -> Option<Tick> {
        if self.is_wanted.swap(false, Ordering::SeqCst) {
            self.is_held.send(()).expect("the test listens");
            self.leave.recv_timeout(PATIENCE).expect("the test gives leave");
        }
        self.queue.deadline(id)
    }

    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, Rejected<T>> {
        self.queue.schedule(deadline, payload)
    }

    fn cancel(&mut self, id: TimerId) -> Option<T> {
        self.queue.cancel(id)
    }

    fn reset(&mut self, id: TimerId, deadline: Tick) -> Result<(), ResetError> {
        self.queue.reset(id, deadline)
    }

    fn next_wakeup(&self) -> Option<Tick> {
        self.queue.next_wakeup()
    }

    fn advance(&mut self, now: Tick) {
        self.queue.advance(now);
    }

    fn pop_expired(&mut self) -> Option<Expired<T>> {
        self.queue.pop_expired()
    }

    fn now(&self) -> Tick {
        self.queue.now()
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn peek(&self) -> Option<(TimerId, Tick)> {
        self.queue.peek()
    }

    fn compact(&mut self) {
        self.queue.compact();
    }

    fn profile(&self) -> Profile {
        self.queue.profile()
    }

    fn check(&self) {
        self.queue.check();
    }
}

/// Longer than any of these tests should take; when it is over they fail instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Does something when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// Runs tasks, and tells which panicked.
struct Report(Sender<String>);

impl Fire<Task> for Report {
    fn fire(&mut self, fired: Fired<Task>) {
        RunTasks.fire(fired);
    }

    fn panicked(&mut self, panic: &Panicked) {
        self.0.send(panic.message.clone()).expect("the test listens");
    }
}

/// An engine whose queue the test can hold.
struct Desk {
    clock: Manual,
    engine: Engine<Task>,
    hold: Hold,
    panics: Receiver<String>,
    /// Far away, and there to be asked for.
    far: mainspring::TimerId,
}

impl Desk {
    fn new() -> Desk {
        let clock = Manual::stepped();
        let (queue, hold) = Held::new(Chunked::new());
        let (sender, panics) = channel();
        let engine = Engine::start(queue, Arc::new(clock.clone()), Report(sender)).expect("a thread starts");
        let far = engine.handle().schedule_at(Tick::new(1_000_000), Task::new(|_| ())).expect("it is taken");
        Desk { clock, engine, hold, panics, far }
    }

    /// Schedules a task that owns something, and discards it while another thread holds the queue.
    fn discard_with_a_note<S: Send + 'static>(&self, owned: S) {
        let handle = self.engine.handle();
        let task = Task::new(move |_| drop(owned));
        let id = handle.schedule_at(Tick::new(500_000), task).expect("it is taken");
        self.hold.while_held(handle, self.far, || handle.discard(id));
    }

    /// Waits until a timer that is due fires.
    fn expect_firing(&self) {
        let (sender, receiver) = channel();
        self.engine.callbacks().at(Tick::ZERO, move |_| sender.send(()).expect("the test listens")).unwrap();
        receiver.recv_timeout(PATIENCE).expect("timers still fire");
    }
}

#[test]
fn a_discarded_payload_that_panics_is_reported_and_ends_no_thread() {
    let desk = Desk::new();
    desk.discard_with_a_note(OnDrop(|| panic!("this drop panics")));
    desk.expect_firing();
    assert_eq!(desk.panics.recv_timeout(PATIENCE).as_deref(), Ok("this drop panics"));
    desk.expect_firing();
    assert_eq!(desk.engine.handle().pending_count(), 1);
}

#[test]
fn a_discarded_payload_is_not_dropped_by_a_thread_that_schedules_or_asks() {
    let desk = Desk::new();
    let (sender, receiver) = channel();
    let drops = OnDrop(move || sender.send(thread::current().id()).expect("the test listens"));
    desk.discard_with_a_note(drops);
    let handle = desk.engine.handle();
    assert_eq!(handle.pending_count(), 1, "what is discarded does not count");
    assert_eq!(handle.counts().cancelled, 1);
    handle.schedule_at(Tick::new(900_000), Task::new(|_| ())).expect("it is taken");
    let dropped_by = receiver.recv_timeout(PATIENCE).expect("the driver's thread was woken for it");
    assert_ne!(dropped_by, thread::current().id());
}

#[test]
fn a_discarded_payload_may_use_the_front_that_schedules() {
    let desk = Desk::new();
    let tasks = Keyed::new(desk.engine.handle().clone());
    let (sender, receiver) = channel();
    let inner = tasks.clone();
    desk.discard_with_a_note(OnDrop(move || sender.send(inner.len()).expect("the test listens")));
    tasks.schedule(1, Duration::from_secs(1), Repeat::Times(1), |_| ()).unwrap();
    receiver.recv_timeout(PATIENCE).expect("nothing waits for the front's lock while it schedules");
}

#[test]
fn a_timer_that_was_discarded_can_be_neither_cancelled_nor_reset() {
    let desk = Desk::new();
    let handle = desk.engine.handle();
    let id = handle.schedule_at(Tick::new(500_000), Task::new(|_| ())).expect("it is taken");
    desk.hold.while_held(handle, desk.far, || handle.discard(id));
    assert_eq!(handle.pending_count(), 1);
    assert!(handle.reset_at(id, Tick::ZERO).is_err());
    assert_eq!(handle.deadline(id), None);
    assert!(handle.cancel(id).is_none());
    assert_eq!(handle.counts().cancelled, 1);
    desk.clock.advance_to(Tick::new(600_000));
    desk.expect_firing();
}

#[test]
fn what_a_front_cannot_schedule_is_dropped_with_no_lock_held() {
    let engine = preset::go_1_9(Arc::new(Manual::stepped())).unwrap();
    let handle = engine.handle().clone();
    engine.shutdown();
    let (done, is_done) = channel();
    thread::Builder::new()
        .spawn(move || {
            let tasks = Keyed::<u32>::new(handle.clone());
            let inner = tasks.clone();
            let drops = OnDrop(move || assert!(inner.is_empty()));
            let refused = tasks.schedule(1, Duration::from_secs(1), Repeat::Forever, move |_| _ = &drops);
            assert!(refused.is_err());
            let noon = "2026-03-02T12:00:00Z".parse().unwrap();
            let wall = Arc::new(ManualWall::new(Manual::stepped(), noon));
            let calendar = Calendar::with_wall(handle, wall);
            let inner = calendar.clone();
            let drops = OnDrop(move || assert!(inner.next_run().is_none()));
            let schedule = Schedule::new(Expression::parse("* * * * *").unwrap(), TimeZone::UTC);
            assert!(calendar.schedule(schedule, move |_| _ = &drops).is_err());
            done.send(()).unwrap();
        })
        .unwrap();
    is_done.recv_timeout(PATIENCE).expect("no drop waits for a front's lock");
}
