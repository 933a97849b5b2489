//! Writing the planner's decisions to disk, and what happens if that fails.
//!
//! ```text
//! batch ─▶ store's thread ─┬─ done ─────────▶ Committed ─▶ outputs
//!                          ├─ busy, unknown ─▶ tried again until it is done; people are told after a second
//!                          ├─ full ─▶ room is made ─▶ again; or the batch is held, and tried each second
//!                          └─ anything else ─▶ running jobs are killed, and the server ends
//! ```
//!
//! While a batch is held for lack of room, the planner is told nothing: ends of runs wait to be told, and
//! requests for changes are refused. While the store is busy, the planner continues and its decisions wait
//! for the store. Up to `MAX_BACKLOG` of [`owner`](super::owner) requests for changes are taken meanwhile. So
//! nothing starts that is not recorded, and memory is bounded.
//!
//! Cost: one commit for each batch, on another thread: see [`writer`](super::writer).

use std::time::{Duration, Instant};

use jiff::Timestamp;
use mainspring_job::{Output, StoreError};

use super::Server;
use super::boot::Keeping;
use super::store_thread::{Order, Report};
use super::writer::{FULL, LATE};
use super::zone_watch::ZoneWatch;
use crate::error::Error;
use crate::log::Level;
use crate::machine_start::MachineStart;
use crate::waiting::wait_for;
use mainspring_exec::clock::{Moment, boot_id};
use mainspring_file::cron_places::CronPlaces;
use mainspring_host::net::BorrowedFd;

/// How long the end waits for a store that does not answer: what is not on disk then is recorded as abandoned
/// at the next start.
const END_WAIT: Duration = Duration::from_secs(5);

const _: () = assert!(LATE.as_nanos() < END_WAIT.as_nanos(), "people know why an end is not recorded");

/// What people are told while a batch is held.
const NOTHING_RECORDED: &str =
    "the disk is full: nothing can be recorded, so nothing starts until there is room";

impl Server {
    /// What the store's thread has done becomes outputs, answers and notes. Returns whether a batch was
    /// written.
    pub(super) fn take_news(&mut self, now: Moment, outputs: &mut Vec<Output>) -> Result<bool, Error> {
        self.owner.writer().reports.clear();
        let mut has_committed = false;
        loop {
            let was_full = self.owner.writer().is_full();
            let Some(report) = self.owner.next_report(now) else { break };
            match report {
                Report::Committed(batch, _) => {
                    self.owner.take_committed(batch, now, outputs);
                    self.clients.look_for_ends();
                    has_committed = true;
                    if was_full {
                        // Whether there is more than that, a look at the room says.
                        self.is_said_full = false;
                        self.note(now.wall, "the store has room again: scheduled jobs continue");
                    }
                }
                Report::Loaded(input) => self.owner.tell(input),
                Report::Answered(answered) => self.take_answer(answered),
                Report::Note(text) => self.note(now.wall, &text),
                Report::Full => {
                    if self.make_room(now) {
                        self.owner.write_again(now);
                    }
                }
                Report::Released(result) => self.owner.released = Some(result),
                Report::Renewed(_) | Report::Busy(_) => {}
                Report::Failed(StoreError::Fenced) if self.owner.lease().lasts.is_some() => {
                    self.lose(now, "another plans now");
                }
                Report::Failed(error) => return Err(self.stop_for(error)),
            }
        }
        self.keep_machine_start(now);
        Ok(has_committed)
    }

    /// Has `@reboot` jobs run if the machine was started since they last did. In memory each start is the
    /// first.
    pub(super) fn look_at_machine_start(&mut self) {
        if self.keeping == Keeping::InMemory {
            return;
        }
        let of_cron = self.files.reader.cron.as_ref().map(CronPlaces::reboot);
        let start = MachineStart::new(&self.data, boot_id(), of_cron);
        match start.is_served() {
            true => self.owner.set_machine_start(Timestamp::MIN),
            false => self.machine_start = Some(start),
        }
    }

    fn keep_machine_start(&mut self, now: Moment) {
        if !self.owner.has_recorded_all() {
            return;
        }
        if let Some(Err(error)) = self.machine_start.take().map(|start| start.keep()) {
            self.note(now.wall, &format!("@reboot jobs run again at the next start of the server: {error}"));
        }
    }

    /// Whether requests are taken now. A store that only needs a moment is waited for; of one that does not
    /// answer people are told.
    pub(super) fn takes_requests(&self, now: Moment) -> bool {
        !self.owner.is_backlogged() || self.owner.writer().late(now).is_some()
    }

    /// Gives something up for the store. Returns whether there was anything.
    fn make_room(&mut self, now: Moment) -> bool {
        let has_room = !self.reserve.is_at_limit() && self.give_up(now);
        if !has_room && !self.is_said_full {
            self.is_said_full = true;
            self.note_at(now.wall, Level::Error, NOTHING_RECORDED);
        }
        has_room
    }

    fn give_up(&mut self, now: Moment) -> bool {
        let was_held_back = self.reserve.release();
        self.work.outputs.keeps = false;
        if was_held_back {
            self.note_at(
                now.wall,
                Level::Warning,
                "the disk is full: new work is refused, and scheduled jobs go on with the reserve",
            );
            return true;
        }
        let removed_count = self.work.outputs.remove_oldest(self.reserve.floor_bytes);
        if 0 < removed_count {
            let text =
                format!("the disk is full: the oldest kept output was removed ({removed_count} files)");
            self.note_at(now.wall, Level::Warning, &text);
        }
        0 < removed_count
    }

    /// Measures the room, and says what has changed.
    pub(super) fn look_at_room(&mut self, now: Moment) {
        if self.owner.writer().is_full() {
            // The batch that is held finds out whether there is room.
            return;
        }
        let before = self.reserve.trouble();
        self.reserve.look();
        self.work.outputs.keeps = !self.reserve.is_short();
        let after = self.reserve.trouble();
        if before != after {
            self.is_said_full = false;
            self.note(
                now.wall,
                after.unwrap_or("there is room on the disk again: output is kept, and new work taken"),
            );
        }
    }

    /// Has the store looked at, whether all of it is where it was, and looks after the socket beside it.
    pub(super) fn look_at_store(&mut self, now: Moment) {
        self.owner.writer().order(Order::Renew);
        let text = match self.clients.peers.listen_again() {
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
    }

    /// Says when the store does not answer, and when it does again.
    pub(super) fn say_late(&mut self, now: Moment) {
        if let Some(news) = self.owner.lateness_news(now) {
            self.note(now.wall, &news);
        }
    }

    /// What is in trouble, for people.
    pub(super) fn troubles(&self, now: Moment) -> Vec<String> {
        if self.owner.writer().is_full() {
            return vec![NOTHING_RECORDED.to_owned()];
        }
        let of_disk = self.reserve.trouble().map(str::to_owned);
        let of_zones = self.files.zones.as_ref().and_then(ZoneWatch::trouble);
        self.owner
            .writer()
            .trouble(now)
            .into_iter()
            .chain(of_disk)
            .chain(of_zones)
            .chain(self.unserved())
            .collect()
    }

    /// Whether the end need not wait for the store any more: all is on disk, or it will not be in time.
    pub(super) fn has_written(&self, ending_since: Moment, now: Moment) -> bool {
        let has_waited = self.owner.writer().waits_since().is_some_and(|since| END_WAIT <= now.since(since));
        let is_hopeless = has_waited && END_WAIT <= now.since(ending_since);
        self.owner.is_settled() || self.owner.writer().is_full() || is_hopeless
    }

    /// Until when the end waits for the store.
    pub(super) fn end_deadline(&self, ending_since: Moment) -> Option<Instant> {
        let since = self.owner.writer().waits_since()?.monotonic.max(ending_since.monotonic);
        since.checked_add(END_WAIT)
    }

    /// Gives the lease up. Returns why that could not be recorded, if it could not.
    pub(super) fn release_store(&mut self) -> Result<Option<String>, Error> {
        let mut why = self.owner.writer().why_late().to_owned();
        if self.owner.writer().is_full() || !self.owner.writer().is_idle() {
            return Ok(Some(why));
        }
        let began = Moment::now();
        self.owner.writer().release();
        loop {
            let now = Moment::now();
            self.take_news(now, &mut Vec::new())?;
            let rest = END_WAIT.saturating_sub(now.since(began));
            match self.owner.released.take() {
                Some(Ok(())) => return Ok(None),
                // The answer to an earlier try was lost, or another server has the jobs: they are given up.
                Some(Err(StoreError::Fenced)) if self.owner.lease().lasts.is_some() => return Ok(None),
                Some(Err(StoreError::Full(_))) => return Ok(Some(FULL.to_owned())),
                Some(Err(error @ (StoreError::Busy(_) | StoreError::Unknown))) => {
                    why = error.to_string();
                    self.owner.writer().release();
                }
                Some(Err(error)) => return Err(Error::Store(error)),
                None => {}
            }
            if rest.is_zero() || 0 < self.signals.stop_requests() {
                return Ok(Some(why));
            }
            let readable: Vec<BorrowedFd<'_>> =
                self.signals.fds().into_iter().chain(self.owner.fds()).collect();
            wait_for(&readable, &[], Some(rest)).map_err(Error::setup("polling"))?;
        }
    }

    /// The store is not to be trusted any more: what runs is killed, and nothing more is promised.
    fn stop_for(&mut self, error: StoreError) -> Error {
        let now = Moment::now();
        self.note_at(now.wall, Level::Error, &format!("the store failed, and the server stops: {error}"));
        self.work.kill_processes_at_once(now);
        self.log.flush(now.wall);
        Error::Store(error)
    }
}
