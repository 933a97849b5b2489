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
    record: u32,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    payload: u64,
    /// Where its entry is in the heap; in a free record the next free one.
    position: u32,
    generation: u32,
}

/// The name of a timer.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    record: u32,
    generation: u32,
}

const NONE: u32 = u32::MAX;

/// The heap and its records.
#[derive(Debug)]
pub struct HeapPositions {
    heap: Vec<Entry>,
    records: Vec<Record>,
    first_free: u32,
    now: u64,
}

impl Default for HeapPositions {
    fn default() -> HeapPositions {
        HeapPositions { heap: Vec::new(), records: Vec::new(), first_free: NONE, now: 0 }
    }
}

impl HeapPositions {
    #[inline]
    fn put(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.records[entry.record as usize].position = position as u32;
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
        let record = self.heap[position].record;
        debug_assert_eq!(
            self.records[record as usize].position as usize, position,
            "a record knows its place"
        );
        let last = self.heap.pop().expect("the heap holds the entry that is removed");
        if position < self.heap.len() {
            self.sift(position, last);
        }
        let freed = &mut self.records[record as usize];
        freed.generation = freed.generation.wrapping_add(1);
        freed.position = self.first_free;
        self.first_free = record;
        freed.payload
    }

    fn position(&self, key: Key) -> Option<usize> {
        let record = self.records.get(key.record as usize)?;
        let position = (record.generation == key.generation).then_some(record.position as usize);
        debug_assert!(
            position.is_none_or(|at| self.heap[at].record == key.record),
            "an entry knows its record"
        );
        position
    }
}

impl QueueSubject for HeapPositions {
    type Key = Key;

    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<Key, Failure> {
        let record = if self.first_free == NONE {
            self.records.push(Record { payload, position: 0, generation: 0 });
            self.records.len() as u32 - 1
        } else {
            let record = self.first_free;
            let reused = &mut self.records[record as usize];
            self.first_free = reused.position;
            reused.payload = payload;
            record
        };
        let entry = Entry { deadline, record };
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1, entry);
        Ok(Key { record, generation: self.records[record as usize].generation })
    }

    fn cancel(&mut self, key: Key) -> bool {
        self.position(key).map(|position| self.remove_at(position)).is_some()
    }

    fn reset(&mut self, key: Key, deadline: u64) -> Result<Key, Failure> {
        let position =
            self.position(key).ok_or_else(|| Failure::Wrong("a live timer was gone".to_owned()))?;
        self.sift(position, Entry { deadline, record: key.record });
        Ok(key)
    }

    fn advance(&mut self, now: u64, due: &mut Due) {
        self.now = now;
        while self.heap.first().is_some_and(|entry| entry.deadline <= now) {
            due.fire(self.remove_at(0));
        }
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        let now = self.heap.first()?.deadline.max(self.now);
        self.advance(now, due);
        Some(Step { now, wakeup_count: 1 })
    }

    fn pending_count(&self) -> u64 {
        self.heap.len() as u64
    }
}
