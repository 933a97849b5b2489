//! Making durable what the planner has decided, and what becomes of it when that cannot be.
//!
//! ```text
//! batch ─▶ commit ─┬─ done ─────────▶ Committed ─▶ outputs
//!                  ├─ busy, unknown ─▶ again, at most MAX_COMMIT_TRIES times
//!                  ├─ full ─▶ room is made ─▶ again; or the batch is held, and tried each ROOM_WAIT
//!                  └─ anything else ─▶ what runs is killed, and the server ends
//! ```
//!
//! While a batch is held the planner is told nothing: what ends waits to be told, and requests for changes are refused. So
//! nothing starts that is not recorded, and nothing piles up.
//!
//! Cost: one commit for each batch.

use std::time::Duration;

use mainspring_job::{Answer, Batch, Input, Output, StoreError};

use super::held::Held;
use super::{Server, polling};
use crate::error::Error;
use crate::waiting::wait_for;
use mainspring_exec::clock::Moment;

/// How often one commit is tried again while the store is busy or its answer was lost.
const MAX_COMMIT_TRIES: usize = 100;

/// How long to wait in between.
const TRY_WAIT: Duration = Duration::from_millis(10);

impl Server {
    /// Makes everything durable that the planner has decided, as far as there is room for it.
    pub(super) fn commit(&mut self, now: Moment, outputs: &mut Vec<Output>) -> Result<(), Error> {
        while self.held.is_none()
            && let Some(batch) = self.planner.take_batch()
        {
            self.commit_one(batch, now, outputs)?;
        }
        Ok(())
    }

    /// Tries a batch again that is held, if it is time. Returns whether none is held any more.
    pub(super) fn commit_held(&mut self, now: Moment, outputs: &mut Vec<Output>) -> Result<bool, Error> {
        match self.held.take() {
            None => return Ok(true),
            Some(held) if !held.wait(now).is_zero() => self.held = Some(held),
            Some(held) => {
                self.commit_one(held.batch, now, outputs)?;
                if self.held.is_none() {
                    self.note(now.wall, "there is room on the disk again: all goes on");
                }
            }
        }
        Ok(self.held.is_none())
    }

    fn commit_one(&mut self, batch: Batch, now: Moment, outputs: &mut Vec<Output>) -> Result<(), Error> {
        match self.try_commit(&batch, now)? {
            Some(answers) => {
                let committed = Input::Committed { number: batch.number, answers };
                self.planner.handle(now.wall, committed, outputs);
            }
            None => self.held = Some(Held { batch, tried: now }),
        }
        Ok(())
    }

    /// `None` if there is no room.
    fn try_commit(&mut self, batch: &Batch, now: Moment) -> Result<Option<Vec<Answer>>, Error> {
        let mut tries = 0;
        loop {
            match self.store.commit(self.lease, batch) {
                Ok(answers) => return Ok(Some(answers)),
                Err(StoreError::Busy | StoreError::Unknown) if tries < MAX_COMMIT_TRIES => {
                    tries += 1;
                    wait_for(&[], &[], Some(TRY_WAIT)).map_err(polling)?;
                }
                Err(StoreError::Full(_)) if self.make_room(now) => {}
                Err(StoreError::Full(_)) => return Ok(None),
                Err(error) => {
                    self.say_notes_of_store(now);
                    return Err(self.stop_for(error));
                }
            }
        }
    }

    /// Gives something up for the store. Returns whether there was anything.
    fn make_room(&mut self, now: Moment) -> bool {
        let was_held_back = self.room.release();
        self.outputs.keeps = false;
        if was_held_back {
            self.note(
                now.wall,
                "the disk is full: new work is refused, and scheduled jobs go on with the reserve",
            );
            return true;
        }
        let removed_count = self.outputs.remove_oldest(self.room.floor_bytes());
        if 0 < removed_count {
            let text =
                format!("the disk is full: the oldest kept output was removed ({removed_count} files)");
            self.note(now.wall, &text);
            return true;
        }
        if !self.is_said_full {
            self.is_said_full = true;
            self.note(
                now.wall,
                "the disk is full: nothing can be recorded, so nothing starts until there is room",
            );
        }
        false
    }

    /// Measures the room, and says what has changed.
    pub(super) fn look_at_room(&mut self, now: Moment) {
        let before = self.room.trouble();
        self.room.look();
        self.outputs.keeps = !self.room.is_short();
        let after = self.room.trouble();
        if before != after {
            self.is_said_full = false;
            self.note(
                now.wall,
                after.unwrap_or("there is room on the disk again: output is kept, and new work taken"),
            );
        }
    }

    /// Asks the store whether all of it is where it was, and looks after the socket beside it.
    pub(super) fn look_at_store(&mut self, now: Moment) -> Result<(), Error> {
        match self.store.renew(self.lease) {
            // Room and patience are for the next commit.
            Ok(()) | Err(StoreError::Full(_) | StoreError::Busy | StoreError::Unknown) => {}
            Err(error) => {
                self.say_notes_of_store(now);
                return Err(self.stop_for(error));
            }
        }
        let text = match self.peers.listen_again() {
            Ok(false) => None,
            Ok(true) => Some("the socket was removed: it was made again".to_owned()),
            Err(error) => Some(format!("the socket was removed, and cannot be made again: {error}")),
        };
        if text != self.socket_note
            && let Some(text) = &text
        {
            self.note(now.wall, text);
        }
        self.socket_note = text;
        Ok(())
    }

    pub(super) fn say_notes_of_store(&mut self, now: Moment) {
        for note in self.store.notes() {
            self.note(now.wall, &note);
        }
    }

    /// What is in trouble, for people.
    pub(super) fn troubles(&self) -> Vec<String> {
        match (&self.held, self.room.trouble()) {
            (Some(_), _) => {
                vec![
                    "the disk is full: nothing can be recorded, so nothing starts until there is room"
                        .to_owned(),
                ]
            }
            (None, trouble) => trouble.map(str::to_owned).into_iter().collect(),
        }
    }

    /// The store is not to be trusted any more: what runs is killed, and nothing more is promised.
    fn stop_for(&mut self, error: StoreError) -> Error {
        let now = Moment::now();
        self.note(now.wall, &format!("the store failed, and the server stops: {error}"));
        self.executor.kill_all_at_once(now);
        self.log.flush(now.wall);
        Error::Store(error)
    }
}
