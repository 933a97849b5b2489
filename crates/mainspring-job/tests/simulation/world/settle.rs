//! The end of a history: the world waits until nothing more is to happen.

use super::*;

/// How often the world looks again and ends what runs, so that what waits for room and places gets both.
const MAX_ROUNDS: usize = 200;

impl World<'_> {
    /// Everything is put in order, so that what is still missing then is lost: pauses end, the clock is right
    /// again, all runs end, and in the end there are no jobs.
    pub(super) fn settle(&mut self) {
        self.fault = None;
        self.gather_count = 0;
        self.is_settling = true;
        self.log.push(Event::Mended);
        if self.is_stopping {
            self.end_server(Ends::Crash);
            self.boot();
        }
        self.show(self.high_water + SignedDuration::from_secs(3_601));
        let is_there = |found: Result<(), Crash>| assert!(found.is_ok(), "nothing crashes any more");
        is_there(self.command(Command::Resume(Scope::All)));
        for index in 0..self.script.subjects.len() {
            is_there(self.command(Command::Resume(Scope::Job(Script::name(index)))));
        }
        self.look_until_quiet();
        // Only where little may be open does what is due wait for the end of what runs.
        for _ in 0..MAX_ROUNDS {
            if self.running.is_empty() || 100 < self.script.max_open {
                break;
            }
            while !self.running.is_empty() {
                is_there(self.end(0, End::Succeeded));
            }
            self.look_until_quiet();
        }
        for index in 0..self.script.subjects.len() {
            // What ran may have paused its job again.
            is_there(self.command(Command::Resume(Scope::Job(Script::name(index)))));
        }
        self.look_until_quiet();
        self.log.push(Event::LookedLast { at: self.now });
        self.defined.clear();
        is_there(self.command(self.definitions()));
        for _ in 0..400 {
            while !self.running.is_empty() {
                is_there(self.end(0, End::Succeeded));
            }
            let horizon = self.now + SignedDuration::from_hours(48);
            match self.planner.next_due().filter(|due| *due <= horizon) {
                Some(due) => {
                    self.show(self.now.max(due));
                    is_there(self.tick());
                }
                None => break,
            }
        }
        for event in &self.log {
            let Event::Wrote { operation, answer: Answer::New, .. } = event else { continue };
            let state = match operation {
                Operation::Plan(run) | Operation::Fire { run, .. } => Some(run.state),
                Operation::Withdraw { .. } => Some(RunState::Cancelled),
                Operation::End { state, .. } => Some(*state),
                Operation::Move { to, .. } => Some(*to),
                _ => None,
            };
            self.seen.extend(state.map(|state| state.name().to_owned()));
        }
    }

    fn look_until_quiet(&mut self) {
        for _ in 0..MAX_ROUNDS {
            assert!(self.tick().is_ok(), "nothing crashes any more");
            if self.planner.next_due().is_none_or(|due| self.now < due) {
                return;
            }
        }
    }
}
