//! std's `BTreeMap` from (deadline, number) to payload: what one writes oneself first.
//!
//! Cost: all O(log n), draining in order O(1) a timer. The key is the id, so that no table of records is
//! needed.
//!
//! It does not keep an id over a reset: the key changes with the deadline.

use std::collections::BTreeMap;

use crate::api::{Due, QueueSubject, Step};
use crate::case::Failure;
use crate::subject::{Kind, Subject};

/// The subject.
pub fn subject() -> Subject {
    Subject::queue("BTreeMap", Kind::Std, "BTreeMap from (deadline, number) to payload", |_| Tree::default())
}

/// The map.
#[derive(Debug, Default)]
pub struct Tree {
    map: BTreeMap<(u64, u64), u64>,
    next_number: u64,
}

impl QueueSubject for Tree {
    type Key = (u64, u64);

    #[inline(always)]
    fn schedule(&mut self, deadline: u64, payload: u64) -> Result<(u64, u64), Failure> {
        let key = (deadline, self.next_number);
        self.next_number += 1;
        let before = self.map.insert(key, payload);
        debug_assert_eq!(before, None, "a number is one timer's");
        Ok(key)
    }

    #[inline(always)]
    fn cancel(&mut self, key: (u64, u64)) -> bool {
        self.map.remove(&key).is_some()
    }

    #[inline(always)]
    fn reset(&mut self, key: (u64, u64), deadline: u64) -> Result<(u64, u64), Failure> {
        let payload = self.map.remove(&key).ok_or_else(Failure::lost)?;
        self.schedule(deadline, payload)
    }

    #[inline]
    fn advance(&mut self, now: u64, due: &mut Due) {
        while let Some(entry) = self.map.first_entry() {
            if entry.key().0 > now {
                break;
            }
            due.fire(entry.remove());
        }
    }

    fn step(&mut self, due: &mut Due) -> Option<Step> {
        Some(self.wake_at(self.map.first_key_value()?.0.0, due))
    }

    fn pending_count(&self) -> u64 {
        self.map.len() as u64
    }
}
