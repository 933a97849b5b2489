//! A discarded timer is gone when the call has returned, for every caller, however many are at its queue:
//! tried against a queue that keeps its driver's lock for a while.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use jiff::tz::TimeZone;
use mainspring::clock::Manual;
use mainspring::clock::wall::ManualWall;
use mainspring::driver::FiredTimer;
use mainspring::front::keyed_tasks::Repeat;
use mainspring::front::{Calendar, KeyedTasks, RunTasks, Task};
use mainspring::{Engine, Handle, preset};
use mainspring_cron::{Expression, Schedule};
use mainspring_queue::wheel::Chunked;
use mainspring_queue::{
    ExpiredTimer, LimitedQueue, Profile, RejectedTimer, ResetError, Tick, TimerId, TimerQueue,
};

/// For how long the queue is held, at most: what the test does meanwhile may wait for the queue.
const HOLD: Duration = Duration::from_millis(20);

/// A queue that, asked for a deadline while the test holds it, says so and waits for the test's leave.
struct HeldQueue<Q> {
    queue: Q,
    is_wanted: Arc<AtomicBool>,
    is_held: Sender<()>,
    leave: Receiver<()>,
}

/// The test's end of it.
struct Hold {
    is_wanted: Arc<AtomicBool>,
    held: Mutex<Receiver<()>>,
    give_leave: Sender<()>,
}

impl<Q> HeldQueue<Q> {
    fn new(queue: Q) -> (HeldQueue<Q>, Hold) {
        let (is_held, held) = channel();
        let (give_leave, leave) = channel();
        let is_wanted = Arc::new(AtomicBool::new(false));
        let hold = Hold { is_wanted: Arc::clone(&is_wanted), held: Mutex::new(held), give_leave };
        (HeldQueue { queue, is_wanted, is_held, leave }, hold)
    }
}

impl Hold {
    /// Does something while another thread holds the queue, for [`HOLD`] at most.
    fn while_held<T: Send + 'static>(&self, handle: &Handle<T>, id: mainspring::TimerId, act: impl FnOnce()) {
        self.is_wanted.store(true, Ordering::SeqCst);
        thread::scope(|scope| {
            scope.spawn(|| handle.deadline(id));
            self.held
                .lock()
                .expect("no test panics in here")
                .recv_timeout(PATIENCE)
                .expect("the queue is asked");
            act();
            self.give_leave.send(()).expect("the queue waits for leave");
        });
    }
}

impl<T, Q: TimerQueue<T>> TimerQueue<T> for HeldQueue<Q> {
    fn deadline(&self, id: TimerId) -> Option<Tick> {
        if self.is_wanted.swap(false, Ordering::SeqCst) {
            // Leave to which no thread listened any more.
            while self.leave.try_recv().is_ok() {}
            self.is_held.send(()).expect("the test listens");
            let _ = self.leave.recv_timeout(HOLD);
        }
        self.queue.deadline(id)
    }

    fn schedule(&mut self, deadline: Tick, payload: T) -> Result<TimerId, RejectedTimer<T>> {
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

    fn pop_expired(&mut self) -> Option<ExpiredTimer<T>> {
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

/// An engine whose queue the test can hold.
struct Desk {
    clock: Manual,
    engine: Engine<Task>,
    hold: Hold,
    /// Far away, and there to be asked for.
    far: mainspring::TimerId,
}

impl Desk {
    fn new() -> Desk {
        let clock = Manual::stepped();
        let (queue, hold) = HeldQueue::new(Chunked::new());
        let engine = Engine::start(queue, clock.clone(), RunTasks).expect("a thread starts");
        let far = engine.handle().schedule_at(Tick::new(1_000_000), Task::new(|_| ())).expect("it is taken");
        Desk { clock, engine, hold, far }
    }

    /// Schedules a task that owns something.
    fn schedule<S: Send + 'static>(&self, owned: S) -> mainspring::TimerId {
        let task = Task::new(move |_| drop(owned));
        self.engine.handle().schedule_at(Tick::new(500_000), task).expect("it is taken")
    }

    /// Discards a timer while another thread holds the queue.
    fn discard(&self, id: mainspring::TimerId) {
        let handle = self.engine.handle();
        self.hold.while_held(handle, self.far, || drop(handle.cancel(id)));
    }

    /// Waits until a timer that is due fires.
    fn expect_firing(&self) {
        let (sender, receiver) = channel();
        self.engine.callbacks().at(Tick::ZERO, move |_| sender.send(()).expect("the test listens")).unwrap();
        receiver.recv_timeout(PATIENCE).expect("timers still fire");
    }
}

#[test]
fn what_is_discarded_while_another_payload_is_dropped_does_not_fire() {
    let desk = Desk::new();
    let handle = desk.engine.handle();
    let fired_count = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fired_count);
    let task = Task::new(move |_| _ = count.fetch_add(1, Ordering::SeqCst));
    let due = handle.schedule_at(Tick::new(10), task).expect("it is taken");
    let (drops, is_dropping) = channel();
    let (give_leave, leave) = channel::<()>();
    let slow = desk.schedule(OnDrop(move || {
        drops.send(()).expect("the test listens");
        leave.recv_timeout(PATIENCE).expect("the test gives leave");
    }));
    thread::scope(|scope| {
        scope.spawn(|| {
            desk.hold.while_held(handle, desk.far, || {
                desk.clock.advance_to(Tick::new(10));
                drop(handle.cancel(slow));
            });
        });
        is_dropping.recv_timeout(PATIENCE).expect("what is discarded is dropped");
        desk.discard(due);
        let before = fired_count.load(Ordering::SeqCst);
        assert_eq!(handle.pending_count(), 1);
        give_leave.send(()).expect("the drop waits for leave");
        desk.expect_firing();
        assert_eq!(fired_count.load(Ordering::SeqCst), before, "no firing begins after a discard");
    });
    let counts = desk.engine.counts();
    assert_eq!(counts.fired + counts.cancelled + handle.pending_count() as u64, counts.scheduled);
}

#[test]
fn a_full_queue_has_room_after_a_discard() {
    let (queue, hold) = HeldQueue::new(LimitedQueue::new(Chunked::new(), 1));
    let engine = Engine::start(queue, Manual::stepped(), |_: FiredTimer<u32>| ()).expect("a thread starts");
    let handle = engine.handle();
    let mut id = handle.schedule_at(Tick::new(10), 0).expect("it is taken");
    for number in 1..4 {
        hold.while_held(handle, id, || _ = handle.cancel(id));
        id = handle.schedule_at(Tick::new(10), number).expect("there is room again");
    }
    assert_eq!((handle.pending_count(), handle.counts().cancelled), (1, 3));
}

#[test]
fn a_payload_is_dropped_though_nothing_else_comes() {
    let desk = Desk::new();
    let (sender, receiver) = channel();
    let id = desk.schedule(OnDrop(move || sender.send(()).expect("the test listens")));
    desk.discard(id);
    receiver.recv_timeout(PATIENCE).expect("no other timer is needed for it");
}

#[test]
fn a_timer_that_was_discarded_is_gone_for_every_caller() {
    let desk = Desk::new();
    let handle = desk.engine.handle();
    let ids = [(); 5].map(|()| desk.schedule(()));
    for id in ids {
        desk.discard(id);
    }
    assert_eq!(handle.deadline(ids[0]), None);
    assert!(handle.cancel(ids[1]).is_none());
    assert!(handle.reset_at(ids[2], Tick::ZERO).is_err());
    drop(handle.cancel(ids[3]));
    assert_eq!(handle.counts().cancelled, 5);
    assert_eq!(handle.pending_count(), 1);
    desk.clock.advance_to(Tick::new(600_000));
    desk.expect_firing();
    assert_eq!(handle.counts().fired, 1);
}

#[test]
fn a_discarded_payload_is_dropped_with_no_lock_held() {
    let desk = Desk::new();
    let tasks = KeyedTasks::<u32>::new(desk.engine.handle().clone());
    let (handle, inner) = (desk.engine.handle().clone(), tasks.clone());
    let (sender, receiver) = channel();
    let id = desk.schedule(OnDrop(move || {
        sender.send((handle.pending_count(), inner.len())).expect("the test listens");
    }));
    desk.discard(id);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok((1, 0)));
}

#[test]
fn a_discarded_payload_that_panics_harms_nobody_but_the_thread_that_discards() {
    let desk = Desk::new();
    let id = desk.schedule(OnDrop(|| panic!("this drop panics")));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(desk.engine.handle().cancel(id)))).is_err());
    desk.expect_firing();
    assert_eq!((desk.engine.handle().pending_count(), desk.engine.counts().panicked), (1, 0));
}

#[test]
fn discarding_does_not_wait_for_a_callback() {
    let desk = Desk::new();
    let id = desk.schedule(());
    let (enters, is_inside) = channel();
    let (give_leave, leave) = channel::<()>();
    let callback = move |_| {
        enters.send(()).expect("the test listens");
        leave.recv_timeout(PATIENCE).expect("the test gives leave");
    };
    desk.engine.callbacks().at(Tick::ZERO, callback).expect("it is taken");
    is_inside.recv_timeout(PATIENCE).expect("it is due");
    drop(desk.engine.handle().cancel(id));
    assert_eq!(desk.engine.handle().pending_count(), 1);
    give_leave.send(()).expect("the callback waits for leave");
}

#[test]
fn what_a_front_cannot_schedule_is_dropped_with_no_lock_held() {
    let engine = preset::go_1_9(Arc::new(Manual::stepped())).unwrap();
    let handle = engine.handle().clone();
    engine.shutdown();
    let (done, is_done) = channel();
    thread::Builder::new()
        .spawn(move || {
            let tasks = KeyedTasks::<u32>::new(handle.clone());
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
