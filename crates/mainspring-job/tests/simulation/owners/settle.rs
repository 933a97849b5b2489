//! The end of a history of several owners: one of them is left, and waits until nothing more is to happen.

use jiff::SignedDuration;
use mainspring_job::{Command, Scope};

use super::plan::Network;
use super::server::{MS, Role, SECOND};
use super::world::Owners;
use crate::simulation::event::Event;
use crate::simulation::script::Script;

/// How often it is looked whether all is quiet, so many milliseconds apart.
const MAX_LOOKS: usize = 3_000;

/// How often what is due next is waited for, by setting the clock.
const MAX_ROUNDS: usize = 400;

impl Owners<'_> {
    /// What is still missing after this is lost.
    pub(super) fn settle(&mut self) {
        self.is_settling = true;
        self.log.push(Event::Mended);
        for index in 0..self.servers.len() {
            self.servers[index].network = Network::Good;
            self.servers[index].freezes_in_commit = None;
            self.thaw(index);
            // One clock that is right, and ahead of all that was shown.
            let ahead = self.high_water.duration_since(self.reading(index).wall);
            self.servers[index].set_by += nanos(ahead) + 3_601 * SECOND;
        }
        let Some(index) = self.the_owner() else { return };
        for other in (0..self.servers.len()).filter(|other| *other != index) {
            if !matches!(self.servers[other].role, Role::Down) {
                self.crash(other, 100_000_000);
            }
        }
        self.resume_all(index);
        self.wait_until_quiet(index);
        self.resume_all(index);
        self.wait_until_quiet(index);
        self.log.push(Event::LookedLast { at: self.reading(index).wall });
        let nothing = self.definitions(false);
        self.command(index, nothing);
        for _ in 0..MAX_ROUNDS {
            self.wait_until_quiet(index);
            let wall = self.reading(index).wall;
            let due = self.servers[index].owns().and_then(|owner| owner.planner.next_due());
            let Some(due) = due.filter(|due| *due <= wall + SignedDuration::from_hours(48)) else { return };
            self.servers[index].set_by += nanos(due.duration_since(wall)).max(0) + MS;
        }
    }

    /// The one that has the lease when others would have had time to take it.
    fn the_owner(&mut self) -> Option<usize> {
        // Every crashed server is back, every lease of a dead one has run out, and every request has come.
        self.run_until(self.now + 70 * SECOND);
        for _ in 0..MAX_LOOKS {
            let holder = self.holder.map(|lease| lease.epoch);
            let owns = |index: &usize| {
                let owner = self.servers[*index].owns();
                owner.is_some_and(|owner| Some(owner.lease.epoch) == holder && !owner.is_stopping)
            };
            if let Some(index) = (0..self.servers.len()).find(owns) {
                return Some(index);
            }
            if self.fault.is_some() {
                return None;
            }
            self.run_until(self.now + 100 * MS);
        }
        self.wrong("lost: no server takes the lease".to_owned());
        None
    }

    fn resume_all(&mut self, index: usize) {
        self.command(index, Command::Resume(Scope::All));
        for job in 0..self.plan.script.subjects.len() {
            self.command(index, Command::Resume(Scope::Job(Script::name(job))));
        }
    }

    /// Until nothing runs, is due or is on its way.
    fn wait_until_quiet(&mut self, index: usize) {
        for _ in 0..MAX_LOOKS {
            self.run_until(self.now + 20 * MS);
            if self.fault.is_some() {
                return;
            }
            let wall = self.reading(index).wall;
            let Some(owner) = self.servers[index].owns() else {
                return self.wrong("lost: the owner that is left loses its lease".to_owned());
            };
            let is_quiet = owner.running.is_empty()
                && owner.sent == 0
                && owner.inputs.is_empty()
                && self.servers[index].orders.is_empty()
                && owner.planner.next_due().is_none_or(|due| wall < due);
            if is_quiet {
                return;
            }
        }
        let wall = self.reading(index).wall;
        let server = &self.servers[index];
        let waiting = server.owns().map(|owner| {
            let due = owner.planner.next_due();
            (&owner.running, owner.sent, &owner.inputs, due, owner.withheld.len(), owner.is_old)
        });
        let text = format!("lost: it is never quiet at {wall}: {waiting:?}, {:?}", server.orders);
        self.wrong(text);
    }
}

fn nanos(span: SignedDuration) -> i64 {
    i64::try_from(span.as_nanos()).expect("clocks are some hours apart")
}
