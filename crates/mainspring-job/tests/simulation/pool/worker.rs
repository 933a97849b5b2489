//! A worker's turn: it renews its lease, starts what is its own, and appends what it learns.

use mainspring_job::{Failure, MAX_PAGE, Outcome, Reader, Reason, RunState, WorkerId};

use super::Breach;
use super::server::{OLD, RENEW, Report, WorkerPart};
use super::world::{Pool, Process, Row};

impl Pool {
    pub(super) fn work(&mut self, index: usize) {
        let now = self.now;
        self.reap(index);
        if self.servers[index].acts(now) {
            self.begin_assigned(index);
            self.end_if_old(index);
        }
        if !self.servers[index].reaches(now) {
            return;
        }
        if self.servers[index].worker.is_none() {
            return self.join(index);
        }
        if self.servers[index].is_over(now) && self.breach != Breach::RenewedWhenOver {
            return self.give_up(index);
        }
        self.renew(index);
        self.append(index);
        self.read_own(index);
        self.leave(index);
    }

    /// A worker's processes end, and it learns of that.
    fn reap(&mut self, index: usize) {
        let now = self.now;
        let mut learnt = Vec::new();
        for process in self.processes.iter_mut().filter(|it| it.server == index && it.ended.is_none()) {
            if process.ends <= now {
                process.ended = Some(now);
                let Process { key, attempt, worker, is_killed, is_cut_off, .. } = process;
                learnt.push((key.clone(), *attempt, *worker, *is_killed, *is_cut_off));
                if process.epoch != self.epoch {
                    self.seen.insert("a run that outlived its planner");
                }
            }
        }
        let leaves = self.servers[index].worker.as_ref().is_some_and(|worker| worker.leaves.is_some());
        let reason = if leaves { Reason::ServerStopped } else { Reason::ServerCutOff };
        let is_said = self.breach != Breach::CutOffUnsaid;
        // What ends from then on is another's.
        let is_over = self.servers[index].is_over(now);
        for (key, attempt, id, is_killed, is_cut_off) in learnt.into_iter().filter(|_| !is_over) {
            let outcome = match (is_killed, is_cut_off, self.is_calm || !self.random.one_in(5)) {
                (false, true, _) if is_said => Outcome::CutOff(reason.clone()),
                (true, ..) | (_, true, _) => Outcome::Killed,
                (false, false, true) => Outcome::Succeeded,
                (false, false, false) => Outcome::Failed(Failure::Exit(1)),
            };
            self.report_count += 1;
            let report = Report { number: self.report_count, key, attempt, outcome, ended: now };
            if let Some(worker) = self.servers[index].worker.as_mut().filter(|worker| worker.id == id) {
                worker.unsent.push_back(report);
            }
        }
    }

    fn join(&mut self, index: usize) {
        if self.processes.iter().any(|it| it.server == index && it.ended.is_none()) {
            // What its former life ran has not ended yet.
            return;
        }
        self.worker_count += 1;
        let id = WorkerId(1_000 + self.worker_count);
        let renewed = self.servers[index].boot(self.now);
        let (seen, assigned, unsent, leaves) = Default::default();
        self.servers[index].worker = Some(WorkerPart { id, renewed, seen, assigned, unsent, leaves });
        self.rows.insert(id, Row { server: index, renewed: self.now, is_leaving: false });
        if let Some(former) = self.servers[index].former.take() {
            self.former.insert(id, former);
            if self.rows.remove(&former).is_some() {
                self.lost.insert(former);
            }
        }
    }

    fn renew(&mut self, index: usize) {
        let boot = self.servers[index].boot(self.now);
        let Some(worker) = &mut self.servers[index].worker else { return };
        if boot - worker.renewed < RENEW {
            return;
        }
        match self.rows.get_mut(&worker.id) {
            Some(row) => {
                (row.renewed, row.is_leaving) = (self.now, worker.leaves.is_some());
                worker.renewed = boot;
            }
            None => {
                // It is taken for lost: what it runs ends, and it comes back as another.
                self.servers[index].former = Some(worker.id);
                self.servers[index].worker = None;
                self.cut_all_off(index, 0);
                self.reap(index);
            }
        }
    }

    /// It tells what it had learnt before its lease was over, and is no more.
    fn give_up(&mut self, index: usize) {
        self.seen.insert("a worker that gave itself up");
        self.append(index);
        let former = self.servers[index].worker.take();
        self.servers[index].former = former.map(|worker| worker.id);
    }

    /// What runs at a worker that could not renew its lease is asked to end: it may be tried elsewhere soon.
    fn end_if_old(&mut self, index: usize) {
        let boot = self.servers[index].boot(self.now);
        let is_old = self.servers[index].worker.as_ref().is_some_and(|worker| OLD <= boot - worker.renewed);
        if is_old && self.breach != Breach::NoDeadline {
            let within = self.random.pick(&[200, 500, 9_000]);
            self.cut_all_off(index, within);
        }
    }

    fn append(&mut self, index: usize) {
        let Some(worker) = &mut self.servers[index].worker else { return };
        if self.rows.contains_key(&worker.id) {
            let unsent: Vec<Report> = worker.unsent.drain(..).collect();
            self.reports.extend(unsent);
        }
    }

    /// Starts what was assigned to it, unless its lease is too old: it may have stood still since it read
    /// that.
    fn begin_assigned(&mut self, index: usize) {
        let boot = self.servers[index].boot(self.now);
        let Some(worker) = &mut self.servers[index].worker else { return };
        let id = worker.id;
        if boot - worker.renewed < OLD || self.breach == Breach::StartsWithAnOldLease {
            let assigned = std::mem::take(&mut worker.assigned);
            for (key, attempt) in assigned {
                let is_full = self.servers[index].capacity <= self.running_at(index);
                let gives_back = !self.is_calm && self.random.one_in(20);
                let worker = self.servers[index].worker.as_mut().expect("it was there a moment ago");
                if gives_back {
                    self.seen.insert("a run that was given back");
                    self.report_count += 1;
                    let (number, outcome) = (self.report_count, Outcome::Returned);
                    worker.unsent.push_back(Report { number, key, attempt, outcome, ended: self.now });
                    continue;
                }
                if is_full {
                    worker.assigned.push_back((key, attempt));
                    continue;
                }
                self.start(index, key, attempt, id);
            }
        }
    }

    /// Reads what is on record as its own, and ends what it is told to.
    fn read_own(&mut self, index: usize) {
        let Some(worker) = &self.servers[index].worker else { return };
        let id = worker.id;
        let open = self.disk.open_runs(None, MAX_PAGE).unwrap();
        let own = open.into_iter().filter(|run| run.state == RunState::Running && run.worker == Some(id));
        for run in own {
            let attempted = (run.key, run.attempt);
            let forgets = self.breach == Breach::StartedTwice && self.random.one_in(50);
            let worker = self.servers[index].worker.as_mut().expect("it was there a moment ago");
            if worker.seen.insert(attempted.clone()) || forgets {
                worker.assigned.push_back(attempted);
            }
        }
        let kills: Vec<_> = self.kills.iter().filter(|(of, ..)| *of == id).cloned().collect();
        for (_, key, attempt) in kills {
            let is_it = |it: &&mut Process| {
                it.key == key && it.attempt == attempt && it.worker == id && it.ended.is_none()
            };
            if let Some(process) = self.processes.iter_mut().find(is_it) {
                process.is_killed = true;
                process.ends = process.ends.min(self.now + 300);
            }
        }
    }

    /// What a worker that leaves has not started yet it gives back.
    fn give_back(&mut self, index: usize) {
        let Some(worker) = &mut self.servers[index].worker else { return };
        for (key, attempt) in std::mem::take(&mut worker.assigned) {
            self.report_count += 1;
            let (number, outcome, ended) = (self.report_count, Outcome::Returned, self.now);
            self.reports.push(Report { number, key, attempt, outcome, ended });
        }
    }

    /// Ends in good order once it is to: what it runs is killed and reported first.
    fn leave(&mut self, index: usize) {
        let Some(worker) = &self.servers[index].worker else { return };
        let id = worker.id;
        let Some(at) = worker.leaves else { return };
        if let Some(row) = self.rows.get_mut(&id) {
            row.is_leaving = true;
        }
        if self.now < at {
            return;
        }
        self.cut_all_off(index, 0);
        self.reap(index);
        self.append(index);
        self.give_back(index);
        let has_more = |run: &mainspring_job::Run| run.state == RunState::Running && run.worker == Some(id);
        let open = self.disk.open_runs(None, MAX_PAGE).unwrap();
        if open.iter().any(has_more) {
            // Its reports are not on record yet, or something was assigned to it before it said so.
            return;
        }
        self.rows.remove(&id);
        self.left.insert(id);
        self.servers[index].worker = None;
    }
}
