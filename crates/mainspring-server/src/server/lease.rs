//! Keeps the planner's lease where a pool carries out what it decides.
//!
//! ```text
//!  0 ── renewed, at least each third of the lease ── 13/15: given up ── 1
//! ```
//!
//! The age is counted by the boot time from before the store was asked, so that it is never younger than the
//! store takes it for. Each commit renews the lease too. A planner whose lease could not be renewed in time
//! gives up, whatever the store says later: another may plan. It writes nothing more, and the store would
//! refuse it. What runs continues: it rests on the leases of the workers.
//!
//! Cost: a reading of a clock for each turn. None of it happens where a lease has no length.
//!
//! Does not run where a server carries out what it plans: its folder is its own for as long as it lives.

use std::time::Instant;

use mainspring_job::{LeaseAge, LeaseDeadlines, StoreError};

use super::Server;
use super::lease_state::MAX_APART;
use super::phase::Phase;
use super::store_thread::Order;
use crate::error::Error;
use mainspring_exec::clock::{Moment, ahead};
use mainspring_exec::span::Span;

impl Server {
    /// Renews the lease in time, and gives up if that does not work.
    pub(super) fn keep_lease(&mut self, now: Moment) {
        let Some((age, lasts)) = self.owner.lease_age().filter(|_| !self.holding.is_lost) else { return };
        let deadlines = LeaseDeadlines::of(lasts);
        if deadlines.renew <= age
            && self.holding.tried.is_none_or(|tried| deadlines.renew <= now.since(tried))
        {
            self.holding.tried = Some(now);
            self.owner.writer().order(Order::Renew);
        }
        self.say_if_apart(now);
        if deadlines.judge(age) == LeaseAge::Over {
            self.lose(now, "the lease could not be renewed in time");
        }
    }

    /// Says when the clock of this machine is not that of the store, and when it is again.
    fn say_if_apart(&mut self, now: Moment) {
        let Some(ahead) = ahead() else { return };
        let is_apart = MAX_APART < ahead.abs();
        if is_apart == std::mem::replace(&mut self.holding.is_said_apart, is_apart) {
            return;
        }
        let way = if ahead.is_positive() { "ahead of" } else { "behind" };
        let apart = format!("{} {way} the store's, by which jobs are due", Span(ahead.unsigned_abs()));
        let is = if is_apart { &apart } else { "that of the store again" };
        self.note(now.wall, &format!("the clock of this machine is {is}"));
    }

    /// Another plans, or may soon: nothing more is recorded.
    pub(super) fn lose(&mut self, now: Moment, why: &str) {
        if !self.holding.is_lost {
            self.holding.is_lost = true;
            self.holding.was_stopping = self.phase != Phase::Running;
            self.note(now.wall, &format!("this server plans no more, and what runs continues: {why}"));
            self.phase = Phase::Killed { since: now };
        }
    }

    /// When the lease is to be looked at again.
    pub(super) fn lease_deadline(&self, now: Moment) -> Option<Instant> {
        let (age, lasts) = self.owner.lease_age().filter(|_| !self.holding.is_lost)?;
        let LeaseDeadlines { renew, over, .. } = LeaseDeadlines::of(lasts);
        // Between the two it is tried again.
        let next = [renew, over].into_iter().find(|step| age < *step).unwrap_or(lasts).saturating_sub(age);
        now.monotonic.checked_add(next.min(renew))
    }

    /// The end of a planner that has lost its lease: nothing is recorded.
    pub(super) fn finish_lost(mut self, now: Moment) -> Result<(), Error> {
        self.answer_lost(now);
        self.work.close(now, &mut self.log);
        self.work.flush(now, &mut self.log);
        // The socket says that there is an owner, and there is none any more.
        self.clients.peers.remove_socket();
        super::finish_log(&mut self.log, now)?;
        if self.holding.was_stopping { Ok(()) } else { Err(Error::Store(StoreError::Fenced)) }
    }
}
