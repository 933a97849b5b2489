//! The threads on which functions run: a few, made when they are needed.
//!
//! ```text
//! give ─▶ queue ─▶ an idle thread, or a new one while there are fewer than the limit ─▶ task ─▶ idle
//!           ▲
//! give_at ──┴─ held until its time, which one idle thread waits for: the watcher
//! ```
//!
//! A task whose time has come is in the queue's line before what was given later. No thread is taken while a
//! task is held: the watcher is idle, and does whatever comes first.
//!
//! A function that does not end keeps its thread for good. Such a thread is lost: another is made in its
//! place, and when the function ends after all, one thread too many ends.
//!
//! Cost: a lock and a wake-up for each task; an idle thread sleeps. A held task costs O(log n) of those that
//! are held, and is late by what the operating system takes to wake a thread.
//!
//! Does not know what a task is, and joins no thread: one may never end.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

use mainspring_exec::clock::Moment;
use mainspring_exec::delay_queue::DelayQueue;

/// What a thread does.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

struct State {
    queue: VecDeque<Task>,
    held: DelayQueue<Task>,
    thread_count: usize,
    /// How many threads wait, the watcher among them.
    idle_count: usize,
    /// Whether an idle thread waits for the first time of what is held.
    is_watched: bool,
    /// How many threads there may be, those that are lost among them.
    thread_max: usize,
    is_closed: bool,
}

impl State {
    /// How many threads what is there wants: one for each task that may be done, and one that watches.
    fn wanted(&self) -> usize {
        self.queue.len() + usize::from(!self.held.is_empty())
    }

    /// What is held and due may be done.
    fn release(&mut self, now: Instant) {
        while let Some(task) = self.held.pop_due(now) {
            self.queue.push_back(task);
        }
    }
}

struct Shared {
    state: Mutex<State>,
    /// For idle threads but the watcher: there may be a task, or no thread watches.
    changed: Condvar,
    /// For the watcher: there may be a task, or another is the first that is held.
    first_changed: Condvar,
}

/// See the head of this file.
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this lock")
    }

    /// Makes a thread if there are too few for what is there and there may be another, else has idle ones
    /// look. A busy one looks when it is done.
    fn find_thread(self: &Arc<Self>, state: &mut State) -> io::Result<()> {
        debug_assert!(!state.is_watched || 0 < state.idle_count, "the watcher is idle");
        if state.idle_count < state.wanted() && state.thread_count < state.thread_max {
            let shared = Arc::clone(self);
            match thread::Builder::new().name("handler".to_owned()).spawn(move || work(&shared)) {
                Ok(_) => {
                    state.thread_count += 1;
                    debug_assert!(state.thread_count <= state.thread_max);
                    return Ok(());
                }
                Err(error) if state.thread_count == 0 => return Err(error),
                Err(_) => {}
            }
        }
        self.changed.notify_one();
        if state.idle_count <= state.queue.len() {
            self.first_changed.notify_one();
        }
        Ok(())
    }

    fn notify_all(&self) {
        self.changed.notify_all();
        self.first_changed.notify_all();
    }
}

impl Pool {
    /// A pool of at most so many threads, with none yet.
    pub(crate) fn of_at_most(thread_max: usize) -> Pool {
        assert!(0 < thread_max, "without a thread no task would be done");
        let state = State {
            queue: VecDeque::new(),
            held: DelayQueue::new(Moment::now().monotonic),
            thread_count: 0,
            idle_count: 0,
            is_watched: false,
            thread_max,
            is_closed: false,
        };
        let (changed, first_changed) = (Condvar::new(), Condvar::new());
        Pool { shared: Arc::new(Shared { state: Mutex::new(state), changed, first_changed }) }
    }

    /// Has a task done, as soon as a thread is free.
    ///
    /// # Errors
    /// When the operating system gives no thread, and there is none; the task is not done then.
    pub(crate) fn give(&self, task: Task) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.queue.push_back(task);
        let found = self.shared.find_thread(&mut state);
        if found.is_err() {
            state.queue.pop_back();
        }
        found
    }

    /// Has a task done when its time has come, as soon as a thread is free then.
    ///
    /// # Errors
    /// As for [`give`](Self::give).
    pub(crate) fn give_at(&self, at: Instant, task: Task) -> io::Result<()> {
        let mut state = self.shared.lock();
        let is_first = state.held.first().is_none_or(|first| at < first);
        let id = state.held.add(at, task);
        let found = self.shared.find_thread(&mut state);
        if found.is_err() {
            let task = state.held.cancel(id);
            debug_assert!(task.is_some(), "what was refused is not done later");
        } else if is_first {
            self.shared.first_changed.notify_one();
        }
        found
    }

    /// A thread is lost: another may be made in its place.
    pub(crate) fn lose_one(&self) {
        let mut state = self.shared.lock();
        state.thread_max += 1;
        if 0 < state.wanted() {
            // Without a thread for now, what waits is done when another has one.
            let _ = self.shared.find_thread(&mut state);
        }
    }

    /// A thread that was lost is back.
    pub(crate) fn regain_one(&self) {
        let mut state = self.shared.lock();
        debug_assert!(1 < state.thread_max, "one was lost before");
        state.thread_max -= 1;
        drop(state);
        self.shared.notify_all();
    }
}

impl Drop for Pool {
    /// Idle threads end, and busy ones when they are done. What waits is not done.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        let left = std::mem::take(&mut state.queue);
        let held = std::mem::replace(&mut state.held, DelayQueue::new(Moment::now().monotonic));
        drop(state);
        self.shared.notify_all();
        drop((left, held));
    }
}

/// What a thread does until the pool is closed, or has too many.
fn work(shared: &Arc<Shared>) {
    let mut state = shared.lock();
    loop {
        if state.is_closed || state.thread_max < state.thread_count {
            state.thread_count -= 1;
            debug_assert!(state.idle_count <= state.thread_count, "a thread that ends is not idle");
            return;
        }
        let now = Moment::now().monotonic;
        state.release(now);
        if let Some(task) = state.queue.pop_front() {
            if !state.queue.is_empty() || !state.held.is_empty() && !state.is_watched {
                // Without another thread, this one looks again when it is done.
                let _ = shared.find_thread(&mut state);
            }
            drop(state);
            task();
            state = shared.lock();
        } else {
            state = wait(shared, state, now);
        }
    }
}

/// Waits until there may be something to do: as the watcher, if something is held and there is none.
fn wait<'s>(shared: &'s Shared, mut state: MutexGuard<'s, State>, now: Instant) -> MutexGuard<'s, State> {
    const WHOLE: &str = "nothing panics while it holds this lock";
    state.idle_count += 1;
    debug_assert!(state.idle_count <= state.thread_count);
    match state.held.wait(now) {
        Some(wait) if !state.is_watched => {
            state.is_watched = true;
            (state, _) = shared.first_changed.wait_timeout(state, wait).expect(WHOLE);
            state.is_watched = false;
        }
        _ => state = shared.changed.wait(state).expect(WHOLE),
    }
    state.idle_count -= 1;
    state
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_threads_are_made_than_may_be_and_every_task_is_done() {
        let pool = Pool::of_at_most(3);
        let (sender, receiver) = channel();
        for number in 0..1_000 {
            let sender = sender.clone();
            pool.give(Box::new(move || sender.send(number).unwrap())).unwrap();
        }
        let mut found: Vec<i32> = receiver.iter().take(1_000).collect();
        found.sort_unstable();
        assert_eq!(found, (0..1_000).collect::<Vec<_>>());
        assert!(pool.shared.lock().thread_count <= 3);
    }

    #[test]
    fn a_lost_thread_is_replaced() {
        let pool = Pool::of_at_most(1);
        let ((release, held), (sender, receiver)) = (channel::<()>(), channel());
        pool.give(Box::new(move || assert!(held.recv().is_err()))).unwrap();
        pool.give(Box::new(move || sender.send(()).unwrap())).unwrap();
        assert!(receiver.try_recv().is_err(), "the only thread is held");
        pool.lose_one();
        receiver.recv().unwrap();
        drop(release);
        pool.regain_one();
    }

    /// When each of these tasks, held for so many microseconds, was done, in that order.
    fn times_of(pool: &Pool, waits_us: &[u64]) -> Vec<(u64, Duration)> {
        let (sender, receiver) = channel();
        let start = Moment::now().monotonic;
        for &wait_us in waits_us {
            let sender = sender.clone();
            let at = start + Duration::from_micros(wait_us);
            let task = move || sender.send((wait_us, Moment::now().monotonic.duration_since(start))).unwrap();
            pool.give_at(at, Box::new(task)).unwrap();
        }
        receiver.iter().take(waits_us.len()).collect()
    }

    #[test]
    fn what_is_held_is_done_and_never_early_in_whatever_order_it_comes() {
        for thread_max in [1, 2, 8] {
            let pool = Pool::of_at_most(thread_max);
            let waits_us: Vec<u64> = (0..500).map(|number| number * 7_919 % 20_011).collect();
            let mut found = times_of(&pool, &waits_us);
            for (wait_us, done) in &found {
                assert!(Duration::from_micros(*wait_us) <= *done, "early: {wait_us} us, done after {done:?}");
            }
            found.sort_unstable();
            let mut sorted = waits_us.clone();
            sorted.sort_unstable();
            assert_eq!(found.into_iter().map(|(wait_us, _)| wait_us).collect::<Vec<_>>(), sorted);
            assert!(pool.shared.lock().thread_count <= thread_max);
        }
    }

    #[test]
    fn a_held_task_takes_no_thread_from_one_that_is_due() {
        let pool = Pool::of_at_most(1);
        let (sender, receiver) = channel();
        let later = sender.clone();
        let at = Moment::now().monotonic + Duration::from_millis(20);
        pool.give_at(at, Box::new(move || later.send("held").unwrap())).unwrap();
        let far = at + Duration::from_secs(86_400);
        pool.give_at(far, Box::new(|| panic!("it is due tomorrow"))).unwrap();
        pool.give(Box::new(move || sender.send("due").unwrap())).unwrap();
        let mut found = [receiver.recv().unwrap(), receiver.recv().unwrap()];
        // On a machine that stands still for so long, the held one comes first.
        found.sort_unstable();
        assert_eq!(found, ["due", "held"]);
    }

    #[test]
    fn what_is_held_when_the_pool_ends_is_dropped() {
        let pool = Pool::of_at_most(2);
        let (sender, receiver) = channel::<()>();
        let at = Moment::now().monotonic + Duration::from_secs(86_400);
        pool.give_at(at, Box::new(move || drop(sender))).unwrap();
        drop(pool);
        assert!(receiver.recv().is_err());
    }
}
