//! The end of a server, and of what it has started: it crashes, is stopped, loses its lease, or is asked.

use mainspring_job::{Input, LeaseDeadlines};

use super::server::{Order, Role, SECOND};
use super::turn::ASK_INTERVAL;
use super::world::{Incident, LEASE, Owners};
use crate::simulation::event::Event;

impl Owners<'_> {
    /// Whether it was stopped when it was to end what runs: the one case in which two attempts may overlap.
    pub(super) fn oversleeps(&self, index: usize) -> bool {
        let (server, reading) = (&self.servers[index], self.reading(index));
        let age = reading.boot.saturating_sub(server.renewed.boot);
        server.is_frozen && LeaseDeadlines::of(LEASE).over <= age
    }

    /// What it has started ends with it, or because it has to.
    fn end_all(&mut self, index: usize) {
        let (overslept, now) = (self.oversleeps(index), self.now);
        for process in self.processes.iter_mut().filter(|process| process.server == index) {
            if process.ended.is_none() {
                process.ended = Some(now);
                process.is_excused |= overslept;
            }
        }
    }

    /// The lease is another's, or may be soon.
    pub(super) fn lose(&mut self, index: usize) {
        self.end_all(index);
        let reading = self.reading(index);
        let server = &mut self.servers[index];
        let is_stopping = server.owns().is_some_and(|owner| owner.is_stopping);
        server.forget();
        server.tried = reading;
        if is_stopping {
            return self.end_in_good_order(index);
        }
        server.role = Role::StandsBy;
        self.wake(index, self.now + ASK_INTERVAL);
    }

    pub(super) fn crash(&mut self, index: usize, seconds: i64) {
        self.end_all(index);
        let server = &mut self.servers[index];
        server.forget();
        server.role = Role::Down;
        server.is_frozen = false;
        let life = server.life;
        self.at(self.now + seconds * SECOND, index, Incident::Restart(life));
    }

    /// What was started before it was stopped has gone on.
    pub(super) fn thaw(&mut self, index: usize) {
        if !self.servers[index].is_frozen {
            return;
        }
        if self.oversleeps(index) {
            self.seen.insert("a server that overslept its lease");
            for process in self.processes.iter_mut().filter(|process| process.server == index) {
                process.is_excused |= process.ended.is_none();
            }
        }
        let server = &mut self.servers[index];
        server.is_frozen = false;
        for what in std::mem::take(&mut server.mail) {
            self.tell_server(index, what);
        }
        self.turn(index);
    }

    pub(super) fn stop(&mut self, index: usize, seconds: i64) {
        let server = &mut self.servers[index];
        if server.is_frozen {
            return;
        }
        server.again_after = seconds;
        let Some(owner) = server.owner().filter(|owner| !owner.is_stopping) else { return };
        owner.is_stopping = true;
        owner.inputs.push_back(Input::Stop);
        self.log.push(Event::Stopped);
        self.seen.insert("stop");
        self.turn(index);
        let Some(owner) = self.servers[index].owner() else { return };
        let keys: Vec<_> = owner.running.keys().cloned().collect();
        for (key, attempt) in keys {
            self.ask_to_end(index, &key, attempt);
        }
    }

    /// Nothing runs any more, and all is on disk.
    pub(super) fn end_if_asked(&mut self, index: usize) {
        let Some(owner) = self.servers[index].owner() else { return };
        let is_done = owner.is_stopping
            && !owner.is_releasing
            && owner.running.is_empty()
            && owner.withheld.is_empty()
            && owner.sent == 0
            && !owner.planner.has_batch();
        if is_done {
            owner.is_releasing = true;
            self.servers[index].orders.push_back(Order::Release);
            self.pump(index);
        }
    }

    pub(super) fn end_in_good_order(&mut self, index: usize) {
        let seconds = self.servers[index].again_after;
        self.crash(index, seconds);
    }
}
