//! The threads on which functions run: a few, made when they are needed.
//!
//! ```text
//! give ─▶ queue ─▶ an idle thread, or a new one while there are fewer than the limit ─▶ task ─▶ idle
//! ```
//!
//! A function that does not end keeps its thread for good. Such a thread is lost: another is made in its
//! place, and when the function ends after all, one thread too many ends.
//!
//! Cost: a lock and a wake-up for each task; an idle thread sleeps.
//!
//! Does not know what a task is, and joins no thread: one may never end.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

/// What a thread does.
pub(crate) type Task = Box<dyn FnOnce() + Send>;

struct State {
    queue: VecDeque<Task>,
    thread_count: usize,
    idle_count: usize,
    /// How many threads there may be, those that are lost among them.
    thread_max: usize,
    is_closed: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// See the head of this file.
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("thread_count", &self.shared.lock().thread_count).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this lock")
    }
}

impl Pool {
    /// A pool of at most so many threads, with none yet.
    pub(crate) fn of_at_most(thread_max: usize) -> Pool {
        let (queue, thread_count, idle_count, is_closed) = (VecDeque::new(), 0, 0, false);
        let state = State { queue, thread_count, idle_count, thread_max, is_closed };
        Pool { shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }) }
    }

    /// Has a task done, as soon as a thread is free.
    ///
    /// # Errors
    /// When the operating system gives no thread, and there is none; the task is not done then.
    pub(crate) fn give(&self, task: Task) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.queue.push_back(task);
        let found = self.find_thread(&mut state);
        if found.is_err() {
            state.queue.pop_back();
        }
        found
    }

    /// Has an idle thread look, or makes one if there may be another. A busy one looks when it is done.
    fn find_thread(&self, state: &mut State) -> io::Result<()> {
        if state.queue.len() <= state.idle_count {
            self.shared.changed.notify_one();
        } else if state.thread_count < state.thread_max {
            let shared = Arc::clone(&self.shared);
            let made = thread::Builder::new().name("handler".to_owned()).spawn(move || work(&shared));
            match made {
                Ok(_) => state.thread_count += 1,
                Err(error) if state.thread_count == 0 => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// A thread is lost: another may be made in its place.
    pub(crate) fn lose_one(&self) {
        let mut state = self.shared.lock();
        state.thread_max += 1;
        if !state.queue.is_empty() {
            // Without a thread for now, what waits is done when another has one.
            let _ = self.find_thread(&mut state);
        }
    }

    /// A thread that was lost is back.
    pub(crate) fn regain_one(&self) {
        self.shared.lock().thread_max -= 1;
        self.shared.changed.notify_all();
    }
}

impl Drop for Pool {
    /// Idle threads end, and busy ones when they are done. What waits is not done.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        let left = std::mem::take(&mut state.queue);
        drop(state);
        self.shared.changed.notify_all();
        drop(left);
    }
}

/// What a thread does until the pool is closed, or has too many.
fn work(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        if state.is_closed || state.thread_max < state.thread_count {
            state.thread_count -= 1;
            return;
        }
        if let Some(task) = state.queue.pop_front() {
            drop(state);
            task();
            state = shared.lock();
        } else {
            state.idle_count += 1;
            state = shared.changed.wait(state).expect("nothing panics while it holds this lock");
            state.idle_count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

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
}
