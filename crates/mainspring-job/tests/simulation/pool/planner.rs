//! A planner's turn: it holds the lease, is told what the database has, and writes what it decides.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use mainspring_job::{
    Action, AttemptEnd, Command, Holder, Input, JobName, Limits, MAX_PAGE, Needs, OnceId, Output, Owner,
    Planner, Reader, Reply, RunState, Store, Submission, Takeover, Ticket, Work, Worker, WorkerEvent,
    WorkerId,
};

use super::Breach;
use super::server::{LOST, PlannerPart};
use super::world::{Pool, Row};

/// The ticket of what no client waits for.
const NO_CLIENT: Ticket = Ticket(0);

fn needs(action: &Action) -> Needs {
    Needs::new(if action.kind() == "gpu" { vec![("gpu".parse().unwrap(), 0)] } else { Vec::new() })
}

impl Pool {
    pub(super) fn plan(&mut self, index: usize) {
        if !self.servers[index].reaches(self.now) {
            return;
        }
        match &self.servers[index].planner {
            None => self.acquire(index),
            Some(part) => {
                if self.disk.renew(part.lease).is_err() {
                    // Another plans.
                    return self.fall(index);
                }
            }
        }
        if self.servers[index].planner.is_some() {
            // What a worker has reported comes before that it is gone.
            self.tell_reports(index);
            self.tell_workers(index);
            self.ask(index);
            self.tell_if_due(index);
            self.forget_reports(index);
        }
    }

    fn worker_of(&self, id: WorkerId, row: &Row) -> Worker {
        let server = &self.servers[row.server];
        let extra = usize::from(self.breach == Breach::CapacityIgnored);
        let worker = Worker::new(id, format!("server {}", server.index), server.capacity + extra);
        let worker = worker.with_ahead(server.ahead);
        server.label.iter().fold(worker, |worker, label| worker.with_label(label.parse().unwrap(), 0))
    }

    fn acquire(&mut self, index: usize) {
        let Ok(lease) = self.disk.acquire(&Owner::new(format!("server {index}"))) else {
            return;
        };
        self.epoch = lease.epoch;
        let planner = Planner::new(lease.epoch, Limits::default()).following(lease.silent);
        let planner = if self.breach == Breach::NeedsIgnored { planner } else { planner.requiring(needs) };
        let known: BTreeMap<WorkerId, bool> = self.rows.keys().map(|id| (*id, false)).collect();
        let present: Vec<Worker> = self.rows.iter().map(|(id, row)| self.worker_of(*id, row)).collect();
        if let [only] = &present[..] {
            self.alone.insert(only.id);
        }
        let received = BTreeSet::new();
        let part = PlannerPart { lease, planner, pending: None, known, received };
        self.servers[index].planner = Some(part);
        let (jobs, paused) = self.disk.jobs().unwrap();
        let runs = self.disk.open_runs(None, MAX_PAGE).unwrap();
        let restore = Input::Restore { jobs, former: self.jobs.clone(), runs, paused };
        self.tell(index, restore);
        if self.breach != Breach::WorkersForgotten {
            for worker in present {
                self.tell(index, Input::Worker(WorkerEvent::Present(worker)));
            }
        }
        // It may read them soon, or later.
        if self.random.one_in(2) {
            self.tell_reports(index);
        }
        let command = Command::Apply(self.definitions());
        self.tell(index, Input::Command { ticket: NO_CLIENT, command });
        self.tell(index, Input::Begin { takeover: lease.takeover });
    }

    /// The planner hears of the workers that have come, leave, left and are lost.
    fn tell_workers(&mut self, index: usize) {
        let after = if self.breach == Breach::LostTooEarly { LOST / 3 } else { LOST };
        let silent = |row: &Row| self.now - row.renewed;
        let lost: Vec<(WorkerId, i64)> = self
            .rows
            .iter()
            .filter(|(_, row)| after <= silent(row))
            .map(|(id, row)| (*id, silent(row)))
            .collect();
        let Some(part) = &self.servers[index].planner else { return };
        let gone: Vec<WorkerId> =
            part.known.keys().filter(|id| !self.rows.contains_key(*id)).copied().collect();
        for (id, silent) in lost {
            self.seen.insert("a worker that was lost");
            // From here on nothing that it appends is read.
            self.rows.remove(&id);
            self.lost.insert(id);
            let silent = Some(Duration::from_millis(silent.unsigned_abs()));
            let how = Takeover::Unclean;
            self.tell(index, Input::Worker(WorkerEvent::Gone { id, how, silent }));
        }
        for id in gone {
            let gone = WorkerEvent::Gone { id, how: Takeover::Clean, silent: None };
            let event = if self.left.contains(&id) { WorkerEvent::Left(id) } else { gone };
            self.tell(index, Input::Worker(event));
        }
        let rows: Vec<(WorkerId, Row)> = self.rows.iter().map(|(id, row)| (*id, row.clone())).collect();
        for (id, row) in rows {
            let worker = self.worker_of(id, &row);
            let Some(part) = &mut self.servers[index].planner else { return };
            let before = part.known.insert(id, row.is_leaving);
            if before.is_none() {
                if let Some(former) = self.former.get(&id).copied() {
                    self.seen.insert("a worker that was lost and lives");
                    self.tell(index, Input::Worker(WorkerEvent::Survived(former)));
                }
                self.tell(index, Input::Worker(WorkerEvent::Present(worker)));
            }
            if row.is_leaving && before != Some(true) {
                self.tell(index, Input::Worker(WorkerEvent::Leaving(id)));
            }
        }
        if let Some(part) = &mut self.servers[index].planner {
            part.known.retain(|id, _| self.rows.contains_key(id));
        }
    }

    fn tell_reports(&mut self, index: usize) {
        let reports = self.reports.clone();
        for report in reports {
            let Some(part) = &mut self.servers[index].planner else { return };
            let is_new = part.received.insert(report.number);
            let again = !is_new && self.random.one_in(4);
            if again {
                self.seen.insert("a report that was told twice");
            }
            if self.breach == Breach::ReportLost {
                self.reports.retain(|other| other.number != report.number);
            }
            if is_new || again {
                let mut end = AttemptEnd::new(report.key, report.attempt, report.outcome);
                if self.breach != Breach::EndedWhenTold {
                    end.age = Duration::from_millis((self.now - report.ended).unsigned_abs());
                }
                self.tell(index, end.into());
            }
        }
    }

    /// Takes away the reports that it was told, once all that follows from them is on record.
    fn forget_reports(&mut self, index: usize) {
        let Some(part) = &self.servers[index].planner else { return };
        if part.pending.is_none() && !part.planner.has_batch() && self.random.one_in(3) {
            let received = part.received.clone();
            self.reports.retain(|report| !received.contains(&report.number));
        }
    }

    /// A client submits something, or has something that runs ended.
    fn ask(&mut self, index: usize) {
        if self.is_calm || !self.random.one_in(15) {
            return;
        }
        let command = if self.random.one_in(3) {
            let Some(part) = &self.servers[index].planner else { return };
            let running = part.planner.open_runs().filter(|run| run.state == RunState::Running);
            let Some(run) = running.last() else { return };
            let (key, attempt) = (run.key.clone(), run.attempt);
            self.cancelled.insert((key.clone(), attempt));
            Command::Cancel(key)
        } else {
            self.submit_count += 1;
            let policies = "retry=30,backoff=1s,factor=1,on=failed+abandoned misfire=latest,grace=1h";
            let work = Work::new(Action::new("process", "").unwrap());
            let due = self.wall() + SignedDuration::from_millis(self.random.below(4_000) as i64);
            let work = work.with_policies(policies.parse().unwrap());
            let mut submission = Submission::new(due, work);
            submission.name = JobName::new(&format!("sent-{}", self.submit_count)).ok();
            Command::Submit(submission)
        };
        self.tell(index, Input::Command { ticket: Ticket(1), command });
    }

    fn tell_if_due(&mut self, index: usize) {
        for _ in 0..20 {
            let wall = self.wall();
            let Some(part) = &self.servers[index].planner else { return };
            if part.pending.is_none() && part.planner.next_due().is_none_or(|due| wall < due) {
                return;
            }
            self.tell(index, Input::Tick);
        }
    }

    /// Tells a fact, writes what is decided, and does what is to be done.
    fn tell(&mut self, index: usize, input: Input) {
        let wall = self.wall();
        let Some(part) = &mut self.servers[index].planner else { return };
        let mut outputs = Vec::new();
        part.planner.handle(wall, input, &mut outputs);
        part.planner.check();
        loop {
            let Some(part) = &mut self.servers[index].planner else { return };
            let Some(batch) = part.pending.take().or_else(|| part.planner.take_batch()) else { break };
            match self.commit(index, &batch) {
                Ok(commit) => {
                    if !self.is_calm && self.random.one_in(150) {
                        self.seen.insert("a planner that fell after a commit");
                        return self.fall(index);
                    }
                    let answers = commit.answers;
                    let holders = Holder::of_batch(&mut self.disk, &batch, &answers).unwrap();
                    let Some(part) = &mut self.servers[index].planner else { return };
                    part.planner.handle(wall, Input::Holders(holders), &mut outputs);
                    let number = batch.number;
                    part.planner.handle(wall, Input::Committed { number, answers }, &mut outputs);
                }
                Err(mainspring_job::StoreError::Fenced) => return self.fall(index),
                Err(_) => {
                    // Perhaps it is on disk: it is sent again under its number, in a later turn.
                    let Some(part) = &mut self.servers[index].planner else { return };
                    part.pending = Some(batch);
                    break;
                }
            }
        }
        self.perform(index, outputs);
    }

    fn perform(&mut self, index: usize, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Kill { key, attempt, worker, .. } => {
                    self.seen.insert("a kill");
                    self.kills.insert((worker, key, attempt));
                }
                Output::Reply { reply: Reply::Submitted { name, .. }, .. } => {
                    self.acknowledged.insert(name);
                }
                // The record is how a worker learns of a start.
                Output::Start(_) | Output::Note(_) | Output::Reply { .. } => {}
                Output::Load { up_to, limit } => {
                    let first = OnceId::first_at(Timestamp::MIN);
                    let pending = self.disk.load(first, up_to, limit).unwrap();
                    let is_complete = pending.len() < limit;
                    self.tell(index, Input::Loaded { pending, is_complete });
                }
                Output::LoadIds { after, up_to, limit } => {
                    let ids = self.disk.load_ids(after, up_to, limit).unwrap();
                    let is_complete = ids.len() < limit;
                    self.tell(index, Input::LoadedIds { ids, is_complete });
                }
                Output::CheckBatch { batch } => {
                    let is_pending = self.disk.has_pending_of(&batch).ok();
                    self.tell(index, Input::BatchChecked { batch, is_pending });
                }
            }
        }
    }
}
