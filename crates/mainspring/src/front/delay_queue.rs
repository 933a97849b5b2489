//! Items under keys that come out when they are due: a delay queue, and a cache whose entries expire.
//!
//! ```text
//!   put(key, value, delay) ──▶ pending ──due──▶ recv, try_recv, next: (key, value)
//!                                │               or the closure of with_expired
//!                put, remove ◀───┘
//! ```
//!
//! The value travels with the key: the thread that is handed an item owns it, and no other has it any more.
//! An item that is replaced or removed does not come out, even if its timer was firing at that moment: the
//! timer finds another item, or none, and leaves it alone.
//!
//! Any number of threads and tasks may wait, by clones or by one queue: each that waits is woken for each
//! item, and one of them has it. So one that gives up takes no other's wake-up with it.
//!
//! Items come out in the order in which their timers fire. Those that are not taken are kept: a queue of
//! which no thread receives should be made by [`with_expired`](DelayQueue::with_expired), which hands items
//! to a closure instead.
//!
//! Cost: a hash map entry beside the timer, which knows the key; every call takes the queue's lock.
//!
//! It does not keep items across a restart. A queue whose engine ends hands out what was due by then.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::hash::Hash;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream;
use mainspring_queue::{ResetError, Tick};

use super::task::Task;
use crate::driver::{Refusal, TimerId};
use crate::handle::{Handle, Local};
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, lock};

/// Items under keys that come out when they are due. Clones are the same queue; when the last is dropped, so
/// are the items.
///
/// ```
/// use std::time::Duration;
///
/// let engine = mainspring::Engine::new()?;
/// let orders = engine.delay_queue();
/// orders.put("first", 30, Duration::from_millis(1))?;
/// orders.put("second", 40, Duration::from_millis(2))?;
/// assert_eq!(orders.remove(&"first"), Some(30));
/// assert_eq!(orders.recv(), Some(("second", 40)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "items end with the last clone of their queue"]
pub struct DelayQueue<K, V> {
    shared: Arc<Shared<K, V>>,
    /// Whose wakers those are that wait by `poll_next` of this clone.
    waiter: u64,
}

struct Shared<K, V> {
    handle: Handle<Task>,
    state: Mutex<State<K, V>>,
    /// Signalled when an item has become due, or none will any more.
    changed: Condvar,
    /// What is called for each item that is due; without it the item waits for a receiver.
    expire: Option<Box<dyn Fn(K, V) + Send + Sync>>,
}

struct State<K, V> {
    pending: HashMap<K, Item<V>>,
    due: VecDeque<(K, V)>,
    /// The tasks that wait, and the numbers of the futures or clones by which they do.
    wakers: Vec<(u64, Waker)>,
    last_waiter: u64,
    next_generation: u64,
    is_closed: bool,
}

struct Item<V> {
    value: V,
    part: Local<Task>,
    timer: TimerId,
    deadline: Tick,
    /// Tells an item from one that took its key later.
    generation: u64,
}

/// What an item's timer knows of it. Dropped before it has fired, because the engine ended, it says so.
struct Notice<K: Eq + Hash, V> {
    shared: Weak<Shared<K, V>>,
    key: K,
    generation: u64,
    has_fired: bool,
}

impl<K, V> DelayQueue<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Send + 'static,
{
    /// Makes an empty queue over a driver that runs tasks.
    pub fn new(handle: Handle<Task>) -> DelayQueue<K, V> {
        DelayQueue::with(handle, None)
    }

    /// Makes an empty queue that hands each item that is due to `expire`, on the driver's thread, with no
    /// lock held. A cache hands them to a closure that drops them.
    ///
    /// ```
    /// use std::time::Duration;
    /// use mainspring::{DelayQueue, Simulation};
    ///
    /// let simulation = Simulation::new();
    /// let cache = DelayQueue::with_expired(simulation.engine().handle().clone(), |_, _| ());
    /// cache.put("answer", 42, Duration::from_secs(60))?;
    /// assert_eq!(cache.get(&"answer"), Some(42));
    /// simulation.advance(Duration::from_secs(60));
    /// assert_eq!(cache.get(&"answer"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_expired(
        handle: Handle<Task>,
        expire: impl Fn(K, V) + Send + Sync + 'static,
    ) -> DelayQueue<K, V> {
        DelayQueue::with(handle, Some(Box::new(expire)))
    }

    fn with(handle: Handle<Task>, expire: Option<Box<dyn Fn(K, V) + Send + Sync>>) -> DelayQueue<K, V> {
        let state = State {
            pending: HashMap::new(),
            due: VecDeque::new(),
            wakers: Vec::new(),
            last_waiter: 0,
            next_generation: 0,
            is_closed: false,
        };
        let shared = Shared { handle, state: Mutex::new(state), changed: Condvar::new(), expire };
        DelayQueue { shared: Arc::new(shared), waiter: 0 }
    }

    /// Puts `value` under `key`, to come out `delay` from now and not earlier. Returns the value that was
    /// pending there, which does not come out any more.
    ///
    /// # Errors
    /// The engine has been shut down, or its queue rejects the deadline. The value is dropped; what was
    /// pending stays.
    pub fn put(&self, key: K, value: V, delay: Duration) -> Result<Option<V>, Refusal> {
        self.put_at(key, value, self.shared.handle.clock().after(delay))
    }

    /// The same, to come out anywhere from `delay` to `delay + tolerance` from now: see
    /// [`Handle::schedule_within`].
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_within(
        &self,
        key: K,
        value: V,
        delay: Duration,
        tolerance: Duration,
    ) -> Result<Option<V>, Refusal> {
        self.put_at(key, value, self.shared.handle.tick_within(delay, tolerance))
    }

    fn put_at(&self, key: K, value: V, deadline: Tick) -> Result<Option<V>, Refusal> {
        let part = self.shared.handle.local()?;
        let mut state = lock(&self.shared.state);
        let generation = state.next_generation;
        // The driver's lock is taken inside the queue's, here and in `reset`, and never the other way round.
        let timer = match part.schedule(deadline, self.shared.task(key.clone(), generation)) {
            Ok(timer) => timer,
            Err(refused) => {
                drop(state);
                return Err(refused.into());
            }
        };
        state.next_generation += 1;
        let replaced = state.pending.insert(key, Item { value, part, timer, deadline, generation });
        drop(state);
        Ok(replaced.map(Item::into_value))
    }

    /// Makes the item under `key` come out `delay` from now instead, also if it is on its way out; tells
    /// whether it does. `false`: there is none, or the driver's queue cannot hold the new deadline.
    pub fn reset<Q>(&self, key: &Q, delay: Duration) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        // Dropped after the lock is released, as it is declared before.
        let _refused;
        let mut state = lock(&self.shared.state);
        let generation = state.next_generation;
        let Some((own, item)) = state.pending.get_key_value(key) else { return false };
        let deadline = item.part.clock().after(delay);
        let (timer, generation) = match item.part.reset(item.timer, deadline) {
            Ok(()) => (item.timer, item.generation),
            // Its timer has left the queue, and waits for its executor or the lock: it finds another item.
            Err(ResetError::NotPending) => {
                match item.part.schedule(deadline, self.shared.task(own.clone(), generation)) {
                    Ok(timer) => (timer, generation),
                    Err(refused) => {
                        _refused = refused;
                        return false;
                    }
                }
            }
            Err(_) => return false,
        };
        let Some(item) = state.pending.get_mut(key) else { return false };
        (item.timer, item.deadline, item.generation) = (timer, deadline, generation);
        state.next_generation += 1;
        true
    }

    /// Takes the item under `key` out before it is due.
    pub fn remove<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let item = lock(&self.shared.state).pending.remove(key);
        item.map(Item::into_value)
    }

    /// Returns a copy of the value that is pending under `key`.
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
        V: Clone,
    {
        lock(&self.shared.state).pending.get(key).map(|item| item.value.clone())
    }

    /// Returns the tick of the engine's clock from which the item under `key` comes out; `None` if none is
    /// pending there.
    pub fn deadline<Q>(&self, key: &Q) -> Option<Tick>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        lock(&self.shared.state).pending.get(key).map(|item| item.deadline)
    }

    /// Returns the key of the item that comes out next: of one that is due, or else of the pending one with
    /// the earliest deadline, and any of several with the same. It looks at every pending item.
    pub fn peek(&self) -> Option<K> {
        let state = lock(&self.shared.state);
        let next = || state.pending.iter().min_by_key(|(_, item)| item.deadline).map(|(key, _)| key);
        state.due.front().map(|(key, _)| key).or_else(next).cloned()
    }

    /// Removes all items, pending and due; tells how many there were. The queue continues.
    pub fn clear(&self) -> usize {
        self.shared.clear()
    }

    /// Gives memory back that more items took than there are now: the queue keeps what it once had. Takes as
    /// long as putting each item again; the engine's own memory stays as it is.
    pub fn compact(&self) {
        let mut state = lock(&self.shared.state);
        state.pending.shrink_to_fit();
        state.due.shrink_to_fit();
    }

    /// Waits for the next item that is due and takes it. `None`: the engine was shut down while items were
    /// pending, or the queue was [closed](Self::close), and nothing more is due.
    pub fn recv(&self) -> Option<(K, V)> {
        let mut state = lock(&self.shared.state);
        loop {
            if let Some(item) = state.due.pop_front() {
                return Some(item);
            }
            if state.is_closed {
                return None;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes the next item that is due, if there is one.
    pub fn try_recv(&self) -> Option<(K, V)> {
        lock(&self.shared.state).due.pop_front()
    }

    /// Waits for the next item that is due and takes it, as [`recv`](Self::recv) does, in async code under
    /// any runtime. Dropping the future loses no item.
    pub async fn next(&self) -> Option<(K, V)> {
        // Its drop forgets the waker, with the future's.
        let own = self.clone();
        poll_fn(|context| own.poll_next(context)).await
    }

    /// Polls for the next item that is due: see [`next`](Self::next). The last task that polled this clone is
    /// woken for the next item, until the clone is dropped: each of several tasks has a clone of its own.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<(K, V)>> {
        // A waker's clone and drop are the runtime's code: no lock is held over them.
        let mut waker = context.waker().clone();
        let mut state = lock(&self.shared.state);
        if let Some(item) = state.due.pop_front() {
            return Poll::Ready(Some(item));
        }
        if state.is_closed {
            return Poll::Ready(None);
        }
        match state.wakers.iter_mut().find(|(waiter, _)| *waiter == self.waiter) {
            Some((_, last)) => std::mem::swap(last, &mut waker),
            None => state.wakers.push((self.waiter, waker)),
        }
        Poll::Pending
    }

    /// Makes receivers return `None` once they have taken what is due. What is pending stays, and is given
    /// back by [`remove`](Self::remove).
    pub fn close(&self) {
        self.shared.close();
    }

    /// Returns how many items are pending: those that are due are not.
    pub fn len(&self) -> usize {
        lock(&self.shared.state).pending.len()
    }

    /// Tells whether no item is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The items that become due. It ends as [`recv`](DelayQueue::recv) does.
impl<K, V> Stream for DelayQueue<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Send + 'static,
{
    type Item = (K, V);

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<(K, V)>> {
        DelayQueue::poll_next(&self, context)
    }
}

impl<V> Item<V> {
    /// Cancels the timer. No lock is held: its drop looks at the queue.
    fn into_value(self) -> V {
        drop(self.part.cancel(self.timer));
        self.value
    }
}

impl<K, V> Shared<K, V> {
    fn clear(&self) -> usize {
        let mut state = lock(&self.state);
        let (pending, due) = (std::mem::take(&mut state.pending), std::mem::take(&mut state.due));
        drop(state);
        let count = pending.len() + due.len();
        pending.into_values().for_each(|item| drop(item.into_value()));
        count
    }

    fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        self.announce(state);
    }

    /// Wakes the threads that wait, with no lock held.
    fn announce(&self, mut state: MutexGuard<'_, State<K, V>>) {
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.changed.notify_all();
        wakers.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// Makes a number for a clone.
    fn waiter(&self) -> u64 {
        let mut state = lock(&self.state);
        state.last_waiter += 1;
        state.last_waiter
    }
}

impl<K, V> Shared<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Send + 'static,
{
    /// What an item's timer does.
    fn task(self: &Arc<Self>, key: K, generation: u64) -> Task {
        let notice = Notice { shared: Arc::downgrade(self), key, generation, has_fired: false };
        Task::new(move |_| notice.fire())
    }
}

impl<K: Clone + Eq + Hash, V> Notice<K, V> {
    /// The item under the key is due, if it is the one that this timer is for.
    fn fire(mut self) {
        self.has_fired = true;
        let Some(shared) = self.shared.upgrade() else { return };
        let mut state = lock(&shared.state);
        if state.pending.get(&self.key).is_none_or(|item| item.generation != self.generation) {
            return;
        }
        let Some((key, item)) = state.pending.remove_entry(&self.key) else { return };
        if let Some(expire) = &shared.expire {
            drop(state);
            return expire(key, item.value);
        }
        state.due.push_back((key, item.value));
        shared.announce(state);
    }
}

impl<K: Eq + Hash, V> Drop for Notice<K, V> {
    fn drop(&mut self) {
        if self.has_fired {
            return;
        }
        let Some(shared) = self.shared.upgrade() else { return };
        // After a replacement and a removal there is no such item.
        let is_pending =
            lock(&shared.state).pending.get(&self.key).is_some_and(|item| item.generation == self.generation);
        if is_pending {
            shared.close();
        }
    }
}

impl<K, V> Drop for Shared<K, V> {
    /// The timers end with the queue.
    fn drop(&mut self) {
        self.clear();
    }
}

impl<K, V> Clone for DelayQueue<K, V> {
    fn clone(&self) -> DelayQueue<K, V> {
        DelayQueue { shared: Arc::clone(&self.shared), waiter: self.shared.waiter() }
    }
}

impl<K, V> Drop for DelayQueue<K, V> {
    fn drop(&mut self) {
        // The wakers' drops are the runtime's code: no lock is held over them.
        let mut state = lock(&self.shared.state);
        let own = state.wakers.extract_if(.., |(waiter, _)| *waiter == self.waiter);
        let own: Vec<(u64, Waker)> = own.collect();
        drop(state);
        drop(own);
    }
}

/// Only keys and `Clone` may panic under its lock, and they do so before anything is changed.
impl<K, V> UnwindSafe for DelayQueue<K, V> {}
impl<K, V> RefUnwindSafe for DelayQueue<K, V> {}

impl<K, V> fmt::Debug for DelayQueue<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DelayQueue").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Simulation;

    #[test]
    fn a_timer_that_was_firing_leaves_the_item_that_took_its_key_alone() {
        let simulation = Simulation::new();
        let queue = simulation.engine().delay_queue();
        queue.put("key", 1, Duration::from_secs(5)).expect("the engine runs");
        let shared = Arc::downgrade(&queue.shared);
        // The old item's timer has been taken out to fire and has not come to the lock.
        let firing = Notice { shared, key: "key", generation: 0, has_fired: false };
        assert_eq!(queue.put("key", 2, Duration::from_secs(5)), Ok(Some(1)));
        firing.fire();
        assert_eq!(queue.get(&"key"), Some(2));
        assert_eq!(simulation.advance(Duration::from_secs(5)), 1);
        assert_eq!(queue.try_recv(), Some(("key", 2)));
        assert_eq!(queue.try_recv(), None);
    }
}
