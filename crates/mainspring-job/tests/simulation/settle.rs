//! The end of a history: the world waits until nothing more is to happen.

use super::*;

impl World<'_> {
    /// Everything is put in order, so that what is still missing then is lost: pauses end, the clock is right again, all runs end, and
    /// in the end there are no jobs.
    pub(super) fn settle(&mut self) {
        self.fault = None;
        self.gather_count = 0;
        self.is_settling = true;
        self.log.push(Event::Mended);
        if self.is_stopping {
            self.crash();
        }
        self.now = self.high_water + SignedDuration::from_secs(3_601);
        self.high_water = self.now;
        let is_there = |found: Result<(), Crash>| assert!(found.is_ok(), "nothing crashes any more");
        is_there(self.command(Command::Resume(Scope::All)));
        for index in 0..self.script.subjects.len() {
            is_there(self.command(Command::Resume(Scope::Job(Script::name(index)))));
        }
        self.look_until_quiet();
        self.last_records = self.disk.jobs(Shard::WHOLE).unwrap().0;
        self.last_look = self.now;
        self.defined.clear();
        is_there(self.command(self.definitions()));
        for _ in 0..400 {
            while !self.running.is_empty() {
                is_there(self.end(0, End::Succeeded));
            }
            let horizon = self.now + SignedDuration::from_hours(48);
            match self.planner.next_due().filter(|due| *due <= horizon) {
                Some(due) => {
                    self.now = self.now.max(due);
                    self.high_water = self.high_water.max(self.now);
                    is_there(self.tick());
                }
                None => break,
            }
        }
        let runs = Query { limit: 10_000, ..Query::default() };
        let runs = self.disk.find(Shard::WHOLE, &runs).unwrap();
        self.seen.extend(runs.iter().map(|run| run.state.name().to_owned()));
        for (operation, answer) in &self.journal {
            let state = match operation {
                Operation::Plan(run) | Operation::Fire { run, .. } => Some(run.state),
                Operation::End { state, .. } => Some(*state),
                Operation::Move { to, .. } => Some(*to),
                _ => None,
            };
            if *answer == Answer::New {
                self.seen.extend(state.map(|state| state.name().to_owned()));
            }
        }
    }

    fn look_until_quiet(&mut self) {
        for _ in 0..100 {
            assert!(self.tick().is_ok(), "nothing crashes any more");
            if self.planner.next_due().is_none_or(|due| self.now < due) {
                return;
            }
        }
    }
}
