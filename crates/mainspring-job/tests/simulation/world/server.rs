//! The life of a server in a history: how it ends, and how the next one begins.

use super::*;

/// So often a server may die while it starts: in each poison job as often as it may, and of a fault.
const MAX_BOOTS: u32 = 20;

impl World<'_> {
    /// The server ends, and its processes with it.
    pub(super) fn end_server(&mut self, ends: Ends) {
        match ends {
            Ends::Crash => self.log.push(Event::Crashed { at: self.now }),
            Ends::PowerCut => {
                self.log.push(Event::Rebooted);
                self.machine_starts += 1;
            }
            Ends::InGoodOrder => {
                self.disk.release(self.lease).unwrap();
                self.log.push(Event::Released);
            }
        }
        self.forget();
        self.is_stopping = false;
        if self.flaw == Flaw::FlushLies
            && let Some((disk, length)) = self.before_last.take()
        {
            self.disk = disk;
            // What the world saw happen has happened; only the disk knows nothing of it.
            let mut index = 0;
            self.log.retain(|event| {
                index += 1;
                index <= length || !matches!(event, Event::Wrote { .. })
            });
        }
    }

    fn forget(&mut self) {
        self.running.clear();
        self.commands.clear();
        (self.gather_count, self.input_count) = (0, 0);
    }

    pub(super) fn boot(&mut self) {
        // A server may die while it starts; the next one gets through, because a fault strikes once.
        let mut count = 0;
        while self.try_boot().is_err() {
            count += 1;
            assert!(count <= MAX_BOOTS, "the server dies whenever it starts");
            self.log.push(Event::Crashed { at: self.now });
            self.forget();
        }
    }

    fn try_boot(&mut self) -> Result<(), Crash> {
        let owner = Owner::new("world").with_machine_start(self.machine_starts.to_string());
        self.lease = self.disk.acquire(&owner).unwrap();
        let takeover = match self.flaw {
            Flaw::CrashesOverlooked => Takeover::Clean,
            _ => self.lease.takeover,
        };
        self.log.push(Event::Began { at: self.now, takeover: self.lease.takeover });
        let mut limits = Limits::default();
        limits.max_open = self.script.max_open;
        (limits.page, limits.per_turn, limits.lead) = (3, 16, self.script.lead);
        // The checker wants to see everything.
        limits.once_retention.days = 36_525;
        self.planner = Planner::new(self.lease.epoch, limits);
        if self.served_start == Some(self.machine_starts) {
            self.planner.set_machine_start(Timestamp::MIN);
        }
        let (jobs, paused) = self.disk.jobs().unwrap();
        let mut runs = Vec::new();
        loop {
            let page = self.disk.open_runs(runs.last().map(|run: &Run| &run.key), 4).unwrap();
            if page.is_empty() {
                break;
            }
            runs.extend(page);
        }
        let (jobs, runs) = self.flaw.bend(self.now, jobs, runs);
        let indices = 0..self.script.subjects.len();
        let former = indices.flat_map(|index| [0, 1].map(|times| self.script.job(index, times).clone()));
        let restore = Input::Restore { jobs, former: former.collect(), runs, paused };
        let definitions = self.definitions();
        self.log.push(Event::Issued { at: self.now, ticket: Ticket(0), command: definitions.clone() });
        let definitions = Input::Command { ticket: Ticket(0), command: definitions };
        let worker = Worker::new(WorkerId(self.lease.epoch), "world", self.script.max_running);
        let present = Input::Worker(WorkerEvent::Present(worker));
        let begin = [present, definitions, Input::Begin { takeover }];
        let mut outputs = Vec::new();
        for input in [restore].into_iter().chain(begin) {
            self.hand(self.now, input, &mut outputs);
        }
        self.input_count += 1;
        self.planner.check();
        self.perform(outputs)?;
        self.write()?;
        self.served_start = Some(self.machine_starts);
        self.tick()?;
        Ok(())
    }
}
