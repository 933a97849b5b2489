//! A thread that discards timers waits for nobody: tried against a queue that keeps its driver's lock for as long as the
//! test likes.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mainspring::Engine;
use mainspring::clock::Manual;
use mainspring::driver::Fired;
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
