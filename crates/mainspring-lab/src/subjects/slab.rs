//! Records of payloads by index and generation, for structures of std that have no ids of their own.
//!
//! ```text
//!   key (index, generation) -> records[index] { generation, place, payload }     free: a stack of indices
//! ```
//!
//! The place is a number that the structure keeps with the record, such as where the timer is in a heap.
//!
//! Cost: 16 bytes a record, O(1).
//!
//! It does not give memory back.

/// The name of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Which record.
    pub index: u32,
    /// Which of its lives.
    pub generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    payload: u64,
    generation: u32,
    /// The owner's number; in a free record the index of the next free one.
    place: u32,
}

const NONE: u32 = u32::MAX;

/// The records.
#[derive(Debug)]
pub struct Slab {
    records: Vec<Record>,
    first_free: u32,
    live_count: u32,
}

impl Slab {
    /// How many records are live.
    pub const fn live_count(&self) -> u64 {
        self.live_count as u64
    }

    /// Takes a payload.
    #[inline]
    pub fn insert(&mut self, payload: u64) -> Key {
        self.live_count += 1;
        let index = self.first_free;
        let Some(record) = self.records.get_mut(index as usize) else {
            let index = self.records.len() as u32;
            self.records.push(Record { payload, generation: 0, place: 0 });
            return Key { index, generation: 0 };
        };
        self.first_free = record.place;
        record.payload = payload;
        Key { index, generation: record.generation }
    }

    /// Writes the place of a live record.
    #[inline]
    pub fn set_place(&mut self, key: Key, place: u32) {
        self.records[key.index as usize].place = place;
    }

    /// The place of a live record.
    #[inline]
    pub fn place(&self, key: Key) -> Option<u32> {
        let record = self.records.get(key.index as usize)?;
        (record.generation == key.generation).then_some(record.place)
    }

    /// Whether a key names a live record.
    #[inline]
    pub fn contains(&self, key: Key) -> bool {
        self.place(key).is_some()
    }

    /// Gives a payload back.
    #[inline]
    pub fn remove(&mut self, key: Key) -> Option<u64> {
        debug_assert!(self.live_count as usize <= self.records.len(), "each that lives has a record");
        let record = self.records.get_mut(key.index as usize)?;
        if record.generation != key.generation {
            return None;
        }
        record.generation = record.generation.wrapping_add(1);
        record.place = self.first_free;
        self.first_free = key.index;
        self.live_count -= 1;
        Some(record.payload)
    }

    /// Makes the key of a live record stale and gives the record a new one.
    #[inline]
    pub fn rename(&mut self, key: Key) -> Option<Key> {
        let record = self.records.get_mut(key.index as usize)?;
        if record.generation != key.generation {
            return None;
        }
        record.generation = record.generation.wrapping_add(1);
        Some(Key { index: key.index, generation: record.generation })
    }
}

impl Default for Slab {
    fn default() -> Slab {
        Slab { records: Vec::new(), first_free: NONE, live_count: 0 }
    }
}
