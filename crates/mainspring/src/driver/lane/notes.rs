//! Notes to cancel a timer, left by threads that did not wait for the lane's lock.
//!
//! ```text
//!   discard, lock taken ──note──▶ [ notes ] ──the next caller reads──▶ given up ──a thread that fires──▶ dropped
//! ```
//!
//! | field | guard | why |
//! |---|---|---|
//! | `notes` | a queue without a lock | ids to cancel; read by each call that asks or schedules, and before a firing begins |
//! | `note_count` | - | says that there are notes: written after a note is left, so that a reader may miss only one that is being left |
//! | `given_up` | `state` | what notes named: cancelled for every caller, and dropped by a thread that fires, which `schedule` wakes for it |
//!
//! The drop of a payload is the owner's code: it may panic, and it may use the front that is scheduling. So
//! no other thread runs it, and no lock is held.
//!
//! Cost: an atomic load where there are no notes; a step in an ordered set for each.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mainspring_queue::{Expired, Tick, TimerQueue};

use super::{Concerned, Lane, State};
use crate::driver::Unfired;
use crate::sync::atomic::Ordering;

impl<Q> Lane<Q> {
    pub(super) fn leave_note(&self, id: mainspring_queue::TimerId) {
        // The lane keeps the other end as long as it lives.
        let _ = self.notes.send(id);
        // Release: a thread that sees the count finds the note.
        self.note_count.fetch_add(1, Ordering::Release);
        if self.ends_when_empty.load(Ordering::Relaxed) {
            self.alarm.wake(self.index, Concerned::Sleeper, Tick::ZERO);
        }
    }

    /// Reads the notes: from here on their timers are cancelled for every caller.
    #[inline]
    pub(super) fn read_notes<T>(&self, state: &mut State<Q>)
    where
        Q: TimerQueue<T>,
    {
        // Acquire: a thread that sees the count finds the notes.
        match self.note_count.load(Ordering::Acquire) {
            0 => (),
            announced => self.read_announced(state, announced, None),
        }
    }

    /// Tells whether a note names a timer that has left the queue and is about to fire: the firing begins
    /// with this look.
    #[inline]
    pub(super) fn is_noted<T>(&self, state: &mut State<Q>, taken: &Expired<T>) -> bool
    where
        Q: TimerQueue<T>,
    {
        match self.note_count.load(Ordering::Acquire) {
            0 => false,
            announced => {
                self.read_announced(state, announced, Some(taken.id));
                state.given_up.remove(&taken.id)
            }
        }
    }

    /// Not more than were announced: threads that leave notes all the time must not keep this one here.
    #[cold]
    fn read_announced<T>(
        &self,
        state: &mut State<Q>,
        announced: usize,
        taken: Option<mainspring_queue::TimerId>,
    ) where
        Q: TimerQueue<T>,
    {
        for _ in 0..announced {
            let Ok(id) = state.notes.try_recv() else { break };
            // Relaxed: only this side takes notes away, under the lock.
            self.note_count.fetch_sub(1, Ordering::Relaxed);
            let is_pending = Some(id) == taken || state.queue.deadline(id).is_some();
            if is_pending && state.given_up.insert(id) {
                state.counts.cancelled += 1;
            }
        }
    }

    /// Takes out what was given up, to be dropped with no lock held.
    #[cold]
    pub(super) fn open_graves<T>(&self, state: &mut State<Q>) -> Vec<Unfired<T>>
    where
        Q: TimerQueue<T>,
    {
        let given_up = std::mem::take(&mut state.given_up);
        let take = |id| {
            let deadline = state.queue.deadline(id)?;
            let payload = state.queue.cancel(id)?;
            Some(self.unfired(Expired { id, deadline, payload }))
        };
        given_up.into_iter().filter_map(take).collect()
    }

    /// Drops what was given up, where no thread is left to report a panic to: its message was printed.
    pub(super) fn drop_given_up<T>(&self)
    where
        Q: TimerQueue<T>,
    {
        let mut state = self.state();
        self.read_notes(&mut state);
        let graves = self.open_graves(&mut state);
        drop(state);
        graves.into_iter().for_each(|timer| _ = catch_unwind(AssertUnwindSafe(|| drop(timer))));
    }
}
