//! Jobs that change their shard: each goes on in the new one where it was in the old one.
//!
//! ```text
//!  old shard   plans it ── its records are refused ──────────── Departed: it is forgotten
//!                          │
//!  store       ────────── the job is another shard's ────────────────────────────────────▶
//!                          │
//!  new shard               Arrived: mark, waiting runs ── Apply: the definition ── plans it
//! ```
//!
//! The store decides whose a job is, in one step. Before it the old shard goes on with the job, although it
//! may know that its definition belongs elsewhere. So no shard waits for another, and at no moment the job is
//! in none, whichever hears of the definition first and whichever loses its owner. To remove it from the old
//! shard and add it to the new one, each by itself, was tried: what was due in between was lost.
//!
//! Cost: O(log n) for each job and each of its runs that wait.
//!
//! Does not move what runs: it ends where it began, and is not tried again. A job that follows does not hear
//! of that end.

use jiff::Timestamp;

use super::Planner;
use crate::job::Job;
use crate::name::JobName;
use crate::operation::Operation;
use crate::record::JobRecord;
use crate::run::Run;

impl Planner {
    /// Takes in jobs that were another shard's, but for those that are defined here.
    pub(super) fn arrive(&mut self, now: Timestamp, jobs: Vec<JobRecord>, former: Vec<Job>, runs: Vec<Run>) {
        self.know_names(now, &jobs, &runs);
        for record in jobs {
            let name = record.mark.job.clone();
            if self.jobs.definition(&name).is_none() {
                self.pruning.know(&name);
                self.jobs.restore(record);
                self.incoming_jobs.add(name);
            }
        }
        for job in former {
            if self.incoming_jobs.has(&job.name) {
                self.jobs.remember(job);
            }
        }
        for run in runs {
            self.incoming_jobs.add_run(run);
        }
    }

    /// A job that has come is defined: what waited of it goes on.
    pub(super) fn settle(&mut self, now: Timestamp, name: &JobName) {
        let Some(waiting) = self.incoming_jobs.take(name) else { return };
        self.jobs.take_former(name);
        for run in waiting {
            if self.runs.is_open(&run.key) {
                continue;
            }
            match self.live(&run) {
                Some(live) => self.resume_run(now, live),
                None => self.end_orphan(now, &run),
            }
            self.ledger.end_unit();
        }
    }

    /// Forgets jobs that other shards have. A batch is written that changes nothing: a database that is
    /// promoted and never heard of the departure lacks the batch too, and refuses the next one. So the owner
    /// reads anew what it has.
    pub(super) fn depart(&mut self, now: Timestamp, names: &[JobName]) {
        let known: Vec<&JobName> = names.iter().filter(|name| self.jobs.source(name).is_some()).collect();
        if !known.is_empty() {
            self.ledger.record(Operation::PauseAll(self.activity.pause_terms().cloned()));
        }
        for name in known {
            drop(self.runs.take_postponed_of(name));
            for key in self.waiting_of(name) {
                drop(self.leave(&key));
            }
            self.release_job(name);
            if let Some(job) = self.jobs.definition(name) {
                self.followers.remove(job);
            }
            self.silences.expect(now, name, None, &mut self.schedule_queue);
            self.jobs.remove(name, &mut self.schedule_queue);
        }
    }
}
