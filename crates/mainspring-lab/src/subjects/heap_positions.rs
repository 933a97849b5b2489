//! A binary heap that knows where each timer is: what libuv, libevent and Java have.
//!
//! ```text
//!   heap of (deadline, record)  <-- position --  records { position, generation, payload }
//! ```
//!
//! std's `BinaryHeap` does not tell where an entry went, so the sifting is written here.
//!
//! Cost: schedule, cancel, reset, fire O(log n), each move of an entry one write to its record. 16 bytes an
//! entry, 16 a record.
//!
//! It does not keep equals in order.

use super::slab::{Key, Slab};
use crate::api::{Due, QueueSubject, Step};
use crate::case::Failure;
use crate::subject::{Kind, Subject};

/// The subject.
pub fn subject() -> Subject {
    Subject::queue("heap-positions", Kind::Std, "a binary heap over Vec that knows its entries", |_| {
        HeapPositions::default()
    })
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    deadline: u64,
    key: Key,
}

/// The heap and its records, each of which has its position in the heap as its place.
#[derive(Debug, Default)]
pub struct HeapPositions {
    heap: Vec<Entry>,
    slab: Slab,
}

impl HeapPositions {
    #[inline]
    fn put(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.slab.set_place(entry.key, position as u32);
    }

    fn sift_up(&mut self, mut position: usize, entry: Entry) {
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.heap[parent].deadline <= entry.deadline {
                break;
            }
            self.put(position, self.heap[parent]);
            position = parent;
        }
        self.put(position, entry);
    }

    fn sift_down(&mut self, mut position: usize, entry: Entry) {
        loop {
            let mut child = 2 * position + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].deadline < self.heap[child].deadline {
                child += 1;
            }
            if entry.deadline <= self.heap[child].deadline {
                break;
            }
            self.put(position, self.heap[child]);
            position = child;
        }
        self.put(position, entry);
    }

    fn sift(&mut self, position: usize, entry: Entry) {
        if position > 0 && entry.deadline < self.heap[(position - 1) / 2].deadline {
            self.sift_up(position, entry);
        } else {
            self.sift_down(position, entry);
        }
    }

    fn remove_at(&mut self, position: usize) -> u64 {
        let key = self.heap[position].key;
        debug_assert_eq!(self.position(key), Some(position), "a record knows its place");
        let last = self.heap.pop().expect("the heap holds the entry that is removed");
        if position < self.heap.len() {
            self.sift(position, last);
        }
        self.slab.remove(key).expect("what is in the heap has a record")
    }

    fn position(&self, key: Key) -> Option<usize> {
        let position = self.slab.place(key)? as usize;
        debug_assert_eq!(self.heap[position].key, key, "an entry knows its record");
        Some(position)
    }
}

impl QueueSubject for HeapPositions {
    type Key = Key;

    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<Key, Failure> {
        let key = self.slab.insert(payload);
        let entry = Entry { deadline, key };
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1, entry);
        Ok(key)
    }

    fn cancel(&mut self, key: Key) -> bool {
        self.position(key).map(|position| self.remove_at(position)).is_some()
    }

    fn reset(&mut self, key: Key, deadline: u64) -> Result<Key, Failure> {
        let position = self.position(key).ok_or_else(Failure::lost)?;
        self.sift(position, Entry { deadline, key });
        Ok(key)
    }

    fn advance(&mut self, now: u64, due: &mut Due) {
        while self.heap.first().is_some_and(|entry| entry.deadline <= now) {
            due.fire(self.remove_at(0));
        }
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        Some(self.wake_at(self.heap.first()?.deadline, due))
    }

    fn pending_count(&self) -> u64 {
        self.heap.len() as u64
    }
}
