//! A collection whose entries come out as a stream when their time is over: tokio-util's `DelayQueue`, without its panics.
//!
//! ```
//! use std::time::Duration;
//! use mainspring::front::Futures;
//! use mainspring::front::future::Expiring;
//!
//! # async fn trial() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = mainspring::preset::mainspring()?;
//! let mut sessions = Expiring::new(engine.handle().clone());
//! let alice = sessions.insert("alice", Duration::from_secs(30))?;
//! sessions.insert("bob", Duration::from_millis(5))?;
//! assert!(sessions.reset(alice, Duration::from_secs(60)), "alice is still there");
//! let expired = sessions.next_expired().await.expect("bob's time is over");
//! assert_eq!(expired.value, "bob");
//! assert_eq!(sessions.remove(alice), Some("alice"));
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//!   entries   [ value, deadline, serial, timer ] ..        the owner's: no lock
//!   a timer fires ──▶ due: (entry, serial) ──▶ the owner's task is woken, and takes the entry out
//! ```
//!
//! | tokio-util | here |
//! |---|---|
//! | `insert(value, timeout) -> Key` | [`insert`](Expiring::insert), which may be refused; the value comes back |
//! | `remove(&key)`, which panics for a key that expired | [`remove`](Expiring::remove) `-> Option<V>` |
//! | `reset(&key, timeout)`, which panics likewise | [`reset`](Expiring::reset) `-> bool` |
//! | `poll_expired`, `Stream`, `None` while it is empty | the same |
//! | `deadline(&key)`, `len`, `clear`, `is_empty` | the same |
//!
//! An entry whose time is over counts until it is taken out: until then it can be removed, and reset to live on. Keys are never
//! given again. If the driver is shut down the stream ends, and the entries stay, to be removed or [cleared](Expiring::clear).
//!
//! Cost: a timer per entry, and no allocation once as many entries have been held; a lock of its own per expiry and poll.
//! `remove` and `reset` are a cancel and a reset of the timer.
//!
//! It does not keep more than 2^32 entries.
//!
//! Source: the documentation of `tokio_util::time::DelayQueue`.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_core::Stream;
use mainspring_queue::Tick;

use crate::driver::{Refusal, Refused, TimerId};
use crate::front::task::{Add, Task};
use crate::handle::{Handle, Local};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, PoisonError};

/// A collection whose entries expire.
pub struct Expiring<V> {
    handle: Handle<Task>,
    slots: Vec<Slot<V>>,
    /// Which slots are empty.
    free: Vec<u32>,
    next_serial: u64,
    shared: Arc<Shared>,
}

/// The name of an entry. It names that entry for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    index: u32,
    /// The serial of the entry's first timer.
    birth: u64,
}

/// An entry whose time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiredEntry<V> {
    /// Its key, which names nothing any more.
    pub key: Key,
    /// When its time was over.
    pub deadline: Tick,
    /// What was inserted.
    pub value: V,
}

type Slot<V> = Option<Entry<V>>;

struct Entry<V> {
    value: V,
    birth: u64,
    deadline: Tick,
    /// Tells the entry's timer from those before it.
    serial: u64,
    part: Local<Task>,
    timer: TimerId,
}

/// What the owner and the thread that fires share.
struct Shared {
    state: Mutex<State>,
    /// The serial of the timer that the owner cancels just now. Relaxed: who drops that timer is the owner's thread itself.
    cancelling: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Slots and serials of timers that fired.
    due: VecDeque<(u32, u64)>,
    waker: Option<Waker>,
    /// Whether the driver dropped a timer.
    is_ended: bool,
}

/// A timer's payload.
struct Notice {
    shared: Arc<Shared>,
    index: u32,
    serial: u64,
}

/// No serial is 0.
const NONE: u64 = 0;

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes the owner's task, with no lock held over that.
    fn tell(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        change(&mut state);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Notice {
    fn fire(mut self) {
        let (index, serial) = (self.index, std::mem::replace(&mut self.serial, NONE));
        self.shared.tell(|state| state.due.push_back((index, serial)));
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        let is_over = self.serial == NONE || self.serial == self.shared.cancelling.load(Ordering::Relaxed);
        if !is_over {
            self.shared.tell(|state| state.is_ended = true);
        }
    }
}

impl<V> Expiring<V> {
    /// Makes an empty collection over a driver that runs tasks.
    pub fn new(handle: Handle<Task>) -> Expiring<V> {
        let shared = Shared { state: Mutex::default(), cancelling: AtomicU64::new(NONE) };
        let shared = Arc::new(shared);
        Expiring { handle, slots: Vec::new(), free: Vec::new(), next_serial: NONE + 1, shared }
    }

    /// Adds an entry whose time is over `delay` from now, and not earlier.
    ///
    /// # Errors
    /// The value comes back: the driver was shut down, or its queue rejects the deadline.
    pub fn insert(&mut self, value: V, delay: Duration) -> Result<Key, Refused<V>> {
        self.insert_at(value, self.handle.clock().after(delay))
    }

    /// Adds an entry whose time is over at a tick of the driver's clock.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    ///
    /// # Panics
    /// If there are 2^32 entries.
    pub fn insert_at(&mut self, value: V, deadline: Tick) -> Result<Key, Refused<V>> {
        let part = match self.handle.local() {
            Ok(part) => part,
            Err(reason) => return Err(Refused { reason, payload: value }),
        };
        let index = self.free.last().copied().unwrap_or(self.slots.len() as u32);
        assert!(index < u32::MAX, "there are fewer than 2^32 entries");
        let birth = self.next_serial;
        let timer = match self.arm(&part, index, deadline, Local::schedule) {
            Ok(timer) => timer,
            Err(reason) => return Err(Refused { reason, payload: value }),
        };
        let entry = Entry { value, birth, deadline, serial: birth, part, timer };
        match self.free.pop() {
            Some(free) => self.slots[free as usize] = Some(entry),
            None => self.slots.push(Some(entry)),
        }
        // A task that found nothing here has something to wait for now.
        if self.len() == 1 {
            self.shared.tell(|_| ());
        }
        Ok(Key { index, birth })
    }

    /// Starts a timer with the next serial.
    fn arm(&mut self, part: &Local<Task>, index: u32, deadline: Tick, add: Add) -> Result<TimerId, Refusal> {
        let serial = self.next_serial;
        self.next_serial += 1;
        let notice = Notice { shared: Arc::clone(&self.shared), index, serial };
        let armed = add(part, deadline, Task::brief(move |_| notice.fire()));
        armed.map_err(|refused| {
            self.drop_cancelled(serial, refused.payload);
            refused.reason
        })
    }

    /// Drops a timer that did not end by its driver's end.
    fn drop_cancelled(&self, serial: u64, task: Task) {
        self.shared.cancelling.store(serial, Ordering::Relaxed);
        drop(task);
        self.shared.cancelling.store(NONE, Ordering::Relaxed);
    }

    fn entry(&self, key: Key) -> Option<&Entry<V>> {
        self.slots.get(key.index as usize)?.as_ref().filter(|entry| entry.birth == key.birth)
    }

    /// Takes an entry out.
    fn take(&mut self, index: u32) -> Option<Entry<V>> {
        let entry = self.slots[index as usize].take()?;
        self.free.push(index);
        Some(entry)
    }

    /// Ends an entry's timer, be it that it has fired and waits to be seen.
    fn disarm(&self, index: u32, entry: &Entry<V>) {
        match entry.part.cancel(entry.timer) {
            Some(task) => self.drop_cancelled(entry.serial, task),
            None => self.shared.state().due.retain(|&due| due != (index, entry.serial)),
        }
    }

    /// Removes an entry and returns its value; `None`: it was removed before, or taken out as expired.
    pub fn remove(&mut self, key: Key) -> Option<V> {
        self.entry(key)?;
        let entry = self.take(key.index)?;
        self.disarm(key.index, &entry);
        Some(entry.value)
    }

    /// Gives an entry a new time, `delay` from now; tells whether it is there. Also one whose time is over lives on, if it has not
    /// been taken out.
    pub fn reset(&mut self, key: Key, delay: Duration) -> bool {
        self.reset_at(key, self.handle.clock().after(delay))
    }

    /// Gives an entry a new time, at a tick of the driver's clock; tells whether it is there.
    pub fn reset_at(&mut self, key: Key, deadline: Tick) -> bool {
        let Some(entry) = self.entry(key) else { return false };
        let (part, timer) = (entry.part.clone(), entry.timer);
        let is_moved = part.reset(timer, deadline).is_ok();
        if !is_moved {
            self.disarm(key.index, entry);
            self.rearm(key.index, &part, deadline);
        }
        if let Some(entry) = &mut self.slots[key.index as usize] {
            entry.deadline = deadline;
        }
        true
    }

    /// Starts another timer for an entry, which no limit turns away. A driver that has ended ends the stream.
    fn rearm(&mut self, index: u32, part: &Local<Task>, deadline: Tick) {
        let serial = self.next_serial;
        let armed = self.arm(part, index, deadline, Local::schedule_assured);
        match (armed, &mut self.slots[index as usize]) {
            (Ok(timer), Some(entry)) => (entry.timer, entry.serial) = (timer, serial),
            _ => self.shared.tell(|state| state.is_ended = true),
        }
    }

    /// Returns when an entry's time is over; `None` if it is not there.
    pub fn deadline(&self, key: Key) -> Option<Tick> {
        self.entry(key).map(|entry| entry.deadline)
    }

    /// Lends an entry's value.
    pub fn get(&self, key: Key) -> Option<&V> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Returns how many entries there are, with those whose time is over and that have not been taken out.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Tells whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all entries and returns their values, in any order.
    pub fn clear(&mut self) -> Vec<V> {
        (0..self.slots.len() as u32)
            .filter_map(|index| {
                let entry = self.take(index)?;
                self.disarm(index, &entry);
                Some(entry.value)
            })
            .collect()
    }

    /// Waits for the next entry whose time is over; `None` if there is no entry, or the driver has been shut down. Dropping the
    /// future loses none.
    pub async fn next_expired(&mut self) -> Option<ExpiredEntry<V>> {
        poll_fn(|context| self.poll_expired(context)).await
    }

    /// Polls for the next entry whose time is over. After `None` an insert wakes the task that polled last.
    pub fn poll_expired(&mut self, context: &mut Context<'_>) -> Poll<Option<ExpiredEntry<V>>> {
        // A waker's clone and drop are the runtime's code: no lock is held over them.
        let mut fresh = None;
        loop {
            let shared = Arc::clone(&self.shared);
            let mut state = shared.state();
            if let Some((index, serial)) = state.due.pop_front() {
                drop(state);
                match self.expire(index, serial) {
                    Some(expired) => return Poll::Ready(Some(expired)),
                    None => continue,
                }
            }
            if state.is_ended {
                return Poll::Ready(None);
            }
            let is_kept = state.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
            if !is_kept && fresh.is_none() {
                drop(state);
                fresh = Some(context.waker().clone());
                continue;
            }
            let old = if is_kept { None } else { std::mem::replace(&mut state.waker, fresh) };
            drop(state);
            drop(old);
            return if self.is_empty() { Poll::Ready(None) } else { Poll::Pending };
        }
    }

    /// Takes out the entry whose timer fired, if it is that timer's and its time is over.
    fn expire(&mut self, index: u32, serial: u64) -> Option<ExpiredEntry<V>> {
        let entry = self.slots[index as usize].as_ref().filter(|entry| entry.serial == serial)?;
        let (part, deadline) = (entry.part.clone(), entry.deadline);
        if self.handle.clock().now() < deadline {
            // The queue's horizon lies before that.
            self.rearm(index, &part, deadline);
            return None;
        }
        let entry = self.take(index)?;
        Some(ExpiredEntry { key: Key { index, birth: entry.birth }, deadline, value: entry.value })
    }
}

impl<V> Drop for Expiring<V> {
    fn drop(&mut self) {
        drop(self.clear());
    }
}

/// The values are never pinned.
impl<V> Unpin for Expiring<V> {}

impl<V> Stream for Expiring<V> {
    type Item = ExpiredEntry<V>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ExpiredEntry<V>>> {
        self.poll_expired(context)
    }
}

impl<V> fmt::Debug for Expiring<V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Expiring").field("len", &self.len()).finish_non_exhaustive()
    }
}
