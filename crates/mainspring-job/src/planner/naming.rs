//! The names of runs that no trigger names: given, told when the store has taken them for new, and given
//! again where it has not.
//!
//! Cost: O(log n) for each.
//!
//! Does not say why no two are alike: see `numbers`.

use std::sync::Arc;

use jiff::Timestamp;

use super::Planner;
use super::ledger::Fallback;
use super::places::Place;
use crate::input::Ticket;
use crate::name::JobName;
use crate::output::{Output, Reply};
use crate::refusal::Refusal;
use crate::run::{Run, RunKey};

impl Planner {
    /// A name for a run that no trigger names: that of no open run.
    pub(super) fn new_key(&mut self, now: Timestamp, job: &JobName, place: Place) -> RunKey {
        loop {
            let nominal = self.numbers.new_nominal(now);
            let key = self.key_at(job, nominal, place);
            if !self.runs.is_open(&key) {
                return key;
            }
        }
    }

    /// Tells who asked for a run what it is called, once the store has taken the name for a new one.
    pub(super) fn reply_when_new(&mut self, ticket: Ticket, key: RunKey, fallback: Fallback) {
        let record = self.ledger.record_of(&key).expect("a run by hand is recorded when it is planned");
        let reply = Output::Reply { ticket, reply: Reply::Planned { key } };
        self.ledger.perform_if_new(record, reply, fallback);
    }

    /// The store knew the name of a run from before the clock was set back: the run gets another. `first` is
    /// the run as it was recorded, and the ticket is that of who asked for it.
    pub(super) fn name_anew(&mut self, now: Timestamp, first: Run, ticket: Option<Ticket>) {
        self.numbers.leap(now, first.key.nominal);
        let known = first.key.clone();
        let job = self.jobs.definition(&known.job).map(Arc::clone);
        let is_open = self.runs.get(&known).is_some();
        if let Some(job) = job.filter(|_| is_open) {
            let due = self.leave(&known).run.due;
            let key = self.new_key(now, &known.job, first.worker);
            self.plan_run(now, &job, key.clone(), (first.cause, due), first.worker);
            self.promote(&known.job);
            if let Some(ticket) = ticket {
                self.reply_when_new(ticket, key, Fallback::AnotherName);
            }
            return;
        }
        if is_open {
            self.refused(&known);
        } else if !first.state.is_open() {
            let key = self.new_key(now, &known.job, first.worker);
            self.record_run(Run { key, ..first });
        }
        // It was removed or cancelled while its record was on its way.
        self.refuse(ticket, Refusal::NoSuchRun);
    }

    /// Tells who asked for a run that there is none.
    pub(super) fn refuse(&mut self, ticket: Option<Ticket>, refusal: Refusal) {
        if let Some(ticket) = ticket {
            self.ledger.perform(Output::Reply { ticket, reply: Reply::Refused(refusal) });
        }
    }
}
