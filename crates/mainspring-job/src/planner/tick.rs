//! A tick: looks at what is due, up to a limit, and until there is as much to write as one batch holds.
//!
//! A job that is due while there is no room for another open run is set aside, and looked at again when there is room. Its
//! occurrences are late then, and its misfire rule judges them.

use jiff::{SignedDuration, Timestamp};

use super::agenda::Item;
use super::{Phase, Planner, wait};
use crate::name::JobName;
use crate::output::{Note, Output};
use crate::run::RunKey;
use crate::state::RunState;

/// Less than this back is not worth a note: clocks are corrected by fractions of a second all day.
const NOTED_STEP: SignedDuration = SignedDuration::from_secs(60);

/// Less than this back changes no wait.
const WAIT_STEP: SignedDuration = SignedDuration::from_secs(1);

impl Planner {
    pub(super) fn tick(&mut self, now: Timestamp) {
        if self.phase == Phase::Restoring {
            return;
        }
        self.notice_clock(now);
        self.end_probation(now);
        self.end_rest(now);
        if self.rests() {
            return;
        }
        for _ in 0..self.limits.per_turn {
            if self.ledger.is_full() {
                break;
            }
            if let Some(name) = self.pop_crowded() {
                self.job_due(now, &name);
            } else {
                match self.agenda.pop_due(now) {
                    Some(Item::Run(key)) => self.run_due(now, &key),
                    Some(Item::Job(name)) => self.job_due(now, &name),
                    None => break,
                }
            }
            self.ledger.end_unit();
        }
        self.fire_near(now);
    }

    /// A job that had to wait for room, if there is room now.
    fn pop_crowded(&mut self) -> Option<JobName> {
        if self.has_room() { self.crowded.pop_front() } else { None }
    }

    /// A scheduled run's time has come.
    fn run_due(&mut self, now: Timestamp, key: &RunKey) {
        let mut live = self.runs.remove(key).expect("what is on the agenda is open");
        assert_eq!(live.run.state, RunState::Scheduled, "only scheduled runs are on the agenda");
        live.wakes = None;
        let due = live.run.due;
        // Its wait is over, though the clock, which was set back, does not show its due time. It stays behind what it follows.
        let earliest = self.before_in_line(&live.run).map_or(now, |before| before.run.due.max(now));
        live.run.due = due.min(earliest);
        let is_shortened = live.run.due < due;
        self.admit(now, live, true);
        if is_shortened && let Some(live) = self.runs.get_mut(key) {
            // Its record says when it is due now, and stays when it starts.
            live.open = None;
        }
    }

    /// After a step back says which jobs rest until the clock has caught up, and lets no wait take longer for it.
    fn notice_clock(&mut self, now: Timestamp) {
        let step = now.duration_since(self.latest);
        if self.latest != Timestamp::MIN && step < -WAIT_STEP {
            if step < -NOTED_STEP {
                self.note_watermarks(now);
            }
            self.shorten_waits(now);
            self.latest = now;
        }
        self.latest = self.latest.max(now);
    }

    fn shorten_waits(&mut self, now: Timestamp) {
        let mut before: Option<(JobName, Timestamp)> = None;
        for (key, live) in &mut self.runs {
            if live.run.state == RunState::Scheduled {
                let mut wakes = wait::end(&live.run, now);
                if wait::is_in_line(&live.run) {
                    // In the order of their nominal times, whatever the clock showed when each was planned.
                    let earlier = before.take().filter(|(job, _)| *job == key.job);
                    wakes = earlier.map_or(wakes, |(_, earlier)| wakes.max(earlier));
                    before = Some((key.job.clone(), wakes));
                }
                if let Some(entry) = live.wakes.filter(|entry| entry.at != wakes) {
                    self.agenda.cancel(entry);
                    live.wakes = Some(self.agenda.add(wakes, Item::Run(key.clone())));
                }
            }
        }
    }

    pub(super) fn note_watermarks(&mut self, now: Timestamp) {
        for (name, tracked) in &self.jobs {
            let watermark = tracked.mark.watermark;
            if tracked.job.is_some() && NOTED_STEP < watermark.duration_since(now) {
                let note = Note::BehindWatermark { job: name.clone(), watermark };
                self.ledger.perform(Output::Note(note));
            }
        }
    }
}
