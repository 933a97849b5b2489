//! A tick: looks at the jobs and runs that are due, up to a limit, and until a batch is full.
//!
//! A job that is due while there is no room for another open run is set aside, and looked at again when there
//! is room. Its occurrences are late then, and its misfire rule judges them.
//!
//! Cost: O(log n) for each job and run that it looks at, at most
//! [`Limits::per_turn`](crate::Limits::per_turn).
//!
//! Does not wait, nor tell the time.

use jiff::Timestamp;

use super::Planner;
use super::clock_watch::{NOTED_STEP, StepBack};
use super::schedule_queue::Item;
use crate::input::Scope;
use crate::output::{Note, Output};
use crate::run::{Cause, RunKey};

impl Planner {
    pub(super) fn tick(&mut self, now: Timestamp) {
        if !self.activity.is_planning() {
            return;
        }
        self.notice_clock(now);
        self.end_probation(now);
        if let Some(until) = self.activity.paused_until().filter(|until| *until <= now) {
            self.resume(now, until, Scope::All);
            self.ledger.perform(Output::Note(Note::AllPauseOver));
        }
        if self.activity.starts_nothing() {
            return;
        }
        for _ in 0..self.limits.per_turn {
            if self.ledger.is_full() {
                break;
            }
            if self.has_room_in_line()
                && let Some(name) = self.jobs.pop_crowded()
            {
                self.job_due(now, &name);
            } else {
                match self.schedule_queue.pop_due(now) {
                    Some(Item::Run(key)) => self.run_due(now, &key),
                    Some(Item::Job(name)) => self.job_due(now, &name),
                    Some(Item::Silence(name)) => self.silence_due(now, &name),
                    None => break,
                }
            }
            self.ledger.end_unit();
        }
        self.fire_from_lookahead(now);
    }

    /// A scheduled run's time has come.
    fn run_due(&mut self, now: Timestamp, key: &RunKey) {
        let mut live = self.runs.wake(key);
        if let Some(absence) = self.jobs.absence(&key.job).filter(|_| live.run.cause != Cause::Once) {
            // It stays as it is on record, and is looked at when its job comes back or is removed. At one
            // time runs are looked at before jobs.
            let is_over = absence.is_over(now);
            self.runs.park(live, absence.end(), &mut self.schedule_queue);
            if is_over {
                self.forget(now, &key.job);
            }
            return;
        }
        let before = self.runs.before_in_line(&live.run, live.target);
        if before.and_then(|before| before.wakes).is_some_and(|entry| now < entry.at) {
            // A rewind has put others in line before it since it began to wait.
            return self.schedule(now, live);
        }
        let due = live.run.due;
        // Its wait is over, though the clock, which was set back, does not show its due time. It stays behind
        // what it follows.
        let before = self.runs.before_in_line(&live.run, live.target);
        let earliest = before.map_or(now, |before| before.run.due.max(now));
        live.run.due = due.min(earliest);
        let is_shortened = live.run.due < due;
        self.admit(now, live);
        if is_shortened {
            // Its record says when it is due now, and stays when it starts.
            self.runs.seal(key);
        }
    }

    /// After a step back says which jobs rest until the clock has caught up, and lets no wait take longer for
    /// it.
    fn notice_clock(&mut self, now: Timestamp) {
        let step = self.clock.tell(now);
        if step == StepBack::Noted {
            self.note_watermarks(now);
        }
        if step != StepBack::None {
            self.runs.shorten_waits(now, &mut self.schedule_queue);
        }
    }

    pub(super) fn note_watermarks(&mut self, now: Timestamp) {
        for (job, mark, _) in self.jobs.defined_after(None) {
            if NOTED_STEP < mark.watermark.duration_since(now) {
                let note = Note::BehindWatermark { job: job.name.clone(), watermark: mark.watermark };
                self.ledger.perform(Output::Note(note));
            }
        }
    }
}
